//! Agents that send a load, as a person sees them.

use analysis::live::AgentSecond;
use measure::{Shard, Window};

use super::*;
use crate::{LoadShape, load::LoadProgress};

/// One of so many, in good order.
fn agent(number: u32, of: u32) -> AgentSecond {
    AgentSecond {
        name: format!("gen-{number}"),
        shard: Shard::new(number, of).expect("a part"),
        sent: 1200 + u64::from(number),
        send_lag_p99_ms: 0.31,
        cpu: 0.12,
        offset_ms: 51_204.7,
        clock_error_ms: 0.21,
        silent_ms: 400.0,
        lost: None,
    }
}

/// Of four one is late and one is lost.
fn four() -> Vec<AgentSecond> {
    let mut found: Vec<AgentSecond> = (1..=4).map(|number| agent(number, 4)).collect();
    (found[1].send_lag_p99_ms, found[1].cpu) = (812.0, 0.99);
    found[3].lost = Some("no sign of it for 10 s\u{1b}[2J".to_owned());
    found
}

fn sent_by(agents: &[AgentSecond]) -> App {
    let mut app = running();
    let last = TimelineSecond { agents: agents.to_vec(), p99_ms: Some(1200.0), ..second(27) };
    happened(&mut app, LiveEvent::Second(Box::new(last)));
    app
}

#[test]
fn a_run_shows_who_sends_it_and_who_is_lost() {
    insta::assert_snapshot!("agents_80x24", frame(&sent_by(&four()), Palette::Plain, 80, 24));
    insta::assert_snapshot!("agents_60x16", frame(&sent_by(&four()), Palette::Plain, 60, 16));
    insta::assert_snapshot!("agents_120x40", frame(&sent_by(&four()), Palette::Plain, 120, 40));
    hides(&running(), (120, 40), &["[0] agents"]);
    // Looking back, they are those of then.
    let mut app = sent_by(&four());
    presses(&mut app, [KeyCode::Char('p'), KeyCode::Left]);
    hides(&app, (120, 40), &["[0] agents"]);
}

#[test]
fn where_not_all_have_room_those_in_trouble_come_first() {
    let mut many: Vec<AgentSecond> = (1..=1000).map(|number| agent(number, 1000)).collect();
    many[411].lost = Some("it was started again, and knows nothing of it".to_owned());
    many[79].silent_ms = 4200.0;
    many[16].cpu = 0.99;
    many[16].name = "a-name-of-which-nobody-sees-the-end".to_owned();
    let app = sent_by(&many);
    shows(&app, (80, 24), &["999 of 1000 there", "LOST: it was started again", "4.2 s!", "1 agent lost"]);
    shows(&app, (120, 40), &["and 995 more: sent", "99 %!"]);
    let drawn = frame(&app, Palette::Plain, 120, 40);
    let at = |text: &str| drawn.find(text).expect("a row");
    assert!(at("gen-412") < at("gen-80") && at("gen-80") < at("a-name-of-which"), "{drawn}");
    assert!(at("a-name-of-which") < at("gen-1 "), "{drawn}");
    // Alone it has the screen.
    let mut app = app;
    press(&mut app, KeyCode::Char('0'));
    shows(&app, (80, 24), &["and 987 more"]);
}

#[test]
fn agents_of_many_seconds_are_forgotten_before_the_seconds_are() {
    let mut app = sent_by(&[]);
    let many: Vec<AgentSecond> = (1..=1000).map(|number| agent(number, 1000)).collect();
    for at in 28..330 {
        let last = TimelineSecond { agents: many.clone(), ..second(at) };
        happened(&mut app, LiveEvent::Second(Box::new(last)));
    }
    let running = app.live.running.as_ref().expect("an arm");
    assert_eq!(running.seconds.iter().map(|second| second.agents.len()).sum::<usize>(), 100_000);
    assert_eq!(running.seconds.len(), 330);
}

fn load(agents: Vec<AgentSecond>, note: &str) -> App {
    let mut app = App::of_a_load(LoadShape { url: "http://shop.example/".to_owned(), ..LoadShape::default() });
    app.receive(ScreenMessage::LoadNote(note.to_owned()));
    let window = Window { sent: 4800, served: 4800, p99_ms: Some(1200.0), ..Window::default() };
    app.receive(ScreenMessage::Window(Box::new(window), agents));
    app
}

#[test]
fn a_load_shows_them_in_a_line_or_in_rows() {
    let app = || load(four(), "agent gen-4 is lost, and part 4/4 with it: no sign of it for 10 s");
    insta::assert_snapshot!("load_of_agents_80x24", frame(&app(), Palette::Plain, 80, 24));
    insta::assert_snapshot!("load_of_agents_80x32", frame(&app(), Palette::Plain, 80, 32));
    insta::assert_snapshot!("load_of_agents_60x16", frame(&app(), Palette::Plain, 60, 16));
    let sound = || load((1..=2).map(|number| agent(number, 2)).collect(), "");
    shows(&sound(), (80, 24), &["agents 2 of 2", "slowest gen-1: lag p99 0.31 ms, CPU 12 %, clock ±0.21"]);
    // Before its first second a load says how it can be followed.
    let mut app = App::of_a_load(LoadShape::default());
    app.load = Some(LoadProgress { note: "4 agents begin in 2 s".to_owned(), ..LoadProgress::default() });
    shows(&app, (80, 24), &["not begun, 0 s", "4 agents begin in 2 s", "no second is over yet"]);
}
