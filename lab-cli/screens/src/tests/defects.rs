//! What went wrong once on the screen, and must not again.

use analysis::{
    live::{LiveEvent, Touch},
    summary::{Arm, BlockResult, GateFinding, Touched, Validity},
};
use crossterm::event::{KeyEvent, KeyModifiers};

use super::{
    App, Effect, KeyCode, ScreenMessage, frame, happened, hides, press, presses,
    program::{compared, opened, set_up, type_in},
    running, shows,
};
use crate::{FolderContents, OpenRun, Palette, ScreenJob, panel::Screen};

#[test]
fn a_filter_ends_with_esc_alone() {
    let mut app = App::default();
    press(&mut app, KeyCode::Char('/'));
    type_in(&mut app, "zzzz");
    press(&mut app, KeyCode::Enter);
    assert!(frame(&app, Palette::Plain, 100, 30).contains(" 0 found (Esc: all)"));
    press(&mut app, KeyCode::Esc);
    assert!(frame(&app, Palette::Plain, 100, 30).contains("flash-crowd"));
}

#[test]
fn a_field_has_a_cursor_that_moves() {
    let mut app = set_up();
    presses(&mut app, [KeyCode::Down, KeyCode::Tab, KeyCode::Enter, KeyCode::Left]);
    let value = |app: &App| app.setup.as_ref().expect("a setup").parameters()[0].value.clone();
    assert!(!frame(&app, Palette::Plain, 120, 36).contains(&format!("new value: {}_", value(&app))));
    app.key(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
    app.key(KeyEvent::new(KeyCode::Char('k'), KeyModifiers::CONTROL));
    assert!(frame(&app, Palette::Plain, 120, 36).contains("new value: _"));
    // Ctrl-C leaves, also from a field.
    assert!(app.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)).is_some());
}

#[test]
fn what_enter_runs_in_place_of_the_files_arms_is_said_in_the_list() {
    let mut app = set_up();
    presses(&mut app, [KeyCode::Down, KeyCode::Char(' '), KeyCode::Esc]);
    assert_eq!(app.screen, Screen::Home);
    shows(&app, (120, 40), &["changed  none, published, connections; 1 block"]);
    presses(&mut app, [KeyCode::Tab, KeyCode::Char('u'), KeyCode::Esc]);
    assert!(!frame(&app, Palette::Plain, 120, 40).contains("changed "));
}

#[test]
fn the_scope_of_an_arm_can_be_changed_and_a_parameter_found() {
    let mut app = set_up();
    press(&mut app, KeyCode::Down); // seda
    presses(&mut app, [KeyCode::Tab, KeyCode::Char('/')]);
    type_in(&mut app, "scope");
    press(&mut app, KeyCode::Enter);
    let parameters = app.setup.as_ref().expect("a setup").parameters();
    let [scope] = &parameters[..] else { panic!("{parameters:?}") };
    assert_eq!((scope.name.as_str(), scope.value.as_str()), ("scope", "per-stage"));
    press(&mut app, KeyCode::Enter);
    type_in(&mut app, "single");
    press(&mut app, KeyCode::Enter);
    let order = app.setup.as_ref().expect("a setup").order().expect("it can run");
    assert_eq!(order.changes.set, ["arms.1.seda.scope=single"]);
    press(&mut app, KeyCode::Esc);
    assert!(app.setup.as_ref().expect("a setup").parameters().len() > 5, "all again");
}

#[test]
fn a_list_of_policies_says_what_each_does_and_a_wrong_name_is_answered_in_the_form() {
    let mut app = running();
    press(&mut app, KeyCode::Char('o'));
    shows(&app, (80, 24), &["fixed-rate         a token bucket at a rate that you set"]);
    type_in(&mut app, "coddel");
    press(&mut app, KeyCode::Enter);
    shows(&app, (80, 24), &["there is no policy \"coddel\"; did you mean codel?"]);
}

