//! What the memory of used tokens takes at its fullest. A process of its own: the kernel counts for the whole of it.
#![allow(clippy::disallowed_methods, reason = "a measurement reads what the kernel counts")]

use controllers::{
    Timestamp, UnixSeconds,
    webq::{CheckParams, PromisedTurn, TokenCheck},
};

/// The most that was resident, bytes; `None` on other systems than Linux.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// One million tokens of one million identities, 5000 a second for 200 s, with the default memory of 65 536 tokens: a token takes 32
/// bytes and its place in the set, at most 128 in all.
#[test]
fn a_million_identities_take_eight_megabytes_at_most() {
    let mut check = TokenCheck::new(CheckParams::default()).expect("good params");
    let Some(before) = peak() else { return };
    let mut most = 0;
    for id in 0..1_000_000_u128 {
        let now = id as u64 / 5000;
        let binding = &id.to_be_bytes()[..];
        let turn = PromisedTurn { at: UnixSeconds(now), id, binding, presented: binding };
        let _ = check.check(UnixSeconds(now), Timestamp::from_secs(now), &turn);
        most = most.max(check.remembered());
    }
    let grown = peak().expect("as before") - before;
    println!("{most} tokens remembered at the most: {grown} bytes");
    assert_eq!(most, 65_536);
    assert!(grown < 128 * 65_536, "{grown} bytes");
}
