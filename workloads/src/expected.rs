//! What users expect of an answer, beyond that there is one.

use regex::bytes::{Regex, RegexBuilder};

use crate::{
    persona::Answer,
    plan::{AnswerCheck, MOST_BODY},
    text::Text,
};

/// The size of a compiled regular expression at most, in bytes. Matching takes time linear in the text.
const LARGEST_REGEX: usize = 1 << 20;

/// An [`AnswerCheck`], ready to be made.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    /// Empty: those that users take for an answer.
    statuses: Vec<u16>,
    conditions: Vec<Condition>,
    /// What is said of an answer that is not as expected: of its status first, then of each condition.
    objections: Vec<String>,
}

/// What a body is to have.
#[derive(Debug)]
enum Condition {
    Matches(Regex),
    /// A text with the number of the request in it.
    Numbered(Text),
    Length {
        least: usize,
        most: usize,
    },
}

/// The number of what an answer had not, in the order of [`Expected`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Objection(u8);

/// A part of a check that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CheckProblem {
    /// The key of the check.
    pub(crate) key: &'static str,
    pub(crate) problem: String,
    pub(crate) remedy: String,
}

/// A regular expression for parts of answers.
pub(crate) fn regex(text: &str) -> Result<Regex, CheckProblem> {
    RegexBuilder::new(text).size_limit(LARGEST_REGEX).build().map_err(|error| {
        let said = error.to_string();
        let last = said.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        let problem = format!("{text:?} is not a regular expression: {last}");
        let remedy = "syntax: docs.rs/regex (no look-around, no back-references)".to_owned();
        CheckProblem { key: "body", problem, remedy }
    })
}

impl AnswerCheck {
    /// What of it no answer can meet, or cannot be looked for, with the way out.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let (_, problems) = Expected::of(self);
        problems.first().map(|CheckProblem { problem, remedy, .. }| format!("{problem}: {remedy}"))
    }
}

impl Expected {
    /// The parts of this check that can be made, and the problems of the others.
    pub(crate) fn of(check: &AnswerCheck) -> (Self, Vec<CheckProblem>) {
        let AnswerCheck { status, body, texts, at_least, at_most } = check;
        let named: Vec<String> = status.iter().map(u16::to_string).collect();
        let mut expected = Self {
            statuses: status.clone(),
            conditions: Vec::new(),
            objections: vec![format!("answer without status {}", named.join(" or "))],
        };
        let mut problems = Vec::new();
        for status in status.iter().filter(|status| !(100..=599).contains(*status)) {
            let (problem, remedy) = (format!("{status} is not a status"), "100 to 599".to_owned());
            problems.push(CheckProblem { key: "status", problem, remedy });
        }
        match body.as_deref().map(regex) {
            None => {}
            Some(Ok(made)) => {
                let objection = format!("answer without a match of {:?}", made.as_str());
                expected.add(Condition::Matches(made), objection);
            }
            Some(Err(problem)) => problems.push(problem),
        }
        for text in texts {
            let objection = format!("answer without the text {text:?}");
            let filled = Text::of(text);
            match (&filled, regex(&regex::escape(text))) {
                (Text::Filled(_), _) if filled.numbered(0).is_none() => {
                    let problem = format!("{text:?} has a drawn placeholder, which is not known when the answer comes");
                    problems.push(CheckProblem { key: "texts", problem, remedy: "{{number}} alone is".to_owned() });
                }
                (Text::Filled(_), _) => expected.add(Condition::Numbered(filled), objection),
                (Text::Fixed(_), Ok(made)) => expected.add(Condition::Matches(made), objection),
                (Text::Fixed(_), Err(problem)) => problems.push(CheckProblem { key: "texts", ..problem }),
            }
        }
        let (least, most) = (at_least.unwrap_or(0), at_most.unwrap_or(usize::MAX));
        let wanted = match (at_least, at_most) {
            (None, None) => return (expected, problems),
            (Some(_), None) => format!(">= {least}"),
            (None, Some(_)) => format!("<= {most}"),
            (Some(_), Some(_)) if least == most => format!("= {least}"),
            (Some(_), Some(_)) => format!(">= {least} and <= {most}"),
        };
        if least > most {
            let remedy = "no length is that".to_owned();
            problems.push(CheckProblem { key: "bytes", problem: format!("bytes {wanted}"), remedy });
        }
        expected.add(Condition::Length { least, most }, format!("answer without bytes {wanted}"));
        (expected, problems)
    }

    fn add(&mut self, condition: Condition, objection: String) {
        self.conditions.push(condition);
        self.objections.push(objection);
    }

    /// True if this status is asked for although it would send users elsewhere, or turn them away. A page that may have a
    /// refresh is never the whole answer.
    pub(crate) fn takes(&self, status: u16) -> bool {
        self.statuses.contains(&status) && !matches!(status, 200 | 201 | 203..=299)
    }

