//! JSON that keeps its bytes, and objects whose first key says what they are.
//!
//! A log that is read and written again must be the same log, and a request body is proven by its
//! hash. So JSON we do not look into is kept as text: parsing it would round numbers and forget
//! how they were written.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// One JSON value as text without white space between its tokens. A clone is another handle of it.
#[derive(Clone)]
pub struct Json(Arc<RawValue>);

impl Json {
    /// Parses any JSON value; white space between tokens is dropped, tokens stay as written.
    pub fn parse(text: &str) -> Result<Json, serde_json::Error> {
        let raw: &RawValue = serde_json::from_str(text)?;
        // `RawValue` only skims; a full parse also refuses what is nested too deeply to be read.
        let _: serde_json::Value = serde_json::from_str(raw.get())?;
        RawValue::from_string(without_spaces(raw.get())).map(Json::from)
    }

    /// The JSON form of a value of ours.
    ///
    /// # Panics
    /// If the value cannot be written as JSON: our own types always can.
    pub fn of(value: &impl Serialize) -> Json {
        #[expect(clippy::expect_used, reason = "a broken promise of our own types")]
        serde_json::value::to_raw_value(value).map(Json::from).expect("our own types are JSON")
    }

    /// JSON that came of rewriting JSON without white space between its tokens.
    pub fn of_text(text: String) -> Result<Json, serde_json::Error> {
        RawValue::from_string(text).map(Json::from)
    }

    pub fn empty_object() -> Json {
        Json::of(&serde_json::Map::new())
    }

    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Whether there are other handles of the same bytes.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Whether both are the same bytes in memory, and not only equal ones.
    pub fn is_same(&self, other: &Json) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub fn is_object(&self) -> bool {
        self.as_str().starts_with('{')
    }

    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_str())
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Json) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Json {}

impl Hash for Json {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Json {
        Json(raw.into())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Json::from)
    }
}

/// The members of a JSON object in the order in which they were written, repeated keys included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonMembers<V>(pub Vec<(String, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for JsonMembers<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonMembers<V>, D::Error> {
        deserializer.deserialize_map(MembersVisitor(PhantomData))
    }
}

struct MembersVisitor<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for MembersVisitor<V> {
    type Value = JsonMembers<V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<JsonMembers<V>, M::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(JsonMembers(members))
    }
}

fn without_spaces(json: &str) -> String {
    let mut compact = String::with_capacity(json.len());
    let mut in_string = false;
    let mut escaped = false;
    for ch in json.chars() {
        if in_string {
            compact.push(ch);
            in_string = escaped || ch != '"';
            escaped = !escaped && ch == '\\';
        } else if !matches!(ch, ' ' | '\t' | '\n' | '\r') {
            compact.push(ch);
            in_string = ch == '"';
        }
    }
    compact
}

/// An enum written as an object whose *first* key is `type`.
///
/// serde's own tagged enums copy the object into a buffer before they read it, which costs time on
/// every line of a log and loses the bytes of [`Json`]. Ours reads the type and then the fields.
#[macro_export]
macro_rules! tagged_enum {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident { $( $(#[$variant_meta:meta])* $variant:ident($payload:ty) = $tag:literal, )+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, ::serde::Serialize)]
        #[serde(tag = "type")]
        $vis enum $name { $( $(#[$variant_meta])* #[serde(rename = $tag)] $variant($payload), )+ }

        impl $name {
            /// Every `type` there is, in the order of the enumeration.
            $vis const TYPES: &'static [&'static str] = &[$($tag),+];

            $vis fn type_name(&self) -> &'static str {
                match self { $( $name::$variant(_) => $tag, )+ }
            }

            /// Reads the fields that follow `"type":"<tag>"`.
            $vis fn read_fields<'de, M: ::serde::de::MapAccess<'de>>(
                tag: &str,
                map: M,
            ) -> Result<$name, M::Error> {
                use ::serde::Deserialize;
                let fields = ::serde::de::value::MapAccessDeserializer::new(map);
                match tag {
                    $( $tag => <$payload>::deserialize(fields).map($name::$variant), )+
                    _ => Err(::serde::de::Error::unknown_variant(tag, $name::TYPES)),
                }
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                struct TypeFirst;
                impl<'de> ::serde::de::Visitor<'de> for TypeFirst {
                    type Value = $name;

                    fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        f.write_str("an object whose first key is `type`")
                    }

                    fn visit_map<M: ::serde::de::MapAccess<'de>>(self, mut map: M) -> Result<$name, M::Error> {
                        use ::serde::de::Error;
                        let tag: ::std::borrow::Cow<'de, str> = match map.next_entry::<::std::borrow::Cow<'de, str>, _>()? {
                            Some((key, tag)) if key == "type" => tag,
                            _ => return Err(M::Error::custom("the first key must be `type`")),
                        };
                        $name::read_fields(&tag, map)
                    }
                }
                deserializer.deserialize_map(TypeFirst)
            }
        }
    };
}

#[cfg(test)]
mod tests;
