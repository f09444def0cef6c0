//! The control port: who may use it, what it shows, what it streams.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use controllers::{
    ClassRule, Place, PolicyEvent,
    catalogue::{PolicySpec, Setting},
    site::OnRefuse,
};
use live_service::serve::ServeError;
use spec::{StageSpec, TargetSpec, WorkSpec, services::TaskSpec, wire::SetPolicy};
use target_app::serve;

use crate::common::{Target, answer, checksum, emulated, policy, spec, start, status};

fn raw(target: &Target, request: &str) -> String {
    let mut stream = TcpStream::connect(target.control_address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn pages_in_a_browser_cannot_reach_it() {
    let target = start(spec());
    let (port, token) = (target.control_address.port(), &target.token);
    for (name, head, expected) in [
        ("a name led here by a foreign server", "Host: evil.example\r\n".to_owned(), 403),
        ("a page elsewhere", format!("Host: 127.0.0.1:{port}\r\nOrigin: http://evil.example\r\n"), 403),
        ("a page that does not say where", format!("Host: 127.0.0.1:{port}\r\nSec-Fetch-Site: cross-site\r\n"), 403),
        ("no name", String::new(), 403),
        ("two names", "Host: localhost\r\nHost: localhost\r\n".to_owned(), 403),
        ("a port that is none", "Host: localhost:evil\r\n".to_owned(), 403),
        ("a user before a foreign name", "Host: 127.0.0.1:1@evil.com\r\n".to_owned(), 403),
        ("us", format!("Host: 127.0.0.1:{port}\r\n"), 200),
        ("us by name", format!("Host: localhost:{port}\r\n"), 200),
    ] {
        let head = format!("{head}Authorization: Bearer {token}\r\nConnection: close\r\n");
        let answer = raw(&target, &format!("GET /gauges HTTP/1.1\r\n{head}\r\n"));
        assert_eq!(status(&answer), expected, "{name}: {answer}");
    }
    let ask = |line: &str| {
        raw(
            &target,
            &format!(
                "{line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
            ),
        )
    };
    let answer = ask("GET /gauge");
    assert!(status(&answer) == 404 && answer.contains("/gauges"), "{answer}");
    assert_eq!(status(&ask("GET /stop")), 405, "nothing changes by GET");
}

#[test]
fn nothing_is_said_or_changed_without_the_token() {
    let target = start(spec());
    let (short, other) = (&target.token[1..], "0".repeat(target.token.len()));
    for shown in [
        String::new(),
        "Authorization: Bearer \r\n".to_owned(),
        format!("Authorization: Bearer {short}\r\n"),
        format!("Authorization: Bearer {other}\r\n"),
        format!("Authorization: Basic {}\r\n", target.token),
        format!("Authorization: Bearer {}0\r\n", target.token),
    ] {
        for line in ["GET /gauges", "GET /events", "GET /requests", "POST /stop", "POST /drain", "PUT /hinder"] {
            let body = r#"{"capacity":{"share":0.0,"for_ms":3600000}}"#;
            let head = format!("Host: localhost\r\n{shown}Content-Length: {}\r\n", body.len());
            let answer = raw(&target, &format!("{line} HTTP/1.1\r\n{head}\r\n{body}"));
            assert_eq!(status(&answer), 401, "{line} {shown}: {answer}");
            assert!(answer.to_ascii_lowercase().contains("www-authenticate: bearer"), "{answer}");
            assert!(!answer.contains(&target.token), "{answer}");
        }
    }
    assert_eq!(status(&target.get("/")), 200, "it goes on");
}

#[test]
fn it_listens_on_loopback_alone() {
    let spec = TargetSpec { control: "0.0.0.0:0".parse().unwrap(), ..spec() };
    let error = serve(TaskSpec::alone(spec), |_| {}).unwrap_err();
    assert!(matches!(&error, ServeError::Listen { .. }) && error.to_string().contains("loopback"), "{error}");
}

#[test]
fn specs_that_make_no_sense_are_refused_with_the_way_out() {
    let stage = spec().stage_defaults;
    let named = |name: &str, stage: StageSpec| BTreeMap::from([(name.to_owned(), stage)]);
    let redirect = StageSpec { on_refuse: OnRefuse::Redirect("elsewhere".to_owned()), ..stage.clone() };
    for (spec, hint) in [
        (TargetSpec { stages: named("serch", stage), ..spec() }, "work"),
        (TargetSpec { stages: named("work", redirect), ..spec() }, "http://"),
        (TargetSpec { policy: policy("thread-pool", &[]), ..spec() }, "machines"),
        (TargetSpec { machines: vec![policy("none", &[])], ..spec() }, "as the policy"),
        (TargetSpec { policy: PolicySpec { place: Some(Place::Client), ..policy("none", &[]) }, ..spec() }, "target"),
        (TargetSpec { class: ClassRule::Address(vec![("127.0.0.0/33".to_owned(), 1)]), ..spec() }, "prefix"),
        (TargetSpec { cpus: vec![4000], ..spec() }, "4000"),
    ] {
        let error = serve(TaskSpec::alone(spec), |_| {}).unwrap_err().to_string();
        assert!(error.contains(hint), "{error}");
    }
}

#[test]
fn a_drain_refuses_new_requests_and_the_port_lives_on() {
    let target = start(spec());
    let mut kept = target.connect();
    kept.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert_eq!(answer(&mut kept).0, 200);
    target.control.drain().unwrap();
    kept.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let (status, head, _) = answer(&mut kept);
    assert!(status == 503 && head.to_ascii_lowercase().contains("x-refused: draining"), "{head}");
    assert_eq!(target.gauges().ledger.refused["draining"], 1);
}

/// Load from some kept connections for as long as the guard lives.
struct Load {
    stop: Arc<AtomicBool>,
    clients: Vec<thread::JoinHandle<()>>,
}

impl Load {
    fn on(target: &Target, clients: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let client = |_| {
            let (address, stop) = (target.address, Arc::clone(&stop));
            thread::spawn(move || {
                let mut stream = TcpStream::connect(address).unwrap();
                while !stop.load(Ordering::Relaxed) {
                    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
                    answer(&mut stream);
                }
            })
        };
        Self { clients: (0..clients).map(client).collect(), stop }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.clients.drain(..).for_each(|client| client.join().unwrap());
    }
}

#[test]
fn events_are_streamed_with_the_names_of_their_stages() {
    let target = start(TargetSpec { policy: policy("seda", &[]), ..spec() });
    let mut events = target.control.events().unwrap();
    let load = Load::on(&target, 2);
    let event = events.next().unwrap().unwrap();
    assert_eq!(event.stage, "work");
    assert!(matches!(event.event, PolicyEvent::ControllerRan { samples: 1.., .. }), "{event:?}");
    let gauges = target.until("the controller's numbers", |gauges| {
        let work = gauges.stages.iter().find(|stage| stage.name == "work").unwrap();
        work.policy.keys().any(|name| name.starts_with("admission_rate_per_s"))
    });
    assert!(gauges.stages.iter().any(|stage| stage.policy_name == "seda"));
    drop(load);
    drop(target);
    assert!(events.all(|event| event.is_ok()), "the stream ends with the target");
}

#[test]
fn quality_falls_when_the_checksum_service_cannot_keep_up() {
    let objective = controllers::Objective { percentile: 90.0, response_time: Duration::from_millis(1) };
    let degrade = PolicySpec { place: Some(Place::Stage), ..policy("degrade", &[]) };
    let target = start(TargetSpec { app: checksum(10, 100), policy: degrade, objective, ..spec() });
    let _load = Load::on(&target, 8);
    target.until("quality to fall", |gauges| {
        let stage = gauges.stages.iter().find(|stage| stage.name == "checksum").unwrap();
        stage.policy.get("quality").is_some_and(|&quality| quality < 1.0)
    });
}

#[test]
fn the_thread_pool_grows_with_the_queue() {
    let settings = [
        ("tick", Setting::Text("100ms".to_owned())),
        ("threshold", Setting::Number(2.0)),
        ("max", Setting::Number(6.0)),
    ];
    let machine = PolicySpec {
        settings: settings.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
        ..policy("thread-pool", &[])
    };
    let stage = StageSpec { workers: 1, batch: 1, ..spec().stage_defaults };
    let target = start(TargetSpec {
        app: emulated(Duration::from_millis(20), 100),
        machines: vec![machine],
        stages: BTreeMap::from([("work".to_owned(), stage)]),
        ..spec()
    });
    let _load = Load::on(&target, 12);
    target.until("more workers", |gauges| {
        gauges.stages.iter().any(|stage| stage.name == "work" && (2..=6).contains(&stage.workers))
    });
}

#[test]
fn the_work_knob_is_the_services_own() {
    let target = start(spec());
    let refused = target.control.set_work(&WorkSpec { operations: 1.0, ..WorkSpec::default() }).unwrap_err();
    assert!(refused.to_string().contains("work knob"), "{refused}");
    let bad = target.control.set_policy(&SetPolicy { stage: None, policy: policy("thread-pool", &[]) }).unwrap_err();
    assert!(bad.to_string().contains("machine"), "{bad}");
    assert!(target.control.policies().unwrap().names.iter().any(|name| name == "seda"));
}
