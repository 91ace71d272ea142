//! The words that replies are made of, in English and Chinese.
//!
//! The list is closed on purpose: a word that is not in it can never be part of a yes. Phrases are
//! in lower case and in simplified characters; the reader folds what a person wrote to both.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::OnceLock;

use super::lexer::{ends_word, fold, is_latin};

/// What a word or phrase does in a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordKind {
    /// A yes. A strong one is about an approval wherever it stands.
    Yes(Strength, YesSense),
    No(Strength),
    /// Turns a yes that follows into a no, and makes anything else unclear.
    Negation,
    /// Says nothing by itself.
    Filler,
    Thing,
    /// "I".
    Me,
    /// "You", the agent.
    You,
    /// Somebody else.
    Person,
    It,
    They,
    Polite,
    /// "的"
    Of,
    /// "请求", which also means to ask for something.
    Ask,
    /// "Oh"
    Sigh,
    /// "Right": a yes, and behind a yes mockery.
    Right,
    /// "Roger": a yes, and before a yes a name.
    CallSign,
    /// "可以了": a yes, and said twice "enough".
    Enough,
    All,
    /// As `All`, and too much to be allowed for a while.
    Every,
    /// Refuses all.
    NoneOf,
    /// Names what a call does; it counts if the pending call does that.
    Act(NamedAction),
    Both,
    Only,
    And,
    /// Frames a duration: "for the next", "接下来".
    Frame,
    Condition,
    /// A condition that turns even a refusal into something else.
    Exception,
    Question,
    Doubt,
    /// A time without an end.
    Forever,
    /// What follows is a reason.
    Because,
    /// An answer that is asked, doubted or put off.
    Unsure,
    /// A set phrase that only looks like an answer.
    Idiom,
}

/// Something that a call does, as people name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamedAction {
    Build,
    Commit,
    Delete,
    Deploy,
    Edit,
    Fetch,
    Install,
    Merge,
    Publish,
    Push,
}

