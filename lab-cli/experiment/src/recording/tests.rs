//! Replay of a trace's file as requests, in virtual time.

use std::cell::RefCell;

use controllers::{Class, Timestamp};
use traces::trace::{Footer, Header, Names, Record, Writer};
use workloads::{
    mail::arashi,
    persona::Call,
    plan::{Account, Load, LoadPlan, MailUsers, Users},
    replay::ReplaySessions,
    testing::{self, Mailboxes, Reaction},
};

use super::*;
use crate::plan::{self, PhasePlan, replayed};

/// A trace of these: user, action, object; a second apart.
fn trace(records: &[(&str, &str, &str)]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let out = file.reopen().expect("it can be written");
    let mut writer = Writer::new(out, &Header::new("test", "made up", Names::Source)).expect("written");
    for (second, &(user, action, object)) in (0..).zip(records) {
        let record = Record {
            offset: second * 1_000_000,
            user: user.into(),
            session: user.into(),
            action: action.into(),
            object: object.into(),
            ..Record::default()
        };
        writer.write(&record).expect("written");
    }
    writer.finish(Footer::default()).expect("written");
    file
}

/// What mail users ask for, and of whom, when this is replayed: each has an inbox of 20, folders of 4 and of 3 messages.
fn asked(records: &[(&str, &str, &str)]) -> Vec<String> {
    let file = trace(records);
    let recording = read(file.path(), Pace::Clock, Cut::whole(), None).expect("a recording");
    let account = |n: usize| Account { user: format!("account{n}"), password: "p".into() };
    let users = MailUsers::new(arashi(), (0..4).map(account).collect());
    let mut plan = LoadPlan { users: Users::Mail(users), ..testing::url_plan(&[("all", 60, 0)]) };
    let sessions = ReplaySessions::from(recording.played());
    plan.phases[0].loads = vec![Load::Replay { sessions, pace: Pace::Clock, classes: vec![Class(0)] }];
    let mut mail = Mailboxes::with_folders(vec![vec![20, 4, 3]]);
    let seen = RefCell::new(Vec::new());
    let service = |user: u64, call: &Call, _: Timestamp| {
        seen.borrow_mut().push(format!("{user} {}", call.path));
        Reaction::Answer(Duration::from_millis(10), mail.answer(call))
    };
    let report = testing::run(&plan, |_| {}, service).expect("there can be such users");
    assert_eq!((report.total.measured.failed, report.faults), (0, Vec::new()));
    seen.into_inner()
}

#[test]
fn a_walk_through_two_folders_goes_through_two_folders() {
    let records = [
        ("joe", "login", ""),
        ("joe", "list folders", ""),
        ("joe", "list messages", "f77c0/191:200"),
        ("joe", "show message", "f77c0/192"),
        ("joe", "list messages", "fa1b2/1:4"),
        ("joe", "show message", "fa1b2/3"),
        ("joe", "list messages", "f77c0/191:200"),
        ("joe", "show message", "f77c0/192"),
        ("joe", "list messages", "fa1b2/1:4"),
    ];
    let wanted = [
        "0 /login",
        "0 /folderlist",
        "0 /list?folderid=1",
        // 192 is the third of the ten that the page has: 192 modulo 10, from 0.
        "0 /show?folderid=1&entry=3",
        "0 /list?folderid=2",
        // The inbox has 1 to 20.
        "0 /show?folderid=2&entry=24",
        "0 /list?folderid=1",
        "0 /show?folderid=1&entry=3",
        "0 /list?folderid=2",
    ];
    assert_eq!(asked(&records), wanted);
}

#[test]
fn folders_are_each_users_own() {
    let records = [
        ("joe", "login", ""),
        ("ann", "login", ""),
        ("joe", "list messages", "INBOX/1"),
        ("ann", "list messages", "Work/1"),
        ("joe", "list messages", "Work/1"),
        ("ann", "list messages", "INBOX/1"),
        ("joe", "list messages", "Sent/1"),
        ("joe", "list messages", "Work/1"),
    ];
    let seen = asked(&records);
    let lists = |user: &str| -> Vec<String> {
        let of_user = seen.iter().filter_map(|path| path.strip_prefix(user)?.strip_prefix(" /list?folderid="));
        of_user.map(str::to_owned).collect()
    };
    assert_eq!(
        (lists("0"), lists("1")),
        (["1", "2", "3", "2"].map(str::to_owned).to_vec(), ["1", "2"].map(str::to_owned).to_vec())
    );
}

#[test]
fn sessions_have_the_traces_words_if_they_are_asked_for() {
    let file = trace(&[("joe", "wiki page", "Main/12"), ("joe", "login", "")]);
    let recording = read(file.path(), Pace::Clock, Cut::whole(), None).expect("a recording");
    let first = |played: Played| played.sessions().expect("it opens").next().expect("one").expect("sound");
    let (with, without) = (first(recording.played().with_texts()), first(recording.played()));
    assert_eq!(
        (&*with.name, &*with.steps[0].texts.action, &*with.steps[0].texts.object),
        ("joe", "wiki page", "Main/12")
    );
    assert_eq!((&*without.name, &*without.steps[0].texts.object), ("", ""));
    assert_eq!(with.steps[0].object, without.steps[0].object);
}

#[test]
fn requests_of_a_window_are_those_of_sessions_that_start_in_phases_of_the_recording() {
    // Sessions start after 0, 1 and 3 s, and have 2, 1 and 1 requests.
    let records = [("joe", "login", ""), ("ann", "login", ""), ("joe", "list folders", ""), ("bob", "login", "")];
    let file = trace(&records);
    let recording = read(file.path(), Pace::Clock, Cut::whole(), None).expect("a recording");
    let phase = |seconds: f64, load: &plan::LoadStream| PhasePlan {
        name: "part".to_owned(),
        duration: Duration::from_secs_f64(seconds),
        fresh_policy: false,
        steady: None,
        loads: vec![load.clone()],
    };
    let users = &plan::LoadStream::Users { from: 1, to: 1, class: 0 };
    let replay = &plan::LoadStream::Replay;
    for (phases, requests) in [
        (vec![phase(4.0, replay)], 4),
        (vec![phase(100.0, replay)], 4),
        (vec![phase(2.0, replay), phase(2.0, replay)], 4),
        (vec![phase(2.0, replay)], 3),
        (vec![phase(1.0, replay)], 2),
        (vec![phase(0.5, users), phase(1.0, replay), phase(9.0, users)], 1),
        (vec![phase(0.5, replay), phase(2.0, users), phase(9.0, replay)], 3),
        (vec![phase(9.0, users)], 0),
    ] {
        assert_eq!(recording.requests_in(&replayed(&phases)), Ok(requests), "{phases:?}");
    }
}
