use proptest::prelude::*;

use super::*;

fn with(text: &str) -> Editor {
    let mut editor = Editor::new(ScreenLanguage::English);
    editor.insert(text);
    editor
}

#[test]
fn a_wide_character_is_erased_whole() {
    let mut editor = with("说 你好世界");
    editor.backspace();
    editor.backspace();
    editor.insert("朋友");
    assert_eq!(editor.text(), "说 你好朋友");
    let mut editor = with("a👨‍👩‍👧");
    editor.backspace();
    assert_eq!(editor.text(), "a");
}

#[test]
fn several_lines_are_one_text() {
    let mut editor = with("one\ntwo\nthree");
    assert!(editor.up() && editor.up() && !editor.up());
    editor.line_end();
    editor.insert("!");
    assert_eq!(editor.text(), "one!\ntwo\nthree");
    assert!(editor.down() && editor.down() && !editor.down());
}

#[test]
fn rows_are_as_wide_as_the_screen_and_have_the_cursor() {
    let mut editor = with("你好世界ab");
    let rows = editor.rows(5);
    assert_eq!(rows.rows, ["你好", "世界a", "b"]);
    assert_eq!((rows.cursor_row, rows.cursor_column), (2, 1));
    editor.line_start();
    let rows = editor.rows(5);
    assert_eq!((rows.cursor_row, rows.cursor_column), (0, 0));
    assert_eq!(with("ab\n").rows(5).rows, ["ab", ""]);
    assert_eq!(with("abcde").rows(5).cursor_row, 1, "the cursor never stands behind the edge");
}

#[test]
fn a_long_paste_is_a_placeholder_and_comes_back_whole() {
    let mut editor = with("see ");
    let long = "line\r\n".repeat(50);
    editor.paste(&long);
    editor.insert(" ok?");
    assert_eq!(editor.text(), "see [paste 1: 50 lines, 250 bytes] ok?");
    assert_eq!(editor.take(), format!("see {} ok?", "line\n".repeat(50)));
    assert!(editor.is_empty());
    editor.paste(&long);
    editor.insert(" x");
    editor.word_left();
    editor.left();
    editor.backspace();
    assert_eq!(editor.text(), " x", "a placeholder goes as a whole");
    editor.take();
    editor.paste("two\nlines");
    assert_eq!(editor.take(), "two\nlines");
}

#[test]
fn what_was_cut_can_be_put_back_and_undone() {
    let mut editor = with("one two three");
    editor.cut_word();
    assert_eq!(editor.text(), "one two ");
    editor.cut_to_line_start();
    assert_eq!(editor.text(), "");
    editor.insert_cut();
    assert_eq!(editor.text(), "one two ");
    editor.undo();
    editor.undo();
    editor.undo();
    assert_eq!(editor.text(), "one two three");
    editor.line_start();
    editor.word_right();
    editor.cut_to_line_end();
    assert_eq!(editor.text(), "one");
}

#[test]
fn a_combining_mark_behind_a_placeholder_does_not_open_it() {
    let mut editor = with("");
    editor.paste(&"long ".repeat(600));
    editor.insert("\u{d46}");
    editor.backspace();
    assert!(!editor.text().contains("[paste") || editor.text().ends_with(']'));
    assert_eq!(editor.text().matches('[').count(), editor.text().matches(']').count());
}

proptest! {
    #[test]
    fn no_edit_breaks_a_character(text in "\\PC{0,30}", edits in prop::collection::vec(0_u8..16, 0..60)) {
        let mut editor = with(&text);
        editor.paste(&"long ".repeat(600));
        for edit in edits {
            match edit {
                0 => editor.left(),
                1 => editor.right(),
                2 => editor.backspace(),
                3 => editor.delete(),
                4 => editor.word_left(),
                5 => editor.word_right(),
                6 => editor.insert("é\n好"),
                7 => { editor.up(); }
                8 => { editor.down(); }
                9 => editor.cut_word(),
                10 => editor.cut_to_line_end(),
                11 => editor.cut_to_line_start(),
                12 => editor.insert_cut(),
                13 => editor.undo(),
                14 => editor.line_start(),
                _ => editor.line_end(),
            }
            let shown = editor.text().matches("[paste 1: 1 line, 3000 bytes]").count();
            prop_assert_eq!(editor.text().matches("[paste").count(), shown);
            let rows = editor.rows(7);
            prop_assert!(rows.cursor_row < rows.rows.len());
            prop_assert!(rows.cursor_column <= 7);
        }
    }
}
