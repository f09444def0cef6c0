//! Forged, changed, swapped and untimely tokens; keys that rotate.

use admission_token::{Audience, Binding, Claims, KeyRing, SecretKey, TokenProblem, TokenPurpose};
use proptest::prelude::*;

const NOW: u64 = 1_000_000;
const LIFE: u64 = 1100;
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn ring() -> KeyRing {
    KeyRing::new(SecretKey::new(1, [7; 32]), LIFE)
}

fn here() -> Audience {
    Audience::named("https://tickets.example")
}

fn claims() -> Claims {
    Claims {
        purpose: TokenPurpose::TURN,
        audience: here(),
        not_before: NOW + 15,
        expires: NOW + 25,
        id: 42,
        binding: Binding::digest(b"alice"),
    }
}

fn open(ring: &KeyRing, text: &str) -> Result<Claims, TokenProblem> {
    ring.open(text, TokenPurpose::TURN, here(), NOW)
}

fn token() -> String {
    ring().seal(&claims(), NOW).expect("a token")
}

/// The bytes of a text that is base64url.
fn bytes(text: &str) -> Vec<u8> {
    let mut bits = text.bytes().flat_map(|letter| {
        let six = LETTERS.iter().position(|l| *l == letter).expect("base64url");
        (0..6).rev().map(move |bit| (six >> bit & 1) as u8)
    });
    std::iter::from_fn(|| (0..8).try_fold(0, |byte, _| bits.next().map(|bit| byte << 1 | bit))).collect()
}

fn text(bytes: &[u8]) -> String {
    let bits: Vec<u8> = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
    let letter = |six: &[u8]| {
        let number = (0..6).fold(0, |number, i| number << 1 | usize::from(six.get(i).copied().unwrap_or(0)));
        char::from(LETTERS[number])
    };
    bits.chunks(6).map(letter).collect()
}

#[test]
fn a_token_is_opened_by_the_ring_that_made_it() {
    assert_eq!(open(&ring(), &token()), Ok(claims()));
    assert_eq!(text(&bytes(&token())), token(), "the tests' own base64url");
    assert_eq!((token().len(), bytes(&token()).len()), (158, 118));
}

#[test]
fn every_bit_counts() {
    let good = bytes(&token());
    for bit in 0..good.len() * 8 {
        let mut changed = good.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let expected = match bit / 8 {
            0 => TokenProblem::Version(changed[0]),
            1..=4 => TokenProblem::UnknownKey(u32::from_be_bytes(changed[1..5].try_into().expect("four"))),
            _ => TokenProblem::Forged,
        };
        assert_eq!(open(&ring(), &text(&changed)), Err(expected), "bit {bit}");
    }
}

/// A tag of fewer bytes is no tag, though the layout would have room for nothing else: 16 bytes are what some protocols cut it to.
#[test]
fn a_tag_that_was_cut_is_refused_at_every_length() {
    let good = bytes(&token());
    for tag in 0..32 {
        let found = 86 + tag;
        let cut = open(&ring(), &text(&good[..found]));
        assert_eq!(cut, Err(TokenProblem::Length { found, expected: 118 }), "{tag} bytes");
        // What was cut off filled up with zeros, which only by chance is the tag.
        let filled: Vec<u8> = good[..found].iter().copied().chain(std::iter::repeat_n(0, 32 - tag)).collect();
        let expected = if filled == good { Ok(claims()) } else { Err(TokenProblem::Forged) };
        assert_eq!(open(&ring(), &text(&filled)), expected, "{tag} bytes");
    }
}

/// Two fields of the same length change places: under the old tag it is a forgery, whatever they are.
#[test]
fn fields_that_change_places_are_refused() {
    let good = bytes(&token());
    // Audience and number have 16 bytes, the two times 8, binding and tag 32.
    for (one, other, length) in [(6, 38, 16), (22, 30, 8), (54, 86, 32)] {
        let mut swapped = good.clone();
        swapped.copy_within(other..other + length, one);
        swapped[other..other + length].copy_from_slice(&good[one..one + length]);
        assert_eq!(open(&ring(), &text(&swapped)), Err(TokenProblem::Forged), "{one} and {other}");
    }
}

