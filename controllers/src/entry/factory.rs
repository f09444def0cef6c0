//! Checked settings of an entry, from which policies and machines are made.

use std::fmt;

use super::{Make, Param, ParamKind, Setting, Settings};
use crate::{Machine, Place, Policy, Site};

/// The parameter of entries that aim at nothing but the objective.
const OBJECTIVE: &str = "objective";

/// Checked settings of one entry: creates its policies or machines.
#[derive(Clone)]
pub struct Factory {
    pub(super) settings: Settings,
    pub(super) params: Vec<Param>,
    pub(super) make: Makes,
    /// Of a composition: its parts.
    pub(super) parts: Vec<Factory>,
    pub(super) keeps_queue: bool,
    pub(super) makes_room: bool,
}

#[derive(Clone)]
pub(super) enum Makes {
    Policies(Make<dyn Policy>),
    Machines(Make<dyn Machine>),
    /// A search for the value of another entry's parameter makes nothing itself.
    Nothing,
}

impl fmt::Debug for Factory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Factory").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Factory {
    /// Creates a policy for a site; `None`: the entry is a machine, or a search.
    #[must_use]
    pub fn policy(&self, site: &Site) -> Option<Box<dyn Policy>> {
        match &self.make {
            Makes::Policies(make) => Some(make(site)),
            Makes::Machines(_) | Makes::Nothing => None,
        }
    }

    /// Creates a machine for a site; `None`: the entry is none.
    #[must_use]
    pub fn machine(&self, site: &Site) -> Option<Box<dyn Machine>> {
        match &self.make {
            Makes::Machines(make) => Some(make(site)),
            Makes::Policies(_) | Makes::Nothing => None,
        }
    }

    /// A parameter's setting, or its default; of a composition also a parameter of its parts. `None`: no parameter has
    /// this name, or it has no default.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        let declared = || self.params.iter().find(|param| param.name == name)?.default.as_ref().ok();
        let of_parts = || self.parts.iter().find_map(|part| part.setting(name));
        self.settings.get(name).or_else(declared).or_else(of_parts)
    }

    /// The stages that settings name, each with its parameter. The host checks that they exist.
    pub fn stages(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = std::iter::once(self).chain(&self.parts);
        all.flat_map(Self::own_stages)
    }

    fn own_stages(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let by_stage = self.params.iter().filter(|param| param.kind == ParamKind::StageTimes);
        by_stage.flat_map(|param| {
            let stages = match self.settings.get(param.name) {
                Some(Setting::Map(stages)) => Some(stages.keys()),
                _ => None,
            };
            stages.into_iter().flatten().map(|stage| (param.name, stage.as_str()))
        })
    }

    /// True if the policy, or a part of it, aims at an objective that its settings do not give it. A host whose own nobody has stated should
    /// not make it.
    #[must_use]
    pub fn takes_objective(&self) -> bool {
        let takes = self.params.iter().any(|param| param.name == OBJECTIVE) && !self.settings.contains_key(OBJECTIVE);
        takes || self.parts.iter().any(Self::takes_objective)
    }

    /// The parts of a composition: those named of limit, select and queue, in this order.
    #[must_use]
    pub fn parts(&self) -> &[Self] {
        &self.parts
    }

    /// True for a queue discipline, and for a composition with one.
    #[must_use]
    pub fn keeps_queue(&self) -> bool {
        self.keeps_queue
    }

    /// True if at this place jobs are held until the host says that a worker is free, so that it must know how many there are. Before a
    /// whole service the limit of a composition makes the room in their place.
    #[must_use]
    pub fn counts_workers(&self, place: Place) -> bool {
        self.keeps_queue && !(self.makes_room && place != Place::Stage)
    }
}
