//! A model's parameters in their order.
//!
//! They enter the body as the text they were written in: parsing `0.10` and writing `0.1` would
//! be another request.

use std::fmt;

use kith_vocab::conversation::ModelRequest;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::render::RenderError;

/// More than any model has; each key is compared with those before it.
pub(crate) const PARAMETERS_MAX: usize = 64;

/// Invariant: no key stands twice and none is reserved.
pub(crate) struct Parameters<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Parameters<'a> {
    /// `reserved` are the keys that the wire writes itself.
    pub(crate) fn of(
        request: &ModelRequest<'a>,
        reserved: &[&str],
    ) -> Result<Parameters<'a>, RenderError> {
        let model = || request.model.to_owned();
        let Members(members) = request
            .parameters
            .read()
            .map_err(|source| RenderError::Parameters { model: model(), source })?;
        if members.len() > PARAMETERS_MAX {
            return Err(RenderError::TooManyParameters { model: model() });
        }
        for (index, (key, _)) in members.iter().enumerate() {
            let is_repeated = members[..index].iter().any(|(earlier, _)| earlier == key);
            let (model, key) = (model(), key.clone());
            if reserved.contains(&key.as_str()) {
                return Err(RenderError::ReservedParameter { model, key });
            }
            if is_repeated {
                return Err(RenderError::RepeatedParameter { model, key });
            }
        }
        Ok(Parameters(members))
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(key, value)| (key.as_str(), *value))
    }
}

/// The members of an object, doubled keys included.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members<'a>, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(InOrder).map(Members)
    }
}
