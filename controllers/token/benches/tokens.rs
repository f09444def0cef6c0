//! Tokens made and verified in a second on one core. Run with `cargo bench -p admission-token`. It prints and asserts nothing.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a measurement reads the clock; a token does not"
)]

use std::{hint::black_box, time::Instant};

use admission_token::{Audience, Binding, Claims, KeyRing, SecretKey, TokenPurpose};

const TOKENS: u64 = 500_000;

fn main() {
    let keys = KeyRing::new(SecretKey::new(1, [7; 32]), 1000);
    let audience = Audience::named("https://tickets.example");
    let claims = Claims {
        purpose: TokenPurpose::TURN,
        audience,
        not_before: 1_000_000,
        expires: 1_000_010,
        id: 0,
        binding: Binding::digest(b"a cookie"),
    };
    let token = keys.seal(&claims, 1_000_000).expect("a token");
    per_second("sealed", |n| _ = black_box(keys.seal(&Claims { id: n.into(), ..claims }, 1_000_000)));
    per_second("opened", |_| _ = black_box(keys.open(black_box(&token), TokenPurpose::TURN, audience, 1_000_000)));
    let mut forged = token.into_bytes();
    forged[60] = if forged[60] == b'A' { b'B' } else { b'A' };
    let forged = String::from_utf8(forged).expect("letters");
    per_second("forged, refused", |_| {
        _ = black_box(keys.open(black_box(&forged), TokenPurpose::TURN, audience, 1_000_000));
    });
}

fn per_second(what: &str, mut work: impl FnMut(u64)) {
    let began = Instant::now();
    (0..TOKENS).for_each(&mut work);
    println!("{what:<16} {:>12.0} a second", TOKENS as f64 / began.elapsed().as_secs_f64());
}
