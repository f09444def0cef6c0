//! How the service ends.

use std::{thread, time::Duration};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::{arashi::visit::Visit, mail_service::of_alice};

const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn a_hang_up_ends_it_in_order() {
    for signal in [Signal::SIGHUP, Signal::SIGTERM].into_iter().filter(|signal| !is_ignored(*signal)) {
        let home = tempfile::tempdir().expect("temporary directory");
        let mut program = of_alice(home.path(), &home.path().join("mail.sqlite"));
        let address = program.address();
        let mut visits: Vec<Visit> = (0..4).map(|_| Visit::stranger(&address).expect("connects")).collect();
        for visit in &mut visits {
            assert_eq!(visit.get("/").expect("an answer").status, 200, "its connection is taken");
        }
        thread::scope(|scope| {
            let answers: Vec<_> = visits
                .iter_mut()
                .enumerate()
                // Checking a password takes long enough to be under way then.
                .map(|(number, visit)| scope.spawn(move || visit.sign_in(&format!("x{number}"), "x")))
                .collect();
            thread::sleep(Duration::from_millis(10));
            kill(Pid::from_raw(i32::try_from(program.pid()).expect("a pid")), signal).expect("is told");
            for answer in answers {
                let answer = answer.join().expect("asks").expect("an answer that was under way comes");
                assert_eq!(answer.status, 403);
            }
        });
        drop(visits);
        assert_eq!(program.ended(PATIENCE), Some(0), "after {signal}");
    }
}

/// Under `nohup` the tests ignore SIGHUP, and so does what they start, as it is meant to.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("it runs");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("the kernel says");
    let mask = u64::from_str_radix(mask.trim(), 16).expect("a mask");
    mask & 1 << (signal as i32 - 1) != 0
}
