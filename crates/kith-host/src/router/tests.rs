//! A call is the same in the process and as text.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::call::{Delivery, Reply};
use crate::error::ErrorCode;

struct Shop;

impl Side for Shop {
    const ACCESS: Access = Access::Write;
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Greet {
    name: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Greeted {
    text: String,
    by: String,
}

impl Call for Greet {
    const NAME: &'static str = "greet";
    const ACCESS: Access = Access::Write;
    type Answer = Greeted;
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Count {
    to: u32,
}

impl Call for Count {
    const NAME: &'static str = "count";
    const ACCESS: Access = Access::Write;
    type Answer = u32;
}

impl Follow for Count {
    type Item = u32;
}

async fn greet(_: Arc<Shop>, caller: Caller, call: Greet) -> Reply<Greeted> {
    if call.name.is_empty() {
        return Err(CallError::request(ErrorCode::Untrusted, "nobody is named"));
    }
    let data = Greeted { text: format!("hello {}", call.name), by: caller.user.user_id };
    Ok(Response::new(data).with_notes(["it rains".to_owned()]))
}

async fn count(_: Arc<Shop>, _: Caller, call: Count, follower: Follower<u32>) -> Reply<u32> {
    for number in 1..=call.to {
        follower.push(number, Delivery::Certain)?;
    }
    Ok(Response::new(call.to))
}

fn router() -> Router<Shop> {
    Router::default().on_caller(greet).on_follow(count)
}

fn caller() -> Caller {
    Caller::owner("test")
}

async fn text(name: &str, body: &str) -> Reply<Json> {
    let body = Json::parse(body).unwrap();
    router().dispatch(&Arc::new(Shop), caller(), name, &body, Follower::none()).unwrap().await
}

#[tokio::test]
async fn a_call_is_the_same_in_the_process_and_as_text() {
    let call = Greet { name: "Ann".to_owned() };
    let typed = router().answer(&Arc::new(Shop), caller(), call, Follower::<()>::none());
    let typed = typed.await.unwrap();
    assert_eq!(typed.data, Greeted { text: "hello Ann".to_owned(), by: "owner".to_owned() });
    let raw = text("greet", r#"{"name":"Ann"}"#).await.unwrap();
    assert_eq!(raw.data.as_str(), r#"{"text":"hello Ann","by":"owner"}"#);
    assert_eq!(raw.notes, typed.notes);
}

#[tokio::test]
async fn what_a_call_does_not_know_is_refused_with_its_name() {
    let error = text("greet", r#"{"name":"Ann","titel":"x"}"#).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidRequest);
    assert!(error.message.starts_with("`greet`: unknown field `titel`"), "{}", error.message);
    let error = text("greet", r#"{"name":""}"#).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Untrusted);
    let body = Json::empty_object();
    let side = Arc::new(Shop);
    assert!(router().dispatch(&side, caller(), "dance", &body, Follower::none()).is_none());
}

#[tokio::test]
async fn a_body_that_is_no_object_is_refused() {
    for body in [r#"["Ann"]"#, "[]", "[null, null]", "null", "3", r#""Ann""#] {
        let error = text("greet", body).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidRequest);
        assert_eq!(error.message(), "`greet`: the body must be a JSON object", "{body}");
    }
}

#[tokio::test]
async fn a_follow_gives_its_items_before_its_answer() {
    let items: Arc<Mutex<Vec<String>>> = Arc::default();
    let taken = Arc::clone(&items);
    let take = move |item: Json, _| {
        taken.lock().unwrap().push(item.as_str().to_owned());
        Ok(())
    };
    let follower = Follower::new(take, CancellationToken::new());
    let body = Json::parse(r#"{"to":3}"#).unwrap();
    let answer = router().dispatch(&Arc::new(Shop), caller(), "count", &body, follower);
    assert_eq!(answer.unwrap().await.unwrap().data.as_str(), "3");
    assert_eq!(*items.lock().unwrap(), ["1", "2", "3"]);
}
