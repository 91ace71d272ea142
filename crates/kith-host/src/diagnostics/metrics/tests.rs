//! The text format of Prometheus, read strictly.

use super::*;

/// Reads the text as Prometheus does: each sample stands under the type of its metric, names and
/// labels are well formed, and no sample is there twice.
#[track_caller]
pub(in crate::diagnostics) fn samples(text: &str) -> BTreeMap<String, String> {
    let mut samples = BTreeMap::new();
    let mut metric = (String::new(), String::new());
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            assert!(help.split_once(' ').is_some_and(|(_, text)| text.ends_with('.')), "{line}");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            metric = (name.to_owned(), kind.to_owned());
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let name = series.split('{').next().unwrap();
            assert!(name.bytes().all(|it| it.is_ascii_lowercase() || it == b'_'), "{line}");
            let stem = ["_bucket", "_sum", "_count"].iter().find_map(|it| name.strip_suffix(it));
            let stem = stem.filter(|_| metric.1 == "histogram").unwrap_or(name);
            assert_eq!(stem, metric.0, "{line}");
            assert!(value.parse::<f64>().is_ok(), "{line}");
            let before = samples.insert(series.to_owned(), value.to_owned());
            assert_eq!(before, None, "{line}");
        }
    }
    samples
}

#[test]
fn counts_and_durations_are_written_as_prometheus_reads_them() {
    let metrics = HouseMetrics::default();
    metrics.add(MetricName::TurnsEnded, &[("end", "done")], 2);
    metrics.add(MetricName::TurnsEnded, &[("end", "done")], 1);
    metrics.set(MetricName::Clients, &[], 4);
    for ms in [0, 10, 11, 1_000, 999_999] {
        metrics.take_time(MetricName::ToolCallSeconds, &[("tool", "read_file")], ms);
    }
    let samples = samples(&metrics.text());
    assert_eq!(samples["kith_turns_ended_total{end=\"done\"}"], "3");
    assert_eq!(samples["kith_clients"], "4");
    let bucket = |le: &str| {
        &*samples[&format!("kith_tool_call_seconds_bucket{{tool=\"read_file\",le=\"{le}\"}}")]
    };
    assert_eq!([bucket("0.01"), bucket("0.05"), bucket("1"), bucket("300")], ["2", "3", "4", "4"]);
    assert_eq!(bucket("+Inf"), "5");
    assert_eq!(samples["kith_tool_call_seconds_count{tool=\"read_file\"}"], "5");
    assert_eq!(samples["kith_tool_call_seconds_sum{tool=\"read_file\"}"], "1001.020");
}

#[test]
fn every_metric_has_a_type_and_a_name_of_its_own() {
    let text = HouseMetrics::default().text();
    assert_eq!(samples(&text).len(), 0);
    let names: BTreeSet<&str> = METRICS.iter().map(|(_, name, ..)| *name).collect();
    let metrics: BTreeSet<MetricName> = METRICS.iter().map(|(metric, ..)| *metric).collect();
    assert_eq!((names.len(), metrics.len()), (METRICS.len(), METRICS.len()));
    assert_eq!(text.matches("# TYPE").count(), METRICS.len());
}

#[test]
fn labels_are_escaped_and_models_are_bounded_in_number() {
    let metrics = HouseMetrics::default();
    metrics.add(MetricName::TurnsEnded, &[("end", "a\"b\\c\nd")], 1);
    assert!(metrics.text().contains(r#"{end="a\"b\\c_d"} 1"#), "{}", metrics.text());
    let labels: BTreeSet<String> =
        (0..200).map(|n| metrics.model_label(&format!("model-{n}"))).collect();
    assert_eq!(labels.len(), MODEL_NAMES_MAX + 1);
    assert!(labels.contains(OTHER));
    assert_eq!(metrics.model_label("model-0"), "model-0", "a known one keeps its name");
}
