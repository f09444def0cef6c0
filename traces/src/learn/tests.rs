use super::*;
use crate::{
    generate::{Plan, generate},
    trace::{Footer, Header, Names, Record, Writer},
};

/// The matrix of Welsh's thesis, figure 46.
const THESIS: &str = "
name: thesis
source: figure 46
start: login
transitions:
  login: {list folders: 1.0}
  list folders: {list messages: 1.0}
  list messages: {login: 0.27, show message: 0.68, delete: 0.02, refile: 0.02, search: 0.01}
  show message: {login: 0.03, list messages: 0.58, delete: 0.18, refile: 0.20, search: 0.01}
  search: {login: 0.27, show message: 0.68, delete: 0.02, refile: 0.02, search: 0.01}
think:
  list messages: {exponential: {mean: 300ms}}
  show message: {lognormal: {median: 600ms, sigma: 0.5}}
";

fn fit(text: &[u8]) -> Result<UserModel, LearnError> {
    learn(&mut Reader::new(text).expect("a trace"), "fitted")
}

fn generated(model: &UserModel, sessions: u64, previous_page: PreviousPage) -> Vec<u8> {
    let plan = Plan { previous_page, ..Plan::of(model, sessions) };
    generate(model, &plan, Vec::new()).expect("memory")
}

/// Sessions of actions, a second apart, each of a user of its own. A `!` at the end: the session is cut.
fn sessions(of: &[&str]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &Header::new("test", "made up", Names::Generated)).expect("memory");
    let mut offset = 0;
    for (number, actions) in of.iter().enumerate() {
        let (actions, end) = actions.strip_suffix('!').map_or((*actions, true), |actions| (actions, false));
        let actions = actions.split(',').map(str::trim).chain(end.then_some("leave"));
        for action in actions {
            let name = format!("{number}");
            let record = Record {
                offset,
                user: name.clone().into(),
                session: name.into(),
                action: action.to_owned().into(),
                ..Record::default()
            };
            writer.write(&record).expect("sound");
            offset += 1_000_000;
        }
    }
    writer.finish(Footer::default()).expect("memory")
}

/// Every cell of the model was found, and the interval of every found cell contains the model's share, which may be 0.
fn holds_every_cell(model: &UserModel, fitted: &Fitted) {
    let found: BTreeMap<_, _> =
        fitted.cells.iter().map(|cell| ((cell.from.as_str(), cell.to.as_str()), cell)).collect();
    for (from, row) in &model.transitions {
        for (to, truth) in row {
            let cell = found.get(&(from.as_str(), to.as_str())).unwrap_or_else(|| panic!("{from} to {to} was lost"));
            assert!((cell.low..=cell.high).contains(truth), "{truth} is not in {cell:?}");
        }
    }
    for cell in &fitted.cells {
        let truth = model.transitions[&cell.from].get(&cell.to).copied().unwrap_or(0.0);
        assert!((cell.low..=cell.high).contains(&truth), "{truth} is not in {cell:?}");
    }
}

#[test]
fn a_generated_trace_gives_its_model_back_cell_by_cell() {
    let model = UserModel::from_yaml(THESIS).expect("sound");
    for reading in [PreviousPage::Literal, PreviousPage::List] {
        let found = fit(&generated(&model, 3000, reading)).expect("a model");
        let fitted = found.fitted.as_deref().expect("it was fitted");
        assert_eq!(fitted.previous_page, reading);
        assert_eq!(found.transitions.len(), 5, "delete and refile have no row");
        holds_every_cell(&model, fitted);
        let back: Vec<(&str, bool)> =
            fitted.back.iter().map(|back| (back.state.as_str(), back.seen == back.returned)).collect();
        assert_eq!(back, [("delete", true), ("refile", true)]);
        assert!(fitted.order.verdict.starts_with("first order holds"), "{}", fitted.order.verdict);
        assert!(
            fitted.lengths.as_ref().and_then(|lengths| lengths.p).is_some_and(|p| p > 0.001),
            "{:?}",
            fitted.lengths
        );
        assert!(fitted.arrivals.p.is_some_and(|p| p > 0.001), "{:?}", fitted.arrivals.dispersion);
        assert!(matches!(found.think["list messages"], crate::Think::Exponential { .. }), "{:?}", found.think);
        assert!(matches!(found.think["show message"], crate::Think::Lognormal { .. }), "{:?}", found.think);
        assert_eq!((fitted.read.sessions, fitted.read.cut, fitted.read.users), (3000, 0, 300));
        // In a trace generated from the fitted model, the cells still hold: the intervals are those of the fitted
        // shares.
        let again = fit(&generated(&found, 3000, reading)).expect("a model");
        holds_every_cell(&found, again.fitted.as_deref().expect("fitted"));
    }
}

