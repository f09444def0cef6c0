//! What a waiting room does once a second: it reads its keys, tells the other replicas, and has its capacity estimated.

use std::{
    sync::{Arc, Weak},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use controllers::webq::{CapacityState, EpochSample, RoomAction, RoomNext, Subunits};

use super::{Room, replicas};
use crate::{
    proxy::state::Proxy,
    stage::{lock, spawn},
};

/// The wall clock of machines may lag by one tick of the kernel.
const TICK: Duration = Duration::from_millis(5);

/// Does what the room wants done as each second begins, for as long as there is a room: a report that comes late in its second
/// is a second's bookings late.
pub(in crate::proxy) async fn keep_time(proxy: Weak<Proxy>) {
    if let Some(room) = proxy.upgrade().and_then(|proxy| proxy.room.clone()) {
        spawn(replicas::hear(room));
    }
    loop {
        let into_second = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
        tokio::time::sleep(Duration::from_secs(1).saturating_sub(Duration::from_nanos(into_second.into())) + TICK)
            .await;
        let Some(proxy) = proxy.upgrade() else { return };
        let Some(room) = &proxy.room else { return };
        work(room, &proxy);
    }
}

fn work(room: &Arc<Room>, proxy: &Arc<Proxy>) {
    let now = room.clock.wall();
    match room.keys.look(now) {
        Ok(0) => {}
        Ok(added) => proxy.changed("keys", &serde_json::json!({"added": added})),
        Err(error) => proxy.changed("keys", &serde_json::json!({"error": error})),
    }
    loop {
        let next = lock(&room.machine).poll(now);
        match next {
            RoomNext::WakeAt(_) => return,
            RoomNext::Do(RoomAction::Report(report)) => room.report(&report),
            RoomNext::Do(RoomAction::Estimate(samples)) => {
                let (room, proxy) = (Arc::clone(room), Arc::clone(proxy));
                tokio::task::spawn_blocking(move || compute(&room, &proxy, &samples));
            }
            RoomNext::Do(RoomAction::Capacity(state)) => proxy.changed("capacity", &shown(state)),
            RoomNext::Do(RoomAction::Ignored(_)) => {} // counted
        }
    }
}

/// Some thousand fits: milliseconds to tens of them, on a thread that answers no requests.
fn compute(room: &Room, proxy: &Proxy, samples: &[EpochSample]) {
    let found = room.spec.search.estimate(samples, room.seed);
    if let Err(not_yet) = &found {
        proxy.changed("no_estimate", &serde_json::json!({"why": not_yet.to_string()}));
    }
    lock(&room.machine).estimated(room.clock.wall(), found);
}

fn shown(state: CapacityState) -> serde_json::Value {
    serde_json::json!({"state": state.name(), "per_s": state.known().map(Subunits::as_f64)})
}
