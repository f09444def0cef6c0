//! A crowd and a person at one waiting room.

use std::{fs, path::Path, process::Stdio};

use serde_json::{Value, json};

use crate::{
    program::{lab_in, wait_until},
    proxy::{
        chromium::{Chromium, Heard, Relay},
        proxied::Proxied,
        waiting_room::{row, write_keys},
    },
    served::Kept,
};

/// How many come within four seconds, before a service that takes 100 requests a second.
const CROWD: u64 = 2000;
const SKEW_S: u64 = 5;

/// Each waits for its turn, and makes one request inside, a second later. A request begins within the phases or not at all.
fn experiment(proxy: &Proxied) -> String {
    json!({
        "name": "crowd",
        "target": {"url": format!("http://{}", proxy.address), "ready": "/health"},
        "objective": {"percentile": 90, "response_time": "60s"},
        "users": {
            "model": "script",
            "plan": {"steps": [
                {"name": "enter", "url": "/", "headers": {"Accept": "text/html", "X-Crowd": "enter"}},
                {"name": "inside", "url": "/inside", "headers": {"Accept": "text/html", "X-Crowd": "inside"}},
            ]},
            "think": "1s",
            "timeout": "30s",
            "drain": "10s",
            "on_reject": {"then": "leave"},
            "on_failure": {"then": "leave"},
            "phases": [
                {"name": "rush", "for": "4s", "loads": [{"sessions": format!("{}/s", CROWD / 4), "law": "constant"}]},
                {"name": "calm", "for": "32s", "loads": [{"idle": 1}]},
            ],
        },
        "arms": [{"none": {"as": "crowd", "direct": true}}],
    })
    .to_string()
}

/// Begins it.
fn crowd(folder: &Path, proxy: &Proxied) -> Kept {
    fs::write(folder.join("crowd.yaml"), experiment(proxy)).expect("written");
    let mut lab = lab_in(folder);
    lab.args(["run", "crowd.yaml", "--no-tui", "--out", "run", "--output", "json"]);
    Kept(lab.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("lab starts"))
}

/// What it says of its only arm. A busy machine may make it INVALID: its times are not the point.
fn arm_of(mut crowd: Kept) -> Value {
    let summary: Value = serde_json::from_reader(crowd.0.stdout.take().expect("piped")).expect("JSON");
    assert!(matches!(crowd.0.wait().expect("it ends").code(), Some(0 | 3)), "{summary}");
    summary["arms"][0].clone()
}

/// Forty seconds, of which the last ten are for a machine that has other things to do. Keys rotate while the crowd waits.
#[test]
fn a_browser_among_two_thousand_is_let_in_in_its_second_and_nobody_loses_a_turn() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = folder.path().join("keys.txt");
    write_keys(&keys, &[(1, 'a')]);
    let settings = json!({
        "waiting_room": {"capacity": "100/s", "skew": format!("{SKEW_S}s"), "stay": "5m", "keys": keys},
        "health_path": "/health",
        // Longer than anybody waits: a connection that is closed just as its user comes back is a request lost.
        "timeouts": {"idle": "60s"},
        "log": "changes",
    });
    let (backend, proxy) = Proxied::alone(settings);
    let relay = Relay::before(proxy.address);
    let crowd = crowd(folder.path(), &proxy);
    let longest_wait = || row(&proxy)["policy"]["longest_wait_s"].as_f64().expect("a wait");
    wait_until("queue of six seconds", || longest_wait() >= 6.0);
    let Some(browser) = Chromium::at(&format!("http://{}/sale", relay.address)) else { return };
    wait_until("browser", || !relay.heard().is_empty());
    write_keys(&keys, &[(2, 'b')]);
    assert_eq!(proxy.logged("keys")["added"], 1);
    wait_until("page inside", || relay.heard().iter().any(|heard| heard.path == "/inside"));
    drop(browser);
    let arm = arm_of(crowd);
    let (heard, counts) = (relay.heard(), row(&proxy)["counts"].clone());
    let count = |name: &str| counts[name].as_u64().unwrap_or_else(|| panic!("no count {name}: {counts}"));

    // The person: told once when to come, let in in that second, and inside without another turn.
    let pages: Vec<&Heard> = heard.iter().filter(|heard| heard.path == "/sale").collect();
    let (told, let_in) = (pages[0], pages[pages.len() - 1]);
    let promised = told.turn_at.expect("a token");
    assert!(told.wait_s >= Some(1) && told.body.contains("http-equiv=\"refresh\""), "{told:?}");
    assert!(let_in.wait_s.is_none() && let_in.body.contains("on sale"), "{let_in:?}");
    assert!(let_in.at.abs_diff(promised) <= SKEW_S, "promised {promised}, let in at {}", let_in.at);
    assert!(pages[1..pages.len() - 1].iter().all(|page| page.turn_at.is_none()), "it keeps its turn: {pages:?}");
    let inside = heard.iter().find(|heard| heard.path == "/inside").expect("seen");
    assert_eq!((inside.wait_s, inside.body.as_str()), (None, "hello"));

    // The crowd: everybody came in, and nobody lost a turn, with the old key or the new one.
    let of_phases = |what: &dyn Fn(&Value) -> &Value| {
        let phases = arm["phases"].as_array().expect("phases");
        phases.iter().map(|phase| what(phase).as_u64().unwrap_or(0)).sum::<u64>()
    };
    let of_crowd = |step: &str, what: &str| of_phases(&|phase| &phase["by_type"][step][what]);
    assert_eq!((of_crowd("enter", "served"), of_crowd("inside", "served")), (CROWD, CROWD), "{arm}");
    for lost in ["token_late", "token_unknown_key", "token_replayed", "token_forged", "token_other_binding", "full"] {
        assert_eq!(count(lost), 0, "{lost}: {counts}");
    }

    // Both sides and the service count the same.
    let seen = backend.got("x-crowd");
    let served = |step: &str| seen.iter().filter(|value| value.as_deref() == Some(step)).count() as u64;
    assert_eq!((served("enter"), served("inside")), (CROWD, CROWD));
    let by_browser = heard.iter().filter(|heard| heard.wait_s.is_none()).count();
    let others = seen.iter().filter(|value| value.is_none()).count();
    assert_eq!(others, by_browser, "{heard:?}");
    assert_eq!(count("passed") + count("inside"), 2 * CROWD + by_browser as u64, "{counts}");
    // Waits that the crowd was told and followed, and the browser's.
    let told = heard.iter().filter(|heard| heard.wait_s.is_some() && heard.turn_at.is_some()).count() as u64;
    let followed = of_phases(&|phase| &phase["hops"]);
    assert_eq!(count("promised"), followed + told, "{counts}");
    assert_eq!(count("token_admitted"), count("promised"), "whoever was promised a turn took it: {counts}");
}