/// The thesis' users, with a different pause before each of these pages.
const WAYS: &str = "think_to:
  list messages: {login: {constant: 5s}, show message: {exponential: {mean: 300ms}}}
  show message: {list messages: {lognormal: {median: 600ms, sigma: 0.5}}, delete: {uniform: {min: 100ms, max: 200ms}}}
  delete: {show message: {constant: 50ms}}
";

#[test]
fn the_pause_of_each_transition_comes_back_and_rare_ones_have_that_of_their_page() {
    use crate::Think;
    let model = UserModel::from_yaml(&format!("{THESIS}{WAYS}")).expect("sound");
    let first = fit(&generated(&model, 3000, PreviousPage::Literal)).expect("a model");
    // A fit of the fitted model gives the same laws again.
    let again = fit(&generated(&first, 3000, PreviousPage::Literal)).expect("a model");
    for found in [first, again] {
        let law = |from: &str, to: &str| found.pause(from, to).expect("a law");
        let near = |found: std::time::Duration, truth: f64| (found.as_secs_f64() / truth - 1.0).abs() < 0.06;
        assert_eq!(law("list messages", "login"), &Think::Constant(std::time::Duration::from_secs(5)));
        let Think::Exponential { mean } = law("list messages", "show message") else { panic!("{found:?}") };
        assert!(near(*mean, 0.3), "{mean:?}");
        let Think::Lognormal { median, sigma } = law("show message", "list messages") else { panic!("{found:?}") };
        assert!(near(*median, 0.6) && (sigma - 0.5).abs() < 0.03, "{median:?} {sigma}");
        let Think::Uniform { min, max } = law("show message", "delete") else { panic!("{found:?}") };
        assert!(near(*min, 0.1) && near(*max, 0.2), "{min:?} {max:?}");
        assert_eq!(law("delete", "show message"), &Think::Constant(std::time::Duration::from_millis(50)));
    }
    // A hundredth of a few pages are too few for a law.
    let few = fit(&generated(&model, 200, PreviousPage::Literal)).expect("a model");
    assert!(few.think_to["list messages"].contains_key("show message"), "{:?}", few.think_to);
    assert!(!few.think_to["list messages"].contains_key("search"), "{:?}", few.think_to);
    assert!(few.transitions["list messages"].contains_key("search"));
    assert_eq!(few.pause("list messages", "search"), few.think.get("list messages"));
}

/// Users who leave a list that they returned to, and who read on after a search.
const SECOND: &str = "
version: 2
name: second
source: made up
start: login
transitions:
  login: {list folders: 1.0}
  list folders: {list messages: 1.0}
  list messages: {login: 0.3, show message: 0.6, search: 0.1}
  show message: {login: 0.1, list messages: 0.6, delete: 0.2, refile: 0.1}
  search: {login: 0.5, show message: 0.5}
second:
  list messages:
    list folders: {login: 0.1, show message: 0.8, search: 0.1}
    show message: {login: 0.5, show message: 0.45, search: 0.05}
  show message:
    search: {login: 0.05, list messages: 0.2, delete: 0.7, refile: 0.05}
";

#[test]
fn a_model_of_second_order_comes_back_pair_by_pair() {
    let model = UserModel::from_yaml(SECOND).expect("sound");
    let mut truth = model.clone();
    // All intervals of a model hold with a probability of 99 %, so one of ten models may fail (more fail with 0.4 %).
    let mut failed = Vec::new();
    for seed in 1..=10 {
        let plan = Plan { seed, ..Plan::of(&truth, 3000) };
        let found = fit(&generate(&truth, &plan, Vec::new()).expect("memory")).expect("a model");
        let fitted = found.fitted.as_deref().expect("fitted");
        assert!(
            fitted.order.verdict.starts_with("first order does not hold: after list messages, show message"),
            "{:?}",
            fitted.order
        );
        assert_eq!(found.second.keys().collect::<Vec<_>>(), ["list messages", "show message"]);
        assert_eq!(found.second["list messages"].keys().collect::<Vec<_>>(), ["list folders", "show message"]);
        // The interval of every cell of every pair contains the model's share; they hold together with 99 %.
        let counts = &fitted.order.second;
        for cell in counts {
            let all = counts.iter().filter(|other| (&other.before, &other.from) == (&cell.before, &cell.from));
            let all = all.map(|other| other.count).sum();
            let (low, high) = interval::share(cell.count, all, 0.01 / counts.len() as f64);
            let chance = truth.row(&cell.before, &cell.from).and_then(|row| row.get(&cell.to)).copied().unwrap_or(0.0);
            if !(low..=high).contains(&chance) {
                failed.push((seed, format!("{chance} is not in {low} to {high}: {cell:?}")));
            }
            let share = found.row(&cell.before, &cell.from).and_then(|row| row.get(&cell.to));
            assert!(share.is_some_and(|share| (share - cell.count as f64 / all as f64).abs() < 1e-9), "{cell:?}");
        }
        // With the second order lengths agree; with the first alone they do not.
        let lengths = fitted.lengths.as_ref().expect("sessions ended");
        assert!(lengths.p.is_some_and(|p| p > 0.001), "{lengths:?}");
        let first = UserModel { second: BTreeMap::new(), ..found.clone() };
        // Sessions with one list: a tenth, where the first order predicts a third.
        let shortest = |model: &UserModel| Statistics::of(model, PreviousPage::Literal).expect("sound").lengths[2];
        assert!(
            (shortest(&found) - 0.1).abs() < 0.02 && shortest(&first) > 0.25,
            "{} {}",
            shortest(&found),
            shortest(&first)
        );
        // Next, the fitted model is simulated itself.
        truth = if seed % 2 == 1 { found } else { model.clone() };
    }
    let seeds: BTreeSet<u64> = failed.iter().map(|(seed, _)| *seed).collect();
    assert!(seeds.len() <= 1, "{failed:?}");
}

