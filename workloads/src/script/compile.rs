//! From a test plan to what users walk, with all its problems at once.

use std::collections::{BTreeMap, BTreeSet};

use controllers::Kind;
use regex::bytes::Regex;
use traces::Think;

use super::{
    extract::{Extractor, LONGEST_VALUE},
    problem::ScriptProblem,
    program::{Instruction, Prepared, Program},
    text::{Part, Piece, Text, ValueName, pieces},
    ways,
};
use crate::{
    expected::{CheckProblem, Expected, regex},
    headers::header_lines,
    persona::Method,
    plan::{AnswerCheck, Conduct, Extraction, PlanBranch, PlanItem, PlanStep, ScriptUsers, ValueSource},
};

/// Steps of a plan at most.
pub const MOST_STEPS: usize = 256;
/// Names of values in a plan at most: each user has room for all of them.
pub const MOST_VALUES: usize = 64;
/// The longest name of a step or value, in bytes.
const LONGEST_NAME: usize = 64;
/// In `then`, the end of the session in place of a step.
const END: &str = "end";

/// Compiles the plan of these users.
///
/// # Errors
/// All problems, in the order of the steps.
pub(super) fn program(users: &ScriptUsers) -> Result<Program, Vec<ScriptProblem>> {
    let mut compiler = Compiler::new(users);
    compiler.conduct(&users.conduct);
    let count = users.plan.steps().count();
    if count == 0 {
        compiler.problem(None, "steps", "there is no step", "for example - {name: start, url: /}");
    } else if count > MOST_STEPS {
        compiler.problem(None, "steps", format!("there are {count} steps"), format!("at most {MOST_STEPS}"));
    } else {
        compiler.list(&users.plan.items);
        let before = compiler.problems.len();
        compiler.link();
        // Of a plan with ways that lead nowhere it is not known where one gets to.
        let linked = compiler.problems.len() == before;
        compiler.prepare(linked);
    }
    let Compiler { code, steps, names, values, problems, .. } = compiler;
    if problems.is_empty() { Ok(Program { code, steps, names, values: values.len() }) } else { Err(problems) }
}

struct Compiler<'a> {
    users: &'a ScriptUsers,
    /// Numbers of values.
    values: BTreeMap<&'a str, usize>,
    /// Values that URLs begin with.
    links: BTreeSet<&'a str>,
    code: Vec<Instruction>,
    /// The steps as they are written, each with its place in the code.
    written: Vec<(&'a PlanStep, usize)>,
    steps: Vec<Prepared>,
    names: Vec<String>,
    problems: Vec<ScriptProblem>,
}

/// A step that is being compiled: its number and name, and the values that every way to it has extracted.
struct Here<'a> {
    number: usize,
    step: &'a PlanStep,
    known: &'a BTreeSet<&'a str>,
}

impl<'a> Compiler<'a> {
    fn new(users: &'a ScriptUsers) -> Self {
        let (mut values, mut links) = (BTreeMap::new(), BTreeSet::new());
        for step in users.plan.steps() {
            for extraction in &step.extract {
                let next = values.len();
                values.entry(extraction.name.as_str()).or_insert(next);
            }
            if let Ok(pieces) = pieces(&step.url)
                && let Some(Piece::Named { name, encoded: false }) = pieces.first()
            {
                links.insert(*name);
            }
        }
        let (code, written, steps, names, problems) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { users, values, links, code, written, steps, names, problems }
    }

    fn problem(
        &mut self,
        step: Option<&Here<'_>>,
        key: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let step = step.map(|here| (here.number, here.step.name.clone()));
        self.problems.push(ScriptProblem { step, key: key.into(), problem: problem.into(), remedy: remedy.into() });
    }

