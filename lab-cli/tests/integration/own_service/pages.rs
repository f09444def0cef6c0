//! Which pages of a service are asked for, and a service that is slower on kept connections.

use std::{
    io::Write,
    net::{SocketAddr, TcpStream},
};

use super::{lab, ran, service};
use crate::served::{at_each, head};

/// A service of two pages, and none at its root. It keeps connections, and writes head and body apart.
fn two_pages(nodelay: bool) -> SocketAddr {
    at_each(move |stream| _ = answer(stream, nodelay))
}

fn answer(mut stream: TcpStream, nodelay: bool) -> Option<()> {
    stream.set_nodelay(nodelay).ok()?;
    loop {
        let head = head(&mut stream)?.to_ascii_lowercase();
        let status = if head.contains(" /items ") || head.contains(" /search ") { "200 OK" } else { "404 No" };
        write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\n").ok()?;
        stream.write_all(b"ok").ok()?;
        if head.contains("\r\nconnection: close\r\n") {
            return None;
        }
    }
}

#[test]
fn pages_are_named_where_there_is_none_at_the_root() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("http://{}", two_pages(true));
    let init = |words: &[&str]| ran(lab(folder.path()).arg("init").args(words).args(["-o", "-"]));
    let (output, out, err) = init(&[&url, "--path", "/items", "--path", "/search"]);
    assert!(output.status.success(), "{err}");
    assert!(out.contains(r#"paths: [{path: "/items"}, {path: "/search"}]"#), "{out}");
    assert!(out.contains(r#"ready: "/items""#) && out.contains("arms: [none, headway, {concurrency: {max: "), "{out}");
    assert!(!err.contains("kept connections"), "{err}");
    for (words, code, wanted) in [
        (&[&*url][..], 1, "/ answers 404: name pages that it serves (--path /items --path /search)"),
        (&[&url, "--path", "/items", "--path", "/nothing"], 1, "/nothing answers 404: name pages"),
        (&[&url, "--path", "items"], 2, "--path items: write the path of a page, as in its URL: --path /items"),
    ] {
        let (output, _, err) = init(words);
        assert_eq!(output.status.code(), Some(code), "{err}");
        assert!(err.contains(wanted), "{wanted:?} in {err}");
    }
    // A command whose port the lab chooses has none in its file, however its page is named.
    let command = service::command(&format!("mark-p-{}", std::process::id()));
    for words in [&["--path", "/order"], &["--url", "http://127.0.0.1:{port}/order"]] {
        let (output, out, err) = init(&[&[&*command], &words[..]].concat());
        assert!(output.status.success(), "{err}");
        assert!(out.contains("{port}") && out.contains(r#"{path: "/order"}"#) && !out.contains("url: \""), "{out}");
    }
    let (output, _, err) = init(&[&command, "--url", "http://192.0.2.1:{port}/", "--allow-host", "192.0.2.1"]);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("write http://127.0.0.1:{port}/"), "{err}");
}

#[test]
fn a_service_that_is_slower_on_kept_connections_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("http://{}/items", two_pages(false));
    let about = "/items takes";
    let why = "about 40 ms more on kept connections: the service answers in several writes without TCP_NODELAY; see docs/troubleshooting.md";
    // Other programs on this processor may hold single answers up.
    let told = |words: &[&str]| {
        (0..3).any(|_| {
            let (output, _, err) = ran(lab(folder.path()).args(words));
            assert!(output.status.success(), "{err}");
            err.contains(about) && err.contains(why)
        })
    };
    assert!(told(&["init", &url, "-o", "-"]));
    let (output, _, err) =
        ran(lab(folder.path()).args(["calibrate", &url, "--repeat", "1", "--for", "1s", "-o", "plant.yaml"]));
    assert!(matches!(output.status.code(), Some(0 | 3)), "{err}");
    assert!(err.contains(about) && err.contains(why), "{err}");
}
