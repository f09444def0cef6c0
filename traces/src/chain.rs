//! The chain behind a model: what users' next page depends on, and the chances of the next.

use std::collections::BTreeMap;

use crate::{PreviousPage, UserModel};

/// A state, and the one that it was reached from where that matters: for states without a row, and where there is a row of second
/// order for the two.
pub type ChainState<'a> = (&'a str, Option<&'a str>);

/// Places that sessions come to, and the chances to go from one to another. The start comes first.
#[derive(Debug)]
pub struct Chain<'a> {
    /// In the order in which they are reached.
    pub places: Vec<ChainState<'a>>,
    /// By place: the next, and its chance.
    pub rows: Vec<BTreeMap<usize, f64>>,
}

impl<'a> Chain<'a> {
    /// The chain of a model whose rows are sound.
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

    /// A place from which no session ends, if there is one.
    pub fn trap(&self) -> Option<ChainState<'a>> {
        let mut ends = vec![false; self.places.len()];
        ends[0] = true;
        // As long as the ends of one more place become known.
        while let Some(at) = (0..ends.len()).find(|&at| !ends[at] && self.rows[at].keys().any(|&next| ends[next])) {
            ends[at] = true;
        }
        ends.iter().position(|ends| !ends).map(|at| self.places[at])
    }
}

/// Where users go from a place.
fn next<'a>(model: &'a UserModel, previous: PreviousPage, (state, from): ChainState<'a>) -> Vec<(ChainState<'a>, f64)> {
    let row = from.map_or_else(|| model.transitions.get(state), |from| model.row(from, state));
    match (row, from) {
        (Some(row), _) => {
            let ways = row.iter().filter(|(_, chance)| **chance > 0.0);
            ways.map(|(to, &chance)| (place(model, to, state), chance)).collect()
        }
        (None, Some(from)) => {
            // A model need not have the list that this reading goes back to.
            let back = Some(previous.after(from)).filter(|back| model.transitions.contains_key(*back));
            vec![(place(model, back.unwrap_or(from), state), 1.0)]
        }
        // The start has a row, and every other place was reached from one.
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
