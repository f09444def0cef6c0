//! Guesses of passwords, and those who know theirs.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::{arashi::visit::Visit, of_alice};

/// Two checks have 19 MiB each; what they read and write, and what allocators keep, is far less than the rest.
const GROWTH_MIB: f64 = 64.0;
const FLOOD: usize = 80;

#[test]
fn wrong_logins_cost_little_memory() {
    let home = tempfile::tempdir().expect("temporary directory");
    let program = of_alice(home.path(), &home.path().join("mail.sqlite"));
    let address = program.address();
    let before = program.resident_mib();
    for (round, guesses) in [20, 100].into_iter().enumerate() {
        thread::scope(|scope| {
            for guess in 0..guesses {
                let address = &address;
                scope.spawn(move || {
                    let mut visit = Visit::stranger(address).expect("connects");
                    // A fifth of them guesses at alice's, who is there.
                    let name = if guess % 5 == 0 { "alice".to_owned() } else { format!("x{round}-{guess}") };
                    let status = visit.sign_in(&name, "guess").expect("an answer").status;
                    assert!(matches!(status, 403 | 429 | 503), "{name}: {status}");
                });
            }
        });
        let after = program.resident_mib();
        println!("{before:.0} MiB before, {after:.0} MiB after {guesses} wrong logins at once");
        assert!(after - before < GROWTH_MIB, "{before:.0} MiB before, {after:.0} MiB after {guesses} wrong logins");
    }
}

/// As many guessers as do not wait for each other, each with another name for each guess. Somebody who knows the password waits for a few
/// checks, not for one of each guesser.
#[test]
fn guesses_do_not_hold_those_who_know_their_password() {
    let home = tempfile::tempdir().expect("temporary directory");
    let program = of_alice(home.path(), &home.path().join("mail.sqlite"));
    let address = program.address();
    let calm = sign_in_time(&address);
    let (ended, guesses) = (AtomicBool::new(false), AtomicUsize::new(0));
    let flooded = thread::scope(|scope| {
        for guesser in 0..FLOOD {
            let (address, ended, guesses) = (&address, &ended, &guesses);
            scope.spawn(move || {
                let mut visit = Visit::stranger(address).expect("connects");
                for guess in 0.. {
                    if ended.load(Ordering::Relaxed) {
                        return;
                    }
                    let name = format!("x{guesser}-{guess}");
                    let status = visit.sign_in(&name, "guess").expect("an answer").status;
                    assert!(matches!(status, 403 | 429 | 503), "{status}");
                    guesses.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        while guesses.load(Ordering::Relaxed) < 2 * FLOOD {
            thread::sleep(Duration::from_millis(5));
        }
        let flooded = sign_in_time(&address);
        ended.store(true, Ordering::Relaxed);
        flooded
    });
    println!("a sign-in takes {calm:?}, and {flooded:?} beside {FLOOD} guessers");
    assert!(flooded < 12 * calm, "a sign-in takes {calm:?}, and {flooded:?} beside {FLOOD} guessers");
}

/// The median of a few, all of which succeed.
fn sign_in_time(address: &str) -> Duration {
    let mut times: Vec<Duration> = (0..9)
        .map(|_| {
            let mut visit = Visit::stranger(address).expect("connects");
            let began = Instant::now();
            assert_eq!(visit.sign_in("alice", "secret").expect("an answer").status, 200, "alice knows her password");
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[4]
}
