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
        self.sides().into_iter().flat_map(Expr::metrics).collect()
    }

    /// Conditions of all shares.
    pub fn conditions(&self) -> Vec<&Condition> {
        self.sides().into_iter().flat_map(Expr::conditions).collect()
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

    /// Sides and arguments.
    fn parts(&self) -> Vec<&Self> {
        match &self.node {
            Node::Binary { left, right, .. } => vec![&**left, &**right],
            Node::Call { arguments, .. } => arguments.iter().collect(),
            Node::Number { .. } | Node::Metric(_) | Node::Share(_) => Vec::new(),
        }
    }

    fn conditions(&self) -> Vec<&Condition> {
        match &self.node {
            Node::Share(conditions) => conditions.iter().collect(),
            _ => self.parts().into_iter().flat_map(Self::conditions).collect(),
        }
    }

    /// Metrics with their places, those of shares included.
    pub fn metrics(&self) -> Vec<(usize, &Metric)> {
        match &self.node {
            Node::Metric(metric) => vec![(self.at, metric)],
            Node::Share(conditions) => {
                conditions.iter().flat_map(|of| [vec![(of.at, &of.metric)], of.limit.metrics()].concat()).collect()
            }
            _ => self.parts().into_iter().flat_map(Self::metrics).collect(),
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
