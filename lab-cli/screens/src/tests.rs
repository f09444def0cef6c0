//! Frames as people see them, made from events alone.

use analysis::{
    live::{GeneratorSecond, Group, LiveEvent, PhaseShape, Shape, StageSecond, TargetSecond, TimelineSecond},
    summary::{Arm, GateFinding, LatencyObjective, Measured, Mode, PhaseSummary, Times, Validity},
};
use crossterm::event::{KeyCode, KeyEvent};
use ratatui::{Terminal, backend::TestBackend, style::Color};

use super::{
    Palette, ScreenMessage, UserRequest,
    app::App,
    requests::Effect,
    state::{MOST_LINES, MOST_SECONDS},
    view,
};

mod across;
mod agents;
mod answer;
mod defects;
mod doors;
mod instrument;
mod load;
mod program;
mod setup;
mod side_by_side;
mod touching;
mod trace;

fn happened(app: &mut App, event: LiveEvent) {
    app.receive(ScreenMessage::Event(Box::new(event)));
}

fn press(app: &mut App, code: KeyCode) -> Option<Effect> {
    app.key(KeyEvent::from(code))
}

/// Keys that only change what is shown.
fn presses(app: &mut App, codes: impl IntoIterator<Item = KeyCode>) {
    for code in codes {
        press(app, code);
    }
}

fn phase(name: &str, seconds: f64, load: &str) -> PhaseShape {
    PhaseShape { name: name.to_owned(), seconds, load: load.to_owned() }
}

fn started() -> App {
    let mut app = App::of_one_run();
    let shape = Shape {
        experiment: "flash-crowd".to_owned(),
        mode: Mode::Live,
        about: "3 users, then 1000 at once (SEDA, figure 10)".to_owned(),
        objective: LatencyObjective { percentile: 90.0, response_time_ms: 1000.0 },
        arms: vec!["none".to_owned(), "seda".to_owned(), "connections".to_owned()],
        blocks: 1,
        capacity_per_s: Some(100.0),
        capacity_changes: Vec::new(),
        phases: vec![
            phase("before", 10.0, "3 users"),
            phase("spike", 30.0, "1000 users"),
            phase("after", 12.0, "3 users"),
        ],
    };
    happened(&mut app, LiveEvent::RunStarted(shape));
    app
}

/// A spike under SEDA: 200 of 300 a second are rejected, the admission rate falls, p90 rises to 4 s and comes back.
fn second(at: u32) -> TimelineSecond {
    let spike = at >= 10;
    let p90 = match at {
        0..10 => 40.0,
        10..20 => 400.0 * f64::from(at - 9),
        20..24 => return TimelineSecond { second: at, p90_ms: None, ..second(19) },
        _ => 900.0,
    };
    let stage = |name: &str, queue: u32, offered: u64, refused: u64, rate: f64| StageSecond {
        name: name.to_owned(),
        queue,
        workers: 2,
        busy: u32::from(queue > 0),
        batch: 8,
        offered,
        admitted: offered - refused,
        refused,
        completed: offered - refused,
        gauges: [("admission_rate_per_s".to_owned(), rate), ("p90_ms".to_owned(), p90)].into(),
    };
    let refused = if spike { 130 } else { 0 };
    let group = |planned, served, late, rejected, mean| Group {
        planned,
        served,
        late,
        rejected,
        lost: u64::from(spike),
        mean_ms: Some(mean),
    };
    let by_type = if spike {
        [("login", group(230, 50, 4, 170, 700.0)), ("list folders", group(70, 40, 6, 30, 1300.0))]
    } else {
        [("login", group(10, 10, 0, 0, 12.0)), ("list folders", group(50, 50, 0, 0, 9.0))]
    };
    TimelineSecond {
        second: at,
        phase: if spike { "spike" } else { "before" }.to_owned(),
        users: if spike { 1000 } else { 3 },
        users_by_state: [
            ("thinking".to_owned(), 2),
            ("in request".to_owned(), if spike { 98 } else { 1 }),
            ("backing off".to_owned(), if spike { 900 } else { 0 }),
            ("gone".to_owned(), if spike { 12 } else { 0 }),
        ]
        .into(),
        planned: if spike { 300 } else { 60 },
        offered: if spike { 300 } else { 60 },
        sent: if spike { 300 } else { 60 },
        served: if spike { 90 } else { 60 },
        served_late: if spike { 10 } else { 0 },
        rejected: if spike { 200 } else { 0 },
        timed_out: if spike { 30 } else { 0 },
        abandoned: if (15..20).contains(&at) { 60 } else { 0 },
        in_flight: 98,
        by_type: by_type.map(|(name, group)| (name.to_owned(), group)).into(),
        p90_ms: Some(p90),
        generator: GeneratorSecond {
            cpu: 0.31,
            send_lag_p99_ms: 0.42,
            loop_gap_ms: 2.0,
            open_files: 1034,
            ..GeneratorSecond::default()
        },
        target: Some(TargetSecond {
            cpu: 0.98,
            rss_bytes: 212_000_000,
            connections: 1001,
            stages: vec![
                stage("read", 0, 300, 0, 5000.0),
                stage("login", if spike { 40 } else { 0 }, 230, refused, 7.25),
                stage("list folders", 3, 40, 8, 31.0),
                stage("search", 0, 0, 0, 100.0),
            ],
            ..TargetSecond::default()
        }),
        ..TimelineSecond::default()
    }
}

