//! The cost of one emulated mail user: CPU for each page, and memory.
//!
//! `cargo bench -p workloads --features testing --bench mail_user`. The CPU bounds how many users one core can emulate, the memory how many
//! one process can. Nothing is sent: pages come from the test service, and are made before the clock starts.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "a benchmark reads the clock; users do not")]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use controllers::{Class, Timestamp};
use workloads::{
    Schedule,
    mail::{MailCrowd, MailUser, arashi},
    persona::{Answer, Draws, Move, Persona as _, Reply, Stay},
    plan::{Account, MailUsers},
    testing::{Mailboxes, Response},
};

const USERS: u32 = 100_000;
const STEPS: usize = 60;
const ROUNDS: u32 = 7;

fn main() {
    let crowd = crowd();
    let pages = pages(&crowd);
    let bytes: usize = pages.iter().map(|page| page.body.len()).sum();
    let mut each: Vec<Duration> = (0..ROUNDS).map(|_| replay(&crowd, &pages)).collect();
    each.sort();
    println!("pages                {} bytes on average", bytes / pages.len());
    println!("CPU per page         {:?} (median of {ROUNDS})", each[each.len() / 2]);
    println!("size of the machine  {} bytes", size_of::<MailUser>());
    println!("memory per user      {} bytes (of {USERS}, two pages into their sessions)", memory(&crowd, &pages));
    walk_a_part();
}

fn crowd() -> MailCrowd {
    let accounts = (0..1000).map(|n| Account { user: format!("user{n}"), password: "secret".into() }).collect();
    let users = MailUsers::new(arashi(), accounts);
    MailCrowd::new(&users, &workloads::plan::Marks::default(), workloads::testing::home())
        .expect("the shipped model can be walked")
}

/// The pages that one user gets on its way.
fn pages(crowd: &MailCrowd) -> Vec<Response> {
    let mut mail = Mailboxes::new(100);
    let (mut user, mut draws) = (MailUser::new(crowd.clone(), 0, Class(0), Stay::Forever), Draws::new(1, 1));
    let mut reply = None;
    let mut pages: Vec<Response> = Vec::new();
    while pages.len() < STEPS {
        let call = sent(&mut user, reply.as_ref(), &mut draws);
        let mut page = mail.answer(&call);
        // As long as the pages of a real service are.
        page.body.insert_str(page.body.len() - 7, &"<p>Lorem ipsum dolor sit amet</p>".repeat(100));
        reply = Some(page.clone());
        pages.push(page);
    }
    pages
}

/// Tells the user of a page, and of the end of its pause.
fn sent(user: &mut MailUser, page: Option<&Response>, draws: &mut Draws) -> workloads::persona::Call {
    let turn = match page {
        None => user.next(Reply::Start, Timestamp::ZERO, draws),
        Some(page) => {
            let headers: [(&str, &[u8]); 1] =
                page.headers.first().map_or([("x", b"y")], |(name, value)| [(*name, value.as_bytes())]);
            let answer = Answer::whole(page.status, &headers, page.body.as_bytes());
            user.next(Reply::Answer(answer), Timestamp::ZERO, draws)
        }
    };
    let then = match turn.then {
        Move::Think(..) => user.next(Reply::Woke, Timestamp::ZERO, draws).then,
        then => then,
    };
    let Move::Send(call) = then else { panic!("it sends") };
    call
}

/// CPU for each page. The draws are the same, so each user asks for the very pages that it gets.
fn replay(crowd: &MailCrowd, pages: &[Response]) -> Duration {
    const USERS: u32 = 500;
    let began = Instant::now();
    for _ in 0..USERS {
        let (mut user, mut draws) = (MailUser::new(crowd.clone(), 0, Class(0), Stay::Forever), Draws::new(1, 1));
        black_box(sent(&mut user, None, &mut draws));
        for page in pages {
            black_box(sent(&mut user, Some(page), &mut draws));
        }
    }
    began.elapsed() / USERS / u32::try_from(pages.len()).unwrap_or(u32::MAX)
}

fn memory(crowd: &MailCrowd, pages: &[Response]) -> u64 {
    let before = resident();
    let users: Vec<(MailUser, Draws)> = (0..USERS)
        .map(|slot| {
            let (mut user, mut draws) = (MailUser::new(crowd.clone(), slot, Class(0), Stay::Forever), Draws::new(1, 1));
            sent(&mut user, None, &mut draws);
            for page in &pages[..3] {
                sent(&mut user, Some(page), &mut draws);
            }
            (user, draws)
        })
        .collect();
    let after = resident();
    black_box(&users);
    after.saturating_sub(before) / u64::from(USERS)
}

/// One of a thousand parts of a plan for ten million users: each walks the arrivals of all, for numbers, keys and accounts of its own.
fn walk_a_part() {
    const ALL: u32 = 10_000_000;
    let mut plan = workloads::testing::url_plan(&[("jump", 3600, ALL), ("fall", 60, 0)]);
    plan.shard = Some("1/1000".parse().expect("a part"));
    let (before, began) = (resident(), Instant::now());
    let (mut schedule, mut events, mut most) = (Schedule::new(&plan), 0_u32, 0);
    for _ in &mut schedule {
        events += 1;
        if events.is_multiple_of(1000) {
            most = most.max(resident());
        }
    }
    let (took, memory) = (began.elapsed(), most.saturating_sub(before) / 1_000_000);
    println!("walk of {ALL} users  {:?} each to come and to go, {memory} MB, {events} events of its own", took / ALL);
}

/// Resident memory in bytes.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * 4096
}
