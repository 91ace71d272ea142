//! Sentences about failures, in Chinese.
//!
//! Failures and errors carry English sentences: the log keeps them, programs compare them, and most are
//! worded far from whoever reads them. Where a person reads Chinese, a sentence is found here by its
//! form. One that is not here is shown as it is.

/// What follows a failure of a server on this machine.
const WAITED_FOR: &str = "; a server on this machine is waited for up to a minute";
/// What stands before a server's own words.
const IT_SAID: &str = "; it said: ";

/// English forms, with `{}` for whatever is named, and the Chinese ones, with the number of each.
#[rustfmt::skip]
pub(crate) const SENTENCES: &[(&str, &str)] = &[
    // What models' servers do.
    ("`{}` has no quota left for this key (status {}): check its plan and billing", "`{0}` 的密钥额度已用完（状态码 {1}），请检查套餐和账单"),
    ("`{}` requires an API key (status {}): set one for this model", "`{0}` 需要 API 密钥（状态码 {1}），请为这个模型设置密钥"),
    ("`{}` refused the API key (status 401): check it", "`{0}` 不接受 API 密钥（状态码 401），请检查密钥"),
    ("`{}` refused the API key from {} (status 401): check it", "`{0}` 不接受来自 {1} 的 API 密钥（状态码 401），请检查密钥"),
    ("`{}` refused access (status {}): the API key, its plan or your region may not be allowed to use this model", "`{0}` 拒绝访问（状态码 {1}）：密钥、套餐或所在地区可能无权使用这个模型"),
    ("`{}` refused access (status {}): the API key from {}, its plan or your region may not be allowed to use this model", "`{0}` 拒绝访问（状态码 {1}）：来自 {2} 的密钥、套餐或所在地区可能无权使用这个模型"),
    ("`{}` rejected the conversation as too long (status {})", "`{0}` 认为对话太长（状态码 {1}）"),
    ("`{}` does not know model `{}` (status {}): check the model name", "`{0}` 没有模型 `{1}`（状态码 {2}），请检查模型名称"),
    ("`{}` does not know this address or model `{}` (status 404): check the base URL and model name", "`{0}` 没有这个地址或模型 `{1}`（状态码 404），请检查 base URL 和模型名称"),
    ("`{}` cannot read its earlier reasoning (status {}), which is bound to the key that it was written under: go on with another model, or start over with `kith ask --new`", "`{0}` 无法读取之前的推理（状态码 {1}），它与当时的密钥绑定：请换一个模型，或用 `kith ask --new` 重新开始"),
    ("`{}` does not take an image or file of this conversation (status {}): send another or use another model; the next message is sent without it", "`{0}` 不接受对话中的图片或文件（状态码 {1}）：请换一个文件或模型；下一条消息不再附带它"),
    ("`{}` did not receive the request in time (status 408)", "`{0}` 没有及时收到请求（状态码 408）"),
    ("`{}` refused the request: rate limit reached (status 429)", "`{0}` 拒绝了请求：已达到速率限制（状态码 429）"),
    ("`{}` redirects to another address (status {}): check the base URL", "`{0}` 转向了另一个地址（状态码 {1}），请检查 base URL"),
    ("`{}` is overloaded (status 529)", "`{0}` 过载（状态码 529）"),
    ("`{}` had a server error (status {})", "`{0}` 服务器出错（状态码 {1}）"),
    ("`{}` refused the request (status {})", "`{0}` 拒绝了请求（状态码 {1}）"),
    ("`{}` at {} closed the connection between requests ({})", "`{0}`（{1}）在两次请求之间关闭了连接（{2}）"),
    ("`{}` at {} closed the connection without an answer ({}): check the server, or use another model", "`{0}`（{1}）没有回答就关闭了连接（{2}），请检查服务器，或换一个模型"),
    ("`{}` at {} does not speak HTTP ({}): check the base URL", "`{0}`（{1}）的响应不是 HTTP（{2}），请检查 base URL"),
    ("`{}` could not be reached at {} ({}): check the base URL and that the server is running", "连不上 `{0}`（{1}，{2}），请检查 base URL 以及服务器是否在运行"),
    ("`{}` could not be reached at {} ({}): check the clock of this machine, and the server's certificate", "连不上 `{0}`（{1}，{2}），请检查本机时钟和服务器证书"),
    ("`{}` could not be reached at {} ({}): {}", "连不上 `{0}`（{1}，{2}）：{3}"),
    ("`{}` sent nothing for {} seconds; try again, or use another model", "`{0}` 有 {1} 秒没有任何响应，请重试，或换一个模型"),
    ("`{}` did not finish within the time limit of this turn", "`{0}` 没有在这个回合的时限内完成"),
    ("`{}` answered with a web page instead of a model's answer: check the base URL", "`{0}` 返回的是网页而不是模型的回答，请检查 base URL"),
    ("`{}` answered with JSON that is not an answer of this API: check the base URL and wire", "`{0}` 返回的 JSON 不是这个 API 的回答，请检查 base URL 和 wire"),
    ("`{}` closed the connection before the answer was complete", "`{0}` 在回答完成之前关闭了连接"),
    ("`{}` ended its answer in the middle of a call", "`{0}` 的回答在一次工具调用中途结束"),
    ("`{}` called a tool without naming it", "`{0}` 调用了工具，却没有给出名称"),
    ("`{}` sent an event that is not valid JSON for this API", "`{0}` 发来的内容不是这个 API 的有效 JSON"),
    // Why a tool failed.
    ("`{}` does not exist (relative paths start at `{}`)", "`{0}` 不存在（相对路径从 `{1}` 开始）"),
    ("`{}` does not exist", "`{0}` 不存在"),
    ("`{}` does not exist; write_file makes it", "`{0}` 不存在，可用 write_file 创建"),
    ("`{}` does not exist: a part of it is a file, not a folder", "`{0}` 不存在：路径中有一部分是文件，不是文件夹"),
    ("`{}` cannot be read: permission denied", "无法读取 `{0}`：没有权限"),
    ("`{}` cannot be opened: {}", "无法打开 `{0}`：{1}"),
    ("`{}` is a folder; use list_files", "`{0}` 是文件夹，请用 list_files"),
    ("`{}` is a file; use read_file", "`{0}` 是文件，请用 read_file"),
    ("`{}` lies outside the folders you may read ({})", "`{0}` 不在可以读取的文件夹里（{1}）"),
    // What is wrong with a request of a person.
    ("there is no session `{}`", "没有会话 `{0}`"),
    ("there are no sessions yet", "还没有会话"),
    ("several sessions match `{}`: {}", "有多个会话与 `{0}` 匹配：{1}"),
    ("a turn is running in session `{}`", "会话 `{0}` 中有一个回合正在进行"),
    ("session `{}` is in use", "会话 `{0}` 正在使用"),
    ("the last turn of session `{}` succeeded: there is nothing to retry", "会话 `{0}` 的上一个回合已成功，无需重试"),
    ("the session has no event `{}`", "会话中没有事件 `{0}`"),
    ("several events of the session match `{}`", "会话中有多个事件与 `{0}` 匹配"),
    ("there is no item `{}` in the queue", "队列中没有第 `{0}` 项"),
    ("queue item `{}` has changed in the meantime", "队列中的 `{0}` 已被改动"),
    ("the new text is empty", "新的内容是空的"),
    ("the host is shutting down", "正在运行的 kith 即将退出"),
    ("the summary was cancelled; the conversation is unchanged", "摘要已取消，对话没有变化"),
    ("stopped waiting for the summary", "已停止等待摘要"),
    // What to do about it.
    ("`kith session ls` lists the sessions", "`kith session ls` 列出会话"),
    ("type more of the id", "请多输入几位 id"),
    ("try again", "请重试"),
    ("try again in a moment", "请稍后再试"),
    ("remove the message instead", "请改为删除这条消息"),
    ("run `kith retry` when the model is available again", "模型恢复后运行 `kith retry`"),
    ("wait for it to finish, or stop it with `kith cancel`", "请等它完成，或用 `kith cancel` 停止"),
    ("wait for it to finish; if it was interrupted, `kith` resumes it", "请等它完成；如果它被中断，`kith` 会继续"),
    ("free some disk space; accepted messages are kept and answered next time", "请腾出磁盘空间；已接收的消息会保留，下次回答"),
    ("check that `.kith` is a writable folder", "请检查 `.kith` 是否为可写的文件夹"),
    ("quit the other kith, or start both with the same settings and keys", "请退出另一个 kith，或让两者使用相同的设置和密钥"),
    ("did you mean `{}`?", "是否想用 `{0}`？"),
    ("set ANTHROPIC_API_KEY or OPENAI_API_KEY to use a vendor's models by name, or use `--model demo`, which needs no key", "设置 ANTHROPIC_API_KEY 或 OPENAI_API_KEY 后可按名称使用厂商的模型，或用不需要密钥的 `--model demo`"),
    ("it may be suspended: resume it with `fg`, or kill it (nothing will be lost)", "它可能被挂起了：用 `fg` 恢复，或结束它（不会丢失任何内容）"),
    ("if it was already accepted, the next message finishes it", "如果消息已被接收，下一条消息会完成它"),
    ("it was answered or removed in the meantime; `kith queue ls` shows what waits now", "它已被回答或删除；`kith queue ls` 显示现在排队的消息"),
];

