//! What happens at a site, step by step.

use std::time::Duration;

use controllers::{Criticality, Note, Outcome};
use proptest::prelude::*;

use crate::RequestTags;

/// A step. Requests are numbered by arrival; numbers above the last one begin anew.
#[derive(Debug, Clone, Copy)]
pub(super) enum Op {
    Arrive(RequestTags),
    /// The service answers; if the request is held, as soon as it is called.
    Finish(usize, Outcome),
    /// The sender goes away.
    Leave(usize),
    /// So many milliseconds pass.
    Wait(u64),
    /// Another policy takes over.
    Replace,
}

pub(super) fn script() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        12 => tags().prop_map(Op::Arrive),
        8 => (0_usize..64, outcome()).prop_map(|(which, outcome)| Op::Finish(which, outcome)),
        2 => (0_usize..64).prop_map(Op::Leave),
        6 => (1_u64..40).prop_map(Op::Wait),
    ];
    (proptest::collection::vec(op, 10..60), proptest::option::weighted(0.3, 5_usize..50)).prop_map(
        |(mut ops, replace)| {
            if let Some(at) = replace {
                ops.insert(at.min(ops.len()), Op::Replace);
            }
            ops
        },
    )
}

fn tags() -> impl Strategy<Value = RequestTags> {
    let level = proptest::sample::select(&Criticality::ALL[..]);
    (level, 0_u64..5, 0_u32..3, 0_u8..3, proptest::option::of(1_u64..100), proptest::option::of(0_u64..9)).prop_map(
        |(level, user, customer, attempt, left, note)| {
            let mut tags = RequestTags::new().criticality(level).user(user).customer(customer).attempt(attempt);
            tags.time_left = left.map(Duration::from_millis);
            tags.note = note.map(Note);
            tags
        },
    )
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        6 => Just(Outcome::Served),
        1 => Just(Outcome::Failed),
        1 => Just(Outcome::TimedOut),
        2 => any::<bool>().prop_map(|retry| Outcome::Overloaded { retry }),
    ]
}
