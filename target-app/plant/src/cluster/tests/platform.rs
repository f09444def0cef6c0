//! Tasks that come and go under load.

use spec::platform::{ApplicationSpec, PlatformSpec, SlaTierSpec};

use super::*;

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Sentries of 2 ms a request before servers of 50 requests a second, on five nodes.
fn platform() -> TreeSpec {
    let mut front = service("front", 2, 1, &["back"]);
    front.task.policy = policy("sentry", &[("classes", 1.0)]);
    front.task.policy.settings.insert("reports".to_owned(), Setting::Flag(true));
    front.task.stage_defaults.workers = 500;
    let mut back = service("back", 20, 1, &[]);
    back.balancer = Balancer::LeastLoaded;
    let on_every_node = |service| with(service, |service| service.tasks = 5);
    let application = ApplicationSpec {
        sentries: "front".to_owned(),
        servers: "back".to_owned(),
        min_servers: 1,
        revenue: vec![1.0],
        sla: vec![SlaTierSpec { below_per_s: None, response: secs(1) }],
    };
    let platform = PlatformSpec {
        nodes: 5,
        applications: vec![application],
        period: secs(40),
        drop_share: 0.3,
        drop_window: secs(5),
        step: 1,
        apart: secs(5),
        trend_limit: 2.0,
        high_cpu: 0.25,
        high_for: secs(4),
        low_cpu: 0.05,
        low_for: secs(10),
    };
    TreeSpec { platform: Some(Box::new(platform)), ..tree([front, back].map(on_every_node).to_vec()) }
}

/// 150 requests a second for 40 s, and 10 a second for a minute.
fn busy_then_calm() -> LoadPlan {
    let mut plan = open_plan(150.0, 40);
    plan.phases.push(Phase { name: "calm".to_owned(), ..open_plan(10.0, 60).phases.remove(0) });
    plan
}

#[test]
fn servers_and_sentries_come_under_load_and_go_after_it_and_no_request_is_lost() {
    let (finished, cluster) = ran(&busy_then_calm(), &platform());
    let gauges = cluster.gauges(Timestamp::from_secs(100));
    let shown = |row: &str, gauge: &str| {
        let row = gauges.stages.iter().find(|shown| shown.name == row).unwrap_or_else(|| panic!("no row {row}"));
        row.policy[gauge]
    };
    // One at the start; two more for 150 a second, as the fifth node is the second sentry. Of 10 a second one can do it.
    assert_eq!((shown("platform", "added_servers"), shown("platform", "removed_servers")), (3.0, 2.0));
    assert_eq!((shown("platform", "added_sentries"), shown("platform", "removed_sentries")), (2.0, 1.0));
    assert_eq!((shown("platform/back", "servers"), shown("platform/back", "sentries")), (1.0, 1.0));
    let [busy, calm] = [0, 1].map(|phase| &finished.report.phases[phase].measured);
    assert!(busy.rejected > 1000 && calm.rejected < 10, "{busy:?} {calm:?}");
    for ledger in [busy, calm] {
        let answered = ledger.served + ledger.served_late + ledger.rejected;
        assert_eq!(answered, ledger.written(), "each is answered: {ledger:?}");
    }
    // No task on a node had another one beside it: what a task has read ended before the next role began.
    assert!(read(&cluster, "front") == 6600 && cluster.beside.draining.is_empty());
}

#[test]
fn nuclei_tell_sentries_what_waits_at_servers_of_few_workers() {
    let in_service = |with_nuclei: bool| {
        let mut spec = platform();
        if with_nuclei {
            spec.services.iter_mut().for_each(|service| service.task.machines = vec![policy("nucleus", &[])]);
        }
        // A server works on one request at a time: what is beyond that waits, in the paper's Q and not in η.
        let mut cluster = Cluster::new(&spec, &PlantPlan::default(), Duration::ZERO, 7).expect("it can be");
        let mut seen = Vec::new();
        let link = LinkSpec { delay: Duration::ZERO, ..LinkSpec::default() };
        let look = |_, cluster: &mut Cluster, now| {
            let rows = cluster.gauges(now).stages;
            let of_sentry = rows.iter().find(|row| row.name == "front/dispatch").map(|row| &row.policy);
            let both = |gauges: &BTreeMap<String, f64>| {
                Some((*gauges.get("in_service_per_server")?, *gauges.get("queueing_ms")?))
            };
            seen.extend(of_sentry.and_then(both));
        };
        run(&open_plan(300.0, 20), link, &mut cluster, look, &StopFlag::new()).expect("it runs");
        // The most of both.
        seen.into_iter().fold((0.0, 0.0), |(a, b): (f64, f64), (c, d)| (a.max(c), b.max(d)))
    };
    let (alone, no_wait) = in_service(false);
    assert!(alone > 10.0 && no_wait == 0.0, "{alone} {no_wait}");
    let (told, wait_ms) = in_service(true);
    assert!(wait_ms > 100.0 && told < alone, "{told} {wait_ms}");
}

#[test]
fn a_task_that_was_never_started_has_no_row_and_one_that_has_ended_keeps_its_counts() {
    let (_, cluster) = ran(&busy_then_calm(), &platform());
    let gauges = cluster.gauges(Timestamp::from_secs(100));
    let names: Vec<&str> = gauges.stages.iter().map(|row| row.name.as_str()).collect();
    // Nodes 0 and one more were sentries, the others servers.
    assert!(names.contains(&"back.1/work") && !names.contains(&"back.0/work"), "{names:?}");
    let counts: u64 = cluster.books().iter().find(|books| books.name == "back").expect("is there").read_by_task[1..]
        .iter()
        .filter(|read| **read > 0)
        .count() as u64;
    assert_eq!(counts, 3, "three nodes have served");
}