/// The sentence in Chinese; `None` if it is not known.
pub fn in_chinese(sentence: &str) -> Option<String> {
    let (sentence, said) = match sentence.split_once(IT_SAID) {
        Some((sentence, said)) => (sentence, format!("；对方返回：{said}")),
        None => (sentence, String::new()),
    };
    let (sentence, waited) = match sentence.strip_suffix(WAITED_FOR) {
        Some(sentence) => (sentence, "；对本机的服务器最多等待一分钟"),
        None => (sentence, ""),
    };
    let mut known = SENTENCES.iter();
    let translated = known.find_map(|(english, chinese)| {
        let named = named_in(sentence, english)?;
        Some(filled(chinese, &named))
    })?;
    Some(format!("{translated}{waited}{said}"))
}

/// What stands in the places of a form, if the sentence has it.
fn named_in<'a>(sentence: &'a str, form: &str) -> Option<Vec<&'a str>> {
    let mut parts = form.split("{}");
    let mut rest = sentence.strip_prefix(parts.next()?)?;
    let mut parts = parts.peekable();
    let mut named = Vec::new();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        let place = match part {
            "" if is_last => rest.len(),
            _ if is_last => rest.strip_suffix(part)?.len(),
            _ => rest.find(part)?,
        };
        let (name, after) = rest.split_at(place);
        named.push(name);
        rest = &after[part.len()..];
    }
    rest.is_empty().then_some(named)
}

fn filled(form: &str, named: &[&str]) -> String {
    let mut text = String::new();
    let mut rest = form;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let place =
            after.split_once('}').and_then(|(n, more)| Some((n.parse::<usize>().ok()?, more)));
        if let Some((n, more)) = place {
            text.push_str(named.get(n).copied().unwrap_or_default());
            rest = more;
        } else {
            text.push('{');
            rest = after;
        }
    }
    text + rest
}

#[cfg(test)]
mod tests;
