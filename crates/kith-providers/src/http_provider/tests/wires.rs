//! The three wires against streams in their vendors' forms, each an answer with two calls.

use proptest::collection::vec;
use proptest::prelude::any;
use proptest::proptest;
use proptest::test_runner::{Config, RngSeed};

use super::*;
use crate::sse::SseDecoder;

const WIRES: [Wire; 3] = [Wire::OpenaiChat, Wire::Anthropic, Wire::OpenaiResponses];

fn recorded(wire: Wire) -> &'static str {
    match wire {
        Wire::OpenaiChat => include_str!("../../../../../testdata/streams/openai_chat.sse"),
        Wire::Anthropic => include_str!("../../../../../testdata/streams/anthropic.sse"),
        Wire::OpenaiResponses => {
            include_str!("../../../../../testdata/streams/openai_responses.sse")
        }
    }
}

/// The answer of the recorded stream, in words.
fn expected(wire: Wire) -> &'static str {
    match wire {
        Wire::OpenaiChat => {
            "我来看看 both files 👀. -> read_file {\"path\":\"notes/今天.md\"} \
             -> exec_shell {\"command\":\"rm -r build/cache\",\"timeout\":30}"
        }
        Wire::Anthropic => {
            "(Two files, one after the other.)我来看看 both files 👀. \
             -> read_file {\"path\": \"notes/今天.md\"} \
             -> exec_shell {\"command\": \"rm -r build/cache\", \"timeout\": 30}"
        }
        Wire::OpenaiResponses => {
            "(Two files, one after the other.)我来看看 both files 👀. \
             -> read_file {\"path\":\"notes/今天.md\"} \
             -> exec_shell {\"command\":\"rm -r build/cache\",\"timeout\":30}"
        }
    }
}

fn choice_of(wire: Wire) -> ModelChoice {
    ModelChoice { wire, ..choice() }
}

fn provider_of(wire: Wire, server: &Server) -> HttpProvider {
    HttpProvider::new(choice_of(wire), &server.url(), Some(Secret::new(KEY))).unwrap()
}

#[tokio::test]
async fn each_wire_posts_to_its_own_path_with_its_own_key_header() {
    for (wire, path, headers) in [
        (Wire::OpenaiChat, "/v1/chat/completions", &["authorization: bearer sk-very-secret"][..]),
        (Wire::OpenaiResponses, "/v1/responses", &["authorization: bearer sk-very-secret"]),
        (
            Wire::Anthropic,
            "/v1/messages",
            &["x-api-key: sk-very-secret", "anthropic-version: 2023-06-01"],
        ),
    ] {
        let mut server = Server::start(vec![vec![stream_until_close(recorded(wire))]]).await;
        let answer = ask(&provider_of(wire, &server)).await;
        assert_eq!(in_words(&answer), expected(wire));
        let head = server.requests.recv().await.unwrap().to_lowercase();
        assert!(head.starts_with(&format!("post {path} http/1.1\r\n")), "{head}");
        for header in headers {
            assert!(head.contains(header), "{header} in {head}");
        }
        assert_eq!(head.contains("authorization:"), wire != Wire::Anthropic, "{head}");
    }
}

/// Streams that llama.cpp sent, with a model of 135 million parameters behind it.
#[test]
fn streams_of_a_real_server_are_read_on_every_wire() {
    for (wire, stream, usage) in [
        (
            Wire::OpenaiChat,
            include_str!("../../../../../testdata/streams/llama-openai_chat.sse"),
            "input: 1, output: 33, cache_read: 216",
        ),
        (
            Wire::Anthropic,
            include_str!("../../../../../testdata/streams/llama-anthropic.sse"),
            "input: 1, output: 33, cache_read: 216",
        ),
        (
            Wire::OpenaiResponses,
            include_str!("../../../../../testdata/streams/llama-openai_responses.sse"),
            "input: 1, output: 33, cache_read: 216",
        ),
    ] {
        let answer = answer_in_pieces(wire, stream.as_bytes().chunks(100));
        assert!(answer.starts_with(" -> read_file {\"path\": \"Agent.md\"} "), "{answer}");
        assert!(answer.contains(usage) && answer.ends_with("ToolCall)"), "{answer}");
    }
}

