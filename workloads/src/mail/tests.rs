use std::time::Duration;

use controllers::{Class, Timestamp};
use traces::{PreviousPage, Statistics, UserModel, row_fits, second_fits};

use super::*;
use crate::{
    measure::Report,
    persona::{Answer, Call, Draws, Ending, Method, Move, Pause, Persona, Reply, Stay, Turn},
    plan::{Account, LoadPlan, Users},
    testing::{self, Mailboxes, Reaction, Response},
};

fn model() -> UserModel {
    arashi()
}

fn users(previous_page: PreviousPage) -> MailUsers {
    let account = |n: usize| Account { user: format!("u{n}"), password: "p&w".into() };
    MailUsers { previous_page, ..MailUsers::new(model(), (0..50).map(account).collect()) }
}

fn plan(users: MailUsers, seconds: u64, count: u32) -> LoadPlan {
    LoadPlan { users: Users::Mail(users), ..testing::url_plan(&[("steady", seconds, count)]) }
}

/// 20 users for 30 s against a service that answers in 5 ms: some 24 000 requests.
fn walk(previous: PreviousPage) -> Report {
    let mut mail = Mailboxes::new(2_000);
    let answer = |_, call: &Call, _| Reaction::Answer(Duration::from_millis(5), mail.answer(call));
    testing::run(&plan(users(previous), 30, 20), |_| {}, answer).expect("it runs")
}

#[test]
fn the_shipped_model_has_the_mixes_known_of_figure_46() {
    let model = model();
    let percent = |statistics: &Statistics| {
        REQUEST_TYPES.map(|state| {
            let share = statistics.mix.get(state).copied().unwrap_or(0.0);
            (share * 10_000.0).round() / 100.0
        })
    };
    // Also found by simulation and by another solver.
    for (previous, mix, [mean, median, p90, p99], shows) in [
        (PreviousPage::Literal, [9.59, 9.59, 30.96, 34.72, 6.88, 7.58, 0.69], [10.4, 7.0, 23.0, 44.0], 3.6),
        (PreviousPage::List, [11.35, 11.35, 38.39, 26.57, 5.56, 6.10, 0.68], [8.8, 7.0, 18.0, 34.0], 2.3),
    ] {
        let statistics = Statistics::of(&model, previous).expect("it is sound");
        assert_eq!(percent(&statistics)[..7], mix, "{previous:?}");
        assert!((statistics.mean - mean).abs() < 0.05, "{}", statistics.mean);
        let quantiles = [0.5, 0.9, 0.99].map(|share| statistics.length_quantile(share) as f64);
        assert_eq!(quantiles, [median, p90, p99], "{previous:?}");
        assert!((statistics.per_session("show message") - shows).abs() < 0.05);
    }
}

#[test]
fn transitions_made_over_a_thousand_sessions_fit_the_matrix() {
    for previous in [PreviousPage::Literal, PreviousPage::List] {
        let report = walk(previous);
        let ledger = &report.total.measured;
        assert_eq!((ledger.failed, ledger.rejected, ledger.timed_out), (0, 0, 0), "{previous:?}");
        let sessions = report.total.by_type["login"].planned;
        assert!(sessions > 1000, "{sessions}");
        let made = report.transitions.iter().map(|t| (t.from.as_str(), t.to.as_str(), t.drawn.made));
        for fit in row_fits(&model(), made) {
            assert!(fit.p > 0.001, "{previous:?}: {fit:?}");
            assert!(fit.seen > 100, "{previous:?}: {fit:?}");
        }
        assert_eq!(report.faults, Vec::<String>::new());
    }
}

#[test]
fn the_mix_of_requests_is_that_of_the_chain() {
    // With the reading `List` every page offers the states of its row, so the mix is the stationary one.
    let report = walk(PreviousPage::List);
    let statistics = Statistics::of(&model(), PreviousPage::List).expect("it is sound");
    let planned = report.total.measured.planned as f64;
    for (state, share) in statistics.mix {
        let seen = report.total.by_type[&state].planned as f64 / planned;
        assert!((seen - share).abs() < 0.015, "{state}: {seen} for {share}");
    }
    assert_eq!(report.transitions.iter().map(|t| t.drawn.substituted + t.drawn.made_elsewhere).sum::<u64>(), 0);
}

