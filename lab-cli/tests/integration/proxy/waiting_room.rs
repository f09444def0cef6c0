//! A waiting room as browsers, programs and replicas meet it.

use std::{
    collections::BTreeMap,
    fs,
    net::SocketAddr,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::proxy::{
    backend::Backend,
    chromium::Chromium,
    proxied::{Answer, PATIENCE, Proxied, until},
};

/// One request a second, and each has a turn of its own.
pub fn room(more: &Value) -> Value {
    let mut room = json!({"capacity": "1/s", "stay": "0s", "skew": "2s"});
    for (key, value) in more.as_object().expect("settings") {
        room[key] = value.clone();
    }
    json!({"waiting_room": room, "log": "changes"})
}

/// A browser with its cookies.
#[derive(Debug, Clone, Default)]
pub struct Browser(pub BTreeMap<String, String>);

impl Browser {
    pub fn get(&mut self, proxy: &Proxied, path: &str) -> Answer {
        self.get_from(proxy.address, path)
    }

    pub fn get_from(&mut self, address: SocketAddr, path: &str) -> Answer {
        let cookies: Vec<String> = self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let cookies = if cookies.is_empty() { String::new() } else { format!("Cookie: {}\r\n", cookies.join("; ")) };
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html,*/*;q=0.8\r\n{cookies}Connection: close\r\n\r\n"
        );
        let answer = Answer::to(address, &head);
        for line in answer.head.lines() {
            let Some((name, value)) = line.strip_prefix("set-cookie: ").and_then(|line| line.split_once('=')) else {
                continue;
            };
            let (value, attributes) = value.split_once(';').unwrap_or((value, ""));
            assert!(attributes.contains("HttpOnly; SameSite=Lax"), "{line}");
            if attributes.contains("Max-Age=0") {
                self.0.remove(name);
            } else {
                self.0.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    /// Asks, after others, until there is a wait of some seconds.
    pub fn waits(&mut self, proxy: &Proxied) -> u64 {
        until("wait", || {
            *self = Self::default();
            wait(&self.get(proxy, "/")).filter(|wait| *wait >= 6)
        })
    }

    pub fn set(&self, name: &str, value: &str) -> Self {
        let mut other = self.clone();
        other.0.insert(name.to_owned(), value.to_owned());
        other
    }
}

/// The wait that a page says.
pub fn wait(answer: &Answer) -> Option<u64> {
    answer.header("refresh").map(|value| value.split(';').next().expect("a part").parse().expect("seconds"))
}

/// A program's request; `accept`: what it takes.
fn program(proxy: &Proxied, method: &str, accept: &str, more: &str) -> Answer {
    let head = format!(
        "{method} /a?b=1 HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n{more}Content-Length: 0\r\nConnection: close\r\n\r\n"
    );
    Answer::to(proxy.address, &head)
}

/// The row of the waiting room.
pub fn row(proxy: &Proxied) -> Value {
    proxy.row_of("waiting room")
}

pub fn sleep(seconds: u64) {
    thread::sleep(Duration::from_secs(seconds));
}

#[test]
fn a_browser_waits_keeps_its_place_and_is_let_in_once() {
    let (backend, proxy) = Proxied::alone(room(&json!({})));
    let mut browser = Browser::default();
    let told = browser.waits(&proxy);
    let page = browser.get(&proxy, "/");
    let left = wait(&page).expect("a wait");
    assert!(page.status == 200 && left <= told && left + 2 >= told, "{left} of {told}");
    assert_eq!((page.header("x-token-refused"), page.header("set-cookie")), (Some("early"), None), "the place is kept");
    assert_eq!((page.header("cache-control"), page.header("x-refused")), (Some("no-store"), None));
    assert!(page.body.contains(&format!("<meta http-equiv=\"refresh\" content=\"{left}\">")), "{}", page.body);
    assert!(page.body.len() < 4096 && !page.body.contains("<script"), "{} bytes", page.body.len());
    let before = backend.requests();
    sleep(left);
    let again = browser.clone();
    let mut with_others = browser.set("theme", "dark");
    let answer = with_others.get(&proxy, "/show?id=1");
    assert_eq!((answer.status, answer.body.as_str(), backend.requests()), (200, "hello", before + 1), "{answer:?}");
    assert_eq!(backend.got("cookie").pop(), Some(Some("theme=dark".to_owned())), "what is the room's stays there");
    assert!(!with_others.0.contains_key("lab-turn"), "a used token is forgotten");
    again.clone().get(&proxy, "/");
    let counts = row(&proxy)["counts"].clone();
    let used = counts["token_replayed"].as_u64().unwrap_or(0) + counts["token_late"].as_u64().unwrap_or(0);
    assert_eq!((used, &counts["token_early"], &counts["early"]), (1, &json!(1), &json!(1)), "late on a busy machine");
    let refused = &proxy.ledger()["refused"];
    assert!(refused["waiting-room"].as_u64() >= Some(3), "{refused}");
}

#[test]
fn a_token_that_is_none_of_the_bearers_turn_is_refused_with_its_reason() {
    let (backend, proxy) = Proxied::alone(room(&json!({"skew": "0s"})));
    let mut browser = Browser::default();
    browser.waits(&proxy);
    let token = browser.0["lab-turn"].clone();
    let other = if &token[60..61] == "A" { "B" } else { "A" };
    let forged = format!("{}{other}{}", &token[..60], &token[61..]);
    let before = backend.requests();
    for (other, reason) in [
        (browser.set("lab-turn", &forged), "forged"),
        (browser.set("lab-turn", &token[..100]), "malformed"),
        (browser.set("lab-place", "abcdefghijklmnopqrstuv"), "other-binding"),
    ] {
        let answer = other.clone().get(&proxy, "/");
        assert_eq!(answer.header("x-token-refused"), Some(reason), "{answer:?}");
        assert!(wait(&answer).is_some_and(|wait| wait > 0), "{answer:?}");
    }
    let left = wait(&browser.get(&proxy, "/")).expect("its own place is as it was");
    sleep(left + 2);
    let late = browser.get(&proxy, "/");
    assert_eq!((late.header("x-token-refused"), backend.requests()), (Some("late"), before), "{late:?}");
    let counts = row(&proxy)["counts"].clone();
    for reason in ["forged", "malformed", "other_binding", "late", "early"] {
        assert_eq!(counts[format!("token_{reason}")], 1, "{counts}");
    }
}

#[test]
fn as_published_a_token_travels_in_the_url_for_an_address() {
    let settings = room(&json!({"preset": "as-published", "skew": "1s"}));
    let (backend, proxy) = Proxied::alone(settings);
    let page = until("wait", || Some(Browser::default().get(&proxy, "/a?b=1")).filter(|page| wait(page) >= Some(2)));
    assert_eq!(page.header("set-cookie"), None);
    let (seconds, query) = page.header("refresh").expect("a refresh").split_once("; url=").expect("a URL");
    assert!(query.starts_with("?b=1&lab-turn="), "{query}");
    let early = Browser::default().get(&proxy, &format!("/a{query}"));
    assert!(early.header("refresh").expect("a refresh").ends_with(query), "reloading keeps the place: {early:?}");
    sleep(seconds.parse().expect("seconds"));
    let answer = Browser::default().get(&proxy, &format!("/a{query}"));
    assert_eq!((answer.status, answer.body.as_str()), (200, "hello"), "{answer:?}");
    let heads = backend.state.heads.lock().expect("a list");
    assert!(heads.last().expect("a head").starts_with("GET /a?b=1 HTTP"), "{heads:?}");
}

#[test]
fn programs_are_told_when_to_come_and_what_to_show() {
    let (backend, proxy) = Proxied::alone(room(&json!({})));
    let told =
        until("wait", || Some(program(&proxy, "POST", "application/json", "")).filter(|answer| answer.status == 503));
    let said: Value = serde_json::from_str(&told.body).expect("JSON");
    let seconds = said["wait_s"].as_u64().expect("seconds");
    assert_eq!(told.header("retry-after"), Some(&*seconds.to_string()));
    assert_eq!((told.header("x-refused"), told.header("refresh")), (Some("waiting-room"), None));
    assert_eq!((said["waiting_room"].as_str(), said["x_turn"].as_str()), (Some("wait"), told.header("x-turn")));
    let form = program(&proxy, "POST", "text/html", "");
    assert!(form.status == 503 && form.body.contains("Nothing was sent yet"), "{form:?}");
    let text = program(&proxy, "GET", "*/*", "");
    assert!(text.status == 503 && text.body.starts_with("You have a place in the queue: come again in"), "{text:?}");
    sleep(seconds);
    let turn = format!("X-Turn: {}\r\n", told.header("x-turn").expect("a token"));
    assert_eq!(program(&proxy, "POST", "application/json", &turn).body, "hello");
    assert_eq!(backend.got("x-turn").pop(), Some(None));
}

#[test]
fn who_is_let_in_stays_for_a_while() {
    let (_backend, proxy) = Proxied::alone(room(&json!({"stay": "5m"})));
    let mut inside = Browser::default();
    assert_eq!(inside.get(&proxy, "/").body, "hello", "an empty room");
    let mut outside = Browser::default();
    outside.waits(&proxy);
    for _ in 0..5 {
        let answer = inside.get(&proxy, "/style.css");
        assert_eq!((answer.body.as_str(), answer.header("set-cookie")), ("hello", None));
    }
    let stolen = outside.set("lab-turn", &inside.0["lab-turn"]).get(&proxy, "/");
    assert_eq!(stolen.header("x-token-refused"), Some("other-binding"));
    let row = row(&proxy);
    assert_eq!((&row["counts"]["inside"], &row["policy"]["capacity_per_s"]), (&json!(5), &json!(1.0)));
    assert!(row["queue"].as_u64() >= Some(3) && row["policy"]["longest_wait_s"].as_f64() >= Some(3.0), "{row}");
}

pub fn write_keys(path: &Path, lines: &[(u32, char)]) {
    let text: String =
        lines.iter().map(|(number, digit)| format!("{number} {}\n", digit.to_string().repeat(64))).collect();
    let fresh = path.with_extension("new");
    fs::write(&fresh, text).expect("written");
    fs::set_permissions(&fresh, fs::Permissions::from_mode(0o600)).expect("a mode");
    fs::rename(&fresh, path).expect("in place");
}

#[test]
fn keys_rotate_and_refuse_nobody_who_was_promised_a_turn() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = folder.path().join("keys.txt");
    write_keys(&keys, &[(1, 'a')]);
    let settings = room(&json!({"keys": keys}));
    let (backend, proxy) = Proxied::alone(settings.clone());
    let mut browser = Browser::default();
    let turn = Duration::from_secs(browser.waits(&proxy));
    let told = Instant::now();
    assert_eq!(proxy.logged("capacity")["per_s"], 1.0);
    write_keys(&keys, &[(2, 'b')]);
    assert_eq!(proxy.logged("keys")["added"], 1);
    // A second proxy with the new key alone: what the first seals now opens there.
    let other = Proxied::before(&[backend.url()], settings);
    let mut later = Browser::default();
    later.waits(&proxy);
    assert_eq!(later.get(&other, "/").header("x-token-refused"), Some("early"), "it knows the key");
    browser.clone().get(&other, "/");
    assert_eq!(row(&other)["counts"]["token_unknown_key"], 1, "it has never seen the old one");
    // What came between took its time: two seconds after the turn would be too late.
    thread::sleep(turn.saturating_sub(told.elapsed()));
    let answer = browser.get(&proxy, "/");
    assert_eq!((answer.status, answer.body.as_str()), (200, "hello"), "{answer:?}");
}

#[test]
fn a_room_of_one_command_says_what_it_does_and_what_is_wrong() {
    let first_line = |flags: &[&str]| {
        let mut command = crate::program::lab();
        command.args(["proxy", "--listen", "127.0.0.1:0", "--to", "http://127.0.0.1:9", "--waiting-room"]).args(flags);
        crate::proxy::proxied::first_line(command)
    };
    let given = first_line(&["--set", "capacity=100/s"]);
    assert!(given.contains("(waiting room for 100/s, none → http://127.0.0.1:9)"), "{given}");
    let with_a_policy = first_line(&["--set", "capacity=100/s", "--policy", "concurrency", "--set", "max=3"]);
    assert!(
        with_a_policy.contains("(waiting room for 100/s, concurrency max=3 → http://127.0.0.1:9)"),
        "{with_a_policy}"
    );
    let estimated = first_line(&[]);
    assert!(estimated.contains("its capacity to be estimated: nobody waits for the first 14 min"), "{estimated}");
    for (set, wrong) in [
        ("capacity=fast", "--set: waiting room: capacity: \"fast\" is not a rate"),
        ("skew=1h", "skew_s is 3600: at most 30 seconds"),
        ("keys=/nowhere/keys", "waiting_room.keys: /nowhere/keys: No such file"),
    ] {
        let mut command = crate::program::lab();
        command.args([
            "proxy",
            "--listen",
            "127.0.0.1:0",
            "--to",
            "http://127.0.0.1:9",
            "--waiting-room",
            "--set",
            set,
        ]);
        let output = command.output().expect("lab runs");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(wrong), "{error}");
    }
    let mut command = crate::program::lab();
    command.args(["proxy", "--to", "http://127.0.0.1:9", "--waiting-room", "--dry-run"]);
    let output = command.output().expect("lab runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("a waiting room promises turns"), "{output:?}");
}

#[test]
fn a_given_capacity_changes_while_it_runs_and_metrics_show_it() {
    let backend = Backend::start();
    let mut settings = room(&json!({}));
    settings["metrics"] = json!("127.0.0.1:0");
    let proxy = Proxied::before(&[backend.url()], settings.clone());
    Browser::default().waits(&proxy);
    settings["to"] = json!([backend.url()]);
    settings["listen"] = json!("127.0.0.1:0");
    settings["waiting_room"]["capacity"] = json!("50/s");
    let changed = proxy.control("PUT", "/config", &settings.to_string());
    assert_eq!(changed.status, 200, "{changed:?}");
    let answer = Browser::default().get(&proxy, "/");
    assert_eq!((answer.body.as_str(), wait(&answer)), ("hello", None), "there is room again");
    settings["waiting_room"]["skew"] = json!("9s");
    let fixed = proxy.control("PUT", "/config", &settings.to_string());
    assert!(fixed.status == 400 && fixed.body.contains("waiting_room: is fixed while the proxy runs"), "{fixed:?}");
    let metrics = proxy.ready["metrics"].as_str().expect("a URL").trim_start_matches("http://").to_owned();
    let address = metrics.split('/').next().expect("an address").parse().expect("an address");
    let text = crate::proxy::proxied::get(address, "/metrics").body;
    for line in [
        "lab_proxy_waiting_room_capacity{state=\"given\"} 50",
        "lab_proxy_waiting_room_requests_total{outcome=\"promised\"}",
        "lab_proxy_waiting_room_tokens_refused_total{reason=\"forged\"} 0",
        "lab_proxy_waiting_room_longest_wait_seconds ",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn a_real_browser_waits_and_is_let_in_in_its_turn() {
    let backend = Backend::start();
    // A browser takes a while to start, and asks for an icon too.
    let proxy = Proxied::before(&[backend.url()], room(&json!({"skew": "5s", "stay": "5m"})));
    Browser::default().waits(&proxy);
    let before = backend.requests();
    let Some(browser) = Chromium::at(&format!("http://{}/", proxy.address)) else { return };
    let began = Instant::now();
    let came = loop {
        let of_browser = |agent: &Option<String>| agent.as_ref().is_some_and(|agent| agent.contains("Chrome"));
        if backend.got("user-agent").iter().skip(before).any(of_browser) {
            break true;
        }
        if began.elapsed() > 3 * PATIENCE {
            break false;
        }
        thread::sleep(Duration::from_millis(50));
    };
    let counts = row(&proxy)["counts"].clone();
    drop(browser);
    assert!(came, "it was not let in: {counts}");
    assert!(counts["promised"].as_u64() >= Some(2), "it was told to wait first: {counts}");
    assert_eq!((&counts["token_late"], &counts["token_other_binding"]), (&json!(0), &json!(0)), "{counts}");
}

/// By hand: a tenth of a request a second for 100 s is ten.
#[test]
fn one_address_cannot_have_the_whole_queue() {
    let settings = room(&json!({"horizon": "100s", "source_share": 0.1}));
    let (_backend, proxy) = Proxied::alone(settings);
    (0..60).for_each(|_| drop(Browser::default().get(&proxy, "/")));
    let found = row(&proxy);
    let count = |name: &str| found["counts"][name].as_u64().expect("a count");
    assert!((10..=20).contains(&count("promised")), "ten, and some whose seconds are over meanwhile: {found}");
    assert!(count("over_share") >= 30 && count("full") == 0, "{found}");
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    socket.bind(&SocketAddr::from(([127, 0, 0, 2], 0)).into()).expect("is ours");
    socket.connect(&proxy.address.into()).expect("a connection");
    let newcomer = Answer::over(
        socket.into(),
        "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nConnection: close\r\n\r\n",
    );
    assert!(newcomer.header("x-refused").is_none(), "{newcomer:?}");
    assert_eq!(row(&proxy)["counts"]["promised"].as_u64(), Some(count("promised") + 1));
}