#[tokio::test]
async fn usage_marks_and_call_ids_are_kept() {
    for (wire, expected) in [
        (Wire::OpenaiChat, "176+1024+0 in, 48 out; call_A1 call_B2; "),
        (
            Wire::Anthropic,
            "25+1024+180 in, 89 out; toolu_01A toolu_01B; EqQBCgIYAhIM1gbcDa9GJwZA== -",
        ),
        (Wire::OpenaiResponses, "176+1024+0 in, 89 out; call_A1 call_B2; rs_68a gAAAAABo2nd=="),
    ] {
        let server = Server::start(vec![vec![stream_until_close(recorded(wire))]]).await;
        let answer = ask(&provider_of(wire, &server)).await.unwrap();
        let usage = answer.usage.unwrap();
        let (mut ids, mut marks) = (Vec::new(), Vec::new());
        for block in &answer.content {
            match block {
                AnswerBlock::Call { provider_call_id, .. } => ids.push(provider_call_id.clone()),
                AnswerBlock::Thinking(it) => {
                    let mark = |mark: &Option<kith_vocab::text::Text>| {
                        mark.as_ref().map_or("-".to_owned(), ToString::to_string)
                    };
                    marks.push(format!("{} {}", mark(&it.signature), mark(&it.redacted)));
                }
                AnswerBlock::Text(_) => (),
            }
        }
        let kith_vocab::event::messages::Usage { input, output, cache_read, cache_write, .. } =
            usage;
        let counts = format!("{input}+{cache_read}+{cache_write} in, {output} out");
        assert_eq!(format!("{counts}; {}; {}", ids.join(" "), marks.join(" ")), expected);
    }
}

/// No byte at which a connection breaks may turn half of a call's arguments into a call.
#[expect(clippy::print_stdout, reason = "the counts are what this shows")]
async fn cut_at_every_byte(wire: Wire) {
    let stream = recorded(wire);
    let whole = stream_until_close(stream);
    let head_len = whole.len() - stream.len();
    let cuts: Vec<usize> = (head_len..=whole.len()).collect();
    let replies = cuts.iter().map(|cut| vec![whole[..*cut].to_vec()]).collect();
    let server = Server::start(replies).await;
    let provider = provider_of(wire, &server);
    let (mut n_whole, mut n_cut) = (0, 0);
    for &cut in &cuts {
        match ask(&provider).await {
            Ok(answer) => {
                n_whole += 1;
                assert_eq!(in_words(&Ok(answer)), expected(wire), "{wire:?} cut at {cut}");
            }
            Err(unfinished) => {
                n_cut += 1;
                assert_eq!(n_whole, 0, "{wire:?}: whole before, cut at {cut}");
                let text = &unfinished.partial_text;
                assert!("我来看看 both files 👀.".starts_with(text), "{wire:?} cut at {cut}");
                let (kind, message, retryable) = fault(Err(unfinished));
                let is_cut = (kind, retryable) == (FailureKind::Cut, true);
                assert!(is_cut, "{wire:?} cut at {cut}: {message}");
            }
        }
    }
    assert!(n_whole > 0 && n_cut > stream.len() / 2, "{n_whole} {n_cut}");
    println!(
        "{}: {} cuts, {n_cut} without an answer, {n_whole} with the whole one, \
         0 calls of partial arguments",
        crate::render::wire_name(wire),
        cuts.len()
    );
}

#[tokio::test]
async fn a_chat_stream_cut_at_every_byte_never_gives_a_call_of_partial_arguments() {
    cut_at_every_byte(Wire::OpenaiChat).await;
}

#[tokio::test]
async fn an_anthropic_stream_cut_at_every_byte_never_gives_a_call_of_partial_arguments() {
    cut_at_every_byte(Wire::Anthropic).await;
}

#[tokio::test]
async fn a_responses_stream_cut_at_every_byte_never_gives_a_call_of_partial_arguments() {
    cut_at_every_byte(Wire::OpenaiResponses).await;
}

/// The answer of bytes that come in these pieces.
fn answer_in_pieces<'a>(wire: Wire, pieces: impl Iterator<Item = &'a [u8]>) -> String {
    let (mut decoder, mut events) = (SseDecoder::default(), Vec::new());
    let mut answer = Accumulator::of(wire);
    let heard = Heard::default();
    for piece in pieces {
        decoder.feed(piece, &mut events).unwrap();
        for event in events.drain(..) {
            answer.feed(&event.data, &heard).unwrap_or_else(|_| panic!("{}", event.data));
        }
    }
    assert!(answer.is_done());
    let answer = answer.finish().map_err(|_| "a fault").unwrap();
    format!("{} {:?}", in_words(&Ok(answer.clone())), (answer.usage, answer.stop_reason))
}

