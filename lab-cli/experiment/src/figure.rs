//! The figure of an experiment: what is drawn of its result, checked against its arms, phases and request types.

use std::collections::BTreeMap;

use analysis::{
    figure::{FigurePlan, Limit, MeasurePlan, Over, PanelPlan, PaperCurve},
    judge::threshold::{KnownNames, PhaseMeasure},
    text::suggestion,
};
use schemars::json_schema;

use super::{
    fields::Fields,
    keys::{Table, first_of, flag, free, number, shapes, table, text},
    raw::{Node, Value},
    thresholds::parsed,
};

/// Parts of phases are kept in steps of this share of their length.
const STEP: f64 = 0.05;

const OVERS: &[(&str, Over)] = &[
    ("phases", Over::Phases),
    ("load", Over::Load),
    ("time", Over::Time),
    ("types", Over::Types),
    ("arms", Over::Arms),
];

table! {
    /// What `lab reproduce` draws ([figures](#figures)).
    pub(super) struct FigureKeys as "Figure" for FigurePlan {
        over: Over = first_of(OVERS), "The horizontal axis: phases by name (bars), their planned load, time, request types or arms (bars)";
        across: Option<String> = text().otherwise("what goes to the right"), "Label of the horizontal axis";
        scatter: bool = flag().or(false), "Do not join the points of a load";
        cubic: bool = flag().or(false), "Draw a cubic through the points of each line, by least squares";
        log: bool = flag().or(false), "Logarithmic load axis";
        arms = free::<Vec<String>>().otherwise("all"), "Arms to draw";
        phases = free::<Vec<String>>().otherwise("all"), "Phases to draw";
        types = free::<Vec<String>>().otherwise("all").example("[login, search]"), "Request types to draw, where they are the horizontal axis";
        skip: f64 = number(0.0..=0.95).or(0.0), "Share of each phase to leave out at its beginning, in steps of 0.05";
        panels = free::<Vec<PanelKeys>>().required().example("[{title: goodput, draw: goodput}]"), "Panels, from top to bottom";
        note: Option<String> = text().example("Medians over ten seeds."), "A sentence under the figure";
        ..FigurePlan::default()
    }

    /// One panel.
    pub(super) struct PanelKeys as "Panel" for PanelPlan {
        title: String = text().wanted("90th percentile of response times").filled(), "What is drawn, without its unit";
        unit: String = text().filled(), "Unit of the vertical axis. Times are drawn in seconds and have none here";
        log: bool = flag().or(false), "Logarithmic vertical axis";
        limit = free::<BTreeMap<String, f64>>(), "A horizontal line with its name, in the unit of the panel (seconds for times)";
        arms = free::<Vec<String>>().otherwise("those of the figure"), "Arms to draw";
        phases = free::<Vec<String>>().otherwise("those of the figure"), "Phases to draw, where types or arms are the horizontal axis";
        x = free::<String>().otherwise("the planned load"), "A measure for the horizontal axis in place of the load";
        draw = free::<DrawKey>().required(), "Measures, as in thresholds without arm and phase; several by name. Over time, a gauge without a statistic is drawn second by second, `gauge.users.p90_ms` by windows of five seconds";
        paper = free::<Vec<PaperCurveKeys>>().example("[{name: the paper, points: {16: 0.4, 128: 6.3}}]"), "The paper's own curves, dashed";
        printed = free::<BTreeMap<String, String>>().example("{mean of the spike: seda.spike.gauge.users.p90_ms.mean == 0.6s}"), "Numbers that the paper prints and draws nowhere, each with ours on the left";
        ..PanelPlan::default()
    }

    /// One curve of the paper.
    pub(super) struct PaperCurveKeys as "PaperCurve" {
        name: Option<String> = text().wanted("paper, no control (digitised)"), "Its name, with the source of its numbers";
        beside: Option<String> = text(), "The line of the legend whose colour the curve has";
        points = free::<BTreeMap<String, f64>>().required().example("{16: 0.4, 128: 6.3}"), "Places on the axis (loads, seconds, or names of types or phases) with their values";
    }
}

shapes! {
    DrawKey as "Draw" = |_generator| json_schema!({
        "description": "Measures that are drawn, by name where there are several.",
        "anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1}],
    });
}

