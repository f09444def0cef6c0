//! `users.plan`: a test plan, in the experiment or in a file of its own, and the conduct of its users.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use schemars::json_schema;
use traces::Think;
use workloads::{
    plan::{
        Account, AnswerCheck, Conduct, Extraction, PlanBranch, PlanItem, PlanStep, ScriptUsers, TestPlan, TokenPlace,
        ValueSource,
    },
    script::{ScriptProblem, check},
};

use super::{
    fields::{Fields, count_in, join},
    keys::{Case, Either, Table, by, count, free, names, number, one_of, read_one_of, shapes, table, text},
    named_file,
    paths::headers,
    pauses::{PauseLaw, ZeroOrTime, law},
    plan::Model,
    problem::Problems,
    raw::{Node, Value, parse},
};

table! {
    /// What users of a test plan do who are told to wait.
    pub(super) struct ConductKeys as "Conduct" for Conduct {
        no_show: f64 = number(0.0..=1.0).or(0.0).example("0.1"), "Share of the waits after which a user does not come back; its request counts as abandoned";
        early: f64 = number(0.0..=1.0).or(0.0).example("0.2"), "Share of the waits from which a user comes back early, at a uniformly drawn time";
        shares_token: f64 = number(0.0..=1.0).or(0.0).example("0.05"), "Share of the sessions that show the token of another user of their group";
        forges_token: f64 = number(0.0..=1.0).or(0.0).example("0.01"), "Share of the sessions that show a forged token of the same shape";
        token: Option<TokenPlace> = by::<TokenKey, _>(token).example("{cookie: token}"), "Where the token is: `{cookie: NAME}`, or `{query: NAME}` for a parameter of URLs";
        group: u32 = count(2..=1_000_000).or(10).example("20"), "Users in a group, by their numbers";
    }

    /// A [test plan](#test-plans).
    pub(super) struct TestPlanKeys as "TestPlan" {
        steps = free::<Vec<StepKeys>>().required().example("[{name: look, url: /seats}]"), "The steps, in order";
        think: Option<Think> = by::<Either<ZeroOrTime, PauseLaw>, _>(law).otherwise("`users.think`, else 0").example("5s"), "Pause after an answer";
    }

    /// A request, or a choice between lists of steps.
    pub(super) struct StepKeys as "PlanStep" for PlanStep {
        name: String = text().wanted("login").unless("choose").filled(), "The request type in tables; each step has its own";
        method: String = text().filled().otherwise("GET").example("POST"), "`GET`, `POST`, `PUT`, `PATCH`, `DELETE`, `HEAD` or `OPTIONS`";
        url: String = text().wanted("/cart?token=${token}").unless("choose").filled(), "Path and query, with values; or `${name}` first: a link, resolved on the page where it was found";
        headers: Vec<(String, String)> = by::<BTreeMap<String, String>, _>(headers).example("{Accept: application/json}"), "Header lines, with values; cookies are kept";
        body: Option<String> = text(), "The body, with values; form-encoded, unless a header says otherwise";
        extract: Vec<Extraction> = by::<BTreeMap<String, Either<String, ExtractKeys>>, _>(extractions), "Values to take out of the answer, by name: a regular expression for the body, or a table";
        check: AnswerCheck = by::<CheckKeys, _>(answer_check).otherwise("any 2xx or 3xx"), "What counts as served";
        think: Option<Think> = by::<Either<ZeroOrTime, PauseLaw>, _>(law).otherwise("the plan's").example("5s"), "Pause after the answer";
        then: BTreeMap<String, f64> = by::<BTreeMap<String, f64>, _>(then).otherwise("the next step").example("{cart: 0.3, list: 0.6, end: 0.1}"), "Where the user goes next: names of steps with the relative frequency of each, one drawn every time; `end` ends the session. Steps that lead to each other are a Markov chain";
        choose = free::<Vec<BranchKeys>>().example("[{weight: 3, steps: [{name: a, url: /a}]}, {steps: [{name: b, url: /b}]}]"), "In place of all other keys: several lists of steps, of which one is drawn";
    }

    /// One of the lists.
    pub(super) struct BranchKeys as "PlanBranch" {
        weight: f64 = number(0.000_001..=1e9).or(1.0), "Relative frequency";
        steps = free::<Vec<StepKeys>>().required().example("[{name: look, url: /seats}]"), "The steps of this list";
    }

    /// A regular expression for the body, or a table.
    pub(super) struct ExtractKeys as "Extract" {
        from: ValueSource = by::<SourceKey, _>(source).otherwise("body").example("{header: X-Token}"), "The part of the answer: `body` (its first 256 KiB), `url` (the one that was answered, after redirects and waits), `{header: NAME}` or `{cookie: NAME}`";
        regex: Option<String> = text().otherwise("all of it, except of a body").example("'token=([0-9a-f]+)'"), "A regular expression with one group, which is the value; the first match counts";
        default: Option<String> = text().otherwise("none: the step has failed").example("none"), "The value where nothing matches";
        in_virtual_time: Option<String> = text().key("virtual").example("abc"), "The value in virtual time, where answers have no body";
    }

    /// What counts as served.
    pub(super) struct CheckKeys as "AnswerCheck" {
        status = free::<Vec<u16>>().otherwise("any 2xx or 3xx"), "Statuses that count as served. A redirect, 429 or 503 among them is an answer, and is not followed";
        body: Option<String> = text(), "A regular expression that the body must match (its first 256 KiB)";
    }
}