proptest! {
    #![proptest_config(Config { rng_seed: RngSeed::Fixed(7), cases: 200, failure_persistence: None, ..Config::default() })]

    #[test]
    fn any_pieces_of_a_stream_give_the_same_answer(sizes in vec(1_usize..200, 1..60)) {
        for wire in WIRES {
            let stream = recorded(wire).as_bytes();
            let mut rest = stream;
            let pieces = sizes.iter().cycle().map_while(|size| {
                let (piece, after) = rest.split_at((*size).min(rest.len()));
                rest = after;
                (!piece.is_empty()).then_some(piece)
            });
            let whole = answer_in_pieces(wire, [stream].into_iter());
            assert_eq!(answer_in_pieces(wire, pieces), whole);
        }
    }

    /// Whatever is inserted between two events, other than an end, changes nothing.
    #[test]
    fn unknown_events_and_pings_anywhere_change_nothing(places in vec(any::<usize>(), 1..8)) {
        const STRAY: [&str; 5] = [
            ": comment\n\n",
            "event: ping\ndata: {\"type\":\"ping\"}\n\n",
            "data: {\"type\":\"response.from_the_future\",\"delta\":{\"a\":[1]},\"item\":7}\n\n",
            "event: new\ndata: {\"type\":\"new\",\"index\":9,\"delta\":null,\"message\":\"x\"}\n\n",
            "data:\n\n",
        ];
        for wire in WIRES {
            let events: Vec<&str> = recorded(wire).split_inclusive("\n\n").collect();
            let mut stream = events.clone();
            for (n, place) in places.iter().enumerate() {
                stream.insert(place % events.len(), STRAY[n % STRAY.len()]);
            }
            let whole = answer_in_pieces(wire, [recorded(wire).as_bytes()].into_iter());
            let with_stray = stream.concat();
            assert_eq!(answer_in_pieces(wire, [with_stray.as_bytes()].into_iter()), whole);
        }
    }

    /// Events that are lost or come in another order give an answer or a fault, never a panic, and
    /// never a call that no event closed.
    #[test]
    fn any_order_of_events_is_an_answer_or_a_fault(order in vec(any::<usize>(), 0..60)) {
        for wire in WIRES {
            let events: Vec<&str> = recorded(wire).split_inclusive("\n\n").collect();
            let stream: String = order.iter().map(|place| events[place % events.len()]).collect();
            let (mut decoder, mut parsed) = (SseDecoder::default(), Vec::new());
            decoder.feed(stream.as_bytes(), &mut parsed).unwrap();
            let mut answer = Accumulator::of(wire);
            let heard = Heard::default();
            let fed: Result<(), Fault> =
                parsed.iter().try_for_each(|event| answer.feed(&event.data, &heard));
            if fed.is_ok() {
                answer.finish().ok();
            }
        }
    }
}

/// What each vendor says, and what is made of it.
const SAID: [(Wire, u16, &str, &str); 13] = [
    (
        Wire::Anthropic,
        401,
        r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
        "Auth: `openai` refused the API key (status 401): check it; it said: invalid x-api-key",
    ),
    (
        Wire::Anthropic,
        404,
        r#"{"type":"error","error":{"type":"not_found_error","message":"model: m"}}"#,
        "Status: `openai` does not know this address or model `m` (status 404): check the base URL and model name; it said: model: m",
    ),
    (
        Wire::Anthropic,
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
        "ContextLength: `openai` rejected the conversation as too long (status 400); it said: prompt is too long: 210000 tokens > 200000 maximum",
    ),
    (
        Wire::Anthropic,
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000"}}"#,
        "ContextLength: `openai` rejected the conversation as too long (status 400); it said: input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000",
    ),
    (
        Wire::Anthropic,
        413,
        r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
        "ContextLength: `openai` rejected the conversation as too long (status 413); it said: Request exceeds the maximum size",
    ),
    (
        Wire::Anthropic,
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#,
        "Status: `openai` has no quota left for this key (status 400): check its plan and billing; it said: Your credit balance is too low",
    ),
    (
        Wire::Anthropic,
        529,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        "Status: `openai` is overloaded (status 529), retry; it said: Overloaded",
    ),
    (
        Wire::Anthropic,
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.0.image.source.base64: image exceeds 5 MB maximum"}}"#,
        "Media: `openai` does not take an image or file of this conversation (status 400): send another or use another model; the next message is sent without it; it said: messages.0.content.0.image.source.base64: image exceeds 5 MB maximum",
    ),
    (
        Wire::OpenaiResponses,
        400,
        r#"{"error":{"message":"The requested model 'm' does not exist.","type":"invalid_request_error","param":"model","code":"model_not_found"}}"#,
        "Status: `openai` does not know model `m` (status 400): check the model name; it said: The requested model 'm' does not exist.",
    ),
    (
        Wire::OpenaiResponses,
        400,
        r#"{"error":{"message":"Your input exceeds the context window of this model.","code":"context_length_exceeded"}}"#,
        "ContextLength: `openai` rejected the conversation as too long (status 400); it said: Your input exceeds the context window of this model.",
    ),
    (
        Wire::OpenaiResponses,
        400,
        r#"{"error":{"message":"Encrypted content is not supported with this model.","param":"include","code":null}}"#,
        "Status: `openai` does not take encrypted reasoning for this model (status 400): set `parameters = { include = false }` for it; it said: Encrypted content is not supported with this model.",
    ),
    (
        Wire::OpenaiResponses,
        400,
        r#"{"error":{"message":"The encrypted content gAAA could not be verified.","code":"invalid_encrypted_content"}}"#,
        "Status: `openai` cannot read its earlier reasoning (status 400), which is bound to the key that it was written under: go on with another model, or start over with `kith ask --new`; it said: The encrypted content gAAA could not be verified.",
    ),
    (
        Wire::OpenaiResponses,
        429,
        r#"{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}"#,
        "Status: `openai` refused the request: rate limit reached (status 429), retry; it said: Rate limit reached",
    ),
];