fn running() -> App {
    let mut app = started();
    happened(&mut app, LiveEvent::Note { text: "capacity: 100/s at 14.2 operations a request".to_owned() });
    finish(&mut app, "none", Some(Times { p90_at_least: Some(10_400.0), count: 2900, ..Times::default() }));
    let policy = controllers::catalogue::PolicySpec {
        name: "seda".to_owned(),
        place: None,
        settings: controllers::Settings::new(),
    };
    happened(&mut app, LiveEvent::ArmStarted { arm: "seda".to_owned(), block: 1, policy: Some(policy) });
    happened(&mut app, LiveEvent::PhaseStarted { phase: "before".to_owned(), second: 0 });
    for at in 0..27 {
        if at == 10 {
            happened(&mut app, LiveEvent::PhaseStarted { phase: "spike".to_owned(), second: 10 });
        }
        happened(&mut app, LiveEvent::Second(Box::new(second(at))));
    }
    app
}

fn finish(app: &mut App, name: &str, times: Option<Times>) {
    happened(app, LiveEvent::ArmStarted { arm: name.to_owned(), block: 1, policy: None });
    let measured = Measured {
        planned: 3000,
        sent: 3000,
        timed_out: 400,
        goodput_per_s: 12.4,
        reject_fraction: 0.0,
        response_time_ms: times.unwrap_or_default(),
        ..Measured::default()
    };
    let model = GateFinding {
        code: "MODEL".to_owned(),
        verdict: Validity::Warn,
        arm: name.to_owned(),
        value: String::new(),
        threshold: String::new(),
        message: String::new(),
        remedy: String::new(),
    };
    let arm = Arm {
        policy: name.to_owned(),
        block: 1,
        verdict: Validity::Warn,
        reasons: vec![model],
        phases: vec![
            PhaseSummary { name: "before".to_owned(), seconds: 10.0, ..PhaseSummary::default() },
            PhaseSummary { name: "spike".to_owned(), seconds: 30.0, measured, ..PhaseSummary::default() },
        ],
        ..Arm::default()
    };
    happened(app, LiveEvent::ArmFinished(Box::new(arm)));
}

fn terminal(app: &App, palette: Palette, width: u16, height: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a test backend");
    terminal.draw(|frame| view::draw(frame, app, palette)).expect("drawn");
    terminal
}

fn frame(app: &App, palette: Palette, width: u16, height: u16) -> String {
    terminal(app, palette, width, height).backend().to_string()
}

fn shows(app: &App, (width, height): (u16, u16), texts: &[&str]) {
    let drawn = frame(app, Palette::Plain, width, height);
    for text in texts {
        assert!(drawn.contains(text), "no {text:?}:\n{drawn}");
    }
}

fn hides(app: &App, (width, height): (u16, u16), texts: &[&str]) {
    let drawn = frame(app, Palette::Plain, width, height);
    for text in texts {
        assert!(!drawn.contains(text), "{text:?}:\n{drawn}");
    }
}

#[test]
fn a_run_at_80_by_24() {
    insta::assert_snapshot!(frame(&running(), Palette::COLOURS, 80, 24));
}

#[test]
fn a_run_at_120_by_40() {
    insta::assert_snapshot!(frame(&running(), Palette::COLOURS, 120, 40));
}

#[test]
fn a_run_at_200_by_60() {
    insta::assert_snapshot!(frame(&running(), Palette::COLOURS, 200, 60));
}

