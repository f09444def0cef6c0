//! What is sent: methods, bodies, placeholders, lists, credentials, redirects.

use std::{collections::BTreeSet, fs};

use service::{Behaves, Service};

use super::*;

/// The last request of a load, whole.
pub fn sent(args: &[&str]) -> String {
    let service = Service::start(Behaves::Well);
    let ended = Running::load(&[&[service.url().as_str(), "-c", "1", "-n", "1"], args].concat()).ends_within(SOON);
    assert!(matches!(ended.code(), 0 | 3), "{}", String::from_utf8_lossy(&ended.output.stderr));
    service.last()
}

#[test]
fn every_method_is_sent_in_either_case() {
    for method in ["GET", "post", "PUT", "PATCH", "DELETE", "OPTIONS"] {
        let wanted = format!("{} / HTTP/1.1\r\n", method.to_uppercase());
        assert!(sent(&["-m", method]).starts_with(&wanted), "{method}");
    }
    // The answer to a HEAD has a length, and no body.
    let heads = Service::start(Behaves::Says("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"));
    let ended = Running::load(&[&heads.url(), "-m", "HEAD", "-c", "1", "-n", "5"]).ends_within(SOON);
    assert_eq!((count(&ended.json(), "served"), heads.connections()), (5, 1), "{:#}", ended.json());
}

#[test]
fn a_body_is_a_text_or_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("body.json");
    fs::write(&file, "{\"a\": \"é\"}").expect("written");
    let named = format!("@{}", file.display());
    let request = sent(&["-m", "PUT", "-b", &named, "-H", "Content-Type: application/json"]);
    assert!(request.ends_with("\r\n\r\n{\"a\": \"é\"}") && request.contains("Content-Length: 11\r\n"), "{request}");
}

#[test]
fn a_body_makes_a_post_unless_a_method_is_given() {
    assert!(sent(&["-b", "a=b"]).starts_with("POST / HTTP/1.1\r\n"));
    assert!(sent(&["-b", "a=b", "-m", "get"]).starts_with("GET / HTTP/1.1\r\n"));
    assert!(sent(&[]).starts_with("GET / HTTP/1.1\r\n"));
}

#[test]
fn placeholders_differ_from_request_to_request_and_are_the_same_for_a_seed() {
    let all = |seed: &str| {
        let service = Service::start(Behaves::Does(echo));
        let url = format!("{}{{{{n}}}}/{{{{1..9000}}}}", service.url());
        let what = ["-m", "POST", "-b", "id={{uuid}}", "-H", "X-Id: {{n}}"];
        let args = [&[&*url, "-c", "1", "-n", "6", "--seed", seed], &what[..]].concat();
        let ended = Running::load(&args).ends_within(SOON);
        assert_eq!(count(&ended.json(), "served"), 6, "{:#}", ended.json());
        service.last()
    };
    let (one, again, other) = (all("1"), all("1"), all("2"));
    assert!(one.starts_with("POST /5/") && one.contains("\r\nX-Id: 5\r\n"), "{one}");
    let body = one.rsplit("\r\n\r\n").next().expect("a body");
    assert!(body.len() == 39 && body.starts_with("id=") && body.as_bytes()[17] == b'4', "{body}");
    let line = |request: &str| request.lines().next().map(str::to_owned);
    assert_eq!(line(&one), line(&again));
    assert_ne!(line(&one), line(&other));
}

fn echo(stream: &mut std::net::TcpStream) -> bool {
    service::say(stream, service::OK)
}

#[test]
fn lists_of_urls_and_har_files_are_drawn_from_by_weight() {
    let folder = tempfile::tempdir().expect("a folder");
    let service = Service::start(Behaves::Well);
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    let loaded = |file: &str| {
        let ended = Running::load(&[&service.url(), "--urls", file, "-c", "2", "-n", "400"]).ends_within(SOON);
        assert!(matches!(ended.code(), 0 | 3), "{}", String::from_utf8_lossy(&ended.output.stderr));
        ended.json()
    };
    let by_line = loaded(&write("urls.txt", "# the shop\n/items 9\nhttp://elsewhere.example/buy\nDELETE /old 1\n"));
    assert_eq!(count(&by_line, "served"), 400, "{by_line:#}");
    let har = r#"{"log": {"entries": [
        {"request": {"method": "GET", "url": "https://shop.example/a"}},
        {"request": {"method": "GET", "url": "https://shop.example/a"}},
        {"request": {"method": "POST", "url": "https://shop.example/buy", "postData": {"mimeType": "text/plain", "text": "x"}}}
    ]}}"#;
    assert_eq!(count(&loaded(&write("shop.har", har)), "served"), 400);
    // The types and their shares are in the saved run.
    let out = folder.path().join("run");
    let out = out.display().to_string();
    let file = folder.path().join("urls.txt").display().to_string();
    Running::load(&[&service.url(), "--urls", &file, "-n", "400", "--out", &out]).ends_within(SOON);
    let summary = program::json(&folder.path().join("run/summary.json"));
    let types = summary["arms"][0]["phases"][0]["by_type"].as_object().expect("types");
    let names: BTreeSet<&str> = types.keys().map(String::as_str).collect();
    assert_eq!(names, ["DELETE /old", "GET /buy", "GET /items"].into());
    assert!(count(&types["GET /items"], "planned") > 250, "{types:#?}");
}

#[test]
fn credentials_are_one_header_and_may_come_from_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("token");
    fs::write(&file, "t0ken\n").expect("written");
    let basic = sent(&["--user", "me:secret"]);
    assert!(basic.contains("\r\nAuthorization: Basic bWU6c2VjcmV0\r\n"), "{basic}");
    let bearer = sent(&["--bearer", &format!("@{}", file.display())]);
    assert!(bearer.contains("\r\nAuthorization: Bearer t0ken\r\n"), "{bearer}");
    // A rate may have its own unit, and a header a number of its own.
    assert!(sent(&["-R", "10rps", "-H", "X-Id: {{number}}"]).contains("\r\nX-Id: 0\r\n"));
}

#[test]
fn redirects_are_followed_if_that_is_asked_for() {
    let moved = Service::start(Behaves::Does(|stream| {
        static ANSWERED: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let first = ANSWERED.fetch_add(1, std::sync::atomic::Ordering::SeqCst).is_multiple_of(2);
        let answer = "HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n";
        service::say(stream, if first { answer } else { service::OK })
    }));
    let ended = Running::load(&[&moved.url(), "-c", "1", "-n", "5", "--follow", "1"]).ends_within(SOON);
    let found = ended.json();
    assert_eq!((count(&found, "served"), count(&found, "hops")), (5, 5), "{found:#}");
    let ended = Running::load(&[&moved.url(), "-c", "1", "-n", "1"]).ends_within(SOON);
    assert_eq!(count(&ended.json()["statuses"], "302"), 1, "{:#}", ended.json());
}
