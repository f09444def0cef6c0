//! Fits a model of users to a trace: the implementation of `lab trace fit`.
//!
//! One pass, in memory that does not grow with the trace: transitions are counted, pauses and sizes are sampled.

mod arrivals;
pub mod interval;
mod law;
mod order;
mod sample;
mod walks;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
    time::Duration,
};

pub(crate) use arrivals::Bins;
pub(crate) use sample::Sample;
pub(crate) use walks::{STATES, Walks};

use crate::{
    ModelError, PreviousPage, Statistics, Think, UserModel,
    fit::{LEAST_EXPECTED, pearson},
    model::{
        VERSION,
        fitted::{Cell, Extent, Fitted, Lengths, PreviousPageReturns},
    },
    trace::{LOGIN, Reader, TraceError},
};
use walks::{COUNT, walkable};

/// The probability that all intervals contain their cells.
const CONFIDENCE: f64 = 0.99;

/// Actions that an error names at most.
const NAMED_ACTIONS: usize = 5;

/// The error of a fit.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// No action is one of web mail.
    #[error(
        "no action of the trace is one of web mail (it has {0}), and a model is of users of web mail: lab replay sends the \
         trace as it was recorded; a plan of steps (lab init) has users of another service"
    )]
    OtherActions(String),
    /// The trace has totals of sessions without their actions.
    #[error(
        "the trace has {0} sessions, but not what was done in them: login and logout lines alone have no order of actions; \
         import Dovecot events, rawlogs or a packet capture beside them"
    )]
    TotalsAlone(u64),
    /// The trace has no session that ended.
    #[error(
        "of the trace's {0} sessions none was seen to its end, so that it does not say when users leave: import the log's \
         logout lines too, or a longer part of it"
    )]
    NoEnd(u64),
    /// The result is not a valid model.
    #[error("the trace gives no model that users can walk: {0}")]
    Model(#[from] ModelError),
}

/// Fits a model to the rest of a trace. The model contains the data of the fit ([`UserModel::fitted`]).
///
/// # Errors
/// If the trace cannot be read, has no actions within sessions, or no session that ended.
pub fn learn<R: Read>(trace: &mut Reader<R>, name: &str) -> Result<UserModel, LearnError> {
    let mut walks = Walks::default();
    while let Some(record) = trace.next_record()? {
        walks.take(&record);
    }
    walks.finish();
    let beyond_login: u64 = walks.pairs.iter().skip(1).flatten().sum();
    if walks.sessions.all == 0 && !walks.left_out.is_empty() {
        let actions: Vec<&str> = walks.left_out.keys().take(NAMED_ACTIONS).map(String::as_str).collect();
        return Err(LearnError::OtherActions(actions.join(", ")));
    }
    if beyond_login == 0 {
        return Err(LearnError::TotalsAlone(walks.sessions.all));
    }
    if walks.pairs.iter().all(|row| row[0] == 0) {
        return Err(LearnError::NoEnd(walks.sessions.all));
    }
    let source = format!("{} ({} records)", trace.header().source, trace.records());
    model(name, source, trace.records(), walks)
}

fn model(name: &str, source: String, records: u64, mut walks: Walks) -> Result<UserModel, LearnError> {
    let (back, previous_page) = previous_page_returns(&walks);
    let goes_back: Vec<usize> = back.iter().filter_map(|back| index(&back.state)).collect();
    let states = keep_walkable(&mut walks);
    let rows: Vec<usize> = states.iter().copied().filter(|state| !goes_back.contains(state)).collect();
    let cells = cells(&walks, &rows, &states);
    let (mut order, worth) = order::of(&walks.triples, &goes_back);
    let mut transitions: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.count > 0) {
        transitions.entry(cell.from.clone()).or_default().insert(cell.to.clone(), cell.share);
    }
    let think: BTreeMap<_, _> =
        states.iter().filter_map(|&at| Some((STATES[at].to_owned(), law::of(&walks.pauses.after[at])?))).collect();
    let mut model = UserModel {
        version: VERSION,
        name: name.to_owned(),
        source,
        start: LOGIN.into(),
        transitions,
        second: order::rows(&walks.triples, &worth, &states),
        think: think.iter().map(|(state, pauses)| (state.clone(), pauses.law.clone())).collect(),
        think_to: think_to(&walks, &states),
        think_profiles: BTreeMap::new(),
        fitted: None,
    };
    // Pairs of pages that occur in cut sessions only can have no next page.
    if !model.second.is_empty() && model.check().is_err() {
        model.second.clear();
        order.verdict += ", but not all of its sessions would end: the model is of first order";
    }
    let lengths = lengths(&walks, &model, previous_page)?;
    let sizes = walks.sizes.iter().filter_map(|(action, sizes)| Some((action.clone(), sizes.quantiles()?)));
    model.fitted = Some(Box::new(Fitted {
        read: Extent {
            records,
            sessions: walks.sessions.all,
            cut: walks.sessions.cut,
            without_login: walks.sessions.without_login,
            users: walks.users(),
            length: Duration::from_micros(walks.end),
        },
        previous_page,
        confidence: CONFIDENCE,
        cells,
        order,
        back,
        think,
        lengths,
        sizes: sizes.collect(),
        folders: walks.folders().quantiles(),
        arrivals: std::mem::take(&mut walks.arrivals).arrivals(walks.end),
        left_out: walks.left_out,
    }));
    Ok(model)
}

