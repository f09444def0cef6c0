//! What a queue costs.

use std::{
    fs,
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use fleet::{FleetError, WorkNews, WorkOrder};

use super::{
    super::program::wait_until,
    server::{AGENT, COORDINATOR, Server, Started, runs},
};

const ITEMS: usize = 2000;
/// A result of a sweep has 3 to 8 KB.
const RESULT: usize = 8 << 10;

/// Milliseconds of an item and agent, of two agents that do nothing.
fn empty_items(server: &Server) -> f64 {
    let result = vec![b'x'; RESULT];
    let ended = AtomicBool::new(false);
    let stopped = || ended.load(Ordering::Relaxed);
    thread::scope(|scope| {
        for name in ["a", "b"] {
            let (result, stopped) = (&result, &stopped);
            scope.spawn(move || {
                let agent = server.connected(name, AGENT);
                let source = agent.work("empty", stopped).expect("a queue");
                while !stopped() {
                    let Some(work) = source.next(Duration::from_millis(200)).expect("an answer") else { continue };
                    work.store(result, result, stopped).expect("stored");
                    work.done().expect("done");
                }
            });
        }
        let coordinator = server.connected("coordinator", COORDINATOR);
        let order = |number: usize| WorkOrder { key: format!("{number:064x}"), bytes: vec![b' '; 512] };
        let orders = coordinator.orders("empty", "items").expect("a queue");
        let (began, mut done) = (Instant::now(), 0);
        let all = orders.all::<FleetError>(ITEMS, &order, &|| false, &mut |news| {
            done += usize::from(matches!(news, WorkNews::Done(_)));
            Ok(())
        });
        let took = began.elapsed();
        ended.store(true, Ordering::Relaxed);
        all.expect("all are done");
        assert_eq!(done, ITEMS);
        took.as_secs_f64() * 1e3 * 2.0 / ITEMS as f64
    })
}

#[test]
#[ignore = "measures; docs/benchmarks.md: cargo test --release -p lab-cli --features fleet --test integration fleet::cost -- --ignored --nocapture"]
fn an_item_costs_little() {
    for (always, bound) in [(false, 2.0), (true, 10.0)] {
        let Some(server) = Server::with_fsync(always) else { return };
        let cost = empty_items(&server);
        eprintln!("an empty item, fsync {always}: {cost:.2} ms of an agent");
        assert!(cost <= bound, "{cost} ms");
    }
}

/// Runs of 16 000 requests.
const FILE: &str = "
name: crowd
target: {app: emulated, servers: 2, service: {exponential: 10ms}}
objective: {response_time: 100ms}
users:
  model: url
  on_reject: {then: retry, attempts: 2}
  phases: [{name: peak, requests: 400/s, for: 40s}]
arms: [concurrency: {max: 8}]
";

#[test]
#[ignore = "measures; docs/benchmarks.md: cargo test --release -p lab-cli --features fleet --test integration fleet::cost -- --ignored --nocapture"]
fn two_agents_do_four_hundred_runs_in_half_the_time_and_lose_none() {
    let Some(server) = Server::start() else { return };
    let at = server.folder();
    fs::write(at.join("crowd.yaml"), FILE).expect("written");
    let search = |out: &str| {
        let sweep = "sweep crowd.yaml --policy concurrency --set max=2..20 --points 8 --repeat 50";
        // Another seed: the server knows the results of the last one.
        let seed = if out == "one" { "7" } else { "8" };
        let args: Vec<&str> = sweep.split(' ').chain(["--seed", seed, "--out", out]).collect();
        let mut command = server.lab(&args);
        Started(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("lab starts"))
    };
    let timed = |out: &str, agents: &mut Vec<Started>, kills: bool| {
        let (began, mut search) = (Instant::now(), search(out));
        if kills {
            wait_until("a hundred runs", || runs(&at.join(out)) >= 100);
            agents.pop().expect("one").kill();
            agents.push(server.agent("third"));
        }
        assert!(search.0.wait().expect("it ends").success());
        assert_eq!(runs(&at.join(out)), 400);
        began.elapsed().as_secs_f64()
    };
    let mut agents = vec![server.agent("first")];
    let one = timed("one", &mut agents, false);
    agents.push(server.agent("second"));
    thread::sleep(Duration::from_secs(1));
    let two = timed("two", &mut agents, false);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    eprintln!("400 runs: one agent {one:.1} s, two {two:.1} s: {:.2} times; load average {}", one / two, load.trim());
    fs::remove_dir_all(at.join("two")).expect("there");
    // The results of this seed are known: another experiment.
    fs::write(at.join("crowd.yaml"), FILE.replace("for: 40s", "for: 41s")).expect("written");
    let killed = timed("two", &mut agents, true);
    eprintln!("400 runs, one of two agents killed and replaced after a hundred: {killed:.1} s");
}
