use std::{cell::RefCell, time::Duration};

use controllers::Timestamp;

use super::*;
use crate::{
    mail::{REQUEST_TYPES, arashi},
    measure::Report,
    persona::Call,
    plan::{Account, Load, LoadPlan, MailUsers, Users},
    schedule,
    testing::{self, Mailboxes, Reaction},
};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn about(folder: Option<u32>, message: u32) -> Object {
    Object { folder, message }
}

/// Steps by the names of their requests, one every 100 ms, each 80 ms after the previous answer.
fn steps(names: &[&str]) -> Arc<[ReplayStep]> {
    let step = |(n, name): (u32, &&str)| {
        let kind = REQUEST_TYPES.iter().position(|known| known == name).expect("a known request");
        ReplayStep {
            kind: Kind(kind as u16),
            at: ms(100) * n,
            pause: ms(80),
            object: about(None, n),
            texts: Texts::default(),
        }
    };
    (0..).zip(names).map(step).collect()
}

fn session(at: Duration, user: u32, names: &[&str]) -> ReplaySession {
    ReplaySession { at, user, name: "joe".into(), class: Class(0), steps: steps(names) }
}

const USUAL: [&str; 6] = ["login", "list folders", "list messages", "show message", "delete", "list messages"];

fn plan(sessions: &ReplaySessions, pace: Pace) -> LoadPlan {
    let account = |n: usize| Account { user: format!("u{n}"), password: "p".into() };
    let users = MailUsers::new(arashi(), (0..4).map(account).collect());
    let mut plan = LoadPlan { users: Users::Mail(users), ..testing::url_plan(&[("first", 2, 0), ("second", 8, 0)]) };
    for phase in &mut plan.phases {
        phase.loads = vec![Load::Replay { sessions: sessions.clone(), pace, classes: vec![Class(0)] }];
    }
    plan
}

