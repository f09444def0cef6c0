use super::*;
use crate::store::{ListOrder, Scope, StoreOptions};

fn tiny() -> CorpusSpec {
    CorpusSpec { users: 12, inbox_median: 20.0, inbox_max: 200, ..CorpusSpec::default() }
}

#[test]
fn inboxes_span_the_range_of_the_paper() {
    let spec = CorpusSpec::default();
    let mut sizes = spec.inboxes();
    assert_eq!(sizes, spec.inboxes());
    sizes.sort_unstable();
    assert_eq!((sizes[0], sizes[99]), (1, 12_794));
    // Of 100 lognormal draws of median 300 and sigma 1.6, the sample median's standard error is
    // 1.6 x sqrt(pi / 200) = 0.2 in the logarithm: within a factor of 2 is 3.5 of them.
    assert!((150..600).contains(&sizes[50]), "{}", sizes[50]);
}

#[test]
fn messages_have_the_sizes_of_real_mail() {
    let mut messages = message::Messages::new(1, 6000);
    let all: Vec<_> = (0..6000).map(|_| messages.next()).collect();
    let mut sizes: Vec<f64> = all.iter().map(|m| m.size as f64).collect();
    sizes.sort_by(f64::total_cmp);
    let quantile = |q: f64| sizes[(q * 6000.0) as usize];
    let mean = sizes.iter().sum::<f64>() / 6000.0;
    // Each between, or within a tenth of, what the two collections have.
    assert!((2392.0..3099.0).contains(&quantile(0.5)), "{}", quantile(0.5));
    assert!((3000.0..3600.0).contains(&mean), "{mean}");
    assert!((4200.0..5600.0).contains(&quantile(0.9)), "{}", quantile(0.9));
    assert!((11_000.0..18_000.0).contains(&quantile(0.99)), "{}", quantile(0.99));
    let share = |f: fn(&crate::store::NewMessage) -> bool| all.iter().filter(|m| f(m)).count();
    assert!((60..180).contains(&share(|m| !m.attachments.is_empty())), "2 % of 6000 are 120");
    assert!((60..180).contains(&share(|m| m.html.is_some())), "2 % of 6000 are 120");
    assert!(all.windows(2).all(|pair| pair[0].date < pair[1].date), "oldest first");
    let per_message = |m: &crate::store::NewMessage| {
        m.headers.len() + m.text.len() + m.attachments.iter().map(|a| a.content.len() * 4 / 3).sum::<usize>()
    };
    assert!(all.iter().all(|m| (per_message(m) as i64 - m.size).abs() < 4), "the size is the size of what is there");
}

#[tokio::test]
async fn a_corpus_has_its_users_and_is_the_same_for_the_same_seed() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let read = async |name: &str, spec: &CorpusSpec| {
        let path = dir.path().join(name);
        build(spec, &path).await.expect("builds");
        let store = Store::open(&path, &StoreOptions::default()).await.expect("opens");
        let mut seen = Vec::new();
        for (user, password) in accounts(spec) {
            let account = store.account(&user).await.expect("account").expect("is there");
            assert!(password::verify(&password, &account.password));
            for folder in store.folders(account.id).await.expect("folders") {
                let rows = store.list(account.id, folder.id, ListOrder::default(), 0).await.expect("list");
                assert_eq!(rows.len(), folder.messages.min(10) as usize);
                seen.push((folder, rows));
            }
            let found = store.search(account.id, Scope::All, "subject: ", 0).await.expect("search");
            assert!(!found.expect("all").rows.is_empty());
        }
        seen
    };
    let first = read("a", &tiny()).await;
    // The store lists folders by name.
    let in_order = |mut sizes: Vec<u32>| {
        sizes.sort_unstable();
        sizes
    };
    let sizes = first.chunks(4).map(|of| in_order(of.iter().map(|(folder, _)| folder.messages as u32).collect()));
    assert!(sizes.eq(tiny().folders().into_iter().map(in_order)), "the plant's mailboxes are these");
    assert_eq!(first, read("b", &tiny()).await);
    assert_ne!(first, read("c", &CorpusSpec { seed: 2, ..tiny() }).await);
}

#[test]
fn the_cache_builds_once_and_gives_copies_to_change() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let cache = dir.path().join("cache");
    let path = cached(&tiny(), &cache).expect("builds");
    let made = std::fs::metadata(&path).and_then(|m| m.modified()).expect("is there");
    assert_eq!(cached(&tiny(), &cache).expect("is there"), path);
    assert_eq!(std::fs::metadata(&path).and_then(|m| m.modified()).expect("is there"), made);
    assert_ne!(cached(&CorpusSpec { seed: 9, ..tiny() }, &cache).expect("builds"), path);
    let copy = dir.path().join("arm.sqlite");
    let log = dir.path().join("arm.sqlite-wal");
    std::fs::write(&log, "left over from a killed run").expect("writes");
    snapshot(&path, &copy).expect("copies");
    assert!(!log.exists());
    assert_eq!(std::fs::read(&path).expect("reads"), std::fs::read(&copy).expect("reads"));
}

#[test]
fn nonsense_is_refused() {
    let dir = tempfile::tempdir().expect("temporary directory");
    for spec in [
        CorpusSpec { users: 0, ..tiny() },
        CorpusSpec { inbox_min: 0, ..tiny() },
        CorpusSpec { inbox_max: 0, ..tiny() },
        CorpusSpec { inbox_median: f64::NAN, ..tiny() },
        CorpusSpec { inbox_sigma: -1.0, ..tiny() },
    ] {
        assert!(matches!(cached(&spec, dir.path()), Err(CorpusError::Spec(_))), "{spec:?}");
    }
}

#[test]
#[ignore = "prints times of this machine; docs/benchmarks.md: cargo test --release -p arashi --lib timings -- --ignored --nocapture"]
fn timings() {
    for users in [100, 1000] {
        let dir = tempfile::tempdir().expect("temporary directory");
        let start = std::time::Instant::now();
        let path = cached(&CorpusSpec { users, ..CorpusSpec::default() }, dir.path()).expect("builds");
        let generated = start.elapsed();
        let start = std::time::Instant::now();
        snapshot(&path, &dir.path().join("copy")).expect("copies");
        let size = std::fs::metadata(&path).expect("is there").len() >> 20;
        println!("{users} users: generated in {generated:?}, {size} MiB, copied in {:?}", start.elapsed());
    }
}
