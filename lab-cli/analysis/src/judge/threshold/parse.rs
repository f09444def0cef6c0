//! Tokens to a claim, with units checked: a time is never compared with a plain number.

use super::{
    claim::{Claim, Comparator, Condition, Expr, Function, Node, Operator},
    error::{ThresholdError, error},
    lex::{Token, TokenKind, tokens},
    metric::{Group, Metric, Number, Part, Point, Quantity, Statistic, TimeStatistic, TimesOf, names},
    unit::Unit,
};
use crate::{summary::Measure, text::suggestion};

/// Parentheses within parentheses, at most.
const MAX_DEPTH: usize = 32;
/// Longest threshold, characters: chains of operators are as deep as they are long.
const MAX_LENGTH: usize = 1000;
const NO_METRIC: &str = "a metric is missing";
const EXAMPLE: &str = "for example seda.spike.response_time.p90 < 2s";

pub(super) fn claim(text: &str) -> Result<Claim, ThresholdError> {
    let mut parser = Parser::of(text, Names::Written)?;
    let left = parser.sum()?;
    let claim = if parser.takes_word("between") {
        let low = parser.sum()?;
        if !parser.takes_word("and") {
            return Err(error(parser.at(), "\"and\" is missing", "write between 0.5 and 0.95"));
        }
        let high = parser.sum()?;
        same_unit(&left, &low)?;
        same_unit(&left, &high)?;
        Claim::Between { value: left, low, high: Box::new(high) }
    } else {
        let op = parser.comparator()?;
        let right = parser.sum()?;
        same_unit(&left, &right)?;
        Claim::Compare { left, op, right }
    };
    if parser.next < parser.tokens.len() {
        return Err(error(parser.at(), "the threshold should end here", "write one comparison a line"));
    }
    if claim.metrics().is_empty() {
        return Err(error(0, "nothing is measured here", EXAMPLE));
    }
    Ok(claim)
}

/// Parses one side of a threshold, without names of arms and phases: `response_time.p90`, `class-1.sent / sent`.
pub(super) fn of_any_phase(text: &str) -> Result<Expr, ThresholdError> {
    let mut parser = Parser::of(text, Names::LeftOut)?;
    let expr = parser.sum()?;
    if parser.next < parser.tokens.len() {
        return Err(error(parser.at(), "the measure should end here", "for example response_time.p90"));
    }
    Ok(expr)
}

/// Names at the beginning of metrics: an arm and a phase, or none.
#[derive(Clone, Copy, PartialEq)]
enum Names {
    Written,
    LeftOut,
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    end: usize,
    depth: usize,
    names: Names,
    /// Within `share( … )`, where a gauge stands for its whole series.
    in_share: bool,
}