impl NamedAction {
    /// Words of commands and summaries that do it.
    pub(super) fn marks(self) -> &'static [&'static str] {
        match self {
            NamedAction::Build => &["build", "make", "compile"],
            NamedAction::Commit => &["commit"],
            NamedAction::Delete => &["rm", "remove", "delete", "drop", "clean"],
            NamedAction::Deploy => &["deploy"],
            NamedAction::Edit => &["edit", "write"],
            NamedAction::Fetch => &["fetch", "download", "curl", "wget", "pull", "clone"],
            NamedAction::Install => &["install", "add"],
            NamedAction::Merge => &["merge"],
            NamedAction::Publish => &["publish", "release"],
            NamedAction::Push => &["push"],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strength {
    Strong,
    Weak,
    /// A word that is part of many others; alone it is an answer.
    Faint,
}

/// What kind of a yes a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum YesSense {
    Plain,
    /// It says that somebody approves.
    Approving,
    /// It says what is to be done.
    Deed,
    /// It is a yes only if nothing leans on it.
    Lone,
}

#[rustfmt::skip]
const STRONG_YES: &[&str] = &[
    "i approve", "/approve", "approval granted", "granted", "permission granted", "go ahead",
    "green light", "you have my approval", "you have my permission",
];
/// Approving verbs. Who approves is the one that the reply names, and after a polite word it is the
/// one that the reply speaks to.
#[rustfmt::skip]
const APPROVING: &[&str] = &[
    "approve", "approved", "allow", "allowed", "permit", "permitted", "authorize", "authorized",
    "authorise", "authorised", "accept", "accepted", "同意", "批准", "准许", "允许", "授权", "通过",
    "审批通过", "准了", "同意了", "批准了", "同意执行", "同意运行", "允许执行", "允许运行",
    "批准执行", "准予", "放行", "核准", "许可",
];
#[rustfmt::skip]
const WEAK_YES: &[&str] = &[
    "y", "yes", "yep", "yup", "yeah", "ya", "yea", "yess", "yes please", "yes please do", "yes sir",
    "ok", "okay", "okey", "okie", "k", "kk", "sure", "sure thing", "of course", "certainly",
    "absolutely", "definitely", "fine", "fine by me", "fine with me", "that's fine", "thats fine",
    "it's fine", "good to go", "looks good", "looks good to me", "looks right", "looks right to me",
    "are fine", "are ok", "are okay", "is fine", "is ok", "is okay", "look good", "lgtm",
    "sounds good", "sounds good to me", "sounds fine", "sgtm", "all good", "alright", "all right",
    "alrighty", "go for it", "just do it", "please do", "please proceed", "make it so",
    "do go ahead", "be my guest", "you may", "you can", "you may proceed", "you can proceed",
    "you can run it", "you may run it", "no problem", "no objection", "no objections",
    "no worries go ahead", "works for me", "that works", "by all means", "affirmative",
    "roger that", "i agree", "i confirm", "why not", "i'm ok with it", "i'm fine with it",
    "i'm fine with that", "i'm ok with that", "i am fine with it", "i am ok with it",
    "i'm okay with it", "i'm okay with that", "ok with me", "okay with me", "okay by me",
    "ok by me", "go right ahead", "👍", "👌", "✅", "✔", "🆗", "👍🏻", "👍🏼", "👍🏽", "👍🏾",
    "👍🏿", "+1", "好的", "好滴", "好哒", "好呀", "好啊", "好吧", "好嘞", "好咧", "行的", "行吧",
    "行啊", "行呀", "行嘞", "可以", "可以的", "可以啊", "可以呀", "可以哦", "没问题", "没有问题",
    "没意见", "没毛病", "嗯", "嗯嗯", "嗯好", "嗯可以", "恩", "对的", "是的", "是啊", "当然",
    "当然可以", "当然行", "得嘞", "ok的", "ok啊", "ok吧", "可以执行", "可以运行", "可以跑",
    "可以跑了", "可以继续", "可以写", "可以改", "可以做", "你可以执行", "你可以", "你跑吧",
    "你执行吧", "就这么办", "就这么做", "就这样做", "妥了", "我没意见", "我没问题", "能行",
    "那就跑吧", "那就执行吧", "那跑吧", "那就做吧",
];
/// As `APPROVING`, and not always about an approval.
#[rustfmt::skip]
const CONFIRMING: &[&str] = &[
    "agreed", "agree", "confirm", "confirmed", "确认", "确定", "确认执行", "确认运行", "支持",
    "赞成",
];
/// Told to somebody they are a yes; with "I" before them the person does it without the agent.
#[rustfmt::skip]
const DEEDS: &[&str] = &[
    "do it", "do that", "do so", "run it", "run that", "run this", "proceed", "execute it",
    "write it", "send it", "save it", "ship it", "carry on", "go on", "go go", "跑吧", "跑起来",
    "跑起来吧", "去跑吧", "运行吧", "执行吧", "去执行吧", "去做吧", "去吧", "做吧", "干吧", "搞吧",
    "弄吧", "来吧", "上吧", "开始吧", "继续吧", "动手吧", "写吧", "改吧", "发吧", "删吧", "照做",
    "照办", "安排吧", "走起", "搞起", "直接跑吧", "直接执行吧", "直接跑", "直接执行", "放心跑吧",
    "放心执行吧", "尽管跑", "尽管执行",
];
#[rustfmt::skip]
const FAINT_YES: &[&str] = &[
    "行", "好",
];
/// As `DEEDS`.
#[rustfmt::skip]
const FAINT_DEEDS: &[&str] = &[
    "跑", "冲", "运行", "执行", "开始", "继续", "安排", "run", "go", "continue", "execute",
];
/// Words that are a yes only if nothing leans on them: "对", and not "对我".
#[rustfmt::skip]
const LONE: &[&str] = &[
    "成", "是", "对", "中", "能", "可", "妥", "good", "great", "perfect",
];
#[rustfmt::skip]
const STRONG_NO: &[&str] = &[
    "deny", "denied", "/deny", "reject", "rejected", "refuse", "refused", "decline", "declined",
    "disapprove", "disapproved", "disallow", "forbid", "forbidden", "do not approve",
    "don't approve", "not approved", "no approval", "veto", "permission denied", "not allowed",
    "do not allow", "don't allow", "拒绝", "不同意", "不批准", "不允许", "不准", "不许", "不授权", "驳回", "否决",
    "禁止", "不予批准", "不通过", "不给过", "拒了", "拒绝了", "不予通过", "不予同意",
];
#[rustfmt::skip]
const WEAK_NO: &[&str] = &[
    "n", "no", "nope", "nah", "no no", "noo", "nooo", "no thanks", "no thank you", "no way",
    "hell no", "absolutely not", "certainly not", "definitely not", "of course not",
    "please don't", "please do not", "don't", "do not", "dont", "don't do it", "don't do that",
    "do not do it", "do not do that", "don't run it", "don't run that", "do not run it",
    "do not run that", "don't run", "do not run", "don't proceed", "do not proceed",
    "don't go ahead", "don't execute it", "do not execute it", "never", "negative", "cancel",
    "cancel it", "cancel that", "stop", "stop it", "abort", "abort it", "skip it", "skip that",
    "skip this", "forget it", "drop it", "never mind", "nevermind", "not now", "not yet",
    "not today", "i said no", "not ok", "not okay", "no go", "i'd rather not", "rather not", "better not",
    "i'd rather you didn't", "please stop", "hard no", "no can do", "👎", "❌", "🚫", "✖", "⛔",
    "🙅", "-1", "👎🏻", "👎🏼", "👎🏽", "不行", "不要", "不可以", "不可", "不能", "不好", "不用", "不用了", "不必",
    "不必了", "不需要", "没必要", "不能改", "不了", "不行的", "不可以的", "不要了", "不成", "不中", "算了", "算了吧", "还是算了", "还是算了吧", "别跑", "别执行",
    "别运行", "别做", "别动", "别写", "别改", "别删", "别发", "别弄", "别搞", "别这么做", "别这样", "先别", "先别跑",
    "先别执行", "先别动", "先别做", "先不要", "先不要跑", "先不要执行", "先不", "先不了", "先不跑", "先不执行", "暂时不要", "暂时不",
    "暂不", "暂不执行", "还是别了", "还是不要了", "还是不了", "还是别跑了", "还是不要", "还是别", "不要跑", "不要执行", "不要运行",
    "不要做", "不要动", "不要写", "不要改", "不要这样做", "不要这么做", "不能跑", "不能执行", "不能运行", "不可以执行", "不可以运行",
    "不可以跑", "不跑", "不执行", "不运行", "不做", "不继续", "不要继续", "没门", "停下", "停止", "停一下", "取消", "取消吧",
    "取消掉", "打住", "免了", "不干", "不是", "不对", "千万别", "千万不要", "千万别跑", "绝对不行", "绝对不可以", "坚决不行",
    "坚决不同意", "当然不行", "当然不可以", "肯定不行", "那不行", "这不行", "这可不行", "这个不行", "我不同意", "我拒绝", "我反对",
    "反对", "跳过", "跳过吧", "不妥", "不太行", "不太好",
];
#[rustfmt::skip]
const FAINT_NO: &[&str] = &[
    "停", "否", "不", "别",
];
#[rustfmt::skip]
const NEGATIONS: &[&str] = &[
    "not", "isn't", "is not", "can't", "cannot", "can not", "won't", "wouldn't", "shouldn't",
    "should not", "must not", "mustn't", "didn't", "doesn't", "ain't", "couldn't", "i don't",
    "i do not", "i can't", "i cannot", "i won't", "without", "nor", "hardly", "没",
    "没有", "未", "无", "非", "勿", "莫", "甭", "休", "并不", "并未", "从不", "绝不", "决不", "不想", "不会", "不敢",
    "不该", "不应", "不应该", "不是很", "我不", "我没", "我没有", "从没", "尚未", "不再", "不太",
];
#[rustfmt::skip]
const FILLERS: &[&str] = &[
    "thanks", "thank you", "thx", "ty", "cheers", "for me", "to", "with", "now", "right now",
    "right away", "hi", "hey", "hello", "then go", "ah", "well", "um", "uh", "please and thank you",
    "thanks a lot", "thank you very much", "many thanks", "麻烦了", "谢谢", "谢谢你", "谢了",
    "多谢", "辛苦了", "辛苦", "吧", "啊", "呀", "哦", "哈", "啦", "哈哈", "现在", "马上", "就",
    "一下", "立刻", "立即", "🙏", "😊", "🙂", "😀", "😄", "🎉", "🚀", "❤", "💪",
];
/// What a reply is about.
#[rustfmt::skip]
const THINGS: &[&str] = &[
    "this", "that", "this one", "the", "command", "request", "call", "the command",
    "the request", "this command", "that command", "this request", "这", "这个", "那个", "这条",
    "这一条", "这次", "本次", "这一次", "此次", "这条命令", "这个命令", "这个文件", "该文件",
    "这个操作", "该操作", "此操作", "这个请求", "命令", "操作",
];
/// Somebody else; a yes behind it is that person's.
#[rustfmt::skip]
const PERSONS: &[&str] = &[
    "one", "that one", "kith", "man", "mate", "buddy", "dude", "friend", "老弟", "兄弟",
];
/// Before an approving verb they ask for the approval.
#[rustfmt::skip]
const POLITE: &[&str] = &[
    "please", "pls", "plz", "请", "麻烦",
];
#[rustfmt::skip]
const ALL: &[&str] = &[
    "all of them", "every one", "everyone of them", "all of these", "all of those", "all requests",
    "all pending", "them all", "them", "全都", "全", "都", "统统", "通通", "一律", "一并", "一起",
    "全部都", "所有都", "每一个都", "每个都", "这些", "这些都",
];
#[rustfmt::skip]
const EVERY: &[&str] = &[
    "all", "all of it", "everything", "anything", "全部", "全部的", "所有", "所有的", "一切", "任何",
];
#[rustfmt::skip]
const NONE_OF: &[&str] = &[
    "none", "none of them", "none of these", "none of those", "neither of them", "neither",
];
const ACTS: &[(&[&str], NamedAction)] = &[
    (&["build", "构建", "编译"], NamedAction::Build),
    (&["commit", "提交"], NamedAction::Commit),
    (&["delete", "remove", "删除", "删掉"], NamedAction::Delete),
    (&["deploy", "部署"], NamedAction::Deploy),
    (&["edit", "修改"], NamedAction::Edit),
    (&["fetch", "download", "下载"], NamedAction::Fetch),
    (&["install", "安装", "装"], NamedAction::Install),
    (&["merge", "合并"], NamedAction::Merge),
    (&["publish", "发布"], NamedAction::Publish),
    (&["push", "推送"], NamedAction::Push),
];
#[rustfmt::skip]
const BOTH: &[&str] = &[
    "both", "both of them", "the two", "the two of them", "两个都", "两个", "两条都", "两条", "俩都",
    "两项都", "两项", "这两个都", "这两个", "这俩", "俩", "两者都",
];
#[rustfmt::skip]
const ONLY: &[&str] = &[
    "only", "just", "just this", "only this", "nothing but", "只", "仅", "仅仅", "就只", "只有", "单独",
    "只能", "仅限",
];
#[rustfmt::skip]
const AND: &[&str] = &[
    "and", "&", "和", "与", "跟", "以及", "还有", "及", "plus",
];
#[rustfmt::skip]
const FRAMES: &[&str] = &[
    "for", "for the next", "the next", "for another", "during the next", "over the next",
    "for up to", "在", "内", "之内", "以内", "里", "之间", "接下来", "接下来的", "未来", "未来的", "今后", "时间内",
    "时间里", "的时间", "往后", "期间", "之内都", "内都", "里都", "以内都",
];
#[rustfmt::skip]
const CONDITIONS: &[&str] = &[
    "if", "but", "once", "after", "when", "whenever", "as long as", "so long as", "provided",
    "provided that", "providing", "before", "first", "assuming", "in case", "as soon as",
    "though", "although", "however", "instead", "otherwise", "while", "given that",
    "on condition", "on the condition", "subject to", "depending", "depends", "it depends",
    "later", "then", "如果", "要是", "假如", "假设", "若", "若是", "倘若", "只要", "但", "但是", "不过", "可是",
    "只是", "然而", "等", "等会", "等会儿", "稍后", "之后", "以后再", "然后", "再", "先", "前提", "前提是", "的话",
    "的时候", "时", "才", "否则", "不然", "要不", "万一", "假使", "一旦", "当", "才行", "才可以", "之前", "以前", "改成",
    "换成", "后再", "后", "前", "到时候", "回头", "晚点", "明天", "待会", "待会儿", "看情况", "条件",
];
#[rustfmt::skip]
const EXCEPTIONS: &[&str] = &[
    "unless", "except", "except for", "excluding", "apart from", "other than", "only if",
    "only when", "with the exception", "until", "till", "除非", "除了", "除", "以外", "之外",
];
#[rustfmt::skip]
const QUESTIONS: &[&str] = &[
    "what", "why", "how", "which", "who", "whose", "where", "should i", "should we", "do i",
    "do you", "are you", "is it", "is this", "is that", "can i", "can we", "may i", "shall",
    "could you", "would you", "can you", "what if", "huh", "really", "am i", "have you",
    "will it", "吗", "么", "呢", "嘛", "是不是", "能不能", "要不要", "是否", "能否", "可否", "为什么", "为啥", "怎么",
    "什么", "啥", "哪个", "哪", "谁", "多少", "几", "何时", "难道", "咋", "是吗",
];
#[rustfmt::skip]
const DOUBTS: &[&str] = &[
    "maybe", "perhaps", "probably", "possibly", "i think", "i think so", "think so", "i guess",
    "guess so", "i suppose", "suppose so", "should be", "might", "may be", "could be",
    "not sure", "i'm not sure", "unsure", "kind of", "sort of", "seems", "seems ok",
    "looks like", "apparently", "i believe", "presumably", "likely", "sounds like",
    "let me think", "let me think about it", "i guess so", "i don't know", "don't know", "dunno", "idk", "whatever", "up to you",
    "hmm", "hm", "eh", "meh", "应该", "大概", "可能", "也许", "或许", "好像", "似乎", "估计", "恐怕", "不确定",
    "不知道", "不清楚", "我想想", "想想", "再想想", "考虑", "考虑一下", "我考虑", "看看", "再看看", "随便", "随便你", "无所谓",
    "你看着办", "看着办", "你决定", "说不定", "没准", "不一定", "可能吧", "差不多", "基本", "原则上", "理论上", "大体", "勉强",
    "觉得", "感觉",
];
#[rustfmt::skip]
const FOREVER: &[&str] = &[
    "forever", "always", "from now on", "every time", "everytime", "any time", "anytime",
    "permanently", "for good", "all the time", "in the future", "don't ask again",
    "do not ask again", "stop asking", "never ask", "永远", "永久", "一直", "以后", "以后都", "今后都",
    "每次", "每次都", "总是", "从此", "从现在起", "不用再问", "不用再问我", "不用再问我了", "别再问我", "别再问我了", "不用问", "别再问", "别问了", "别再问了", "不要再问", "不要再问了",
    "长期", "始终",
];
#[rustfmt::skip]
const BECAUSE: &[&str] = &[
    "because", "cause", "cuz", "since", "as", "因为", "由于", "毕竟", "理由是", "原因是", "原因",
];
#[rustfmt::skip]
const UNSURE: &[&str] = &[
    "可以吗", "可以么", "行吗", "好吗", "行不行", "可不可以", "好不好", "同不同意", "对吧",
    "可以吧", "是吧", "对不对", "hmm ok", "先等等", "等等", "等一下", "wait", "wait a moment",
    "hold on", "hang on", "one moment", "稍等", "don't deny", "do not deny", "don't reject",
    "do not reject", "don't refuse", "no denying", "can't deny", "cannot deny", "不要拒绝",
    "别拒绝", "不拒绝", "没拒绝", "没有拒绝", "不反对", "没不同意", "不是不", "没有不", "不得不",
    "不能不", "不会不", "无不", "没人同意", "no doubt", "no need", "don't worry", "do not worry",
    "i don't mind", "not a problem", "not an issue", "no worries", "not bad", "yeah right", "ya right", "yea right", "oh great", "oh good", "oh perfect", "oh right", "just great", "just perfect", "没关系", "没事",
    "不要紧", "别担心", "不用担心", "approval", "my approval", "approves", "agrees", "allows",
    "permits", "accepts", "confirms", "authorizes", "authorises", "就这样吧", "那就这样吧",
    "确认一下", "确定一下", "批准一下", "同意一下", "审批一下", "通过一下", "授权一下", "允许一下",
    "核准一下",
];
#[rustfmt::skip]
const IDIOMS: &[&str] = &[
    "no idea", "no clue", "no rush", "no hurry", "no matter", "no one", "nobody", "no longer",
    "no more", "don't stop", "do not stop", "don't wait", "don't hesitate", "don't mind",
    "do you mind", "don't care", "i don't care", "don't cancel", "do not cancel", "no comment",
    "okey dokey", "ok then", "fine print", "good luck", "good question", "good morning",
    "good night", "good point", "right here", "all right then", "no such", "no file", "yes man",
    "stop by", "不要担心", "别停", "不要停", "别急", "不急", "不要急", "不着急", "别客气", "不客气",
    "不要客气", "不错", "不太清楚", "不懂", "不明白", "对不起", "不好意思", "不如", "不仅", "不但",
    "不管", "不论", "不止", "不只", "不久", "不停", "不断", "好像是", "好久", "好看", "好用",
    "好奇", "好多", "行程", "行数", "行号", "一行", "几行", "成功", "成为", "中文", "中间", "是不",
    "对于", "对比", "可是呢", "可能是", "能力", "能量", "不要犹豫", "别犹豫", "别忘", "别忘了",
    "不要忘", "不要忘了", "别的", "特别", "分别", "区别", "同意书", "没人", "无人", "你好", "您好",
    "你们好", "大家好", "你好啊", "你好呀", "你好吗", "你能", "您能", "我能", "你是", "您是",
    "我是", "这是", "那是", "那个是", "这个是", "执行中", "运行中", "进行中", "你同意", "您同意",
    "你批准", "您批准", "good man", "good boy", "good girl", "right command", "right one",
    "right way", "right thing",
    "the one that", "the one who",
];

/// A phrase as characters, and what it does.
type Phrase = (Vec<char>, WordKind);

/// The phrases by their first character, the longest first.
fn phrases() -> &'static HashMap<char, Vec<Phrase>> {
    static PHRASES: OnceLock<HashMap<char, Vec<Phrase>>> = OnceLock::new();
    PHRASES.get_or_init(|| {
        let mut by_first: HashMap<char, Vec<Phrase>> = HashMap::new();
        let acts = ACTS.iter().map(|(phrases, action)| (*phrases, WordKind::Act(*action)));
        for (phrases, kind) in tables().into_iter().chain(acts) {
            for phrase in phrases {
                let chars: Vec<char> = phrase.chars().collect();
                let Some(first) = chars.first() else { continue };
                by_first.entry(*first).or_default().push((chars, kind));
            }
        }
        // The order of the tables decides between two of one length.
        for phrases in by_first.values_mut() {
            phrases.sort_by_key(|(chars, _)| Reverse(chars.len()));
        }
        by_first
    })
}

