//! Header lines of one's own: what a request has once is sent once.

use service::{Behaves, Service};

use super::*;

fn sent(args: &[&str]) -> String {
    let service = Service::start(Behaves::Well);
    let ended = Running::load(&[&[service.url().as_str(), "-c", "1", "-n", "1"], args].concat()).ends_within(SOON);
    assert!(matches!(ended.code(), 0 | 3), "{}", String::from_utf8_lossy(&ended.output.stderr));
    service.last()
}

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

#[test]
fn lines_that_would_break_the_request_are_bad_usage() {
    let service = Service::start(Behaves::Well);
    for (headers, named) in [
        (&["-H", "Content-Length: 3"][..], "Content-Length"),
        (&["-H", "transfer-encoding: chunked"], "transfer-encoding"),
        (&["-H", "Host: a", "-H", "host: b"], "give it once"),
    ] {
        let ended = Running::load(&[&[service.url().as_str(), "-n", "1"], headers].concat()).ends_within(SOON);
        let told = String::from_utf8_lossy(&ended.output.stderr).into_owned();
        assert!(ended.code() == 2 && told.contains(named), "{:?}: {told}", ended.code());
    }
    assert_eq!(service.connections(), 0);
}
