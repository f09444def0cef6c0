//! The program's screens: choosing, setting up, past runs, comparing.

use std::path::PathBuf;

use analysis::{
    live::{LiveEvent, Shape, TimelineSecond},
    summary::{
        Arm, Comparison, ComparisonVerdict, GateFinding, LatencyObjective, Measured, Mode, PhaseSummary, RunSummary,
        ThresholdResult, Times, Touched, Validity,
    },
};

use super::{App, Effect, KeyCode, ScreenMessage, frame, happened, hides, phase, press, presses, second, shows};
use crate::{FolderContents, ListedRun, OpenRun, Palette, PastSummary, ScreenJob, panel::Screen};

pub(super) fn type_in(app: &mut App, text: &str) {
    for c in text.chars() {
        assert!(press(app, KeyCode::Char(c)).is_none());
    }
}

fn at(app: &mut App, id: &str) {
    press(app, KeyCode::Char('/'));
    type_in(app, id);
    press(app, KeyCode::Enter);
}

/// The setup of `flash-crowd`, which is the first.
pub(super) fn set_up() -> App {
    let mut app = App::default();
    assert!(press(&mut app, KeyCode::Tab).is_none());
    assert_eq!(app.screen, Screen::Setup);
    app
}

pub(super) fn opened(runs: Vec<OpenRun>) -> App {
    let mut app = App::default();
    app.receive(ScreenMessage::Opened(runs));
    app
}

pub(super) fn order_of(effect: Option<Effect>) -> Box<crate::RunOrder> {
    match effect {
        Some(Effect::Job(ScreenJob::Run(order))) => order,
        other => panic!("{other:?}"),
    }
}

#[test]
fn experiments_are_shown_with_what_they_show() {
    let drawn = frame(&App::default(), Palette::COLOURS, 100, 30);
    assert!(drawn.contains("flash-crowd") && drawn.contains("3 users, then 1000 at once"), "{drawn}");
    assert!(
        drawn.contains("none, seda, published, connections") && drawn.contains("spike 30 s: 1000 users"),
        "{drawn}"
    );
    assert!(drawn.contains("min live"), "{drawn}");
}

fn found(words: &str) -> Vec<String> {
    let mut app = App::default();
    at(&mut app, words);
    app.home.shown().map(|choice| choice.id.clone()).collect()
}

#[test]
fn experiments_are_found_by_words_of_their_files() {
    assert_eq!(found("QUOTAS greedy figure"), ["sre-quotas"], "all of the words");
    assert!(found("fairness quota").contains(&"sre-quotas".to_owned()), "or any of them");
    let retries = found("retry");
    for id in ["metastable", "cascade", "server-and-client", "retry-budget"] {
        assert!(retries.iter().any(|found| found == id), "{id}: {retries:?}");
    }
    assert!(found("gradient2").contains(&"four-policies".to_owned()), "an arm");
    assert!(found("rush").contains(&"four-policies".to_owned()), "a phase");
    let mut app = App::default();
    at(&mut app, "zzzz");
    assert!(frame(&app, Palette::Plain, 100, 30).contains("nothing has that in its name"));
    assert!(press(&mut app, KeyCode::Enter).is_none(), "nothing to choose");
    presses(&mut app, [KeyCode::Char('/'), KeyCode::Esc]);
    assert!(frame(&app, Palette::Plain, 100, 30).contains("flash-crowd"));
}

#[test]
fn an_experiment_runs_at_once_in_virtual_time_or_live() {
    let mut app = App::default();
    let order = order_of(press(&mut app, KeyCode::Enter));
    assert_eq!((order.name.as_str(), order.virtual_time, app.screen), ("flash-crowd", true, Screen::Live));
    app.receive(ScreenMessage::Opened(vec![compared("run-1")]));
    press(&mut app, KeyCode::Esc);
    assert_eq!(app.screen, Screen::Home, "where it was started from");
    assert!(!order_of(press(&mut app, KeyCode::Char('L'))).virtual_time);
    let mut app = App::default();
    assert!(app.home.point_at("webq-change"));
    assert!(press(&mut app, KeyCode::Char('L')).is_none());
    shows(&app, (100, 30), &["it runs in virtual time alone"]);
}

