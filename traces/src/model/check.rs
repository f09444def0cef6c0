//! Checks that users can follow a model.

use std::collections::{BTreeMap, BTreeSet};

use super::{ModelError, UserModel, VERSION, chain::Chain};
use crate::{PreviousPage, Think};

/// The largest deviation of a row's sum from 1, since rows are written with a few decimals.
const CRUMB: f64 = 1e-6;

impl UserModel {
    /// Checks that users can follow the model.
    ///
    /// # Errors
    /// The first problem found: see [`ModelError`].
    pub fn check(&self) -> Result<(), ModelError> {
        if !(1..=VERSION).contains(&self.version) {
            return Err(ModelError::Version(self.version));
        }
        self.transitions.iter().try_for_each(|(from, row)| check_row(from, row))?;
        if !self.transitions.contains_key(&self.start) {
            return Err(ModelError::Start(self.start.clone()));
        }
        let states = self.states();
        let reached = self.reached_from(&self.start);
        if let Some(&state) = states.iter().find(|&&state| state != self.start && !reached.contains(state)) {
            return Err(ModelError::Unreachable(state.into()));
        }
        // A state without a row returns to its previous state, so only states with rows can be traps.
        let endless = self.transitions.keys().find(|from| !self.reached_from(from).contains(self.start.as_str()));
        if let Some(from) = endless {
            return Err(ModelError::Endless { from: from.clone(), start: self.start.clone() });
        }
        self.think_profiles.values().chain([&self.think]).try_for_each(|think| check_think(think, &states))?;
        self.check_ways(&states)?;
        self.check_second()
    }

    /// Rows of second order need a row of first order, with the same next states.
    fn check_second(&self) -> Result<(), ModelError> {
        for (from, rows) in &self.second {
            for (before, row) in rows {
                check_row(&format!("{from}, reached from {before}"), row)?;
                if let Some(problem) = self.problem_of_second(before, from, row) {
                    return Err(ModelError::Second { from: from.clone(), before: before.clone(), problem });
                }
            }
        }
        if self.second.is_empty() {
            return Ok(());
        }
        // Every state may have a way to the end, and a pair of them none.
        let trap = [PreviousPage::Literal, PreviousPage::List].into_iter().find_map(|reading| {
            Chain::of(self, reading).trap().map(|(state, before)| match before {
                Some(before) => format!("{state}, reached from {before}"),
                None => state.to_owned(),
            })
        });
        trap.map_or(Ok(()), |from| Err(ModelError::Endless { from, start: self.start.clone() }))
    }

    fn problem_of_second(&self, before: &str, from: &str, row: &BTreeMap<String, f64>) -> Option<String> {
        if *from == self.start {
            return Some("sessions begin there, and nothing was before it".into());
        }
        let Some(first) = self.transitions.get(from) else {
            return Some(format!("`{from}` has no row under `transitions`; give it one"));
        };
        let leads = |row: &BTreeMap<String, f64>, to: &str| row.get(to).is_some_and(|chance| *chance > 0.0);
        // From a state without a row users return to any previous state.
        let comes = match self.transitions.get(before) {
            Some(row) => leads(row, from),
            None => self.states().contains(before),
        };
        if !comes {
            return Some(format!("nobody goes from `{before}` to `{from}`; take it out"));
        }
        let beyond = row.iter().find(|(to, chance)| **chance > 0.0 && !leads(first, to));
        beyond
            .map(|(to, _)| format!("it leads to `{to}`, and the row of `{from}` does not; give it a chance there too"))
    }

    /// Pauses of single transitions need a possible transition. A state without a row allows any.
    fn check_ways(&self, states: &BTreeSet<&str>) -> Result<(), ModelError> {
        for (from, laws) in &self.think_to {
            for (to, law) in laws {
                let known = states.contains(from.as_str()) && states.contains(to.as_str());
                let row = self.transitions.get(from);
                if !known || row.is_some_and(|row| row.get(to).is_none_or(|chance| *chance <= 0.0)) {
                    return Err(ModelError::ThinkWay { from: from.clone(), to: to.clone() });
                }
                check_law(&format!("{from}, before {to}"), law)?;
            }
        }
        Ok(())
    }

    /// States that can follow this one, at once or later.
    fn reached_from(&self, from: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut todo = vec![from];
        while let Some(state) = todo.pop() {
            for (to, &chance) in self.transitions.get(state).into_iter().flatten() {
                if chance > 0.0 && reached.insert(to.as_str()) {
                    todo.push(to);
                }
            }
        }
        reached
    }
}

fn check_row(from: &str, row: &BTreeMap<String, f64>) -> Result<(), ModelError> {
    for (to, &chance) in row {
        if !(0.0..=1.0).contains(&chance) {
            return Err(ModelError::Chance { from: from.to_owned(), to: to.clone(), chance });
        }
    }
    let sum: f64 = row.values().sum();
    if (sum - 1.0).abs() > CRUMB {
        return Err(ModelError::Sum { from: from.to_owned(), sum });
    }
    Ok(())
}

fn check_think(think: &BTreeMap<String, Think>, states: &BTreeSet<&str>) -> Result<(), ModelError> {
    for (state, law) in think {
        if !states.contains(state.as_str()) {
            return Err(ModelError::ThinkState(state.clone()));
        }
        check_law(state, law)?;
    }
    Ok(())
}

fn check_law(state: &str, law: &Think) -> Result<(), ModelError> {
    law.problem().map_or(Ok(()), |problem| Err(ModelError::ThinkLaw { state: state.to_owned(), problem }))
}
