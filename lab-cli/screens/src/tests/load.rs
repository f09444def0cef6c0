use std::time::Duration;

use analysis::series::value::Value;
use measure::{Replies, SecondTimes, Window};

use super::{App, Effect, KeyCode, frame, press};
use crate::{LoadShape, Palette, UserRequest, load::LoadProgress};

fn shape() -> LoadShape {
    LoadShape {
        url: "http://127.0.0.1:8080/items".to_owned(),
        how: "200 requests/s, open loop".to_owned(),
        lasts: Some(Duration::from_secs(10)),
        requests: None,
        deadline: Some(Duration::from_millis(200)),
        percentiles: Vec::new(),
    }
}

/// Three seconds; in the third 20 requests were given up.
fn progress() -> LoadProgress {
    let mut progress = LoadProgress::of(shape());
    for second in 0..3 {
        let lost = if second == 2 { 20 } else { 0 };
        let times = SecondTimes {
            response: vec![[1000, 100], [4000, 60], [250_000, 20]],
            response_censored: if lost > 0 { vec![[2_000_000, lost]] } else { Vec::new() },
            reject: Vec::new(),
        };
        let replies = Replies {
            statuses: [(200, 180 * (second + 1))].into(),
            errors: [("Connection reset by peer\u{1b}[2J".to_owned(), 3)].into(),
            body_bytes: 360_000 * (second + 1),
        };
        progress.add(&Window {
            second,
            offered: 200,
            sent: 200,
            served: 160,
            late: 20,
            timed_out: lost,
            in_flight: 4,
            body_bytes: 360_000,
            p50_ms: Some(1.0),
            p99_ms: Some(250.0),
            send_lag_p99_ms: Some(0.05),
            times: Some(Box::new(times)),
            replies: Some(Box::new(replies)),
            ..Window::default()
        });
    }
    progress.elapsed = Duration::from_secs(3);
    progress
}

fn seen(progress: &LoadProgress) -> App {
    let mut app = App::of_a_load(shape());
    app.load = Some(progress.clone());
    app
}

fn drawn(progress: &LoadProgress, width: u16, height: u16) -> String {
    frame(&seen(progress), Palette::Plain, width, height)
}

#[test]
fn it_can_be_stopped_and_has_a_help() {
    let mut app = seen(&progress());
    press(&mut app, KeyCode::Char('?'));
    assert!(frame(&app, Palette::Plain, 80, 24).contains("the generator's own delay"));
    press(&mut app, KeyCode::Esc);
    assert!(matches!(press(&mut app, KeyCode::Char('q')), Some(Effect::Ask(UserRequest::Stop))));
    assert!(frame(&app, Palette::Plain, 80, 24).contains("STOPPING"));
}

#[test]
fn a_load_is_seen_while_it_goes_on() {
    insta::assert_snapshot!("load_80x24", drawn(&progress(), 80, 24));
    insta::assert_snapshot!("load_120x40", drawn(&progress(), 120, 40));
    let first = LoadProgress::of(shape());
    assert!(drawn(&first, 80, 24).contains("no second is over yet"));
    assert!(drawn(&first, 40, 10).contains("too small"));
}

#[test]
fn percentiles_hidden_by_what_was_given_up_are_bounds() {
    let progress = progress();
    // 540 answers and 20 that waited for 2 s: the 99th percentile is among those.
    assert_eq!(progress.percentile(50.0), Some(Value::known(1.0)));
    assert_eq!(progress.percentile(99.0), Some(Value { at: 2000.0, at_least: true }));
    assert_eq!(LoadProgress::of(shape()).percentile(50.0), None);
}

#[test]
fn percentiles_are_those_that_were_asked_for() {
    let mut progress = progress();
    progress.shape.percentiles = vec![25.0, 99.99];
    let shown = drawn(&progress, 80, 24);
    assert!(shown.contains("p25") && shown.contains("p99.99") && !shown.contains("p75"), "{shown}");
}

#[test]
fn the_bars_of_the_histogram_have_all_answers() {
    let bars = progress().histogram(8);
    assert_eq!(bars.len(), 8);
    assert_eq!(bars.iter().map(|(_, count)| count).sum::<u64>(), 540);
    assert!(bars[0].1 == 300 && bars[7].1 == 60, "{bars:?}");
    assert!(LoadProgress::of(shape()).histogram(8).is_empty());
}
