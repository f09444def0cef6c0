//! What makes the screen an instrument: cursors, order, saved runs, other pictures, a mouse, files.

use analysis::{
    live::TimelineSecond,
    summary::{Curve, CurvePoint},
};
use ratatui::layout::{Position, Rect};

use super::{
    App, Effect, KeyCode, ScreenMessage, frame, hides, press, presses,
    program::{compared, opened, set_up, type_in},
    shows,
};
use crate::{
    Export, FolderContents, ListedRun, OpenRun, Palette, PreviewNews, PreviewPoint, PreviewStep, ScreenJob, Theme,
    app::Pane, panel::Screen, view,
};

fn comparison() -> App {
    opened(vec![compared("run-1")])
}

fn click(app: &mut App, (width, height): (u16, u16), text: &str) {
    let drawn = frame(app, Palette::Plain, width, height);
    // The test backend puts every row in quotes.
    let (row, line) = drawn.lines().enumerate().find(|(_, line)| line.contains(text)).expect(text);
    let column = line.find(text).map(|at| line[..at].chars().count()).expect(text) - 1;
    let at = Position::new(column as u16, row as u16);
    let target = view::mouse_target(app, Rect::new(0, 0, width, height), at);
    if let Some(effect) = target.and_then(|target| app.clicked(target)) {
        app.now(effect);
    }
}

/// Two blocks: `seda` is better in both, `codel` in one of them.
fn three_arms() -> OpenRun {
    let mut run = compared("run-1");
    let mut codel = run.summary.arms[1].clone();
    codel.policy = "codel".to_owned();
    run.summary.arms.push(codel);
    let mut again = run.summary.arms.clone();
    again.iter_mut().for_each(|arm| arm.block = 2);
    run.summary.arms.extend(again);
    let goodput = [30.0, 84.0, 80.0, 32.0, 85.0, 90.0];
    for (arm, goodput) in run.summary.arms.iter_mut().zip(goodput) {
        arm.phases[1].measured.goodput_per_s = goodput;
    }
    let more: Vec<TimelineSecond> = run
        .timeline
        .iter()
        .filter(|s| s.arm == "seda")
        .map(|s| TimelineSecond { arm: "codel".to_owned(), ..s.clone() })
        .collect();
    run.timeline.extend(more);
    run.shape.as_mut().expect("a shape").arms.push("codel".to_owned());
    run
}

#[test]
fn rows_are_sorted_the_best_is_marked_and_what_noise_hides_is_too() {
    let mut app = opened(vec![three_arms()]);
    let drawn = frame(&app, Palette::Plain, 120, 30);
    let row = |drawn: &str, arm: &str| {
        drawn.lines().position(|line| line.contains(&format!(" {arm} ")) && line.contains("50 %")).expect("a row")
    };
    assert!(row(&drawn, "codel") < row(&drawn, "seda") && row(&drawn, "seda") < row(&drawn, "none"), "{drawn}");
    // Of 84 and 85, and of 80 and 90, the higher one of two in the middle is the median.
    assert!(drawn.contains("★ x codel         90 ") && drawn.contains("≈ + seda          85 "), "{drawn}");
    assert!(drawn.contains("3 . none          32 "), "{drawn}");
    // The cursor moves in the order that is seen.
    press(&mut app, KeyCode::Home);
    assert_eq!(app.compare.arm_name(app.compare.chosen().expect("one")), "codel");
    press(&mut app, KeyCode::Down);
    assert_eq!(app.compare.arm_name(app.compare.chosen().expect("one")), "seda");
}

#[test]
fn any_arm_can_be_what_the_others_are_held_against() {
    let mut app = opened(vec![three_arms()]);
    presses(&mut app, [KeyCode::Down, KeyCode::Char('b')]);
    shows(&app, (120, 30), &["goodput/s against seda", "x0.38 (x0.36 to x0.38)", "x1.06 (x0.95 to x1.06)"]);
    press(&mut app, KeyCode::Char('b'));
    assert!(frame(&app, Palette::Plain, 120, 30).contains("goodput/s against none"));
}