/// The requests, by user and time (in milliseconds), to a service that answers after this time.
fn asked(plan: &LoadPlan, answers_after: Duration) -> (Report, Vec<(u64, &'static str, u128)>) {
    let mut mail = Mailboxes::new(100);
    let seen = RefCell::new(Vec::new());
    let service = |user: u64, call: &Call, now: Timestamp| {
        let at = now.since(Timestamp::ZERO).as_millis();
        seen.borrow_mut().push((user, REQUEST_TYPES[usize::from(call.kind.0)], at));
        Reaction::Answer(answers_after, mail.answer(call))
    };
    let report = testing::run(plan, |_| {}, service).expect("there can be such users");
    (report, seen.into_inner())
}

fn of_user(seen: &[(u64, &'static str, u128)], user: u64) -> Vec<(&'static str, u128)> {
    seen.iter().filter(|(of, ..)| *of == user).map(|&(_, name, at)| (name, at)).collect()
}

#[test]
fn by_the_clock_every_request_goes_out_at_its_recorded_time() {
    let sessions = ReplaySessions::listed("two", vec![session(ms(2500), 1, &USUAL), session(ms(300), 0, &USUAL)]);
    let (report, seen) = asked(&plan(&sessions, Pace::Clock), ms(10));
    let times: Vec<(&str, u128)> = (0..).zip(USUAL).map(|(n, name)| (name, 300 + 100 * n)).collect();
    assert_eq!(of_user(&seen, 0), times);
    assert_eq!(of_user(&seen, 1).first(), Some(&("login", 2500)));
    // A session belongs to the phase of its start, once.
    assert_eq!(report.phases.iter().map(|phase| phase.measured.served).collect::<Vec<_>>(), [6, 6]);
    assert_eq!((report.total.measured.planned, report.total.measured.failed), (12, 0));
    let behind = report.total.measured.behind_ms.expect("a replay");
    assert!(behind.max.is_some_and(|most| most < 0.01), "{behind:?}");
    assert_eq!(report.faults, Vec::<String>::new());
}

#[test]
fn what_a_slow_service_delays_is_late_by_the_record() {
    let sessions = ReplaySessions::listed("one", vec![session(ms(0), 0, &USUAL)]);
    let (report, seen) = asked(&plan(&sessions, Pace::Clock), ms(600));
    // Each waits for the previous page: 600 ms apart in place of 100.
    let times: Vec<u128> = of_user(&seen, 0).into_iter().map(|(_, at)| at).collect();
    assert_eq!(times, [0, 600, 1200, 1800, 2400, 3000]);
    // Due at 0, 100, ... and answered at 600, 1200, ...: with an objective of 1 s the first is in time, the second is
    // not.
    let ledger = &report.total.measured;
    assert_eq!((ledger.served, ledger.served_late), (1, 5));
    let behind = report.total.measured.behind_ms.expect("a replay");
    assert_eq!((behind.count, behind.max), (6, Some(2500.0)));
    // That is no lateness of the generator.
    assert!(report.generator.send_lag_max_ms.is_some_and(|most| most < 0.01));
}

#[test]
fn by_sessions_the_pauses_are_kept_and_the_rest_follows_the_service() {
    let sessions = ReplaySessions::listed("one", vec![session(ms(50), 0, &USUAL)]);
    let (report, seen) = asked(&plan(&sessions, Pace::Sessions), ms(600));
    let times: Vec<u128> = of_user(&seen, 0).into_iter().map(|(_, at)| at).collect();
    assert_eq!(times, [50, 730, 1410, 2090, 2770, 3450]);
    assert_eq!(report.total.measured.served, 6);
}

/// The requests to a service whose users have folders of these sizes, where each step is about a folder and a message.
fn asked_of(sizes: &[u32], script: &[(&str, Option<u32>, u32)]) -> Vec<String> {
    let names: Vec<&str> = script.iter().map(|(name, ..)| *name).collect();
    let mut session = session(ms(0), 0, &names);
    let with_object = |(step, (_, folder, message)): (&ReplayStep, &(&str, Option<u32>, u32))| ReplayStep {
        object: about(*folder, *message),
        ..step.clone()
    };
    session.steps = session.steps.iter().zip(script).map(with_object).collect();
    let mut mail = Mailboxes::with_folders(vec![sizes.to_vec()]);
    let seen = RefCell::new(Vec::new());
    let service = |_, call: &Call, _: Timestamp| {
        let message = call.body.iter().flat_map(|body| body.split('&')).filter(|field| !field.starts_with("csrf"));
        seen.borrow_mut()
            .push(format!("{} {}", call.path, message.collect::<Vec<_>>().join("&")).trim_end().to_owned());
        Reaction::Answer(ms(10), mail.answer(call))
    };
    let report = testing::run(&plan(&ReplaySessions::listed("one", vec![session]), Pace::Clock), |_| {}, service);
    assert_eq!(report.expect("there can be such users").total.measured.failed, 0);
    let mut seen = seen.into_inner();
    assert!(seen.remove(0).starts_with("/login"));
    seen
}

#[test]
fn every_step_is_about_the_recorded_folder_and_message() {
    let script = [
        ("login", None, 0),
        ("list folders", None, 0),
        ("list messages", Some(0), 0),
        ("show message", Some(0), 12),
        ("list messages", Some(1), 0),
        ("show message", Some(1), 3),
        ("delete", Some(1), 3),
        ("list messages", Some(0), 0),
    ];
    // The inbox has messages 1 to 40, of which a page shows ten; another folder has 41 to 44.
    let wanted = [
        "/folderlist",
        "/list?folderid=1",
        "/show?folderid=1&entry=3",
        "/list?folderid=2",
        "/show?folderid=2&entry=44",
        "/delete folderid=2&message=44",
        "/list?folderid=1",
    ];
    assert_eq!(asked_of(&[40, 4], &script), wanted);
    // With one folder all numbers mean that one.
    let one: Vec<String> = asked_of(&[40], &script).iter().map(|path| path.replace("folderid=1", "")).collect();
    assert_eq!(one.len(), 7);
    assert!(one.iter().all(|path| !path.contains("folderid")), "{one:?}");
}

#[test]
fn after_a_delete_the_same_message_is_asked_for_again_though_it_is_gone_and_another_one_is_looked_for() {
    let again = |message| {
        let first = [("list messages", Some(0), 0), ("show message", Some(0), 3), ("delete", Some(0), 3)];
        asked_of(&[40], &[&first[..], &[("show message", Some(0), message), ("list messages", Some(0), 0)]].concat())
    };
    let before = ["/folderlist", "/list?folderid=1", "/show?folderid=1&entry=4", "/delete folderid=1&message=4"];
    let same = [&before[..], &["/show?folderid=1&entry=4", "/list?folderid=1"]].concat();
    assert_eq!(again(3), same);
    let other = [&before[..], &["/list?folderid=1", "/show?folderid=1&entry=7", "/list?folderid=1"]].concat();
    assert_eq!(again(5), other);
}

#[test]
fn a_folder_that_is_not_open_is_opened_first_and_an_empty_one_offers_nothing() {
    // The script opens no list itself, and its folders are not known yet.
    let script = [("show message", Some(1), 0), ("show message", Some(0), 1), ("search", Some(0), 1)];
    let wanted = [
        "/folderlist",
        "/list?folderid=2",
        "/show?folderid=2&entry=6",
        "/list?folderid=1",
        "/show?folderid=1&entry=2",
        "/search?folderid=1&scope=all&q=re",
    ];
    assert_eq!(asked_of(&[5, 4], &script), wanted);
    let script = [("list messages", Some(1), 0), ("show message", Some(1), 0), ("list messages", None, 0)];
    assert_eq!(asked_of(&[5, 0], &script), ["/folderlist", "/list?folderid=2", "/list?folderid=2"]);
}

#[test]
fn what_a_page_does_not_offer_is_looked_for_on_a_list_and_then_passed_over() {
    // A recording cut in the middle: it begins with a message whose folder is unknown, and makes folders where users
    // cannot.
    let names = ["show message", "create folder", "list messages"];
    let sessions = ReplaySessions::listed("cut", vec![session(ms(0), 0, &names)]);
    let (report, seen) = asked(&plan(&sessions, Pace::Clock), ms(10));
    let names: Vec<&str> = of_user(&seen, 0).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.first(), Some(&"login"));
    assert_eq!(names.iter().filter(|&&name| name == "show message").count(), 1, "{names:?}");
    assert_eq!(names.last(), Some(&"list messages"), "{names:?}");
    assert_eq!(report.total.measured.failed, 0);
}

#[test]
fn a_recording_that_breaks_off_is_a_fault() {
    struct Broken;
    impl ReplaySource for Broken {
        fn name(&self) -> &str {
            "broken"
        }

        fn open(&self) -> Result<Coming, String> {
            let first = Ok(session(ms(100), 0, &USUAL));
            Ok(Box::new([first, Err("line 7 is no record".to_owned())].into_iter()))
        }
    }
    let mut plan = plan(&ReplaySessions::from(Broken), Pace::Clock);
    plan.phases.truncate(1);
    let (report, seen) = asked(&plan, ms(10));
    assert_eq!(seen.len(), 6);
    assert_eq!(report.faults, ["line 7 is no record"]);
}

#[test]
fn the_digest_tells_plans_apart_by_every_step() {
    let digest = |names: &[&str]| {
        let sessions = ReplaySessions::listed("the same name", vec![session(ms(0), 0, names)]);
        schedule::digest(&plan(&sessions, Pace::Clock)).expect("it can be written")
    };
    assert_eq!(digest(&USUAL), digest(&USUAL));
    assert_ne!(digest(&USUAL), digest(&USUAL[..5]));
}

#[test]
fn a_plan_that_is_read_back_has_the_name_of_its_recording_alone() {
    let written =
        serde_json::to_string(&plan(&ReplaySessions::listed("mine", Vec::new()), Pace::Clock)).expect("it is data");
    assert!(written.contains("\"mine\""), "{written}");
    let read: LoadPlan = serde_json::from_str(&written).expect("it is data");
    let [Load::Replay { sessions, .. }] = &read.phases[0].loads[..] else { panic!("{:?}", read.phases[0].loads) };
    let problem = sessions.open().err().expect("the sessions are not in it");
    assert!(sessions.name() == "mine" && problem.contains("mine"), "{problem}");
}

#[test]
fn recorded_requests_of_any_service_have_paths_by_template() {
    let sessions = ReplaySessions::listed("one", vec![session(ms(0), 3, &["login", "show message"])]);
    let loads = vec![Load::Replay { sessions, pace: Pace::Clock, classes: vec![Class(0)] }];
    let mut plan = testing::url_plan(&[("all", 1, 0)]);
    plan.phases[0].loads = loads;
    if let Users::Url(users) = &mut plan.users {
        users.path = "/{user}/{user-number}/{action}/{object-number}".to_owned();
    }
    let seen = RefCell::new(Vec::new());
    let service = |_, call: &Call, now: Timestamp| {
        seen.borrow_mut().push((call.path.to_string(), now.since(Timestamp::ZERO).as_millis()));
        Reaction::Answer(ms(250), testing::Response { status: 200, ..testing::Response::default() })
    };
    let report = testing::run(&plan, |_| {}, service).expect("there can be such users");
    assert_eq!(*seen.borrow(), [("/joe/3/login/0".to_owned(), 0), ("/joe/3/show-message/1".to_owned(), 250)]);
    assert_eq!(report.total.measured.behind_ms.and_then(|behind| behind.max), Some(150.0));
    assert_eq!(report.total.by_type.keys().collect::<Vec<_>>(), ["login", "show message"]);
}
