use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

mod hunt;

/// A script in one line: its segments by their joints, then its obstacles.
fn outline(text: &str) -> String {
    let script = parse(text);
    let mut out = String::new();
    for segment in &script.segments {
        out.push_str(match segment.joint {
            Joint::First => "",
            Joint::And => " && ",
            Joint::Or => " || ",
            Joint::Then => " ; ",
            Joint::Pipe => " | ",
        });
        for assignment in &segment.assignments {
            write!(out, "{}={} ", assignment.name, assignment.value.text).unwrap();
        }
        let words: Vec<String> = segment.words.iter().map(shown).collect();
        out.push_str(&words.join(" "));
        for redirect in &segment.redirects {
            let direction = match redirect.direction {
                RedirectDirection::Read => "<",
                RedirectDirection::Write => ">",
                RedirectDirection::Append => ">>",
            };
            write!(out, " {direction}{}", shown(&redirect.target)).unwrap();
        }
    }
    let mut kinds: Vec<String> =
        script.obstacles.iter().map(|it| format!("{:?}", it.kind)).collect();
    kinds.dedup();
    if !kinds.is_empty() {
        write!(out, "  !{}", kinds.join(",")).unwrap();
    }
    out
}

fn shown(word: &Word) -> String {
    match word.form {
        WordForm::Literal => format!("[{}]", word.text),
        WordForm::Home => format!("~[{}]", word.text),
        WordForm::Pattern => format!("*[{}]", word.text),
        WordForm::Unknown => format!("?[{}]", word.text),
    }
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(outline(text), expected, "{text:?}");
}

#[test]
fn simple_commands_are_understood() {
    check("ls -la src", "[ls] [-la] [src]");
    check("cat a | head -40", "[cat] [a] | [head] [-40]");
    check("a || b && c; d\ne", "[a] || [b] && [c] ; [d] ; [e]");
    check("(cd a && ls); ls *.rs", "[cd] [a] && [ls] ; [ls] *[*.rs]");
    check("{ ls; pwd; } | wc", "[ls] ; [pwd] | [wc]");
    check("! grep x y # z", "[grep] [x] [y]");
    check("CI=1 make CC=gcc -j2", "CI=1 [make] [CC=gcc] [-j2]");
    check("awk '{print $1}' f", "[awk] [{print $1}] [f]");
    check("git commit -m \"fix: a (b)\"", "[git] [commit] [-m] [fix: a (b)]");
    check("make; echo \"exit $?\"", "[make] ; [echo] [exit $?]");
    check("cat ~/x", "[cat] ~[~/x]");
    check("", "");
}

#[test]
fn redirections_belong_to_the_last_command_and_to_one_word() {
    check("echo hi > f a b 2>&1 >> g", "[echo] [hi] [a] [b] >[f] >>[g]");
    check("grep x f | sort > o", "[grep] [x] [f] | [sort] >[o]");
    check("ls 2> err | wc < in", "[ls] >[err] | [wc] <[in]");
    check("< in cat &> out", "[cat] <[in] >[out]");
    check("cmd >& out", "[cmd] >[out]");
    check("(cd a && ls) > out", " >[out][cd] [a] && [ls]");
    check("ls > *.x", "[ls] >*[*.x]  !Expansion");
}

#[test]
fn quotes_and_backslashes_change_no_word() {
    for text in
        ["rm -r x", "r\\m -r x", "r''m -r x", "\"rm\" '-r' \"x\"", "rm \\\n -r x", "'r'm -\"r\" x"]
    {
        check(text, "[rm] [-r] [x]");
    }
    check("echo \"a\\\"b\" 'it'\\''s' \"\\x\"", "[echo] [a\"b] [it's] [\\x]");
}

#[test]
fn everything_else_is_an_obstacle() {
    check("ls $(rm -r x)", "[ls] ?[$(rm -r x)] ; [rm] [-r] [x]  !Expansion,Substitution");
    check("echo `id`", "[echo] ?[`id`] ; [id]  !Expansion,Substitution");
    check("diff <(ls) x", "[diff] ?[<(ls)] [x] ; [ls]  !Expansion,Substitution");
    check("echo $HOME", "[echo] ?[$HOME]  !Expansion");
    check("echo \"${X:-$(id)}\"", "[echo] ?[\"${X:-$(id)}\"] ; [id]  !Expansion,Substitution");
    check("FOO=bar; $FOO", "?[$FOO]  !Variable,Program,Expansion");
    check("PATH=.:$PATH ls", "PATH=.:$PATH [ls]  !Variable,Expansion");
    check("cat <<EOF\nhi\nEOF", "[cat]  !HereDocument");
    check("sleep 1 &", "[sleep] [1]  !Background");
    check("if true; then ls; fi", "[true] ; [ls]  !ControlFlow");
    check("[ -f x ] && ls", "[ls]  !Test");
    check("export A=1", "  !Variable");
    check("f() { ls; }; f", "[ls] ; [f]  !Function");
    check("coproc ls", "[coproc] [ls]  !Ambiguous");
    check("ls\r", "?[ls\r]  !Character,Program,Expansion");
    check("echo a\u{200b}b", "[echo] [a\u{200b}b]  !Character");
    check("(ls", "[ls]  !Syntax");
    check("a;;b", "[a] ; [b]  !Other");
    check("cat {/etc/passwd,x}", "[cat] [/etc/passwd] [x]");
    check("find . {-delete,-print}", "[find] [.] [-delete] [-print]");
    check("{rm,-r,x}", "  !Syntax");
    check("ls {a..z}", "[ls] ?[{a..z}]  !Expansion");
    check("ls > {a,b}", "[ls] >?[{a,b}]  !Expansion");
}