#[test]
fn a_cursor_on_the_time_axis_shows_all_values_of_that_second() {
    let mut app = comparison();
    press(&mut app, KeyCode::Char('.'));
    let drawn = frame(&app, Palette::Plain, 100, 30);
    assert!(drawn.contains(" at 10 s (Esc: the phase)"), "where the phase begins: {drawn}");
    assert!(drawn.lines().filter(|line| line.contains('│')).count() > 5, "an upright line: {drawn}");
    // 90 and half of it are in time; the p90 of `none` is half of that of `seda` in this made-up run.
    assert!(drawn.contains("45 ") && drawn.contains("90 ") && drawn.contains("400 ms"), "{drawn}");
    presses(&mut app, [KeyCode::Char('>'); 2]);
    press(&mut app, KeyCode::Char(','));
    assert!(frame(&app, Palette::Plain, 100, 30).contains(" at 29 s "));
    press(&mut app, KeyCode::Esc);
    assert!(app.screen == Screen::Compare && frame(&app, Palette::Plain, 100, 30).contains("(Tab: another phase)"));
}

#[test]
fn a_phase_can_have_the_axis_for_itself() {
    let mut app = comparison();
    shows(&app, (100, 30), &["40 s", ":spike", "before"]);
    press(&mut app, KeyCode::Char('p'));
    shows(&app, (100, 30), &["10 ", " 20 "]);
    hides(&app, (100, 30), &["before"]);
    press(&mut app, KeyCode::BackTab);
    assert!(frame(&app, Palette::Plain, 100, 30).contains("10 s"), "the phase before");
}

#[test]
fn other_pictures_of_the_same_run() {
    let mut run = compared("run-1");
    let point = |planned: f64, goodput_per_s: f64| CurvePoint { planned, goodput_per_s, ..CurvePoint::default() };
    let curve = |arm: &str, most: f64| Curve {
        arm: arm.to_owned(),
        points: vec![point(50.0, 50.0), point(100.0, 90.0), point(300.0, most)],
    };
    run.summary.curves = vec![curve("none", 5.0), curve("seda", 95.0)];
    let mut app = opened(vec![run]);
    press(&mut app, KeyCode::Char('v'));
    shows(&app, (100, 30), &[".p50", "op90", "*p99"]);
    press(&mut app, KeyCode::Char('v'));
    insta::assert_snapshot!("heat_map_of_arms", frame(&app, Palette::Plain, 100, 24));
    press(&mut app, KeyCode::Char('v'));
    insta::assert_snapshot!("goodput_over_load", frame(&app, Palette::Plain, 100, 24));
    press(&mut app, KeyCode::Char('v'));
    insta::assert_snapshot!("trade_off_of_arms", frame(&app, Palette::Plain, 100, 24));
    press(&mut app, KeyCode::Char('v'));
    assert_eq!(app.compare.look.view, crate::app::View::OverTime);
}

#[test]
fn what_policies_show_of_themselves_is_a_figure_too() {
    let mut app = comparison();
    presses(&mut app, [KeyCode::Right; 20]);
    let drawn = frame(&app, Palette::Plain, 120, 30);
    assert!(drawn.contains("own p90") && drawn.contains("rate/s") && drawn.contains("queue"), "{drawn}");
    assert!(!drawn.contains(" limit"), "no policy of this run has one: {drawn}");
    assert!(
        drawn.contains("7.2 ") || drawn.contains("7.3 "),
        "the admission rate of the stage with the lowest: {drawn}"
    );
}

