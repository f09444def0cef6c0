//! Duties of a waiting room once a second: it reads its keys, tells the other replicas, and has its capacity estimated.

use std::{
    sync::{Arc, Weak},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use controllers::webq::{CapacityState, EpochSample, RoomAction, RoomNext, Subunits};
use live_service::stage::{lock, spawn};
use serde_json::{Value, json};

use super::{Room, replicas};

/// The wall clock of machines may lag by one tick of the kernel.
const TICK: Duration = Duration::from_millis(5);

/// Does what the room wants done as each second begins, for as long as there is a room: a report that comes late in its second
/// is a second's bookings late. `log` gets the name of each change, and what it says.
pub(crate) async fn keep_time(room: Weak<Room>, log: impl Fn(&str, &Value) + Clone + Send + Sync + 'static) {
    if let Some(room) = room.upgrade() {
        spawn(replicas::hear(room));
    }
    loop {
        let into_second = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
        tokio::time::sleep(Duration::from_secs(1).saturating_sub(Duration::from_nanos(into_second.into())) + TICK)
            .await;
        let Some(room) = room.upgrade() else { return };
        work(&room, &log);
    }
}

fn work(room: &Arc<Room>, log: &(impl Fn(&str, &Value) + Clone + Send + 'static)) {
    let now = room.clock.wall();
    match room.keys.look(now) {
        Ok(0) => {}
        Ok(added) => log("keys", &json!({"added": added})),
        Err(error) => log("keys", &json!({"error": error})),
    }
    loop {
        let next = lock(&room.machine).poll(now);
        match next {
            RoomNext::WakeAt(_) => return,
            RoomNext::Do(RoomAction::Report(report)) => room.report(&report),
            RoomNext::Do(RoomAction::Estimate(samples)) => {
                let (room, log) = (Arc::clone(room), log.clone());
                tokio::task::spawn_blocking(move || compute(&room, &log, &samples));
            }
            RoomNext::Do(RoomAction::Capacity(state)) => log("capacity", &shown(state)),
            RoomNext::Do(RoomAction::Ignored(_)) => {} // counted
        }
    }
}

/// Some thousand fits: milliseconds to tens of them, on a thread that answers no requests.
fn compute(room: &Room, log: &impl Fn(&str, &Value), samples: &[EpochSample]) {
    let found = room.spec.search.estimate(samples, room.seed);
    if let Err(not_yet) = &found {
        log("no_estimate", &json!({"why": not_yet.to_string()}));
    }
    lock(&room.machine).estimated(room.clock.wall(), found);
}

fn shown(state: CapacityState) -> Value {
    json!({"state": state.name(), "per_s": state.known().map(Subunits::as_f64)})
}