fn tables() -> [(&'static [&'static str], WordKind); 42] {
    use Strength::{Faint, Strong, Weak};
    use YesSense::{Approving, Deed, Lone, Plain};
    [
        (STRONG_YES, WordKind::Yes(Strong, Plain)),
        (APPROVING, WordKind::Yes(Strong, Approving)),
        (WEAK_YES, WordKind::Yes(Weak, Plain)),
        (CONFIRMING, WordKind::Yes(Weak, Approving)),
        (DEEDS, WordKind::Yes(Weak, Deed)),
        (FAINT_YES, WordKind::Yes(Faint, Plain)),
        (&["准"], WordKind::Yes(Faint, Approving)),
        (FAINT_DEEDS, WordKind::Yes(Faint, Deed)),
        (LONE, WordKind::Yes(Faint, Lone)),
        (&["right"], WordKind::Right),
        (&["roger"], WordKind::CallSign),
        (&["可以了"], WordKind::Enough),
        (STRONG_NO, WordKind::No(Strong)),
        (WEAK_NO, WordKind::No(Weak)),
        (FAINT_NO, WordKind::No(Faint)),
        (NEGATIONS, WordKind::Negation),
        (FILLERS, WordKind::Filler),
        (THINGS, WordKind::Thing),
        (&["i", "我"], WordKind::Me),
        (&["你", "您"], WordKind::You),
        (PERSONS, WordKind::Person),
        (&["it", "它"], WordKind::It),
        (&["它们"], WordKind::They),
        (POLITE, WordKind::Polite),
        (&["的"], WordKind::Of),
        (&["请求"], WordKind::Ask),
        (&["oh"], WordKind::Sigh),
        (ALL, WordKind::All),
        (EVERY, WordKind::Every),
        (NONE_OF, WordKind::NoneOf),
        (BOTH, WordKind::Both),
        (ONLY, WordKind::Only),
        (AND, WordKind::And),
        (FRAMES, WordKind::Frame),
        (CONDITIONS, WordKind::Condition),
        (EXCEPTIONS, WordKind::Exception),
        (QUESTIONS, WordKind::Question),
        (DOUBTS, WordKind::Doubt),
        (FOREVER, WordKind::Forever),
        (BECAUSE, WordKind::Because),
        (UNSURE, WordKind::Unsure),
        (IDIOMS, WordKind::Idiom),
    ]
}