#[test]
fn a_setup_can_be_put_back_to_the_files() {
    let mut app = set_up();
    presses(&mut app, [KeyCode::Char(' '), KeyCode::Char('+'), KeyCode::Char('d'), KeyCode::Char('a')]);
    assert!(app.setup.as_ref().expect("a setup").is_changed());
    press(&mut app, KeyCode::Char('u'));
    let setup = app.setup.as_ref().expect("a setup");
    assert!(!setup.is_changed() && setup.ticked() == 4 && setup.repeat() == 1);
    press(&mut app, KeyCode::Char('a'));
    assert_eq!(app.setup.as_ref().expect("a setup").ticked(), 0, "none");
    press(&mut app, KeyCode::Char('a'));
    assert_eq!(app.setup.as_ref().expect("a setup").ticked(), 4, "all of the file");
}

fn unstable(arm: &str) -> GateFinding {
    GateFinding {
        code: "UNSTABLE".to_owned(),
        verdict: Validity::Unstable,
        arm: arm.to_owned(),
        value: "0.31".to_owned(),
        threshold: "0.10".to_owned(),
        message: "it did not settle".to_owned(),
        remedy: "run it longer".to_owned(),
    }
}

#[test]
fn reasons_are_told_once_a_gate_with_their_arms() {
    let mut run = compared("run-1");
    run.summary.verdict = Validity::Unstable;
    run.summary.reasons = (1..=10)
        .flat_map(|block| {
            // As gates name them: a turn with its block, from the second one on.
            let turn = |arm: &str| if block == 1 { arm.to_owned() } else { format!("{arm} (block {block})") };
            // In two phases of each.
            ["none", "seda", "none", "seda"].map(|arm| unstable(&turn(arm)))
        })
        .collect();
    let arms = run.summary.arms.clone();
    let block = |block: u32| arms.iter().cloned().map(move |arm| Arm { block, ..arm });
    run.summary.arms = (1..=10).flat_map(block).collect();
    let mut app = opened(vec![run]);
    let drawn = frame(&app, Palette::Plain, 120, 30);
    assert_eq!(drawn.lines().next().expect("a head").matches("UNSTABLE").count(), 1, "{drawn}");
    press(&mut app, KeyCode::Enter);
    let drawn = frame(&app, Palette::Plain, 120, 30);
    assert_eq!(drawn.matches("it did not settle").count(), 1, "{drawn}");
    let places = "   UNSTABLE in none (10 of 10 blocks), seda (10 of 10 blocks), first: 0.31 (limit: 0.10)";
    assert!(drawn.contains(places) && !drawn.contains("UNSTABLE UNSTABLE"), "{drawn}");
}

#[test]
fn what_was_found_in_few_blocks_is_said_once() {
    let mut run = compared("run-1");
    let mut again = run.summary.arms.clone();
    again.iter_mut().for_each(|arm| arm.block = 2);
    run.summary.arms.extend(again);
    let block = |block, found: &str| BlockResult { block, held: true, judged: true, found: found.to_owned() };
    let claim = &mut run.summary.thresholds[0];
    claim.why = "block 1: found 16.94 s; block 2: found 17.12 s".to_owned();
    claim.blocks = vec![block(1, "found 16.94 s"), block(2, "found 17.12 s")];
    let mut app = opened(vec![run]);
    press(&mut app, KeyCode::Enter);
    let drawn = frame(&app, Palette::Plain, 120, 30);
    assert!(drawn.contains("block 1: found 16.94 s; block 2: found 17.12 s   "), "{drawn}");
    assert!(drawn.matches("found 17.12 s").count() == 1 && !drawn.contains(" | "), "{drawn}");
}

fn folder_with(name: &str, text: &str) -> ScreenMessage {
    let files = vec![(name.to_owned(), text.to_owned())];
    ScreenMessage::Found(FolderContents { files, ..FolderContents::default() })
}

const GOOD: &str = "name: mine\nabout: my own\ntarget: {app: emulated, service: 10ms}\nobjective: {percentile: 90, response_time: 1s}\nusers: {model: url, path: /, phases: [{name: x, requests: 5/s, for: 3s}]}\narms: [none]\n";

