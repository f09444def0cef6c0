//! Tokens that users show: their own, another's, or a forged one.

use std::sync::{Arc, Mutex, PoisonError};

use controllers::{Random as _, Seeded};

use crate::{
    persona::{Draws, Purpose},
    plan::Conduct,
};

/// Groups whose tokens are known at once; further ones share a row with an earlier one.
const ROWS: usize = 1024;

/// Whose token a user shows in this session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum TokenHabit {
    #[default]
    Own,
    OfGroup,
    Forged,
}

impl TokenHabit {
    /// Drawn for the session that begins at this step.
    pub(super) fn drawn(conduct: &Conduct, draws: &Draws) -> Self {
        let drawn = draws.uniform(Purpose::Token);
        if drawn < conduct.shares_token {
            Self::OfGroup
        } else if drawn < conduct.shares_token + conduct.forges_token {
            Self::Forged
        } else {
            Self::Own
        }
    }
}

/// The number of a user, and the token that it was given.
type GivenToken = (u32, Arc<str>);

/// The token that a user of each group was given last, for those of the group who show another's. Hosts run one user at
/// a time, so that in virtual time it is the same in every run.
#[derive(Debug)]
pub(super) struct TokenBoard {
    rows: Box<[Mutex<Option<GivenToken>>]>,
    group: u32,
}

impl TokenBoard {
    pub(super) fn of(conduct: &Conduct) -> Self {
        let rows = if conduct.shares_token > 0.0 { ROWS } else { 0 };
        Self { rows: (0..rows).map(|_| Mutex::default()).collect(), group: conduct.group.max(1) }
    }

    fn row(&self, user: u32) -> Option<&Mutex<Option<GivenToken>>> {
        self.rows.get((user / self.group) as usize % self.rows.len().max(1))
    }

    /// Notes that this user was given this token.
    pub(super) fn note(&self, user: u32, token: &str) {
        if let Some(row) = self.row(user) {
            *row.lock().unwrap_or_else(PoisonError::into_inner) = Some((user, token.into()));
        }
    }

    /// A token of another user of the group.
    pub(super) fn other(&self, user: u32) -> Option<Arc<str>> {
        let row = self.row(user)?.lock().unwrap_or_else(PoisonError::into_inner);
        row.as_ref().filter(|(owner, _)| *owner != user).map(|(_, token)| token.clone())
    }
}

/// A token of the same shape with letters and digits drawn anew; it differs from `token` if it has any.
pub(super) fn forged(token: &str, mut random: Seeded) -> String {
    let mut drawn = |first: char, count: u64| {
        let offset = u8::try_from(random.next_u64() % count).unwrap_or_default();
        char::from(first as u8 + offset)
    };
    let draw = |c: char| match c {
        '0'..='9' => drawn('0', 10),
        'a'..='z' => drawn('a', 26),
        'A'..='Z' => drawn('A', 26),
        other => other,
    };
    let forged: String = token.chars().map(draw).collect();
    if forged != token {
        return forged;
    }
    let next = |c: char| match c {
        '9' => '0',
        'z' => 'a',
        'Z' => 'A',
        '0'..='8' | 'a'..='y' | 'A'..='Y' => char::from(c as u8 + 1),
        other => other,
    };
    forged.chars().map(next).collect()
}

/// The value of a parameter in the query of a path.
pub(super) fn query_value<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    let (from, to) = query_place(path, name)?;
    Some(&path[from..to])
}

/// The path with another value of this parameter, if it has it.
pub(super) fn with_query_value(path: &str, name: &str, value: &str) -> Option<String> {
    let (from, to) = query_place(path, name)?;
    Some([&path[..from], value, &path[to..]].concat())
}

/// Where the value of a parameter begins and ends.
fn query_place(path: &str, name: &str) -> Option<(usize, usize)> {
    let query = path.find('?')? + 1;
    let mut from = query;
    for pair in path[query..].split('&') {
        if let Some(value) = pair.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')) {
            return Some((from + pair.len() - value.len(), from + pair.len()));
        }
        from += pair.len() + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_found_by_its_whole_name() {
        let path = "/turn?xtoken=1&token=ab&t=2";
        assert_eq!(query_value(path, "token"), Some("ab"));
        assert_eq!(query_value(path, "oken"), None);
        assert_eq!(query_value("/turn/token=1", "token"), None);
        assert_eq!(with_query_value(path, "token", "z").as_deref(), Some("/turn?xtoken=1&token=z&t=2"));
    }

    #[test]
    fn a_forged_token_has_the_shape_of_a_true_one() {
        let token = "5-Ab9.z";
        for seed in 0..500 {
            let forged = forged(token, Seeded::new(seed));
            assert_ne!(forged, token);
            let shape = |text: &str| -> String {
                let class = |c: char| {
                    if c.is_ascii_digit() {
                        '0'
                    } else if c.is_ascii_lowercase() {
                        'a'
                    } else if c.is_ascii_uppercase() {
                        'A'
                    } else {
                        c
                    }
                };
                text.chars().map(class).collect()
            };
            assert_eq!(shape(&forged), shape(token));
        }
        assert!((0..100).all(|seed| self::forged("7", Seeded::new(seed)) != "7"));
    }

    #[test]
    fn tokens_go_round_in_a_group_alone() {
        let board = TokenBoard::of(&Conduct { shares_token: 0.1, group: 10, ..Conduct::default() });
        board.note(3, "three");
        assert_eq!(board.other(3), None);
        assert_eq!(board.other(9).as_deref(), Some("three"));
        assert_eq!(board.other(10), None);
        let nobody = TokenBoard::of(&Conduct::default());
        nobody.note(3, "three");
        assert_eq!(nobody.other(4), None);
    }
}
