//! Tokens of a waiting room that somebody tampers with or passes on, through the real proxy.

use std::{sync::Barrier, thread};

use serde_json::json;

use crate::proxy::{
    proxied::Proxied,
    waiting_room::{Browser, room, row, sleep, wait},
};

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

#[test]
fn of_a_hundred_at_once_with_one_token_one_is_let_in() {
    let (backend, proxy) = Proxied::alone(room(&json!({"skew": "5s"})));
    let mut browser = Browser::default();
    browser.waits(&proxy);
    // The window goes on for five seconds: enough for a busy machine.
    sleep(wait(&browser.get(&proxy, "/")).expect("a wait"));
    let (before, start) = (backend.requests(), Barrier::new(100));
    let answers: Vec<_> = thread::scope(|scope| {
        let asked: Vec<_> = (0..100)
            .map(|_| {
                let (mut copy, address, start) = (browser.clone(), proxy.address, &start);
                scope.spawn(move || {
                    start.wait();
                    copy.get_from(address, "/")
                })
            })
            .collect();
        asked.into_iter().map(|asked| asked.join().expect("an answer")).collect()
    });
    let (let_in, told): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| wait(answer).is_none());
    assert_eq!((let_in.len(), backend.requests() - before), (1, 1), "{let_in:?}");
    assert_eq!((let_in[0].status, let_in[0].body.as_str()), (200, "hello"));
    assert!(told.iter().all(|answer| answer.header("x-token-refused") == Some("replayed")), "{told:?}");
    let counts = &row(&proxy)["counts"];
    assert_eq!((&counts["token_replayed"], &counts["token_admitted"]), (&json!(99), &json!(1)), "{counts}");
}

#[test]
fn a_token_with_any_letter_changed_lets_nobody_in() {
    let (backend, proxy) = Proxied::alone(room(&json!({"capacity": "1/s", "skew": "30s"})));
    let mut browser = Browser::default();
    browser.waits(&proxy);
    // With such a window the token itself would let in at once: what does not is the change.
    let token = browser.0["lab-turn"].clone();
    let before = backend.requests();
    for at in 0..token.len() {
        let number = LETTERS.iter().position(|letter| *letter == token.as_bytes()[at]).expect("base64url");
        let mut changed = token.clone().into_bytes();
        // One bit: of the last letter one that must be 0.
        changed[at] = LETTERS[number ^ 1];
        let mut forger = browser.set("lab-turn", std::str::from_utf8(&changed).expect("letters"));
        let answer = forger.get(&proxy, "/");
        let why = answer.header("x-token-refused");
        assert!(matches!(why, Some("forged" | "malformed" | "unknown-key")), "letter {at}: {answer:?}");
    }
    let [_, forged, malformed, unknown_key] =
        ["", "token_forged", "token_malformed", "token_unknown_key"].map(|name| row(&proxy)["counts"][name].as_u64());
    // Version: letters 0 and 1 have its bits, and the last has bits that are none; key: letters 1 to 6.
    let total = forged.zip(malformed).zip(unknown_key).map(|((a, b), c)| a + b + c);
    assert_eq!((total, backend.requests()), (Some(158), before), "{forged:?} {malformed:?} {unknown_key:?}");
    assert_eq!(browser.get(&proxy, "/").body, "hello", "the token itself is as good as it was");
}