#[test]
fn mail_that_is_gone_is_served_in_the_literal_reading_and_its_draws_become_lists() {
    let report = walk(PreviousPage::Literal);
    assert_eq!(report.total.measured.failed, 0);
    let substituted: u64 = report.transitions.iter().map(|t| t.drawn.substituted).sum();
    let elsewhere: u64 = report.transitions.iter().map(|t| t.drawn.made_elsewhere).sum();
    assert!(substituted > 100 && elsewhere > 10, "{substituted}, {elsewhere}");
    let from: Vec<&str> =
        report.transitions.iter().filter(|t| t.drawn.substituted > 0).map(|t| t.from.as_str()).collect();
    assert!(from.iter().all(|&from| from == "show message"), "{from:?}");
}

#[test]
fn an_empty_folder_leads_back_to_its_list() {
    let mut mail = Mailboxes::new(0);
    let answer = |_, call: &Call, _| Reaction::Answer(Duration::from_millis(5), mail.answer(call));
    let report = testing::run(&plan(users(PreviousPage::List), 20, 3), |_| {}, answer).expect("it runs");
    assert_eq!(report.total.measured.failed, 0);
    assert!(!report.total.by_type.contains_key("show message"));
    assert!(report.transitions.iter().any(|t| t.to == "show message" && t.drawn.substituted > 0 && t.drawn.made == 0));
}

#[test]
fn a_mailbox_is_as_large_as_its_account_says_and_knows_its_other_folders() {
    let mut mail = Mailboxes::with_folders(vec![vec![3, 1], vec![12_794, 5, 0, 1]]);
    let any = Walker::new(&users(PreviousPage::List), 0).until("login");
    let mut ask = |method, path: &str, body: Option<&str>| {
        let (headers, body) = ("Cookie: session=user0001\r\n".into(), body.map(Into::into));
        mail.answer(&Call { method, path: path.into(), headers, body, ..any.clone() }).body
    };
    ask(Method::Post, "/login", Some("user=user0001"));
    assert_eq!(ask(Method::Get, "/folderlist", None).matches("data-do=\"list\"").count(), 4);
    let shown = |page: &str| -> Vec<u32> {
        let entries = page.split("entry=").skip(1).filter_map(|rest| rest.split('"').next()?.parse().ok());
        entries.collect()
    };
    let page = ask(Method::Get, "/list?folderid=2", None);
    assert_eq!(shown(&page), (12_795..12_800).collect::<Vec<_>>(), "numbers are the mailbox's own");
    assert!(
        page.contains("value=\"1\">Other") && page.contains("value=\"4\">Other") && !page.contains("value=\"2\">Other")
    );
    // Ten rows at a time, until all of a small folder are gone.
    let first = shown(&ask(Method::Get, "/list?folderid=1", None));
    assert_eq!(first, (1..=10).collect::<Vec<_>>());
    for message in first {
        ask(Method::Post, "/refile", Some(&format!("csrf=c%26f&folderid=1&message={message}&to=3")));
    }
    assert_eq!(shown(&ask(Method::Get, "/list?folderid=1", None)), (11..=20).collect::<Vec<_>>());
    assert_eq!(shown(&ask(Method::Get, "/list?folderid=3", None)), (1..=10).collect::<Vec<_>>());
    assert!(
        ask(Method::Get, "/show?folderid=1&entry=12794", None).contains("data-message"),
        "it is there before it is shown"
    );
}

/// A user with its draws, a mail service, and the time.
struct Walker {
    user: MailUser,
    draws: Draws,
    mail: Mailboxes,
    now: Timestamp,
}

impl Walker {
    fn new(users: &MailUsers, class: u8) -> Self {
        let crowd = MailCrowd::new(users, &Marks::default(), testing::home()).expect("there can be users");
        let user = MailUser::new(crowd, 0, Class(class), Stay::Forever);
        Self { user, draws: Draws::new(1, 1), mail: Mailboxes::new(100), now: Timestamp::ZERO }
    }

    fn tell(&mut self, reply: Reply<'_>) -> Turn {
        self.user.next(reply, self.now, &mut self.draws)
    }

