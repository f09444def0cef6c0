//! Claims and their expressions, as parsed.

use super::{
    metric::{Metric, Quantity},
    unit::Unit,
};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Claim {
    Compare { left: Expr, op: Comparator, right: Expr },
    Between { value: Expr, low: Expr, high: Box<Expr> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
}

/// An expression and where it begins.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Expr {
    pub at: usize,
    pub node: Node,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Number {
        value: f64,
        unit: Unit,
    },
    Metric(Metric),
    Binary {
        op: Operator,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Call {
        function: Function,
        arguments: Vec<Expr>,
    },
    /// The share of the pieces of time for which all of these hold.
    Share(Vec<Condition>),
}

/// A metric over time against a limit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Condition {
    pub at: usize,
    pub metric: Metric,
    pub op: Comparator,
    pub limit: Expr,
}

impl Condition {
    /// Judged second by second; else by parts of its phase.
    pub fn is_of_seconds(&self) -> bool {
        matches!(self.metric.quantity, Quantity::Series { .. })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Max,
    Min,
    Abs,
}

impl Claim {
    fn sides(&self) -> Vec<&Expr> {
        match self {
            Self::Compare { left, right, .. } => vec![left, right],
            Self::Between { value, low, high } => vec![value, low, high],
        }
    }

    /// Changes every metric outside of shares.
    pub fn each_metric(&mut self, change: &mut impl FnMut(&mut Metric)) {
        let sides = match self {
            Self::Compare { left, right, .. } => vec![left, right],
            Self::Between { value, low, high } => vec![value, low, &mut **high],
        };
        sides.into_iter().for_each(|side| side.each_metric(change));
    }

    pub fn metrics(&self) -> Vec<(usize, &Metric)> {
        let mut found = Vec::new();
        self.sides().into_iter().for_each(|side| side.collect(&mut found));
        found
    }

    /// Conditions of all shares.
    pub fn conditions(&self) -> Vec<&Condition> {
        let mut found = Vec::new();
        self.sides().into_iter().for_each(|side| side.conditions(&mut found));
        found
    }
}

impl Expr {
    /// Unit of the value. Parsing has seen to it that both sides of every operator fit.
    pub fn unit(&self) -> Unit {
        match &self.node {
            Node::Number { unit, .. } => *unit,
            Node::Metric(metric) => metric.quantity.unit(),
            Node::Call { arguments, .. } => arguments[0].unit(),
            Node::Share(_) => Unit::Plain,
            Node::Binary { op: Operator::Divide, left, right } if left.unit() == right.unit() => Unit::Plain,
            Node::Binary { op: Operator::Multiply, left, right }
                if left.unit() == Unit::Time || right.unit() == Unit::Time =>
            {
                Unit::Time
            }
            Node::Binary { left, .. } => left.unit(),
        }
    }

    /// Changes every metric outside of shares. No measure has a share in it.
    pub fn each_metric(&mut self, change: &mut impl FnMut(&mut Metric)) {
        match &mut self.node {
            Node::Number { .. } | Node::Share(_) => {}
            Node::Metric(metric) => change(metric),
            Node::Binary { left, right, .. } => {
                left.each_metric(change);
                right.each_metric(change);
            }
            Node::Call { arguments, .. } => arguments.iter_mut().for_each(|argument| argument.each_metric(change)),
        }
    }

    fn conditions<'a>(&'a self, found: &mut Vec<&'a Condition>) {
        match &self.node {
            Node::Number { .. } | Node::Metric(_) => {}
            Node::Binary { left, right, .. } => {
                left.conditions(found);
                right.conditions(found);
            }
            Node::Call { arguments, .. } => arguments.iter().for_each(|argument| argument.conditions(found)),
            Node::Share(conditions) => found.extend(conditions),
        }
    }

    pub fn collect<'a>(&'a self, found: &mut Vec<(usize, &'a Metric)>) {
        match &self.node {
            Node::Number { .. } => {}
            Node::Metric(metric) => found.push((self.at, metric)),
            Node::Binary { left, right, .. } => {
                left.collect(found);
                right.collect(found);
            }
            Node::Call { arguments, .. } => arguments.iter().for_each(|argument| argument.collect(found)),
            Node::Share(conditions) => {
                for condition in conditions {
                    found.push((condition.at, &condition.metric));
                    condition.limit.collect(found);
                }
            }
        }
    }
}

impl Comparator {
    pub const SIGNS: [(&str, Self); 5] = [
        ("<", Self::Less),
        ("<=", Self::LessOrEqual),
        (">", Self::Greater),
        (">=", Self::GreaterOrEqual),
        ("==", Self::Equal),
    ];
}
