//! What an agent's owner lets it send, whoever asks.

use std::time::Duration;

use measure::Window;
use workloads::{
    persona::Stay,
    plan::LoadPlan,
    schedule::{Schedule, ScheduleChange},
};

/// Limits of one agent.
#[derive(Debug, Clone)]
pub struct AgentLimits {
    /// Hosts beyond its machine.
    pub allow_host: Vec<String>,
    /// Requests a second.
    pub most_rate: u64,
    /// Users at once.
    pub most_users: u64,
    /// Time of a load, without its drain.
    pub longest: Duration,
}

impl AgentLimits {
    /// Checks this agent's part of a plan. `counted`: it ends with a number of requests, and its time is in no plan.
    ///
    /// # Errors
    /// What is too much, and what would be let through.
    pub fn check(&self, plan: &LoadPlan, counted: bool) -> Result<(), String> {
        let lasts: Duration = plan.phases.iter().map(|phase| phase.duration).sum();
        if lasts > self.longest && !counted {
            let (lasts, most) = (lasts.as_secs_f64(), self.longest.as_secs_f64());
            return Err(format!("it lasts {lasts:.0} s, and this agent sends for {most:.0} s at most (--longest)"));
        }
        let Peak { users, in_a_second } = Peak::of(plan, self);
        if users > self.most_users {
            let most = self.most_users;
            return Err(format!("its part has over {most} users, the most that this agent has (--most-users)"));
        }
        if in_a_second > self.most_rate {
            let most = self.most_rate;
            return Err(format!(
                "its part has over {most} arrivals in a second, the most that this agent sends (--most-rate)"
            ));
        }
        Ok(())
    }

    /// The limit that a second broke: how often users of a closed load ask is in no plan, nor how long a number of requests takes.
    pub fn broken(&self, second: &Window) -> Option<String> {
        let (most, longest) = (self.most_rate, self.longest.as_secs_f64());
        if second.sent > most {
            return Some(format!(
                "it sent {} requests in a second, and {most} are let through (--most-rate)",
                second.sent
            ));
        }
        // Nothing is planned for the seconds of a drain.
        let is_late = second.second as f64 >= longest && second.sent > 0;
        is_late.then(|| format!("it has sent for {longest:.0} s, and no longer is let through (--longest)"))
    }
}

/// The most of a plan.
struct Peak {
    users: u64,
    /// Users who come and go, of whom each sends at least once.
    in_a_second: u64,
}

impl Peak {
    /// Counts until a limit is passed.
    fn of(plan: &LoadPlan, limits: &AgentLimits) -> Self {
        let (mut staying, mut peak) = (0_u64, Self { users: 0, in_a_second: 0 });
        let (mut second, mut count) = (0, 0);
        for event in Schedule::new(plan) {
            match event.what {
                ScheduleChange::Arrive(arrival) if arrival.stay == Stay::Forever => staying += 1,
                ScheduleChange::Arrive(_) => {
                    let at = event.at.as_nanos() / 1_000_000_000;
                    (second, count) = if at == second { (second, count + 1) } else { (at, 1) };
                    peak.in_a_second = peak.in_a_second.max(count);
                }
                ScheduleChange::Depart(_) => staying = staying.saturating_sub(1),
                _ => {}
            }
            peak.users = peak.users.max(staying);
            if peak.users > limits.most_users || peak.in_a_second > limits.most_rate {
                break;
            }
        }
        peak
    }
}

#[cfg(test)]
mod tests {
    use controllers::Class;
    use workloads::plan::{ArrivalLaw, Load, Phase, Target, UrlUsers, Users};

    use super::*;

    fn plan(load: Load) -> LoadPlan {
        let phase = Phase { name: "load".to_owned(), duration: Duration::from_secs(10), loads: vec![load] };
        LoadPlan::new(Target::at(([127, 0, 0, 1], 1).into()), Users::Url(UrlUsers::new("/")), vec![phase])
    }

    #[test]
    fn what_is_over_a_limit_is_refused_by_its_name() {
        let limits =
            AgentLimits { allow_host: Vec::new(), most_rate: 100, most_users: 50, longest: Duration::from_secs(10) };
        let requests = |rate| Load::Requests {
            from_per_s: rate,
            to_per_s: rate,
            law: ArrivalLaw::Constant,
            class: Class::default(),
        };
        assert_eq!(limits.check(&plan(requests(90.0)), false), Ok(()));
        assert!(limits.check(&plan(requests(200.0)), false).is_err_and(|why| why.contains("--most-rate")));
        assert_eq!(limits.check(&plan(Load::users(50)), false), Ok(()));
        assert!(limits.check(&plan(Load::users(51)), false).is_err_and(|why| why.contains("--most-users")));
        let mut long = plan(Load::users(1));
        long.phases.push(long.phases[0].clone());
        assert!(limits.check(&long, false).is_err_and(|why| why.contains("--longest")));
        assert_eq!(limits.check(&long, true), Ok(()));
        // Its part alone counts.
        let half = LoadPlan { shard: measure::Shard::new(1, 2), ..plan(Load::users(100)) };
        assert_eq!(limits.check(&half, false), Ok(()));
        assert_eq!(limits.broken(&Window { sent: 100, ..Window::default() }), None);
        assert!(limits.broken(&Window { sent: 101, ..Window::default() }).is_some());
        assert!(limits.broken(&Window { second: 10, sent: 1, ..Window::default() }).is_some());
        assert_eq!(limits.broken(&Window { second: 10, sent: 0, ..Window::default() }), None);
    }
}
