//! Users that walk a test plan: requests whose URLs are built from what earlier pages said.
//!
//! After the load generator of WebQ (section V-B): regular expressions take patterns out of answers, URLs are built from
//! them, waits are followed, and pauses lie between requests.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use super::behaviour::{Account, Behaviour, ConnectionHabit};

/// The part of a body, in bytes from its beginning, in which users of a test plan look for values: 256 KiB.
pub const MOST_BODY: usize = 256 * 1024;

/// Users that walk a test plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScriptUsers {
    /// The plan, which each session walks once from its beginning.
    pub plan: TestPlan,
    /// The conduct of users who are told to wait.
    pub conduct: Conduct,
    /// Accounts: `${user}` and `${password}` of user n are those of account n modulo their number.
    pub accounts: Vec<Account>,
    /// Reactions of a user to failed attempts; `Login` begins the plan anew.
    pub behaviour: Behaviour,
    /// The connections that users use.
    pub connections: ConnectionHabit,
}

impl ScriptUsers {
    /// Honest users that walk this plan without accounts, with the default behaviour, each on a connection that it
    /// keeps.
    #[must_use]
    pub fn new(plan: TestPlan) -> Self {
        Self {
            plan,
            conduct: Conduct::default(),
            accounts: Vec::new(),
            behaviour: Behaviour::default(),
            connections: ConnectionHabit::PerUser,
        }
    }
}

/// A test plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestPlan {
    /// What is done, in this order.
    pub items: Vec<PlanItem>,
    /// The pause after an answer, where a step has none of its own.
    pub think: traces::Think,
}

impl TestPlan {
    /// A plan with these items, without pauses.
    #[must_use]
    pub fn new(items: Vec<PlanItem>) -> Self {
        Self { items, think: traces::Think::Constant(Duration::ZERO) }
    }

    /// All steps, in the order in which they are written.
    pub fn steps(&self) -> impl Iterator<Item = &PlanStep> {
        let mut all = Vec::new();
        collect(&self.items, &mut all);
        all.into_iter()
    }

    /// The plan with this change of every step.
    #[must_use]
    pub fn map(&self, change: &impl Fn(&PlanStep) -> PlanStep) -> Self {
        Self { items: map(&self.items, change), ..self.clone() }
    }

    /// True if a step looks for something in the bodies of answers.
    pub(crate) fn reads_bodies(&self) -> bool {
        let from_body = |extraction: &Extraction| extraction.from == ValueSource::Body;
        self.steps().any(|step| step.check.reads_bodies() || step.extract.iter().any(from_body))
    }
}

fn collect<'a>(items: &'a [PlanItem], all: &mut Vec<&'a PlanStep>) {
    for item in items {
        match item {
            PlanItem::Step(step) => all.push(step),
            PlanItem::Choice(branches) => branches.iter().for_each(|branch| collect(&branch.items, all)),
        }
    }
}

fn map(items: &[PlanItem], change: &impl Fn(&PlanStep) -> PlanStep) -> Vec<PlanItem> {
    let branch = |branch: &PlanBranch| PlanBranch { weight: branch.weight, items: map(&branch.items, change) };
    let one = |item: &PlanItem| match item {
        PlanItem::Step(step) => PlanItem::Step(Box::new(change(step))),
        PlanItem::Choice(branches) => PlanItem::Choice(branches.iter().map(branch).collect()),
    };
    items.iter().map(one).collect()
}

/// A step, or a choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanItem {
    /// One request.
    Step(Box<PlanStep>),
    /// One of several lists, drawn by weight each time.
    Choice(Vec<PlanBranch>),
}

/// One of the lists of a choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanBranch {
    /// How often it is drawn, in proportion to the weights of the others; over 0.
    pub weight: f64,
    /// Its items.
    pub items: Vec<PlanItem>,
}

