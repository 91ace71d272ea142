//! Projects that are registered, used and removed.

use std::fs;

use super::*;
use crate::calls::project::{RegisterProject, RemoveProject};
use crate::error::ErrorCode;
use crate::tests::{answer_to_owner, host, new_dialog};

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_gathers_the_sessions_of_its_folder_and_gives_them_back() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let other = other.path().canonicalize().unwrap();
    fs::create_dir_all(other.join("app/web")).unwrap();
    let host = host(dir.path()).await;
    let mut dialog = new_dialog();
    dialog.cwd = Some(text(&other.join("app/web")));
    answer_to_owner(&host, dialog).await.unwrap();
    let projects = async || {
        let list = answer_to_owner(&host, ListProjects {}).await.unwrap().projects;
        let in_words = |it: ProjectRow| (it.path, it.kind, it.sessions);
        list.into_iter().map(in_words).collect::<Vec<_>>()
    };
    let house = (text(&dir.path().canonicalize().unwrap()), ProjectKind::House, 0);
    let used = (text(&other.join("app/web")), ProjectKind::Used, 1);
    assert_eq!(projects().await, [house.clone(), used.clone()]);

    let app = RegisterProject { path: text(&other.join("app/../app")) };
    assert!(answer_to_owner(&host, app.clone()).await.unwrap().is_new);
    assert!(!answer_to_owner(&host, app).await.unwrap().is_new);
    let registered = (text(&other.join("app")), ProjectKind::Registered, 1);
    assert_eq!(projects().await, [house.clone(), registered]);
    let sessions = host.reads().list().await.unwrap().data.sessions;
    assert_eq!(sessions[0].project, Some(text(&other.join("app"))));
    let file = fs::read_to_string(dir.path().join("kith.toml")).unwrap();
    assert!(file.contains("[projects]"), "{file}");

    let remove = RemoveProject { path: text(&other.join("app")) };
    answer_to_owner(&host, remove.clone()).await.unwrap();
    assert_eq!(projects().await, [house, used]);
    let again = answer_to_owner(&host, remove).await.unwrap_err();
    assert_eq!(again.code, ErrorCode::ProjectNotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_folders_can_be_registered_and_looked_into() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let house = dir.path().canonicalize().unwrap();
    let own = RegisterProject { path: text(&house) };
    assert!(!answer_to_owner(&host, own).await.unwrap().is_new);
    for path in [
        "app",
        "~/app",
        "/nowhere/at/all",
        &text(&house.join("Agent.md")),
        "/a\0b",
        "",
        &text(&house.join(".kith")),
        "/proc/self",
        "/dev",
    ] {
        let register = RegisterProject { path: path.to_owned() };
        let refused = answer_to_owner(&host, register).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::ProjectNotFound, "{path}");
        let look = ListDirectories { path: Some(path.to_owned()), hidden: false };
        assert!(answer_to_owner(&host, look).await.is_err(), "{path}");
    }
    let remove = RemoveProject { path: text(&house) };
    assert!(answer_to_owner(&host, remove).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_are_listed_by_name_without_files_and_hidden_ones() {
    let (dir, tree) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tree = tree.path().canonicalize().unwrap();
    for name in ["b", "a/.git", ".hidden"] {
        fs::create_dir_all(tree.join(name)).unwrap();
    }
    fs::write(tree.join("file"), "x").unwrap();
    let host = host(dir.path()).await;
    answer_to_owner(&host, RegisterProject { path: text(&tree.join("b")) }).await.unwrap();
    let look = async |hidden| {
        let call = ListDirectories { path: Some(text(&tree)), hidden };
        answer_to_owner(&host, call).await.unwrap()
    };
    let list = look(false).await;
    let rows: Vec<(&str, bool, bool)> = list
        .directories
        .iter()
        .map(|it| (it.name.as_str(), it.is_project, it.is_repository))
        .collect();
    assert_eq!(rows, [("a", false, true), ("b", true, false)]);
    assert_eq!((list.parent, list.is_cut), (tree.parent().map(text), false));
    assert_eq!(look(true).await.directories.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_conversation_begins_in_a_folder_of_kiths_own() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    for folder in [".kith", ".kith/sessions"] {
        let mut dialog = new_dialog();
        dialog.cwd = Some(text(&dir.path().join(folder)));
        let refused = answer_to_owner(&host, dialog).await.unwrap_err();
        assert!(refused.message.contains(".kith"), "{refused:?}");
    }
    let sessions = host.reads().list().await.unwrap().data.sessions;
    assert!(sessions.is_empty(), "{sessions:?}");
}
