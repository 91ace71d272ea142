//! Calls over HTTP: `POST /api/<call>` with the call's JSON, answered once.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_LANGUAGE, HeaderName, HeaderValue, SET_COOKIE};
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body as _, Incoming};
use kith_vocab::blocking::blocking;
use kith_vocab::clock::BoxFuture;
use kith_vocab::json::Json;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::HttpState;
use super::access::PageLogin;
use super::event_stream;
use super::reply::{self, HttpProblem, ReplyBody};
use crate::call::{Call, Delivery, Follower, Reply, Response as Answered};
use crate::caller::Caller;
use crate::calls::log::FollowLog;
use crate::calls::subscription::{FollowHouse, Subscribe};
use crate::error::CallError;
use crate::protocol::{ClientHello, FRAME_BYTES_MAX, PROTOCOL, REQUEST_BYTES_MAX, answer_too_long};
use crate::routes;
use crate::serve::transport::Arrival;

/// How long a client may take to send a body.
pub(super) const BODY_MS_MAX: u64 = 60_000;
/// The same for a login, which anybody may send.
const LOGIN_MS_MAX: u64 = 5_000;
/// Bytes of a login.
const LOGIN_BYTES_MAX: usize = 1024;
/// The name that a program gives itself.
const CLIENT: HeaderName = HeaderName::from_static("x-kith-client");
const DEFAULT_CLIENT: &str = "http";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    code: String,
}

/// The form of every answer.
#[derive(Serialize)]
struct HttpAnswerForm<'a> {
    ok: bool,
    data: &'a Json,
    notes: &'a [String],
}

/// Exchanges a login code for the cookie of the page.
pub(super) async fn login(
    request: Request<Incoming>,
    state: &HttpState,
) -> Result<Response<ReplyBody>, HttpProblem> {
    let body = read_body(request, LOGIN_BYTES_MAX, LOGIN_MS_MAX).await?;
    let login: Login = read_form("login", &body)
        .map_err(|_| HttpProblem::bad_request("a login is `{\"code\": \"…\"}`"))?;
    let PageLogin { set_cookie, page_key } = state.access.log_in(&login.code)?;
    let response = reply::json(&serde_json::json!({ "ok": true, "pageKey": page_key }));
    Ok(with_cookie(&set_cookie, response))
}

/// Ends the login of the page that asks. The cookie goes in any case.
pub(super) fn logout(headers: &HeaderMap, state: &HttpState) -> Response<ReplyBody> {
    let response = match blocking(|| state.access.log_out(headers)) {
        Ok(()) => reply::json(&serde_json::json!({ "ok": true })),
        Err(error) => {
            let message = format!("the logout could not be written down: {error}");
            let error = CallError::filesystem(message)
                .hint("free some disk space and log out again, or the next host accepts the login");
            HttpProblem::from(error).into_response()
        }
    };
    with_cookie(&state.access.no_cookie(), response)
}

