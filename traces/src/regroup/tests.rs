use super::*;
use crate::trace::{Footer, Header, Names, Writer};

const SECOND: u64 = 1_000_000;

/// Second, user, session, action; each is answered after 0.2 s.
fn sessions(records: &[(u64, &'static str, &'static str, &'static str)]) -> Vec<Session> {
    let mut writer = Writer::new(Vec::new(), &Header::new("test", "made up", Names::Generated)).expect("memory");
    for &(second, user, session, action) in records {
        let record = Record {
            offset: second * SECOND,
            user: user.into(),
            session: session.into(),
            action: action.into(),
            duration: Some(SECOND / 5),
            ..Record::default()
        };
        writer.write(&record).expect("sound");
    }
    let written = writer.finish(Footer::default()).expect("memory");
    Sessions::new(Reader::open(&written[..]).expect("sound")).collect::<Result<_, _>>().expect("sound")
}

fn shown(sessions: &[Session]) -> Vec<String> {
    let one = |session: &Session| {
        let steps: Vec<String> =
            session.steps.iter().map(|step| format!("{} {}", step.at / SECOND, step.action)).collect();
        let cut = if session.cut { " (cut)" } else { "" };
        format!("{} {}{cut}: {}", session.start / SECOND, session.user, steps.join(", "))
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
    assert_eq!(shown(&sessions(&records))[2], "4500 a (cut): 0 delete");
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
