//! Every sentence that is translated is one that the program says.

use super::*;

#[track_caller]
fn check(english: &str, chinese: Option<&str>) {
    assert_eq!(in_chinese(english).as_deref(), chinese);
}

#[test]
fn a_sentence_is_known_by_its_form() {
    check(
        "`openai` refused the API key from OPENAI_API_KEY (status 401): check it",
        Some("`openai` 不接受来自 OPENAI_API_KEY 的 API 密钥（状态码 401），请检查密钥"),
    );
    check(
        "`p` had a server error (status 503); a server on this machine is waited for up to a minute; \
         it said: loading {0}",
        Some("`p` 服务器出错（状态码 503）；对本机的服务器最多等待一分钟；对方返回：loading {0}"),
    );
    check("there is no session `x`", Some("没有会话 `x`"));
    check("there is no session `x` any more", None);
    check("try again", Some("请重试"));
    check("", None);
}

/// Texts of the program as they are said: a line break in a literal is none.
fn said_by_the_program() -> String {
    let sources = [
        include_str!("../../../kith-providers/src/status.rs"),
        include_str!("../../../kith-providers/src/fault.rs"),
        include_str!("../../../kith-providers/src/client.rs"),
        include_str!("../../../kith-providers/src/http_provider.rs"),
        include_str!("../../../kith-providers/src/exchange.rs"),
        include_str!("../../../kith-providers/src/answer.rs"),
        include_str!("../../../kith-tools/src/roots.rs"),
        include_str!("../../../kith-tools/src/edit_file.rs"),
        include_str!("../../../kith-host/src/read_side.rs"),
        include_str!("../../../kith-host/src/error.rs"),
        include_str!("../../../kith-host/src/models.rs"),
        include_str!("../../../kith-host/src/attach.rs"),
        include_str!("../../../kith-host/src/connection.rs"),
        include_str!("../../../kith-host/src/host/queue.rs"),
        include_str!("../../../kith-host/src/host/models.rs"),
        include_str!("../../../kith-host/src/host/message.rs"),
        include_str!("../../../kith-host/src/host/compaction.rs"),
        include_str!("../engine.rs"),
        include_str!("../survey.rs"),
    ];
    let mut text = String::new();
    for line in sources.concat().lines() {
        let line = line.trim_start();
        if let Some(beginning) = line.strip_suffix('\\') {
            text.push_str(beginning);
        } else {
            text.push_str(line);
            text.push('\n');
        }
    }
    // Parts of sentences that stand elsewhere, or may be missing.
    text.replace("{NO_QUOTA_LEFT}", "no quota left for this key").replace("{from}", "")
}

#[test]
fn every_translated_sentence_is_said_by_the_program() {
    let said = said_by_the_program();
    for (english, chinese) in SENTENCES {
        // Numbers and names are put into sentences, and what is put may itself be a part of one.
        let parts =
            english.split("{}").map(|part| part.trim_matches(['`', '(', ')', ' ', ':', ',']));
        for part in parts.filter(|part| !part.is_empty()) {
            let is_said =
                part.split(" (status").all(|part| said.contains(part.trim_end_matches(')')));
            assert!(is_said, "nobody says `{part}` of `{english}`");
        }
        let n_named = english.matches("{}").count();
        for n in 0..n_named {
            assert!(chinese.contains(&format!("{{{n}}}")), "{chinese}");
        }
        assert!(!chinese.contains(&format!("{{{n_named}}}")), "{chinese}");
    }
}