fn with_cookie(cookie: &str, mut response: Response<ReplyBody>) -> Response<ReplyBody> {
    // A cookie of ours is letters, digits and punctuation.
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

/// Answers a call, once or with its items as a stream.
pub(super) async fn call(
    name: &str,
    request: Request<Incoming>,
    state: &HttpState,
) -> Result<Response<ReplyBody>, HttpProblem> {
    if !routes::has(name) {
        return Err(HttpProblem::not_found(request.uri().path()));
    }
    let caller = caller_of(request.headers())?;
    let is_stream = accepts_events(request.headers());
    let until = state.access.until_logout(request.headers());
    let endless = [Subscribe::NAME, FollowHouse::NAME, FollowLog::NAME];
    if !is_stream && endless.contains(&name) {
        let message = "this call has no end: ask for it with `Accept: text/event-stream`";
        return Err(HttpProblem::bad_request(message));
    }
    let body = read_body(request, REQUEST_BYTES_MAX, BODY_MS_MAX).await?;
    let body = json_of(name, &body)?;
    if is_stream {
        return Ok(event_stream::answer(name, body, caller, state, until));
    }
    let answer = answer_once(name.to_owned(), body, caller, state).await??;
    Ok(reply::json(&HttpAnswerForm { ok: true, data: &answer.data, notes: &answer.notes }))
}

/// The same for a call of ours, whose answer is told in other words.
pub(super) async fn answer_typed<C: Call>(
    call: &C,
    caller: Caller,
    state: &HttpState,
) -> Result<Reply<C::Answer>, HttpProblem> {
    let answer = answer_once(C::NAME.to_owned(), Json::of(call), caller, state).await?;
    Ok(answer.and_then(|it| {
        let unread = |error| CallError::bug(format!("cannot read the host's own answer: {error}"));
        Ok(Answered { data: it.data.read().map_err(unread)?, notes: it.notes })
    }))
}

/// What the host answers; refused at once if it is ending.
async fn answer_once(
    name: String,
    body: Json,
    caller: Caller,
    state: &HttpState,
) -> Result<Reply<Json>, HttpProblem> {
    let token = state.server.admit(&name).ok_or_else(HttpProblem::ending)?;
    let gone = CancellationToken::new();
    let _gone_when_dropped = gone.clone().drop_guard();
    let host = Arc::clone(&state.server.host);
    // On its own: a turn goes on when its client has left.
    let answering = tokio::spawn(async move {
        let take = |_: Json, _: Delivery| Ok(());
        let send = |_| -> BoxFuture<'static, _> { Box::pin(std::future::ready(Ok(()))) };
        let follower = Follower::new(take, CancellationToken::new()).with_room(send, gone);
        let answer = routes::dispatch(&host, caller, &name, &body, follower).await;
        drop(token);
        answer
    });
    let answer = answering.await.map_err(|_| CallError::failed_request())?;
    Ok(answer.and_then(within_limit))
}

/// Over the socket too, no longer answer is sent.
fn within_limit(answer: Answered<Json>) -> Reply<Json> {
    if answer.data.as_str().len() > FRAME_BYTES_MAX {
        return Err(answer_too_long());
    }
    Ok(answer)
}

fn json_of(name: &str, body: &Bytes) -> Result<Json, HttpProblem> {
    if body.is_empty() {
        return Ok(Json::empty_object());
    }
    let text =
        str::from_utf8(body).map_err(|_| HttpProblem::bad_request("the body is not UTF-8"))?;
    Json::parse(text).map_err(|error| {
        HttpProblem::bad_request(&format!("`{name}`: the body is not JSON: {error}"))
    })
}

/// Reads a body into a form of ours. It must be an object: serde would also take an array for one,
/// value by value.
pub(super) fn read_form<T: DeserializeOwned>(name: &str, body: &Bytes) -> Result<T, HttpProblem> {
    let refused = |why: &str| HttpProblem::bad_request(&format!("`{name}`: {why}"));
    let body = json_of(name, body)?;
    if !body.is_object() {
        return Err(refused("the body must be a JSON object"));
    }
    body.read().map_err(|error| refused(&error.to_string()))
}

pub(super) async fn read_body(
    request: Request<Incoming>,
    bytes_max: usize,
    ms_max: u64,
) -> Result<Bytes, HttpProblem> {
    let announced = request.body().size_hint().lower();
    if announced > bytes_max as u64 {
        return Err(too_long(bytes_max));
    }
    let reading = Limited::new(request.into_body(), bytes_max).collect();
    let read = tokio::time::timeout(Duration::from_millis(ms_max), reading).await;
    match read {
        Err(_) => Err(HttpProblem::timed_out("the body took too long to arrive")),
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            Err(too_long(bytes_max))
        }
        Ok(Err(_)) => Err(HttpProblem::bad_request("the body was cut short")),
    }
}

fn too_long(bytes_max: usize) -> HttpProblem {
    HttpProblem::too_large(&format!("the body is longer than {bytes_max} bytes"))
}

/// The owner, by the client that the headers name.
pub(super) fn caller_of(headers: &HeaderMap) -> Result<Caller, HttpProblem> {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let hello = ClientHello {
        protocol: PROTOCOL,
        client_id: text(&CLIENT).unwrap_or(DEFAULT_CLIENT).to_owned(),
        attended: true,
        language: text(&ACCEPT_LANGUAGE).and_then(first_language),
    };
    Ok(Arrival::Http.mark(hello.into_caller()?))
}

/// The language that stands first: `zh-CN,zh;q=0.9` says `zh`.
fn first_language(accepted: &str) -> Option<String> {
    let first = accepted.split([',', ';', '-']).next()?.trim();
    let is_name = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_name.then(|| first.to_ascii_lowercase())
}

fn accepts_events(headers: &HeaderMap) -> bool {
    let mut texts = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    texts.any(|text| text.split(',').any(|kind| kind.trim().starts_with("text/event-stream")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_no_longer_than_over_the_socket() {
        let answer = |n_bytes: usize| Answered::new(Json::of(&"x".repeat(n_bytes - 2)));
        assert!(within_limit(answer(FRAME_BYTES_MAX)).is_ok());
        let refused = within_limit(answer(FRAME_BYTES_MAX + 1)).unwrap_err();
        assert_eq!(refused.message(), answer_too_long().message());
    }
}
