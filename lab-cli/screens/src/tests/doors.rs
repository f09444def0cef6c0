//! Waiting rooms and sentries, as a person sees them.

use super::*;

/// Gauges by name.
fn gauges(named: &[(&str, f64)]) -> std::collections::BTreeMap<String, f64> {
    named.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

/// One of three waiting rooms, in a burst of 800 requests a second, with a share of 33.
fn room(name: &str, at: u32, more: &[(&str, f64)]) -> StageSecond {
    let waiting = 766.0 * f64::from(at + 1);
    let of_all = [
        ("longest_wait_s", (waiting / 33.3).ceil()),
        ("next_wait_s", (waiting / 33.3).ceil()),
        ("capacity_per_s", 100.0),
        ("capacity_estimated", 0.0),
        ("capacity_outdated", 0.0),
        ("share_per_s", 33.3),
        ("promised", 800.0),
        ("passed", 34.0),
        ("token_admitted", 33.0),
        ("token_early", 3.0),
        ("token_other_binding", 1.0),
        ("early", 3.0),
    ];
    StageSecond {
        name: name.to_owned(),
        queue: waiting as u32,
        offered: 837,
        admitted: 34,
        refused: 803,
        gauges: gauges(&[&of_all[..], more].concat()),
        ..StageSecond::default()
    }
}

/// A sentry with three classes: gold is let in, silver in part, bronze is not.
fn sentry(by_threshold: bool) -> StageSecond {
    let named = [
        ("servers", 3.0),
        ("in_service_per_server", 2.31),
        ("queueing_ms", 0.0),
        ("target_ms", 1000.0),
        ("service_ms", 16.7),
        ("held", 12.0),
        ("threshold_policing", f64::from(by_threshold)),
        ("arrivals_per_s[0]", 120.0),
        ("arrivals_per_s[1]", 80.0),
        ("arrivals_per_s[2]", 200.0),
        ("delay_ms[0]", 100.0),
        ("delay_ms[1]", 50.0),
        ("delay_ms[2]", 0.0),
        ("p_admit[0]", 0.0),
        ("p_admit[1]", 0.4),
        ("p_admit[2]", 1.0),
    ];
    let (offered, admitted, refused) = (400, 180, 220);
    let gauges = gauges(&named);
    StageSecond { name: "dispatch".to_owned(), offered, admitted, refused, gauges, ..StageSecond::default() }
}

/// The run of the other frames, with these rows before its stages.
fn before_it(doors: impl Fn(u32) -> Vec<StageSecond>) -> App {
    let mut app = started();
    happened(&mut app, LiveEvent::ArmStarted { arm: "webq".to_owned(), block: 1, policy: None });
    for at in 0..27 {
        let mut second = second(at);
        let target = second.target.as_mut().expect("a target");
        target.stages = doors(at).into_iter().chain(std::mem::take(&mut target.stages)).collect();
        happened(&mut app, LiveEvent::Second(Box::new(second)));
    }
    app
}

fn one_room() -> App {
    before_it(|at| vec![room("waiting room", at, &[])])
}

fn three_rooms() -> App {
    before_it(|at| [0, 1, 2].map(|number| room(&format!("waiting room {number}"), at, &[])).into())
}

#[test]
fn a_waiting_room_at_80_by_24() {
    insta::assert_snapshot!(frame(&one_room(), Palette::COLOURS, 80, 24));
}

#[test]
fn three_waiting_rooms_at_80_by_24() {
    insta::assert_snapshot!(frame(&three_rooms(), Palette::Plain, 80, 24));
}

#[test]
fn three_waiting_rooms_at_120_by_40() {
    insta::assert_snapshot!(frame(&three_rooms(), Palette::COLOURS, 120, 40));
}

#[test]
fn a_sentry_at_80_by_24() {
    insta::assert_snapshot!(frame(&before_it(|_| vec![sentry(true)]), Palette::COLOURS, 80, 24));
}

/// Two applications on a platform of thirteen nodes, each with a sentry of its own.
fn platform() -> Vec<StageSecond> {
    let row = |name: &str, named: &[(&str, f64)]| StageSecond {
        name: name.to_owned(),
        gauges: gauges(named),
        ..StageSecond::default()
    };
    let application = |name: &str, servers: f64, target_ms: f64, cpu: f64| {
        let named = [("servers", servers), ("sentries", 1.0), ("target_ms", target_ms), ("first_sentry_cpu", cpu)];
        row(&format!("platform/{name}"), &named)
    };
    let own = [
        ("free", 2.0),
        ("invoked_by_drops", 3.0),
        ("invoked_by_period", 0.0),
        ("added_servers", 9.0),
        ("removed_servers", 0.0),
        ("added_sentries", 2.0),
        ("removed_sentries", 0.0),
    ];
    let sentries =
        ["sentry-1/dispatch", "sentry-2/dispatch"].map(|name| StageSecond { name: name.to_owned(), ..sentry(false) });
    let rows =
        [row("platform", &own), application("app-1", 6.0, 2000.0, 0.32), application("app-2", 3.0, 1000.0, 0.02)];
    rows.into_iter().chain(sentries).collect()
}

#[test]
fn a_platform_at_80_by_24() {
    insta::assert_snapshot!(frame(&before_it(|_| platform()), Palette::Plain, 80, 24));
}

#[test]
fn stages_are_behind_their_key_where_a_front_door_takes_their_place() {
    let mut app = one_room();
    assert!(!frame(&app, Palette::Plain, 80, 24).contains("list folders"));
    press(&mut app, KeyCode::Char('5'));
    assert!(frame(&app, Palette::Plain, 80, 24).contains("list folders"));
    press(&mut app, KeyCode::Char('9'));
    shows(&app, (80, 24), &["inside/s", "early 81, other-binding 27"]);
    // Without one nothing changes but what its key says.
    let mut app = running();
    assert!(frame(&app, Palette::Plain, 80, 24).contains("1-8 panel"));
    press(&mut app, KeyCode::Char('9'));
    assert!(frame(&app, Palette::Plain, 80, 24).contains("no waiting room and no sentry"));
}

#[test]
fn tokens_are_those_up_to_the_second_that_is_shown() {
    let mut app = one_room();
    let drawn = frame(&app, Palette::Plain, 80, 24);
    // Of 27 seconds: 800 each; 33 and 4 refused.
    assert!(drawn.contains("21600 given; of 999 checked 891 let in"), "{drawn}");
    assert!(drawn.contains("108 refused: early 81, other-binding 27"), "{drawn}");
    presses(&mut app, [KeyCode::Char('p'), KeyCode::PageUp, KeyCode::PageUp]);
    shows(&app, (80, 24), &["5600 given; of 259 checked 231 let in"]);
    // A second without gauges keeps what was known.
    press(&mut app, KeyCode::Char('p'));
    happened(&mut app, LiveEvent::Second(Box::new(TimelineSecond { target: None, ..second(27) })));
    assert!(frame(&app, Palette::Plain, 80, 24).contains("21600 given"));
}

#[test]
fn a_capacity_says_whether_it_was_estimated_and_what_the_real_one_is() {
    let of = |more: &'static [(&str, f64)]| {
        frame(&before_it(|at| vec![room("waiting room", at, more)]), Palette::Plain, 80, 24)
    };
    let estimated = of(&[("capacity_per_s", 94.0), ("capacity_estimated", 1.0)]);
    assert!(estimated.contains("waiting room, capacity 94/s estimated, really 100/s"), "{estimated}");
    let outdated = of(&[("capacity_outdated", 1.0), ("capacity_estimated", 1.0)]);
    assert!(outdated.contains("capacity 100/s outdated, really 100/s"), "{outdated}");
}

