use std::time::Duration;

use controllers::{Criticality, RetryHint, Timestamp};

use super::*;
use crate::{
    plan::{AnswerCheck, Behaviour, ConnectionHabit, FailureRule},
    testing,
};

fn users(path: &str) -> UrlUsers {
    UrlUsers {
        path: path.into(),
        method: "get".into(),
        headers: vec![("Accept".into(), "*/*".into())],
        body: None,
        requests: Vec::new(),
        check: AnswerCheck::default(),
        think: traces::Think::Constant(Duration::from_millis(20)),
        behaviour: Behaviour::default(),
        connections: ConnectionHabit::PerUser,
    }
}

fn user(users: &UrlUsers, stay: Stay) -> UrlUser {
    UrlUser::new(
        UrlCrowd::new(users, &Marks::default(), testing::home(), None).expect("it can be sent"),
        Class(0),
        stay,
    )
}

fn answer(status: u16) -> Reply<'static> {
    Reply::Answer(Answer::whole(status, &[], b""))
}

#[test]
fn users_of_a_class_say_how_important_they_are_and_who_pays() {
    let marks = Marks {
        criticality: [(Class(0), Criticality::SheddablePlus), (Class(2), Criticality::CriticalPlus)].into(),
        customer: [(Class(2), 7)].into(),
        class_header: None,
        class_values: std::collections::BTreeMap::new(),
    };
    let headers_with = |marks: &Marks, class| {
        let crowd = UrlCrowd::new(&users("/x"), marks, testing::home(), None).expect("it can be sent");
        let mut user = UrlUser::new(crowd.clone(), class, Stay::Forever);
        let turn = user.next(Reply::Start, Timestamp::ZERO, &mut Draws::new(1, 1));
        let Move::Send(call) = turn.then else { panic!("it sends") };
        call.headers.to_string()
    };
    let headers = |class| headers_with(&marks, class);
    let plan = Marks { class_header: Some("X-Plan".to_owned()), ..Marks::default() };
    assert_eq!(headers_with(&plan, Class(3)), "Accept: */*\r\nX-Plan: 3\r\n");
    assert_eq!(headers(Class(0)), "Accept: */*\r\nX-Criticality: SHEDDABLE_PLUS\r\n");
    assert_eq!(headers(Class(1)), "Accept: */*\r\nUser-Class: 1\r\n");
    assert_eq!(headers(Class(2)), "Accept: */*\r\nUser-Class: 2\r\nX-Criticality: CRITICAL_PLUS\r\nX-Customer: 7\r\n");
}

#[test]
fn a_refusal_that_says_never_is_not_tried_again() {
    let behaviour = Behaviour { on_reject: FailureRule::RetryNow { attempts: 3 }, ..Behaviour::default() };
    for (header, again) in [("Never", false), ("later", true)] {
        let mut user = user(&UrlUsers { behaviour: behaviour.clone(), ..users("/x") }, Stay::Forever);
        let mut draws = Draws::new(1, 1);
        let _ = user.next(Reply::Start, Timestamp::ZERO, &mut draws);
        let headers = [("X-Retry", header.as_bytes())];
        let refused = Answer::whole(503, &headers, b"");
        let turn = user.next(Reply::Answer(refused), Timestamp::ZERO, &mut draws);
        assert_eq!(turn.ending, Ending::Rejected);
        assert_eq!(matches!(turn.then, Move::Send(_)), again, "{header}: {turn:?}");
        let told = if again { RetryHint::Unsaid } else { RetryHint::Never };
        let _ = user.next(Reply::Woke, Timestamp::from_secs(5), &mut draws);
        let turn = user.next(Reply::RefusedLocally(told), Timestamp::from_secs(5), &mut draws);
        assert_eq!(matches!(turn.then, Move::Send(_)), again, "{header}: {turn:?}");
    }
}

#[test]
fn it_asks_thinks_and_asks_again() {
    let mut user = user(&users("/x?y=1"), Stay::Forever);
    let mut draws = Draws::new(1, 1);
    let Move::Send(call) = user.next(Reply::Start, Timestamp::ZERO, &mut draws).then else { panic!("it sends") };
    assert_eq!((&*call.path, &*call.headers, call.method.name()), ("/x?y=1", "Accept: */*\r\n", "GET"));
    let turn = user.next(answer(200), Timestamp::from_millis(3), &mut draws);
    let think = Move::Think(Duration::from_millis(20), Pause::Thinking);
    assert_eq!(turn, Turn { ending: Ending::Served, then: think });
    let Move::Send(call) = user.next(Reply::Woke, Timestamp::from_millis(23), &mut draws).then else {
        panic!("it sends")
    };
    assert_eq!(call.wanted_at, Timestamp::from_millis(23));
}

#[test]
fn it_tells_rejects_from_failures() {
    for (status, ending) in [
        (200, Ending::Served),
        (304, Ending::Served),
        (503, Ending::Rejected),
        (429, Ending::Rejected),
        (500, Ending::Failed),
        (404, Ending::Failed),
        (302, Ending::Failed),
    ] {
        let mut user = user(&users("/"), Stay::Forever);
        let mut draws = Draws::new(1, 1);
        user.next(Reply::Start, Timestamp::ZERO, &mut draws);
        assert_eq!(user.next(answer(status), Timestamp::ZERO, &mut draws).ending, ending, "{status}");
    }
}

