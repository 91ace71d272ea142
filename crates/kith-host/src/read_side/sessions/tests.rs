//! A session in pages.

use super::*;
use crate::error::ErrorCode;
use crate::tests::{answer_to_owner, host, new_dialog};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pages_of_a_session_are_the_session() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let session = answer_to_owner(&host, new_dialog()).await.unwrap().session_id.to_string();
    let whole = answer_to_owner(&host, ShowSession { session: session.clone() }).await.unwrap();
    assert_eq!(whole.events.len(), 2);

    let mut events = Vec::new();
    let mut after = Some(0);
    while let Some(from) = after {
        let page = ReadEvents { session: session.clone(), after: from, limit: 1 };
        let page = answer_to_owner(&host, page).await.unwrap();
        assert_eq!(page.events.len(), 1);
        events.extend(page.events);
        after = page.next_after;
    }
    assert_eq!(events, whole.events);
    for limit in [0, PAGE_EVENTS_MAX + 1] {
        let page = ReadEvents { session: session.clone(), after: 0, limit };
        assert_eq!(answer_to_owner(&host, page).await.unwrap_err().code, ErrorCode::InvalidRequest);
    }
    let beyond = ReadEvents { session, after: 99, limit: 1 };
    let page = answer_to_owner(&host, beyond).await.unwrap();
    assert_eq!((page.events.len(), page.next_after), (0, None));
}
