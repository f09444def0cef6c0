//! How the service ends.

use std::{thread, time::Duration};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::{arashi::visit::Visit, of_alice};

const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn a_hang_up_ends_it_in_order() {
    for signal in [Signal::SIGHUP, Signal::SIGTERM] {
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