#[test]
fn a_file_that_was_mended_in_another_window_is_read_again() {
    let mut app = App::default();
    let looks = |effect: Option<Effect>| matches!(effect, Some(Effect::Job(ScreenJob::Look)));
    app.receive(folder_with("mine.yaml", "arms: [nonne]\n"));
    app.home.point_at("mine.yaml");
    assert!(frame(&app, Palette::Plain, 100, 40).contains("! mine.yaml"));
    // By a key.
    assert!(looks(press(&mut app, KeyCode::Char('R'))) && looks(press(&mut app, KeyCode::F(5))));
    app.receive(folder_with("mine.yaml", GOOD));
    assert!(!frame(&app, Palette::Plain, 100, 40).contains("! mine.yaml"));
    press(&mut app, KeyCode::Tab);
    assert_eq!(app.screen, Screen::Setup);
    // And on the way back from a setup, without one.
    press(&mut app, KeyCode::Esc);
    assert!(app.screen == Screen::Home && looks(app.wanted()));
    app.receive(folder_with("mine.yaml", &GOOD.replace("requests: 5/s", "requests: 7/s")));
    press(&mut app, KeyCode::Tab);
    assert!(frame(&app, Palette::Plain, 120, 40).contains("7/s"), "the file as it is now");
}

#[test]
fn a_file_of_the_folder_experiments_that_was_edited_stands_beside_what_comes_with_the_program() {
    let mut app = App::default();
    let known = experiment::Library::find("flash-crowd").expect("it is there").text;
    app.receive(folder_with("experiments/flash-crowd.yaml", &known.replace("users: 1000", "users: 300")));
    assert!(app.home.point_at("experiments/flash-crowd.yaml"));
    shows(&app, (120, 40), &["yours", "spike 30 s: 300 users"]);
    assert!(app.home.point_at("flash-crowd"), "the one that comes with the program is there too");
}

#[test]
fn a_title_does_not_count_the_blocks_of_one_run_for_all() {
    let mut many = compared("run-2");
    let mut again = many.summary.arms.clone();
    again.iter_mut().for_each(|arm| arm.block = 2);
    many.summary.arms.extend(again);
    let app = opened(vec![compared("run-1"), many]);
    shows(&app, (120, 30), &["spike, medians of 1 to 2 blocks"]);
}

#[test]
fn changes_of_one_run_do_not_cross_the_lines_of_another() {
    let mut touched = compared("run-2");
    touched.summary.arms[0].touches = vec![Touched { second: 20.0, what: "30 more users".to_owned() }];
    let mut app = opened(vec![compared("run-1"), touched]);
    let crossed = |app: &App| {
        frame(app, Palette::Plain, 120, 40).lines().filter(|line| line.contains(" ! ") || line.contains("!")).count()
    };
    let of_first = crossed(&app);
    press(&mut app, KeyCode::End);
    assert!(crossed(&app) > of_first + 5, "the cursor is on the run that was changed");
}

/// Twenty-one arms: their names do not fit beside each other.
fn twenty_one() -> OpenRun {
    let mut run = compared("run-1");
    let (arm, seconds) = (run.summary.arms[0].clone(), run.timeline.clone());
    run.summary.arms.clear();
    run.timeline.clear();
    for n in 0..21 {
        let policy = format!("policy-{n}");
        run.timeline.extend(seconds.iter().filter(|s| s.arm == "none").map(|s| {
            let mut second = s.clone();
            second.arm.clone_from(&policy);
            second
        }));
        run.summary.arms.push(Arm { policy, ..arm.clone() });
    }
    run
}

