//! The Markov chain of a model: its states, and the probabilities of the next page.

use std::collections::BTreeMap;

use crate::{PreviousPage, UserModel};

/// A state of the chain: the page, and the previous page where the next one depends on it (pages without a row, and
/// pairs of pages with a row of second order).
pub type ChainState<'a> = (&'a str, Option<&'a str>);

/// The reachable states of sessions with their transition probabilities. The start comes first.
#[derive(Debug)]
pub struct Chain<'a> {
    /// States in the order of discovery.
    pub places: Vec<ChainState<'a>>,
    /// By state: the next states with their probabilities.
    pub rows: Vec<BTreeMap<usize, f64>>,
}

impl<'a> Chain<'a> {
    /// Builds the chain of a model with valid rows.
    pub fn of(model: &'a UserModel, previous: PreviousPage) -> Self {
        let mut chain = Self { places: vec![(model.start.as_str(), None)], rows: Vec::new() };
        while let Some(&place) = chain.places.get(chain.rows.len()) {
            let mut row = BTreeMap::new();
            for (to, chance) in next(model, previous, place) {
                let at = chain.places.iter().position(|&known| known == to).unwrap_or_else(|| {
                    chain.places.push(to);
                    chain.places.len() - 1
                });
                *row.entry(at).or_insert(0.0) += chance;
            }
            chain.rows.push(row);
        }
        chain
    }

    /// A state from which no session ends, if there is one.
    pub fn trap(&self) -> Option<ChainState<'a>> {
        let mut ends = vec![false; self.places.len()];
        ends[0] = true;
        // Repeated until no further state is known to reach the end.
        while let Some(at) = (0..ends.len()).find(|&at| !ends[at] && self.rows[at].keys().any(|&next| ends[next])) {
            ends[at] = true;
        }
        ends.iter().position(|ends| !ends).map(|at| self.places[at])
    }
}

/// The next states of a state with their probabilities.
fn next<'a>(model: &'a UserModel, previous: PreviousPage, (state, from): ChainState<'a>) -> Vec<(ChainState<'a>, f64)> {
    let row = from.map_or_else(|| model.transitions.get(state), |from| model.row(from, state));
    match (row, from) {
        (Some(row), _) => {
            let ways = row.iter().filter(|(_, chance)| **chance > 0.0);
            ways.map(|(to, &chance)| (place(model, to, state), chance)).collect()
        }
        (None, Some(from)) => {
            // The list that this reading returns to can be missing in a model.
            let back = Some(previous.after(from)).filter(|back| model.transitions.contains_key(*back));
            vec![(place(model, back.unwrap_or(from), state), 1.0)]
        }
        // The start has a row, and every other state was reached from one with a row.
        (None, None) => Vec::new(),
    }
}

fn place<'a>(model: &'a UserModel, state: &'a str, from: &'a str) -> ChainState<'a> {
    let has_second = model.second.get(state).is_some_and(|rows| rows.contains_key(from));
    (state, (has_second || !model.transitions.contains_key(state)).then_some(from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_before_is_part_of_a_place_where_it_matters() {
        let model = UserModel::from_yaml(
            "{version: 2, name: x, source: y, start: login, transitions: {login: {list: 1},
              list: {login: 0.25, delete: 0.5, list: 0.25}}, second: {list: {delete: {login: 1}}}}",
        )
        .expect("it is sound");
        let chain = Chain::of(&model, PreviousPage::Literal);
        let places = [("login", None), ("list", None), ("delete", Some("list")), ("list", Some("delete"))];
        assert_eq!(chain.places, places);
        assert_eq!(chain.rows[1], BTreeMap::from([(0, 0.25), (1, 0.25), (2, 0.5)]));
        assert_eq!((&chain.rows[2], &chain.rows[3]), (&BTreeMap::from([(3, 1.0)]), &BTreeMap::from([(0, 1.0)])));
        assert_eq!(chain.trap(), None);
    }
}
