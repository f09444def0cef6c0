use std::{cell::RefCell, collections::BTreeSet, time::Duration};

use controllers::{Class, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::{
    measure::Report,
    persona::{Answer, Call, Draws, Ending, Method, Move, Pause, Persona, Reply, Stay, Turn},
    plan::{
        Account, AnswerCheck, ArrivalLaw, Behaviour, Extraction, FailureRule, Load, LoadPlan, PlanBranch, PlanItem,
        PlanStep, TestPlan, Users, ValueSource,
    },
    testing::{self, Reaction, Response},
};

mod chain;
mod conduct;

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn plan(steps: Vec<PlanStep>) -> TestPlan {
    TestPlan::new(steps.into_iter().map(|step| PlanItem::Step(Box::new(step))).collect())
}

fn header(name: &str, from: ValueSource, regex: Option<&str>) -> Extraction {
    let regex = regex.map(str::to_owned);
    Extraction { from, regex, ..Extraction::from_body(name, "") }
}

/// A user fed by hand.
struct Fed {
    user: ScriptUser,
    draws: Draws,
    now: Timestamp,
}

impl Fed {
    fn of(users: &ScriptUsers, slot: u32, stay: Stay) -> Self {
        let crowd = ScriptCrowd::new(users, &Marks::default(), testing::home()).expect("it can be walked");
        Self::in_crowd(&crowd, slot, stay)
    }

    fn in_crowd(crowd: &ScriptCrowd, slot: u32, stay: Stay) -> Self {
        let user = ScriptUser::new(crowd.clone(), slot, Class(0), stay);
        Self { user, draws: Draws::new(7, slot.into()), now: Timestamp::ZERO }
    }

    fn told(&mut self, reply: Reply<'_>) -> Turn {
        self.user.next(reply, self.now, &mut self.draws)
    }

    fn start(&mut self) -> Call {
        sent(self.told(Reply::Start).then)
    }

    fn woke(&mut self, after: Duration) -> Call {
        self.now = self.now + after;
        sent(self.told(Reply::Woke).then)
    }

    fn answer(&mut self, status: u16, headers: &[(&str, &str)], body: &str) -> Turn {
        let headers: Vec<(&str, &[u8])> = headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
        self.told(Reply::Answer(Answer::whole(status, &headers, body.as_bytes())))
    }
}

fn sent(then: Move) -> Call {
    let Move::Send(call) = then else { panic!("it sends: {then:?}") };
    call
}

fn served(then: Move) -> Turn {
    Turn { ending: Ending::Served, then }
}

fn mail_plan() -> TestPlan {
    let login = PlanStep {
        method: "post".to_owned(),
        body: Some("user=${user|url}&password=${password|url}".to_owned()),
        extract: vec![Extraction::from_body("list", "href=\"([^\"]+)\"")],
        think: Some(traces::Think::Constant(secs(2))),
        ..PlanStep::get("login", "/login")
    };
    let list = PlanStep {
        headers: vec![("X-From".to_owned(), "${list}".to_owned())],
        extract: vec![Extraction::from_body("csrf", "name=csrf value=(\\w+)")],
        ..PlanStep::get("list", "${list}")
    };
    plan(vec![login, list, PlanStep::get("read", "/read?csrf=${csrf}&n=${user-number}")])
}

fn mail_users() -> ScriptUsers {
    let account = |name: &str| Account { user: name.to_owned(), password: "p&w".to_owned() };
    ScriptUsers { accounts: vec![account("joe"), account("ann b")], ..ScriptUsers::new(mail_plan()) }
}

#[test]
fn values_go_from_page_to_request() {
    let mut user = Fed::of(&mail_users(), 3, Stay::OneSession);
    let login = user.start();
    assert_eq!((login.method, &*login.path, &*login.headers), (Method::Post, "/login", ""));
    assert_eq!(login.body.as_deref(), Some("user=ann%20b&password=p%26w"));
    let page = "<a href=\"mail?folder=1&amp;page=2#top\">x</a>";
    let turn = user.answer(200, &[("Set-Cookie", "sid=7; Path=/")], page);
    assert_eq!(turn, served(Move::Think(secs(2), Pause::Thinking)));
    let list = user.woke(secs(2));
    // Relative to /login, with its references decoded and without its fragment.
    assert_eq!((list.method, &*list.path, list.body.clone()), (Method::Get, "/mail?folder=1&page=2", None));
    assert_eq!(&*list.headers, "Cookie: sid=7\r\nX-From: /mail?folder=1&page=2\r\n");
    assert_eq!((list.kind.0, list.wanted_at), (1, Timestamp::ZERO + secs(2)));
    let turn = user.answer(200, &[], "<input name=csrf value=a1b2>");
    let read = sent(turn.then);
    assert_eq!((&*read.path, &*read.headers), ("/read?csrf=a1b2&n=3", "Cookie: sid=7\r\n"));
    assert_eq!(user.answer(200, &[], ""), served(Move::Leave));
}

#[test]
fn a_closed_user_begins_anew_without_values_and_cookies() {
    let mut user = Fed::of(&mail_users(), 0, Stay::Forever);
    user.start();
    user.answer(200, &[("Set-Cookie", "sid=7")], "<a href=\"/list\">");
    user.woke(secs(2));
    // No value: the step has failed, and the papers' users wait 5 s.
    let turn = user.answer(200, &[], "<p>nothing");
    assert_eq!(turn, Turn { ending: Ending::Failed, then: Move::Think(secs(5), Pause::BackingOff) });
    let again = user.woke(secs(5));
    assert_eq!((&*again.path, &*again.headers), ("/login", ""));
}

#[test]
fn values_come_from_headers_cookies_and_urls() {
    let extract = vec![
        header("all", ValueSource::Header("X-Id".to_owned()), None),
        header("part", ValueSource::Header("x-id".to_owned()), Some("b(.)")),
        header("sid", ValueSource::Cookie("sid".to_owned()), None),
        header("turn", ValueSource::Url, Some("turn=([0-9]+)")),
        Extraction { default: Some("none".to_owned()), ..Extraction::from_body("gone", "x(y)z") },
    ];
    let first = PlanStep { extract, ..PlanStep::get("first", "/") };
    let second = PlanStep::get("second", "/${all|url}/${part}/${sid}/${turn}/${gone}");
    let mut user = Fed::of(&ScriptUsers::new(plan(vec![first, second])), 0, Stay::OneSession);
    user.start();
    let turn = user.answer(302, &[("Location", "/there?turn=12"), ("Set-Cookie", "sid=a.b")], "");
    let hop = sent(turn.then);
    assert_eq!(
        (turn.ending, &*hop.path, &*hop.headers, hop.hop),
        (Ending::Continued, "/there?turn=12", "Cookie: sid=a.b\r\n", 1)
    );
    let turn = user.answer(200, &[("X-ID", "a/1"), ("X-Id", "b2")], "");
    assert_eq!(&*sent(turn.then).path, "/a%2F1/2/a.b/12/none");
}

#[test]
fn a_value_of_many_lines_or_for_another_host_is_none() {
    let first =
        PlanStep { extract: vec![Extraction::from_body("v", "(?s)<b>(.*)</b>")], ..PlanStep::get("first", "/") };
    for (url, body, ending) in [
        ("/${v}", "<b>a\r\nX: y</b>".to_owned(), Ending::Failed),
        ("/${v}", format!("<b>{}</b>", "x".repeat(LONGEST_VALUE + 1)), Ending::Failed),
        ("/${v}", format!("{}<b>x</b>", " ".repeat(crate::plan::MOST_BODY)), Ending::Failed),
        ("${v}", "<b>http://elsewhere.example/x</b>".to_owned(), Ending::Elsewhere),
        ("${v}", "<b>/\\elsewhere.example/x</b>".to_owned(), Ending::Failed),
    ] {
        let users = ScriptUsers::new(plan(vec![first.clone(), PlanStep::get("second", url)]));
        let mut user = Fed::of(&users, 0, Stay::Forever);
        user.start();
        let turn = user.answer(200, &[("Content-Type", "text/plain")], &body);
        assert_eq!(turn.ending, ending, "{url} {body:.40}");
    }
}

#[test]
fn a_status_that_is_asked_for_is_the_answer() {
    let checked = |status: &[u16], body: Option<&str>| {
        let check = AnswerCheck { status: status.to_vec(), body: body.map(str::to_owned), ..AnswerCheck::default() };
        ScriptUsers::new(plan(vec![PlanStep { check, ..PlanStep::get("one", "/") }]))
    };
    let ending = |users: &ScriptUsers, status, headers: &[(&str, &str)], body| {
        let mut user = Fed::of(users, 0, Stay::OneSession);
        user.start();
        user.answer(status, headers, body).ending
    };
    let to = [("location", "/x")];
    for (users, status, headers, wanted) in [
        (checked(&[], None), 304, &to[..], Ending::Served),
        (checked(&[], None), 404, &[], Ending::Failed),
        (checked(&[], None), 503, &[], Ending::Rejected),
        (checked(&[], None), 302, &to, Ending::Continued),
        (checked(&[302], None), 302, &to, Ending::Served),
        (checked(&[302], None), 200, &[], Ending::Failed),
        (checked(&[404, 503], None), 503, &[("retry-after", "1")], Ending::Served),
        (checked(&[200], None), 200, &[("refresh", "1")], Ending::Continued),
        (checked(&[], Some("w[eo]lcome")), 200, &[], Ending::Failed),
    ] {
        assert_eq!(ending(&users, status, headers, "hello"), wanted, "{status} {:?}", users.plan);
    }
    assert_eq!(ending(&checked(&[], Some("^hell")), 200, &[], "hello"), Ending::Served);
}

#[test]
fn waits_are_followed_however_they_are_told() {
    let post = PlanStep { method: "POST".to_owned(), body: Some("a=1".to_owned()), ..PlanStep::get("buy", "/buy") };
    let users = ScriptUsers::new(plan(vec![post]));
    let meta = "<meta http-equiv=\"refresh\" content=\"7; url=/turn\">";
    for (status, headers, body, path, method, seconds) in [
        (200, &[("refresh", "7; url=/turn")][..], "", "/turn", Method::Get, 7),
        (200, &[], meta, "/turn", Method::Get, 7),
        (503, &[("refresh", "7; url=/turn"), ("retry-after", "9")], "", "/turn", Method::Get, 7),
        (503, &[("retry-after", "9")], "", "/buy", Method::Post, 9),
        (202, &[("retry-after", "9")], "", "/buy", Method::Post, 9),
    ] {
        let mut user = Fed::of(&users, 0, Stay::OneSession);
        user.start();
        let turn = user.answer(status, headers, body);
        let wait = secs(seconds);
        assert_eq!(turn, Turn { ending: Ending::Continued, then: Move::Think(wait, Pause::Waiting) }, "{headers:?}");
        let call = user.woke(wait);
        assert_eq!((&*call.path, call.method, call.hop), (path, method, 1), "{headers:?}");
        assert_eq!(call.body.is_some(), method == Method::Post);
    }
    // A policy's refusal is no place in a queue; a user who does not follow refreshes takes none; and nobody waits
    // longer than it would.
    let refused = [("retry-after", "9"), ("x-refused", "rate")];
    let ending = |users: &ScriptUsers, headers: &[(&str, &str)]| {
        let mut user = Fed::of(users, 0, Stay::OneSession);
        user.start();
        user.answer(503, headers, "")
    };
    assert_eq!(ending(&users, &refused).ending, Ending::Rejected);
    let behaviour = Behaviour { refresh: false, ..Behaviour::default() };
    let deaf = ScriptUsers { behaviour, ..users.clone() };
    assert_eq!(ending(&deaf, &[("retry-after", "9")]).ending, Ending::Rejected);
    let behaviour = Behaviour { retry_after_at_most: Some(secs(4)), ..Behaviour::default() };
    let hasty = ScriptUsers { behaviour, ..users };
    assert_eq!(ending(&hasty, &[("retry-after", "9")]).then, Move::Think(secs(4), Pause::Waiting));
}

fn branch(weight: f64, steps: Vec<PlanStep>) -> PlanBranch {
    PlanBranch { weight, items: plan(steps).items }
}

#[test]
fn choices_are_drawn_by_weight_and_go_on_together() {
    let found =
        |name: &str| PlanStep { extract: vec![Extraction::from_body("v", "v=(\\w+)")], ..PlanStep::get(name, "/") };
    let choice = PlanItem::Choice(vec![branch(3.0, vec![found("a"), found("b")]), branch(1.0, vec![found("c")])]);
    let last = PlanItem::Step(Box::new(PlanStep::get("last", "/${v}")));
    let users = ScriptUsers::new(TestPlan::new(vec![choice, last]));
    let mut of_first = 0;
    for slot in 0..1000 {
        let mut user = Fed::of(&users, slot, Stay::OneSession);
        let mut kinds = vec![user.start().kind.0];
        while let Move::Send(call) = user.answer(200, &[], "v=1").then {
            kinds.push(call.kind.0);
        }
        assert!([vec![0, 1, 3], vec![2, 3]].contains(&kinds), "{kinds:?}");
        of_first += u32::from(kinds[0] == 0);
    }
    // Binomial, mean 750, standard deviation 14.
    assert!((680..820).contains(&of_first), "{of_first}");
}

/// All problems of a plan, as text.
fn problems(users: &ScriptUsers) -> Vec<String> {
    check(users).iter().map(ToString::to_string).collect()
}

#[test]
fn problems_name_step_and_key_and_the_way_out() {
    let of = |step: PlanStep| problems(&ScriptUsers::new(plan(vec![step])));
    let get = || PlanStep::get("one", "/");
    let extract = |extraction| PlanStep { extract: vec![extraction], ..get() };
    for (step, wanted) in [
        (PlanStep::get("one", "/${token}"), ["url: no step extracts ${token}", "known here: user-number"]),
        (PlanStep::get("one", "/${user}"), ["url: ${user}: this target has no accounts", "user-number"]),
        (PlanStep::get("one", "http://x/"), ["is not a path", "begins with /"]),
        (PlanStep::get("one", "/a b"), ["character that URLs do not have", "%20"]),
        (PlanStep::get("one", "/${a"), ["not closed", "$${"]),
        (PlanStep::get("", "/"), ["name: it is empty", "64"]),
        (PlanStep { method: "BREW".to_owned(), ..get() }, ["method: users do not know \"BREW\"", "GET, POST"]),
        (PlanStep { headers: vec![("Cookie".to_owned(), "a=1".to_owned())], ..get() }, ["headers", "leave Cookie out"]),
        (PlanStep { headers: vec![("a b".to_owned(), String::new())], ..get() }, ["headers", "a character that names"]),
        (PlanStep { body: Some("${x}".to_owned()), ..get() }, ["body: no step extracts", "known here"]),
        (
            extract(Extraction::from_body("v", "abc")),
            ["extract.v.regex: \"abc\" has 0 groups", "one group is the value"],
        ),
        (extract(Extraction::from_body("v", "(a)(b)")), ["has 2 groups", "(?:…)"]),
        (
            extract(Extraction::from_body("v", "(a")),
            ["\"(a\" is not a regular expression: unclosed group", "docs.rs/regex"],
        ),
        (extract(Extraction::from_body("v", "(?=a)(b)")), ["look-around", "docs.rs/regex"]),
        (extract(Extraction::from_body("v", "(\\w{1000}{1000})")), ["is not a regular expression", "size"]),
        (extract(header("v", ValueSource::Body, None)), ["needs a regular expression", "group"]),
        (extract(Extraction::from_body("user", "(a)")), ["every user has a user", "another name"]),
        (extract(Extraction::from_body("a b", "(a)")), ["is not a valid value name", "letters"]),
        (
            PlanStep { check: AnswerCheck { status: vec![99], ..AnswerCheck::default() }, ..get() },
            ["99 is not a status", "100 to 599"],
        ),
    ] {
        let told = of(step);
        assert!(told.len() == 1 && wanted.iter().all(|part| told[0].contains(part)), "{wanted:?}: {told:?}");
        assert!(told[0].starts_with("step 1 ("), "{told:?}");
    }
    let twice = |extract| problems(&ScriptUsers::new(plan(vec![PlanStep { extract, ..get() }, get()])));
    let one = || Extraction::from_body("v", "(a)");
    assert_eq!(twice(vec![one(), one()]).len(), 2, "a value, and a step's name");
    let choice = PlanItem::Choice(vec![branch(1.0, vec![extract(one())]), branch(0.0, vec![])]);
    let after = PlanItem::Step(Box::new(PlanStep::get("after", "/${v}")));
    let told = problems(&ScriptUsers::new(TestPlan::new(vec![choice, after])));
    let all = told.join("\n");
    for wanted in ["a weight is 0", "has no step", "step 2 (after): url: ${v} is not extracted on every way"] {
        assert!(all.contains(wanted), "{all}");
    }
    assert!(problems(&ScriptUsers::new(plan(Vec::new())))[0].contains("steps: there is no step"));
    let many = (0..=MOST_STEPS).map(|n| PlanStep::get(format!("s{n}"), "/")).collect();
    assert!(problems(&ScriptUsers::new(plan(many)))[0].contains("at most 256"));
    let link = PlanStep { extract: vec![Extraction { default: Some("x".to_owned()), ..one() }], ..get() };
    let told = problems(&ScriptUsers::new(plan(vec![link, PlanStep::get("two", "${v}")])));
    assert!(told[0].contains("extract.v.default: \"x\" is not a path"), "{told:?}");
}

/// One user in virtual time, with every request and its time.
fn seen(users: ScriptUsers, answer: impl Fn(&Call) -> Response) -> (Report, Vec<(String, u128)>) {
    let mut plan = LoadPlan { users: Users::Script(users), ..testing::url_plan(&[("all", 30, 0)]) };
    plan.phases[0].loads =
        vec![Load::Sessions { from_per_s: 0.05, to_per_s: 0.05, law: ArrivalLaw::Constant, class: Class(0) }];
    let requests = RefCell::new(Vec::new());
    let service = |_, call: &Call, now: Timestamp| {
        requests.borrow_mut().push((call.path.to_string(), now.since(Timestamp::ZERO).as_millis()));
        Reaction::Answer(Duration::from_millis(10), answer(call))
    };
    let report = testing::run(&plan, |_| {}, service).expect("they can be made");
    (report, requests.into_inner())
}

#[test]
fn what_an_answer_had_not_is_under_the_errors() {
    let check = AnswerCheck { body: Some("welcome".to_owned()), ..AnswerCheck::default() };
    let users = ScriptUsers::new(plan(vec![PlanStep { check, ..PlanStep::get("first", "/") }]));
    let (report, _) = seen(users, |_| Response { status: 200, body: "hello".into(), ..Response::default() });
    let (replies, failed) = (&report.total.replies, report.total.measured.failed);
    assert!(failed > 0);
    assert_eq!(replies.errors.get("answer without a match of \"welcome\""), Some(&failed), "{replies:?}");
    assert_eq!(replies.body_bytes, 5 * failed);
}

#[test]
fn in_virtual_time_a_value_of_the_body_is_the_one_that_is_given_for_it() {
    let token = Extraction { in_virtual_time: Some("42".to_owned()), ..Extraction::from_body("token", "t=(\\d+)") };
    let check = AnswerCheck { body: Some("welcome".to_owned()), ..AnswerCheck::default() };
    let first = PlanStep { extract: vec![token], check, ..PlanStep::get("first", "/") };
    let users = ScriptUsers::new(plan(vec![first, PlanStep::get("second", "/turn/${token}")]));
    let waits = |call: &Call| {
        let headers = if &*call.path == "/" { vec![("refresh", "3; url=/in".to_owned())] } else { Vec::new() };
        Response { status: 200, headers, ..Response::default() }
    };
    let (report, seen) = seen(users, waits);
    let paths: Vec<&str> = seen.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["/", "/in", "/turn/42"]);
    // 10 ms for the answer, and 3 s as told.
    assert_eq!(seen[1].1 - seen[0].1, 3010);
    let ledger = &report.total.measured;
    // The wait is part of the first request, and makes it late: the objective is 1 s.
    assert_eq!((ledger.sent, ledger.hops, ledger.served, ledger.served_late), (2, 1, 1, 1));
}

