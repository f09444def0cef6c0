//! The notes that ride on answers: those of the proxy's policy, and of policies behind it. And answers that precede an answer.

use serde_json::json;

use crate::proxy::proxied::{Proxied, until};

fn note(proxy: &Proxied) -> Option<u64> {
    proxy.get("/").header("x-note").map(|note| note.parse().expect("a number"))
}

#[test]
fn the_note_of_the_proxys_policy_takes_the_place_of_the_backends() {
    let (backend, proxy) = Proxied::alone(json!({"policy": "dagor", "log": "off"}));
    assert_eq!(note(&proxy), None, "the head goes before the first request ends");
    // Its level is on the answers from then on, whether the backend says something or not.
    let level = until("note of the policy", || note(&proxy));
    backend.answers(&["200 OK\r\nX-Note: 5"]);
    let next = note(&proxy).expect("a note");
    assert!(level != 5 && next != 5, "{level}, {next}");
    // A level of a policy behind is heard by the one here.
    let heard = || proxy.gate()["policy"]["callee_level"].as_f64();
    assert_eq!(heard(), None);
    backend.answers(&[&format!("200 OK\r\nX-Note: {next}")]);
    let _ = note(&proxy);
    until("level of the service behind", heard);
    // In a dry run, and without a policy, nothing is changed.
    for settings in [json!({"policy": "dagor", "dry_run": true, "log": "off"}), json!({"policy": "none", "log": "off"})]
    {
        let proxy = Proxied::before(&[backend.url()], settings);
        assert_eq!((note(&proxy), note(&proxy)), (None, None));
        backend.answers(&["200 OK\r\nX-Note: 5"]);
        assert_eq!(note(&proxy), Some(5));
    }
}

#[test]
fn answers_that_precede_the_answer_are_left_out_and_do_no_harm() {
    let (backend, proxy) = Proxied::alone(json!({"log": "off"}));
    for before in [
        "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
    ] {
        let whole = format!("{before}HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
        backend.state.next.lock().expect("a list").push_back(whole);
        let answer = proxy.get("/");
        assert_eq!((answer.status, answer.body.as_str(), answer.whole), (200, "hello", true));
        assert_eq!((answer.header("link"), answer.head.matches("HTTP/1.1").count()), (None, 1), "{}", answer.head);
    }
    let ledger = proxy.ledger();
    assert_eq!((&ledger["served"], &ledger["errors"]), (&json!(3), &json!(0)));
}
