//! Live users follow the model of the thesis: over a thousand sessions that nobody refuses, the transitions that they made
//! fit its matrix.

use std::fs;

use analysis::summary::RunSummary;
use traces::UserModel;

use crate::{alone, program};

/// A session every 20 ms for 21 s, each with an account of its own: of two with one, the second would not find what the first has moved.
/// They arrive however fast the service is; what is slow only queues.
const EXPERIMENT: &str = "
name: walk
about: a thousand sessions without rejects
target: {app: arashi, work: 0, queue: 10000, mail: {accounts: 1050}}
objective: {percentile: 90, response_time: 60s}
users:
  model: arashi
  think: 1ms
  timeout: 120s
  connect_timeout: 60s
  drain: 120s
  phases:
    - {name: sessions, sessions: 50/s, law: constant, for: 21s}
arms: [none]
seed: 1
";

/// The chance that a sound run fails here is some five rows times this.
const LEAST_P: f64 = 0.001;

#[test]
fn a_thousand_live_sessions_fit_the_matrix() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("walk.yaml"), EXPERIMENT).expect("written");
    let mut lab = program::lab();
    lab.current_dir(folder.path()).env("LAB_CACHE", folder.path().join("cache"));
    let output = lab.args(["run", "walk.yaml", "--out", "run"]).output().expect("lab runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{said}");
    let bytes = fs::read(folder.path().join("run/summary.json")).expect("there");
    let summary: RunSummary = serde_json::from_slice(&bytes).expect("a summary");

    let arm = &summary.arms[0];
    let all = &arm.phases[0].measured;
    let others =
        [all.rejected, all.timed_out, all.failed, all.abandoned, all.connect_failed, all.in_flight, all.unsent];
    assert_eq!(others, [0; 7], "served: {}; {said}", all.served + all.served_late);
    let sessions = arm.phases[0].by_type["login"].sent;
    assert!(sessions >= 1000, "{sessions} sessions");
    for row in &arm.walk {
        println!("{}: {} transitions, p = {:.4?}", row.from, row.made, row.p);
        assert!(row.made > 0 && row.p > Some(LEAST_P), "{row:?}");
    }
    assert_eq!(arm.walk.len(), 5, "every state that has a row");

    // The same transitions do not fit a model that is a little different.
    let made = || {
        let cells = arm.walk.iter().flat_map(|row| row.to.iter().map(move |(to, cell)| (row, to, cell.made)));
        cells.map(|(row, to, made)| (row.from.as_str(), to.as_str(), made))
    };
    let model = UserModel::from_yaml(workloads::mail::ARASHI).expect("it is sound");
    let again = traces::row_fits(&model, made());
    assert!(again.iter().all(|fit| fit.p > LEAST_P), "{again:?}");
    for (from, less, more) in [("show message", "refile", "delete"), ("list messages", "show message", "login")] {
        let mut wrong = model.clone();
        let row = wrong.transitions.get_mut(from).expect("a row");
        *row.get_mut(less).expect("a cell") -= 0.04;
        *row.get_mut(more).expect("a cell") += 0.04;
        let fits = traces::row_fits(&wrong, made());
        let fit = fits.iter().find(|fit| fit.from == from).expect("a row");
        assert!(fit.p < LEAST_P, "{from}: {fit:?}");
    }
}