    /// Whether this status is as expected; `usual`: where no status was named.
    pub(crate) fn allows(&self, status: u16, usual: bool) -> bool {
        if self.statuses.is_empty() { usual } else { self.statuses.contains(&status) }
    }

    /// The first thing that an answer to the request with this number has not, where one was named; `unseen`: what would be in its body is
    /// not known.
    pub(crate) fn objection(&self, answer: &Answer<'_>, number: u64, unseen: bool) -> Option<Objection> {
        if !self.statuses.is_empty() && !self.statuses.contains(&answer.status) {
            return Some(Objection(0));
        }
        let body = &answer.body[..answer.body.len().min(MOST_BODY)];
        let missing = |condition: &Condition| match condition {
            Condition::Matches(regex) => !regex.is_match(body),
            Condition::Numbered(text) => {
                let wanted = text.numbered(number).unwrap_or_default();
                !body.windows(wanted.len().max(1)).any(|part| part == wanted.as_bytes())
            }
            Condition::Length { least, most } => !(*least..=*most).contains(&answer.length),
        };
        let nth = self.conditions.iter().position(missing).filter(|_| !unseen)?;
        Some(Objection(u8::try_from(nth + 1).unwrap_or(u8::MAX)))
    }

    /// What is said of it.
    pub(crate) fn said(&self, objection: Objection) -> Option<&str> {
        self.objections.get(usize::from(objection.0)).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(check: &AnswerCheck, answer: Answer<'_>) -> String {
        let (expected, problems) = Expected::of(check);
        assert!(problems.is_empty(), "{problems:?}");
        let objection = expected.objection(&answer, 7, false);
        objection.and_then(|objection| expected.said(objection)).unwrap_or_default().to_owned()
    }

    #[test]
    fn the_first_thing_that_an_answer_has_not_is_named() {
        let check = AnswerCheck {
            status: vec![200, 204],
            body: Some("^o".to_owned()),
            texts: vec!["k.".to_owned(), "(".to_owned()],
            at_least: Some(4),
            at_most: Some(5),
        };
        let answer = |status, body: &'static [u8]| said(&check, Answer::whole(status, &[], body));
        assert_eq!(answer(404, b"ok.("), "answer without status 200 or 204");
        assert_eq!(answer(200, b"nok.("), "answer without a match of \"^o\"");
        assert_eq!(answer(200, b"okk("), "answer without the text \"k.\"", "a text is no regular expression");
        assert_eq!(answer(200, b"ok.)"), "answer without the text \"(\"");
        assert_eq!(answer(200, b"ok.(()"), "answer without bytes >= 4 and <= 5");
        assert_eq!(answer(204, b"ok.("), "");
    }

    #[test]
    fn a_text_may_have_the_number_of_the_request() {
        let check = |text: &str| AnswerCheck { texts: vec![text.to_owned()], ..AnswerCheck::default() };
        let item = check("item {{number}}.");
        assert_eq!(said(&item, Answer::whole(200, &[], b"this is item 7.")), "");
        let swapped = said(&item, Answer::whole(200, &[], b"this is item 8."));
        assert_eq!(swapped, "answer without the text \"item {{number}}.\"");
        for drawn in ["{{uuid}}", "a{{1..9}}"] {
            assert!(check(drawn).problem().is_some_and(|problem| problem.contains("{{number}} alone is")), "{drawn}");
        }
        assert_eq!(said(&check("{{name}}"), Answer::whole(200, &[], b"{{name}}")), "", "no placeholder");
    }

    #[test]
    fn lengths_are_those_of_whole_bodies_and_what_cannot_hold_is_a_problem() {
        let check = |at_least, at_most| AnswerCheck { at_least, at_most, ..AnswerCheck::default() };
        let long = Answer { length: 100, ..Answer::whole(200, &[], b"") };
        assert_eq!(said(&check(Some(100), None), long), "");
        assert_eq!(said(&check(Some(101), None), long), "answer without bytes >= 101");
        assert_eq!(said(&check(None, Some(99)), long), "answer without bytes <= 99");
        assert_eq!(said(&check(Some(7), Some(7)), long), "answer without bytes = 7");
        assert_eq!(said(&AnswerCheck::default(), long), "");
        let keys = |check: &AnswerCheck| Expected::of(check).1.iter().map(|problem| problem.key).collect::<Vec<_>>();
        assert_eq!(keys(&check(Some(2), Some(1))), ["bytes"]);
        let odd = AnswerCheck { status: vec![99], body: Some("(".to_owned()), ..AnswerCheck::default() };
        assert_eq!(keys(&odd), ["status", "body"]);
    }
}