/// Leaves out and counts transitions into states that no session leaves or reaches.
fn keep_walkable(walks: &mut Walks) -> BTreeSet<usize> {
    let states = walkable(&walks.pairs);
    for at in (0..COUNT).filter(|at| !states.contains(at)) {
        let lost: u64 = walks.pairs.iter().map(|row| row[at]).sum();
        if lost > 0 {
            *walks.left_out.entry(STATES[at].into()).or_default() += lost;
        }
        for other in 0..COUNT {
            walks.pairs[other][at] = 0;
            walks.pairs[at][other] = 0;
        }
    }
    states
}

/// The smallest number of transitions for a rule of a state, and the share that must follow the rule.
const LEAST_BACK: u64 = 10;
const SHARE_BACK: f64 = 0.95;

/// The states after which users return, by the better reading. Only delete and refile can be such states.
fn previous_page_returns(walks: &Walks) -> (Vec<PreviousPageReturns>, PreviousPage) {
    let of = |reading: PreviousPage| -> Vec<PreviousPageReturns> {
        let back = ["delete", "refile"].into_iter().filter_map(|state| {
            let at = index(state)?;
            let mut back = PreviousPageReturns { state: state.into(), seen: 0, returned: 0 };
            for (before, triples) in STATES.iter().zip(&walks.triples) {
                back.seen += triples[at].iter().sum::<u64>();
                back.returned += triples[at][index(reading.after(before))?];
            }
            (back.seen >= LEAST_BACK && back.returned as f64 >= SHARE_BACK * back.seen as f64).then_some(back)
        });
        back.collect()
    };
    let returned = |back: &[PreviousPageReturns]| back.iter().map(|back| back.returned).sum::<u64>();
    let (literal, list) = (of(PreviousPage::Literal), of(PreviousPage::List));
    if returned(&list) > returned(&literal) { (list, PreviousPage::List) } else { (literal, PreviousPage::Literal) }
}

/// Every cell between states that were seen, with its simultaneous interval.
fn cells(walks: &Walks, rows: &[usize], states: &BTreeSet<usize>) -> Vec<Cell> {
    let alpha = (1.0 - CONFIDENCE) / (rows.len() * states.len()).max(1) as f64;
    let mut cells = Vec::new();
    for &from in rows {
        let left: u64 = walks.pairs[from].iter().sum();
        for &to in states {
            let count = walks.pairs[from][to];
            let (low, high) = interval::share(count, left, alpha);
            let share = count as f64 / left.max(1) as f64;
            let think = law::of(&walks.pauses.by_step[from][to]);
            cells.push(Cell { from: STATES[from].into(), to: STATES[to].into(), count, share, low, high, think });
        }
    }
    cells
}

/// The laws of single transitions, of those that were seen often enough: the others have the pause of their page.
fn think_to(walks: &Walks, states: &BTreeSet<usize>) -> BTreeMap<String, BTreeMap<String, Think>> {
    let mut laws: BTreeMap<String, BTreeMap<String, Think>> = BTreeMap::new();
    let ways = states.iter().flat_map(|&from| states.iter().map(move |&to| (from, to)));
    for (from, to) in ways.filter(|&(from, to)| walks.pauses.by_step[from][to].count() >= law::LEAST as u64) {
        if let Some(pauses) = law::of(&walks.pauses.by_step[from][to]) {
            laws.entry(STATES[from].into()).or_default().insert(STATES[to].into(), pauses.law);
        }
    }
    laws
}

/// Observed session lengths, compared with those of the matrix.
fn lengths(walks: &Walks, model: &UserModel, previous: PreviousPage) -> Result<Option<Lengths>, ModelError> {
    let statistics = Statistics::of(model, previous)?;
    let Some(seen) = walks.lengths.quantiles() else { return Ok(None) };
    let total: u64 = walks.sessions.by_length.iter().sum();
    let mut cells: Vec<(f64, f64)> = Vec::new();
    let (mut expected, mut counted) = (0.0, 0.0);
    let longest = statistics.lengths.len().max(walks.sessions.by_length.len());
    for length in 1..=longest {
        expected += total as f64 * statistics.lengths.get(length - 1).copied().unwrap_or(0.0);
        counted += walks.sessions.by_length.get(length).copied().unwrap_or(0) as f64;
        if expected >= LEAST_EXPECTED {
            cells.push((expected, counted));
            (expected, counted) = (0.0, 0.0);
        }
    }
    if let Some(last) = cells.last_mut() {
        last.0 += expected;
        last.1 += counted;
    }
    let p = pearson(&cells, 0).p;
    Ok(Some(Lengths { seen, model_mean: statistics.mean, p }))
}

fn index(state: &str) -> Option<usize> {
    STATES.iter().position(|known| *known == state)
}

#[cfg(test)]
mod tests;