#[test]
fn a_saved_run_opens_on_the_live_screen_and_plays() {
    let mut app = comparison();
    press(&mut app, KeyCode::Char('o'));
    assert_eq!(app.screen, Screen::Replay);
    shows(
        &app,
        (120, 40),
        &["SAVED RUN at 11 s", "11 s of 40 s", "arm 2 of 2: seda", "▼ spike: 1000 users", "[3] not in time"],
    );
    presses(&mut app, [KeyCode::PageDown, KeyCode::Left]);
    assert!(frame(&app, Palette::Plain, 120, 40).contains("SAVED RUN at 20 s"));
    presses(&mut app, [KeyCode::Char('+'), KeyCode::Char(' ')]);
    assert!(app.passed(std::time::Duration::from_millis(2500)), "five seconds of the run");
    shows(&app, (120, 40), &["PLAYING at 25 s, 2x"]);
    // Another arm, at the same second and with the same percentile, and it goes on.
    assert!(frame(&app, Palette::Plain, 120, 40).contains(" p90"));
    presses(&mut app, [KeyCode::Char('t'), KeyCode::Tab]);
    assert!(frame(&app, Palette::Plain, 120, 40).contains(" p99"));
    assert!(frame(&app, Palette::Plain, 120, 40).contains("PLAYING at 25 s") && app.compare.at == 0);
    app.passed(std::time::Duration::from_secs(100));
    shows(&app, (120, 40), &["SAVED RUN at 40 s"]);
    press(&mut app, KeyCode::Home);
    assert!(frame(&app, Palette::Plain, 120, 40).contains("SAVED RUN at 1 s"));
    press(&mut app, KeyCode::Esc);
    assert_eq!(app.screen, Screen::Compare);
}

#[test]
fn a_stage_shows_its_policys_figures_over_time() {
    let mut app = comparison();
    presses(&mut app, [KeyCode::Char('o'), KeyCode::Char('5'), KeyCode::Down]);
    insta::assert_snapshot!(frame(&app, Palette::Plain, 100, 40));
    press(&mut app, KeyCode::Esc);
    assert_eq!(app.screen, Screen::Replay, "all panels again");
}

