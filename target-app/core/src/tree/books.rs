//! Gauges and ledgers of several services together: by service and by task. The same in both worlds.

use std::collections::BTreeMap;

use controllers::site::CONTRADICTIONS;
use spec::wire::{CallCounts, Gauges, Halted, MadeCalls, ReadRequests, ServerLedger, StageGauges};
use workloads::measure::{Calls, ServiceTotals};

/// The count of crashes in the row `read` of a task.
pub const CRASHES: &str = "crashes";

/// The gauges of all services together, from those of their tasks. Stages are named `service/stage`, those of single
/// tasks `service.task/stage`; the row `service/calls other` has a service's own calls: wanted, sent, refused by its
/// own policy, and ended. The time is that of the first task that was
/// started.
#[must_use]
pub fn gauges_of(services: &[(&str, Vec<Gauges>)]) -> Gauges {
    let mut all = Gauges::default();
    if let Some(first) = services.iter().flat_map(|(_, tasks)| tasks).find(|task| !task.stages.is_empty()) {
        all.at_ms = first.at_ms;
        all.policy.clone_from(&first.policy);
    }
    for (name, tasks) in services {
        for task in tasks {
            add(&mut all.ledger, &task.ledger);
            all.cpu_s += task.cpu_s;
            all.rss_bytes += task.rss_bytes;
            all.open_files += task.open_files;
            all.panics += task.panics;
            all.events_dropped += task.events_dropped;
        }
        service(name, tasks, &mut all.stages);
    }
    all
}

