//! `kill -9` of `lab serve`, fifty times, while users change their mail and mail is imported: what was acknowledged is
//! there after the restart, and nothing is there twice.
//!
//! Two processes of the program work on one database: one serves the users, the other imports a file and would serve it
//! then. Both are killed in the same moment, during the import or just after it was acknowledged. The next round starts
//! the program on what they left, compares that with what was acknowledged, and goes on from there.

mod import;
mod model;

use std::{path::Path, thread, time::Duration};

use arashi::corpus;
use service_core::mail::CorpusSpec;

use self::{
    import::{Imports, When},
    model::{Model, blocking},
};
use crate::arashi::Program;

const KILLS: u32 = 50;
const USERS: u32 = 3;
const INBOX: u32 = 200;

#[test]
fn what_was_acknowledged_survives() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let database = dir.path().join("mail.sqlite");
    let spec = CorpusSpec {
        users: USERS,
        inbox_min: INBOX,
        inbox_max: INBOX,
        inbox_median: f64::from(INBOX),
        ..CorpusSpec::default()
    };
    blocking(corpus::build(&spec, &database)).expect("builds");
    let mut models = Model::all(&database, &spec);
    let mut imports = Imports::new(dir.path());
    for round in 0..KILLS {
        let serving = Program::serve(dir.path(), &database, None);
        let address = serving.address();
        model::check(&database, &mut models);
        imports.check(&database);
        one_life(serving, &address, &database, &mut models, &mut imports, round);
    }
    let serving = Program::serve(dir.path(), &database, None);
    serving.address();
    model::check(&database, &mut models);
    imports.check(&database);
    imports.finish(&database);

    let changes: u32 = models.iter().map(|model| model.changes).sum();
    println!("{KILLS} kills, {changes} acknowledged changes, {imports}");
    assert!(changes > 10 * KILLS, "there was hardly any load: {changes} changes");
    let unanswered: u32 = models.iter().map(|model| model.unanswered).sum();
    assert!(unanswered > 0, "no kill hit a user that waited for an answer");
    imports.were_hit();
}

/// Serves, changes and imports until both processes are killed.
fn one_life(serving: Program, address: &str, database: &Path, models: &mut [Model], imports: &mut Imports, round: u32) {
    thread::scope(|scope| {
        for model in models {
            scope.spawn(move || model.live(address, round));
        }
        // Once just after it was acknowledged, and then twice somewhere in the import.
        let when = match round % 3 {
            0 => When::Acknowledged,
            _ => When::Part(f64::from(round * 37 % 80 + 10) / 100.0),
        };
        let importing = imports.begin(database);
        imports.wait(&importing, when);
        // Different moments of what users do, the same in every run of the test.
        thread::sleep(Duration::from_millis(u64::from(round * 7 % 20)));
        if round.is_multiple_of(2) {
            serving.kill();
            imports.killed(importing);
        } else {
            imports.killed(importing);
            serving.kill();
        }
    });
}
