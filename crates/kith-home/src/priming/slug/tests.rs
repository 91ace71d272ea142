use super::*;

#[test]
fn a_slug_is_segments_of_letters_digits_dots_and_dashes() {
    for slug in ["probe", "env/probe-1.2", "A_b", "...", ".hidden", "a/b/c", "x.md"] {
        assert_eq!(slug.parse::<Slug>().unwrap().to_string(), slug);
    }
}

#[test]
fn a_slug_that_could_lead_elsewhere_is_refused() {
    check_slug("", "it is empty");
    check_slug("../x", "the segment `..` is not allowed");
    check_slug("a/../b", "the segment `..` is not allowed");
    check_slug("a/..", "the segment `..` is not allowed");
    check_slug("./a", "the segment `.` is not allowed");
    check_slug(".", "the segment `.` is not allowed");
    check_slug("/etc/passwd", "it is an absolute path");
    check_slug("a/", "it ends with `/`");
    check_slug("a//b", "it has an empty segment (`//`)");
    check_slug("C:x", &not_allowed("':'"));
    check_slug("a b", &not_allowed("' '"));
    check_slug("a\\b", &not_allowed("'\\\\'"));
    check_slug("a\0b", &not_allowed("'\\0'"));
    check_slug("a\nb", &not_allowed("'\\n'"));
    check_slug("环境", &not_allowed("'环'"));
    check_slug("caf\u{e9}", &not_allowed("'é'"));
    check_slug("~root", &not_allowed("'~'"));
    check_slug("%2e%2e/x", &not_allowed("'%'"));
    check_slug(&"a".repeat(SLUG_BYTES_MAX + 1), "it is longer than 512 bytes");
    check_slug(&"a".repeat(SEGMENT_BYTES_MAX + 1), "a segment is longer than 200 bytes");
    check_slug(&["a"; SLUG_SEGMENTS_MAX + 1].join("/"), "it has more than 16 segments");
}

#[test]
fn a_script_ref_names_one_file() {
    for (text, path) in [
        ("individual/ux/probe", "individual/ux/probe.md"),
        ("individual/ux/env/probe-1.2", "individual/ux/env/probe-1.2.md"),
        ("team_shared/probe", "team_shared/probe.md"),
        ("team_shared/individual/x", "team_shared/individual/x.md"),
    ] {
        let script_ref: ScriptRef = text.parse().unwrap();
        assert_eq!(script_ref.to_string(), text);
        assert_eq!(script_ref.path(), PathBuf::from(path));
    }
}

#[test]
fn a_script_ref_that_names_no_file_of_the_folder_is_refused() {
    check_ref("probe", "it must begin with `individual/<member>/` or `team_shared/`");
    check_ref("Individual/ux/probe", "it must begin with `individual/<member>/` or `team_shared/`");
    check_ref("individual", "the slug is missing");
    check_ref("individual/ux", "the slug is missing");
    check_ref("team_shared", "the slug is missing");
    check_ref("team_shared/", "it ends with `/`");
    check_ref("individual/../probe", "the segment `..` is not allowed");
    check_ref("individual/ux/../../x", "the segment `..` is not allowed");
    check_ref("team_shared/../x", "the segment `..` is not allowed");
    check_ref("/team_shared/x", "it is an absolute path");
    check_ref("individual//x", "it has an empty segment (`//`)");
    check_ref("individual/C:/x", &not_allowed("':'"));
}

#[test]
fn a_member_is_one_segment() {
    assert_eq!("ux".parse::<MemberId>().unwrap().as_str(), "ux");
    let error = "a/b".parse::<MemberId>().unwrap_err();
    assert_eq!(error.problem, NameProblem::Character { character: '/' });
}

#[test]
fn refs_clash_when_only_capitals_differ() {
    let of = |text: &str| text.parse::<ScriptRef>().unwrap();
    assert!(of("team_shared/Probe").clashes_with(&of("team_shared/probe")));
    assert!(!of("team_shared/probe").clashes_with(&of("team_shared/probe")));
    assert!(!of("team_shared/probe").clashes_with(&of("individual/ux/probe")));
}

fn not_allowed(character: &str) -> String {
    format!("{character} is not allowed; use `A` to `Z`, `a` to `z`, digits, `.`, `_` and `-`")
}

#[track_caller]
fn check_slug(text: &str, expected: &str) {
    assert_eq!(text.parse::<Slug>().unwrap_err().problem.to_string(), expected);
    // In a reference the same rules hold on every segment.
    if !text.is_empty() && !text.starts_with('/') {
        assert!(format!("team_shared/{text}").parse::<ScriptRef>().is_err(), "{text}");
    }
}

#[track_caller]
fn check_ref(text: &str, expected: &str) {
    assert_eq!(text.parse::<ScriptRef>().unwrap_err().problem.to_string(), expected);
}