/// The longest phrase that the text has at `place`, and its length in characters.
pub(super) fn longest(text: &[char], place: usize) -> Option<(usize, WordKind)> {
    let here = &text[place..];
    let candidates = phrases().get(here.first()?)?;
    let found = candidates
        .iter()
        .find(|(phrase, _)| here.starts_with(phrase) && ends_word(text, place + phrase.len()))?;
    Some((found.0.len(), found.1))
}

/// Whether the words, named outside quotes, could also be read as part of the reply itself.
pub(super) fn could_be_reply_words(words: &str) -> bool {
    let is_telling = |kind: WordKind| {
        !matches!(
            kind,
            WordKind::Filler
                | WordKind::Thing
                | WordKind::Me
                | WordKind::You
                | WordKind::Person
                | WordKind::It
                | WordKind::Polite
                | WordKind::Of
                | WordKind::Ask
                | WordKind::Sigh
                | WordKind::Right
                | WordKind::CallSign
                | WordKind::Enough
                | WordKind::Frame
                | WordKind::And
                | WordKind::Act(_)
                | WordKind::Yes(Strength::Weak | Strength::Faint, _)
        )
    };
    let chars: Vec<char> = words.chars().map(fold).collect();
    let mut place = 0;
    while place < chars.len() {
        let is_start = place == 0 || !is_latin(chars[place - 1]);
        match longest(&chars, place).filter(|_| is_start) {
            Some((_, kind)) if is_telling(kind) => return true,
            Some((n, _)) => place += n,
            None => place += 1,
        }
    }
    false
}