#[test]
fn a_pair_that_was_seen_too_rarely_has_the_row_of_the_first_order() {
    let model = UserModel::from_yaml(SECOND).expect("sound");
    let found = fit(&generated(&model, 250, PreviousPage::Literal)).expect("a model");
    assert!(found.second["list messages"].contains_key("show message"), "{:?}", found.second);
    let after_search = found.second.get("show message").is_some_and(|rows| rows.contains_key("search"));
    assert!(!after_search, "{:?}", found.second);
    assert_eq!(found.row("search", "show message"), found.transitions.get("show message"));
}

#[test]
fn the_intervals_are_narrow_enough_to_tell_another_model() {
    let model = UserModel::from_yaml(THESIS).expect("sound");
    let other = UserModel::from_yaml(&THESIS.replace("0.58, delete: 0.18", "0.54, delete: 0.22")).expect("sound");
    let found = fit(&generated(&model, 3000, PreviousPage::Literal)).expect("a model");
    let outside = found.fitted.as_deref().expect("fitted").cells.iter().filter(|cell| {
        let other = other.transitions[&cell.from].get(&cell.to).copied().unwrap_or(0.0);
        !(cell.low..=cell.high).contains(&other)
    });
    assert!(outside.count() >= 1);
}

#[test]
fn the_model_file_is_read_again_with_its_counts() {
    let model = UserModel::from_yaml(THESIS).expect("sound");
    let found = fit(&generated(&model, 200, PreviousPage::Literal)).expect("a model");
    let text = found.to_yaml().expect("it can be written");
    let again = UserModel::from_yaml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!((again.version, &again.transitions), (crate::model::VERSION, &found.transitions));
    assert_eq!(again.think_to.keys().collect::<Vec<_>>(), found.think_to.keys().collect::<Vec<_>>());
    assert!(!again.think_to.is_empty());
    let (was, is) = (found.fitted.expect("fitted"), again.fitted.expect("fitted"));
    assert_eq!((is.cells, is.read, is.order), (was.cells, was.read, was.order));
    assert!(again.source.contains("generated from the model thesis"), "{}", again.source);
}

#[test]
fn a_cut_session_counts_nothing_after_its_last_page() {
    let fitted = |of: &[&str]| fit(&sessions(of)).expect("a model").fitted.expect("fitted");
    let whole = ["login, list folders, list messages"; 5];
    let cut = [&whole[..], &["login, list folders!"]].concat();
    let (whole, cut) = (fitted(&whole), fitted(&cut));
    assert_eq!((whole.read.cut, cut.read.cut), (0, 1));
    let count =
        |fitted: &Fitted, from: &str| fitted.cells.iter().filter(|c| c.from == from).map(|c| c.count).sum::<u64>();
    assert_eq!((count(&cut, "login"), count(&cut, "list folders"), count(&cut, "list messages")), (6, 5, 5));
    assert_eq!(count(&whole, "login"), 5);
}

#[test]
fn what_users_cannot_walk_is_left_out_and_counted() {
    let of = ["login, list folders, compose, create folder", "list folders", "login, list folders, search!"];
    let model = fit(&sessions(&of)).expect("a model");
    let fitted = model.fitted.expect("fitted");
    let left_out: Vec<(&str, u64)> = fitted.left_out.iter().map(|(action, count)| (action.as_str(), *count)).collect();
    // No user was seen to leave the search.
    assert_eq!(left_out, [("compose", 1), ("create folder", 1), ("search", 1)]);
    assert_eq!((fitted.read.sessions, fitted.read.without_login), (3, 1));
    assert_eq!(model.transitions.keys().collect::<Vec<_>>(), ["list folders", "login"]);
}

#[test]
fn what_gives_no_model_says_why() {
    let said = |of: &[&str]| fit(&sessions(of)).expect_err("no model").to_string();
    assert!(said(&["login", "login"]).contains("no order of actions"));
    assert!(said(&["page, pay", "page"]).contains("no action of the trace is one of web mail (it has page, pay)"));
    assert!(said(&["login, list folders, search!"]).contains("none was seen to its end"));
}
