//! Waiting rooms before a plant, and users who follow `Refresh`.

use controllers::site::StageGauges;
use spec::waiting_room::{RoomsSpec, TokenBinding, WaitingRoomSpec};

use super::*;

fn with_room(capacity: f64, replicas: u16) -> TargetSpec {
    let room = WaitingRoomSpec { capacity: Some(capacity), skew_s: 1, ..WaitingRoomSpec::as_published() };
    assert_eq!((room.binding, room.stay_s), (TokenBinding::Address, 0));
    TargetSpec { waiting_room: Some(RoomsSpec { room, replicas }), ..target(policy("none", &[])) }
}

fn row<'a>(gauges: &'a Gauges, name: &str) -> &'a StageGauges {
    gauges.stages.iter().find(|stage| stage.name == name).expect("a waiting room")
}

#[test]
fn users_wait_for_their_turns_and_all_are_served() {
    // Six users for 30 s, two turns a second: 62 in the 31 seconds that have begun by the end, and what was promised then.
    let (finished, gauges) = ran(&url_plan(&[("all", 30, 6)]), &with_room(2.0, 1), &PlantPlan::default());
    let (ledger, room) = (&finished.report.total.measured, row(&gauges, "waiting room"));
    let served = ledger.served + ledger.served_late; // the wait counts
    assert!((56..=66).contains(&served), "{ledger:?}");
    assert_eq!((ledger.rejected, ledger.failed), (0, 0));
    assert_eq!((room.admitted, gauges.ledger.served), (served, served), "who passes is served");
    assert_eq!(room.counts["promised"] + room.counts["early"], gauges.ledger.refused["waiting-room"]);
    // Each that is told to wait comes once more: nobody is late.
    assert_eq!((room.counts["token_late"], room.counts["token_forged"]), (0, 0));
    assert!(ledger.hops + 2 >= served && ledger.hops <= room.counts["promised"], "{ledger:?} {room:?}");
    // Waits are part of the response time for users, and none of the server's.
    let p50 = finished.report.total.measured.response_time_ms.p50.expect("some were served");
    assert!(p50 > 1000.0 && room.policy["response_p99_ms"] < 50.0, "{p50} {room:?}");
}

#[test]
fn without_a_wait_a_room_changes_nothing() {
    let served =
        |spec: &TargetSpec| ran(&url_plan(&[("all", 11, 5)]), spec, &PlantPlan::default()).0.report.total.measured;
    assert_eq!(served(&with_room(1e6, 1)), served(&target(policy("none", &[]))));
}

#[test]
fn replicas_have_their_classes_and_share_the_capacity() {
    let (_, gauges) = ran(&url_plan(&[("all", 30, 6)]), &with_room(6.0, 3), &PlantPlan::default());
    let rows = ["waiting room 0", "waiting room 1", "waiting room 2"].map(|name| row(&gauges, name));
    assert_eq!((rows[1].offered, rows[2].offered), (0, 0), "all users are of class 0");
    assert!(rows[0].admitted > 4 * 30, "0.3 of two are for each of the others: {:?}", rows[0]);
    let shares = rows.map(|row| row.policy["share_per_s"]);
    assert!((shares.iter().sum::<f64>() - 6.0).abs() < 0.01, "{shares:?}");
}
