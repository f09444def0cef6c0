//! Users of a test plan on both live hosts, against a service with a waiting room.
#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "the service is no user machine")]

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use controllers::Class;
use senders::{HostChoice, RunOptions};
use workloads::{
    StopFlag,
    measure::Report,
    plan::{
        ArrivalLaw, Behaviour, Conduct, Extraction, FailureRule, Load, LoadPlan, Phase, PlanItem, PlanStep,
        ScriptUsers, Target, TestPlan, TokenPlace, Users,
    },
};

/// The wait that the waiting room promises.
const WAIT: Duration = Duration::from_secs(1);

/// What the service has seen.
#[derive(Debug, Default)]
struct Room {
    /// When each token was given out.
    given: BTreeMap<String, Instant>,
    /// How long after that each came back.
    came_after: Vec<Duration>,
    early: u32,
    unknown: u32,
    bought: u32,
}

/// A waiting room: `/` gives a token and a wait, `/turn` takes it and gives a page with a number, `/buy` takes both, and the
/// cookie of the waiting room.
fn waiting_room() -> (SocketAddr, Arc<Mutex<Room>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let room = Arc::new(Mutex::new(Room::default()));
    let theirs = Arc::clone(&room);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let room = Arc::clone(&theirs);
            std::thread::spawn(move || serve(stream, &room));
        }
    });
    (address, room)
}

fn serve(mut stream: TcpStream, room: &Mutex<Room>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let from = head.len();
            reader.read_line(&mut head).ok().filter(|read| *read > 0)?;
            if let Some(value) = head[from..].to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let path = head.split(' ').nth(1)?.to_owned();
        let (status, headers, page) =
            room.lock().unwrap_or_else(PoisonError::into_inner).answer(&path, &head, &String::from_utf8_lossy(&body));
        let length = page.len();
        write!(stream, "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n{page}").ok()?;
    }
}

impl Room {
    fn answer(&mut self, path: &str, head: &str, body: &str) -> (&'static str, String, String) {
        let (place, query) = path.split_once('?').unwrap_or((path, ""));
        let now = Instant::now();
        match place {
            "/" => {
                let token = format!("t{:05}", self.given.len());
                self.given.insert(token.clone(), now);
                let seconds = WAIT.as_secs();
                let headers = format!("Set-Cookie: place={token}; HttpOnly\r\nContent-Type: text/html\r\n");
                let meta = format!("<meta http-equiv=\"refresh\" content=\"{seconds}; url=/turn?a=1&token={token}\">");
                ("503 Service Unavailable", headers, format!("<!doctype html>{meta}"))
            }
            "/turn" => match query.strip_prefix("a=1&token=").and_then(|token| Some((token, self.given.get(token)?))) {
                Some((token, given)) => {
                    let after = now.duration_since(*given);
                    self.came_after.push(after);
                    self.early += u32::from(after < WAIT);
                    ("200 OK", "Content-Type: text/html\r\n".to_owned(), format!("<p id=\"n&#45;{token}&amp;\">"))
                }
                None => {
                    self.unknown += 1;
                    ("403 Forbidden", String::new(), String::new())
                }
            },
            _ => {
                let token = body.strip_prefix("number=").and_then(|rest| rest.strip_suffix("%26"));
                let cookie = head
                    .lines()
                    .find_map(|line| line.to_ascii_lowercase().strip_prefix("cookie: place=").map(str::to_owned));
                let fits = path == "/buy/n-" && token.is_some() && token == cookie.as_deref();
                self.bought += u32::from(fits);
                (if fits { "200 OK" } else { "400 Bad Request" }, String::new(), String::new())
            }
        }
    }
}

fn plan(address: SocketAddr, conduct: Conduct) -> LoadPlan {
    let seat = PlanStep {
        extract: vec![
            Extraction::from_body("first", "id=\"(n[^t]+)"),
            Extraction::from_body("number", "id=\"n&#45;([^\"]+)\""),
        ],
        ..PlanStep::get("seat", "/")
    };
    let buy = PlanStep {
        method: "POST".to_owned(),
        body: Some("number=${number|url}".to_owned()),
        ..PlanStep::get("buy", "/buy/${first}")
    };
    let items = [seat, buy].map(|step| PlanItem::Step(Box::new(step)));
    let users = ScriptUsers {
        conduct,
        behaviour: Behaviour::on_any_failure(FailureRule::Leave),
        ..ScriptUsers::new(TestPlan::new(items.to_vec()))
    };
    let load = Load::Sessions { from_per_s: 10.0, to_per_s: 10.0, law: ArrivalLaw::Constant, class: Class(0) };
    let phases = vec![Phase { name: "all".to_owned(), duration: Duration::from_secs(2), loads: vec![load] }];
    let plan = LoadPlan::new(Target::at(address), Users::Script(users), phases);
    // Users who came last still have to wait, and to buy.
    LoadPlan { seed: 7, drain: Duration::from_secs(20), timeout: Duration::from_secs(20), ..plan }
}

fn run(plan: &LoadPlan, host: HostChoice) -> Report {
    let options = RunOptions { host, ..RunOptions::default() };
    senders::run(plan, &options, |_| {}, &StopFlag::new()).expect("it runs")
}

#[test]
fn users_wait_as_long_as_they_are_told_and_carry_what_they_were_given() {
    for host in [HostChoice::Fiber, HostChoice::Async] {
        let (address, room) = waiting_room();
        let report = run(&plan(address, Conduct::default()), host);
        let room = room.lock().expect("no panic");
        let ledger = &report.total.measured;
        let by_type = |name: &str| report.total.by_type.get(name).map_or(0, |found| found.sent);
        assert_eq!((by_type("seat"), report.faults.len()), (20, 0), "{host:?} {ledger:?}");
        // A session that has waited buys, unless the run is over: no request begins after its plan.
        assert!((5..=20).contains(&by_type("buy")), "{host:?} {:?}", report.total.by_type);
        assert_eq!(u64::from(room.bought), by_type("buy"), "{host:?}");
        assert_eq!((ledger.failed, ledger.rejected, ledger.hops), (0, 0, 20), "{host:?} {ledger:?}");
        assert_eq!((room.came_after.len(), room.early, room.unknown), (20, 0, 0), "{host:?}: {room:?}");
        // At the promised second; a busy machine may be late.
        assert!(room.came_after.iter().all(|after| *after < WAIT * 8), "{room:?}");
    }
}

#[test]
fn early_and_forged_tokens_come_as_often_as_they_are_to() {
    let token = Some(TokenPlace::Query("token".to_owned()));
    let (address, room) = waiting_room();
    let early = Conduct { early: 1.0, ..Conduct::default() };
    run(&plan(address, early), HostChoice::Fiber);
    // Half of them on average by over half a second.
    assert!(room.lock().expect("no panic").early > 0);
    let (address, room) = waiting_room();
    let report = run(&plan(address, Conduct { forges_token: 1.0, token, ..Conduct::default() }), HostChoice::Fiber);
    let room = room.lock().expect("no panic");
    assert_eq!((room.came_after.len() as u32 + room.unknown, room.bought), (20, 0));
    assert!(room.unknown >= 15 && report.total.measured.failed >= 15, "{room:?}");
}