/// A service of one's own, at a URL.
const OWN: &str = "name: shop\nabout: mine\ntarget: {url: 'http://127.0.0.1:8080'}\nobjective: {percentile: 90, response_time: 1s}\nusers: {model: url, path: /, phases: [{name: x, requests: 5/s, for: 3s}]}\narms: [none]\n";

#[test]
fn from_a_url_to_a_run_in_virtual_time_without_leaving() {
    let mut app = App::default();
    press(&mut app, KeyCode::Char('n'));
    type_in(&mut app, "http://127.0.0.1:8080/");
    press(&mut app, KeyCode::Enter);
    assert!(matches!(app.wanted(), Some(Effect::Job(ScreenJob::Init(url))) if url == "http://127.0.0.1:8080/"));
    let path = PathBuf::from("shop.yaml");
    app.receive(ScreenMessage::Written {
        path: path.clone(),
        and_edit: false,
        said: "asked for /: so about 3 at once\nwrote shop.yaml".to_owned(),
    });
    let files = vec![("shop.yaml".to_owned(), OWN.to_owned())];
    app.receive(ScreenMessage::Found(FolderContents { files, ..FolderContents::default() }));
    assert_eq!(app.home.chosen().expect("one").id, "shop.yaml", "the cursor is on it");
    assert!(press(&mut app, KeyCode::Enter).is_none(), "nothing is known of its costs");
    shows(&app, (120, 30), &["m measures it (lab calibrate), L runs it live"]);
    assert!(!order_of(press(&mut app, KeyCode::Char('L'))).virtual_time);
    app.receive(ScreenMessage::Failed("nobody listens there".to_owned()));
    let job = press(&mut app, KeyCode::Char('m'));
    assert!(matches!(job, Some(Effect::Job(ScreenJob::Calibrate(file))) if file == path));
    let said =
        "http://127.0.0.1:8080: http://127.0.0.1:8080/ did not answer within 3 s (refused)\n  start it before the lab"
            .to_owned();
    app.receive(ScreenMessage::Failed(said));
    shows(&app, (80, 24), &["did not answer within 3 s", "│start it before the lab ", "? help"]);
    press(&mut app, KeyCode::Char('['));
    hides(&app, (80, 24), &["start it before"]);
    app.home.point_at("flash-crowd");
    assert!(press(&mut app, KeyCode::Char('m')).is_none());
    shows(&app, (100, 30), &["there is nothing to measure"]);
}

#[test]
fn a_setup_that_is_in_no_file_is_not_left_without_a_question() {
    let mut app = set_up();
    press(&mut app, KeyCode::Char('+'));
    assert!(press(&mut app, KeyCode::Char('q')).is_none());
    shows(&app, (100, 30), &["q again: leave all the same"]);
    press(&mut app, KeyCode::Esc);
    assert!(press(&mut app, KeyCode::Char('q')).is_none(), "another key takes the question back");
    assert!(matches!(press(&mut app, KeyCode::Char('q')), Some(Effect::Quit)));
    let mut written = set_up();
    presses(&mut written, [KeyCode::Char('+'), KeyCode::Char('w'), KeyCode::Enter]);
    assert!(matches!(press(&mut written, KeyCode::Char('q')), Some(Effect::Quit)));
}

#[test]
fn files_of_this_folder_are_a_group_and_one_with_a_slip_says_so() {
    let mut app = App::default();
    let good = "name: mine\nabout: my own\ntarget: {app: emulated, service: 10ms}\nobjective: {percentile: 90, response_time: 1s}\nusers: {model: url, path: /, phases: [{name: x, requests: 5/s, for: 3s}]}\narms: [none]\n";
    let files = vec![("bad.yaml".to_owned(), "arms: [nonne]\n".to_owned()), ("mine.yaml".to_owned(), good.to_owned())];
    app.receive(ScreenMessage::Found(FolderContents { files, ..FolderContents::default() }));
    shows(&app, (100, 30), &["! bad.yaml", "yours", "mine.yaml"]);
    assert_eq!(app.home.chosen().expect("one").id, "flash-crowd", "the cursor stays where it was");
    app.home.point_at("bad.yaml");
    shows(&app, (100, 30), &["bad.yaml:"]);
    press(&mut app, KeyCode::Tab);
    assert_eq!(app.screen, Screen::Home, "it cannot be set up");
    press(&mut app, KeyCode::Down);
    assert!(frame(&app, Palette::Plain, 100, 30).contains("my own"));
    press(&mut app, KeyCode::Tab);
    assert_eq!(app.screen, Screen::Setup);
}