#[test]
fn a_report_a_picture_a_table_and_the_path_are_a_menu() {
    let mut app = comparison();
    let wanted = |app: &mut App, down: usize| {
        press(app, KeyCode::Char('w'));
        assert!(frame(app, Palette::Plain, 100, 30).contains("report.html in the run's folder"));
        (0..down).for_each(|_| _ = press(app, KeyCode::Down));
        press(app, KeyCode::Enter)
    };
    for (down, export) in [(0, Export::Report), (1, Export::Picture), (2, Export::Table)] {
        match wanted(&mut app, down) {
            Some(Effect::Job(ScreenJob::Export { what, folder, .. })) => {
                assert_eq!((what, folder), (export, std::path::PathBuf::from("runs/run-1")));
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(app.overlay.queue.pop_front(), Some(Effect::Copy(table)) if table.contains("| seda | 84 |")));
    assert!(matches!(wanted(&mut app, 3), Some(Effect::Copy(path)) if path == "runs/run-1"));
    presses(&mut app, [KeyCode::Char('w'), KeyCode::Esc]);
    assert!(app.overlay.menu.is_none() && app.screen == Screen::Compare);
}

#[test]
fn a_mouse_points_at_rows_figures_panes_and_panels() {
    let size = (140, 40);
    let mut app = App::default();
    click(&mut app, size, " metastable ");
    assert_eq!(app.home.chosen().expect("one").id, "metastable");
    click(&mut app, size, " metastable ");
    assert_eq!(app.screen, Screen::Live, "a second click chooses");
    let mut app = set_up();
    click(&mut app, size, "users.think ");
    let setup = app.setup.as_ref().expect("a setup");
    assert_eq!((setup.pane, setup.keys()[setup.row(Pane::Keys)].name.as_str()), (Pane::Keys, "users.think"));
    let mut app = comparison();
    click(&mut app, size, ". none ");
    assert_eq!((app.compare.at, app.compare.column), (0, 0));
    click(&mut app, size, " p99  ");
    assert_eq!(app.compare.columns[app.compare.column].name(), "p99");
    click(&mut app, size, "trade-off");
    assert_eq!(app.compare.look.view, crate::app::View::TradeOff);
    let mut app = super::running();
    click(&mut app, size, "[2]");
    assert!(frame(&app, Palette::Plain, 140, 40).lines().count() == 40 && app.live.enlarged.is_some());
    app.wheel(true);
    let mut app = App::default();
    app.wheel(true);
    assert_eq!(app.home.at, 1);
}

#[test]
fn what_an_experiment_shows_is_drawn_as_it_comes() {
    let mut app = App::default();
    let Some(Effect::Job(ScreenJob::Preview(Some(order)))) = app.wanted() else { panic!("a preview is wanted") };
    assert!(order.name == "flash-crowd" && order.virtual_time && app.wanted().is_none());
    let tell = |app: &mut App, step| {
        app.receive(ScreenMessage::Preview(Box::new(PreviewNews { id: "flash-crowd".to_owned(), step })));
    };
    let arms = ["none", "seda"].map(str::to_owned).to_vec();
    tell(&mut app, PreviewStep::Begins { arms, left_out: vec!["best-static".to_owned()] });
    let points = |from: u32, to: u32, goodput: f64| {
        let p90 = Some(analysis::series::value::Value::known(10.0 * goodput));
        (from..to).map(move |second| PreviewPoint { second, goodput, p90 }).collect::<Vec<_>>()
    };
    tell(&mut app, PreviewStep::Points(0, points(0, 26, 30.0)));
    shows(&app, (120, 40), &["computing 25 %", "+seda"]);
    tell(&mut app, PreviewStep::Points(0, points(26, 52, 20.0)));
    tell(&mut app, PreviewStep::Points(1, points(0, 52, 84.0)));
    tell(&mut app, PreviewStep::Ended);
    assert!(matches!(app.wanted(), Some(Effect::Job(ScreenJob::Preview(None)))), "nothing is computed any more");
    insta::assert_snapshot!("home_with_a_preview_at_120_by_40", frame(&app, Palette::Plain, 120, 40));
    for (width, height) in [(60, 16), (80, 24), (200, 60)] {
        let drawn = frame(&app, Palette::Plain, width, height);
        assert!(drawn.contains("flash-crowd"), "{drawn}");
    }
    press(&mut app, KeyCode::Down);
    assert!(matches!(app.wanted(), Some(Effect::Job(ScreenJob::Preview(Some(_))))));
    press(&mut app, KeyCode::Enter);
    assert!(matches!(app.wanted(), Some(Effect::Job(ScreenJob::Preview(None)))), "given up: the list is gone");
    let mut app = App::default();
    app.wanted();
    tell(&mut app, PreviewStep::Refused("a person has to wait".to_owned()));
    assert!(frame(&app, Palette::Plain, 120, 40).contains("not in virtual time: a person has to wait"));
}

#[test]
fn a_new_file_is_written_edited_and_set_up_anew() {
    let mut app = App::default();
    press(&mut app, KeyCode::Char('n'));
    shows(&app, (80, 24), &["new: URL, command or file: my-flash-crowd.yaml_   Enter: do it   Esc: leave"]);
    type_in(&mut app, "mine");
    press(&mut app, KeyCode::Enter);
    let Some(Effect::Job(ScreenJob::Write { path, text, and_edit, .. })) = app.wanted() else { panic!("a file") };
    assert!(path.as_os_str() == "mine.yaml" && and_edit, "{path:?}");
    assert!(text.starts_with(&experiment::schema::modeline()) && text.contains("\nname: mine\n"), "{text}");
    app.receive(ScreenMessage::Written { path: path.clone(), and_edit, said: "wrote mine.yaml".to_owned() });
    assert!(matches!(app.wanted(), Some(Effect::Edit(edited)) if edited == path));
    app.edited(path.clone(), None);
    assert!(matches!(app.wanted(), Some(Effect::Job(ScreenJob::Look))));
    let files = |text: &str| FolderContents {
        files: vec![("mine.yaml".to_owned(), text.to_owned())],
        ..FolderContents::default()
    };
    app.receive(ScreenMessage::Found(files(&text)));
    assert_eq!(app.home.chosen().expect("one").id, "mine.yaml", "the cursor is on it");
    press(&mut app, KeyCode::Tab);
    assert!(matches!(press(&mut app, KeyCode::Char('e')), Some(Effect::Edit(_))));
    // A slip in the editor is told where the list is; mended, it can be set up again.
    app.edited(path.clone(), None);
    app.receive(ScreenMessage::Found(files("arms: [none\n")));
    assert_eq!(app.screen, Screen::Home);
    assert!(app.said.as_ref().is_some_and(|said| said.bad && said.text.starts_with("mine.yaml:")), "{:?}", app.said);
    app.edited(path, None);
    app.receive(ScreenMessage::Found(files(&text.replace("users: 1000", "users: 300"))));
    press(&mut app, KeyCode::Tab);
    assert!(frame(&app, Palette::Plain, 140, 40).contains("300"));
    assert_eq!(app.screen, Screen::Setup);
}

/// Makes a screen.
type Made = fn() -> App;

#[test]
fn the_main_screens_have_a_light_and_a_dark_side() {
    let screens: [(&str, Made); 4] =
        [("home", App::default), ("setup", set_up), ("run", super::running), ("comparison", comparison)];
    for (name, make) in screens {
        for (width, height) in [(80, 24), (120, 40), (200, 60)] {
            let mut seen = Vec::new();
            for theme in [Theme::Dark, Theme::Light] {
                let terminal = super::terminal(&make(), Palette::Many(theme), width, height);
                seen.push(colours(&terminal));
            }
            insta::assert_snapshot!(
                format!("{name}_{width}x{height}"),
                frame(&make(), Palette::Many(Theme::Dark), width, height)
            );
            assert_ne!(seen[0], seen[1], "{name} has the same colours on a light ground");
            insta::assert_snapshot!(
                format!("{name}_{width}x{height}_colours"),
                format!("dark:\n{}light:\n{}", seen[0], seen[1])
            );
        }
    }
}

/// Which colours are on the screen, and on how many cells.
fn colours(terminal: &ratatui::Terminal<ratatui::backend::TestBackend>) -> String {
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for cell in terminal.backend().buffer().content() {
        *counts.entry(format!("{:?} on {:?}", cell.fg, cell.bg)).or_default() += 1;
    }
    counts.into_iter().map(|(pair, count)| format!("  {pair}: {count}\n")).collect()
}

#[test]
fn a_killed_run_says_why_it_cannot_be_opened_and_runs_are_found() {
    let mut app = App::default();
    press(&mut app, KeyCode::Char('r'));
    let killed = ListedRun { folder: std::path::PathBuf::from("runs/killed-7"), summary: None };
    let other = ListedRun { folder: std::path::PathBuf::from("runs/other-8"), summary: None };
    app.receive(ScreenMessage::Found(FolderContents { runs: vec![other, killed], ..FolderContents::default() }));
    press(&mut app, KeyCode::Char('/'));
    type_in(&mut app, "KILLED");
    press(&mut app, KeyCode::Enter);
    assert!(frame(&app, Palette::Plain, 100, 30).contains("1 in runs/ found"));
    assert!(press(&mut app, KeyCode::Enter).is_none());
    assert!(frame(&app, Palette::Plain, 100, 30).contains("runs/killed-7 has no summary: it was killed"));
    press(&mut app, KeyCode::Esc);
    assert!(app.screen == Screen::Past && frame(&app, Palette::Plain, 100, 30).contains("2 in runs/"));
}
