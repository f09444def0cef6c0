//! Metrics of an arm, from what its users measured.

use std::time::Duration;

use measure::{PhaseReport, Report, WAKE_UP};
use traces::UserModel;

use crate::summary::{Arm, ClockConditions, Conditions, Generator, Measures, PhaseSummary, WalkRow};

/// An arm of which nothing is known but a report.
pub fn arm(report: &Report) -> Arm {
    Arm {
        generator: generator(report),
        conditions: conditions(report),
        phases: report.phases.iter().map(phase).collect(),
        ..Arm::default()
    }
}

/// One phase.
pub fn phase(report: &PhaseReport) -> PhaseSummary {
    PhaseSummary {
        name: report.name.clone(),
        seconds: report.seconds,
        cut_off: report.cut_off,
        users: report.users.and_then(|users| u32::try_from(users).ok()).unwrap_or(0),
        of_oracle: None,
        of_blind: None,
        by_chance_per_s: None,
        beside: (!report.beside.is_nothing()).then_some(report.beside),
        measures: measures(report),
        measured: report.measured.clone(),
        replies: report.replies.clone(),
        by_type: report.by_type.clone(),
        by_class: report.by_class.clone(),
    }
}

/// Measures that the generator knows; the rest follows from the seconds.
fn measures(report: &PhaseReport) -> Measures {
    Measures {
        amplification: report.measured.amplification(),
        user_fairness: report.fairness,
        arrivals: report.arrivals,
        undelayed: report.undelayed,
        ..Measures::default()
    }
}

/// Walk of users through their model, row by row.
pub fn walk(report: &Report, model: Option<&UserModel>) -> Vec<WalkRow> {
    let Some(model) = model else { return Vec::new() };
    let first = report.transitions.iter().filter(|t| t.after.is_none());
    let first = traces::row_fits(model, first.map(|t| (t.from.as_str(), t.to.as_str(), t.drawn.made)));
    let second = report.transitions.iter();
    let second = second.filter_map(|t| Some((t.after.as_deref()?, t.from.as_str(), t.to.as_str(), t.drawn.made)));
    let second = traces::second_fits(model, second).into_iter().map(|(after, fit)| (Some(after), fit));
    let rows = first.into_iter().map(|fit| (None, fit)).chain(second).map(|(after, fit)| {
        let out = report.transitions.iter().filter(|t| t.after == after && t.from == fit.from);
        let to = out.map(|t| (t.to.clone(), t.drawn)).collect();
        // The library's gamma function may differ between machines in its last bits, and nobody reads more than these.
        let p = (fit.seen > 0).then_some((fit.p * 1e9).round() / 1e9);
        WalkRow { after, from: fit.from, made: fit.seen, p, to }
    });
    rows.collect()
}

/// Health of the generator.
pub fn generator(report: &Report) -> Generator {
    let found = &report.generator;
    let health = &found.health;
    let wall = health.wall.as_secs_f64();
    let share_of_wall = |time: Duration| if wall > 0.0 { time.as_secs_f64() / wall } else { 0.0 };
    let own_waits = WAKE_UP.saturating_mul(u32::try_from(health.sender_turns).unwrap_or(u32::MAX));
    Generator {
        cpu: share_of_wall(health.process_cpu),
        run_queue: share_of_wall(health.run_queue_delay),
        crowded: share_of_wall(health.run_queue_delay.saturating_sub(own_waits)),
        core_wait_ms: health.run_queue_delay.as_secs_f64() * 1e3 / health.sender_turns.max(1) as f64,
        send_lag_p99_ms: found.send_lag_p99_ms.or(found.send_lag_max_ms).unwrap_or(0.0),
        send_lag_max_ms: found.send_lag_max_ms.unwrap_or(0.0),
        unsent: found.unsent,
        loop_gap_max_ms: health.largest_gap.as_secs_f64() * 1e3,
        saturated: found.saturated,
        open_files_max: health.descriptors_peak,
        open_files_limit: health.descriptors_limit,
        files_exhausted: health.out_of_descriptors,
        ports_exhausted: health.out_of_ports,
        memory_exhausted: health.out_of_memory,
        panics: health.fiber_panics,
        contradictions: health.contradictions,
        steal: health.steal,
        major_faults: health.major_faults,
        little: report.little.difference(),
        books: report.faults.clone(),
    }
}