impl Parser {
    fn of(text: &str, names: Names) -> Result<Self, ThresholdError> {
        let end = text.chars().count();
        if end > MAX_LENGTH {
            return Err(error(MAX_LENGTH, "the threshold is too long", "write one comparison a line"));
        }
        Ok(Self { tokens: tokens(text)?, next: 0, end, depth: 0, names, in_share: false })
    }

    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(self.end, |token| token.at)
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = matches!(self.tokens.get(self.next), Some(Token { kind: TokenKind::Sign(s), .. }) if *s == sign);
        self.next += usize::from(found);
        found
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let found = matches!(
            self.tokens.get(self.next),
            Some(Token { kind: TokenKind::Word { text, quoted: false }, .. }) if text == word
        );
        self.next += usize::from(found);
        found
    }

    /// Takes the sign that comes next, if it is one of these.
    fn one_of<T: Copy>(&mut self, signs: &[(&str, T)]) -> Option<T> {
        signs.iter().find(|(sign, _)| self.takes(sign)).map(|(_, meaning)| *meaning)
    }

    fn comparator(&mut self) -> Result<Comparator, ThresholdError> {
        let missing = "a comparison is missing";
        self.one_of(&Comparator::SIGNS)
            .ok_or_else(|| error(self.at(), missing, "write <, <=, >, >=, == or between … and …"))
    }

    fn sum(&mut self) -> Result<Expr, ThresholdError> {
        let mut left = self.product()?;
        while let Some(op) = self.one_of(&[("+", Operator::Add), ("-", Operator::Subtract)]) {
            let right = self.product()?;
            same_unit(&left, &right)?;
            left = binary(op, left, right);
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expr, ThresholdError> {
        let mut left = self.term()?;
        while let Some(op) = self.one_of(&[("*", Operator::Multiply), ("/", Operator::Divide)]) {
            let right = self.term()?;
            let bad = match op {
                Operator::Multiply => left.unit() == Unit::Time && right.unit() == Unit::Time,
                _ => left.unit() == Unit::Plain && right.unit() == Unit::Time,
            };
            if bad {
                return Err(error(right.at, "this has no unit that could be compared", "divide a time by a time"));
            }
            left = binary(op, left, right);
        }
        Ok(left)
    }

    fn term(&mut self) -> Result<Expr, ThresholdError> {
        let at = self.at();
        if self.takes("(") {
            return self.inside(|parser| {
                let inner = parser.sum()?;
                parser.close(")")?;
                Ok(inner)
            });
        }
        let Some(token) = self.tokens.get(self.next).cloned() else {
            return Err(error(at, "something is missing at the end", EXAMPLE));
        };
        match token.kind {
            TokenKind::Number { value, unit, .. } => {
                self.next += 1;
                Ok(Expr { at, node: Node::Number { value, unit } })
            }
            TokenKind::Word { text, quoted } => {
                self.next += 1;
                if !quoted && self.takes("(") {
                    return self.inside(|parser| parser.call(at, &text));
                }
                let metric = match self.names {
                    Names::Written => self.metric(text)?,
                    Names::LeftOut => self.of_phase((String::new(), String::new(), None), (text, at))?,
                };
                Ok(Expr { at, node: Node::Metric(metric) })
            }
            TokenKind::Sign(sign) => Err(error(at, format!("{sign} is not allowed here"), EXAMPLE)),
        }
    }

    fn inside(&mut self, read: impl FnOnce(&mut Self) -> Result<Expr, ThresholdError>) -> Result<Expr, ThresholdError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(error(self.at(), "too many parentheses within each other", "write it more simply"));
        }
        let expr = read(self)?;
        self.depth -= 1;
        Ok(expr)
    }

    fn close(&mut self, sign: &'static str) -> Result<(), ThresholdError> {
        if self.takes(sign) {
            return Ok(());
        }
        Err(error(self.at(), format!("{sign} is missing"), format!("close what was opened with {sign}")))
    }

    fn call(&mut self, at: usize, name: &str) -> Result<Expr, ThresholdError> {
        if name == "share" && self.names == Names::LeftOut {
            return Err(error(at, "a share cannot be drawn", "draw what it is a share of"));
        }
        if name == "share" {
            return self.share(at);
        }
        let function = match name {
            "max" => Function::Max,
            "min" => Function::Min,
            "abs" => Function::Abs,
            _ => return Err(error(at, format!("there is no function {name}"), "there are max, min, abs and share")),
        };
        let mut arguments = vec![self.sum()?];
        while self.takes(",") {
            let argument = self.sum()?;
            same_unit(&arguments[0], &argument)?;
            arguments.push(argument);
        }
        self.close(")")?;
        if function == Function::Abs && arguments.len() > 1 {
            return Err(error(at, "abs takes one value", "write abs(a - b)"));
        }
        Ok(Expr { at, node: Node::Call { function, arguments } })
    }

    /// `share(METRIC < LIMIT and METRIC > LIMIT)`, after the parenthesis.
    fn share(&mut self, at: usize) -> Result<Expr, ThresholdError> {
        let mut conditions = vec![self.condition()?];
        while self.takes_word("and") {
            let next = self.at();
            let condition = self.condition()?;
            if condition.is_of_seconds() != conditions[0].is_of_seconds() {
                let hint = "ask for gauges alone, or for other metrics alone";
                return Err(error(next, "seconds and parts of phases do not go together", hint));
            }
            conditions.push(condition);
        }
        self.close(")")?;
        Ok(Expr { at, node: Node::Share(conditions) })
    }

    fn condition(&mut self) -> Result<Condition, ThresholdError> {
        let at = self.at();
        let Some(Token { kind: TokenKind::Word { text, .. }, .. }) = self.tokens.get(self.next).cloned() else {
            let hint = "for example share(seda.spike.response_time.p90 <= 1s) >= 70%";
            return Err(error(at, "share takes a comparison", hint));
        };
        self.next += 1;
        self.in_share = true;
        let metric = self.metric(text)?;
        self.in_share = false;
        let op = self.comparator()?;
        let limit = self.sum()?;
        same_unit(&Expr { at, node: Node::Metric(metric.clone()) }, &limit)?;
        Ok(Condition { at, metric, op, limit })
    }

    /// After the arm's name.
    fn metric(&mut self, arm: String) -> Result<Metric, ThresholdError> {
        let (phase, _) = self.segment("a phase is missing", "arm.phase.metric, for example seda.spike.goodput")?;
        let part = self.part()?;
        let named = self.segment(NO_METRIC, &format!("there are: {}", names().join(", ")))?;
        self.of_phase((arm, phase, part), named)
    }

    /// Parses from the metric's name on, or from that of a group before it.
    fn of_phase(
        &mut self,
        (arm, phase, part): (String, String, Option<Part>),
        (mut word, mut at): (String, usize),
    ) -> Result<Metric, ThresholdError> {
        if word == "gauge" {
            let quantity = self.gauge()?;
            return Ok(Metric { arm, phase, part, group: Group::All, quantity, of_fewer: false });
        }
        let mut group = Group::All;
        if !names().contains(&word.as_str()) {
            // Not a metric: it must be a request type or class, with the metric after it.
            let hint = format!("{}; or a request type or class-N before the metric", suggestion(&word, &names()));
            let message = format!("there is no metric {word}");
            group = match word.strip_prefix("class-") {
                Some(class) if !class.is_empty() && class.bytes().all(|b| b.is_ascii_digit()) => {
                    Group::Class(class.to_owned())
                }
                _ => Group::Type(word),
            };
            if !self.dot() {
                return Err(error(at, message, hint));
            }
            self.next -= 1;
            if self.followed_by_statistic() {
                return Err(error(at, message, hint));
            }
            (word, at) = self.segment(NO_METRIC, &format!("there are: {}", names().join(", ")))?;
        }
        let quantity = self.quantity(&word, at)?;
        let whole = part.is_none() && group == Group::All && !self.in_share;
        if matches!(quantity, Quantity::Measure(_)) && !whole {
            let hint = match self.names {
                Names::Written => format!("write {arm}.{phase}.{word}"),
                Names::LeftOut => format!("write {word}"),
            };
            return Err(error(at, format!("{word} is known of whole phases and all requests alone"), hint));
        }
        Ok(Metric { arm, phase, part, group, quantity, of_fewer: false })
    }

    fn quantity(&mut self, word: &str, at: usize) -> Result<Quantity, ThresholdError> {
        let number = Number::find(word).map(Quantity::Number);
        if let Some(whole) = number.or_else(|| Measure::find(word).map(Quantity::Measure)) {
            if self.dot() {
                return Err(error(self.at(), format!("{word} has no parts"), format!("write {word} alone")));
            }
            return Ok(whole);
        }
        let Some(times) = TimesOf::find(word) else {
            return Err(error(at, format!("there is no metric {word}"), suggestion(word, &names())));
        };
        let statistics = Statistic::names();
        let (name, at) =
            self.segment("a statistic is missing", &format!("{word}.p90; there are: {}", statistics.join(", ")))?;
        let Some(statistic) = Statistic::find(&name) else {
            return Err(error(at, format!("there is no statistic {name}"), suggestion(&name, &statistics)));
        };
        Ok(Quantity::Times(times, statistic))
    }

    fn gauge(&mut self) -> Result<Quantity, ThresholdError> {
        let example = "gauge.STAGE.NAME.last, for example gauge.checksum.quality.last";
        let (stage, _) = self.segment("a stage is missing", example)?;
        let (name, _) = self.segment("a gauge is missing", example)?;
        let ends = self.names == Names::LeftOut && !self.dot_follows();
        if self.in_share || ends {
            return Ok(Quantity::Series { stage, name });
        }
        let (word, at) = self.segment("a statistic over time is missing", example)?;
        let Some(over) = TimeStatistic::find(&word) else {
            let hint = suggestion(&word, &TimeStatistic::names());
            return Err(error(at, format!("there is no {word} of a gauge"), hint));
        };
        Ok(Quantity::Gauge { stage, name, over })
    }

    /// `.p90`: what stands before it was meant to be a metric, not a request type.
    fn followed_by_statistic(&self) -> bool {
        matches!(
            self.tokens.get(self.next + 1),
            Some(Token { kind: TokenKind::Word { text, .. }, .. }) if Statistic::find(text).is_some()
        )
    }

    fn dot(&mut self) -> bool {
        self.takes(".")
    }

    fn dot_follows(&self) -> bool {
        matches!(self.tokens.get(self.next), Some(Token { kind: TokenKind::Sign("."), .. }))
    }

    /// A dot and a name, with the place of the name.
    fn segment(&mut self, missing: &str, hint: &str) -> Result<(String, usize), ThresholdError> {
        if !self.dot() {
            return Err(error(self.at(), missing, hint));
        }
        let at = self.at();
        match self.tokens.get(self.next) {
            Some(Token { kind: TokenKind::Word { text, .. }, .. }) => {
                self.next += 1;
                Ok((text.clone(), at))
            }
            Some(Token { kind: TokenKind::Number { .. }, .. }) => {
                Err(error(at, "a name cannot begin with a digit here", "put it in quotes"))
            }
            _ => Err(error(at, missing, hint)),
        }
    }

    /// `[50%..]`, `[..10s]`, `[20%..80%]`.
    fn part(&mut self) -> Result<Option<Part>, ThresholdError> {
        let at = self.at();
        if !self.takes("[") {
            return Ok(None);
        }
        let from = self.point()?;
        if !self.takes("..") {
            return Err(error(self.at(), "a part is a range", "write [50%..], [..10s] or [20%..80%]"));
        }
        let to = self.point()?;
        self.close("]")?;
        Ok(Some(Part { at, from, to }))
    }

    fn point(&mut self) -> Result<Option<Point>, ThresholdError> {
        let at = self.at();
        let point = match self.tokens.get(self.next).map(|token| &token.kind) {
            Some(TokenKind::Number { value, percent: true, .. }) => Point::Share(*value),
            Some(TokenKind::Number { value, unit: Unit::Time, .. }) => Point::Seconds(*value / 1000.0),
            Some(TokenKind::Number { .. }) => {
                return Err(error(at, "a point in a phase needs a unit", "write 50% or 15s"));
            }
            _ => return Ok(None),
        };
        self.next += 1;
        Ok(Some(point))
    }
}

fn binary(op: Operator, left: Expr, right: Expr) -> Expr {
    Expr { at: left.at, node: Node::Binary { op, left: Box::new(left), right: Box::new(right) } }
}

fn same_unit(left: &Expr, right: &Expr) -> Result<(), ThresholdError> {
    if left.unit() == right.unit() {
        return Ok(());
    }
    let (time, plain) = if left.unit() == Unit::Time { (left, right) } else { (right, left) };
    let hint = match (&plain.node, &time.node) {
        (Node::Number { value, .. }, _) => format!("write {value}s or {value}ms"),
        (_, Node::Number { .. }) => "leave out the unit, or ask for a time, like response_time.p90".to_owned(),
        _ => "compare times with times".to_owned(),
    };
    Err(error(right.at, "a time cannot be compared with a plain number", hint))
}
