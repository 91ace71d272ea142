//! A model server from outside this project. `cargo xtask test --peers` starts one and names its address.

use kith_testkit::skipped;
use serde_json::Value;

use crate::house::{House, of_type};

/// The address of llama.cpp's server, without a path.
const ADDRESS_VARIABLE: &str = "KITH_MODEL_SERVER";

#[test]
fn a_model_of_llama_cpp_calls_a_tool_and_answers_in_a_stream() {
    let Ok(address) = std::env::var(ADDRESS_VARIABLE) else {
        let test = "a_model_of_llama_cpp_calls_a_tool_and_answers_in_a_stream";
        skipped::note(test, "no model server was started (`cargo xtask test --peers` does)");
        return;
    };
    for (wire, path) in [("openai_chat", "/v1"), ("anthropic", "")] {
        let house = House::new();
        house.write(
            "kith.toml",
            format!(
                "[models]\nuse = \"peer\"\n[models.peer]\nwire = \"{wire}\"\n\
                 baseUrl = \"{address}{path}\"\nmodel = \"smollm2\"\nmaxTokens = 64\n\
                 contextWindow = 8192\nparameters = {{ temperature = 0 }}\n"
            ),
        );
        house.kith(&["trust", "."]).succeeded();
        house.write("notes.txt", "The garden gate is green.\n");
        let ran = house.kith(&["ask", "Read the file notes.txt", "--stream-json"]);
        let lines: Vec<Value> =
            ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let told = lines.last().unwrap();
        assert_eq!(told["ok"], true, "{wire}: {}", ran.shown());
        let text = told["text"].as_str().unwrap();
        assert!(text.to_lowercase().contains("green"), "{wire}: {text}");
        let n_deltas = lines.iter().filter(|line| line["type"] == "delta").count();
        assert!(n_deltas > 2, "{wire}: {n_deltas} deltas");
        let log = house.log();
        let results = of_type(&log, "tool_result");
        assert_eq!(results.len(), 1, "{wire}");
        assert!(results[0].to_string().contains("garden gate"), "{wire}: {}", results[0]);
        assert!(
            of_type(&log, "model_failed").is_empty(),
            "{wire}: {:?}",
            of_type(&log, "model_failed")
        );
        for check in ["verify", "replay"] {
            assert_eq!(house.json(&["session", check, "latest", "--json"])["ok"], true, "{wire}");
        }
    }
}
