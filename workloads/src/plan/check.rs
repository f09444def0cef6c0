//! Checks that a plan can be carried out.

use std::time::Duration;

use crate::background::BackgroundRole;

use super::{ArrivalLaw, Behaviour, ClientScope, ClientSpec, ConnectionHabit, Load, LoadPlan, Phase, Users};

/// A plan that cannot be carried out.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{place} {problem}")]
pub struct PlanError {
    /// The place in the plan.
    pub place: String,
    /// The problem, and its remedy.
    pub problem: String,
}

/// More than any generator sends; a plan beyond it is a typing error, and its schedule would take for ever to compute.
const MOST_PER_S: f64 = 10_000_000.0;
const LONGEST: Duration = traces::think::LONGEST;

impl LoadPlan {
    /// Checks that the plan can be carried out.
    ///
    /// # Errors
    /// The first problem found, with its place.
    pub fn check(&self) -> Result<(), PlanError> {
        if self.phases.is_empty() {
            return problem("the plan", "has no phases: give it at least one");
        }
        for (name, time) in
            [("timeout", self.timeout), ("connect_timeout", self.connect_timeout), ("objective", self.objective)]
        {
            if time.is_zero() || time > LONGEST {
                return problem(name, &format!("is {time:?}, and must be between 1 ns and a year"));
            }
        }
        let total = self.phases.iter().try_fold(Duration::ZERO, |sum, phase| sum.checked_add(phase.duration));
        if total.is_none_or(|total| total > LONGEST) {
            return problem("the plan", "lasts longer than a year: shorten its phases");
        }
        for (number, phase) in self.phases.iter().enumerate() {
            if self.phases[..number].iter().any(|other| other.name == phase.name) {
                return problem(&place(phase), "has the name of an earlier phase: tables could not tell them apart");
            }
            phase.check()?;
        }
        if let Some(entry) = self.target.entries.iter().find(|entry| entry.tasks.is_empty()) {
            return problem("an entry", &format!("of class {:?} has no tasks: name one at least", entry.class));
        }
        if let ConnectionHabit::Mixed { keep } = self.users.connections()
            && !(0.0..=1.0).contains(&keep)
        {
            return problem("connections", &format!("are kept by a share of {keep}, and it must be from 0 to 1"));
        }
        if let Some(Err(problems)) = self.client.as_ref().map(ClientSpec::resolve) {
            let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
            return problem("client", &format!("cannot be: {}", all.join("; ")));
        }
        self.check_shard()?;
        self.users.behaviour().check()
    }

    /// Checks that its part can be sent alone: what is one for all users can be in one process alone.
    ///
    /// # Errors
    /// What cannot.
    pub fn check_shard(&self) -> Result<(), PlanError> {
        let Some(shard) = self.shard else { return Ok(()) };
        let cannot = |what: &str| problem(&format!("part {shard}"), what);
        match self.client.as_ref().map(|client| client.scope) {
            None | Some(ClientScope::User) => {}
            Some(ClientScope::All) => {
                return cannot("cannot be sent alone: one policy decides for all users (scope: all)");
            }
            Some(ClientScope::Group(_)) => {
                return cannot("cannot be sent alone: users of a group share a policy, and would be in several parts");
            }
        }
        if matches!(&self.users, Users::Script(users) if users.conduct.shares_token > 0.0) {
            return cannot("cannot be sent alone: users show the tokens of others, who would be in another part");
        }
        if self.target.entries.iter().any(|entry| entry.cap > 0) {
            return cannot("cannot be sent alone: a balancer counts what is under way of all users (cap)");
        }
        match self.connections() {
            ConnectionHabit::Shared { most: Some(0) } => {
                cannot("has no connection left: all parts share fewer than there are parts")
            }
            _ => Ok(()),
        }
    }
}

impl Phase {
    fn check(&self) -> Result<(), PlanError> {
        if self.duration.is_zero() {
            return problem(&place(self), "lasts no time: give it a duration");
        }
        for load in &self.loads {
            match load {
                Load::Present { role: BackgroundRole::Checker { every, .. }, .. }
                    if every.is_zero() || *every > LONGEST =>
                {
                    return problem(&place(self), "has checks without a time between them: 1 ns to a year");
                }
                Load::Wave { period, .. } if period.is_zero() || *period > LONGEST => {
                    return problem(&place(self), "has a sine without a period: 1 ns to a year");
                }
                _ => {}
            }
            let Some((rate, law)) = load.rate(self.duration) else { continue };
            if let Some(wrong) = law.problem() {
                return problem(&place(self), &wrong);
            }
            for rate in rate.extremes() {
                if !(0.0..=MOST_PER_S).contains(&rate) {
                    let allowed = format!("has a rate of {rate}/s, and it must be from 0 to {MOST_PER_S}/s");
                    return problem(&place(self), &allowed);
                }
            }
        }
        Ok(())
    }
}