#[test]
fn a_run_without_colour_tells_lines_apart_by_their_marks() {
    let terminal = terminal(&running(), Palette::Plain, 80, 24);
    insta::assert_snapshot!(terminal.backend().to_string());
    let coloured = terminal.backend().buffer().content().iter().any(|c| c.fg != Color::Reset || c.bg != Color::Reset);
    assert!(!coloured, "colour was used where none is wanted");
}

#[test]
fn only_the_sixteen_colours_are_used() {
    let terminal = terminal(&running(), Palette::COLOURS, 120, 40);
    for cell in terminal.backend().buffer().content() {
        for colour in [cell.fg, cell.bg] {
            assert!(!matches!(colour, Color::Rgb(..) | Color::Indexed(_)), "{colour:?}");
        }
    }
}

/// Retries make eleven times as much of what is asked as can be served: the line that matters is not lost at the foot of the axis.
#[test]
fn what_is_in_time_is_seen_beside_a_peak_of_retries() {
    let mut app = running();
    for at in 27..40 {
        let peak = TimelineSecond { planned: 1100, rejected: 900, served: 30 + u64::from(at), ..second(at) };
        happened(&mut app, LiveEvent::Second(Box::new(peak)));
    }
    press(&mut app, KeyCode::Char('1'));
    let drawn = frame(&app, Palette::Plain, 80, 24);
    assert!(drawn.contains("69/s of 100/s"), "{drawn}");
    insta::assert_snapshot!(drawn);
    // Drawn last: nothing lies over it.
    assert!(drawn.matches('+').count() > 30, "{drawn}");
}

#[test]
fn response_times_are_those_of_the_objectives_percentile_or_of_another_one() {
    let mut app = running();
    shows(&app, (120, 40), &["╭ p90 ─", "900 ms target 1.00 s"]);
    press(&mut app, KeyCode::Char('t'));
    shows(&app, (120, 40), &["╭ p99 ─", "too few answers"]);
    let mut last = second(26);
    (last.second, last.p50_ms, last.p99_ms) = (27, Some(60.0), Some(1800.0));
    happened(&mut app, LiveEvent::Second(Box::new(last)));
    shows(&app, (120, 40), &["1.80 s", "1.8x OVER"]);
    press(&mut app, KeyCode::Char('t'));
    shows(&app, (120, 40), &["╭ p50 ─", "60 ms target 1.00 s"]);
    press(&mut app, KeyCode::Char('t'));
    shows(&app, (120, 40), &["╭ p90 ─"]);
}

#[test]
fn before_the_first_arm() {
    insta::assert_snapshot!(frame(&started(), Palette::COLOURS, 80, 24));
}

#[test]
fn help_lies_over_the_run() {
    let mut app = running();
    press(&mut app, KeyCode::Char('?'));
    insta::assert_snapshot!(frame(&app, Palette::COLOURS, 80, 24));
    press(&mut app, KeyCode::Esc);
    assert_eq!(frame(&app, Palette::COLOURS, 80, 24), frame(&running(), Palette::COLOURS, 80, 24));
}

#[test]
fn the_first_q_stops_and_the_second_ends() {
    let mut app = running();
    assert!(matches!(press(&mut app, KeyCode::Char('q')), Some(Effect::Ask(UserRequest::Stop))));
    assert!(frame(&app, Palette::Plain, 80, 24).contains("STOPPING"));
    // The run says that it has understood: said once.
    let lines = app.live.log.len();
    happened(&mut app, LiveEvent::Stopping);
    assert_eq!(app.live.log.len(), lines);
    assert!(matches!(press(&mut app, KeyCode::Char('q')), Some(Effect::Ask(UserRequest::Abort))));
}

#[test]
fn a_frozen_view_stays_as_it_was_and_can_look_back() {
    let mut app = running();
    press(&mut app, KeyCode::Char('p'));
    let frozen = frame(&app, Palette::Plain, 80, 24);
    assert!(frozen.contains("FROZEN at 27 s") && frozen.contains("1000 users"), "{frozen}");
    happened(&mut app, LiveEvent::Second(Box::new(TimelineSecond { users: 7, ..second(27) })));
    assert_eq!(frame(&app, Palette::Plain, 80, 24), frozen);
    presses(&mut app, [KeyCode::PageUp, KeyCode::PageUp, KeyCode::Left]);
    let back = frame(&app, Palette::Plain, 80, 24);
    assert!(back.contains("FROZEN at 6 s") && back.contains(" 3 users, ") && back.contains(" 6 s of 52 s"), "{back}");
    // No further back than the beginning, no further forth than now.
    presses(&mut app, [KeyCode::PageUp; 9]);
    assert!(frame(&app, Palette::Plain, 80, 24).contains("FROZEN at 1 s"));
    presses(&mut app, [KeyCode::PageDown; 9]);
    assert!(frame(&app, Palette::Plain, 80, 24).contains("FROZEN at 28 s"));
    press(&mut app, KeyCode::Char('p'));
    shows(&app, (80, 24), &[" 7 users,"]);
    hides(&app, (80, 24), &["FROZEN"]);
}