/// Conditions that the generator knows; those that only the lab knows are filled in by whoever runs it.
pub fn conditions(report: &Report) -> Conditions {
    let found = &report.generator;
    let health = &found.health;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    Conditions {
        clocks: ClockConditions {
            drift_ppm: health.clocks.drift_ppm,
            step_ms: ms(health.clocks.step),
            suspended_ms: ms(health.clocks.suspended),
            ..ClockConditions::default()
        },
        send_lag_p999_ms: found.send_lag_p999_ms.or(found.send_lag_max_ms).unwrap_or(0.0),
        hiccup_p999_ms: health.gap_p999.map(ms),
        busy_users_max: health.in_flight_peak,
        // In virtual time there is none.
        busy_users_limit: if health.in_flight_limit == u32::MAX { 0 } else { health.in_flight_limit },
        waited_for_turn: health.waited_for_fiber,
        waited_for_connection: health.waited_for_connection,
        unasked: health.unasked,
        ..Conditions::default()
    }
}

#[cfg(test)]
mod tests {
    use controllers::Timestamp;
    use measure::{Health, Recorder, RecorderPhase, RecorderPlan};

    use super::*;

    fn report(phases: Vec<RecorderPhase>, health: Health) -> Report {
        let plan = RecorderPlan {
            shard: None,
            phases,
            classes: Vec::new(),
            timeout: Duration::from_secs(60),
            objective: Duration::from_secs(1),
            class_objectives: std::collections::BTreeMap::new(),
            replays: false,
        };
        Recorder::new(plan, &["request"]).finish(Timestamp::from_secs(10), health)
    }

    #[test]
    fn times_of_the_generator_are_shares_of_the_run() {
        let health = Health {
            wall: Duration::from_secs(10),
            process_cpu: Duration::from_secs(5),
            run_queue_delay: Duration::from_millis(200),
            sender_turns: 2000,
            ..Health::default()
        };
        let report = report(Vec::new(), health);
        let found = generator(&report);
        assert!((found.cpu - 0.5).abs() < 1e-9 && (found.run_queue - 0.02).abs() < 1e-9, "{found:?}");
        // 2000 wake-ups of 25 µs are 50 ms of the 200.
        assert!((found.crowded - 0.015).abs() < 1e-9, "{found:?}");
        assert!((found.core_wait_ms - 0.1).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_phase_has_the_names_that_scripts_rely_on() {
        let calm = RecorderPhase {
            name: "calm".to_owned(),
            duration: Duration::from_secs(10),
            users: Some(6),
            independent: false,
        };
        let report = report(vec![calm], Health::default());
        let phase = serde_json::to_value(phase(&report.phases[0])).expect("it is JSON");
        for name in [
            "name",
            "seconds",
            "users",
            "planned",
            "unsent",
            "refused_locally",
            "connect_failed",
            "sent",
            "served",
            "served_late",
            "rejected",
            "timed_out",
            "failed",
            "abandoned",
            "in_flight",
            "offered_per_s",
            "goodput_per_s",
            "reject_fraction",
            "retries",
            "resent",
            "response_time_ms",
            "response_time_all_ms",
            "reject_time_ms",
            "connect_time_ms",
            "by_type",
            "by_class",
        ] {
            assert!(!phase[name].is_null(), "{name}");
        }
        for name in ["p50", "p90", "p95", "p99", "p999", "max", "mean", "count"] {
            assert!(phase["response_time_ms"].as_object().is_some_and(|times| times.contains_key(name)), "{name}");
        }
        assert!(phase["response_time_ms"]["p90"].is_null(), "too few samples");
    }
}