/// A request of a test plan. In `url`, header values and `body`, `${name}` stands for a value that a step before has
/// extracted, or for `user`, `password` (the user's account) or `user-number` (from 0); `${name|url}` is the value
/// percent-encoded, for a place in a query or a form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanStep {
    /// The request type in tables.
    pub name: String,
    /// The method: one of [`Method::ALL`](crate::persona::Method::ALL).
    pub method: String,
    /// Path and query, or a value that is a link: a URL that begins with `${name}` is resolved as a link on the page
    /// where the value was found.
    pub url: String,
    /// Header lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Values to remember of the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extract: Vec<Extraction>,
    /// What counts as served.
    #[serde(default)]
    pub check: AnswerCheck,
    /// The pause after the answer; `None`: that of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<traces::Think>,
    /// Where the user goes after the answer: names of steps with the relative frequency of each, one drawn every time; `end` ends the
    /// session. Empty: to the next step of the list. Steps that lead to each other are a Markov chain.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub then: BTreeMap<String, f64>,
}

impl PlanStep {
    /// A step that gets this URL, and is served by any 2xx or 3xx.
    #[must_use]
    pub fn get(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            method: "GET".to_owned(),
            url: url.into(),
            headers: Vec::new(),
            body: None,
            extract: Vec::new(),
            check: AnswerCheck::default(),
            think: None,
            then: BTreeMap::new(),
        }
    }
}

/// A value to remember of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Extraction {
    /// Its name in `${name}`: letters, digits, `-` and `_`.
    pub name: String,
    /// The part of the answer that is searched.
    #[serde(default)]
    pub from: ValueSource,
    /// A regular expression with one group, which is the value; the first match counts. `None`: the whole header, cookie
    /// or URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    /// The value where nothing matches; `None`: then the step has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// The value in virtual time, where answers may have no body.
    #[serde(default, rename = "virtual", skip_serializing_if = "Option::is_none")]
    pub in_virtual_time: Option<String>,
}

impl Extraction {
    /// The group of this regular expression in the body.
    #[must_use]
    pub fn from_body(name: impl Into<String>, regex: impl Into<String>) -> Self {
        let (default, in_virtual_time) = (None, None);
        Self { name: name.into(), from: ValueSource::Body, regex: Some(regex.into()), default, in_virtual_time }
    }
}

/// The part of an answer that is searched for a value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueSource {
    /// The first [`MOST_BODY`] bytes of the body; in HTML, character references of the value are decoded.
    #[default]
    Body,
    /// Path and query of the request that was answered, after all redirects and waits.
    Url,
    /// The header of this name.
    Header(String),
    /// The cookie of this name, as the user has it after the answer.
    Cookie(String),
}

/// What counts as served.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswerCheck {
    /// The statuses. A redirect, 429 or 503 in this list is an answer, and is not followed or counted as a reject.
    /// Empty: any 2xx or 3xx.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<u16>,
    /// A regular expression that the first [`MOST_BODY`] bytes of the body match. Not looked at in virtual time where an
    /// answer has no body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Texts that are in the first [`MOST_BODY`] bytes of the body, all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<String>,
    /// The least length of the body, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<usize>,
    /// The greatest length of the body, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<usize>,
}

impl AnswerCheck {
    /// True if it looks for something in the bodies of answers.
    pub(crate) fn reads_bodies(&self) -> bool {
        self.body.is_some() || !self.texts.is_empty()
    }

    /// True if any answer will do that users take for one.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The conduct of users who are told to wait: what WebQ leaves to TokenCheck (section II-C), and what it leaves open.
/// Shares are from 0 to 1.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Conduct {
    /// The share of waits after which the user does not come back. Its request counts as abandoned.
    pub no_show: f64,
    /// The share of waits from which the user comes back early: after a part of the wait, drawn uniformly.
    pub early: f64,
    /// The share of sessions that show the token of another user of their group, if one is known.
    pub shares_token: f64,
    /// The share of sessions that show a forged token: its letters and digits are drawn anew.
    pub forges_token: f64,
    /// Where the token is; `None`: users keep what they are given.
    pub token: Option<TokenPlace>,
    /// Users in a group, by their numbers: 0 to 9 are the first of groups of 10; at least 2.
    pub group: u32,
}

/// The place of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokenPlace {
    /// The cookie of this name.
    Cookie(String),
    /// The parameter of this name in the query of URLs.
    Query(String),
}
