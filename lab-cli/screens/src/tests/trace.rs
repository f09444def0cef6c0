//! A trace on the screen: one that was generated, with an account as an import leaves it.

use std::path::PathBuf;

use ratatui::style::Color;
use traces::{
    UserModel,
    generate::{Plan, generate},
    inspect::{Inspected, inspect},
    trace::Reader,
};

use super::{App, Effect, KeyCode, ScreenMessage, frame, hides, press, presses, shows, terminal};
use crate::{FolderContents, OpenTrace, Palette, ScreenJob, panel::Screen};

const ACCOUNT: &str = "imported: 1700 actions in 300 sessions
  mail.log (Dovecot log): 5120 read, 5118 understood, 2 NOT understood
    line 17 (byte 2040): the event names no session
  began an action 1700 (64 %): FETCH 800, SELECT 600, STORE 300
  dropped         20 (0.8 %): NOOP 20
";

/// The thesis' users, who read for a while.
fn seen() -> Inspected {
    let model = workloads::mail::arashi();
    let think =
        "{name: x, source: y, start: a, transitions: {a: {a: 1}}, think: {a: {lognormal: {median: 4s, sigma: 1.2}}}}";
    let law = UserModel::from_yaml(think).expect("sound").think["a"].clone();
    let model = UserModel { name: "monday".to_owned(), source: "made for a test".to_owned(), ..model.with_think(&law) };
    let text = generate(&model, &Plan::of(&model, 300), Vec::new()).expect("memory");
    inspect(&mut Reader::new(&text[..]).expect("a trace")).expect("whole")
}

fn shown() -> App {
    App::of_a_trace(OpenTrace { seen: seen(), account: ACCOUNT.to_owned() })
}

#[test]
fn a_trace_at_80_by_24() {
    insta::assert_snapshot!(frame(&shown(), Palette::COLOURS, 80, 24));
}

#[test]
fn a_trace_at_200_by_60() {
    insta::assert_snapshot!(frame(&shown(), Palette::COLOURS, 200, 60));
}

#[test]
fn a_trace_without_colour_says_the_same() {
    let terminal = terminal(&shown(), Palette::Plain, 200, 60);
    insta::assert_snapshot!(terminal.backend().to_string());
    let coloured = terminal.backend().buffer().content().iter().any(|c| c.fg != Color::Reset || c.bg != Color::Reset);
    assert!(!coloured, "colour was used where none is wanted");
}

/// Much is not bad: none of them is red.
#[test]
fn only_the_sixteen_colours_are_used_and_each_shade_has_its_own() {
    let terminal = terminal(&shown(), Palette::COLOURS, 200, 60);
    let cells = terminal.backend().buffer().content();
    assert!(!cells.iter().any(|cell| matches!(cell.fg, Color::Rgb(..) | Color::Indexed(_))));
    for (shade, colour) in [("░", Color::LightBlue), ("▒", Color::LightBlue), ("▓", Color::Cyan), ("█", Color::Cyan)]
    {
        let mut colours = cells.iter().filter(|cell| cell.symbol() == shade).map(|cell| cell.fg);
        // The way under the cursor is reversed.
        assert!(
            colours.clone().count() > 1 && colours.all(|found| found == colour || found == Color::Reset),
            "{shade}"
        );
    }
}

#[test]
fn the_arrows_go_from_way_to_way_and_its_pauses_are_drawn() {
    let mut app = shown();
    shows(&app, (200, 60), &["list messages > show message: "]);
    presses(&mut app, [KeyCode::Down, KeyCode::Char('h')]);
    shows(&app, (200, 60), &[" show message > list messages: ", ".show message, any next"]);
    // No further than the matrix, and where nobody went there is no curve.
    for _ in 0..9 {
        presses(&mut app, [KeyCode::Up, KeyCode::Left]);
    }
    shows(&app, (200, 60), &[" login > login: 0 of 300, 0 %"]);
    hides(&app, (200, 60), &["+login > login"]);
}

#[test]
fn each_panel_of_a_trace_can_have_the_screen_for_itself() {
    for (key, words) in [
        ('1', "sessions that began"),
        ('2', "bytes p50"),
        ('3', "from the row's page"),
        ('4', "any next"),
        ('5', "dispersion"),
        ('6', "5118 understood, 2 NOT"),
    ] {
        let mut app = shown();
        press(&mut app, KeyCode::Char(key));
        for (width, height) in [(60, 16), (80, 24), (200, 60)] {
            let drawn = frame(&app, Palette::Plain, width, height);
            assert!(drawn.contains(words), "{key}:\n{drawn}");
        }
        assert_ne!(frame(&app, Palette::Plain, 80, 24), frame(&shown(), Palette::Plain, 80, 24));
        assert!(press(&mut app, KeyCode::Esc).is_none());
        assert_eq!(frame(&app, Palette::Plain, 80, 24), frame(&shown(), Palette::Plain, 80, 24), "and back");
    }
}