    fn conduct(&mut self, conduct: &Conduct) {
        let Conduct { no_show, early, shares_token, forges_token, token, group } = conduct;
        for (key, share) in
            [("no_show", no_show), ("early", early), ("shares_token", shares_token), ("forges_token", forges_token)]
        {
            if !(0.0..=1.0).contains(share) {
                self.problem(None, key, format!("{share} is not a share"), "0 to 1");
            }
        }
        for (key, sum) in [("early", no_show + early), ("forges_token", shares_token + forges_token)] {
            if sum > 1.0 {
                self.problem(None, key, format!("the shares come to {sum}"), "together at most 1");
            }
        }
        if *shares_token > 0.0 && *group < 2 {
            self.problem(None, "group", "a group of one has nobody to share a token with", "write group: 10");
        }
        if shares_token + forges_token > 0.0 && token.is_none() {
            self.problem(
                None,
                "token",
                "it is not said where the token is",
                "write token: {cookie: NAME} or {query: NAME}",
            );
        }
    }

    /// Lays out a list of steps and choices.
    fn list(&mut self, items: &'a [PlanItem]) {
        for item in items {
            match item {
                PlanItem::Step(step) => {
                    let number = self.written.len();
                    self.written.push((step, self.code.len()));
                    self.code.push(Instruction::Ask(number));
                    if !step.then.is_empty() {
                        // Where to is known once all steps have their places.
                        self.code.push(Instruction::Choose(Vec::new()));
                    }
                }
                PlanItem::Choice(branches) => self.choice(branches),
            }
        }
    }

    fn choice(&mut self, branches: &'a [PlanBranch]) {
        let at = self.code.len();
        self.code.push(Instruction::Choose(Vec::new()));
        let (mut places, mut ends, mut upto) = (Vec::new(), Vec::new(), 0.0);
        for branch in branches {
            if !(branch.weight.is_finite() && branch.weight > 0.0) {
                self.problem(None, "choose", format!("a weight is {}", branch.weight), "weights are over 0");
            }
            if branch.items.is_empty() {
                self.problem(None, "choose", "a list of it has no step", "give it one, or leave it out");
            }
            upto += branch.weight;
            places.push((upto, self.code.len()));
            self.list(&branch.items);
            ends.push(self.code.len());
            self.code.push(Instruction::Jump(0));
        }
        if branches.is_empty() {
            self.problem(None, "choose", "there is nothing to choose", "write choose: [{weight: 1, steps: […]}]");
        }
        let end = self.code.len();
        self.code[at] = Instruction::Choose(places);
        ends.into_iter().for_each(|jump| self.code[jump] = Instruction::Jump(end));
    }

    /// Fills in where users go after the steps that say so.
    fn link(&mut self) {
        let place_of: BTreeMap<&str, usize> =
            self.written.iter().map(|(step, place)| (step.name.as_str(), *place)).collect();
        for number in 0..self.written.len() {
            let (step, place) = self.written[number];
            if step.then.is_empty() {
                continue;
            }
            let (mut places, mut upto) = (Vec::new(), 0.0);
            for (name, weight) in &step.then {
                let here = Here { number, step, known: &BTreeSet::new() };
                if !(weight.is_finite() && *weight > 0.0) {
                    self.problem(
                        Some(&here),
                        "then",
                        format!("the weight of {name} is {weight}"),
                        "weights are over 0",
                    );
                }
                upto += weight;
                match place_of.get(name.as_str()) {
                    Some(_) if name == END => {
                        let problem = format!("{END} ends the session, and a step is called {END} too");
                        self.problem(Some(&here), "then", problem, "give the step another name");
                    }
                    None if name == END => places.push((upto, self.code.len())),
                    Some(&place) => places.push((upto, place)),
                    None => {
                        let steps: Vec<&str> = place_of.keys().copied().collect();
                        let remedy = format!("the steps are {}; {END} ends the session", steps.join(", "));
                        self.problem(Some(&here), "then", format!("there is no step {name:?}"), remedy);
                    }
                }
            }
            self.code[place + 1] = Instruction::Choose(places);
        }
    }

    /// Prepares the steps, each with the values that every way to it has extracted.
    fn prepare(&mut self, linked: bool) {
        let written = std::mem::take(&mut self.written);
        let known = ways::known(&self.code, &written);
        let ends = ways::that_end(&self.code);
        let (nothing, all) = (BTreeSet::new(), self.values.keys().copied().collect());
        for (number, (step, place)) in written.into_iter().enumerate() {
            let reached = known[place].as_ref();
            let here = Here { number, step, known: if linked { reached.unwrap_or(&nothing) } else { &all } };
            let prepared = self.step(&here);
            self.steps.push(prepared);
            self.names.push(step.name.clone());
            if !linked {
                continue;
            }
            if reached.is_none() {
                let remedy = "name it in the `then` of another step, or leave it out";
                self.problem(Some(&here), "name", "no way leads to this step", remedy);
            } else if !ends[place] {
                let remedy = format!("give a step after it `then: {{…, {END}: 0.1}}`");
                self.problem(Some(&here), "then", "who comes here never leaves", remedy);
            }
        }
    }

