//! Which models a message records, and which of them are found again.

use std::fs;

use kith_home::trust::record_trust;
use kith_vocab::event::models::Wire;
use tempfile::TempDir;

use super::*;
use crate::house::House;

const TWO: &str = "[models]\nuse = \"a\"\nfallbacks = [\"b\", \"demo\", \"a\"]\n\
                   [models.a]\nwire = \"openai_chat\"\nbaseUrl = \"http://localhost:1/v1\"\nmodel = \"tiny\"\n\
                   [models.b]\nwire = \"openai_responses\"\n";

struct TestModels {
    dir: TempDir,
    watch: Arc<SettingsWatch>,
    registry: ModelRegistry,
}

impl TestModels {
    fn new(settings: &str) -> TestModels {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("kith.toml"), settings).unwrap();
        let cwd = dir.path().canonicalize().unwrap();
        let user_home = cwd.join("user");
        fs::create_dir(&user_home).unwrap();
        record_trust(&user_home, &cwd, 1).unwrap();
        let house = House { dir: cwd.clone(), cwd, user_home: Some(user_home) };
        let watch = SettingsWatch::open(&house).unwrap();
        let registry = ModelRegistry::new(Arc::clone(&watch));
        TestModels { dir, watch, registry }
    }

    fn rewrite(&self, settings: &str) {
        fs::write(self.dir.path().join("kith.toml"), settings).unwrap();
        self.watch.current().unwrap();
    }

    fn choose(&self, named: Option<&str>) -> ChosenModel {
        self.registry.choose(named, &self.watch.last_good()).unwrap()
    }

    #[track_caller]
    fn check_unavailable(&self, model: &ModelRef, expected: &str) {
        match self.registry.find(model) {
            Ok(_) => panic!("{model:?} was found"),
            Err(unavailable) => assert_eq!(unavailable.reason, expected),
        }
    }
}

fn names(chosen: &ChosenModel) -> String {
    let names: Vec<&str> = chosen.refs.iter().map(|it| it.name.as_str()).collect();
    names.join(" ")
}

#[test]
fn a_message_records_the_chosen_model_and_its_fallbacks() {
    let models = TestModels::new(TWO);
    assert_eq!(names(&models.choose(None)), "a b demo");
    assert_eq!(names(&models.choose(Some("a"))), "a b demo");
    // What is said to a model that was named goes to no other.
    assert_eq!(names(&models.choose(Some("b"))), "b");
    assert_eq!(names(&models.choose(Some("demo"))), "demo");
}

#[test]
fn a_reference_names_the_endpoint_by_its_digest() {
    let chosen = TestModels::new(TWO).choose(None);
    let expected = sha256("openai_chat\nhttp\nlocalhost\n1\n/v1");
    let first = ModelRef {
        name: "a".to_owned(),
        provider: "a".to_owned(),
        wire: Wire::OpenaiChat,
        model: "tiny".to_owned(),
        endpoint: expected,
    };
    assert_eq!(chosen.refs[0], first);
    // Without an address it is the vendor's own.
    let own = sha256("openai_responses\nhttps\napi.openai.com\n443\n/v1");
    assert_eq!((chosen.refs[1].wire, &chosen.refs[1].endpoint), (Wire::OpenaiResponses, &own));
    let claude = "[models]\nuse = \"claude\"\n[models.claude]\nwire = \"anthropic\"\n";
    let chosen = TestModels::new(claude).choose(None);
    let own = sha256("anthropic\nhttps\napi.anthropic.com\n443\n");
    assert_eq!((chosen.refs[0].wire, &chosen.refs[0].endpoint), (Wire::Anthropic, &own));
    assert_eq!(chosen.provider.choice().wire, Wire::Anthropic);
}

fn sha256(text: &str) -> String {
    kith_vocab::digest::sha256_hex(text.as_bytes())[..16].to_owned()
}

#[test]
fn a_provider_stays_as_long_as_its_settings() {
    let models = TestModels::new(TWO);
    let first = models.choose(None).provider;
    assert!(Arc::ptr_eq(&first, &models.choose(None).provider));
    models.rewrite(&format!("{TWO}[limits]\nsteps = 3\n"));
    assert!(Arc::ptr_eq(&first, &models.choose(None).provider), "nothing of the model changed");
    models.rewrite(&TWO.replace("model = \"tiny\"", "model = \"tiny\"\nmaxTokens = 9"));
    assert!(!Arc::ptr_eq(&first, &models.choose(None).provider));
    models.rewrite(TWO);
    assert!(Arc::ptr_eq(&first, &models.choose(None).provider));
}

