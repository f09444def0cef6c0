//! Emulated users on the real pages.

use controllers::Class;
use workloads::{
    mail::{MailCrowd, MailUser},
    persona::{self, Draws, Ending, Move, Persona as _, Reply, Stay},
    plan::{Account, MailUsers, PreviousPage},
};

use super::*;

#[tokio::test]
async fn emulated_users_find_what_they_ask_for() {
    for session_in_links in [false, true] {
        for previous_page in [PreviousPage::Literal, PreviousPage::List] {
            let world = world(session_in_links).await;
            let ann = Account { user: "ann".into(), password: "a".into() };
            let users = MailUsers { previous_page, ..MailUsers::new(workloads::mail::arashi(), vec![ann]) };
            let crowd = MailCrowd::new(&users, &workloads::plan::Marks::default(), workloads::testing::home())
                .expect("they can be");
            walk(&world, &crowd, 500).await;
            let made: u64 = crowd.transitions().iter().map(|t| t.drawn.made).sum();
            assert!(made > 200, "{made}: most pages offer what the model asks for");
        }
    }
}

/// Walks so far, and expects that every answer is what was asked for.
async fn walk(world: &World, crowd: &MailCrowd, requests: usize) {
    let mut user = MailUser::new(crowd.clone(), 0, Class(0), Stay::Forever);
    let mut draws = Draws::new(1, 1);
    let mut turn = user.next(Reply::Start, Timestamp::ZERO, &mut draws);
    for _ in 0..requests {
        if let Move::Think(..) = turn.then {
            turn = user.next(Reply::Woke, Timestamp::ZERO, &mut draws);
        }
        let Move::Send(call) = turn.then else { panic!("it goes on: {turn:?}") };
        let method = if call.method == persona::Method::Get { Method::GET } else { Method::POST };
        let cookie = call.headers.strip_prefix("Cookie: ").map(|line| line.trim_end().to_owned());
        let mut browser = Browser { cookie, ..Browser::default() };
        let came = world.send(&mut browser, method, &call.path, call.body.as_deref().unwrap_or_default()).await;
        let headers: Vec<(&str, &[u8])> =
            came.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        let answer = persona::Answer::whole(came.status.as_u16(), &headers, came.body.as_bytes());
        turn = user.next(Reply::Answer(answer), Timestamp::ZERO, &mut draws);
        assert_eq!(turn.ending, Ending::Served, "{call:?}\n{} {}", came.status, came.body);
    }
}
