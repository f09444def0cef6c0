//! Zones of nginx's limits: a state for each value of a key, in bounded memory.

use std::collections::BTreeMap;

use crate::{
    Tags,
    entry::{Choice, ParamDeclaration, choice},
    flow::{FlowBy, FlowKey},
};

/// The key of a zone; `None`: one state for the whole server.
pub type ZoneKey = Option<FlowBy>;

pub const KEY: ParamDeclaration<Choice<ZoneKey>> = ParamDeclaration {
    kind: choice(
        ("server", None),
        &[
            ("user", Some(FlowBy::User)),
            ("customer", Some(FlowBy::Customer)),
            ("class", Some(FlowBy::Class)),
            ("kind", Some(FlowBy::Kind)),
        ],
    ),
    about: "whose requests are counted together: all, those of a user, customer or class, or of a type",
    source: "the key of a zone: $server_name, $binary_remote_addr and the like",
};

/// States by key. Those that are as new are forgotten when there are many.
#[derive(Debug)]
pub struct Zones<T> {
    by: ZoneKey,
    states: BTreeMap<Option<FlowKey>, T>,
    sweep_at: usize,
}

/// States that are kept at least: keys come from clients, and memory is bounded.
const LEAST: usize = 1024;

impl<T> Zones<T> {
    pub fn new(by: ZoneKey) -> Self {
        Self { by, states: BTreeMap::new(), sweep_at: LEAST }
    }

    /// The state of a job's key; `None`: there is none.
    pub fn of(&mut self, tags: &Tags) -> Option<&mut T> {
        self.states.get_mut(&self.by.map(|by| by.flow(tags)))
    }

    /// Sets the first state of a job's key. `is_new`: a state that is worth no memory.
    pub fn begin(&mut self, tags: &Tags, state: T, is_new: impl Fn(&T) -> bool) {
        if self.states.len() >= self.sweep_at {
            self.states.retain(|_, state| !is_new(state));
            self.sweep_at = (2 * self.states.len()).max(LEAST);
        }
        self.states.insert(self.by.map(|by| by.flow(tags)), state);
    }

    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.states.values()
    }

    pub fn len(&self) -> usize {
        self.states.len()
    }
}
