//! Model servers that run on this machine, found by asking the ports that they usually have.
//!
//! They are asked only for the list of their models, and only when a person wants to see which models
//! there are. What is found is offered; nothing is ever sent to it before somebody names it in the
//! settings.

use std::time::Duration;

use http::Method;
use serde::Deserialize;
use tokio::task::JoinSet;
use tokio::time::timeout;
use url::Url;

use crate::client::{HttpClients, HttpRequest};

/// The usual name and port of a model server.
pub type UsualPort = (&'static str, u16);

pub const USUAL_PORTS: [UsualPort; 4] =
    [("ollama", 11434), ("llamacpp", 8080), ("lmstudio", 1234), ("vllm", 8000)];

const ANSWER_MS_MAX: u64 = 300;
const ANSWER_BYTES_MAX: usize = 256 * 1024;
/// Maximum number of models told of one server, and the length of a name.
const MODELS_MAX: usize = 100;
const NAME_CHARS_MAX: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    /// What usually has the port.
    pub name: &'static str,
    /// As `baseUrl` takes it.
    pub base_url: String,
    /// The names of its models.
    pub models: Vec<String>,
}

#[derive(Deserialize)]
struct ModelPage {
    data: Vec<ListedModel>,
}

#[derive(Deserialize)]
struct ListedModel {
    id: String,
}

/// Asks all ports at once. Whatever does not answer with a list of models in time is no model server.
pub async fn find_local_servers(ports: &[UsualPort]) -> Vec<LocalServer> {
    let mut asked = JoinSet::new();
    for (place, (name, port)) in ports.iter().copied().enumerate() {
        asked.spawn(async move {
            let base_url = format!("http://127.0.0.1:{port}/v1");
            let listing = list_models(&base_url);
            let models = timeout(Duration::from_millis(ANSWER_MS_MAX), listing).await.ok()??;
            Some((place, LocalServer { name, base_url, models }))
        });
    }
    let mut found: Vec<(usize, LocalServer)> =
        asked.join_all().await.into_iter().flatten().collect();
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, server)| server).collect()
}

async fn list_models(base_url: &str) -> Option<Vec<String>> {
    let url = Url::parse(&format!("{base_url}/models")).ok()?;
    let clients = HttpClients::default();
    let request =
        HttpRequest { method: Method::GET, url: &url, headers: Vec::new(), body: Vec::new() };
    let mut response = clients.of(&url).ok()?.send(request).await.ok()?;
    if !response.status.is_success() {
        return None;
    }
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await.ok()? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > ANSWER_BYTES_MAX {
            return None;
        }
    }
    let page: ModelPage = serde_json::from_slice(&bytes).ok()?;
    let is_name = |id: &String| {
        (1..=NAME_CHARS_MAX).contains(&id.chars().count()) && !id.chars().any(char::is_control)
    };
    Some(page.data.into_iter().map(|it| it.id).filter(is_name).take(MODELS_MAX).collect())
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Answers every request with this body, or never.
    async fn server(body: Option<&'static str>) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                tokio::spawn(async move {
                    let mut request = [0; 1024];
                    let n_read = stream.read(&mut request).await.unwrap();
                    assert!(request[..n_read].starts_with(b"GET /v1/models HTTP/1.1\r\n"));
                    let Some(body) = body else { return std::future::pending().await };
                    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
                    stream.write_all((head + body).as_bytes()).await.unwrap();
                });
            }
        });
        port
    }

    #[tokio::test]
    async fn only_what_lists_its_models_in_time_is_a_model_server() {
        let list =
            r#"{"object":"list","data":[{"id":"tiny"},{"id":""},{"id":"a\nb"},{"id":"x:8b"}]}"#;
        let model_server = server(Some(list)).await;
        let page = server(Some("<html>hello</html>")).await;
        let silent = server(None).await;
        let closed = {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            listener.local_addr().unwrap().port()
        };
        let ports =
            [("page", page), ("silent", silent), ("closed", closed), ("real", model_server)];
        let expected = LocalServer {
            name: "real",
            base_url: format!("http://127.0.0.1:{model_server}/v1"),
            models: vec!["tiny".to_owned(), "x:8b".to_owned()],
        };
        assert_eq!(find_local_servers(&ports).await, [expected]);
    }
}
