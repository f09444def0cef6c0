//! The summary of a trace, shown by `lab trace inspect`: one pass, in memory that does not grow with the trace.

mod sessions;

use std::{collections::BTreeMap, io::Read, time::Duration};

use serde::Serialize;

use crate::{
    learn::{Bins, STATES, Sample, Walks},
    model::fitted::{Arrivals, Quantiles},
    spread::UserSpread,
    trace::{Footer, Header, LEAVE, Reader, RecordOutcome, TraceError},
};
use sessions::SessionsSeen;

/// The summary of a trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inspected {
    /// Its first line.
    pub header: Header,
    /// Its last line, with the account of its import.
    pub footer: Footer,
    /// The number of sessions.
    pub sessions: u64,
    /// Sessions whose end is not in the trace.
    pub cut: u64,
    /// Sessions of a login and nothing else.
    pub login_only: u64,
    /// The number of users.
    pub users: u64,
    /// Requests of the user who has most.
    pub busiest: u64,
    /// Length.
    #[serde(with = "crate::span")]
    pub length: Duration,
    /// Requests by action, most frequent first.
    pub actions: Vec<ActionSummary>,
    /// Transitions between states of web-mail users: from, to, count.
    pub transitions: Vec<(String, String, u64)>,
    /// Pauses between pages: microseconds.
    pub pauses: Option<Quantiles>,
    /// Pauses by page, and by page and next page, as far as observed.
    pub pauses_by: Vec<PausesOf>,
    /// Requests per finished session.
    pub lengths: Option<Quantiles>,
    /// The middle of each of a hundred parts of them; of fewer than a hundred sessions, all.
    pub lengths_curve: Vec<u64>,
    /// The times at which sessions began.
    pub arrivals: Arrivals,
    /// Requests over time.
    pub requests: Arrivals,
}

/// The summary of one action.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ActionSummary {
    /// Its name.
    pub action: String,
    /// The number of its requests.
    pub count: u64,
    /// Requests by outcome, without those that were answered as requested.
    pub not_ok: BTreeMap<&'static str, u64>,
    /// Response times, microseconds.
    pub durations: Option<Quantiles>,
    /// Bytes of answers.
    pub sizes: Option<Quantiles>,
}

/// Pauses after a page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PausesOf {
    /// The page.
    pub from: String,
    /// The next page; `None`: any.
    pub to: Option<String>,
    /// Microseconds.
    pub pauses: Quantiles,
    /// The middle of each of a hundred parts of them; of fewer than a hundred, all. Microseconds.
    pub curve: Vec<u64>,
}

#[derive(Debug, Default)]
struct Seen {
    count: u64,
    not_ok: BTreeMap<&'static str, u64>,
    durations: Sample,
    sizes: Sample,
}

/// The largest number of actions that are shown separately.
const ACTIONS: usize = 64;

/// Reads the trace to its end.
///
/// # Errors
/// If it cannot be read, or was cut.
pub fn inspect<R: Read>(trace: &mut Reader<R>) -> Result<Inspected, TraceError> {
    let (mut walks, mut sessions) = (Walks::default(), SessionsSeen::default());
    let mut requests = Bins::default();
    let mut actions: BTreeMap<String, Seen> = BTreeMap::new();
    while let Some(record) = trace.next_record()? {
        walks.take(&record);
        sessions.take(&record);
        if record.action == LEAVE {
            continue;
        }
        requests.add(record.offset);
        let name =
            if actions.len() < ACTIONS || actions.contains_key(&*record.action) { &*record.action } else { "others" };
        let seen = match actions.get_mut(name) {
            Some(seen) => seen,
            None => actions.entry(name.to_owned()).or_default(),
        };
        seen.count += 1;
        if record.outcome != RecordOutcome::Ok {
            *seen.not_ok.entry(record.outcome.name()).or_default() += 1;
        }
        record.duration.into_iter().for_each(|duration| seen.durations.add(duration));
        record.received.into_iter().for_each(|bytes| seen.sizes.add(bytes));
    }
    walks.finish();
    sessions.finish();
    let (users, busiest) = sessions.by_user.found();
    let mut actions: Vec<ActionSummary> = actions.into_iter().map(|(action, seen)| seen.shown(action)).collect();
    actions.sort_by_key(|action| std::cmp::Reverse(action.count));
    let cells = (0..STATES.len()).flat_map(|from| (0..STATES.len()).map(move |to| (from, to)));
    let name = |state: usize| STATES[state].to_owned();
    let transitions = cells.map(|(from, to)| (name(from), name(to), walks.pairs[from][to]));
    let transitions = transitions.filter(|(_, _, count)| *count > 0).collect();
    Ok(Inspected {
        header: trace.header().clone(),
        footer: trace.footer().cloned().unwrap_or_default(),
        sessions: sessions.all,
        cut: sessions.cut,
        login_only: sessions.login_only,
        users,
        busiest,
        length: Duration::from_micros(walks.end),
        actions,
        transitions,
        pauses: walks.pauses.all.quantiles(),
        pauses_by: pauses_by(&walks),
        lengths: sessions.lengths.quantiles(),
        lengths_curve: sessions.lengths.curve(),
        arrivals: sessions.arrivals.arrivals(walks.end),
        requests: requests.arrivals(walks.end),
    })
}