#[test]
fn a_run_that_was_over_in_a_moment_says_so() {
    let took = Some(std::time::Duration::from_millis(412));
    let app = opened(vec![OpenRun { took, ..compared("run-1") }]);
    shows(&app, (100, 30), &["done in 412 ms"]);
}

fn made() -> Vec<String> {
    ["seed 1, 7 blocks of every arm", "none; seda (samples=20, target=2s)"].map(str::to_owned).to_vec()
}

fn past(name: &str, summary: bool) -> ListedRun {
    let summary = summary.then(|| PastSummary {
        experiment: "flash-crowd".to_owned(),
        virtual_time: name.ends_with('1'),
        began: "2026-11-27 22:59".to_owned(),
        winner: "seda".to_owned(),
        verdict: "VALID".to_owned(),
        arms: vec!["none".to_owned(), "seda".to_owned()],
        made: made(),
    });
    ListedRun { folder: PathBuf::from("runs").join(name), summary }
}

#[test]
fn past_runs_are_ticked_and_opened() {
    let mut app = App::default();
    assert!(matches!(press(&mut app, KeyCode::Char('r')), Some(Effect::Job(ScreenJob::Look))));
    assert!(frame(&app, Palette::Plain, 100, 30).contains("none in this folder yet"));
    let runs = vec![past("run-1", true), past("killed", false), past("run-2", true)];
    app.receive(ScreenMessage::Found(FolderContents { runs, ..FolderContents::default() }));
    insta::assert_snapshot!(frame(&app, Palette::COLOURS, 80, 16));
    let opened = |effect| match effect {
        Some(Effect::Job(ScreenJob::Open(folders))) => folders,
        other => panic!("{other:?}"),
    };
    assert_eq!(opened(press(&mut app, KeyCode::Enter)), [PathBuf::from("runs/run-1")]);
    presses(&mut app, [KeyCode::Char(' '), KeyCode::Down, KeyCode::Char(' ')]);
    assert_eq!(app.past.ticked.len(), 1, "one without a summary has nothing to compare");
    presses(&mut app, [KeyCode::Down, KeyCode::Char(' ')]);
    assert_eq!(opened(press(&mut app, KeyCode::Enter)).len(), 2);
}

#[test]
fn a_comparison_leads_back_to_where_it_was_opened() {
    let mut app = set_up();
    order_of(press(&mut app, KeyCode::Enter));
    app.receive(ScreenMessage::Opened(vec![compared("run-1")]));
    assert!(press(&mut app, KeyCode::Esc).is_none() && app.screen == Screen::Setup, "the run of a moment ago");
    presses(&mut app, [KeyCode::Esc, KeyCode::Char('r')]);
    app.receive(ScreenMessage::Opened(vec![compared("run-1"), compared("run-2")]));
    assert!(press(&mut app, KeyCode::Esc).is_none() && app.screen == Screen::Past, "not to what was set up before");
    press(&mut app, KeyCode::Esc);
    assert_eq!(app.screen, Screen::Home);
}

fn arm(name: &str, goodput: f64, p90: Option<f64>) -> Arm {
    let times = Times { p90, p90_at_least: p90.is_none().then_some(10_400.0), count: 500, ..Times::default() };
    let measured = Measured {
        planned: 9000,
        sent: 9000,
        goodput_per_s: goodput,
        offered_per_s: 300.0,
        rejected: 4500,
        response_time_ms: times,
        reject_fraction: 0.5,
        ..Measured::default()
    };
    let phases = vec![
        PhaseSummary { name: "before".to_owned(), seconds: 10.0, ..PhaseSummary::default() },
        PhaseSummary { name: "spike".to_owned(), seconds: 30.0, measured, ..PhaseSummary::default() },
    ];
    Arm { policy: name.to_owned(), block: 1, phases, ..Arm::default() }
}

