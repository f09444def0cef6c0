use std::io::Write as _;

use workloads::plan::ValueSource;

use super::*;
use crate::{Changes, Experiment, read};

fn experiment(target: &str, users: &str) -> Result<Experiment, String> {
    let text = format!(
        "name: x\ntarget: {target}\nobjective: {{percentile: 90, response_time: 1s}}\n\
         users:\n  model: script\n  phases: [{{sessions: 5/s, for: 3s}}]\n{users}arms: [none]\n"
    );
    let read = read(&text, &Changes::default());
    read.map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

const EMULATED: &str = "{app: emulated, service: 10ms}";

const BUY: &str = "steps:
- name: seat
  url: /seat
  think: 2s
  extract:
    token: 'token=([0-9a-f]+)'
    next: {from: {header: X-Next}, default: /done}
    turn: {from: url, regex: 't=(.)', virtual: 7}
  check: {status: [200, 404], body: hello}
- choose:
  - {weight: 3, steps: [{name: buy, method: post, url: '/buy?token=${token|url}', body: 'a=${turn}', headers: {X-A: '${token}'}}]}
  - steps: [{name: leave, url: '${next}'}]
think: {exponential: 5s}
";

/// The same lines, further in.
fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

fn plan_of(experiment: &Experiment) -> TestPlan {
    match &experiment.users.model {
        Model::Script { plan, .. } => plan.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_plan_in_place_and_one_in_a_file_are_the_same() {
    let inline = experiment(EMULATED, &format!("  plan:\n{}", indented(BUY))).expect("it is good");
    let plan = plan_of(&inline);
    let steps: Vec<&PlanStep> = plan.steps().collect();
    let names: Vec<_> = steps.iter().map(|step| (step.name.as_str(), step.method.as_str())).collect();
    assert_eq!(names, [("seat", "GET"), ("buy", "POST"), ("leave", "GET")]);
    assert_eq!(plan.think, Think::Exponential { mean: Duration::from_secs(5) });
    let [token, next, turn] = &steps[0].extract[..] else { panic!("{:?}", steps[0]) };
    assert_eq!(*token, Extraction::from_body("token", "token=([0-9a-f]+)"));
    assert_eq!((&next.from, next.default.as_deref()), (&ValueSource::Header("X-Next".to_owned()), Some("/done")));
    assert_eq!((&turn.from, turn.in_virtual_time.as_deref()), (&ValueSource::Url, Some("7")));
    assert_eq!(
        steps[0].check,
        AnswerCheck { status: vec![200, 404], body: Some("hello".to_owned()), ..AnswerCheck::default() }
    );
    let PlanItem::Choice(branches) = &plan.items[1] else { panic!("a choice") };
    assert_eq!(branches.iter().map(|branch| branch.weight).collect::<Vec<_>>(), [3.0, 1.0]);

    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(BUY.as_bytes()).expect("written");
    let named = experiment(EMULATED, &format!("  plan: {}\n", file.path().display())).expect("it is good");
    assert_eq!(plan_of(&named), plan);
    // Where the answers have no body, only one of its values is known.
    assert!(inline.live_only().is_some_and(|why| why.contains("${token}") && why.contains("extract.token.virtual")));
}

#[test]
fn steps_that_lead_to_each_other_are_a_chain() {
    let of = |then: &str| {
        let steps = format!("[{{name: list, url: /, then: {then}}}, {{name: cart, url: /cart, then: {{list: 1}}}}]");
        experiment(EMULATED, &format!("  plan: {steps}\n"))
    };
    let plan = plan_of(&of("{list: 0.6, cart: 0.3, end: 0.1}").expect("it is good"));
    let first = plan.steps().next().expect("two steps");
    assert_eq!(first.then, [("list".to_owned(), 0.6), ("cart".to_owned(), 0.3), ("end".to_owned(), 0.1)].into());
    for (then, wanted) in [
        (
            "{card: 1, end: 1}",
            "users.plan.0.then: there is no step \"card\"\n    the steps are cart, list; end ends the session",
        ),
        ("{cart: 1}", "users.plan.0.then: who comes here never leaves"),
        ("{cart: x}", "users.plan.0.then.cart: unexpected \"x\""),
        ("{}", "users.plan.0.then: it names no step"),
        ("[cart]", "users.plan.0.then: expected a table, got a list"),
        ("{cart: 0, end: 1}", "the weight of cart is 0"),
    ] {
        let told = of(then).expect_err(then);
        assert!(told.contains(wanted), "{then}: {told}");
    }
}

#[test]
fn conduct_stands_beside_the_plan() {
    let users =
        "  plan: [{name: a, url: /}]\n  no_show: 0.1\n  early: 0.05\n  shares_token: 0.02\n  token: {query: t}\n";
    let found = experiment(EMULATED, users).expect("it is good");
    let Model::Script { conduct, .. } = &found.users.model else { panic!("a script") };
    let token = Some(TokenPlace::Query("t".to_owned()));
    let wanted = Conduct { no_show: 0.1, early: 0.05, shares_token: 0.02, forges_token: 0.0, token, group: 10 };
    assert_eq!(*conduct, wanted);
    assert_eq!(found.live_only(), None);
}

#[test]
fn problems_have_line_key_and_way_out() {
    let first = "  plan:\n  - {name: a, url: /, extract: {v: 'v=(.)'}}\n";
    for (users, place, wanted) in [
        ("", "5:3", "users.plan: is missing"),
        ("  plan: []\n", "7:9", "users.plan: there is no step"),
        ("  plan: nowhere.yaml\n", "7:9", "there is no"),
        ("  plan: [{name: a}]\n", "7:10", "users.plan.0.url: is missing"),
        ("  plan: [{name: a, url: '/${x}'}]\n", "7:25", "users.plan.0.url: no step extracts ${x}"),
        ("  plan: [{name: a, url: '/${user}'}]\n", "7:25", "this target has no accounts"),
        ("  plan: [{name: a, url: /, method: BREW}]\n", "7:36", "users.plan.0.method: users do not know \"BREW\""),
        ("  plan: [{name: a, url: /, exttract: {}}]\n", "7:28", "did you mean extract"),
        ("  plan: [{name: a, url: /, check: {status: [20]}}]\n", "7:45", "100 to 599"),
        ("  plan: [{name: a, url: /, extract: {v: abc}}]\n", "7:41", "0 groups"),
        ("  plan: [{name: a, url: /, extract: {v: {from: {header: X, cookie: Y}}}}]\n", "7:48", "write body, url"),
        ("  plan: [{choose: [{steps: []}], name: a}]\n", "7:40", "a choice has nothing beside it"),
        ("  plan: [{name: a, url: /}, {name: a, url: /}]\n", "7:36", "there are two steps called"),
        ("  plan: [{name: a, url: /}]\n  no_show: 2\n", "8:12", "users.no_show"),
        ("  plan: [{name: a, url: /}]\n  forges_token: 0.5\n", "5:3", "users.token: it is not said where"),
        ("  plan: [{name: a, url: /}]\n  path: /x\n", "8:9", "belongs to model: url"),
        (&format!("{first}  - {{name: b, url: '/${{w}}'}}\n"), "9:20", "known here: v"),
    ] {
        let told = experiment(EMULATED, users).expect_err(users);
        assert!(told.lines().any(|line| line.starts_with(place)) && told.contains(wanted), "{users}: {told}");
    }
    let arashi = "{app: arashi, work: 0}";
    assert!(experiment(arashi, "  plan: [{name: a, url: '/${user}'}]\n").is_ok());
}

#[test]
fn problems_of_a_file_name_it_and_its_lines() {
    let of = |text: &str| {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(text.as_bytes()).expect("written");
        experiment(EMULATED, &format!("  plan: {}\n", file.path().display())).expect_err("it is bad")
    };
    let told = of("steps:\n- {name: a, url: '/${x}'}\n- {name: b, url: b}\n");
    for wanted in [": 2:18: steps.0.url: no step extracts ${x}", ": 3:18: steps.1.url: \"b\" is not a path"] {
        assert!(told.contains(wanted), "{told}");
    }
    // The path may name any file: it is not quoted.
    let told = of("root:x:0:0\n");
    assert!(told.contains("no steps in it") && !told.contains("root"), "{told}");
}

#[test]
fn keys_of_a_plan_belong_to_scripts() {
    let text = "name: x\ntarget: {app: emulated, service: 10ms}\nobjective: {percentile: 90, response_time: 1s}\n\
                users: {model: url, no_show: 0.1, phases: [{sessions: 5/s, for: 3s}]}\narms: [none]\n";
    let told = read(text, &Changes::default()).expect_err("it has no plan");
    assert!(told[0].to_string().contains("users.no_show: belongs to model: script"), "{}", told[0]);
}

#[test]
fn a_manifest_has_neither_bodies_nor_header_values() {
    let found = experiment(EMULATED, &format!("  plan:\n{}", indented(BUY))).expect("it is good");
    let text = serde_json::to_string(&found).expect("JSON");
    assert!(!text.contains("a=${turn}") && text.contains("sha256:"), "{text}");
    let back: Experiment = serde_json::from_str(&text).expect("it can be read back");
    assert_eq!(serde_json::to_string(&back).expect("JSON"), text);
    let lines = crate::plan::preview(&plan_of(&found));
    assert_eq!(
        lines,
        [
            "seat: GET /seat; takes token, next, turn; wants 200 or 404; checks the page",
            "in 75 % of the sessions:",
            "  buy: POST /buy?token=${token|url}",
            "in 25 % of the sessions:",
            "  leave: GET ${next}",
        ]
    );
}
