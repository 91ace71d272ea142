use super::*;

#[tokio::test]
async fn few_sessions_are_read_whole_at_once_and_none_for_a_client_that_has_left() {
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().to_owned();
    let side = ReadSide::open(House { dir: cwd.clone(), cwd, user_home: None }).await;
    let gone = CancellationToken::new();
    let mut readings = Vec::new();
    for _ in 0..WHOLE_READS_MAX {
        readings.push(side.whole_read(&gone).await.unwrap());
    }
    let waiting = side.whole_read(&gone);
    tokio::pin!(waiting);
    tokio::select! {
        biased;
        _ = &mut waiting => panic!("too many are read at once"),
        () = std::future::ready(()) => gone.cancel(),
    }
    assert!(waiting.await.is_err());
    readings.pop();
    assert!(side.whole_read(&CancellationToken::new()).await.is_ok());
}
