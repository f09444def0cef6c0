//! Generates a trace from a model: the implementation of `lab trace generate`. The same model, plan and seed give the
//! same bytes.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    io::{self, Write},
    time::Duration,
};

use crate::{
    ModelError, PreviousPage, UserModel,
    trace::{Footer, Header, LEAVE, Names, Record, Writer},
};

/// The parameters of a generated trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The number of sessions, at least 1.
    pub sessions: u64,
    /// The arrival rate of a Poisson process, sessions per second, over 0.
    pub rate: f64,
    /// The number of users, to which sessions belong in turn, at least 1.
    pub users: u64,
    /// The duration of every request.
    pub service: Duration,
    /// The reading of states without a row.
    pub previous_page: PreviousPage,
    /// The root seed.
    pub seed: u64,
}

impl Plan {
    /// A plan for a number of sessions, with the rate and the reading of the model's fit; without a fit, one session
    /// per second.
    #[must_use]
    pub fn of(model: &UserModel, sessions: u64) -> Self {
        let fitted = model.fitted.as_deref();
        let rate = fitted.map_or(1.0, |fitted| fitted.arrivals.per_second);
        Self {
            sessions,
            rate: if rate > 0.0 && rate.is_finite() { rate } else { 1.0 },
            users: sessions.div_ceil(10).max(1),
            service: Duration::from_millis(10),
            previous_page: fitted.map_or(PreviousPage::Literal, |fitted| fitted.previous_page),
            seed: 1,
        }
    }
}

/// The error of a generation.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// The model is invalid.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The plan is invalid.
    #[error("{0}")]
    Plan(&'static str),
    /// The trace cannot be written.
    #[error("the trace cannot be written: {0}")]
    Write(#[from] io::Error),
}

/// The longest trace: ten years.
const LONGEST: u64 = 10 * 366 * 24 * 3600 * 1_000_000;

/// Messages in a user's only folder; a list shows ten.
const MESSAGES: u64 = 200;

/// Simulates the users of a model, and writes their requests. Memory holds the open sessions only. Returns `out`.
///
/// # Errors
/// If the model fails its [check](UserModel::check), the plan has no sessions, users or rate, or `out` cannot be
/// written.
pub fn generate<W: Write>(model: &UserModel, plan: &Plan, out: W) -> Result<W, GenerateError> {
    model.check()?;
    if plan.sessions == 0 || plan.users == 0 {
        return Err(GenerateError::Plan("there must be at least one session and one user"));
    }
    if !(plan.rate > 0.0 && plan.rate.is_finite()) || plan.sessions as f64 / plan.rate > LONGEST as f64 / 1e6 {
        return Err(GenerateError::Plan("the rate must be over 0, and its sessions must begin within ten years"));
    }
    let source =
        format!("generated from the model {} with seed {}; its source: {}", model.name, plan.seed, model.source);
    let mut writer = Writer::new(out, &Header::new(model.name.clone(), source, Names::Generated))?;
    let mut going: BinaryHeap<Reverse<Walker<'_>>> = BinaryHeap::new();
    let mut arrivals = Draws::of(plan.seed, u64::MAX);
    let (mut number, mut arrival) = (0, 0);
    loop {
        // At equal times a new session comes before an open one.
        let next = going.peek().map(|Reverse(walker)| walker.at);
        if number < plan.sessions && next.is_none_or(|at| arrival <= at) {
            going.push(Reverse(Walker::new(model, plan, number, arrival)));
            number += 1;
            arrival += micros(-libm::log(1.0 - arrivals.uniform()) / plan.rate);
            continue;
        }
        let Some(Reverse(mut walker)) = going.pop() else { break };
        writer.write(&walker.record(plan))?;
        if walker.go_on(model, plan) {
            going.push(Reverse(walker));
        }
    }
    Ok(writer.finish(Footer::default())?)
}

/// An open session.
#[derive(Debug)]
struct Walker<'m> {
    /// The time of its next record.
    at: u64,
    number: u64,
    /// The next action; `None`: the session ends.
    state: Option<&'m str>,
    /// The previous page.
    before: &'m str,
    draws: Draws,
}

impl<'m> Walker<'m> {
    fn new(model: &'m UserModel, plan: &Plan, number: u64, at: u64) -> Self {
        let draws = Draws::of(plan.seed, number);
        Self { at, number, state: Some(&model.start), before: &model.start, draws }
    }

