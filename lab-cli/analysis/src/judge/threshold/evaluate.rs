//! A claim against the evidence.

use super::{
    check::{share, twentieths},
    claim::{Claim, Condition, Expr, Node},
    evidence::Evidence,
    metric::{Group, Metric, Quantity},
    range::Range,
    survivors,
    unit::Unit,
};
use crate::summary::{BlockResult, Measured, PhaseSummary, ThresholdResult};

/// Reason for which there is no value.
pub(super) enum Missing {
    /// There should be one: a claim about it does not hold.
    Value(String),
    /// The run was stopped before there could be one: nothing can be said of a claim about it.
    End(String),
}

impl From<String> for Missing {
    fn from(why: String) -> Self {
        Self::Value(why)
    }
}

pub(super) fn judge(text: &str, claim: &Claim, evidence: &Evidence<'_>) -> ThresholdResult {
    let (mut values, mut blocks) = (Vec::new(), Vec::new());
    for block in evidence.blocks() {
        let (value, result) = in_block(claim, block, evidence);
        values.push(value);
        blocks.push(result);
    }
    let judged = || blocks.iter().filter(|block| block.judged);
    ThresholdResult {
        text: text.to_owned(),
        held: judged().count() > 0 && judged().all(|block| block.held),
        judged: judged().count() > 0,
        why: in_words(&blocks),
        values,
        blocks,
        aborted: None,
    }
}

/// Findings block by block; of many blocks, how many held and those that did not.
fn in_words(blocks: &[BlockResult]) -> String {
    const MANY: usize = 4;
    let named = |of: &BlockResult| format!("block {}: {}", of.block, of.found);
    match blocks {
        [] => "no arm ran".to_owned(),
        [one] => one.found.clone(),
        few if few.len() <= MANY => few.iter().map(named).collect::<Vec<_>>().join("; "),
        many => {
            let others: Vec<&BlockResult> = many.iter().filter(|block| !block.held).collect();
            let judged = many.iter().filter(|block| block.judged).count();
            let mut words = vec![format!("held in {} of {judged} blocks", many.len() - others.len())];
            words.extend(others.iter().take(MANY).copied().map(named));
            if others.len() > MANY {
                words.push("…".to_owned());
            }
            words.join("; ")
        }
    }
}