#[test]
fn a_sentry_says_how_it_polices_and_several_have_a_line_each() {
    let one = frame(&before_it(|_| vec![sentry(false)]), Palette::Plain, 80, 24);
    assert!(one.contains("sentry: batch policing, 3 servers, 2.3 in each"), "{one}");
    assert!(one.contains("expected service time 17 ms, target 1.00 s"), "{one}");
    let named = |name: &str| StageSecond { name: name.to_owned(), ..sentry(true) };
    let two = frame(&before_it(|_| vec![named("front/dispatch"), named("back/dispatch")]), Palette::Plain, 120, 40);
    assert!(two.contains("back/dispatch: threshold policing, 3 servers"), "{two}");
}

#[test]
fn more_rooms_than_lines_leave_the_tokens_their_place() {
    let app = before_it(|at| (0..16).map(|number| room(&format!("waiting room {number}"), at, &[])).collect());
    shows(&app, (80, 24), &["and 13 more", "1728 refused: early 1296"]);
}

/// Behind the verdict, since a run in virtual time is over before its seconds could be watched.
#[test]
fn after_a_run_each_arm_says_what_its_front_door_did() {
    let of_arm = |arm: &str, row: StageSecond| {
        let target = TargetSecond { stages: vec![row], ..TargetSecond::default() };
        TimelineSecond { arm: arm.to_owned(), block: 1, target: Some(target), ..TimelineSecond::default() }
    };
    let (early, late) = (room("waiting room", 0, &[]), room("waiting room", 26, &[]));
    let timeline =
        vec![of_arm("none", late), of_arm("none", early), of_arm("seda", sentry(false)), of_arm("seda", sentry(true))];
    let mut app = program::opened(vec![crate::OpenRun { timeline, ..program::compared("run-1") }]);
    press(&mut app, KeyCode::Enter);
    let drawn = frame(&app, Palette::Plain, 190, 30);
    let tokens = "tokens 1600 given; of 74 checked 66 let in, 8 refused: early 6, other-binding 2";
    for line in [
        format!("none: waiting room: capacity 100/s given; longest wait 622 s, 20682 waiting at most; {tokens}"),
        "seda: sentry: 360 let in, 440 refused; by threshold in 1 s of 2 s".to_owned(),
    ] {
        assert!(drawn.contains(&line), "{line}: {drawn}");
    }
}
