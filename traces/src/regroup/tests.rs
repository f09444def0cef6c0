use proptest::prelude::*;

use super::*;
use crate::trace::{Footer, Header, Names, Writer};

const SECOND: u64 = 1_000_000;

/// Second, user, session, action; each is answered after 0.2 s.
fn trace(records: &[(u64, &str, &str, &str)]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &Header::new("test", "made up", Names::Generated)).expect("memory");
    for &(second, user, session, action) in records {
        let record = Record {
            offset: second * SECOND,
            user: user.to_owned().into(),
            session: session.to_owned().into(),
            action: action.to_owned().into(),
            duration: Some(SECOND / 5),
            ..Record::default()
        };
        writer.write(&record).expect("sound");
    }
    writer.finish(Footer::default()).expect("memory")
}

fn sessions(records: &[(u64, &str, &str, &str)]) -> Vec<Session> {
    Sessions::new(Reader::open(&trace(records)[..]).expect("sound")).collect::<Result<_, _>>().expect("sound")
}

proptest! {
    /// Sessions are the same for any limit, and no more steps than the limit are held.
    #[test]
    fn what_does_not_fit_into_memory_comes_as_if_it_did(
        some in prop::collection::vec((0_u64..400, 0_usize..3, 0_usize..4, 0_usize..6), 1..200),
        room in 0_usize..20,
    ) {
        const NAMES: [&str; 4] = ["a", "b", "c", "d"];
        const ACTIONS: [&str; 6] = ["login", "search", "delete", "refile", "show message", LEAVE];
        let mut second = 0;
        let record = |(pause, user, session, action)| {
            second += pause;
            (second, NAMES[user], NAMES[session], ACTIONS[action])
        };
        let records: Vec<_> = some.into_iter().map(record).collect();
        let written = trace(&records);
        let mut few = Sessions::holding(Reader::open(&written[..]).expect("sound"), room);
        let mut found = Vec::new();
        while let Some(session) = few.next() {
            found.push(session.expect("sound"));
            prop_assert!(few.held <= room);
        }
        prop_assert_eq!(found, sessions(&records));
    }
}

#[test]
fn many_sessions_behind_one_that_goes_on_are_not_held() {
    // One user sends a request every quarter of an hour; meanwhile 20 000 sessions of two steps begin and end.
    let names: Vec<String> = (0..20_000).map(|n| format!("u{n}")).collect();
    let mut records = vec![(0, "first", "1", "login")];
    for (n, name) in (0..).zip(names.iter().map(String::as_str)) {
        let second = n / 10;
        if n % 9000 == 0 {
            records.push((second, "first", "1", "search"));
        }
        records.extend([(second, name, "2", "login"), (second, name, "2", "search"), (second, name, "2", LEAVE)]);
    }
    let written = trace(&records);
    let mut few = Sessions::holding(Reader::open(&written[..]).expect("sound"), 1000);
    let first = few.next().expect("there is one").expect("sound");
    assert_eq!((first.user.as_str(), first.steps.len()), ("first", 4));
    assert!(few.waiting.len() <= 1000 && few.open.len() <= 1000, "{} wait", few.waiting.len());
    let rest: Vec<String> = few.map(|session| session.expect("sound").user).collect();
    assert!(rest == names, "all come, in the order of their start");
}

fn shown(sessions: &[Session]) -> Vec<String> {
    let one = |session: &Session| {
        let steps: Vec<String> =
            session.steps.iter().map(|step| format!("{} {}", step.at / SECOND, step.action)).collect();
        format!("{} {}: {}", session.start / SECOND, session.user, steps.join(", "))
    };
    sessions.iter().map(one).collect()
}

#[test]
fn mixed_sessions_come_whole_and_in_the_order_of_their_start() {
    let all = sessions(&[
        (1, "a", "1", "login"),
        (2, "b", "2", "login"),
        (3, "b", "2", "search"),
        (4, "a", "1", "list folders"),
        (5, "b", "2", "leave"),
        (6, "a", "1", "leave"),
        (7, "a", "3", "login"),
    ]);
    assert_eq!(shown(&all), ["1 a: 0 login, 3 list folders", "2 b: 0 login, 1 search", "7 a: 0 login"]);
    // From the answer at 1.2 s to the next request at 4 s.
    assert_eq!(all[0].steps[1].pause, 2_800_000);
    assert_eq!(all[0].steps[0].pause, 0);
}

#[test]
fn a_session_ends_after_half_an_hour_of_nothing() {
    let all = sessions(&[(0, "a", "1", "login"), (1800, "a", "1", "search"), (3601, "a", "1", "search")]);
    assert_eq!(shown(&all), ["0 a: 0 login, 1800 search", "3601 a: 0 search"]);
}

#[test]
fn one_that_never_ends_is_cut_and_holds_nobody_back() {
    let mut records: Vec<_> = (0..5).map(|n| (n * 900, "a", "1", "search")).collect();
    records.insert(1, (10, "b", "2", "login"));
    let all = sessions(&records);
    let lines = ["0 a: 0 search, 900 search, 1800 search, 2700 search, 3600 search", "10 b: 0 login"];
    assert_eq!(shown(&all), lines);
    records.push((4500, "a", "1", "delete"));
    assert_eq!(shown(&sessions(&records))[2], "4500 a: 0 delete");
    let many: Vec<_> = (0..MOST_STEPS as u64 + 1).map(|n| (n / 100, "a", "1", "search")).collect();
    assert_eq!(sessions(&many).iter().map(|session| session.steps.len()).collect::<Vec<_>>(), [MOST_STEPS, 1]);
}

#[test]
fn a_trace_that_is_cut_short_says_so() {
    let cut = "{\"trace\":1,\"name\":\"x\",\"source\":\"y\",\"names\":\"generated\"}\n\
               {\"t\":0,\"u\":\"a\",\"s\":\"1\",\"a\":\"login\"}\n";
    let mut sessions = Sessions::new(Reader::open(cut.as_bytes()).expect("its first line is sound"));
    assert!(matches!(sessions.next(), Some(Err(TraceError::Cut { records: 1, .. }))));
    assert!(sessions.next().is_none());
}
