use super::*;

#[test]
fn settings_are_read_as_git_reads_them() {
    let text = "\u{feff}# a comment\n[a \"b ] \\\" c\"] X = \"one ; two\" # three\n\
                Y=1\\\n2\n[c.d]\nz\n z = \\\"q\\\" \n[broken\nw = 5";
    let found: Vec<String> = settings(text)
        .iter()
        .map(|it| format!("{}.{}={}", it.section, it.name, it.value))
        .collect();
    assert_eq!(found, ["a.x=one ; two", "a.y=12", "c.z=\"q\"", "broken.w=5"]);
}

#[test]
fn no_settings_are_a_hang() {
    for text in ["[", "[]", "]", "\\", "\"", "[\"", "=", "#", "\n\n", "[a]\\\n"] {
        assert!(settings(text).len() <= 1, "{text}");
    }
}