    fn step(&mut self, here: &Here<'_>) -> Prepared {
        let PlanStep { name, method, url, headers, body, extract: _, check, think, then: _ } = here.step;
        if name.is_empty() || name.len() > LONGEST_NAME {
            self.problem(Some(here), "name", "it is empty or too long", format!("1 to {LONGEST_NAME} bytes"));
        } else if self.names.contains(name) {
            let problem = format!("there are two steps called {name:?}");
            self.problem(Some(here), "name", problem, "tables could not tell them apart: give each its own name");
        }
        let known = Method::ALL.map(Method::name).join(", ");
        if Method::of(method).is_none() {
            self.problem(Some(here), "method", format!("users do not know {method:?}"), format!("one of {known}"));
        }
        if let Some(problem) = think.as_ref().and_then(Think::problem) {
            self.problem(Some(here), "think", problem.to_string(), "write think: 5s");
        }
        Prepared {
            kind: Kind(u16::try_from(here.number).unwrap_or_default()),
            method: Method::of(method).unwrap_or(Method::Get),
            url: self.url(here, url),
            lines: self.lines(here, headers),
            body: body.as_ref().map(|body| self.text(here, "body", body)),
            extract: self.extractions(here),
            expected: self.expected(here, check),
            think: think.clone().unwrap_or_else(|| self.users.plan.think.clone()),
        }
    }

    fn expected(&mut self, here: &Here<'_>, check: &AnswerCheck) -> Expected {
        let (expected, problems) = Expected::of(check);
        for CheckProblem { key, problem, remedy } in problems {
            self.problem(Some(here), format!("check.{key}"), problem, remedy);
        }
        expected
    }