pub(super) fn compared(name: &str) -> OpenRun {
    let comparison = Comparison {
        metric: "goodput_per_s".to_owned(),
        phase: "spike".to_owned(),
        baseline: "none".to_owned(),
        policy: "seda".to_owned(),
        verdict: ComparisonVerdict::Better,
        ratio: Some(2.4),
        interval: Some([2.2, 2.6]),
        ..Comparison::default()
    };
    let threshold = ThresholdResult {
        text: String::new(),
        held: true,
        judged: true,
        why: String::new(),
        values: Vec::new(),
        blocks: Vec::new(),
        aborted: None,
    };
    let summary = RunSummary {
        experiment: "flash-crowd".to_owned(),
        mode: Mode::Live,
        valid: true,
        verdict: Validity::Warn,
        objective: LatencyObjective { percentile: 90.0, response_time_ms: 1000.0 },
        arms: vec![arm("none", 35.0, None), arm("seda", 84.0, Some(890.0))],
        comparisons: vec![comparison],
        thresholds: vec![threshold],
        ..RunSummary::default()
    };
    let seconds = |arm: &'static str, times: f64| {
        (0..40).map(move |at| {
            let second = second(at);
            let p90_ms = second.p90_ms.map(|ms| ms * times);
            TimelineSecond {
                arm: arm.to_owned(),
                block: 1,
                served: (second.served as f64 * times) as u64,
                p90_ms,
                ..second
            }
        })
    };
    let shape = Shape {
        experiment: "flash-crowd".to_owned(),
        mode: Mode::Live,
        about: String::new(),
        objective: LatencyObjective::default(),
        arms: vec!["none".to_owned(), "seda".to_owned()],
        blocks: 1,
        capacity_per_s: None,
        capacity_changes: Vec::new(),
        phases: vec![phase("before", 10.0, "3 users"), phase("spike", 30.0, "1000 users")],
    };
    let timeline = seconds("none", 0.5).chain(seconds("seda", 1.0)).collect();
    let folder = PathBuf::from("runs").join(name);
    let (name, events) = (name.to_owned(), Vec::new());
    OpenRun { name, folder, summary, timeline, events, shape: Some(shape), made: made(), took: None }
}

#[test]
fn arms_beside_each_other() {
    let mut app = opened(vec![compared("run-1")]);
    assert_eq!(app.screen, Screen::Compare);
    press(&mut app, KeyCode::Down);
    insta::assert_snapshot!(frame(&app, Palette::Plain, 100, 30));
}

#[test]
fn a_number_leads_to_its_plot_and_a_bound_is_no_number() {
    let mut app = opened(vec![compared("run-1"), compared("run-2")]);
    presses(&mut app, [KeyCode::Right; 4]);
    shows(&app, (120, 40), &[" p90 ", " target", ">= 10.4 s", "890 ms", "seda · B", "B: run-2"]);
    // A line is hidden, and the plot has the whole screen.
    presses(&mut app, [KeyCode::Char(' '), KeyCode::Char('z')]);
    shows(&app, (120, 40), &["seda · B"]);
    hides(&app, (120, 40), &["seda · A", ">= 10.4 s"]);
}

#[test]
fn a_run_that_was_stopped_says_so_where_its_verdict_is() {
    let mut run = compared("run-1");
    let mut again = run.summary.arms.clone();
    again.iter_mut().for_each(|arm| arm.block = 2);
    let spike = again[1].phases.iter_mut().find(|phase| phase.name == "spike").expect("a spike");
    (spike.cut_off, spike.seconds, spike.measured.goodput_per_s) = (true, 2.0, 1.0);
    run.summary.arms.extend(again);
    run.summary.partial = true;
    run.summary.stopped =
        Some(analysis::summary::Stopped::of(&run.summary.arms, &["none", "seda"].map(str::to_owned), 121));
    let mut claims = vec![run.summary.thresholds[0].clone(); 3];
    (claims[1].held, claims[1].judged) = (false, false);
    claims[1].text = "seda.spike.goodput > 1".to_owned();
    claims[1].why = "seda.spike was cut off after 2.0 s".to_owned();
    run.summary.thresholds = claims;
    run.took = Some(std::time::Duration::from_secs(2));
    let mut app = opened(vec![run]);
    let drawn = frame(&app, Palette::Plain, 140, 30);
    let head = drawn.lines().next().expect("a head");
    assert!(
        head.contains("PARTIAL: 1 of 121 blocks ran to their end") && head.contains("stopped after 2.00 s"),
        "{head}"
    );
    assert!(head.contains("2 of 2 claims held, 1 not judged") && !head.contains("done in"), "{head}");
    // Medians are those of the whole block.
    assert!(drawn.contains("spike, 1 block (Tab"), "{drawn}");
    insta::assert_snapshot!(drawn);
    press(&mut app, KeyCode::Enter);
    shows(&app, (140, 30), &["PARTIAL: 1 of 121 blocks", "not judged seda.spike.goodput"]);
}