/// Reads `figure`, if there is one. `names`: arms of the file, phases and request types.
pub fn figure(fields: &Fields<'_>, names: &KnownNames<'_>) -> Option<FigurePlan> {
    let node = fields.node("figure")?;
    let inner = Fields::of_table::<FigureKeys>(node, "figure", fields.problems())?;
    let mut plan = FigureKeys::read(&inner);
    let FigurePlan { over, log, scatter, cubic, skip, .. } = plan;
    if ((skip / STEP).round() * STEP - skip).abs() > 1e-9 {
        let message = format!("{skip} is not a multiple of {STEP}");
        inner.problem("skip", message, "parts of phases are kept in steps of 5 %");
    }
    if over == Over::Time && skip > 0.0 {
        inner.problem("skip", "over time nothing is left out", "leave skip out");
    }
    for (key, is) in [("log", log), ("scatter", scatter), ("cubic", cubic)] {
        if is && over != Over::Load {
            inner.problem(key, "this is for loads to the right", format!("leave {key} out, or write over: load"));
        }
    }
    let phases: Vec<&str> = names.phases.iter().map(|(name, _)| *name).collect();
    plan.arms = named(&inner, "arms", &names.arms);
    plan.phases = named(&inner, "phases", &phases);
    plan.types = types(&inner, over, names);
    plan.skip = (skip / STEP).round() * STEP;
    if inner.list("panels").is_empty() {
        inner.missing("panels", "[{title: goodput, unit: requests/s, draw: goodput}]");
    }
    for (number, node) in inner.list("panels").iter().enumerate() {
        let path = format!("figure.panels.{}", number + 1);
        let panel = Fields::of_table::<PanelKeys>(node, &path, fields.problems());
        plan.panels.extend(panel.and_then(|panel| self::panel(&panel, &plan, names)));
    }
    Some(plan)
}

/// Reads the request types that go to the right.
fn types(fields: &Fields<'_>, over: Over, names: &KnownNames<'_>) -> Vec<String> {
    let named = named(fields, "types", &names.types);
    if over != Over::Types {
        if fields.node("types").is_some() {
            fields.problem("types", "this is for types to the right", "leave it out, or write over: types");
        }
        return Vec::new();
    }
    if named.is_empty() { names.types.iter().map(|&name| name.to_owned()).collect() } else { named }
}

/// A list of names, each of which must be known.
fn named(fields: &Fields<'_>, key: &str, known: &[&str]) -> Vec<String> {
    let mut names = Vec::new();
    for node in fields.list(key) {
        match &node.value {
            Value::Text(name) if known.contains(&name.as_str()) => names.push(name.clone()),
            other => {
                let written = if let Value::Text(name) = other { name.clone() } else { other.shown() };
                let message = format!("there is no {written:?} here");
                fields.problems().add(&node.place, &fields.path(key), message, suggestion(&written, known));
            }
        }
    }
    names
}

fn panel(fields: &Fields<'_>, figure: &FigurePlan, names: &KnownNames<'_>) -> Option<PanelPlan> {
    let mut panel = PanelKeys::read(fields);
    let draw = measures(fields, "draw", figure.over, names);
    let x = fields.node("x").and_then(|_| measures(fields, "x", figure.over, names).pop());
    if x.is_some() && figure.over != Over::Load {
        fields.problem("x", "this is for loads to the right", "leave it out, or write over: load");
    }
    let phases: Vec<&str> = names.phases.iter().map(|(name, _)| *name).collect();
    let of_panel = named(fields, "phases", &phases);
    if !of_panel.is_empty() && !matches!(figure.over, Over::Types | Over::Arms) {
        fields.problem("phases", "panels share the axis to the right", "write phases in the figure");
    }
    let is_time = |plan: &MeasurePlan| PhaseMeasure::parse(&plan.measure).is_ok_and(|measure| measure.is_time());
    let times = draw.iter().filter(|plan| is_time(plan)).count();
    if times > 0 && times < draw.len() {
        fields.problem("draw", "times and plain numbers do not share an axis", "make two panels of them");
    }
    if times > 0 && fields.node("unit").is_some() {
        fields.problem("unit", "times are drawn in seconds", "leave unit out");
    }
    (panel.limit, panel.arms, panel.phases) = (limit(fields), named(fields, "arms", &names.arms), of_panel);
    (panel.x, panel.draw) = (x.map(|x| x.measure), draw);
    panel.printed = printed(fields, times > 0, names);
    let lines = figure.line_names(&panel, &names.arms, &phases);
    for (number, node) in fields.list("paper").iter().enumerate() {
        let path = fields.path(&format!("paper.{}", number + 1));
        let curve = Fields::of_table::<PaperCurveKeys>(node, &path, fields.problems());
        panel.paper.extend(curve.map(|curve| self::curve(&curve, figure, &lines, names)));
    }
    Some(panel)
}

/// Numbers of the paper, each with a measure of ours. `times`: the panel is of times.
fn printed(fields: &Fields<'_>, times: bool, names: &KnownNames<'_>) -> BTreeMap<String, String> {
    let hint = "for example {mean of the spike: seda.spike.gauge.users.p90_ms.mean == 0.6s}";
    let path = fields.path("printed");
    let mut printed = BTreeMap::new();
    for entry in fields.entries("printed", hint) {
        let problem = |message: &str, hint: &str| fields.problems().add(&entry.node.place, &path, message, hint);
        match parsed(&entry.node, &path, fields.problems(), names) {
            None => {}
            Some((_, threshold)) if !threshold.is_equation() => {
                problem("no equation with a number", hint);
            }
            Some((_, threshold)) if threshold.is_of_time() != times => {
                problem("times and plain numbers do not share a panel", "move it to another panel");
            }
            Some((text, _)) => _ = printed.insert(entry.key.clone(), text),
        }
    }
    printed
}