fn service<'a>(name: &str, tasks: &'a [Gauges], rows: &mut Vec<StageGauges>) {
    // A task that was never started has no rows.
    let first = tasks.iter().map(|task| &task.stages).find(|stages| !stages.is_empty());
    for (place, stage) in first.into_iter().flatten().enumerate() {
        let of_task = |(number, task): (usize, &'a Gauges)| Some((number, task.stages.get(place)?));
        let stages: Vec<(usize, &StageGauges)> = tasks.iter().enumerate().filter_map(of_task).collect();
        rows.push(together(format!("{name}/{}", stage.name), &stages));
        if tasks.len() > 1 && stages.iter().any(|(_, stage)| stage.workers > 0) {
            for (task, stage) in stages {
                // The row of all tasks has the counts, so that a sum over rows has them once.
                let (name, counts) = (format!("{name}.{task}/{}", stage.name), BTreeMap::new());
                rows.push(StageGauges { name, counts, ..stage.clone() });
            }
        }
    }
    let first = tasks.iter().map(|task| &task.calls.made).find(|made| !made.is_empty());
    for (place, called) in first.into_iter().flatten().enumerate() {
        let (mut counts, mut sent, mut client) = (CallCounts::default(), 0, BTreeMap::new());
        let mut contradictions = 0;
        for made in tasks.iter().filter_map(|task| task.calls.made.get(place)) {
            counts.add(&made.counts);
            sent += made.written;
            contradictions += made.contradictions;
            for (gauge, value) in &made.client {
                *client.entry(gauge.clone()).or_default() += value / tasks.len() as f64;
            }
        }
        rows.push(StageGauges {
            name: format!("{name}/calls {}", called.to),
            offered: counts.attempts,
            admitted: sent,
            refused: counts.refused_locally,
            completed: counts.answered + counts.refused + counts.failed,
            counts: [
                ("retries".to_owned(), counts.retries),
                ("refused_by_callee".to_owned(), counts.refused),
                ("answered".to_owned(), counts.answered),
                ("failed".to_owned(), counts.failed),
            ]
            .into_iter()
            .chain((contradictions > 0).then(|| (CONTRADICTIONS.to_owned(), contradictions)))
            .collect(),
            policy: client,
            ..StageGauges::default()
        });
    }
}

/// The row of the balancer of a service with a cap: its refusals, `of_users` of users' requests and checks, and of the
/// calls of all services.
#[must_use]
pub fn balancer_of(service: &str, of_users: u64, services: &[(&str, Vec<Gauges>)]) -> StageGauges {
    let calls = services.iter().flat_map(|(_, tasks)| tasks).flat_map(|task| &task.calls.made);
    let of_calls: u64 = calls.filter(|made| made.to == service).map(|made| made.turned_back).sum();
    StageGauges { name: format!("{service}/balancer"), refused: of_users + of_calls, ..StageGauges::default() }
}

/// The books of one service, from the gauges of its tasks.
#[must_use]
pub fn books_of(name: &str, tasks: &[Gauges]) -> ServiceTotals {
    let mut books = ServiceTotals { name: name.to_owned(), ..ServiceTotals::default() };
    let mut made = BTreeMap::new();
    for task in tasks {
        let (users, calls) = (&task.ledger, &task.calls.read);
        books.users_requests_read += users.requests_read;
        books.read_by_task.push(users.requests_read + calls.requests_read);
        books.calls_read += calls.requests_read;
        books.calls_served += calls.served;
        books.calls_failed += calls.errors;
        books.callers_gone += calls.client_gone;
        books.calls_in_flight += calls.in_flight;
        for (reason, count) in &calls.refused {
            *books.calls_refused.entry(reason.clone()).or_default() += count;
        }
        for MadeCalls { to, counts, written, .. } in &task.calls.made {
            let all = made.entry(to).or_insert_with(|| Calls { to: to.clone(), ..Calls::default() });
            all.attempts += counts.attempts;
            all.retries += counts.retries;
            all.refused_locally += counts.refused_locally;
            all.written += written;
            all.refused += counts.refused;
            all.answered += counts.answered;
            all.failed += counts.failed;
            all.open += counts.open;
        }
    }
    books.calls = made.into_values().collect();
    books
}

/// The numbers of users' requests that any task has read, with the users' ledger.
#[must_use]
pub fn requests_of(tasks: impl IntoIterator<Item = ReadRequests>) -> ReadRequests {
    let mut all = ReadRequests::default();
    for of in tasks {
        add(&mut all.ledger, &of.ledger);
        all.read.extend(of.read);
        all.again += of.again;
        all.unnumbered += of.unnumbered;
    }
    all.read.sort_unstable();
    all.again += overlaps(&all.read);
    all.read = joined(&all.read);
    all
}

/// The gauges of a task that has ended: its counts, without what is only true of a running one.
#[must_use]
pub fn ended(task: Gauges) -> Gauges {
    let stages = task.stages.into_iter().map(|stage| StageGauges {
        queue: 0,
        workers: 0,
        idle: 0,
        batch: 0,
        policy: BTreeMap::new(),
        ..stage
    });
    Gauges { stages: stages.collect(), rss_bytes: 0, open_files: 0, ..task }
}

/// What a task that was halted has counted, as the books of a process that died: whatever was open there has failed.
#[must_use]
pub fn crashed(Halted { mut gauges, mut requests }: Halted) -> Halted {
    let ledgers = [&mut gauges.ledger, &mut gauges.calls.read, &mut requests.ledger];
    for ledger in ledgers {
        ledger.errors += std::mem::take(&mut ledger.in_flight);
        ledger.connections_open = 0;
    }
    for made in &mut gauges.calls.made {
        made.counts.failed += std::mem::take(&mut made.counts.open);
    }
    let read = gauges.stages.iter_mut().find(|row| row.name == "read");
    read.into_iter().for_each(|row| *row.counts.entry(CRASHES.to_owned()).or_default() += 1);
    Halted { gauges: ended(gauges), requests }
}

/// The gauges of a task `now`, with the counts of the processes that were this task before.
#[must_use]
pub fn continued(before: &Gauges, now: Gauges) -> Gauges {
    let mut all = now;
    add(&mut all.ledger, &before.ledger);
    add(&mut all.calls.read, &before.calls.read);
    all.cpu_s += before.cpu_s;
    all.panics += before.panics;
    all.events_dropped += before.events_dropped;
    for (stage, before) in all.stages.iter_mut().zip(&before.stages) {
        *stage = together(stage.name.clone(), &[(0, before), (0, stage)]);
    }
    for (made, before) in all.calls.made.iter_mut().zip(&before.calls.made) {
        made.counts.add(&before.counts);
        made.written += before.written;
        made.turned_back += before.turned_back;
        made.contradictions += before.contradictions;
    }
    all
}

/// Merges equal stages of several tasks: counts are added, gauges averaged over the tasks whose policy has any.
fn together(name: String, stages: &[(usize, &StageGauges)]) -> StageGauges {
    let mut all = StageGauges { name, ..StageGauges::default() };
    let with_gauges = stages.iter().filter(|(_, stage)| !stage.policy.is_empty()).count();
    for (_, stage) in stages {
        all.queue += stage.queue;
        all.workers += stage.workers;
        all.idle += stage.idle;
        all.batch = all.batch.max(stage.batch);
        all.offered += stage.offered;
        all.admitted += stage.admitted;
        all.refused += stage.refused;
        all.completed += stage.completed;
        all.busy_ms += stage.busy_ms;
        all.policy_name.clone_from(&stage.policy_name);
        for (gauge, value) in &stage.policy {
            *all.policy.entry(gauge.clone()).or_default() += value / with_gauges as f64;
        }
        for (counter, count) in &stage.counts {
            *all.counts.entry(counter.clone()).or_default() += count;
        }
    }
    all
}

pub fn add(all: &mut ServerLedger, one: &ServerLedger) {
    all.connections_accepted += one.connections_accepted;
    all.connections_refused += one.connections_refused;
    all.connections_evicted += one.connections_evicted;
    all.connections_open += one.connections_open;
    all.accept_errors += one.accept_errors;
    all.requests_read += one.requests_read;
    all.malformed += one.malformed;
    all.served += one.served;
    all.at_fault += one.at_fault;
    all.errors += one.errors;
    all.client_gone += one.client_gone;
    all.in_flight += one.in_flight;
    all.checks += one.checks;
    all.degraded += one.degraded;
    for (reason, count) in &one.refused {
        *all.refused.entry(reason.clone()).or_default() += count;
    }
}

/// The number of numbers that are in two runs.
fn overlaps(runs: &[[u64; 2]]) -> u64 {
    let mut end = None::<u64>;
    let mut twice = 0;
    for &[first, last] in runs {
        if let Some(end) = end.filter(|end| *end >= first) {
            twice += end.min(last) - first + 1;
        }
        end = Some(end.map_or(last, |end| end.max(last)));
    }
    twice
}

/// Merges adjacent runs in order.
fn joined(runs: &[[u64; 2]]) -> Vec<[u64; 2]> {
    let mut all: Vec<[u64; 2]> = Vec::new();
    for &[first, last] in runs {
        match all.last_mut() {
            Some([_, end]) if first <= end.saturating_add(1) => *end = (*end).max(last),
            _ => all.push([first, last]),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::wire::CallBooks;

    #[test]
    fn what_callers_policies_were_told_wrongly_is_in_the_row_of_the_calls() {
        let made = |contradictions| MadeCalls { to: "back".to_owned(), contradictions, ..MadeCalls::default() };
        let task = |made| Gauges { calls: CallBooks { made: vec![made], ..CallBooks::default() }, ..Gauges::default() };
        let row = |tasks| gauges_of(&[("front", tasks)]).stages.remove(0);
        let shown = row(vec![task(made(1)), task(made(2))]);
        assert_eq!((shown.name.as_str(), shown.counts[CONTRADICTIONS]), ("front/calls back", 3));
        assert!(!row(vec![task(made(0))]).counts.contains_key(CONTRADICTIONS));
    }

    #[test]
    fn runs_of_several_tasks_become_one_list() {
        let runs = [[0, 0], [1, 3], [3, 5], [7, 7]];
        assert_eq!(joined(&runs), [[0, 5], [7, 7]]);
        assert_eq!(overlaps(&runs), 1);
    }

    #[test]
    fn a_task_that_was_another_process_before_goes_on_counting() {
        let stage = |completed, queue| StageGauges {
            name: "work".to_owned(),
            completed,
            queue,
            policy: [("rate".to_owned(), completed as f64)].into(),
            ..StageGauges::default()
        };
        let task = |read, queue| Gauges {
            ledger: ServerLedger { requests_read: read, ..ServerLedger::default() },
            stages: vec![stage(read, queue)],
            cpu_s: 1.0,
            rss_bytes: 5,
            ..Gauges::default()
        };
        let both = continued(&ended(task(7, 2)), task(3, 1));
        let [stage] = &both.stages[..] else { panic!("one stage") };
        assert_eq!((both.ledger.requests_read, stage.completed, stage.queue), (10, 10, 1), "what waited is gone");
        assert_eq!((stage.policy["rate"], both.cpu_s, both.rss_bytes), (3.0, 2.0, 5));
    }
}