#[test]
fn a_redirect_to_another_host_is_told_apart_from_other_failures() {
    let mut user = user(&users("/"), Stay::Forever);
    let mut draws = Draws::new(1, 1);
    user.next(Reply::Start, Timestamp::ZERO, &mut draws);
    let headers: [(&str, &[u8]); 1] = [("location", b"http://127.0.0.1:8081/")];
    let turn = user.next(Reply::Answer(Answer::whole(307, &headers, b"")), Timestamp::ZERO, &mut draws);
    let wait = Move::Think(Duration::from_secs(5), Pause::BackingOff);
    assert_eq!(turn, Turn { ending: Ending::Elsewhere, then: wait });
}

#[test]
fn an_open_user_leaves_after_its_request_and_its_retries() {
    let mut patient = users("/");
    patient.behaviour.on_reject = FailureRule::RetryNow { attempts: 2 };
    let mut user = user(&patient, Stay::OneRequest);
    let mut draws = Draws::new(1, 1);
    user.next(Reply::Start, Timestamp::ZERO, &mut draws);
    let Move::Send(second) = user.next(answer(503), Timestamp::from_millis(1), &mut draws).then else {
        panic!("it tries again")
    };
    assert_eq!((second.attempt, second.wanted_at), (1, Timestamp::ZERO));
    let last = user.next(answer(503), Timestamp::from_millis(2), &mut draws);
    assert_eq!(last, Turn { ending: Ending::Rejected, then: Move::Leave });
}

#[test]
fn what_cannot_be_sent_is_refused_by_name() {
    for (change, what) in [
        ((|u: &mut UrlUsers| u.path = "x".into()) as fn(&mut UrlUsers), "path"),
        (|u| u.path = "/a b".into(), "path"),
        (|u| u.method = "BREW".into(), "method"),
        (|u| u.headers.push(("X\r\nY".into(), "z".into())), "header"),
        (|u| u.headers.push(("X".into(), "z\r\nY: w".into())), "header"),
        (|u| u.think = traces::Think::Empirical(Vec::new()), "think"),
    ] {
        let mut users = users("/");
        change(&mut users);
        let error =
            UrlCrowd::new(&users, &Marks::default(), testing::home(), None).expect_err("it is refused").to_string();
        assert!(error.contains(what), "{error}");
    }
}

fn request(name: &str, method: &str, path: &str, weight: f64) -> crate::plan::UrlRequest {
    let (name, method, path) = (name.to_owned(), method.to_owned(), path.to_owned());
    crate::plan::UrlRequest { name, weight, method, path, headers: Vec::new(), body: None }
}

#[test]
fn requests_are_drawn_by_their_weights_and_have_their_own_type_method_and_lines() {
    let mut order = request("order", "put", "/order", 1.0);
    order.body = Some("{}".to_owned());
    order.headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
    let requests = vec![request("item", "GET", "/item/1", 2.0), request("item", "GET", "/item/2", 1.0), order];
    let users = UrlUsers { requests, ..users("/never") };
    let crowd = UrlCrowd::new(&users, &Marks::default(), testing::home(), None).expect("it can be sent");
    assert_eq!(crowd.kinds(), ["item", "order"]);
    let mut seen = std::collections::BTreeMap::new();
    for number in 0..4000 {
        let mut user = UrlUser::new(crowd.clone(), Class(0), Stay::OneRequest);
        let Move::Send(call) = user.next(Reply::Start, Timestamp::ZERO, &mut Draws::new(1, number)).then else {
            panic!("it sends")
        };
        let key = (call.kind.0, call.method.name(), call.path.to_string(), call.body.is_some());
        *seen.entry(key).or_insert(0) += 1;
        if call.kind.0 == 1 {
            assert_eq!(&*call.headers, "Accept: */*\r\nContent-Type: application/json\r\n");
        }
    }
    let count = |kind, method, path: &str, body| seen[&(kind, method, path.to_owned(), body)];
    assert!((1850..2150).contains(&count(0, "GET", "/item/1", false)), "{seen:?}");
    assert!((870..1130).contains(&count(0, "GET", "/item/2", false)), "{seen:?}");
    assert!((870..1130).contains(&count(1, "PUT", "/order", true)), "{seen:?}");
    assert_eq!(seen.len(), 3);
}

#[test]
fn requests_that_cannot_be_sent_are_named() {
    let refused = |request: crate::plan::UrlRequest| {
        let users = UrlUsers { requests: vec![request], ..users("/") };
        UrlCrowd::new(&users, &Marks::default(), testing::home(), None).expect_err("it cannot be sent").to_string()
    };
    assert!(refused(request("a", "BREW", "/", 1.0)).contains("GET, POST, PUT, PATCH, DELETE"));
    assert!(refused(request("a", "GET", "no slash", 1.0)).contains("no slash"));
    assert!(refused(request("a", "GET", "/", 0.0)).contains("over 0"));
}
