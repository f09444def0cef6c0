//! Guesses of passwords, and those who know theirs.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use crate::{arashi::visit::Visit, mail_service::of_alice};

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
/// checks, not for one of each guesser: those stand in no line. In a line that is as short as this service's they would leave no place,
/// and both they and she would be told to come again.
#[test]
fn guesses_do_not_hold_those_who_know_their_password() {
    let home = tempfile::tempdir().expect("temporary directory");
    let program = of_alice(home.path(), &home.path().join("mail.sqlite"));
    let address = program.address();
    let (ended, guesses, busy) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let came = thread::scope(|scope| {
        for guesser in 0..FLOOD {
            let (address, ended, guesses, busy) = (&address, &ended, &guesses, &busy);
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
                    busy.fetch_add(usize::from(status == 503), Ordering::Relaxed);
                }
            });
        }
        while guesses.load(Ordering::Relaxed) < 2 * FLOOD {
            thread::sleep(Duration::from_millis(5));
        }
        let signs_in = |_| Visit::stranger(&address).expect("connects").sign_in("alice", "secret").expect("an answer");
        let came: Vec<u16> = (0..9).map(signs_in).map(|answer| answer.status).collect();
        ended.store(true, Ordering::Relaxed);
        came
    });
    let (guesses, busy) = (guesses.into_inner(), busy.into_inner());
    assert_eq!(came, [200; 9], "alice knows her password");
    assert!(busy * 10 < guesses, "{busy} of {guesses} guesses found the line full");
}