shapes! {
    PlanKey as "Plan" = |generator| json_schema!({"anyOf": [
        {"type": "string"}, generator.subschema_for::<TestPlanKeys>(),
        {"type": "array", "items": generator.subschema_for::<StepKeys>()},
    ]});
    TokenKey as "TokenPlace" = |generator| one_of(TOKEN_PLACES, generator);
    SourceKey as "ValueSource" = |generator| json_schema!({"anyOf": [
        {"type": "string", "enum": ["body", "url"]}, one_of(SOURCES, generator),
    ]});
}

const TOKEN_PLACES: &[Case<TokenPlace>] = &[
    Case::new::<String>("cookie", "The token is in this cookie", |fields, key| {
        fields.text(key).map(TokenPlace::Cookie)
    }),
    Case::new::<String>("query", "The token is in this parameter of URLs", |fields, key| {
        fields.text(key).map(TokenPlace::Query)
    }),
];

const SOURCES: &[Case<ValueSource>] = &[
    Case::new::<String>("header", "The value of this header", |fields, key| fields.text(key).map(ValueSource::Header)),
    Case::new::<String>("cookie", "The value of this cookie", |fields, key| fields.text(key).map(ValueSource::Cookie)),
];

/// The keys of `users` that belong to test plans.
pub(super) fn keys() -> Vec<&'static str> {
    names::<ConductKeys>().into_iter().chain(["plan"]).collect()
}

/// Reads a test plan and the conduct of its users. `accounts`: whether the target has accounts to sign in with.
pub(super) fn script(fields: &Fields<'_>, accounts: bool) -> Option<Model> {
    let conduct = ConductKeys::read(fields);
    let node = fields.wanted("plan", "buy-ticket.yaml")?;
    let pause = law(fields, "think").unwrap_or(Think::Constant(Duration::ZERO));
    let reading = Reading { conduct, accounts, pause };
    let Value::Text(file) = &node.value else {
        let plan = reading.plan(node, &fields.path("plan"), fields)?;
        return Some(Model::Script { plan, file: None, conduct: reading.conduct });
    };
    let path = fields.file("plan").unwrap_or_else(|| PathBuf::from(file));
    let hint = "write the steps in place, or the path of a file that has them under steps:";
    let text = named_file::text(&path).map_err(|message| fields.problem("plan", message, hint)).ok()?;
    let problems = Problems::default();
    let plan = match parse(&text) {
        // The message does not quote the file: the path may name any file.
        Ok(root) if root.get("steps").is_none() && !matches!(root.value, Value::List(_)) => {
            fields.wrong("plan", format!("{file}: there are no steps in it"), "they stand under steps:")
        }
        Ok(root) => reading.plan(&root, "", &Fields::unchecked(fields.whole(), "users", &problems)),
        Err(problem) => fields.wrong("plan", format!("{file}: {problem}"), ""),
    };
    for problem in problems.into_sorted() {
        fields.problem("plan", format!("{file}: {problem}"), "");
    }
    Some(Model::Script { plan: plan?, file: Some(path), conduct: reading.conduct })
}

/// Context of reading a plan.
struct Reading {
    conduct: Conduct,
    accounts: bool,
    /// Pause where the plan says nothing.
    pause: Think,
}

impl Reading {
    /// Reads a plan, and checks it. `users`: the table of the users, for problems of their conduct.
    fn plan(&self, node: &Node, path: &str, users: &Fields<'_>) -> Option<TestPlan> {
        let problems = users.problems();
        let (nodes, steps, think) = match &node.value {
            Value::List(nodes) => (nodes.as_slice(), path.to_owned(), None),
            _ => {
                let fields = Fields::of_table::<TestPlanKeys>(node, path, problems)?;
                fields.wanted("steps", "[{name: start, url: /}]");
                (fields.list("steps"), fields.path("steps"), TestPlanKeys::read(&fields).think)
            }
        };
        let mut places = Vec::new();
        let items = items(nodes, &steps, problems, &mut places);
        let plan = TestPlan { items, think: think.unwrap_or_else(|| self.pause.clone()) };
        let account = Account { user: String::new(), password: String::new() };
        let accounts = if self.accounts { vec![account] } else { Vec::new() };
        let conduct = self.conduct.clone();
        for problem in check(&ScriptUsers { conduct, accounts, ..ScriptUsers::new(plan.clone()) }) {
            let ScriptProblem { step, key, problem, remedy } = problem;
            match step.and_then(|(number, _)| places.get(number)) {
                Some((node, path)) => problems.add(&place_in(node, &key).place, &join(path, &key), problem, remedy),
                None if matches!(key.as_str(), "steps" | "choose") => {
                    problems.add(&node.place, &steps, problem, remedy);
                }
                None => users.problem(&key, problem, remedy),
            }
        }
        Some(plan)
    }
}

