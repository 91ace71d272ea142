use super::*;

fn input() -> (tempfile::TempDir, Input) {
    let folder = tempfile::tempdir().unwrap();
    let input = Input::new(
        ScreenLanguage::English,
        folder.path(),
        Arc::new(FileRoots::new(folder.path(), &[folder.path().to_owned()])),
    );
    (folder, input)
}

fn said(text: &str) -> SaidText {
    SaidText { text: text.to_owned(), typed: text.to_owned() }
}

fn press(input: &mut Input, press: KeyPress) -> Option<InputAction> {
    input.take(&TerminalInput::Key(press))
}

fn key(input: &mut Input, key: Key) -> Option<InputAction> {
    press(input, KeyPress::plain(key))
}

fn ctrl(input: &mut Input, ch: char) -> Option<InputAction> {
    press(input, KeyPress::ctrl(ch))
}

fn typed(input: &mut Input, text: &str) {
    for ch in text.chars() {
        key(input, Key::Char(ch));
    }
}

#[test]
fn a_pasted_text_of_several_lines_is_one_message() {
    let (_folder, mut input) = input();
    input.take(&TerminalInput::Paste("one\r\ntwo\nthree".to_owned()));
    assert_eq!(key(&mut input, Key::Enter), Some(InputAction::Send(said("one\ntwo\nthree"))));
    assert_eq!(key(&mut input, Key::Enter), None, "nothing is not sent");
}

#[test]
fn an_arrow_key_brings_back_what_was_sent() {
    let (_folder, mut input) = input();
    typed(&mut input, "first");
    key(&mut input, Key::Enter);
    // With nothing typed the queue is asked first.
    assert_eq!(key(&mut input, Key::Up), Some(InputAction::EditQueued));
    input.previous_entry();
    assert_eq!(input.editor.text(), "first");
    key(&mut input, Key::Down);
    assert_eq!(input.editor.text(), "");
}

#[test]
fn enter_sends_and_other_keys_make_a_new_line() {
    let (_folder, mut input) = input();
    typed(&mut input, "a");
    press(&mut input, KeyPress { alt: true, ..KeyPress::plain(Key::Enter) });
    typed(&mut input, "b");
    ctrl(&mut input, 'j');
    typed(&mut input, "c\\");
    assert_eq!(key(&mut input, Key::Enter), Some(InputAction::Changed));
    typed(&mut input, "d");
    assert_eq!(ctrl(&mut input, 's'), Some(InputAction::Steer(said("a\nb\nc\nd"))));
}

#[test]
fn ctrl_c_clears_what_was_typed_before_it_stops_anything() {
    let (_folder, mut input) = input();
    typed(&mut input, "a");
    assert_eq!(ctrl(&mut input, 'c'), Some(InputAction::Changed));
    assert_eq!(ctrl(&mut input, 'c'), Some(InputAction::Interrupt));
    assert_eq!(ctrl(&mut input, 'd'), Some(InputAction::Leave));
    assert_eq!(key(&mut input, Key::Escape), Some(InputAction::Stop));
}

#[test]
fn a_command_is_completed_and_then_sent() {
    let (_folder, mut input) = input();
    typed(&mut input, "/re");
    assert_eq!(key(&mut input, Key::Enter), Some(InputAction::Changed));
    assert_eq!(input.editor.text(), "/resume ");
    typed(&mut input, "abc");
    assert_eq!(key(&mut input, Key::Enter), Some(InputAction::Send(said("/resume abc"))));
    typed(&mut input, "/he");
    assert_eq!(key(&mut input, Key::Enter), Some(InputAction::Send(said("/help "))));
    typed(&mut input, "/new");
    assert_eq!(key(&mut input, Key::Enter), Some(InputAction::Send(said("/new"))));
}

#[test]
fn the_history_is_searched() {
    let (_folder, mut input) = input();
    for text in ["apple pie", "banana", "apple tart"] {
        typed(&mut input, text);
        key(&mut input, Key::Enter);
    }
    ctrl(&mut input, 'r');
    typed(&mut input, "app");
    assert_eq!(input.editor.text(), "apple tart");
    ctrl(&mut input, 'r');
    assert_eq!(input.editor.text(), "apple pie");
    assert_eq!(key(&mut input, Key::Enter), Some(InputAction::Changed));
    assert_eq!(key(&mut input, Key::Enter), Some(InputAction::Send(said("apple pie"))));
}

#[test]
fn twenty_columns_are_enough() {
    let (_folder, mut input) = input();
    typed(&mut input, "a long text that takes several rows of 20 columns 你好");
    for columns in [2, 5, 20] {
        let area = input.rows(columns, 8, ScreenText::KeysBusy);
        assert!(area.cursor_row < area.rows.len());
        for row in &area.rows {
            assert!(row.width() <= columns.max(4), "{columns}: {}", row.text());
        }
    }
}
