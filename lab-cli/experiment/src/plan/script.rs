//! Test plans: what a manifest and a preview say of them.

use serde::{Serialize, Serializer};
use workloads::plan::{AnswerCheck, PlanItem, PlanStep, TestPlan, ValueSource};

use super::users::hidden;

/// The same plan without header values and bodies, which may be confidential; those of a manifest stay as they are.
pub(crate) fn concealed_plan(plan: &TestPlan) -> TestPlan {
    plan.map(&|step: &PlanStep| PlanStep {
        headers: step.headers.iter().map(|(name, value)| (name.clone(), hidden(value))).collect(),
        body: step.body.as_deref().map(hidden),
        ..step.clone()
    })
}

pub(super) fn without_contents<S: Serializer>(plan: &TestPlan, serializer: S) -> Result<S::Ok, S::Error> {
    concealed_plan(plan).serialize(serializer)
}

/// The first value that answers in virtual time do not carry, if the target's have no bodies and cookies.
pub(super) fn missing_in_virtual_time(plan: &TestPlan) -> Option<String> {
    plan.steps().find_map(|step| {
        let mut values = step.extract.iter();
        let missing = values.find(|value| {
            value.in_virtual_time.is_none() && matches!(value.from, ValueSource::Body | ValueSource::Cookie(_))
        })?;
        let (name, place) = (&missing.name, if missing.from == ValueSource::Body { "body" } else { "cookie" });
        Some(format!(
            "step {:?} takes ${{{name}}} out of a {place}, and answers of this target in virtual time have none: give \
             it a value for virtual time (extract.{name}.virtual), or run it live",
            step.name
        ))
    })
}

/// The plan in lines, for people.
pub fn preview(plan: &TestPlan) -> Vec<String> {
    let mut lines = Vec::new();
    list(&plan.items, "", &mut lines);
    lines
}

fn list(items: &[PlanItem], indent: &str, lines: &mut Vec<String>) {
    for item in items {
        match item {
            PlanItem::Step(step) => lines.push(format!("{indent}{}", line(step))),
            PlanItem::Choice(branches) => {
                let sum: f64 = branches.iter().map(|branch| branch.weight).sum();
                for branch in branches {
                    lines.push(format!("{indent}in {:.0} % of the sessions:", branch.weight / sum * 100.0));
                    list(&branch.items, &format!("{indent}  "), lines);
                }
            }
        }
    }
}

fn line(step: &PlanStep) -> String {
    let PlanStep { name, method, url, extract, check: AnswerCheck { status, body, .. }, then, .. } = step;
    let mut line = format!("{name}: {method} {url}");
    let names: Vec<&str> = extract.iter().map(|extraction| extraction.name.as_str()).collect();
    if !names.is_empty() {
        line.push_str(&format!("; takes {}", names.join(", ")));
    }
    if !status.is_empty() {
        line.push_str(&format!("; wants {}", status.iter().map(u16::to_string).collect::<Vec<_>>().join(" or ")));
    }
    line.push_str(if body.is_some() { "; checks the page" } else { "" });
    let sum: f64 = then.values().sum();
    let ways: Vec<String> = then.iter().map(|(name, weight)| format!("{name} {:.0} %", weight / sum * 100.0)).collect();
    if !ways.is_empty() {
        line.push_str(&format!("; then {}", ways.join(", ")));
    }
    line
}
