//! The waiting rooms before a target.

use std::{ops::RangeInclusive, time::Duration};

use spec::waiting_room::{HardnessSearch, RoomsSpec, WaitingRoomSpec};

use super::{
    fields::Fields,
    keys::{DurationText, KeyKind, Table, by, count, first_of, flag, table, time},
    rate::per_second,
    raw::{Node, Value},
};

const SKEW: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(30);
const HORIZON: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3600);
const SEARCHES: &[(&str, HardnessSearch)] =
    &[("cma-es", HardnessSearch::CmaEs), ("annealing", HardnessSearch::Annealing)];
const EPOCH: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3600);

table! {
    /// A waiting room ([front doors](front-doors.md)) as published: tokens for addresses, in the URL, and a turn for
    /// each request. [Gauges](#waiting-rooms) show what it does.
    pub(super) struct WaitingRoomKeys as "WaitingRoom" for WaitingRoomSpec {
        capacity: Option<f64> = by::<String, _>(capacity).otherwise("estimated"), "Requests of hardness 1 that are admitted per second";
        hardness: Vec<f64> = by::<Vec<f64>, _>(hardness).otherwise("[1]"), "Work of a request of the classes 0, 1 and so on, in multiples of the least hard request; the last number counts for all further classes. Where it is estimated, one number for each type";
        skew_s: u32 = seconds(SKEW).or(0).key("skew").otherwise("0s").example("2s"), "How early or late a turn may be taken, in whole seconds";
        single_use: bool = flag().or(false), "A turn can be used once";
        horizon_s: u32 = seconds(HORIZON).or(1000).key("horizon").otherwise("1000s").example("600s"), "How far ahead turns can be promised, in whole seconds";
        replicas = count(1..=16_u16).or(1), "Waiting rooms that share the capacity; users of class n ask number n. Live there is one";
        epoch_s: u32 = seconds(EPOCH).or(10).key("epoch").otherwise("10s").example("30s"), "Length of an epoch of the estimate, in whole seconds";
        training_epochs: usize = count(4..=100_000_u32).map(|epochs| epochs as usize).or(84), "Epochs of a training period";
        search: HardnessSearch = first_of(SEARCHES), "How the estimate searches for the hardness of request types: by evolution or by annealing, with the same number of evaluations";
        ..WaitingRoomSpec::as_published()
    }
}

/// A time of whole seconds.
fn seconds(range: RangeInclusive<Duration>) -> KeyKind<Option<u32>, DurationText> {
    time(range).reading(|read| {
        move |fields: &Fields<'_>, key: &str| {
            let time = read(fields, key)?;
            if time.subsec_nanos() > 0 {
                fields.problem(key, "turns are whole seconds", "write 5s");
            }
            u32::try_from(time.as_secs()).ok()
        }
    })
}

/// Reads `waiting_room`.
pub(super) fn waiting_room(fields: &Fields<'_>, key: &str) -> Option<RoomsSpec> {
    fields.node(key)?;
    let inner = fields.fields(key, &super::keys::names::<WaitingRoomKeys>())?;
    let room = WaitingRoomKeys::read(&inner);
    let replicas = inner.count("replicas", 1..=16).map_or(1, |replicas| replicas as u16);
    if replicas > 1 && room.capacity.is_none() {
        inner.problem("replicas", "an estimate sees one replica's requests alone", "give a capacity: 720/s");
    }
    Some(RoomsSpec { room, replicas })
}

fn capacity(fields: &Fields<'_>, key: &str) -> Option<f64> {
    per_second(fields, key, f64::MIN_POSITIVE..=1e6, "write 720/s, up to 1000000/s")
}

fn hardness(fields: &Fields<'_>, key: &str) -> Vec<f64> {
    if fields.node(key).is_none() {
        return vec![1.0];
    }
    let number = |node: &Node| match node.value {
        Value::Number(number) if (0.001..=1000.0).contains(&number) => Some(number),
        _ => None,
    };
    let hardness: Option<Vec<f64>> = fields.list(key).iter().map(number).collect();
    let hardness = hardness.filter(|hardness| !hardness.is_empty());
    if hardness.is_none() {
        fields.problem(key, "expected a list of numbers from 0.001 to 1000", "write [1, 4.2]");
    }
    hardness.unwrap_or_default()
}