    fn record(&mut self, plan: &Plan) -> Record<'static> {
        let record = Record {
            offset: self.at,
            user: format!("u{}", self.number % plan.users).into(),
            session: format!("s{}", self.number).into(),
            ..Record::default()
        };
        let Some(state) = self.state else { return Record { action: LEAVE.into(), ..record } };
        let object = match state {
            "list messages" | "search" => format!("inbox/{}:{MESSAGES}", MESSAGES - 9),
            "show message" | "delete" | "refile" => format!("inbox/{}", 1 + self.draws.below(MESSAGES)),
            _ => String::new(),
        };
        let duration = u64::try_from(plan.service.as_micros()).unwrap_or(u64::MAX);
        Record { action: state.to_owned().into(), object: object.into(), duration: Some(duration), ..record }
    }

    /// Moves to the next page. False: the session is over.
    fn go_on(&mut self, model: &'m UserModel, plan: &Plan) -> bool {
        let Some(state) = self.state else { return false };
        let next = match model.row(self.before, state) {
            None => plan.previous_page.after(self.before),
            Some(row) => self.draws.one_of(row.iter().map(|(to, chance)| (to.as_str(), *chance))),
        };
        let pause = model.pause(state, next).map_or(Duration::ZERO, |law| law.sample(|| self.draws.uniform()));
        let wait = plan.service.saturating_add(pause);
        self.at = self.at.saturating_add(u64::try_from(wait.as_micros()).unwrap_or(u64::MAX));
        self.before = state;
        self.state = (next != model.start).then_some(next);
        true
    }
}

fn micros(seconds: f64) -> u64 {
    (seconds * 1e6).round() as u64
}

impl Ord for Walker<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl PartialOrd for Walker<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Walker<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Walker<'_> {}

/// The random source of one session, independent of other sessions.
#[derive(Debug)]
struct Draws(u64);

impl Draws {
    fn of(seed: u64, number: u64) -> Self {
        let mut state = seed ^ number.wrapping_mul(0xA076_1D64_78BD_642F);
        let mixed = next(&mut state);
        Self(mixed ^ number.rotate_left(32))
    }

    fn uniform(&mut self) -> f64 {
        (next(&mut self.0) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// 0 to `n` - 1; the bias is less than n in 2^64.
    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(next(&mut self.0)) * u128::from(n)) >> 64) as u64
    }

    fn one_of<'m>(&mut self, row: impl Iterator<Item = (&'m str, f64)>) -> &'m str {
        let mut left = self.uniform();
        let mut last = "";
        for (to, chance) in row.filter(|(_, chance)| *chance > 0.0) {
            if left < chance {
                return to;
            }
            left -= chance;
            last = to;
        }
        // Rounding can leave a small rest of the row's sum.
        last
    }
}

/// The next 64 bits of `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014).
pub(crate) fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut bits = *state;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Reader;

    const MODEL: &str = "
name: small
source: made up
start: login
transitions:
  login: {list messages: 1.0}
  list messages: {login: 0.25, delete: 0.75}
think:
  list messages: {exponential: {mean: 1s}}
";

    fn text(seed: u64) -> String {
        let model = UserModel::from_yaml(MODEL).expect("sound");
        let plan = Plan { seed, ..Plan::of(&model, 200) };
        String::from_utf8(generate(&model, &plan, Vec::new()).expect("memory")).expect("text")
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes_and_every_session_ends() {
        let one = text(1);
        assert!(one == text(1) && one != text(2));
        let mut reader = Reader::new(one.as_bytes()).expect("a trace");
        let (mut logins, mut ends, mut deletes, mut lists) = (0, 0, 0, 0);
        while let Some(record) = reader.next_record().expect("in order") {
            match &*record.action {
                "login" => logins += 1,
                "leave" => ends += 1,
                "delete" => deletes += 1,
                _ => lists += 1,
            }
        }
        // After delete comes the list again: one list more than deletes in each session.
        assert_eq!((logins, ends, lists - deletes), (200, 200, 200));
    }

    #[test]
    fn what_cannot_be_generated_is_said() {
        let model = UserModel::from_yaml(MODEL).expect("sound");
        let plan = Plan::of(&model, 10);
        for wrong in
            [Plan { sessions: 0, ..plan.clone() }, Plan { rate: 0.0, ..plan.clone() }, Plan { rate: 1e-300, ..plan }]
        {
            assert!(matches!(generate(&model, &wrong, Vec::new()), Err(GenerateError::Plan(_))), "{wrong:?}");
        }
    }
}
