//! `users.trace`: a recording in place of users that are drawn.

use std::{collections::BTreeSet, path::Path, time::Duration};

use analysis::sha256;
use schemars::json_schema;
use workloads::{mail::users_make, replay::Pace};

use super::{
    fields::{Fields, file_named},
    keys::{Table, count, first_of, number, shapes, table, text, time},
    named_file,
    plan::{Cut, Played, Recording},
    problem::Problems,
    raw::Node,
};

const YEAR: Duration = Duration::from_secs(366 * 86_400);

table! {
    /// A trace that is replayed ([traces](traces.md#in-an-experiment)).
    pub(super) struct TraceKeys as "TraceTable" {
        file: Option<String> = text().wanted("mail.trace.zst"), "A trace written by `lab trace import` or `lab trace generate`";
        pace: Pace = first_of(&[("clock", Pace::Clock), ("sessions", Pace::Sessions)]), "When the steps of a session are due: by the trace's clock, or a recorded pause after the answer to the step before";
        speed: f64 = number(0.1..=1000.0).or(1.0).example("10"), "Divides all times";
        from: Duration = time(Duration::ZERO..=YEAR).or(Duration::ZERO).example("60s"), "Replay only sessions that start from here on, by the trace's clock";
        lasts: Option<Duration> = time(Duration::from_millis(1)..=YEAR).key("for").otherwise("to the trace's end").example("5m"), "How much of the trace to replay, by the trace's clock";
        copies: u32 = count(1..=10_000).or(1).example("3"), "Users that walk each session; each copy starts up to a second later";
        sample: f64 = number(0.0..=1.0).or(1.0).example("0.5"), "Share of the sessions to replay, whole sessions";
    }
}

shapes! {
    TraceKey as "Trace" = |generator| json_schema!({"anyOf": [{"type": "string"}, generator.subschema_for::<TraceKeys>()]});
}

/// Reads the key: a path, or a table.
pub(super) fn recording(node: &Node, problems: &Problems) -> Option<Recording> {
    if let Some(path) = file_named(node, problems) {
        return read(&path, Pace::Clock, Cut::whole(), None)
            .map_err(|problem| {
                problems.add(&node.place, "users.trace", problem, HINT);
            })
            .ok();
    }
    let fields = Fields::of_table::<TraceKeys>(node, "users.trace", problems)?;
    let TraceKeys { file, pace, speed, from, lasts, copies, sample } = TraceKeys::read(&fields);
    let cut = Cut { from, lasts: Duration::ZERO, speed, copies, sample };
    read(&file.and_then(|_| fields.file("file"))?, pace, cut, lasts)
        .map_err(|problem| fields.problem("file", problem, HINT))
        .ok()
}

const HINT: &str = "a trace that lab trace import or lab trace generate has written";

/// Goes through the whole trace once, so that a run does not begin with one that it cannot end.
pub fn read(file: &Path, pace: Pace, cut: Cut, lasts: Option<Duration>) -> Result<Recording, String> {
    let named = |problem: &dyn std::fmt::Display| format!("{}: {problem}", file.display());
    named_file::open(file)?;
    let (_, sha256) = sha256::of_file(file).map_err(|error| named(&error))?;
    let open = Cut { lasts: lasts.unwrap_or(Duration::MAX), ..cut };
    let played = Played::new(file.to_path_buf(), &sha256, open);
    let (mut sessions, mut requests, mut other) = (0, 0, 0);
    let mut end = Duration::ZERO;
    let mut classes = BTreeSet::new();
    for session in played.sessions().map_err(|error| named(&error))? {
        let session = session.map_err(|error| named(&error))?;
        sessions += 1;
        requests += session.steps.len() as u64;
        other += session.steps.iter().filter(|step| !users_make(step.kind)).count() as u64;
        classes.insert(session.class.0);
        let last = session.steps.last().map_or(Duration::ZERO, |step| step.at);
        end = end.max(session.at + last);
    }
    if sessions == 0 {
        let part = if lasts.is_some() || cut.from > Duration::ZERO { " in this window" } else { "" };
        return Err(named(&format!("there is no session{part}: nothing would be replayed")));
    }
    // A moment for the answer to the last request.
    let lasts = lasts.unwrap_or_else(|| (end + Duration::from_secs(1)).mul_f64(cut.speed));
    let classes = classes.into_iter().collect();
    let cut = Cut { lasts, ..cut };
    Ok(Recording { file: file.to_path_buf(), sha256, pace, cut, sessions, requests, other, classes })
}

#[cfg(test)]
mod tests;