#[test]
fn of_many_arms_that_under_the_cursor_is_named_at_its_line_and_it_can_be_alone() {
    let mut app = opened(vec![twenty_one()]);
    press(&mut app, KeyCode::End);
    let drawn = frame(&app, Palette::Plain, 100, 40);
    let at_ends = |drawn: &str| drawn.lines().filter(|line| line.contains("policy-") && !line.contains("50 %")).count();
    assert!(drawn.contains(" to 21 of 21 "), "which rows there are: {drawn}");
    assert!(drawn.lines().any(|line| line.trim_end_matches(['│', '"']).trim_end().ends_with(" policy-20")), "{drawn}");
    // Equal arms share a place, and none of them is the best.
    assert!(drawn.contains("  1 * policy-16 ") && !drawn.contains('★'), "{drawn}");
    press(&mut app, KeyCode::Char('x'));
    let alone = frame(&app, Palette::Plain, 100, 40);
    assert!(at_ends(&alone) < at_ends(&drawn), "{alone}");
    press(&mut app, KeyCode::Char('x'));
    assert!(app.compare.hidden.is_empty());
}

#[test]
fn no_star_for_hindsight_or_for_the_times_of_survivors() {
    let mut run = compared("run-1");
    let arm = |policy: &str, goodput_per_s: f64, p90: f64, bound: bool| {
        let mut arm = Arm { policy: policy.to_owned(), bound, ..run.summary.arms[1].clone() };
        let measured = &mut arm.phases[1].measured;
        (measured.goodput_per_s, measured.response_time_ms.p90) = (goodput_per_s, Some(p90));
        arm
    };
    let more = [arm("oracle", 99.0, 90.0, true), arm("pid", 9.0, 7.0, false)];
    run.summary.arms.extend(more);
    let mut app = opened(vec![run]);
    let row = |app: &App, name: &str| {
        let drawn = frame(app, Palette::Plain, 120, 40);
        let is_it = |line: &&str| line.contains(&format!(" {name} ")) && line.contains("50 %");
        drawn.lines().position(|line| is_it(&line)).map(|at| (at, drawn.lines().nth(at).unwrap_or("").contains('★')))
    };
    let (seda, oracle) = (row(&app, "seda").expect("a row"), row(&app, "oracle").expect("a row"));
    assert!(seda.1 && !oracle.1 && seda.0 < oracle.0);
    presses(&mut app, [KeyCode::Right, KeyCode::Right, KeyCode::Right, KeyCode::Right, KeyCode::Char('s')]);
    assert_eq!(app.compare.ranked_by().name(), "p90");
    let (seda, pid) = (row(&app, "seda").expect("a row"), row(&app, "pid").expect("a row"));
    assert!(seda.1 && !pid.1 && seda.0 < pid.0, "7 ms of a tenth of the requests");
}

#[test]
fn a_command_is_copied_or_the_screen_says_why_not() {
    let mut app = opened(vec![compared("run-1")]);
    let copied = press(&mut app, KeyCode::Char('y'));
    assert!(matches!(copied, Some(Effect::Copy(way)) if way == "lab proxy --to URL --policy seda --objective p90=1s"));
    shows(&app, (80, 24), &["copied: lab proxy"]);
    let mut run = compared("run-1");
    run.summary.valid = false;
    let mut app = opened(vec![run]);
    assert!(press(&mut app, KeyCode::Char('y')).is_none());
    shows(&app, (80, 24), &["nothing can be recommended"]);
}

#[test]
fn on_a_small_screen_help_scrolls_and_descriptions_do_and_keys_that_do_not_fit_are_in_the_help() {
    let mut app = set_up();
    press(&mut app, KeyCode::Char('?'));
    shows(&app, (80, 24), &["up down: the rest"]);
    hides(&app, (80, 24), &["TOUCHED"]);
    presses(&mut app, [KeyCode::Down; 60]);
    shows(&app, (80, 24), &["changed here"]);
    press(&mut app, KeyCode::Esc);
    let last = |app: &App| frame(app, Palette::Plain, 80, 24).lines().last().expect("a line").to_owned();
    assert!(last(&app).contains("? help"), "{}", last(&app));
    press(&mut app, KeyCode::Esc);
    let before = frame(&app, Palette::Plain, 80, 24);
    assert!(before.contains("] the rest"), "{before}");
    press(&mut app, KeyCode::Char(']'));
    assert_ne!(frame(&app, Palette::Plain, 80, 24), before);
    let drawn = frame(&running(), Palette::Plain, 80, 24);
    assert!(drawn.contains("[1]") && drawn.contains("1-8 panel"), "{drawn}");
}

