//! Damaged captures: nothing panics, and memory is bounded.

use proptest::prelude::*;

use super::{
    captures::{SESSION, pcap, pcapng},
    hostile::tried,
    *,
};

/// A way to damage a file. Positions and lengths are taken modulo the file's size.
#[derive(Debug, Clone)]
enum Spoil {
    Byte(usize, u8),
    /// Writes four bytes (a length, time or number) with an extreme value.
    Word(usize, u32),
    Cut(usize),
    Without(usize, usize),
    /// Repeats a part at another position.
    Again(usize, usize, usize),
    With(usize, Vec<u8>),
}

fn spoil() -> impl Strategy<Value = Spoil> {
    let at = 0_usize..10_000;
    let word = prop::sample::select(vec![0, 1, 3, 4, 12, 28, 65_535, 1 << 20, 1 << 31, u32::MAX - 3, u32::MAX]);
    prop_oneof![
        4 => (at.clone(), any::<u8>()).prop_map(|(at, byte)| Spoil::Byte(at, byte)),
        4 => (at.clone(), word).prop_map(|(at, word)| Spoil::Word(at, word)),
        1 => at.clone().prop_map(Spoil::Cut),
        1 => (at.clone(), 0_usize..200).prop_map(|(at, length)| Spoil::Without(at, length)),
        1 => (at.clone(), 0_usize..200, at.clone()).prop_map(|(at, length, to)| Spoil::Again(at, length, to)),
        1 => (at, prop::collection::vec(any::<u8>(), 0..40)).prop_map(|(at, bytes)| Spoil::With(at, bytes)),
    ]
}

fn spoiled(mut file: Vec<u8>, how: &Spoil) -> Vec<u8> {
    let all = file.len();
    let place = move |at: usize| at % (all + 1);
    let range = move |at: usize, length: usize| place(at)..(place(at) + length).min(all);
    match how {
        Spoil::Byte(at, byte) => {
            let at = at % file.len().max(1);
            file.iter_mut().skip(at).take(1).for_each(|old| *old = *byte);
        }
        Spoil::Word(at, word) => {
            // Most words are at multiples of four.
            let at = at % file.len().max(1) / 4 * 4;
            file.iter_mut().skip(at).zip(word.to_le_bytes()).for_each(|(old, new)| *old = new);
        }
        Spoil::Cut(at) => file.truncate(place(*at)),
        Spoil::Without(at, length) => drop(file.drain(range(*at, *length))),
        Spoil::Again(at, length, to) => {
            let (part, to) = (file[range(*at, *length)].to_vec(), place(*to));
            drop(file.splice(to..to, part));
        }
        Spoil::With(at, bytes) => {
            let at = place(*at);
            drop(file.splice(at..at, bytes.iter().copied()));
        }
    }
    file
}

/// The header of a pcap file: either byte order, either time unit, and a link type.
fn pcap_header(big: bool, nanos: bool, link: u32) -> Vec<u8> {
    let magic = if nanos { 0xa1b2_3c4d_u32 } else { 0xa1b2_c3d4 };
    let numbers = [magic, 0x0004_0002, 0, 0, 65_535, link];
    numbers.iter().flat_map(|number| if big { number.to_be_bytes() } else { number.to_le_bytes() }).collect()
}

/// A valid section and an interface with this link type: random blocks may follow.
fn pcapng_beginning(link: u8) -> Vec<u8> {
    let mut file = pcapng(&[], 4711);
    // After the section's 28 bytes come type and length of the interface's block, and its link type.
    file[28 + 8] = link;
    file
}

const LINKS: [u8; 12] = [0, 1, 12, 14, 101, 108, 113, 147, 228, 229, 255, 127];

proptest! {
    #[test]
    fn no_spoiled_capture_panics(
        ng in any::<bool>(), spoils in prop::collection::vec(spoil(), 1..8), port in prop::sample::select(vec![4711_u16, 143]),
    ) {
        let whole = if ng { pcapng(&SESSION, port) } else { pcap(&SESSION, port) };
        tried("a.pcap", spoils.iter().fold(whole, spoiled));
    }

    #[test]
    fn no_bytes_panic_in_a_capture(
        bytes in prop::collection::vec(any::<u8>(), 0..400), link in prop::sample::select(LINKS.to_vec()),
        big in any::<bool>(), nanos in any::<bool>(),
    ) {
        tried("a.pcap", [pcap_header(big, nanos, link.into()), bytes.clone()].concat());
        tried("a.pcapng", [pcapng_beginning(link), bytes].concat());
    }

    /// Valid blocks with packets of random content: each case reaches the code behind the file format.
    #[test]
    fn no_packet_panics(
        packets in prop::collection::vec((any::<u32>(), prop::collection::vec(any::<u8>(), 0..120)), 1..10),
        link in prop::sample::select(LINKS.to_vec()), version in prop::sample::select(vec![None, Some(0x45_u8), Some(0x60)]),
    ) {
        let mut file = pcap_header(false, false, link.into());
        for (at, mut bytes) in packets {
            // IPv4 or IPv6 at its possible offsets, and TCP.
            if let (Some(version), true) = (version, bytes.len() > 9) {
                (bytes[0], bytes[9]) = (version, 6);
            }
            let length = u32::try_from(bytes.len()).expect("short");
            for number in [at, at % 1_000_000, length, length] {
                file.extend(number.to_le_bytes());
            }
            file.extend(bytes);
        }
        tried("a.pcap", file);
    }
}

#[test]
fn a_block_that_claims_to_be_huge_is_not_believed() {
    let claimed =
        [pcap(&SESSION, 4711), [0_u32, 0, u32::MAX, u32::MAX].iter().flat_map(|n| n.to_le_bytes()).collect()].concat();
    let (_, tally) = import_all(&[("a.pcap", claimed)], &options()).expect("what stands before it");
    let cut = tally.files[0].cut.as_ref().expect("cut");
    assert!(cut.starts_with("after packet 17: "), "{cut}");
    assert_eq!(tally.files[0].understood, 17);
}

#[test]
fn packets_of_unknown_interfaces_and_without_a_time_are_not_understood() {
    let mut file = pcapng(&SESSION, 4711);
    // An enhanced packet of interface 7, and a simple one: they are distinguished, and the session is kept.
    for (kind, body) in [(6_u32, [7_u32, 0, 0, 0, 0].as_slice()), (3, &[0])] {
        let length = u32::try_from(12 + 4 * body.len()).expect("short");
        let words = [kind, length].into_iter().chain(body.iter().copied()).chain([length]);
        file.extend(words.flat_map(u32::to_le_bytes));
    }
    let (_, tally) = import_all(&[("a.pcap", file)], &options()).expect("the session");
    let account = &tally.files[0];
    assert_eq!((account.units, account.understood, account.not_understood), (19, 17, 2));
    assert_eq!(
        account.examples,
        ["packet 18: its interface is not described", "packet 19: it has no time (a simple packet block)"]
    );
}
