//! Settings that are refused.

use super::{
    super::{
        BadParams, Booking, BookingParams, CheckParams, ReplicaId, ReplicaParams, TokenCheck, TokenGen, TokenGenParams,
    },
    ONE,
};

#[test]
fn each_setting_out_of_range_is_refused_by_name() {
    let horizon = |horizon_s| Booking::new(&BookingParams { horizon_s, ..BookingParams::alone() }).err();
    assert_eq!([0, 1, 3600, 3601].map(horizon).map(|bad| bad.is_some()), [true, false, false, true]);
    let replica = |replica: ReplicaParams| Booking::new(&BookingParams { replica, ..BookingParams::alone() }).err();
    let among =
        |ids: &[u16]| ReplicaParams::among(ReplicaId(0), &ids.iter().copied().map(ReplicaId).collect::<Vec<_>>());
    assert_eq!(replica(among(&(1..16).collect::<Vec<_>>())), None);
    assert_eq!(replica(among(&(1..17).collect::<Vec<_>>())), Some(BadParams::Replicas(17)));
    assert_eq!(replica(among(&[1, 2, 1])), Some(BadParams::Twice(ReplicaId(1))));
    assert_eq!(replica(among(&[1, 0])), Some(BadParams::Twice(ReplicaId(0))));
    for reserve in [-0.1, 1.1] {
        assert_eq!(replica(ReplicaParams { reserve, ..among(&[1]) }), Some(BadParams::Reserve(reserve)));
    }
    assert!(replica(ReplicaParams { reserve: f64::NAN, ..among(&[1]) }).is_some());
    let check = |skew_s, single_use| TokenCheck::new(CheckParams { skew_s, single_use }).err();
    assert_eq!([check(30, None), check(31, None)], [None, Some(BadParams::Skew(31))]);
    assert_eq!([check(5, Some(1)), check(5, Some(0))], [None, Some(BadParams::NoMemory)]);
    let machine = |params: TokenGenParams| TokenGen::<()>::new(&params).err();
    let alone = TokenGenParams::alone;
    assert_eq!(machine(TokenGenParams { hardness: vec![], ..alone() }), Some(BadParams::NoTypes));
    assert_eq!(machine(TokenGenParams { hardness: vec![ONE; 9], ..alone() }), None);
    assert_eq!(machine(TokenGenParams { epoch_s: 0, ..alone() }), Some(BadParams::NoEpochs));
    assert_eq!(machine(TokenGenParams { training_epochs: 0, ..alone() }), Some(BadParams::NoEpochs));
    for probe in [0.9, f64::INFINITY] {
        assert_eq!(machine(TokenGenParams { probe, ..alone() }), Some(BadParams::Probe(probe)));
    }
    let message = horizon(0).map(|bad| bad.to_string());
    assert_eq!(message.as_deref(), Some("horizon_s is 0: 1 to 3600 seconds can be booked"));
}