    fn answer(&mut self, response: &Response) -> Turn {
        let headers: Vec<_> = response.headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
        self.tell(Reply::Answer(Answer::whole(response.status, &headers, response.body.as_bytes())))
    }

    /// Sends the request after the pause.
    fn wake(&mut self, turn: Turn) -> Call {
        let mut turn = turn;
        loop {
            match turn.then {
                Move::Send(call) => return call,
                Move::Think(pause, _) => {
                    self.now = self.now + pause;
                    turn = self.tell(Reply::Woke);
                }
                Move::Until(..) | Move::Leave => panic!("it stays, and draws what comes next"),
            }
        }
    }

    /// Walks on until a request of this type is sent.
    fn until(&mut self, kind: &str) -> Call {
        let mut turn = self.tell(Reply::Start);
        for _ in 0..10_000 {
            let call = self.wake(turn);
            if REQUEST_TYPES[usize::from(call.kind.0)] == kind {
                return call;
            }
            let response = self.mail.answer(&call);
            turn = self.answer(&response);
            assert_eq!(turn.ending, Ending::Served, "{call:?}");
        }
        panic!("no {kind} in 10 000 requests")
    }
}

fn status(status: u16, body: &str) -> Response {
    Response { status, body: body.into(), ..Response::default() }
}

#[test]
fn it_signs_in_with_its_account_and_carries_cookie_and_class() {
    let mut walker = Walker::new(&users(PreviousPage::Literal), 3);
    let turn = walker.tell(Reply::Start);
    let login = walker.wake(turn);
    assert_eq!((&*login.path, login.method), ("/login", Method::Post));
    assert_eq!((login.body.as_deref(), &*login.headers), (Some("user=u0&password=p%26w"), "User-Class: 3\r\n"));
    let response = walker.mail.answer(&login);
    let turn = walker.answer(&response);
    assert_eq!(turn, Turn { ending: Ending::Served, then: Move::Think(Duration::from_millis(20), Pause::Thinking) });
    let folders = walker.wake(turn);
    assert_eq!((&*folders.path, &*folders.headers), ("/folderlist", "Cookie: session=u0\r\nUser-Class: 3\r\n"));
    assert_eq!(folders.wanted_at, Timestamp::from_millis(20));
}

#[test]
fn a_reject_costs_the_session_and_five_seconds() {
    let mut walker = Walker::new(&users(PreviousPage::Literal), 0);
    walker.until("show message");
    let turn = walker.answer(&status(503, ""));
    assert_eq!(turn, Turn { ending: Ending::Rejected, then: Move::Think(Duration::from_secs(5), Pause::BackingOff) });
    let login = walker.wake(turn);
    assert_eq!((&*login.path, &*login.headers, login.attempt), ("/login", "", 0));
}

#[test]
fn a_page_without_the_mail_asked_for_has_failed() {
    for body in ["", "<body data-page=\"message\"><article data-message=\"0\">", "<body data-page=\"messages\">"] {
        let mut walker = Walker::new(&users(PreviousPage::Literal), 0);
        walker.until("show message");
        assert_eq!(walker.answer(&status(200, body)).ending, Ending::Failed, "{body}");
    }
    let mut walker = Walker::new(&users(PreviousPage::Literal), 0);
    walker.until("show message");
    assert_eq!(walker.answer(&status(404, "<body data-page=\"error\">")).ending, Ending::Failed, "it was there");
}

#[test]
fn a_lost_session_has_failed_and_is_opened_again_without_the_long_wait() {
    let mut walker = Walker::new(&users(PreviousPage::Literal), 0);
    walker.until("list messages");
    let turn = walker.answer(&status(200, "<body data-page=\"login\">"));
    assert_eq!(turn, Turn { ending: Ending::Failed, then: Move::Think(Duration::from_millis(20), Pause::Thinking) });
    assert_eq!(&*walker.wake(turn).path, "/login");
}