#[test]
fn each_panel_can_have_the_screen_for_itself() {
    for (key, shown) in [
        ('1', "capacity"),
        ('2', "900 ms"),
        ('3', "abandoned"),
        ('4', "list folders"),
        ('5', "[5] stages"),
        ('6', "backing off"),
        ('7', "finished arms"),
        ('8', "what happened"),
        ('0', "this process sends"),
    ] {
        let mut app = running();
        press(&mut app, KeyCode::Char(key));
        for (width, height) in [(60, 16), (80, 24), (200, 60)] {
            let drawn = frame(&app, Palette::Plain, width, height);
            assert!(drawn.contains(shown) && drawn.contains("generator CPU"), "{key}:\n{drawn}");
        }
        assert_ne!(frame(&app, Palette::Plain, 80, 24), frame(&running(), Palette::Plain, 80, 24));
        press(&mut app, KeyCode::Char(key));
        assert_eq!(frame(&app, Palette::Plain, 80, 24), frame(&running(), Palette::Plain, 80, 24), "and back");
    }
}

#[test]
fn outcomes_have_scales_of_their_own() {
    let mut app = running();
    press(&mut app, KeyCode::Char('3'));
    insta::assert_snapshot!(frame(&app, Palette::Plain, 80, 24));
}

#[test]
fn what_speaks_against_the_arm_so_far_is_told() {
    let mut app = running();
    assert!(frame(&app, Palette::Plain, 80, 24).contains("so far nothing against it"));
    let mut late = second(27);
    late.generator.send_lag_p99_ms = 180.0;
    happened(&mut app, LiveEvent::Second(Box::new(late)));
    happened(&mut app, LiveEvent::Second(Box::new(TimelineSecond { target: None, ..second(28) })));
    app.live.own_cpu = Some(0.012);
    shows(&app, (100, 24), &["LAG in 1 s  no word from the service in 1 s", "this screen 1.2 % of a core"]);
}

#[test]
fn every_size_can_be_drawn() {
    let states = [App::of_one_run(), started(), running()];
    for app in &states {
        for (width, height) in [(1, 1), (10, 3), (59, 40), (60, 16), (61, 17), (80, 25), (300, 100)] {
            let _ = frame(app, Palette::COLOURS, width, height);
        }
    }
    assert!(frame(&running(), Palette::Plain, 40, 10).contains("too small"));
}

#[test]
fn texts_from_the_target_cannot_act_on_the_terminal() {
    let mut app = running();
    let mut evil = second(27);
    let target = evil.target.as_mut().expect("a target");
    target.stages[1].name = "lo\u{1b}[2Jgin\u{202e}".to_owned();
    target.stages[1].gauges.insert("\u{9b}31m".to_owned(), 1.0);
    evil.users_by_state.insert("\u{7}bell".to_owned(), 1);
    happened(&mut app, LiveEvent::Second(Box::new(evil)));
    let text = "\u{1b}]0;title\u{7}".to_owned();
    happened(&mut app, LiveEvent::Policy { second: 27.0, stage: "login".to_owned(), text });
    let drawn = frame(&app, Palette::COLOURS, 120, 40);
    assert!(drawn.contains("lo\u{fffd}[2Jgin\u{fffd}"));
    assert!(!drawn.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'));
}

#[test]
fn memory_is_bounded() {
    let mut app = running();
    for at in 0..5000 {
        happened(&mut app, LiveEvent::Second(Box::new(TimelineSecond { second: at, ..second(30) })));
        happened(&mut app, LiveEvent::Note { text: at.to_string() });
    }
    assert_eq!(app.live.running.as_ref().expect("an arm").seconds.len(), MOST_SECONDS);
    assert_eq!(app.live.log.len(), MOST_LINES);
    assert_eq!(app.live.log.back().map(|note| note.text.as_str()), Some("4999"));
}
