use super::*;
use crate::html::MAX_ATTRIBUTES;

fn cost(html: &str) -> Result<usize, HtmlError> {
    let mut budget = Budget::new();
    budget.pay_for(html).map(|()| MAX_WORK - budget.0)
}

#[test]
fn a_piece_begins_with_each_tag_and_ends_with_it() {
    let cut: Vec<_> = pieces("a<b c='>'>d</b><").filter(|piece| !piece.is_empty()).collect();
    assert_eq!(cut, ["a", "<", "b c='>", "'>", "d", "<", "/b>", "<"]);
}

#[test]
fn work_grows_with_what_is_open_and_not_with_length_alone() {
    let cost = |html: String| cost(&html).expect("is within the bound");
    let flat = cost("<p>x</p>".repeat(1000));
    assert!((9..=11).contains(&(cost("<p>x</p>".repeat(10_000)) / flat)), "of ten times as many");
    let (some, more) = (cost("<rt>".repeat(50)), cost("<rt>".repeat(400)));
    assert!(more > 20 * some, "eight times as many, one inside of the other: {some}, {more}");
}

#[test]
fn attributes_are_counted_as_the_tokenizer_takes_them() {
    let many = MAX_ATTRIBUTES + 1;
    let written = |one: &dyn Fn(usize) -> String| (0..many).map(one).collect::<String>();
    for (tag, attributes) in [
        ("<p", written(&|i| format!(" a{i}"))),
        ("<p ", written(&|i| format!("a{i}=\"\""))),
        ("<p ", written(&|i| format!("a{i}=''"))),
        ("<p", written(&|i| format!("/a{i}"))),
        ("<p", written(&|i| format!(" a{i} = 1"))),
        ("<p", written(&|i| format!(" a{i}=\"<\""))),
        ("<p", written(&|i| format!(" a{i}=\">\""))),
        ("</p", written(&|i| format!(" a{i}"))),
        ("</><p", written(&|i| format!(" a{i}"))),
        ("<><p", written(&|i| format!(" a{i}"))),
        ("<!><p", written(&|i| format!(" a{i}"))),
        ("<?x><p", written(&|i| format!(" a{i}"))),
        ("<!--><p", written(&|i| format!(" a{i}"))),
        ("<!doctype html><p", written(&|i| format!(" a{i}"))),
        ("</ x><p", written(&|i| format!(" a{i}"))),
        ("<svg><![CDATA[x]]><p", written(&|i| format!(" a{i}"))),
        ("<title></titl></title><p", written(&|i| format!(" a{i}"))),
        ("<script><!--<script></script></script><p", written(&|i| format!(" a{i}"))),
        ("<script><!--<script></script>--></script><p", written(&|i| format!(" a{i}"))),
        ("<textarea>&am</textarea", written(&|i| format!(" a{i}"))),
        ("\0<p", written(&|i| format!(" a{i}"))),
        ("&am<p", written(&|i| format!(" a{i}"))),
        ("<p x=\"<q z=\" w=\" v=\"", written(&|i| format!(" a{i}"))),
    ] {
        assert_eq!(cost(&format!("{tag}{attributes}>")), Err(HtmlError::TooManyAttributes), "{tag}");
        assert_eq!(cost(&format!("{tag}{attributes}")), Err(HtmlError::TooManyAttributes), "{tag}, not ended");
    }
    let words = "word ".repeat(many);
    let slashes = "ab/cd".repeat(many);
    for fine in [
        format!("<p title=\"{words}\">"),
        format!("<p title='{words}>{words}'>"),
        format!("<img src=\"data:image/png;base64,{slashes}\">"),
        format!("<img src=data:image/png;base64,{slashes}>"),
        format!("<!-- <p {words} -->"),
        format!("a < {words} > b"),
        format!("<style>p {{ {words} }}</style><title>{words}</title>"),
        format!("<p>{words}</p>{words}<br>"),
    ] {
        assert!(cost(&fine).is_ok(), "{}", &fine[..40]);
    }
}