#[test]
fn after_a_delete_it_goes_back_by_its_reading() {
    for (previous, paths) in [(PreviousPage::Literal, ["/show", "/list"]), (PreviousPage::List, ["/list", "/list"])] {
        let mut seen = [false; 2];
        for user in 0..200 {
            let mut walker = Walker::new(&users(previous), 0);
            walker.draws = Draws::new(1, user);
            let delete = walker.until("delete");
            let before = walker.user.before.clone().expect("it knows where it was");
            let response = walker.mail.answer(&delete);
            let turn = walker.answer(&response);
            let back = walker.wake(turn);
            let from_list = usize::from(before.state == State::ListMessages);
            if before.state == State::Search {
                continue;
            }
            seen[from_list] = true;
            assert!(back.path.starts_with(paths[from_list]), "{previous:?}: {} after {before:?}", back.path);
            let response = walker.mail.answer(&back);
            let gone = previous == PreviousPage::Literal && from_list == 0;
            assert_eq!(response.status, if gone { 404 } else { 200 });
            assert_eq!(walker.answer(&response).ending, Ending::Served);
        }
        assert_eq!(seen, [true; 2]);
    }
}

#[test]
fn the_pause_is_that_of_the_way_taken() {
    let mut users = users(PreviousPage::Literal);
    let ms = |millis: usize| traces::Think::Constant(Duration::from_millis(millis as u64));
    // Each transition has a pause of its own that distinguishes it from the others, except those to a search.
    for (from, name) in REQUEST_TYPES[..7].iter().enumerate() {
        let back = ["list messages", "show message", "search"].map(String::from).to_vec();
        let next = users.model.transitions.get(*name).map_or(back, |row| row.keys().cloned().collect());
        let laws = next.into_iter().filter(|to| to != "search").map(|to| {
            let at = REQUEST_TYPES.iter().position(|known| *known == to).expect("a state");
            (to, ms(1000 + 100 * from + 10 * at))
        });
        users.model.think_to.insert((*name).to_owned(), laws.collect());
    }
    let mut walker = Walker::new(&users, 0);
    walker.mail = Mailboxes::new(2_000);
    let mut turn = walker.tell(Reply::Start);
    let mut before = None;
    let mut ways = std::collections::BTreeSet::new();
    for _ in 0..3000 {
        let paused = if let Move::Think(pause, Pause::Thinking) = &turn.then { *pause } else { Duration::ZERO };
        let call = walker.wake(turn);
        let to = usize::from(call.kind.0);
        if let Some(from) = before {
            let own = users.model.think_to[REQUEST_TYPES[from]].contains_key(REQUEST_TYPES[to]);
            let expected = if own { 1000 + 100 * from + 10 * to } else { 20 };
            assert_eq!(paused, Duration::from_millis(expected as u64), "{} to {}", REQUEST_TYPES[from], call.path);
            ways.insert((from, to, own));
        }
        before = Some(to);
        let response = walker.mail.answer(&call);
        turn = walker.answer(&response);
    }
    // Most transitions of the matrix, those back from delete and refile among them, and those to a search without a
    // pause of their own.
    assert!(ways.len() >= 15 && ways.iter().any(|way| way.0 == 4) && ways.iter().any(|way| !way.2), "{ways:?}");
}

#[test]
fn the_page_before_the_last_matters_where_the_model_says_so() {
    let mut users = users(PreviousPage::List);
    let row = |cells: &[(&str, f64)]| cells.iter().map(|&(to, chance)| (to.to_owned(), chance)).collect();
    for (from, before, row) in [
        ("list messages", "list folders", row(&[("show message", 1.0)])),
        ("list messages", "show message", row(&[("login", 0.6), ("search", 0.4)])),
        ("show message", "list messages", row(&[("list messages", 0.8), ("delete", 0.2)])),
    ] {
        users.model.second.entry(from.to_owned()).or_default().insert(before.to_owned(), row);
    }
    let mut mail = Mailboxes::new(5_000);
    let answer = |_, call: &Call, _| Reaction::Answer(Duration::from_millis(5), mail.answer(call));
    let report = testing::run(&plan(users.clone(), 30, 20), |_| {}, answer).expect("it runs");
    assert_eq!(report.total.measured.failed, 0);
    let made = || report.transitions.iter().map(|t| (t.after.as_deref(), t.from.as_str(), t.to.as_str(), t.drawn.made));
    let second = made().filter_map(|(after, from, to, made)| Some((after?, from, to, made)));
    let first = made().filter(|made| made.0.is_none()).map(|(_, from, to, made)| (from, to, made));
    let seconds = second_fits(&users.model, second);
    assert_eq!(seconds.len(), 3);
    for fit in seconds.iter().map(|(_, fit)| fit).chain(&row_fits(&users.model, first)) {
        assert!(fit.p > 0.001, "{fit:?}");
    }
    assert!(seconds.iter().all(|(_, fit)| fit.seen > 100), "{seconds:?}");
    // A list that users returned to after a delete has the row of the first order.
    let back = report.transitions.iter().find(|t| t.after.is_none() && t.from == "list messages" && t.to == "refile");
    assert!(back.is_some_and(|back| back.drawn.made > 0), "{:?}", report.transitions);
    // The mix is that of the chain of pairs.
    let statistics = Statistics::of(&users.model, PreviousPage::List).expect("it is sound");
    let planned = report.total.measured.planned as f64;
    for (state, share) in statistics.mix {
        let seen = report.total.by_type[&state].planned as f64 / planned;
        assert!((seen - share).abs() < 0.015, "{state}: {seen} for {share}");
    }
}