#[test]
fn a_user_is_small() {
    // With ten values of 16 bytes that are not extracted yet, no cookies and the texts of its call shared.
    assert!(size_of::<ScriptUser>() <= 304, "{}", size_of::<ScriptUser>());
    assert_eq!(size_of::<Option<Arc<str>>>(), 16);
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// Steps that extract some values and use others, with choices in between.
fn arb_items(depth: u32) -> BoxedStrategy<Vec<PlanItem>> {
    let step = (prop::sample::subsequence(&NAMES[..], 0..3), prop::sample::subsequence(&NAMES[..], 0..2)).prop_map(
        |(extract, uses)| {
            let extract = extract.iter().map(|name| Extraction::from_body(*name, format!("{name}=(\\w+)"))).collect();
            let places: String = uses.iter().map(|name| format!("/{name}:${{{name}}}")).collect();
            PlanItem::Step(Box::new(PlanStep { extract, ..PlanStep::get("", format!("/{places}")) }))
        },
    );
    let item = match depth {
        0 => step.boxed(),
        _ => {
            let branch = (1..9_u8, arb_items(depth - 1));
            let branch = branch.prop_map(|(weight, items)| PlanBranch { weight: weight.into(), items });
            prop_oneof![3 => step, 1 => prop::collection::vec(branch, 1..3).prop_map(PlanItem::Choice)].boxed()
        }
    };
    prop::collection::vec(item, 1..5).boxed()
}

fn number(items: &mut [PlanItem], next: &mut usize) {
    for item in items {
        match item {
            PlanItem::Step(step) => {
                step.name = format!("step {next}");
                *next += 1;
            }
            PlanItem::Choice(branches) => branches.iter_mut().for_each(|branch| number(&mut branch.items, next)),
        }
    }
}

proptest! {
    /// A plan without problems sends no value that was not extracted in this session, and every session ends, whatever
    /// the service answers.
    #[test]
    fn nothing_is_sent_that_was_not_extracted(
        items in arb_items(2), slot in 0..1000u32, answers in prop::collection::vec((0..8usize, 0..16u8), 200)
    ) {
        let mut items = items;
        number(&mut items, &mut 0);
        let behaviour = Behaviour::on_any_failure(FailureRule::Leave);
        let users = ScriptUsers { behaviour, ..ScriptUsers::new(TestPlan::new(items)) };
        let steps = users.plan.steps().count();
        // Steps that use a value before it is known are found, and use none then.
        let found: BTreeSet<String> = check(&users).into_iter().filter_map(|problem| Some(problem.step?.1)).collect();
        prop_assert_eq!(found.is_empty(), compile::program(&users).is_ok());
        let bare = |step: &PlanStep| match found.contains(&step.name) {
            true => PlanStep { url: "/".to_owned(), ..step.clone() },
            false => step.clone(),
        };
        let users = ScriptUsers { plan: users.plan.map(&bare), ..users };
        prop_assert_eq!(problems(&users), Vec::<String>::new());
        let mut user = Fed::of(&users, slot, Stay::OneSession);
        let mut call = user.start();
        let (mut given, mut requests) = (BTreeSet::new(), 1);
        for (nth, (status, present)) in answers.into_iter().enumerate() {
            for part in call.path.split('/').filter(|part| !part.is_empty()) {
                prop_assert!(given.contains(part), "{} of {:?}", part, given);
            }
            let body: String = (0..).zip(NAMES).filter(|(bit, _)| present >> bit & 1 == 1).map(|(_, name)| format!("{name}=v{nth} ")).collect();
            let status = [200, 200, 200, 200, 200, 201, 404, 503][status];
            let turn = user.answer(status, &[], &body);
            if turn.ending == Ending::Served {
                given.extend((0..).zip(NAMES).filter(|(bit, _)| present >> bit & 1 == 1).map(|(_, name)| format!("{name}:v{nth}")));
            }
            match turn.then {
                Move::Send(next) => call = next,
                Move::Leave => return Ok(()),
                other => prop_assert!(false, "{:?}", other),
            }
            requests += 1;
            prop_assert!(requests <= steps, "a session has at most one request a step");
        }
    }
}