impl Inspected {
    /// How its requests are spread over users.
    #[must_use]
    pub fn spread(&self) -> UserSpread {
        let imported = self.footer.import.as_ref();
        UserSpread {
            users: self.users,
            requests: self.actions.iter().map(|action| action.count).sum(),
            busiest: self.busiest,
            sessions: self.sessions,
            login_only: self.login_only,
            of_one: imported.is_some_and(|tally| tally.spread().of_one),
        }
    }
}

fn pauses_by(walks: &Walks) -> Vec<PausesOf> {
    let of = |from: usize, to: Option<usize>, sample: &Sample| {
        let (from, to) = (STATES[from].to_owned(), to.map(|to| STATES[to].to_owned()));
        Some(PausesOf { from, to, pauses: sample.quantiles()?, curve: sample.curve() })
    };
    let pages = walks.pauses.after.iter().enumerate().filter_map(|(from, sample)| of(from, None, sample));
    let ways = walks
        .pauses
        .by_step
        .iter()
        .enumerate()
        .flat_map(|(from, row)| row.iter().enumerate().filter_map(move |(to, sample)| of(from, Some(to), sample)));
    pages.chain(ways).collect()
}

impl Seen {
    fn shown(self, action: String) -> ActionSummary {
        let Self { count, not_ok, durations, sizes } = self;
        ActionSummary { action, count, not_ok, durations: durations.quantiles(), sizes: sizes.quantiles() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        UserModel,
        generate::{Plan, generate},
    };

    #[test]
    fn a_generated_trace_is_what_was_asked_for() {
        let model =
            "{name: x, source: y, start: login, transitions: {login: {list folders: 1}, list folders: {login: 1}},
            think: {login: {constant: 2s}}}";
        let model = UserModel::from_yaml(model).expect("sound");
        let text = generate(&model, &Plan { users: 7, ..Plan::of(&model, 100) }, Vec::new()).expect("memory");
        let seen = inspect(&mut Reader::new(&text[..]).expect("a trace")).expect("whole");
        assert_eq!((seen.sessions, seen.cut, seen.users, seen.footer.records), (100, 0, 7, 300));
        assert_eq!(seen.actions.len(), 2);
        assert_eq!((seen.actions[0].count, &seen.actions[0].not_ok), (100, &BTreeMap::new()));
        assert_eq!(seen.actions[0].durations.as_ref().map(|d| d.p50), Some(10_000));
        assert_eq!(seen.lengths.as_ref().map(|lengths| (lengths.min, lengths.max)), Some((2, 2)));
        // Half of the pauses are two seconds, half are zero.
        assert_eq!(seen.pauses.as_ref().map(|pauses| (pauses.min, pauses.max)), Some((0, 2_000_000)));
        let by: Vec<_> = seen.pauses_by.iter().map(|by| (by.from.as_str(), by.to.as_deref(), by.pauses.p50)).collect();
        let expected = [
            ("login", None, 2_000_000),
            ("list folders", None, 0),
            ("login", Some("list folders"), 2_000_000),
            ("list folders", Some("login"), 0),
        ];
        assert_eq!(by, expected);
        assert_eq!((seen.pauses_by[0].curve.len(), &seen.lengths_curve), (100, &vec![2; 100]));
        let cell = |from: &str, to: &str| (from.to_owned(), to.to_owned(), 100);
        assert_eq!(seen.transitions, [cell("login", "list folders"), cell("list folders", "login")]);
        assert_eq!(seen.arrivals.bins.iter().sum::<u64>(), 100);
    }
}