#[test]
fn redirects_and_waits_belong_to_one_request() {
    let mut walker = Walker::new(&users(PreviousPage::Literal), 0);
    let list = walker.until("list messages");
    let wanted_at = list.wanted_at;
    let headers = vec![("Location", "/turn?n=1".to_owned())];
    let turn = walker.answer(&Response { status: 302, headers, ..Response::default() });
    assert_eq!(turn.ending, Ending::Continued);
    let hop = walker.wake(turn);
    assert_eq!((&*hop.path, hop.hop, hop.kind), ("/turn?n=1", 1, list.kind));
    let headers = vec![("Refresh", format!("7; url={}", list.path))];
    let turn = walker.answer(&Response { status: 200, headers, ..Response::default() });
    assert_eq!(turn.ending, Ending::Continued);
    assert_eq!(turn.then, Move::Think(Duration::from_secs(7), Pause::Waiting));
    let hop = walker.wake(turn);
    assert_eq!((&hop.path, hop.hop, hop.wanted_at), (&list.path, 2, wanted_at));
    let response = walker.mail.answer(&hop);
    assert_eq!(walker.answer(&response).ending, Ending::Served);
}

#[test]
fn a_session_user_leaves_when_the_session_ends() {
    let crowd =
        MailCrowd::new(&users(PreviousPage::List), &Marks::default(), testing::home()).expect("there can be users");
    let mut walker = Walker::new(&users(PreviousPage::List), 0);
    walker.user = MailUser::new(crowd, 0, Class(0), Stay::OneSession);
    let mut turn = walker.tell(Reply::Start);
    let mut logins = 0;
    loop {
        let call = match turn.then {
            Move::Leave => break,
            Move::Think(..) | Move::Until(..) => {
                turn = walker.tell(Reply::Woke);
                continue;
            }
            Move::Send(call) => call,
        };
        logins += usize::from(&*call.path == "/login");
        let response = walker.mail.answer(&call);
        turn = walker.answer(&response);
    }
    assert_eq!(logins, 1);
}

#[test]
fn models_that_no_mail_user_can_walk_are_refused_by_name() {
    let refused = |change: &dyn Fn(&mut MailUsers)| {
        let mut users = users(PreviousPage::Literal);
        change(&mut users);
        MailCrowd::new(&users, &Marks::default(), testing::home()).expect_err("it is refused").to_string()
    };
    assert!(refused(&|u| u.accounts.clear()).contains("accounts"));
    let error = refused(&|u| {
        let row = u.model.transitions.get_mut("search").expect("a row");
        let chance = row.remove("delete").expect("a chance");
        row.insert("shred".into(), chance);
    });
    assert!(error.contains("`shred`") && error.contains("refile"), "{error}");
    assert!(refused(&|u| u.model.start = "search".into()).contains("start"));
    assert!(refused(&|u| drop(u.model.transitions.remove("search"))).contains("`search`"));
}

#[test]
fn a_user_is_small() {
    assert!(size_of::<MailUser>() <= 320, "{}", size_of::<MailUser>());
}
