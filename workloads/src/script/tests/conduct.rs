//! Users who do not wait as told.

use super::*;
use crate::plan::{Conduct, TokenPlace};

#[test]
fn some_do_not_come_back_and_some_come_early() {
    let conduct = Conduct { no_show: 0.1, early: 0.05, ..Conduct::default() };
    let users = ScriptUsers { conduct, ..ScriptUsers::new(plan(vec![PlanStep::get("one", "/")])) };
    let (mut gone, mut early) = (0, 0);
    for slot in 0..4000 {
        let mut user = Fed::of(&users, slot, Stay::OneSession);
        user.start();
        let turn = user.answer(200, &[("refresh", "10; url=/turn")], "");
        match turn.then {
            Move::Leave => gone += u32::from(turn.ending == Ending::Abandoned),
            Move::Think(wait, Pause::Waiting) => early += u32::from(wait < secs(10)),
            other => panic!("{other:?}"),
        }
    }
    // Binomial: mean 400 and 200, standard deviation 19 and 14.
    assert!((310..490).contains(&gone) && (135..265).contains(&early), "{gone} {early}");
    // Where the number of users is given, another person comes.
    let always = ScriptUsers { conduct: Conduct { no_show: 1.0, ..Conduct::default() }, ..users };
    let mut user = Fed::of(&always, 0, Stay::Forever);
    user.start();
    let turn = user.answer(200, &[("refresh", "10")], "");
    assert_eq!(turn, Turn { ending: Ending::Abandoned, then: Move::Think(secs(5), Pause::BackingOff) });
    assert_eq!(&*user.woke(secs(5)).path, "/");
}

#[test]
fn tokens_are_shared_in_a_group_and_forged() {
    let with = |token, shares_token, forges_token| {
        let conduct = Conduct { shares_token, forges_token, token: Some(token), group: 10, ..Conduct::default() };
        ScriptUsers { conduct, ..ScriptUsers::new(plan(vec![PlanStep::get("one", "/")])) }
    };
    let turn_of = |crowd: &ScriptCrowd, slot: u32| {
        let mut user = Fed::in_crowd(crowd, slot, Stay::OneSession);
        user.start();
        let own = format!("tok-{slot}");
        let (place, cookie) = (format!("3; url=/turn?a=1&t={own}"), format!("t={own}"));
        user.answer(200, &[("refresh", &place), ("set-cookie", &cookie)], "");
        let call = user.woke(secs(3));
        (call.path.to_string(), call.headers.to_string())
    };
    let crowd = |users: &ScriptUsers| ScriptCrowd::new(users, &Marks::default(), testing::home()).expect("it can be");
    // By cookie: of 400 users in 40 groups, half show another's.
    for (place, in_cookie) in [(TokenPlace::Cookie("t".to_owned()), true), (TokenPlace::Query("t".to_owned()), false)] {
        let users = with(place, 0.5, 0.0);
        let crowd = crowd(&users);
        let mut shared = 0;
        for slot in 0..400 {
            let (path, headers) = turn_of(&crowd, slot);
            let (changed, kept) = if in_cookie { (headers, path) } else { (path, headers) };
            assert!(kept.contains(&format!("t=tok-{slot}")), "{kept}");
            let shown: u32 = changed.trim_end().rsplit('-').next().expect("a token").parse().expect("a number");
            assert_eq!(shown / 10, slot / 10, "of its group");
            shared += u32::from(shown != slot);
        }
        // The first of a group has nobody to share with; the rest by halves.
        assert!((100..260).contains(&shared), "{shared}");
    }
    let (path, headers) = turn_of(&crowd(&with(TokenPlace::Query("t".to_owned()), 0.0, 1.0)), 5);
    assert!(path.starts_with("/turn?a=1&t=") && !path.ends_with("t=tok-5"), "{path}");
    assert_eq!((path.len(), headers.as_str()), ("/turn?a=1&t=tok-5".len(), "Cookie: t=tok-5\r\n"));
}

#[test]
fn problems_of_conduct_name_their_key() {
    let of = |conduct| problems(&ScriptUsers { conduct, ..ScriptUsers::new(plan(vec![PlanStep::get("one", "/")])) });
    let none = Conduct::default();
    assert_eq!(of(none.clone()), Vec::<String>::new());
    assert!(of(Conduct { no_show: 1.5, ..none.clone() })[0].starts_with("no_show: 1.5 is not a share"));
    assert!(of(Conduct { no_show: 0.6, early: 0.6, ..none.clone() })[0].contains("come to 1.2"));
    let told = of(Conduct { shares_token: 0.1, ..none });
    assert!(told[0].starts_with("group:") && told[1].contains("{cookie: NAME}"), "{told:?}");
}

#[test]
fn no_shows_are_abandoned_in_the_ledger() {
    let conduct = Conduct { no_show: 1.0, ..Conduct::default() };
    let users = ScriptUsers { conduct, ..ScriptUsers::new(plan(vec![PlanStep::get("one", "/")])) };
    let (report, seen) = seen(users, |_| Response {
        status: 503,
        headers: vec![("retry-after", "3".to_owned())],
        ..Response::default()
    });
    let ledger = &report.total.measured;
    assert_eq!(
        (seen.len() as u64, ledger.sent, ledger.abandoned, ledger.in_flight),
        (ledger.planned, ledger.planned, ledger.planned, 0)
    );
    assert!(ledger.planned > 0 && report.faults.is_empty(), "{:?}", report.faults);
}
