use unicode_width::UnicodeWidthStr;

use super::*;

fn shown(source: &str, width: usize) -> String {
    let rows = rendered(source, width);
    rows.iter().map(|row| row.text().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

const LONG: &str = "# Title\n\nSome *words* and `code`, **bold** and [a link](https://example.com).\n\n\
    1. one\n2. two\n   - inner with a long text that is wrapped\n3. three\n\n\
    ```rust\nfn main() {}\n\nlet x = 1;\n```\n\n> said\n> twice\n\n\
    | a | b |\n|---|--:|\n| 1 | 22 |\n| 你好 | 4 |\n\n---\nend";

#[test]
fn blocks_are_shown_as_people_write_them() {
    assert_eq!(
        shown(LONG, 40),
        "Title\n\nSome words and code, bold and a link\n(https://example.com).\n\n\
         1. one\n2. two\n   • inner with a long text that is\n     wrapped\n3. three\n\n  \
         fn main() {}\n\n  let x = 1;\n\n│ said\n│ twice\n\na      b\n────────\n1     22\n你好   4\n\n\
         ────────────────────────────────────────\n\nend"
    );
}

#[test]
fn nothing_is_wider_than_the_screen() {
    for width in 8..60 {
        for row in rendered(LONG, width) {
            assert!(row.text().trim_end().width() <= width.max(8), "{width}: {:?}", row.text());
        }
    }
}

#[test]
fn what_is_settled_is_shown_alike_when_more_comes() {
    for (end, _) in LONG.char_indices() {
        let part = &LONG[..end];
        let settled = settled_len(part);
        assert!(part.is_char_boundary(settled) && settled <= end);
        if settled == 0 {
            continue;
        }
        let early = shown(&part[..settled], 40);
        let whole = shown(LONG, 40);
        assert!(whole.starts_with(early.trim_end()), "{end}: {early}");
    }
}

#[test]
fn an_open_block_of_code_is_settled_line_by_line() {
    assert_eq!(open_code_len("```rust\nlet a"), None);
    assert_eq!(open_code_len("```rust\nlet a;\nlet"), Some(15));
    assert_eq!(open_code_len("```rust\nlet a;\n```\n"), None);
    assert_eq!(open_code_len("text"), None);
    assert_eq!(open_code_len("```foo``` is nice\nmore\n"), None);
}
