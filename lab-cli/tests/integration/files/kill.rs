//! `kill -9` at any moment loses nothing but the second that is under way.

use std::{
    thread,
    time::{Duration, Instant},
};

use controllers::{Random as _, random::Seeded};

use super::*;
use crate::served::Kept;

/// Two arms of three seconds each.
const SHORT: &[&str] = &["run", "short.yaml", "--set", "users.phases.calm.for=1s", "--set", "users.phases.busy.for=2s"];

fn lines(path: &Path) -> usize {
    fs::read(path).map_or(0, |bytes| bytes.iter().filter(|&&byte| byte == b'\n').count())
}

/// What stood on the disk just before the kill, and how old the newest second was.
struct Seen {
    seconds: usize,
    since: Option<Duration>,
    records: Vec<String>,
    over: bool,
}

/// Starts a run, kills it this long after its start, and looks at what is left.
fn killed_after(scratch: &Scratch, name: &str, wait: Duration) -> Seen {
    let run = scratch.path().join(name);
    let mut command = scratch.command(&[SHORT, &["--out", name]].concat());
    // Targets die with their parent.
    let mut lab = Kept(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("lab starts"));
    let timeline = run.join("timeline.jsonl");
    let until = Instant::now() + wait;
    let (mut seconds, mut newest) = (0, None);
    while Instant::now() < until && lab.0.try_wait().expect("it can be asked").is_none() {
        let now = lines(&timeline);
        if now != seconds {
            (seconds, newest) = (now, Some(Instant::now()));
        }
        thread::sleep(Duration::from_millis(5));
    }
    let over = lab.0.try_wait().expect("it can be asked").is_some();
    let records = if run.is_dir() { records(&run) } else { Vec::new() };
    drop(lab);
    Seen { seconds, since: newest.map(|at| at.elapsed()), records, over }
}

fn records(run: &Path) -> Vec<String> {
    let names = fs::read_dir(run).expect("listed").flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut records: Vec<String> = names.filter(|name| name.ends_with(".record.json")).collect();
    records.sort();
    records
}

/// Longest run of all: with the look at what the generator can do, both arms and their targets' starts.
const SPAN_S: f64 = 11.0;

fn nothing_is_lost(moments: u32, seed: u64) {
    let scratch = Scratch::new();
    let mut random = Seeded::new(seed);
    let (mut whole, mut in_an_arm) = (0, 0);
    for moment in 0..moments {
        let name = format!("run-{moment}");
        let wait = Duration::from_secs_f64((f64::from(moment) + random.uniform()) * SPAN_S / f64::from(moments));
        let seen = killed_after(&scratch, &name, wait);
        let run = scratch.path().join(&name);
        let at = format!("moment {moment}, {wait:?} after the start");
        if !run.join("manifest.json").is_file() {
            // Before there was anything to keep.
            assert_eq!((seen.seconds, seen.records.len()), (0, 0), "{at}");
            continue;
        }
        in_an_arm += u32::from(seen.seconds > 0 && !seen.over);
        // Every second that was there is there; while an arm ran, the newest was not older than a second and some patience with a
        // busy machine. Between arms there are none.
        let bytes = fs::read(run.join("timeline.jsonl")).expect("there");
        let kept: Vec<Value> =
            bytes.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
        assert!(kept.len() >= seen.seconds, "{at}: {} of {}", kept.len(), seen.seconds);
        let torn = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count() - kept.len();
        assert!(torn <= 1, "{at}: {torn} torn lines");
        assert!(seen.over || seen.since < Some(Duration::from_secs(4)), "{at}: no second for {:?}", seen.since);
        times_are_kept(&run, &kept, &at);
        // Whole files are whole or not there.
        json(&run.join("manifest.json"));
        let records = records(&run);
        assert!(seen.records.iter().all(|record| records.contains(record)), "{at}");
        records.iter().for_each(|record| drop(json(&run.join(record))));
        let recheck = scratch.lab(&["recheck", &name]);
        if run.join("summary.json").is_file() {
            let arms = json(&run.join("summary.json"))["arms"].as_array().map_or(0, Vec::len);
            // An arm's record comes before its place in the summary.
            assert!(arms <= records.len() && arms + 1 >= records.len(), "{at}: {arms} arms, {records:?}");
            assert_eq!(recheck.status.code(), Some(0), "{at}: {}", told(&recheck));
            // Digests are the last thing that a run writes: what was killed before has none, and recheck says so.
            let says =
                if run.join("digests.json").is_file() { "as the run wrote them" } else { "there is no digests.json" };
            assert!(told(&recheck).contains(says), "{at}: {}", told(&recheck));
            assert!(scratch.lab(&["report", &name]).status.success(), "{at}");
            whole += 1;
        } else {
            assert_eq!(recheck.status.code(), Some(1), "{at}: {}", told(&recheck));
        }
    }
    assert!(whole > 0, "not one of them had a whole arm");
    assert!(in_an_arm > 0, "not one of them was killed in an arm");
}

/// Each second that the timeline tells has its times too, as many as it counts.
fn times_are_kept(run: &Path, seconds: &[Value], at: &str) {
    let mut arms: Vec<&str> = seconds.iter().filter_map(|second| second["arm"].as_str()).collect();
    arms.dedup();
    for arm in arms {
        let log = fs::read_to_string(run.join(format!("{arm}-1.seconds.hlog"))).expect("the times of seconds");
        let own = seconds.iter().filter(|second| second["arm"] == arm);
        for second in own {
            let begins = format!("Tag=response,{}.000,1.000,", second["second"]);
            assert!(log.contains(&begins), "{at}: no times of second {} of {arm}", second["second"]);
        }
    }
}

#[test]
fn five_moments() {
    nothing_is_lost(5, 1);
}

#[test]
#[ignore = "long; docs/benchmarks.md: cargo test --release -p lab-cli --test integration hundred -- --ignored"]
fn a_hundred_moments() {
    nothing_is_lost(100, 2);
}
