use super::*;

#[test]
fn a_wide_character_takes_two_columns_and_an_accent_none() {
    assert_eq!(columns("abc"), 3);
    assert_eq!(columns("四 words"), 8);
    assert_eq!(columns("。！（）가あア"), 14);
    assert_eq!(columns("e\u{301}a\u{200d}"), 2);
    assert_eq!(columns("🙂"), 2);
    assert_eq!(columns("— … é ●├─"), 9);
}

#[test]
fn a_text_is_cut_where_it_no_longer_fits() {
    assert_eq!(fitted("abc", 3), "abc");
    assert_eq!(fitted("abcd", 3), "ab…");
    assert_eq!(fitted("把文件列出来", 12), "把文件列出来");
    assert_eq!(fitted("把文件列出来", 11), "把文件列出…");
    assert_eq!(fitted("把文件列出来", 10), "把文件列…");
    assert_eq!(fitted("one two", 5), "one…");
    for columns_max in 1..12 {
        assert!(columns(&fitted("把a文b件c列d", columns_max)) <= columns_max);
    }
}
