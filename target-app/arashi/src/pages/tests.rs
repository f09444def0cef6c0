use super::*;

#[test]
fn sizes_and_dates_read_well() {
    let text = |markup: Markup| markup.into_string();
    assert_eq!(text(size(0)), "0 B");
    assert_eq!(text(size(999)), "999 B");
    assert_eq!(text(size(3099)), "3.1 kB");
    assert_eq!(text(size(467_770)), "467.8 kB");
    assert_eq!(text(size(2_449_999)), "2.4 MB");
    // 13 September 2002, 14:05: 11 943 days and 50 700 s after 1970.
    assert_eq!(text(date(1_031_925_900)), "13 Sep 2002, 14:05");
    assert_eq!(text(date(-1)), "31 Dec 1969, 23:59");
}
