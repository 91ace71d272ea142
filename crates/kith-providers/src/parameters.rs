//! A model's parameters in their order.
//!
//! They enter the body as the text they were written in: parsing `0.10` and writing `0.1` would
//! be another request.

use kith_vocab::conversation::ModelRequest;
use kith_vocab::json::JsonMembers;
use serde::Serialize;
use serde::ser::SerializeMap;
use serde_json::value::RawValue;

use crate::render::RenderError;

/// More than any model has; each key is compared with those before it.
pub(crate) const PARAMETERS_MAX: usize = 64;

/// Invariant: no key is repeated and none is reserved.
pub(crate) struct Parameters<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Parameters<'a> {
    /// `reserved` are the keys that the wire writes itself.
    pub(crate) fn of(
        request: &ModelRequest<'a>,
        reserved: &[&str],
    ) -> Result<Parameters<'a>, RenderError> {
        let model = || request.model.to_owned();
        let JsonMembers(members) = request
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

    /// Writes the parameter, or `default` if it is not given. `false` and `null` leave the key out:
    /// some servers refuse a request that has it, whatever its value.
    pub(crate) fn write_or<M: SerializeMap>(
        &self,
        key: &str,
        default: &impl Serialize,
        map: &mut M,
    ) -> Result<(), M::Error> {
        match self.get(key) {
            None => map.serialize_entry(key, default),
            Some(none) if matches!(none.get(), "false" | "null") => Ok(()),
            Some(value) => map.serialize_entry(key, value),
        }
    }

    /// Writes all parameters but this one.
    pub(crate) fn write_others<M: SerializeMap>(
        &self,
        key: &str,
        map: &mut M,
    ) -> Result<(), M::Error> {
        let mut others = self.iter().filter(|(name, _)| *name != key);
        others.try_for_each(|(name, value)| map.serialize_entry(name, value))
    }

    fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(key, value)| (key.as_str(), *value))
    }
}
