//! The waiting rooms before a target.

use std::{ops::RangeInclusive, time::Duration};

use spec::waiting_room::{HardnessSearch, RoomsSpec, WaitingRoomSpec};

use super::{
    fields::Fields,
    keys::{Table, by, count, first_of, flag, free, table, time},
    load::rate,
    plan::Rate,
    raw::{Node, Value},
};

const SKEW: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(30);
const HORIZON: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3600);
const SEARCHES: &[(&str, HardnessSearch)] =
    &[("cma-es", HardnessSearch::CmaEs), ("annealing", HardnessSearch::Annealing)];
const EPOCH: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3600);

table! {
    /// A waiting room as published: tokens for addresses, in the URL, and a turn for each request.
    pub(super) struct WaitingRoomKeys as "WaitingRoom" {
        capacity: Option<f64> = by::<String, _>(capacity).otherwise("estimated"), "Requests of hardness 1 that are admitted per second";
        hardness = free::<Vec<f64>>().otherwise("[1]"), "Work of a request of the classes 0, 1 and so on, in multiples of the least hard request; the last number counts for all further classes. Where it is estimated, one number for each type";
        skew: Option<Duration> = time(SKEW).otherwise("0s").example("2s"), "How early or late a turn may be taken, in whole seconds";
        single_use: Option<bool> = flag().otherwise(false), "A turn can be used once";
        horizon: Option<Duration> = time(HORIZON).otherwise("1000s").example("600s"), "How far ahead turns can be promised, in whole seconds";
        replicas: u16 = count(1..=16).or(1), "Waiting rooms that share the capacity; users of class n ask number n. Live there is one";
        epoch: Option<Duration> = time(EPOCH).otherwise("10s").example("30s"), "Length of an epoch of the estimate, in whole seconds";
        training_epochs: Option<u32> = count(4..=100_000).otherwise(84), "Epochs of a training period";
        search: HardnessSearch = first_of(SEARCHES), "How the estimate searches for the hardness of request types: by evolution or by annealing, with the same number of evaluations";
    }
}

/// Reads `waiting_room`.
pub(super) fn waiting_room(fields: &Fields<'_>, key: &str) -> Option<RoomsSpec> {
    fields.node(key)?;
    let inner = fields.fields(key, &super::keys::names::<WaitingRoomKeys>())?;
    let keys = WaitingRoomKeys::read(&inner);
    let usual = WaitingRoomSpec::as_published();
    let whole = |key: &str, time: Option<Duration>, usual: u32| match time {
        None => usual,
        Some(time) if time.subsec_nanos() == 0 => u32::try_from(time.as_secs()).unwrap_or(usual),
        Some(_) => {
            inner.problem(key, "turns are whole seconds", "write 5s");
            usual
        }
    };
    let room = WaitingRoomSpec {
        capacity: keys.capacity,
        hardness: hardness(&inner).unwrap_or(usual.hardness.clone()),
        skew_s: whole("skew", keys.skew, usual.skew_s),
        single_use: keys.single_use.unwrap_or(usual.single_use),
        horizon_s: whole("horizon", keys.horizon, usual.horizon_s),
        epoch_s: whole("epoch", keys.epoch, usual.epoch_s),
        training_epochs: keys.training_epochs.map_or(usual.training_epochs, |epochs| epochs as usize),
        search: keys.search,
        ..usual
    };
    if keys.replicas > 1 && room.capacity.is_none() {
        inner.problem("replicas", "an estimate sees one replica's requests alone", "give a capacity: 720/s");
    }
    Some(RoomsSpec { room, replicas: keys.replicas })
}

fn capacity(fields: &Fields<'_>, key: &str) -> Option<f64> {
    let node = fields.node(key)?;
    match rate(node) {
        Some(Rate::PerSecond(rate)) if rate > 0.0 && rate <= 1e6 => Some(rate),
        _ => {
            fields.problem(key, format!("unexpected {}", node.value.shown()), "write 720/s, up to 1000000/s");
            None
        }
    }
}

fn hardness(fields: &Fields<'_>) -> Option<Vec<f64>> {
    fields.node("hardness")?;
    let number = |node: &Node| match node.value {
        Value::Number(number) if (0.001..=1000.0).contains(&number) => Some(number),
        _ => None,
    };
    let hardness: Option<Vec<f64>> = fields.list("hardness").iter().map(number).collect();
    let hardness = hardness.filter(|hardness| !hardness.is_empty());
    if hardness.is_none() {
        fields.problem("hardness", "expected a list of numbers from 0.001 to 1000", "write [1, 4.2]");
    }
    hardness
}
