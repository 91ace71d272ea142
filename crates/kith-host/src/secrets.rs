//! The secrets that this process knows, for the filter at every exit.
//!
//! A secret is the value of an environment variable that the settings name as one (`${NAME}`), or
//! whose own name says that it holds a key, a token or a password. Values stay in the filter, which
//! cannot be printed.

use std::env;
use std::sync::{Arc, Mutex, PoisonError};

use kith_vocab::secret::Secret;
use kith_vocab::secret::filter::SecretFilter;

use crate::settings::Settings;
use crate::settings::forms::names_a_secret;

/// Keeps the filter for as long as the settings stay the same.
#[derive(Default)]
pub struct KnownSecrets {
    kept: Mutex<Option<(Arc<Settings>, Arc<SecretFilter>)>>,
}

impl KnownSecrets {
    pub fn filter(&self, settings: &Arc<Settings>) -> Arc<SecretFilter> {
        // The pair is replaced as a whole, so a panic elsewhere does not spoil it.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, filter)) = &*kept
            && Arc::ptr_eq(of, settings)
        {
            return Arc::clone(filter);
        }
        let filter = Arc::new(secret_filter(settings));
        *kept = Some((Arc::clone(settings), Arc::clone(&filter)));
        filter
    }
}

/// Makes the filter of what the settings and the environment hold now.
pub fn secret_filter(settings: &Settings) -> SecretFilter {
    let named: Vec<&str> = settings
        .models
        .named
        .values()
        .filter_map(|model| model.api_key.as_ref().map(|it| it.0.as_str()))
        .collect();
    // A variable that is not text is none that a model or a person could have quoted.
    let variables = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    filter_of(&named, variables)
}

fn filter_of(named: &[&str], variables: impl Iterator<Item = (String, String)>) -> SecretFilter {
    let secrets = variables
        .filter(|(name, _)| named.contains(&name.as_str()) || names_a_secret(name))
        .map(|(_, value)| Secret::new(value));
    SecretFilter::new(&secrets.collect::<Vec<Secret>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_are_named_or_named_like_a_secret_are_known() {
        let variables = [
            ("WORK", "named-in-settings-1"),
            ("OPENAI_API_KEY", "vendor-key-22222"),
            ("GITHUB_TOKEN", "token-of-github-3"),
            ("DB_PASSWORD", "password-of-db-4"),
            ("HOME", "/home/someone-5"),
            ("MY_KEY", "short"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let filter = filter_of(&["WORK"], variables.into_iter());
        for known in
            ["named-in-settings-1", "vendor-key-22222", "token-of-github-3", "password-of-db-4"]
        {
            assert!(filter.is_in(&format!("x={known}")), "{known}");
        }
        assert!(!filter.is_in("/home/someone-5 short WORK OPENAI_API_KEY"));
    }
}
