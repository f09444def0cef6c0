//! Degraded answers of the mail service, as far as its policy lowers the quality of its stages.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use controllers::{Objective, Place, catalogue::Setting};
use target_app::{
    mail::{
        password::{self, Cost},
        store::{NewMessage, Store, StoreOptions},
    },
    spec::{App, Durability, PolicySpec, TargetSpec, WorkSpec},
};

use crate::common::{Target, policy, spec, start};

/// Fills a database with forty messages of ann's, in folder 1.
fn fill(database: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let store = Store::create(database, &StoreOptions::default()).await.expect("opens");
        let mut fill = store.fill().await.expect("begins");
        let hash = password::hash("a", &[1; 16], Cost::Least);
        let (_, folders) = fill.user("ann", &hash, &["inbox"]).await.expect("user");
        for number in 1..=40 {
            let headers = format!("Subject: topic {number}\n");
            let subject = format!("topic {number}");
            let date = 1_000_000_000 + i64::from(number);
            let message = NewMessage { digest: [number; 32], date, subject, headers, ..NewMessage::default() };
            fill.message(&message).await.expect("message");
        }
        fill.put_range(folders[0], 1, 40).await.expect("put");
        fill.commit().await.expect("commits");
        store.close().await.expect("closes");
    });
}

/// A promise of a millisecond, and some four milliseconds of work: the policy halves the quality with each request.
fn hard_pressed(database: &Path) -> TargetSpec {
    let weights = ["search", "list messages"].map(|name| (name.to_owned(), 1.0)).into();
    let app = App::Arashi {
        database: database.to_owned(),
        connections: 2,
        work: WorkSpec { operations: 40.0, weights },
        session_in_links: true,
        full_text: false,
        durability: Durability::Normal,
        stale: Duration::from_secs(30),
    };
    let mut degrade = policy("degrade", &[("check_every", 1.0), ("samples", 1.0), ("smoothing", 0.0)]);
    degrade.settings.insert("admission".to_owned(), Setting::Text("off".to_owned()));
    let policy = PolicySpec { place: Some(Place::Stage), ..degrade };
    let objective = Objective { percentile: 90.0, response_time: Duration::from_millis(1) };
    TargetSpec { app, policy, objective, ..spec() }
}

fn sign_in(target: &Target) -> String {
    let form = "user=ann&password=a";
    let request = format!(
        "POST /login HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n\r\n{form}",
        form.len()
    );
    let welcome = target.exchange(request.as_bytes());
    welcome.split("key=").nth(1).and_then(|rest| rest.get(..32)).expect("a key").to_owned()
}

/// Asks until the answer says in this way that it is less; `None`: until time is over.
fn until_degraded(target: &Target, path: &str, how: &str) -> Option<String> {
    let end = Instant::now() + Duration::from_secs(15);
    while Instant::now() < end {
        let answer = target.get(path);
        if answer.to_ascii_lowercase().contains(&format!("x-degraded: {how}")) {
            return Some(answer);
        }
    }
    None
}

#[test]
fn when_its_policy_lowers_the_quality_searches_look_through_less_and_lists_are_copies() {
    let dir = tempfile::tempdir().expect("a folder");
    let database = dir.path().join("mail.sqlite");
    fill(&database);
    let target = start(hard_pressed(&database));
    let key = sign_in(&target);
    let search = format!("/search?folderid=1&scope=folder&q=topic+1&key={key}");
    let whole = target.get(&search);
    assert!(whole.contains("data-page=\"search\"") && !whole.to_ascii_lowercase().contains("x-degraded"), "{whole}");
    let part = until_degraded(&target, &search, "newest ").expect("the quality falls");
    assert!(part.contains(" of 40 messages were searched"), "{part}");

    let list = format!("/list?folderid=1&key={key}");
    let copy = until_degraded(&target, &list, "stale").expect("the quality of its stage falls too");
    assert!(copy.contains("topic 40"), "{copy}");
    let gauges = target.gauges();
    for name in ["search", "list messages"] {
        let stage = gauges.stages.iter().find(|stage| stage.name == name).expect("a stage");
        assert!(stage.policy["quality"] < 1.0 && stage.refused == 0, "{stage:?}");
    }
    assert!(gauges.ledger.degraded >= 2 && gauges.ledger.refused.is_empty(), "{:?}", gauges.ledger);
}
