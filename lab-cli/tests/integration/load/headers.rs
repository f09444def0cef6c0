//! Header lines of one's own: what a request has once is sent once.

use super::requests::sent;

fn lines<'a>(request: &'a str, name: &str) -> Vec<&'a str> {
    let head = request.split("\r\n\r\n").next().expect("a head");
    let named = head.lines().filter_map(|line| line.split_once(':')).filter(|(n, _)| n.eq_ignore_ascii_case(name));
    named.map(|(_, value)| value.trim()).collect()
}

#[test]
fn a_host_or_a_content_type_of_ones_own_stands_in_place_of_ours() {
    let request = sent(&["-H", "Host: shop.example", "-H", "X-A: b"]);
    assert_eq!((lines(&request, "host"), lines(&request, "x-a")), (vec!["shop.example"], vec!["b"]), "{request}");
    let request = sent(&["-m", "POST", "-b", "{\"a\":1}", "-H", "content-type: application/json"]);
    assert_eq!(lines(&request, "content-type"), ["application/json"], "{request}");
    assert_eq!(lines(&request, "content-length"), ["7"], "{request}");
    assert!(request.ends_with("\r\n\r\n{\"a\":1}"), "{request}");
    let request = sent(&["-m", "POST", "-b", "a=1"]);
    assert_eq!(lines(&request, "content-type"), ["application/x-www-form-urlencoded"], "{request}");
    assert_eq!(lines(&request, "host").len(), 1, "{request}");
}