#[test]
fn figures_of_the_health_line_do_not_touch() {
    let drawn = frame(&running(), Palette::Plain, 60, 16);
    let line = drawn.lines().find(|line| line.contains("service CPU")).expect("a line");
    let (before, _) = line.split_once("service CPU").expect("it is there");
    assert!(before.ends_with(' '), "{drawn}");
}

#[test]
fn titles_are_not_dim_with_sixteen_colours() {
    let terminal = super::terminal(&running(), Palette::COLOURS, 120, 40);
    let buffer = terminal.backend().buffer();
    let row = (0..40).find(|y| (0..120).map(|x| buffer[(x, *y)].symbol()).collect::<String>().contains("━in time"));
    let y = row.expect("a legend");
    let named = (0..120).filter(|x| buffer[(*x, y)].symbol() != "─").map(|x| &buffer[(x, y)]);
    assert!(named.clone().count() > 40);
    assert!(
        named.filter(|cell| cell.symbol() != " ").all(|cell| !cell.modifier.contains(ratatui::style::Modifier::DIM))
    );
}

#[test]
fn time_axes_have_ticks_and_phases_have_names() {
    let mut app = opened(vec![compared("run-1")]);
    let drawn = frame(&app, Palette::Plain, 100, 30);
    let axis = drawn.lines().find(|line| line.contains("40 s")).expect("an axis");
    assert!(axis.contains(" 10 ") && axis.contains(" 20 ") && axis.contains(" 30 "), "{axis}");
    assert!(drawn.contains(":spike"), "{drawn}");
    let phase = |app: &App| app.compare.phase_name().to_owned();
    assert_eq!(phase(&app), "spike");
    press(&mut app, KeyCode::BackTab);
    assert_eq!(phase(&app), "before");
}

#[test]
fn a_change_by_a_person_warns_and_does_not_condemn() {
    let mut app = running();
    happened(&mut app, LiveEvent::Touched { second: 26.5, touch: Touch::Pause });
    let terminal = super::terminal(&app, Palette::COLOURS, 100, 24);
    let buffer = terminal.backend().buffer();
    let so_far =
        (0..24).find(|y| (0..100).map(|x| buffer[(x, *y)].symbol()).collect::<String>().contains("so far TOUCHED"));
    let y = so_far.expect("it is told");
    assert!((0..100).all(|x| buffer[(x, y)].fg != ratatui::style::Color::Red), "a WARN is no error");
}

#[test]
fn a_switched_policy_stands_in_the_head() {
    let mut app = running();
    let policy = Touch::Policy { name: "fixed-rate".to_owned(), settings: controllers::Settings::new(), at: None };
    happened(&mut app, LiveEvent::Touched { second: 26.0, touch: policy });
    assert!(frame(&app, Palette::Plain, 120, 40).contains("seda > fixed-rate (rate "));
}

#[test]
fn a_long_run_in_virtual_time_says_how_long_it_still_takes() {
    let mut app = set_up();
    press(&mut app, KeyCode::Enter);
    let shape = compared("run-1").shape.expect("a shape");
    let shape = analysis::live::Shape { mode: analysis::summary::Mode::Virtual, ..shape };
    happened(&mut app, LiveEvent::RunStarted(shape));
    happened(&mut app, LiveEvent::Note { text: "best-static: looking for the limit".to_owned() });
    app.live.waiting_for = Some(std::time::Duration::from_secs(3));
    shows(&app, (100, 30), &["best-static: looking for the limit  3 s"]);
    happened(&mut app, LiveEvent::Computing { done_s: 20.0, of_s: 80.0 });
    app.live.waiting_for = Some(std::time::Duration::from_secs(10));
    shows(&app, (100, 30), &["25 %", "about 30 s left"]);
}