#[test]
fn a_limit_of_tokens_has_the_name_that_its_server_wants() {
    let parameters = |wire: &str, place: &str, more: &str| {
        let models = TestModels::new(&format!(
            "[models]\nuse = \"a\"\n[models.a]\nwire = \"{wire}\"\n{place}maxTokens = 9\n{more}"
        ));
        models.choose(None).provider.choice().parameters.as_str().to_owned()
    };
    let local = "baseUrl = \"http://localhost:1/v1\"\n";
    assert_eq!(parameters("openai_chat", local, ""), r#"{"max_tokens":9}"#);
    let own = "baseUrl = \"https://api.openai.com/v1/\"\n";
    assert_eq!(parameters("openai_chat", own, ""), r#"{"max_completion_tokens":9}"#);
    // Another server that wants the new name is given it by the settings.
    let named = "parameters = { max_completion_tokens = 7 }\n";
    assert_eq!(parameters("openai_chat", local, named), r#"{"max_completion_tokens":9}"#);
    for place in ["", local] {
        assert_eq!(parameters("openai_responses", place, ""), r#"{"max_output_tokens":9}"#);
        assert_eq!(parameters("anthropic", place, ""), r#"{"max_tokens":9}"#);
    }
}

#[test]
fn a_model_is_found_exactly_as_it_was_recorded() {
    let models = TestModels::new(TWO);
    let chosen = models.choose(None);
    for model in &chosen.refs {
        assert!(models.registry.find(model).is_ok(), "{model:?}");
    }
    // A price or a limit is no other model.
    models.rewrite(&TWO.replace("model = \"tiny\"", "model = \"tiny\"\nmaxTokens = 9"));
    assert!(models.registry.find(&chosen.refs[0]).is_ok());
    let moved = "the message was for model `a` (`tiny` of a), but here `a` is `tiny` of a at \
                 `http://localhost:2/v1`: restore its settings, or send the message again";
    models.rewrite(&TWO.replace("localhost:1", "localhost:2"));
    models.check_unavailable(&chosen.refs[0], moved);
    let other = "the message was for model `a` (`tiny` of a), but here `a` is `big` of a at \
                 `http://localhost:1/v1`: restore its settings, or send the message again";
    models.rewrite(&TWO.replace("\"tiny\"", "\"big\""));
    models.check_unavailable(&chosen.refs[0], other);
    let without_key = "the message was for model `a` (`tiny` of a), but the settings use the environment variable `KITH_TEST_UNSET`, which is not set";
    models.rewrite(&TWO.replace("\"tiny\"", "\"tiny\"\napiKey = \"${KITH_TEST_UNSET}\""));
    models.check_unavailable(&chosen.refs[0], without_key);
}

#[test]
fn a_fallback_that_is_not_configured_is_refused() {
    let models = TestModels::new("[models]\nuse = \"demo\"\nfallbacks = [\"c\"]\n");
    let chosen = models.registry.choose(None, &models.watch.last_good());
    let report = chosen.err().unwrap();
    assert_eq!(report.message(), "the settings name the model `c`, but have no `[models.c]`");
}

#[test]
fn a_model_without_its_key_is_passed_over_for_the_next_and_refused_if_none_is_left() {
    let keyless = "apiKey = \"${KITH_TEST_NEVER_SET}\"\n";
    let models = TestModels::new(&format!(
        "[models]\nuse = \"a\"\nfallbacks = [\"b\", \"demo\"]\n\
         [models.a]\nwire = \"anthropic\"\n{keyless}[models.b]\nwire = \"openai_responses\"\n{keyless}"
    ));
    let chosen = models.choose(None);
    assert_eq!((names(&chosen).as_str(), chosen.name.model.as_str()), ("demo", "demo"));
    let because = "is passed over: the settings use the environment variable \
                   `KITH_TEST_NEVER_SET`, which is not set; `demo` is asked instead";
    assert_eq!(
        chosen.passed_over.iter().map(HostNote::in_english).collect::<Vec<_>>(),
        [format!("model `a` {because}"), format!("model `b` {because}")]
    );
    // What is named is meant.
    assert!(models.registry.choose(Some("a"), &models.watch.last_good()).is_err());
    models.rewrite(&format!(
        "[models]\nuse = \"a\"\nfallbacks = [\"b\"]\n\
         [models.a]\nwire = \"anthropic\"\n{keyless}[models.b]\nwire = \"openai_responses\"\n{keyless}"
    ));
    assert!(models.registry.choose(None, &models.watch.last_good()).is_err());
}