    fn url(&mut self, here: &Here<'_>, url: &str) -> Text {
        let begins = url.starts_with('/') || url.starts_with("${");
        if !begins || url.starts_with("//") {
            let remedy = "it begins with / or with ${a link that a step has extracted}: users go to the target alone";
            self.problem(Some(here), "url", format!("{url:?} is not a path"), remedy);
        } else if url.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
            let remedy = "write a blank as %20 and a backslash as %5C";
            self.problem(Some(here), "url", format!("{url:?} has a character that URLs do not have"), remedy);
        }
        self.text(here, "url", url)
    }

    fn lines(&mut self, here: &Here<'_>, headers: &[(String, String)]) -> Text {
        if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("cookie")) {
            let problem = "a user keeps the cookies that it is given, and sends them";
            self.problem(Some(here), "headers", problem, "leave Cookie out");
        }
        match header_lines(&headers.iter().collect::<Vec<_>>()) {
            Ok(lines) => self.text(here, "headers", &lines),
            Err((what, problem)) => {
                self.problem(Some(here), "headers", format!("{what} cannot be sent"), problem);
                Text::Fixed("".into())
            }
        }
    }

    fn text(&mut self, here: &Here<'_>, key: &str, text: &str) -> Text {
        let pieces = match pieces(text) {
            Ok(pieces) => pieces,
            Err(problem) => {
                self.problem(Some(here), key, problem, "a value is written ${name}, and a literal ${ as $${");
                Vec::new()
            }
        };
        let mut parts: Vec<Part> = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Literal(literal) => parts.push(Part::Literal(literal.into())),
                Piece::Named { name, encoded } => {
                    parts.extend(self.named(here, key, name).map(|value| Part::Place { value, encoded }));
                }
            }
        }
        if parts.iter().all(|part| matches!(part, Part::Literal(_))) {
            let literal = |part: Part| if let Part::Literal(text) = part { text.into_string() } else { String::new() };
            return Text::Fixed(parts.into_iter().map(literal).collect::<String>().into());
        }
        Text::Parts(parts.into())
    }

    fn named(&mut self, here: &Here<'_>, key: &str, name: &str) -> Option<ValueName> {
        if let Some(given) = ValueName::given(name) {
            if given != ValueName::UserNumber && self.users.accounts.is_empty() {
                let remedy = "write the name itself, or take ${user-number}";
                self.problem(Some(here), key, format!("${{{name}}}: this target has no accounts"), remedy);
            }
            return Some(given);
        }
        if here.known.contains(name) {
            return self.values.get(name).map(|&number| ValueName::Extracted(number));
        }
        let problem = match self.values.contains_key(name) {
            true => format!("${{{name}}} is not extracted on every way to this step"),
            false => format!("no step extracts ${{{name}}}"),
        };
        let given: &[&str] = match self.users.accounts.is_empty() {
            true => &["user-number"],
            false => &["user", "password", "user-number"],
        };
        let all: Vec<&str> = here.known.iter().chain(given).copied().collect();
        self.problem(Some(here), key, problem, format!("known here: {}", all.join(", ")));
        None
    }

    fn extractions(&mut self, here: &Here<'_>) -> Vec<Extractor> {
        if self.values.len() > MOST_VALUES {
            let problem = format!("there are {} values", self.values.len());
            self.problem(Some(here), "extract", problem, format!("at most {MOST_VALUES}"));
            return Vec::new();
        }
        let mut names = BTreeSet::new();
        let mut extractors = Vec::new();
        for extraction in &here.step.extract {
            let key = format!("extract.{}", extraction.name);
            if !names.insert(&extraction.name) {
                let problem = format!("{} is extracted twice here", extraction.name);
                self.problem(Some(here), &key, problem, "give each value its own name");
            }
            extractors.extend(self.extraction(here, &key, extraction));
        }
        extractors
    }

    fn extraction(&mut self, here: &Here<'_>, key: &str, extraction: &Extraction) -> Option<Extractor> {
        let Extraction { name, from, regex, default, in_virtual_time } = extraction;
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(fits) {
            self.problem(Some(here), key, format!("{name:?} is not a valid value name"), "letters, digits, - and _");
        } else if ValueName::given(name).is_some() {
            self.problem(Some(here), key, format!("every user has a {name} already"), "give the value another name");
        }
        let is_link = self.links.contains(name.as_str());
        for (written, text) in [("default", default), ("virtual", in_virtual_time)] {
            let Some(text) = text else { continue };
            let key = format!("{key}.{written}");
            if text.len() > LONGEST_VALUE || text.contains(|c: char| c.is_control()) {
                let problem = format!("it is over {LONGEST_VALUE} bytes long, or has a control character");
                self.problem(Some(here), key, problem, "a value is one line");
            } else if is_link && (!text.starts_with('/') || text.starts_with("//") || text.contains([' ', '\\'])) {
                let problem = format!("{text:?} is not a path, and a URL begins with ${{{name}}}");
                self.problem(Some(here), key, problem, "write /path");
            }
        }
        let key = format!("{key}.regex");
        let regex = match regex {
            Some(regex) => Some(self.regex(here, &key, regex)?),
            None if *from == ValueSource::Body => {
                let remedy = "write one with a group round the value: 'token=([0-9a-f]+)'";
                self.problem(Some(here), key, "a value of the body needs a regular expression", remedy);
                return None;
            }
            None => None,
        };
        let number = *self.values.get(name.as_str())?;
        Some(Extractor::new(number, extraction, regex, is_link))
    }

    /// Compiles a regular expression with one group.
    fn regex(&mut self, here: &Here<'_>, key: &str, text: &str) -> Option<Regex> {
        match regex(text) {
            Ok(made) if made.captures_len() == 2 => Some(made),
            Ok(made) => {
                let remedy = "one group is the value: 'token=([0-9a-f]+)'; (?:…) groups without one";
                let problem = format!("{text:?} has {} groups, expected 1", made.captures_len() - 1);
                self.problem(Some(here), key, problem, remedy);
                None
            }
            Err(CheckProblem { problem, remedy, .. }) => {
                self.problem(Some(here), key, problem, remedy);
                None
            }
        }
    }
}