#[test]
fn a_trace_has_its_help_and_is_left_by_q_or_esc() {
    let mut app = shown();
    for (width, height) in [(1, 1), (10, 3), (60, 16), (61, 17), (149, 40), (150, 40), (300, 100)] {
        let _ = frame(&app, Palette::COLOURS, width, height);
    }
    press(&mut app, KeyCode::Char('?'));
    shows(&app, (80, 24), &["╭ help ", "under 5 %, under 20 %"]);
    assert!(press(&mut app, KeyCode::Esc).is_none() && app.screen == Screen::Trace);
    assert!(!frame(&app, Palette::Plain, 80, 24).contains("╭ help "));
    assert!(matches!(press(&mut app, KeyCode::Esc), Some(Effect::Quit)));
    assert!(matches!(press(&mut app, KeyCode::Char('q')), Some(Effect::Quit)));
}

#[test]
fn traces_of_the_folder_are_listed_and_looked_into_and_lead_back() {
    let seen = seen();
    let (good, bad) = (PathBuf::from("traces/monday.trace.zst"), PathBuf::from("torn.trace"));
    let traces = vec![(good.clone(), Ok(seen.header.clone())), (bad, Err("torn.trace: it ends too soon".to_owned()))];
    let mut app = App::default();
    app.receive(ScreenMessage::Found(FolderContents { traces, ..FolderContents::default() }));
    press(&mut app, KeyCode::Char('/'));
    "made for a test".chars().for_each(|c| assert!(press(&mut app, KeyCode::Char(c)).is_none()));
    press(&mut app, KeyCode::Enter);
    shows(&app, (120, 30), &["Enter look into it", "lab trace fit traces/monday.trace.zst"]);
    let Some(Effect::Job(ScreenJob::Inspect(path))) = press(&mut app, KeyCode::Enter) else { panic!("it is read") };
    assert_eq!(path, good);
    assert!(frame(&app, Palette::Plain, 120, 30).contains("reading traces/monday.trace.zst"));
    app.receive(ScreenMessage::Trace(Box::new(OpenTrace { seen: seen.clone(), account: String::new() })));
    assert_eq!(app.screen, Screen::Trace);
    press(&mut app, KeyCode::Char('3'));
    assert!(press(&mut app, KeyCode::Esc).is_none() && app.screen == Screen::Trace, "all panels first");
    assert!(press(&mut app, KeyCode::Esc).is_none() && app.screen == Screen::Home);
    // Who has gone on meanwhile is not called back, and what cannot be read says why.
    press(&mut app, KeyCode::Char('r'));
    app.receive(ScreenMessage::Trace(Box::new(OpenTrace { seen, account: String::new() })));
    assert_eq!(app.screen, Screen::Past);
    presses(&mut app, [KeyCode::Esc, KeyCode::Char('/')]);
    "made for a test".chars().for_each(|_| assert!(press(&mut app, KeyCode::Backspace).is_none()));
    "torn".chars().for_each(|c| assert!(press(&mut app, KeyCode::Char(c)).is_none()));
    press(&mut app, KeyCode::Enter);
    assert!(press(&mut app, KeyCode::Enter).is_none());
    assert!(frame(&app, Palette::Plain, 120, 30).contains("it ends too soon"));
}

#[test]
fn what_a_trace_says_cannot_act_on_the_terminal_and_little_is_enough() {
    let evil = "mo\u{1b}[2Jn\u{202e}day";
    let mut seen = seen();
    seen.header.name = evil.to_owned();
    seen.header.source = evil.to_owned();
    seen.actions[0].action = evil.to_owned();
    let app = App::of_a_trace(OpenTrace { seen, account: format!("imported\n  {evil}: 7 read\n") });
    let drawn = frame(&app, Palette::COLOURS, 200, 60);
    assert!(drawn.contains("mo\u{fffd}[2Jn\u{fffd}day: 7 read"), "{drawn}");
    assert!(!drawn.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'));

    // A trace of totals alone has sessions without pages.
    let text = "{\"trace\":1,\"name\":\"x\",\"source\":\"y\",\"names\":\"source\"}\n{\"end\":{\"records\":0}}\n";
    let seen = inspect(&mut Reader::new(text.as_bytes()).expect("a trace")).expect("whole");
    let empty = App::of_a_trace(OpenTrace { seen, account: String::new() });
    for (width, height) in [(60, 16), (80, 24), (200, 60)] {
        let drawn = frame(&empty, Palette::Plain, width, height);
        assert!(drawn.contains("no session of which two pages are known"), "{drawn}");
    }
    assert!(frame(&empty, Palette::Plain, 200, 60).contains("no account of an import came with it"));
}
