//! A user model in the form that users walk.

use std::{collections::BTreeMap, time::Duration};

use controllers::Kind;
use traces::{Think, UserModel};

use crate::persona::{Draws, Purpose};

/// The request types of the mail service, in the order of their [`controllers::Kind`].
pub const REQUEST_TYPES: [&str; 10] = [
    "login",
    "list folders",
    "list messages",
    "show message",
    "delete",
    "refile",
    "search",
    "create folder",
    "delete folder",
    "other",
];

/// A state of the model; its number is the [`Kind`] of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum State {
    Login,
    ListFolders,
    ListMessages,
    ShowMessage,
    Delete,
    Refile,
    Search,
}

impl State {
    pub(super) const COUNT: usize = 7;
    pub(super) const ALL: [Self; Self::COUNT] = [
        Self::Login,
        Self::ListFolders,
        Self::ListMessages,
        Self::ShowMessage,
        Self::Delete,
        Self::Refile,
        Self::Search,
    ];

    pub(super) fn kind(self) -> Kind {
        Kind(self as u16)
    }

    /// The state of this request type; `None`: web-mail users do not know it.
    pub(super) fn of(kind: Kind) -> Option<Self> {
        Self::ALL.get(usize::from(kind.0)).copied()
    }

    pub(super) fn name(self) -> &'static str {
        REQUEST_TYPES[self as usize]
    }

    fn named(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|state| state.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            format!("has a state `{name}`, which web-mail users do not have; they have {known}")
        })
    }
}

/// The states that may follow, with their probabilities.
type Row = Vec<(State, f64)>;

/// Rows and think times by state.
#[derive(Debug)]
pub(super) struct Walk {
    rows: [Row; State::COUNT],
    /// Rows of second order, by the state before and the state; empty without such a row.
    second: [[Row; State::COUNT]; State::COUNT],
    think: [Option<Think>; State::COUNT],
    /// Pauses of single transitions, where they have their own: from, to.
    think_to: [[Option<Think>; State::COUNT]; State::COUNT],
}

impl Walk {
    pub(super) fn new(model: &UserModel) -> Result<Self, String> {
        model.check().map_err(|error| error.to_string())?;
        if model.start != State::Login.name() {
            return Err(format!("starts at `{}`; web-mail users start at `login`", model.start));
        }
        let mut walk = Self {
            rows: Default::default(),
            second: Default::default(),
            think: Default::default(),
            think_to: Default::default(),
        };
        for (from, row) in &model.transitions {
            walk.rows[State::named(from)? as usize] = cells(row)?;
        }
        for (from, rows) in &model.second {
            for (before, row) in rows {
                walk.second[State::named(before)? as usize][State::named(from)? as usize] = cells(row)?;
            }
        }
        for (state, think) in &model.think {
            walk.think[State::named(state)? as usize] = Some(think.clone());
        }
        for (from, laws) in &model.think_to {
            for (to, think) in laws {
                walk.think_to[State::named(from)? as usize][State::named(to)? as usize] = Some(think.clone());
            }
        }
        for back in [State::Login, State::ListFolders, State::ListMessages, State::ShowMessage, State::Search] {
            if walk.rows[back as usize].is_empty() && walk.leads_to(back) {
                return Err(format!(
                    "has no row for `{}`: only `delete` and `refile` go back to the page before; give it a row",
                    back.name()
                ));
            }
        }
        Ok(walk)
    }

    fn leads_to(&self, state: State) -> bool {
        state == State::Login || self.rows.iter().flatten().any(|&(to, _)| to == state)
    }

    /// The state before, if it matters for what follows: if there is a row of second order for the two.
    pub(super) fn matters(&self, before: Option<State>, from: State) -> Option<State> {
        before.filter(|before| !self.second[*before as usize][from as usize].is_empty())
    }

    /// The states that may follow these two; empty: the page before follows.
    pub(super) fn row(&self, before: Option<State>, from: State) -> impl Iterator<Item = State> {
        self.cells(before, from).iter().map(|&(to, _)| to)
    }

    fn cells(&self, before: Option<State>, from: State) -> &Row {
        let second = self.matters(before, from).map(|before| &self.second[before as usize][from as usize]);
        second.unwrap_or(&self.rows[from as usize])
    }

    /// Draws the next state; `None`: the page before.
    pub(super) fn draw(&self, before: Option<State>, from: State, draws: &Draws) -> Option<State> {
        let row = self.cells(before, from);
        let mut left = draws.uniform(Purpose::Transition);
        for &(to, chance) in row {
            if left < chance {
                return Some(to);
            }
            left -= chance;
        }
        // Rounding may leave the row's sum slightly below one.
        row.last().map(|&(to, _)| to)
    }

    /// The pause after a page of this state: that of the transition, if it has its own.
    pub(super) fn think(&self, at: State, to: Option<State>, draws: &Draws) -> Duration {
        let own = to.and_then(|to| self.think_to[at as usize][to as usize].as_ref());
        own.or(self.think[at as usize].as_ref()).map_or(Duration::ZERO, |law| draws.pause(law, Purpose::Think))
    }
}

/// A row, in the order of the states, so that a draw has the same meaning in whichever order the file lists them.
fn cells(row: &BTreeMap<String, f64>) -> Result<Row, String> {
    let cells = row.iter().filter(|&(_, &chance)| chance > 0.0);
    let mut cells = cells.map(|(to, &chance)| Ok((State::named(to)?, chance))).collect::<Result<Row, String>>()?;
    cells.sort_by_key(|&(to, _)| to as u8);
    Ok(cells)
}