impl Behaviour {
    fn check(&self) -> Result<(), PlanError> {
        if let Some(share) = self.retry_budget
            && !(0.0..1.0).contains(&share)
        {
            return problem(
                "retry_budget",
                &format!("is {share}, and must be from 0 to under 1 (leave it out for none)"),
            );
        }
        match self.patience.as_ref().and_then(|patience| patience.lasts.problem()) {
            Some(law) => problem("patience", &format!("cannot be: {law}")),
            None => Ok(()),
        }
    }
}

impl ArrivalLaw {
    /// The law's name in experiment files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Poisson => "poisson",
            Self::Constant => "constant",
            Self::Burst { .. } => "burst",
        }
    }

    /// What cannot be about it.
    #[must_use]
    pub fn problem(self) -> Option<String> {
        let Self::Burst { peak, on, off } = self else { return None };
        if [on, off].iter().any(|mean| mean.is_zero() || *mean > LONGEST) {
            return Some("has bursts without a time on and a time off: 1 ns to a year each".to_owned());
        }
        let highest = (on + off).div_duration_f64(on);
        let possible = (1.0..=highest * (1.0 + 1e-9)).contains(&peak);
        (!possible).then(|| {
            format!("has bursts of {peak} times the mean: 1 to {highest:.3}, where nothing is left for the time off")
        })
    }
}

fn place(phase: &Phase) -> String {
    format!("the phase `{}`", phase.name)
}

fn problem(place: &str, problem: &str) -> Result<(), PlanError> {
    Err(PlanError { place: place.into(), problem: problem.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{plan::Users, testing::url_plan};

    fn refused(change: impl Fn(&mut LoadPlan)) -> String {
        let mut plan = url_plan(&[("calm", 10, 3), ("spike", 10, 1000)]);
        assert_eq!(plan.check(), Ok(()));
        change(&mut plan);
        plan.check().expect_err("it cannot be carried out").to_string()
    }

    #[test]
    fn what_cannot_be_carried_out_is_named_with_its_place() {
        assert!(refused(|p| p.phases.clear()).contains("no phases"));
        assert!(refused(|p| p.timeout = Duration::ZERO).contains("timeout"));
        assert!(refused(|p| p.phases[1].duration = Duration::ZERO).contains("`spike` lasts no time"));
        assert!(refused(|p| p.phases[1].duration = Duration::MAX).contains("a year"));
        assert!(refused(|p| p.phases[1].name = "calm".into()).contains("`calm` has the name"));
        for rate in [f64::NAN, f64::INFINITY, -1.0, 1e12] {
            let law = ArrivalLaw::Poisson;
            let class = controllers::Class(0);
            let load = Load::Requests { from_per_s: 1.0, to_per_s: rate, law, class };
            assert!(refused(|p| p.phases[0].loads.push(load.clone())).contains("`calm` has a rate"));
        }
        for (amplitude_per_s, period, said) in [(11.0, 60, "has a rate of -1/s"), (10.0, 0, "without a period")] {
            let (law, class, period) = (ArrivalLaw::Poisson, controllers::Class(0), Duration::from_secs(period));
            let wave = Load::Wave { mean_per_s: 10.0, amplitude_per_s, period, law, class };
            assert!(refused(|p| p.phases[0].loads.push(wave.clone())).contains(said));
        }
        let bursts = |peak, on| {
            let (on, off) = (Duration::from_secs(on), Duration::from_secs(3));
            let (law, class) = (ArrivalLaw::Burst { peak, on, off }, controllers::Class(0));
            Load::Requests { from_per_s: 1.0, to_per_s: 1.0, law, class }
        };
        // On for a quarter of the time: all that comes makes it four times the mean.
        assert!(refused(|p| p.phases[0].loads.push(bursts(4.1, 1))).contains("4.1 times the mean: 1 to 4.000"));
        assert!(refused(|p| p.phases[0].loads.push(bursts(2.0, 0))).contains("without a time on"));
        assert_eq!(
            ArrivalLaw::Burst { peak: 4.0, on: Duration::from_secs(1), off: Duration::from_secs(3) }.problem(),
            None
        );
        let users = |p: &mut LoadPlan, change: &dyn Fn(&mut crate::plan::UrlUsers)| match &mut p.users {
            Users::Url(users) => change(users),
            Users::Mail(_) | Users::Script(_) => unreachable!("they ask for a URL"),
        };
        let keep = refused(|p| users(p, &|u| u.connections = ConnectionHabit::Mixed { keep: 1.5 }));
        assert!(keep.contains("1.5"), "{keep}");
        assert!(refused(|p| users(p, &|u| u.behaviour.retry_budget = Some(1.0))).contains("retry_budget"));
    }
}