/// A clock that is an hour ahead for a moment finds replaced keys dead, and loses none of them: they are live again when it is right.
#[test]
fn a_clock_that_is_wrong_for_a_moment_loses_no_key() {
    let (mut keys, hour) = (ring(), 3600);
    let token = keys.seal(&claims(), NOW).expect("a token");
    keys.rotate(SecretKey::new(2, [8; 32]), NOW + 1).expect("one key is live");
    let opened = |now: u64| keys.open(&token, TokenPurpose::TURN, here(), now);
    assert_eq!(opened(NOW + hour), Err(TokenProblem::UnknownKey(1)));
    assert_eq!([opened(NOW - hour), opened(NOW + 20)], [Ok(claims()); 2]);
    let newest = keys.seal(&Claims { not_before: NOW, expires: NOW + LIFE, ..claims() }, NOW).expect("a token");
    for now in [NOW - hour, NOW, NOW + hour] {
        assert!(keys.open(&newest, TokenPurpose::TURN, here(), now).is_ok(), "the sealing key has no end");
    }
    let late = Err(TokenProblem::Late { by_s: hour - 25 });
    assert_eq!(
        [claims().check_time(NOW + hour), claims().check_time(NOW - hour)],
        [late, Err(TokenProblem::Early { by_s: hour + 15 })]
    );
}

#[test]
fn another_key_of_the_same_number_forges() {
    let other = KeyRing::new(SecretKey::new(1, [8; 32]), LIFE);
    assert_eq!(open(&other, &token()), Err(TokenProblem::Forged));
}

#[test]
fn a_token_is_for_one_purpose_one_place_and_one_bearer() {
    let (ring, token) = (ring(), token());
    assert_eq!(ring.open(&token, TokenPurpose::PLACE, here(), NOW), Err(TokenProblem::Purpose));
    let elsewhere = Audience::named("https://tickets.example.com");
    assert_eq!(ring.open(&token, TokenPurpose::TURN, elsewhere, NOW), Err(TokenProblem::Audience));
    assert_eq!(claims().check_bearer(Binding::digest(b"alice")), Ok(()));
    assert_eq!(claims().check_bearer(Binding::digest(b"mallory")), Err(TokenProblem::Bearer));
}

#[test]
fn a_token_may_be_used_from_its_first_second_to_its_last() {
    let check = |after: u64| claims().check_time(NOW + after);
    assert_eq!(check(14), Err(TokenProblem::Early { by_s: 1 }));
    assert_eq!([15, 20, 25].map(check), [Ok(()); 3]);
    assert_eq!(check(26), Err(TokenProblem::Late { by_s: 1 }));
    assert_eq!(claims().check_time(0), Err(TokenProblem::Early { by_s: NOW + 15 }));
}

#[test]
fn one_token_has_one_spelling() {
    let (ring, token) = (ring(), token());
    // 118 bytes are 944 bits in 158 letters of 6: the last letter has 4 bits that must be 0.
    let last = LETTERS.iter().position(|letter| *letter == token.as_bytes()[157]).expect("base64url");
    assert_eq!(last % 16, 0);
    for trailing in 1..16 {
        let spelled = format!("{}{}", &token[..157], char::from(LETTERS[last + trailing]));
        assert_eq!(open(&ring, &spelled), Err(TokenProblem::Encoding), "{trailing}");
    }
    for spelled in
        [format!("{token}="), format!("{token}=="), format!(" {token}"), format!("{token}\n"), format!("{token}A")]
    {
        assert!(matches!(open(&ring, &spelled), Err(TokenProblem::Length { .. })), "{spelled:?}");
    }
    // The same length, with letters of other alphabets or a space.
    for (at, letter) in [(0, "+"), (9, "/"), (157, "="), (80, " "), (80, "\n"), (80, ".")] {
        let mut spelled = token.clone();
        spelled.replace_range(at..=at, letter);
        assert_eq!(open(&ring, &spelled), Err(TokenProblem::Encoding), "{letter:?} at {at}");
    }
}