#[tokio::test]
async fn what_vendors_say_is_named_and_says_what_to_do() {
    for (wire, status, body, expected) in SAID {
        let json = "content-type: application/json\r\n";
        let server = Server::start(vec![vec![reply(status, json, body)]]).await;
        let (kind, message, retryable) = fault(ask(&provider_of(wire, &server)).await);
        let again = if retryable { ", retry" } else { "" };
        let message = match message.split_once("; it said: ") {
            Some((what, said)) => format!("{what}{again}; it said: {said}"),
            None => format!("{message}{again}"),
        };
        assert_eq!(format!("{kind:?}: {message}"), expected);
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood_on_every_wire() {
    let json = "content-type: application/json\r\n";
    let anthropic = r#"{"type":"message","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"hi"},{"type":"tool_use","id":"c","name":"a","input":{"k": 1}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}"#;
    let responses = r#"{"object":"response","status":"completed","output":[{"type":"reasoning","id":"rs","summary":[{"text":"h"},{"text":"m"}],"encrypted_content":"x"},{"type":"message","content":[{"type":"output_text","text":"hi"}]},{"type":"function_call","call_id":"c","name":"a","arguments":"{\"k\": 1}"}]}"#;
    for (wire, body, expected) in [
        (Wire::Anthropic, anthropic, "(hm)hi -> a {\"k\": 1}"),
        (Wire::OpenaiResponses, responses, "(h\n\nm)hi -> a {\"k\": 1}"),
    ] {
        let server = Server::start(vec![
            vec![reply(200, json, body)],
            vec![reply(200, json, r#"{"object":"list"}"#)],
            vec![reply(
                200,
                json,
                r#"{"type":"error","error":{"type":"api_error","message":"no"}}"#,
            )],
            vec![reply(200, "content-type: text/html\r\n", "<html>")],
        ])
        .await;
        let provider = provider_of(wire, &server);
        let answer = ask(&provider).await;
        assert_eq!(in_words(&answer), expected);
        assert_eq!(answer.unwrap().stop_reason, kith_vocab::event::messages::StopReason::ToolCall);
        for expected in [
            "`openai` answered with JSON that is not an answer of this API: check the base URL and wire; it said: {\"object\":\"list\"}",
            "`openai` reported an error instead of an answer; it said: no",
            "`openai` answered with a web page instead of a model's answer: check the base URL",
        ] {
            assert_eq!(fault(ask(&provider).await).1, expected);
        }
    }
}

/// A server that is alive and says nothing.
struct Pings(&'static str);

impl exchange::ByteChunks for Pings {
    async fn next_chunk(&mut self) -> Option<impl AsRef<[u8]> + Send> {
        tokio::time::sleep(Duration::from_secs(10)).await;
        Some(self.0)
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_never_ends_ends_with_the_turn() {
    let ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n";
    for wire in WIRES {
        let ctx = AskContext {
            time_left: Duration::from_mins(10),
            ..context(Arc::new(Heard::default()))
        };
        let begun = tokio::time::Instant::now();
        let mut answer = Accumulator::of(wire);
        let limit = Duration::from_millis(STREAM_IDLE_MS_MAX);
        let limits = SilenceLimits { first: limit, between: limit };
        let mut pings = Pings(ping);
        let reading = exchange::read_answer(&mut pings, limits, &*ctx.sink, &mut answer);
        let ending = exchange::bounded(&ctx, reading).await;
        assert_eq!(begun.elapsed(), Duration::from_mins(10));
        let named = |fault: Fault, text| fault.into_failure("p", &SecretFilter::default(), text);
        let (kind, message, _) = fault(exchange::conclude(ending, answer, named));
        assert_eq!(kind, FailureKind::Timeout);
        assert_eq!(message, "`p` did not finish within the time limit of this turn");
    }
}