/// `{target: 10}`.
fn limit(fields: &Fields<'_>) -> Option<Limit> {
    let node = fields.node("limit")?;
    match pairs(node).as_deref() {
        Some([(name, at)]) => Some(Limit { name: name.clone(), at: *at }),
        _ => fields.wrong("limit", node.value.unexpected(), "a name and a number: {target: 10}"),
    }
}

/// The keys and numbers of a table; `None` if it is none, or has something else.
fn pairs(node: &Node) -> Option<Vec<(String, f64)>> {
    let Value::Table(entries) = &node.value else { return None };
    let pair = |entry: &crate::raw::Entry| match entry.node.value {
        Value::Number(number) => Some((entry.key.clone(), number)),
        _ => None,
    };
    entries.iter().map(pair).collect()
}

/// Reads one measure, or several by name.
fn measures(fields: &Fields<'_>, key: &str, over: Over, names: &KnownNames<'_>) -> Vec<MeasurePlan> {
    let example = "response_time.p90, or {low: class-0.goodput, high: class-1.goodput}";
    let Some(node) = fields.wanted(key, example) else { return Vec::new() };
    let written: Vec<(&str, &Node)> = match &node.value {
        Value::Text(_) => vec![("", node)],
        Value::Table(entries) => entries.iter().map(|entry| (entry.key.as_str(), &entry.node)).collect(),
        _ => Vec::new(),
    };
    if written.is_empty() {
        fields.problem(key, node.value.unexpected(), format!("for example {example}"));
    }
    let mut plans = Vec::new();
    for (name, node) in written {
        let problem =
            |message: String, hint: String| fields.problems().add(&node.place, &fields.path(key), message, hint);
        let Value::Text(text) = &node.value else {
            problem(format!("expected a measure, got {}", node.value.shown()), format!("for example {example}"));
            continue;
        };
        let checked = PhaseMeasure::parse(text)
            .map_err(|found| vec![found])
            .and_then(|measure| measure.check(names).map(|()| measure));
        match checked {
            Err(found) => found.into_iter().for_each(|found| {
                problem(format!("{} (at character {} of {text:?})", found.message, found.at + 1), found.hint);
            }),
            Ok(measure) if measure.is_of_seconds() && over != Over::Time => {
                let hint = "add a statistic, for example .mean, or write over: time";
                problem("a gauge in every second is drawn over time alone".to_owned(), hint.to_owned());
            }
            Ok(measure) if measure.is_of_whole_phases() && matches!(over, Over::Time | Over::Types) => {
                let hint = "write over: phases, or over: load";
                problem("this is known of whole phases alone".to_owned(), hint.to_owned());
            }
            Ok(_) => plans.push(MeasurePlan { name: name.to_owned(), measure: text.clone() }),
        }
    }
    plans
}

fn curve(fields: &Fields<'_>, figure: &FigurePlan, lines: &[String], names: &KnownNames<'_>) -> PaperCurve {
    let PaperCurveKeys { name, beside } = PaperCurveKeys::read(fields);
    let known: Vec<&str> = lines.iter().map(String::as_str).collect();
    let beside = beside.filter(|name| {
        let is_known = known.contains(&name.as_str());
        if !is_known {
            fields.problem("beside", format!("there is no line {name:?} in this panel"), suggestion(name, &known));
        }
        is_known
    });
    let all: Vec<&str> = names.phases.iter().map(|(name, _)| *name).collect();
    let groups: Vec<&str> = match figure.over {
        Over::Types => figure.types.iter().map(String::as_str).collect(),
        Over::Phases if figure.phases.is_empty() => all,
        Over::Phases => all.into_iter().filter(|name| figure.phases.iter().any(|drawn| drawn == name)).collect(),
        Over::Arms if figure.arms.is_empty() => names.arms.clone(),
        Over::Arms => names.arms.iter().copied().filter(|name| figure.arms.iter().any(|drawn| drawn == name)).collect(),
        Over::Load | Over::Time => Vec::new(),
    };
    let mut points = Vec::new();
    let written = fields.node("points").and_then(pairs);
    if written.is_none() {
        fields.problem("points", "expected places with numbers", "for example {2: 0.5, 4: 0.6}");
    }
    for (place, value) in written.unwrap_or_default() {
        let at = if figure.over.is_of_groups() {
            groups.iter().position(|group| *group == place).map(|n| n as f64)
        } else {
            place.parse().ok()
        };
        match at {
            Some(at) => points.push([at, value]),
            None => {
                let hint = if groups.is_empty() { "a number".to_owned() } else { suggestion(&place, &groups) };
                fields.problem("points", format!("{place:?} is not on this axis"), hint);
            }
        }
    }
    PaperCurve { name: name.unwrap_or_default(), beside, points }
}