#[test]
fn what_is_no_token_is_refused_without_much_work() {
    for text in ["", "A", "token", &"A".repeat(157), &"A".repeat(159), &"ä".repeat(79), &"A".repeat(1_000_000)] {
        let refused = open(&ring(), text).expect_err("no token");
        assert!(matches!(refused, TokenProblem::Length { .. } | TokenProblem::Encoding), "{refused:?}");
    }
    assert_eq!(open(&ring(), &"A".repeat(158)), Err(TokenProblem::Version(0)));
}

#[test]
fn a_token_that_would_outlive_its_key_is_not_made() {
    let sealed = |not_before, expires| ring().seal(&Claims { not_before, expires, ..claims() }, NOW).map(|_| ());
    assert_eq!(sealed(NOW, NOW + LIFE), Ok(()));
    let too_long = TokenProblem::LivesTooLong { life_s: LIFE + 1, longest_s: LIFE };
    assert_eq!(sealed(NOW, NOW + LIFE + 1), Err(too_long));
    assert_eq!(sealed(NOW + 2, NOW + 1), Err(TokenProblem::NeverValid));
    assert_eq!(sealed(0, u64::MAX), Err(TokenProblem::LivesTooLong { life_s: u64::MAX - NOW, longest_s: LIFE }));
}

#[test]
fn a_key_that_was_replaced_dies_after_the_longest_life_of_a_token() {
    let mut keys = ring();
    let last = Claims { not_before: NOW + LIFE, expires: NOW + LIFE, ..claims() };
    let token = keys.seal(&last, NOW).expect("a token");
    keys.rotate(SecretKey::new(2, [8; 32]), NOW).expect("one key is live");
    let opened = |now: u64| keys.open(&token, TokenPurpose::TURN, here(), now);
    assert_eq!((opened(NOW + LIFE), keys.live_keys(NOW + LIFE)), (Ok(last), vec![2, 1]));
    assert_eq!((opened(NOW + LIFE + 1), keys.live_keys(NOW + LIFE + 1)), (Err(TokenProblem::UnknownKey(1)), vec![2]));
}