/// The left side's value, whether it held, and why.
fn in_block(claim: &Claim, block: u32, evidence: &Evidence<'_>) -> (Option<f64>, BlockResult) {
    let (claim, aside) = survivors::told_apart(claim, |metric| answered(metric, block, evidence));
    let value = |expr: &Expr| evaluate(expr, block, evidence);
    let judged = match &claim {
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
    let result = |held, judged, found| BlockResult { block, held, judged, found };
    match judged {
        Ok((held, value, why)) => (Some(value), result(held, true, why + &aside)),
        Err(Missing::Value(why)) => (None, result(false, true, why)),
        Err(Missing::End(why)) => (None, result(false, false, why)),
    }
}

pub(super) fn evaluate(expr: &Expr, block: u32, evidence: &Evidence<'_>) -> Result<Range, Missing> {
    match &expr.node {
        Node::Number { value, .. } => Ok(Range::exactly(*value)),
        Node::Metric(metric) => measure(metric, block, evidence),
        Node::Binary { op, left, right } => {
            let (left, right) = (evaluate(left, block, evidence)?, evaluate(right, block, evidence)?);
            Ok(Range::combine(*op, left, right).ok_or_else(|| "divides by nothing".to_owned())?)
        }
        Node::Call { function, arguments } => {
            let values: Result<Vec<_>, _> = arguments.iter().map(|a| evaluate(a, block, evidence)).collect();
            Ok(Range::apply(*function, &values?))
        }
        Node::Share(conditions) => share_of_time(conditions, block, evidence),
    }
}

/// Pieces of time for which a condition is not known count for none.
fn share_of_time(conditions: &[Condition], block: u32, evidence: &Evidence<'_>) -> Result<Range, Missing> {
    // Of each piece: whether all conditions hold for certain, and whether they may.
    let mut found: Vec<Option<(bool, bool)>> = Vec::new();
    for Condition { metric, op, limit, .. } in conditions {
        let limit = evaluate(limit, block, evidence)?;
        let holding = pieces(metric, block, evidence)?
            .into_iter()
            .map(|piece| piece.map(|piece| (piece.holds(*op, limit), piece.may_hold(*op, limit))));
        if found.is_empty() {
            found = holding.collect();
        } else {
            let both = |a: Option<(bool, bool)>, b: Option<(bool, bool)>| Some((a?.0 && b?.0, a?.1 && b?.1));
            found = found.into_iter().zip(holding).map(|(a, b)| both(a, b)).collect();
        }
    }
    let known: Vec<(bool, bool)> = found.into_iter().flatten().collect();
    if known.is_empty() {
        let Metric { arm, phase, .. } = &conditions[0].metric;
        return Err(Missing::Value(format!("too few samples in every piece of {arm}.{phase}")));
    }
    let share = |holding: usize| holding as f64 / known.len() as f64;
    let certain = known.iter().filter(|(holds, _)| *holds).count();
    let possible = known.iter().filter(|(_, may)| *may).count();
    Ok(Range { low: share(certain), high: share(possible) })
}

/// A metric over time: a gauge by seconds, all else by twentieths of the phase.
pub(super) fn pieces(metric: &Metric, block: u32, evidence: &Evidence<'_>) -> Result<Vec<Option<Range>>, Missing> {
    let Metric { part, quantity, .. } = metric;
    let whole = phase_of(metric, block, evidence)?;
    let part = match part {
        None => 0.0..1.0,
        Some(part) => share(part, whole.seconds).map_err(|problem| problem.to_string())?,
    };
    Ok(match quantity {
        Quantity::Series { stage, name } => {
            let values = evidence.gauge(metric, block, Some(part), (stage, name));
            if values.iter().all(Option::is_none) {
                return Err(evidence.shown_elsewhere(metric, block, (stage, name)).into());
            }
            values.into_iter().map(|value| value.map(Range::exactly)).collect()
        }
        _ => twentieths(&part).map(|piece| read(metric, &evidence.phase(metric, block, Some(piece))?).ok()).collect(),
    })
}

fn phase_of(metric: &Metric, block: u32, evidence: &Evidence<'_>) -> Result<PhaseSummary, Missing> {
    let Metric { arm, phase, .. } = metric;
    let found = evidence.phase(metric, block, None);
    let found = found.ok_or_else(|| Missing::End(format!("{arm}.{phase} did not run")))?;
    if found.cut_off {
        let lasted = if found.seconds > 0.0 {
            format!("was cut off after {:.1} s", found.seconds)
        } else {
            "did not begin".to_owned()
        };
        return Err(Missing::End(format!("{arm}.{phase} {lasted}")));
    }
    Ok(found)
}

fn measure(metric: &Metric, block: u32, evidence: &Evidence<'_>) -> Result<Range, Missing> {
    let Metric { arm, phase, part, quantity, .. } = metric;
    let whole = phase_of(metric, block, evidence)?;
    let part = match part {
        None => None,
        Some(part) => Some(share(part, whole.seconds).map_err(|problem| problem.to_string())?),
    };
    if let Quantity::Gauge { stage, name, over } = quantity {
        let values = evidence.gauge(metric, block, part, (stage, name));
        let values: Vec<f64> = values.into_iter().flatten().collect();
        return over
            .of(&values)
            .map(Range::exactly)
            .ok_or_else(|| evidence.shown_elsewhere(metric, block, (stage, name)).into());
    }
    let phase_or_part = match part {
        None => whole,
        Some(part) => {
            evidence.phase(metric, block, Some(part)).ok_or_else(|| format!("no parts of {arm}.{phase} were kept"))?
        }
    };
    let found = read(metric, &phase_or_part)?;
    Ok(if metric.of_fewer { Range::at_least(found.low) } else { found })
}

/// The share of the requests that a metric is of that had an answer.
fn answered(metric: &Metric, block: u32, evidence: &Evidence<'_>) -> Option<f64> {
    let whole = evidence.phase(metric, block, None)?;
    let found = match &metric.part {
        None => whole,
        Some(part) => evidence.phase(metric, block, Some(share(part, whole.seconds).ok()?))?,
    };
    group_of(&found, &metric.group).0?.answered()
}

/// A number or a time of a phase, or of a part of one.
fn read(metric: &Metric, phase_or_part: &PhaseSummary) -> Result<Range, String> {
    let Metric { arm, phase, group, quantity, .. } = metric;
    let (measured, of) = group_of(phase_or_part, group);
    let of = format!("{arm}.{phase}{of}");
    let Some(measured) = measured else { return Err(format!("no samples: no requests in {of}")) };
    match quantity {
        Quantity::Number(number) => {
            (number.read)(measured).map(Range::exactly).ok_or_else(|| format!("no samples: no requests in {of}"))
        }
        Quantity::Times(times, statistic) => {
            let times = (times.read)(measured);
            match ((statistic.value)(times), (statistic.bound)(times)) {
                (Some(value), _) => Ok(Range::exactly(value)),
                (None, Some(bound)) => Ok(Range::at_least(bound)),
                (None, None) if times.count >= statistic.needs => {
                    Err(format!("{} of {of} is hidden by {} without an answer", statistic.name, times.censored))
                }
                (None, None) => Err(format!(
                    "too few samples: {} of {of} needs {}, there are {}",
                    statistic.name, statistic.needs, times.count
                )),
            }
        }
        Quantity::Measure(measure) => {
            let measures = &phase_or_part.measures;
            let known = (measure.value)(measures).map(Range::exactly);
            let found = known.or_else(|| (measure.bound)(measures).map(Range::at_least));
            found.ok_or_else(|| format!("{} of {of} is not known: {}", measure.name, measure.unknown))
        }
        Quantity::Gauge { .. } | Quantity::Series { .. } => Err("a gauge belongs to a stage".to_owned()),
    }
}

fn group_of<'a>(phase: &'a PhaseSummary, group: &Group) -> (Option<&'a Measured>, String) {
    match group {
        Group::All => (Some(&phase.measured), String::new()),
        Group::Type(kind) => (phase.by_type.get(kind), format!(", {kind}")),
        Group::Class(class) => (phase.by_class.get(class), format!(", class {class}")),
    }
}

/// True if it measures nothing.
pub(super) fn constant(expr: &Expr) -> bool {
    expr.metrics().is_empty()
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