#[test]
fn an_arm_whose_answers_all_time_out_is_a_line_at_its_bound() {
    let mut run = compared("run-1");
    for second in run.timeline.iter_mut().filter(|second| second.arm == "none" && second.second >= 10) {
        (second.p90_ms, second.p90_at_least_ms) = (None, Some(10_000.0));
    }
    let mut app = opened(vec![run]);
    presses(&mut app, [KeyCode::Right; 4]);
    insta::assert_snapshot!(frame(&app, Palette::Plain, 100, 24));
}

#[test]
fn nearly_nothing_is_told_as_two_values() {
    let mut run = compared("run-1");
    let found = &mut run.summary.comparisons[0];
    (found.ratio, found.interval) = (None, None);
    (found.baseline_value, found.policy_value) = (Some(0.0), Some(286.0));
    let app = opened(vec![run]);
    shows(&app, (120, 30), &["better from 0.0/s to 286/s"]);
}

#[test]
fn what_was_found_stands_beside_the_figures_and_what_lies_behind_it_is_a_key_away() {
    let mut run = compared("run-1");
    let mut again = run.summary.arms.clone();
    again.iter_mut().for_each(|arm| arm.block = 2);
    run.summary.arms.extend(again);
    run.summary.reasons = vec![GateFinding {
        code: "DRIFT".to_owned(),
        verdict: Validity::Warn,
        arm: "seda".to_owned(),
        value: "1.13".to_owned(),
        threshold: "1.10".to_owned(),
        message: "the machine changed its speed".to_owned(),
        remedy: "look at more blocks".to_owned(),
    }];
    run.summary.thresholds[0] = ThresholdResult {
        text: "seda.spike.response_time.p90 <= 800ms\u{1b}[2J".to_owned(),
        held: false,
        judged: true,
        why: "found 890 ms".to_owned(),
        ..run.summary.thresholds[0].clone()
    };
    let mut app = opened(vec![run]);
    shows(
        &app,
        (120, 30),
        &[
            "goodput/s against none",
            "better x2.40 [2.20, 2.60]",
            "spike, medians of 2 blocks",
            "0 of 1 claims held (Enter)",
        ],
    );
    press(&mut app, KeyCode::Enter);
    shows(
        &app,
        (120, 30),
        &[
            "FAILED seda.spike.response_time.p90 <= 800ms\u{fffd}[2J",
            "found 890 ms",
            "none; seda (samples=20, target=2s)",
            "WARN DRIFT in seda (1 of 2 blocks): 1.13 (limit: 1.10)",
            "look at more blocks",
        ],
    );
    press(&mut app, KeyCode::Down);
    assert!(!frame(&app, Palette::Plain, 120, 30).contains(" run-1 "), "the rest of it");
    press(&mut app, KeyCode::Esc);
    assert!(app.screen == Screen::Compare && frame(&app, Palette::Plain, 120, 30).contains("goodput/s against none"));
}

#[test]
fn long_lists_say_what_part_is_shown_and_have_ends() {
    let mut app = App::default();
    shows(&app, (100, 20), &[" 1 to 13 of "]);
    press(&mut app, KeyCode::End);
    let drawn = frame(&app, Palette::Plain, 100, 20);
    let count = experiment::Library::all().len();
    assert!(drawn.contains(&format!(" to {count} of {count} ")), "{drawn}");
    press(&mut app, KeyCode::PageUp);
    assert_eq!(app.home.at, count - 11);
}

#[test]
fn a_change_by_a_person_is_marked_on_the_axis_and_told() {
    let mut run = compared("run-1");
    let touched = |second, what: &str| Touched { second, what: what.to_owned() };
    run.summary.arms[1].touches = vec![touched(21.0, "30 more users for 10 s\u{1b}[2J"), touched(30.0, "policy codel")];
    let mut app = opened(vec![run]);
    shows(&app, (100, 40), &["! 21 s: 30 more users for 10 s\u{fffd}[2J, and 1 more"]);
    press(&mut app, KeyCode::Down);
    let drawn = frame(&app, Palette::Plain, 100, 40);
    assert!(drawn.contains("! a person changed an arm") && drawn.contains("seda !"), "{drawn}");
    // Two upright lines of them, beside the two in words.
    assert!(drawn.lines().filter(|line| line.matches('!').count() == 2).count() >= 5, "{drawn}");
    // Without its line there is nothing to mark.
    presses(&mut app, [KeyCode::Up, KeyCode::Char(' ')]);
    let drawn = frame(&app, Palette::Plain, 100, 40);
    assert!(!drawn.lines().any(|line| line.matches('!').count() == 2), "{drawn}");
}