/// The value at this dotted key, or the nearest one above it.
fn place_in<'a>(node: &'a Node, key: &str) -> &'a Node {
    key.split('.').try_fold(node, |node, part| node.get(part).ok_or(node)).unwrap_or_else(|nearest| nearest)
}

/// Reads a list of steps and choices; `places` are those of all steps, in the order in which they are written.
fn items<'a>(
    nodes: &'a [Node],
    path: &str,
    problems: &'a Problems,
    places: &mut Vec<(&'a Node, String)>,
) -> Vec<PlanItem> {
    let mut found = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let at = join(path, &index.to_string());
        let Some(fields) = Fields::of_table::<StepKeys>(node, &at, problems) else { continue };
        if fields.node("choose").is_some() {
            let others = names::<StepKeys>();
            for key in others.into_iter().filter(|key| *key != "choose" && fields.node(key).is_some()) {
                fields.problem(key, "a choice has nothing beside it", "make it a step of its own");
            }
            let branches = fields.list("choose").iter().enumerate();
            let branches = branches.filter_map(|(index, node)| {
                let at = join(&fields.path("choose"), &index.to_string());
                let inner = Fields::of_table::<BranchKeys>(node, &at, problems)?;
                let BranchKeys { weight } = BranchKeys::read(&inner);
                Some(PlanBranch { weight, items: items(inner.list("steps"), &inner.path("steps"), problems, places) })
            });
            found.push(PlanItem::Choice(branches.collect()));
            continue;
        }
        let step = StepKeys::read(&fields);
        if fields.node("name").is_none() || fields.node("url").is_none() {
            continue;
        }
        let method = fields.text("method").unwrap_or_else(|| "GET".to_owned()).to_ascii_uppercase();
        places.push((node, at));
        found.push(PlanItem::Step(Box::new(PlanStep { method, ..step })));
    }
    found
}

fn then(fields: &Fields<'_>, key: &str) -> BTreeMap<String, f64> {
    const HINT: &str = "write {cart: 0.3, list: 0.6, end: 0.1}: names of steps, each with its relative frequency";
    if matches!(fields.node(key).map(|node| &node.value), Some(Value::Table(entries)) if entries.is_empty()) {
        fields.problem(key, "it names no step", HINT);
    }
    let mut found = BTreeMap::new();
    for entry in fields.entries(key, HINT) {
        match entry.node.value {
            Value::Number(weight) => _ = found.insert(entry.key.clone(), weight),
            ref other => fields.problem(&join(key, &entry.key), other.unexpected(), HINT),
        }
    }
    found
}

fn extractions(fields: &Fields<'_>, key: &str) -> Vec<Extraction> {
    let Some(inside) = fields.inside(key) else { return Vec::new() };
    let one = |name: &str| {
        if !matches!(inside.node(name)?.value, Value::Table(_)) {
            return Some(Extraction::from_body(name, inside.text(name)?));
        }
        let ExtractKeys { from, regex, default, in_virtual_time } = inside.table::<ExtractKeys>(name)?;
        Some(Extraction { name: name.to_owned(), from, regex, default, in_virtual_time })
    };
    let entries = fields.entries(key, "write {name: 'regular (expression)'}");
    entries.iter().filter_map(|entry| one(&entry.key)).collect()
}

fn answer_check(fields: &Fields<'_>, key: &str) -> AnswerCheck {
    let Some(inner) = fields.fields(key, &names::<CheckKeys>()) else { return AnswerCheck::default() };
    let status = |node: &Node| match count_in(node, 100..=599) {
        Ok(status) => u16::try_from(status).ok(),
        Err((message, hint)) => fields.problems().wrong(&node.place, &inner.path("status"), message, hint),
    };
    let status = inner.list("status").iter().filter_map(status).collect();
    AnswerCheck { status, body: CheckKeys::read(&inner).body, ..AnswerCheck::default() }
}

fn source(fields: &Fields<'_>, key: &str) -> ValueSource {
    let found = match fields.node(key).map(|node| &node.value) {
        None => return ValueSource::Body,
        Some(Value::Text(word)) if word == "body" => Ok(Some(ValueSource::Body)),
        Some(Value::Text(word)) if word == "url" => Ok(Some(ValueSource::Url)),
        Some(_) => read_one_of(SOURCES, fields, key),
    };
    if found.is_err() {
        fields.problem(key, "it is not said what is searched", "write body, url, {header: NAME} or {cookie: NAME}");
    }
    found.ok().flatten().unwrap_or_default()
}

fn token(fields: &Fields<'_>, key: &str) -> Option<TokenPlace> {
    fields.node(key)?;
    read_one_of(TOKEN_PLACES, fields, key).unwrap_or_else(|()| {
        fields.wrong(key, "it is not said where the token is", "write {cookie: NAME} or {query: NAME}")
    })
}

#[cfg(test)]
mod tests;
