//! `users.trace`: a recording in place of users that are drawn.

use std::{collections::BTreeSet, ops::RangeInclusive, path::Path, time::Duration};

use analysis::sha256;
use workloads::{mail::users_make, replay::Pace};

use super::{
    fields::Fields,
    named_file,
    plan::{Cut, Played, Recording},
    problem::Problems,
    raw::{Node, Value},
};

/// Keys of `users.trace`.
pub const KEYS: &[&str] = &["file", "pace", "speed", "from", "for", "copies", "sample"];

const TIMES: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(366 * 86_400);

/// Reads the key: a path, or a table.
pub(super) fn recording(node: &Node, problems: &Problems) -> Option<Recording> {
    if let Value::Text(path) = &node.value {
        return read(Path::new(path), Pace::Clock, Cut::whole(), None)
            .map_err(|problem| {
                problems.add(&node.place, "users.trace", problem, HINT);
            })
            .ok();
    }
    let fields = Fields::of(node, "users.trace", KEYS, problems)?;
    let Some(file) = fields.text("file") else {
        fields.missing("file", "mail.trace.zst");
        return None;
    };
    let pace = fields.choice("pace", &[("clock", Pace::Clock), ("sessions", Pace::Sessions)]).unwrap_or(Pace::Clock);
    let cut = Cut {
        from: fields.time("from", TIMES).unwrap_or_default(),
        lasts: Duration::ZERO,
        speed: fields.number("speed", 0.1..=1000.0).unwrap_or(1.0),
        copies: fields.count("copies", 1..=10_000).map_or(1, |n| n as u32),
        sample: fields.number("sample", 0.0..=1.0).unwrap_or(1.0),
    };
    let lasts = fields.time("for", Duration::from_millis(1)..=*TIMES.end());
    read(Path::new(&file), pace, cut, lasts).map_err(|problem| fields.problem("file", problem, HINT)).ok()
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
