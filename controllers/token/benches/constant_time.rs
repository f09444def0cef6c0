//! Does the time of a refusal tell how much of a tag is right? Tokens of two classes in random order, and Welch's t-test on their times, as
//! in dudect (Reparaz, Balasch and Verbauwhede, "Dude, is my code constant time?", DATE 2017). Run with
//! `cargo bench -p admission-token --bench constant_time [-- SAMPLES [SEED]]`. It prints the largest |t| over the whole sample and over parts of it
//! that leave out its slowest: from 4.5 on the classes differ. A comparison that stops at the first difference shows that the test sees one.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a measurement reads the clock; a token does not"
)]

use std::{hint::black_box, time::Instant};

use admission_token::{Audience, Binding, Claims, KeyRing, SecretKey, TokenPurpose};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

/// Of each comparison, both classes together.
const SAMPLES: usize = 2_000_000;
/// As many are made before they are measured.
const BATCH: usize = 10_000;
const BOUND: f64 = 4.5;
/// Samples above this quantile are left out: they are the machine's.
const UP_TO: [f64; 4] = [1.0, 0.99, 0.9, 0.5];
/// Bytes of a token before its tag.
const BODY: usize = 86;
const NOW: u64 = 1_000_000;

/// SplitMix64.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A byte that changes another.
    fn change(&mut self) -> u8 {
        (self.next() % 255 + 1) as u8
    }
}

fn main() {
    let mut given = std::env::args().filter_map(|word| word.parse().ok());
    let samples = given.next().map_or(SAMPLES, |samples: u64| samples as usize);
    let seed = given.next().unwrap_or(42);
    let measure = |what: &str, of_class: &mut dyn FnMut(&mut Draw, bool) -> Vec<u8>, takes: &dyn Fn(&[u8]) -> bool| {
        measure(what, samples, seed, of_class, takes);
    };
    let keys = KeyRing::new(SecretKey::new(1, [7; 32]), 1000);
    let audience = Audience::named("https://tickets.example");
    let token = |id: u64| {
        let binding = Binding::digest(b"a cookie");
        let (purpose, id) = (TokenPurpose::TURN, id.into());
        let claims = Claims { purpose, audience, not_before: NOW, expires: NOW + 10, id, binding };
        URL_SAFE_NO_PAD.decode(keys.seal(&claims, NOW).expect("a token")).expect("base64")
    };
    let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes).into_bytes();
    let opened = |text: &[u8]| {
        std::str::from_utf8(text).is_ok_and(|text| keys.open(text, TokenPurpose::TURN, audience, NOW).is_ok())
    };

    // What a forger would look at: how much of the tag is right. All tokens are others, so that the classes differ in that alone.
    let mut wrong_at = |draw: &mut Draw, first: bool| {
        let mut bytes = token(draw.next());
        let at = if first { BODY } else { bytes.len() - 1 };
        bytes[at] ^= draw.change();
        text(&bytes)
    };
    measure("tag wrong in its first byte, or in its last", &mut wrong_at, &opened);
    let mut nearly = |draw: &mut Draw, nearly: bool| {
        let mut bytes = token(draw.next());
        match nearly {
            true => bytes[BODY + (draw.next() % 32) as usize] ^= 1 << (draw.next() % 8),
            false => bytes[BODY..].fill_with(|| draw.next() as u8),
        }
        text(&bytes)
    };
    measure("tag wrong in one bit, or random", &mut nearly, &opened);

    // Fixed against random, of a message: it is verified as a token is, and its bytes are not decoded first.
    let message = keys.seal_message(b"of the length of a token's claims, or nearly so: 65 bytes in all.", audience);
    let mut one_wrong = |draw: &mut Draw, is_fixed: bool| {
        let (mut bytes, tag) = (message.clone(), message.len() - 32);
        match is_fixed {
            true => bytes[tag] ^= 1,
            false => bytes[tag..].fill_with(|| draw.next() as u8),
        }
        bytes
    };
    let heard = |bytes: &[u8]| keys.open_message(bytes, audience, NOW).is_ok();
    measure("message, one wrong tag or a random one each time", &mut one_wrong, &heard);

    // For information: the decoding of a text, which looks its letters up in a table. Whoever sends a text knows it.
    let fixed = wrong_at(&mut Draw(1), true);
    let decoded = |bytes: &[u8]| black_box(URL_SAFE_NO_PAD.decode_slice(bytes, &mut [0; 118])).is_err();
    let mut one_text = |draw: &mut Draw, is_fixed: bool| if is_fixed { fixed.clone() } else { wrong_at(draw, true) };
    measure("(base64 alone, one text or another each time)", &mut one_text, &decoded);

    // A comparison that stops at the first difference.
    let right = token(0);
    let mut of_one = |draw: &mut Draw, first: bool| {
        let mut bytes = right.clone();
        let at = if first { BODY } else { bytes.len() - 1 };
        bytes[at] ^= draw.change();
        bytes
    };
    let until_it_differs = |bytes: &[u8]| black_box(bytes).iter().zip(&right).all(|(a, b)| black_box(*a) == *b);
    measure("(control: a comparison that stops, first or last byte)", &mut of_one, &until_it_differs);
}

/// Measures `takes` on samples of both classes, which it must not take, and prints what came of it.
fn measure(
    what: &str,
    samples: usize,
    seed: u64,
    of_class: &mut dyn FnMut(&mut Draw, bool) -> Vec<u8>,
    takes: &dyn Fn(&[u8]) -> bool,
) {
    let (mut draw, mut times, mut shown) = (Draw(seed), [Vec::new(), Vec::new()], Vec::new());
    for _ in 0..samples.div_ceil(BATCH) {
        let batch: Vec<(usize, Vec<u8>)> = (0..BATCH)
            .map(|_| {
                let class = (draw.next() & 1) as usize;
                (class, of_class(&mut draw, class == 0))
            })
            .collect();
        for (class, bytes) in &batch {
            // Both classes are read from the same place.
            shown.clear();
            shown.extend_from_slice(bytes);
            let began = Instant::now();
            let taken = takes(black_box(&shown));
            times[*class].push(began.elapsed().as_nanos() as f64);
            assert!(!black_box(taken), "{what}: what is wrong is refused");
        }
    }
    let mut all: Vec<f64> = times.iter().flatten().copied().collect();
    all.sort_by(f64::total_cmp);
    let t = UP_TO.map(|quantile| {
        let most = all[((all.len() - 1) as f64 * quantile) as usize];
        welch_t(&times[0], &times[1], most)
    });
    let largest = t.iter().fold(0.0, |largest: f64, t| largest.max(t.abs()));
    let verdict = if largest < BOUND { "no difference" } else { "DIFFERS" };
    let each: Vec<String> = UP_TO.iter().zip(t).map(|(up_to, t)| format!("{t:+.2} up to {up_to}")).collect();
    println!(
        "{what}: |t| {largest:.2}, {verdict} ({}); median {} ns, n {}",
        each.join(", "),
        all[all.len() / 2],
        all.len()
    );
}

/// Welch's t of two samples, without values over `most`.
fn welch_t(first: &[f64], second: &[f64], most: f64) -> f64 {
    let of = |sample: &[f64]| {
        let kept = || sample.iter().copied().filter(|value| *value <= most);
        let n = kept().count() as f64;
        let mean = kept().sum::<f64>() / n;
        let variance = kept().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (n - 1.0);
        (mean, variance / n)
    };
    let ((mean_1, error_1), (mean_2, error_2)) = (of(first), of(second));
    (mean_1 - mean_2) / (error_1 + error_2).sqrt()
}