#[test]
fn keys_that_are_live_are_not_pushed_out() {
    let mut keys = ring();
    for number in 2..=8 {
        keys.rotate(SecretKey::new(number, [number as u8; 32]), NOW).expect("seven more");
    }
    assert_eq!(keys.rotate(SecretKey::new(9, [9; 32]), NOW), Err(TokenProblem::TooManyKeys(8)));
    assert_eq!(keys.live_keys(NOW), [8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(keys.rotate(SecretKey::new(3, [9; 32]), NOW), Err(TokenProblem::KeyInUse(3)));
    // When they have died, their numbers are free.
    keys.rotate(SecretKey::new(3, [9; 32]), NOW + LIFE + 1).expect("the others are dead");
    assert_eq!(keys.live_keys(NOW + LIFE + 1), [3, 8]);
}

#[test]
fn nothing_secret_is_printed() {
    let shown = format!("{:?}", ring());
    assert!(shown.contains("(hidden)") && !shown.contains("7, 7"), "{shown}");
}

proptest! {
    #[test]
    fn what_was_sealed_is_what_is_opened(
        (purpose, name) in (any::<u8>(), ".*"), (not_before, window) in (0..LIFE, 0..20_u64),
        (id, binding) in (any::<u128>(), any::<Vec<u8>>()), secret in any::<[u8; 32]>(), number in any::<u32>(),
    ) {
        let expires = NOW + (not_before + window).min(LIFE);
        let claims = Claims {
            purpose: TokenPurpose(purpose),
            audience: Audience::named(&name),
            not_before: NOW + not_before,
            expires,
            id,
            binding: Binding::digest(&binding),
        };
        let ring = KeyRing::new(SecretKey::new(number, secret), LIFE);
        let token = ring.seal(&claims, NOW).expect("a token");
        prop_assert_eq!(ring.open(&token, claims.purpose, claims.audience, NOW), Ok(claims));
    }

    /// Of any change of some bytes, nothing is opened.
    #[test]
    fn what_was_changed_is_not_opened(
        cut in 0..118_usize, added in prop::collection::vec(any::<u8>(), 0..5), at in 0..118_usize, with in 1..=255_u8,
    ) {
        let good = bytes(&token());
        let cut_off = &good[..cut];
        prop_assert!(open(&ring(), &text(cut_off)).is_err());
        let mut extended = good.clone();
        extended.extend(&added);
        prop_assert!(added.is_empty() || open(&ring(), &text(&extended)).is_err());
        let mut changed = good.clone();
        changed[at] ^= with;
        prop_assert!(open(&ring(), &text(&changed)).is_err());
    }

    /// Bytes of one token in the place of another's: whole fields, and any piece.
    #[test]
    fn pieces_of_two_tokens_are_none(id in any::<u128>(), later in 1..500_u64, from in 0..118_usize, n in 1..118_usize) {
        prop_assume!(id != claims().id);
        let other = Claims { id, not_before: NOW + later, expires: NOW + later + 10, ..claims() };
        let (first, second) = (bytes(&token()), bytes(&ring().seal(&other, NOW).expect("a token")));
        let mut mixed = first.clone();
        let piece = from..(from + n).min(118);
        mixed[piece.clone()].copy_from_slice(&second[piece]);
        let opened = open(&ring(), &text(&mixed));
        prop_assert!(opened.is_err() || mixed == first || mixed == second, "{opened:?}");
        // Its two times, swapped: early becomes late.
        let mut swapped = first.clone();
        swapped.copy_within(22..30, 30);
        swapped[22..30].copy_from_slice(&first[30..38]);
        prop_assert_eq!(open(&ring(), &text(&swapped)), Err(TokenProblem::Forged));
    }

    /// Whatever the rotations, whoever holds a token that has not expired is let in.
    #[test]
    fn rotation_admits_all_who_were_promised(
        steps in prop::collection::vec((0..200_u64, 0..LIFE, any::<bool>()), 1..60),
    ) {
        let (mut keys, mut now, mut number, mut held) = (ring(), NOW, 1, Vec::new());
        for (pass, wait, rotates) in steps {
            now += pass;
            if rotates {
                number += 1;
                match keys.rotate(SecretKey::new(number, [number as u8; 32]), now) {
                    Ok(()) | Err(TokenProblem::TooManyKeys(8)) => {}
                    Err(other) => prop_assert!(false, "{other}"),
                }
            }
            let claims = Claims { not_before: now + wait, expires: now + (wait + 11).min(LIFE), ..claims() };
            held.push((keys.seal(&claims, now).expect("a token"), claims));
            for (token, claims) in held.iter().filter(|(_, claims)| claims.expires >= now) {
                prop_assert_eq!(keys.open(token, TokenPurpose::TURN, here(), now), Ok(*claims));
            }
            prop_assert!(keys.live_keys(now).len() <= 8);
        }
    }
}

#[test]
fn a_message_is_opened_by_who_has_the_keys_and_is_no_token() {
    let (mut ring, other) = (ring(), KeyRing::new(SecretKey::new(1, [8; 32]), LIFE));
    let sealed = ring.seal_message(b"12 promised", here());
    assert_eq!(ring.open_message(&sealed, here(), NOW), Ok(&b"12 promised"[..]));
    assert_eq!(other.open_message(&sealed, here(), NOW), Err(TokenProblem::Forged));
    assert_eq!(ring.open_message(&sealed, Audience::named("b"), NOW), Err(TokenProblem::Audience));
    for at in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        assert!(ring.open_message(&changed, here(), NOW).is_err(), "byte {at}");
        assert!(ring.open_message(&sealed[..at], here(), NOW).is_err(), "{at} bytes");
    }
    ring.rotate(SecretKey::new(2, [9; 32]), NOW).expect("a new key");
    assert!(ring.open_message(&sealed, here(), NOW + LIFE).is_ok());
    assert_eq!(ring.open_message(&sealed, here(), NOW + LIFE + 1), Err(TokenProblem::UnknownKey(1)));
    let token = bytes(&ring.seal(&claims(), NOW).expect("a token"));
    assert_eq!(ring.open_message(&token, here(), NOW), Err(TokenProblem::Version(1)));
}
