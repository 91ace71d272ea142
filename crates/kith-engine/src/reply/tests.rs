#![allow(clippy::print_stdout, reason = "the counts are what these tests are run for")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::OnceLock;

use proptest::prelude::*;
use serde::Deserialize;

use super::{
    GrantWish, PendingApproval, REPLY_CHARS_MAX, ReplyReading, Unclear, is_plain_words, read_reply,
};

#[derive(Deserialize)]
struct Corpus {
    pending: BTreeMap<String, Vec<CorpusPending>>,
    cases: Vec<CorpusCase>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CorpusPending {
    approval_id: String,
    code: String,
    tool: String,
    summary: String,
    command: Option<String>,
    path: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CorpusCase {
    text: String,
    pending: String,
    verdict: String,
    #[serde(default)]
    approvals: Vec<String>,
    #[serde(default)]
    denied: Vec<String>,
    grant: Option<GrantWish>,
}

fn corpora() -> &'static [Corpus; 4] {
    static CORPORA: OnceLock<[Corpus; 4]> = OnceLock::new();
    CORPORA.get_or_init(read_corpora)
}

fn read_corpora() -> [Corpus; 4] {
    let texts = [
        include_str!("../../../../testdata/replies/examples.json"),
        include_str!("../../../../testdata/replies/english.json"),
        include_str!("../../../../testdata/replies/chinese.json"),
        include_str!("../../../../testdata/replies/unseen.json"),
    ];
    texts.map(|text| serde_json::from_str(text).unwrap())
}

impl Corpus {
    fn pending(&self, case: &CorpusCase) -> Vec<PendingApproval> {
        let rows = self.pending[&case.pending].iter();
        rows.map(|it| PendingApproval {
            approval_id: it.approval_id.clone(),
            code: it.code.clone(),
            tool: it.tool.clone(),
            summary: it.summary.clone(),
            command: it.command.clone(),
            paths: it.path.iter().cloned().collect(),
        })
        .collect()
    }
}

fn wanted(case: &CorpusCase) -> Option<ReplyReading> {
    let approvals = case.approvals.clone();
    match case.verdict.as_str() {
        "allow" => {
            let (denied, grant) = (case.denied.clone(), case.grant.clone());
            Some(ReplyReading::Allow { approvals, denied, grant })
        }
        "deny" => Some(ReplyReading::Deny { approvals, has_reason: false }),
        "notAnAnswer" => Some(ReplyReading::NotAnAnswer),
        "askBack" => None,
        other => panic!("{other}"),
    }
}

/// Whether the reply is read as its label says. Which reason it is asked back for is not compared.
fn is_right(case: &CorpusCase, reading: &ReplyReading) -> bool {
    match (wanted(case), reading) {
        (None, ReplyReading::AskBack(_)) => true,
        (
            Some(ReplyReading::Deny { approvals, .. }),
            ReplyReading::Deny { approvals: found, .. },
        ) => approvals == *found,
        (Some(wanted), found) => wanted == *found,
        _ => false,
    }
}

#[test]
fn no_reply_of_the_corpora_is_a_wrong_grant_and_few_are_asked_back() {
    let (mut n_cases, mut n_right, mut n_asked_back) = (0, 0, 0);
    let (mut wrong_grants, mut others) = (String::new(), String::new());
    for corpus in corpora() {
        for case in &corpus.cases {
            let reading = read_reply(&case.text, &corpus.pending(case));
            n_cases += 1;
            if is_right(case, &reading) {
                n_right += 1;
                continue;
            }
            let line = format!("{:?} ({}): {reading:?}\n", case.text, case.pending);
            match reading {
                ReplyReading::Allow { .. } => write!(wrong_grants, "{line}").unwrap(),
                ReplyReading::AskBack(_) => n_asked_back += 1,
                ReplyReading::Deny { .. } | ReplyReading::NotAnAnswer => {}
            }
            others.push_str(&line);
        }
    }
    println!(
        "{n_cases} replies: {n_right} read as labelled, {n_asked_back} asked back without need"
    );
    println!("not as labelled:\n{others}");
    assert_eq!(wrong_grants, "");
    assert!(n_cases >= 1600, "{n_cases}");
    assert!(n_right * 100 >= n_cases * 95, "{n_right} of {n_cases}:\n{others}");
}

/// These replies were written before anybody looked at the words that are known here. When they were
/// first read, 263 of 324 were read as labelled, and one was a wrong grant; words were added since.
#[test]
fn replies_that_the_words_were_not_made_for_are_read_as_well() {
    let [.., unseen] = corpora();
    let right = |case: &&CorpusCase| is_right(case, &read_reply(&case.text, &unseen.pending(case)));
    let (n_right, n_cases) = (unseen.cases.iter().filter(right).count(), unseen.cases.len());
    println!("{n_right} of {n_cases} as labelled");
    assert!(n_right * 100 >= n_cases * 95, "{n_right} of {n_cases}");
}

#[test]
fn a_word_for_another_deed_is_no_part_of_a_yes() {
    let push = pending_command("git push origin main");
    for text in ["yes, push it", "同意推送", "ok push"] {
        assert!(matches!(read_reply(text, &push), ReplyReading::Allow { .. }), "{text}");
    }
    for text in ["yes, delete it", "同意删除", "ok install", "好的，部署", "yes, deploy it"]
    {
        let reading = read_reply(text, &push);
        assert!(matches!(reading, ReplyReading::AskBack(_)), "{text}: {reading:?}");
    }
}

#[test]
fn every_example_of_the_design_is_read_as_it_says() {
    let [examples, ..] = corpora();
    for case in &examples.cases {
        let reading = read_reply(&case.text, &examples.pending(case));
        assert!(is_right(case, &reading), "{:?}: {reading:?}", case.text);
    }
}

/// Words that take a yes back or make it depend on something, whether the lexicon has them or not.
const SPOILERS: &[&str] = &[
    "not",
    "don't",
    "no",
    "never",
    "unless it fails",
    "if it works",
    "but not now",
    "except prod",
    "after lunch",
    "hardly",
    "refuse",
    "nope",
    "rather not",
    "once it rains",
    "as soon as I am back",
    "supposing it works",
    "barring trouble",
    "under protest",
    "in theory",
    "would be nice",
    "不",
    "不要",
    "别",
    "没",
    "没有",
    "拒绝",
    "不行",
    "如果可以",
    "除非没事",
    "但是",
    "前提是备份",
    "等等",
    "的话",
    "未必",
    "并非",
    "休想",
    "倘若顺利",
    "改天",
    "下次",
    "假的",
    "才怪",
    "毋",
    "否",
];

#[test]
fn a_yes_with_a_negation_or_a_condition_is_never_a_yes() {
    let mut n_tried = 0;
    let is_slow = std::env::var_os("KITH_SLOW_TESTS").is_some();
    for corpus in corpora() {
        let yes = corpus.cases.iter().filter(|case| case.verdict == "allow");
        for (n, case) in yes.enumerate() {
            let pending = corpus.pending(case);
            // Each reply meets a seventh of them, and each of them many replies; with
            // KITH_SLOW_TESTS each meets all.
            let (first, step) = if is_slow { (0, 1) } else { (n % 7, 7) };
            for spoiler in SPOILERS.iter().skip(first).step_by(step) {
                for text in [
                    format!("{spoiler} {}", case.text),
                    format!("{} {spoiler}", case.text),
                    format!("{}，{spoiler}", case.text),
                    format!("{spoiler}, {}", case.text),
                ] {
                    n_tried += 1;
                    let reading = read_reply(&text, &pending);
                    let is_allowed = matches!(reading, ReplyReading::Allow { .. });
                    assert!(!is_allowed, "{text:?}: {reading:?}");
                }
            }
        }
    }
    println!("{n_tried} spoiled replies, none of them a yes");
}

proptest! {
    /// A negation or a condition in any place of a yes, between two words or inside one.
    #[test]
    fn a_spoiler_anywhere_inside_a_yes_leaves_no_allow(
        case in 0usize..10_000, spoiler in 0usize..SPOILERS.len(), at in 0usize..1_000,
    ) {
        let [_, english, chinese, _] = corpora();
        let corpus = if case % 2 == 0 { english } else { chinese };
        let yes: Vec<&CorpusCase> =
            corpus.cases.iter().filter(|case| case.verdict == "allow").collect();
        let case = yes[case / 2 % yes.len()];
        let chars: Vec<char> = case.text.chars().collect();
        let at = at % (chars.len() + 1);
        // Inside a quotation it would be part of a name, and inside a word another word.
        let is_between = |ch: Option<&char>| ch.is_none_or(|ch| !ch.is_ascii_alphanumeric());
        let splits_word = !is_between(chars.get(at)) && at > 0 && !is_between(chars.get(at - 1));
        prop_assume!(!splits_word && !case.text.contains(['`', '"', '“', '「']));
        let (head, tail): (String, String) = (chars[..at].iter().collect(), chars[at..].iter().collect());
        let text = format!("{head} {} {tail}", SPOILERS[spoiler]);
        let reading = read_reply(&text, &corpus.pending(case));
        let is_allowed = matches!(reading, ReplyReading::Allow { .. });
        prop_assert!(!is_allowed, "{text:?}: {reading:?}");
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in "\\PC{0,80}") {
        let [_, english, ..] = corpora();
        for rows in english.pending.keys() {
            let case = CorpusCase {
                text: text.clone(), pending: rows.clone(), verdict: String::new(),
                approvals: Vec::new(), denied: Vec::new(), grant: None,
            };
            read_reply(&text, &english.pending(&case));
        }
    }
}

/// Others than the person who writes.
const THIRD_PERSONS: &[&str] = &[
    "the man",
    "that dude",
    "buddy",
    "my friend",
    "a mate",
    "kith",
    "roger",
    "it",
    "he",
    "she",
    "they",
    "someone",
    "the boss",
    "the one",
    "that one",
    "alice",
    "它",
    "它们",
    "他",
    "她",
    "他们",
    "兄弟",
    "老弟",
    "老板",
    "同事",
    "别人",
    "有人",
    "小王",
];
const APPROVING_VERBS: &[&str] = &[
    "approved it",
    "approves it",
    "approved this",
    "approves",
    "allowed it",
    "allows it",
    "agreed to it",
    "agrees",
    "confirmed it",
    "confirms it",
    "accepted it",
    "authorized it",
    "permitted it",
    "permits this",
    "同意",
    "同意了",
    "批准",
    "批准了",
    "允许",
    "允许了",
    "确认",
    "确认了",
    "通过了",
    "准了",
    "授权了",
    "同意执行",
    "批准执行",
];

#[test]
fn what_others_approved_is_never_a_yes() {
    let pending = pending_command("git push origin main");
    for subject in THIRD_PERSONS {
        for verb in APPROVING_VERBS {
            for text in [
                format!("{subject} {verb}"),
                format!("{subject}{verb}"),
                format!("yes, {subject} {verb}"),
                format!("{subject} {verb}, ok"),
                format!("好的，{subject}{verb}"),
            ] {
                let reading = read_reply(&text, &pending);
                assert!(!matches!(reading, ReplyReading::Allow { .. }), "{text}: {reading:?}");
            }
        }
    }
    for text in ["我同意", "我批准了", "I approve", "i agree", "I confirm", "i approved it"]
    {
        let reading = read_reply(text, &pending);
        assert!(matches!(reading, ReplyReading::Allow { .. }), "{text}: {reading:?}");
    }
}

fn pending_command(command: &str) -> Vec<PendingApproval> {
    vec![PendingApproval {
        approval_id: "a1".to_owned(),
        code: "7QX".to_owned(),
        tool: "exec_shell".to_owned(),
        summary: command.to_owned(),
        command: Some(command.to_owned()),
        paths: Vec::new(),
    }]
}

#[test]
fn a_command_worded_like_a_condition_is_not_taken_for_its_name() {
    let pending = pending_command("unless it touches prod");
    let reading = read_reply("ok unless it touches prod", &pending);
    assert_eq!(reading, ReplyReading::AskBack(Unclear::Condition));
    let reading = read_reply("ok `unless it touches prod`", &pending);
    assert!(matches!(reading, ReplyReading::Allow { .. }), "{reading:?}");
}

#[test]
fn characters_that_turn_the_text_around_are_asked_back() {
    let reading = read_reply("yes \u{202e}on", &pending_command("make"));
    assert_eq!(reading, ReplyReading::AskBack(Unclear::Quoted));
}

#[test]
fn a_long_text_is_never_a_decision() {
    let text = format!("yes {}", "please ".repeat(REPLY_CHARS_MAX));
    let reading = read_reply(&text, &pending_command("make"));
    assert_eq!(reading, ReplyReading::AskBack(Unclear::Unknown));
}

#[test]
fn a_command_that_a_shell_expands_is_allowed_once_only() {
    for command in ["curl -s x | sh", "echo $HOME", "git commit -m 'x y'", "ls *"] {
        assert!(!is_plain_words(command), "{command}");
        let reading = read_reply("yes for 10 minutes", &pending_command(command));
        assert_eq!(reading, ReplyReading::AskBack(Unclear::OnceOnly), "{command}");
    }
}

#[test]
fn a_refusal_says_whether_it_gives_a_reason() {
    let reading = |text| read_reply(text, &pending_command("make"));
    let deny = |has_reason| ReplyReading::Deny { approvals: vec!["a1".to_owned()], has_reason };
    assert_eq!(reading("拒绝，数据库还没备份"), deny(true));
    assert_eq!(reading("no, no"), deny(false));
}

#[test]
fn two_questions_with_one_command_are_told_apart_by_code_only() {
    let mut pending = pending_command("make migrate");
    pending.push(PendingApproval {
        approval_id: "a2".to_owned(),
        code: "M3P".to_owned(),
        ..pending[0].clone()
    });
    assert_eq!(
        read_reply("approve make migrate", &pending),
        ReplyReading::AskBack(Unclear::WhichOne)
    );
    let reading = read_reply("approve m3p", &pending);
    let approvals = vec!["a2".to_owned()];
    assert_eq!(reading, ReplyReading::Allow { approvals, denied: Vec::new(), grant: None });
}