#[test]
fn a_run_in_virtual_time_shows_how_far_it_is_and_then_its_comparison() {
    let mut app = set_up();
    order_of(press(&mut app, KeyCode::Enter));
    let shape = Shape { mode: Mode::Virtual, ..compared("run-1").shape.expect("a shape") };
    happened(&mut app, LiveEvent::RunStarted(shape));
    happened(&mut app, LiveEvent::Computing { done_s: 30.0, of_s: 80.0 });
    shows(&app, (100, 30), &["38 %", "30 s of 80 s", "██████"]);
    app.receive(ScreenMessage::Opened(vec![compared("run-1")]));
    assert_eq!(app.screen, Screen::Compare);
}

#[test]
fn what_could_not_be_done_is_told_where_it_was_asked_for() {
    let mut app = set_up();
    order_of(press(&mut app, KeyCode::Enter));
    app.receive(ScreenMessage::Failed("the disk is full\u{1b}[2J".to_owned()));
    assert_eq!(app.screen, Screen::Setup);
    shows(&app, (100, 30), &["the disk is full\u{fffd}[2J"]);
}

#[test]
fn every_screen_can_be_drawn_at_every_size_and_has_its_help() {
    let mut apps = [App::default(), set_up(), App::default(), App::default()];
    apps[2].receive(ScreenMessage::Opened(vec![compared("run-1")]));
    press(&mut apps[3], KeyCode::Char('r'));
    for app in &mut apps {
        for (width, height) in [(1, 1), (10, 3), (60, 16), (80, 24), (200, 60), (300, 100)] {
            let drawn = frame(app, Palette::COLOURS, width, height);
            let foot = drawn.lines().last().unwrap_or_default();
            let has_a_way_out = ["Esc back", "q leave"].iter().any(|way| foot.contains(way));
            assert!(width < 60 || has_a_way_out && foot.contains("? help"), "{drawn}");
        }
        press(app, KeyCode::Char('?'));
        assert!(frame(app, Palette::Plain, 80, 24).contains("╭ help "));
        assert!(press(app, KeyCode::Esc).is_none());
        assert!(!frame(app, Palette::Plain, 80, 24).contains("╭ help "));
        assert!(matches!(press(app, KeyCode::Char('q')), Some(Effect::Quit)));
    }
}

/// `docs/reference/tui.md`. `INSTA_UPDATE=always` writes it anew, as it does the other generated pages.
#[test]
fn the_page_of_keys_is_fresh() {
    let mut groups: Vec<(String, String)> = Vec::new();
    for key in crate::keymap::KEYS.iter().filter(|key| !key.name.is_empty()) {
        let screens: Vec<String> = key.on.iter().map(|screen| format!("{screen:?}").to_lowercase()).collect();
        let screens = screens.join(", ");
        let row = format!("| `{}` | {} |\n", key.name, key.about);
        match groups.iter_mut().find(|(known, _)| *known == screens) {
            Some((_, rows)) => rows.push_str(&row),
            None => groups.push((screens, row)),
        }
    }
    let mut wanted = String::from(
        "# Keys of the screens\n\nGenerated from the program: do not edit. \
         `INSTA_UPDATE=always cargo test --workspace --lib the_page_of_keys` writes it anew.\n\n\
         `?` shows those of a screen on it. What the keys do that change a run: [tui.md](../tui.md#changing-a-live-run).\n",
    );
    for (screens, rows) in groups {
        wanted.push_str(&format!("\n## {screens}\n\n| key | what |\n|---|---|\n{rows}"));
    }
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/tui.md");
    if std::env::var_os("INSTA_UPDATE").is_some_and(|mode| mode == "always") {
        return std::fs::write(file, wanted).expect("written");
    }
    let page = std::fs::read_to_string(file).expect("docs/reference/tui.md");
    assert_eq!(page, wanted, "docs/reference/tui.md is stale");
}
