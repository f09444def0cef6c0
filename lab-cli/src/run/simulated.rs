//! Arms in virtual time: the plan and the target of the live arm, a plant in place of the target's process.

pub(super) mod arm;
pub(super) mod parallel;
pub(super) mod setup;