#[test]
fn too_long_and_too_deep_are_obstacles() {
    let kinds = |text: &str| parse(text).obstacles.iter().map(|it| it.kind).collect::<Vec<_>>();
    assert_eq!(kinds(&"a".repeat(SCRIPT_BYTES_MAX + 1)), [ObstacleKind::TooLong]);
    assert!(kinds(&"a;".repeat(SEGMENTS_MAX + 5)).contains(&ObstacleKind::TooLong));
    let deep = format!("{}ls{}", "( ".repeat(100), " )".repeat(100));
    assert!(kinds(&deep).contains(&ObstacleKind::TooDeep));
    for unit in ["$(", "a|", "{ ", "a&&", "<", "[", "`", "if ", "while ", "a == "] {
        assert_eq!(
            kinds(&unit.repeat(SCRIPT_OPERATORS_MAX + 1)),
            [ObstacleKind::TooLong],
            "{unit}"
        );
    }
    let chained = format!("{}git push", "true && ".repeat(150));
    assert_eq!(kinds(&chained), []);
    assert_eq!(parse(&chained).segments.len(), 151);
    // What is long and plain is read all the same.
    let long = format!("{}\n", "git log --format='%h %s' -n 3 src/a src/b src/c 2>&1").repeat(190);
    assert!(long.len() > 10_000 && parse(&long).is_understood());
}

/// The scanner of the grammar once read beyond its tables here and ended the process.
#[test]
fn characters_beyond_ascii_do_not_reach_the_grammar() {
    check("echo \u{e9}\u{1f534} '\u{4f60}\u{597d}'", "[echo] [\u{e9}\u{1f534}] [\u{4f60}\u{597d}]");
    check("git commit -m \"\u{4fee}\u{590d}\"", "[git] [commit] [-m] [\u{4fee}\u{590d}]");
    check("\u{e9}=1", "  !Variable");
    for first in ["$", "${", "$(", "<<", "{", "[[ x =~ ", "((", "a[", "<<\u{1e2c7}\n", "\\"] {
        for ch in ['\u{e9}', '\u{ffff}', '\u{1d440}', '\u{10ffff}', '\u{0}', '\u{7f}'] {
            parse(&format!("{first}{ch}{ch}}} {ch}"));
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in "\\PC{0,200}") {
        parse(&text);
    }

    #[test]
    fn any_shell_like_text_is_read_without_a_panic(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "ls", " ", "\\", "'", "\"", "$", "(", ")", "{", "}", "|", "&", ";", "\n", "<", ">",
                "if", "then", "fi", "for", "do", "done", "case", "esac", "[[", "]]", "`", "=", "#",
                "!", "~", "*", "EOF", "<<", "$(", "${", "a", "0", "2>&1",
            ]),
            0..40,
        )
    ) {
        parse(&parts.concat());
    }

    /// Whatever is in front of it, a plain command is seen.
    #[test]
    fn a_command_after_an_understood_script_is_a_segment(
        text in "[a-z '\"|;&]{0,30}"
    ) {
        if parse(&text).is_understood() {
            let script = parse(&format!("{text}\nrm x"));
            let last = script.segments.last().map(|it| it.words.clone());
            let expected = vec![Word::literal("rm"), Word::literal("x")];
            prop_assert!(!script.is_understood() || last == Some(expected));
        }
    }
}

#[test]
fn that_commands_are_missing_is_said_after_any_number_of_obstacles() {
    let text = "echo $x; ".repeat(60) + &"true; ".repeat(250);
    let script = parse(&text);
    assert_eq!(script.obstacles.len(), OBSTACLES_MAX);
    assert!(script.obstacles.iter().any(|it| it.kind == ObstacleKind::TooLong));
}
