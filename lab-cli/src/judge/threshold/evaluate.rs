//! A claim against the evidence.

use super::{
    Claim, Evidence, Expr, Function, Node, Threshold, Unit,
    check::share,
    metric::{Group, Metric, Quantity},
    range::Range,
};
use crate::summary::{Measured, Phase, ThresholdResult};

pub(super) fn judge(threshold: &Threshold, evidence: &dyn Evidence) -> ThresholdResult {
    let blocks = evidence.blocks();
    let mut result = ThresholdResult {
        text: threshold.text.clone(),
        held: !blocks.is_empty(),
        why: String::new(),
        values: Vec::new(),
    };
    let mut said = Vec::new();
    for &block in &blocks {
        let (held, value, why) = in_block(&threshold.claim, block, evidence);
        result.held &= held;
        result.values.push(value);
        said.push(if blocks.len() > 1 { format!("block {block}: {why}") } else { why });
    }
    result.why = if blocks.is_empty() { "no arm ran".to_owned() } else { said.join("; ") };
    result
}

/// Whether it held, the left side's value, and why.
fn in_block(claim: &Claim, block: u32, evidence: &dyn Evidence) -> (bool, Option<f64>, String) {
    let value = |expr: &Expr| evaluate(expr, block, evidence);
    let judged = match claim {
        Claim::Compare { left, op, right } => (|| {
            let (l, r) = (value(left)?, value(right)?);
            let unit = left.unit();
            // "found 1.2 s" where the limit is a number in the text anyway; both sides where the limit was measured.
            let right_shown = if constant(right) { String::new() } else { format!(", against {}", shown(r, unit)) };
            Ok((l.holds(*op, r), l.low, format!("found {}{right_shown}", shown(l, unit))))
        })(),
        Claim::Between { value: middle, low, high } => (|| {
            let (v, low, high) = (value(middle)?, value(low)?, value(high)?);
            Ok((v.low >= low.high && v.high <= high.low, v.low, format!("found {}", shown(v, middle.unit()))))
        })(),
    };
    match judged {
        Ok((held, value, why)) => (held, Some(value), why),
        Err(missing) => (false, None, missing),
    }
}

fn evaluate(expr: &Expr, block: u32, evidence: &dyn Evidence) -> Result<Range, String> {
    match &expr.node {
        Node::Number { value, .. } => Ok(Range::exactly(*value)),
        Node::Metric(metric) => measure(metric, block, evidence),
        Node::Binary { op, left, right } => {
            let (left, right) = (evaluate(left, block, evidence)?, evaluate(right, block, evidence)?);
            Range::combine(*op, left, right).ok_or_else(|| "divides by nothing".to_owned())
        }
        Node::Call { function, arguments } => {
            let values: Result<Vec<_>, _> = arguments.iter().map(|a| evaluate(a, block, evidence)).collect();
            Ok(Range::apply(*function, &values?))
        }
    }
}

fn measure(metric: &Metric, block: u32, evidence: &dyn Evidence) -> Result<Range, String> {
    let Metric { arm, phase, part, group, quantity } = metric;
    let whole = evidence
        .phase(arm, block, phase, None)
        .ok_or_else(|| format!("{arm}.{phase} did not run (or not to its end)"))?;
    let part = match part {
        None => None,
        Some(part) => Some(share(part, whole.seconds).map_err(|problem| problem.to_string())?),
    };
    if let Quantity::Gauge { stage, name, over } = quantity {
        let values = evidence.gauge(arm, block, phase, part, (stage, name));
        return over
            .of(&values)
            .map(Range::exactly)
            .ok_or_else(|| format!("{arm}.{phase}: stage {stage} showed no {name}"));
    }
    let phase_or_part = match part {
        None => whole,
        Some(part) => evidence
            .phase(arm, block, phase, Some(part))
            .ok_or_else(|| format!("no parts of {arm}.{phase} were kept"))?,
    };
    let (measured, of) = group_of(&phase_or_part, group);
    let of = format!("{arm}.{phase}{of}");
    let Some(measured) = measured else { return Err(format!("no samples: no requests in {of}")) };
    match quantity {
        Quantity::Number(number) => {
            number.read(measured).map(Range::exactly).ok_or_else(|| format!("no samples: no requests in {of}"))
        }
        Quantity::Times(times, statistic) => {
            let times = times.read(measured);
            match (statistic.value(times), statistic.bound(times)) {
                (Some(value), _) => Ok(Range::exactly(value)),
                (None, Some(bound)) => Ok(Range::at_least(bound)),
                (None, None) if times.count >= statistic.needs => {
                    Err(format!("{} of {of} is hidden by {} time-outs", statistic.name, times.censored))
                }
                (None, None) => Err(format!(
                    "too few samples: {} of {of} needs {}, there are {}",
                    statistic.name, statistic.needs, times.count
                )),
            }
        }
        Quantity::Gauge { .. } => Err("a gauge belongs to a stage".to_owned()),
    }
}

fn group_of<'a>(phase: &'a Phase, group: &Group) -> (Option<&'a Measured>, String) {
    match group {
        Group::All => (Some(&phase.measured), String::new()),
        Group::Type(kind) => (phase.by_type.get(kind), format!(", {kind}")),
        Group::Class(class) => (phase.by_class.get(class), format!(", class {class}")),
    }
}

fn constant(expr: &Expr) -> bool {
    match &expr.node {
        Node::Number { .. } => true,
        Node::Metric(_) => false,
        Node::Binary { left, right, .. } => constant(left) && constant(right),
        Node::Call { function: Function::Max | Function::Min | Function::Abs, arguments } => {
            arguments.iter().all(constant)
        }
    }
}

fn shown(range: Range, unit: Unit) -> String {
    let one = |value: f64| match unit {
        Unit::Time if value.abs() >= 1000.0 => format!("{:.2} s", value / 1000.0),
        Unit::Time => format!("{value:.1} ms"),
        Unit::Plain if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value:.0}"),
        Unit::Plain => format!("{value:.3}"),
    };
    if range.low == range.high {
        one(range.low)
    } else if range.high == f64::INFINITY {
        format!("at least {}", one(range.low))
    } else if range.low == f64::NEG_INFINITY {
        format!("at most {}", one(range.high))
    } else {
        format!("{} to {}", one(range.low), one(range.high))
    }
}
