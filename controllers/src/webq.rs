//! WebQ's laws as pure machines: a virtual queue of requests before an overloaded server (Suresh, Mondal, Thomas and
//! Vutukuru: *WebQ: A Virtual Queue For Improving User Experience During Web Server Overload*).
//!
//! | part | section | what it decides |
//! |---|---|---|
//! | [`Booking`] | III-A, III-B (equations 1 to 3) | the second in which a request may come, on one replica of TokenGen or on several |
//! | [`TokenCheck`] | II-C | whether a request came in its second, with its own token, once |
//! | [`estimate()`], [`Epochs`] | IV-A, IV-B (equations 4 to 7, algorithm 1) | hardness of request types, and capacity |
//! | [`ChangeDetector`] | IV-C | whether the server is still the one that was measured |
//! | [`TokenGen`] | all | joins booking, replicas and estimate: told facts, polled for actions |
//! | [`WaitingRoom`] | II-B | TokenGen and TokenCheck as one door: who passes, and what the others are told |
//!
//! Work is counted in [`Subunits`], the paper's unit: a request of hardness 4 is four subunits. Time is in whole
//! seconds, as in the paper, since the `Refresh` header knows nothing finer.
//!
//! No entry of the catalogue uses these machines: tokens have to be carried to users and back, which no site does. A
//! waiting room stands before a site, and its hosts carry tokens.

mod bad_params;
mod booking;
mod change;
mod check;
mod cubic;
mod epochs;
mod estimate;
mod queue_share;
mod replica_report;
mod replicas;
mod samples;
mod slots;
mod subunits;
#[cfg(test)]
mod tests;
mod token_gen;
mod waiting_room;

pub use bad_params::BadParams;
pub use booking::{Booked, Booking, BookingCounts, BookingParams, Full};
pub use change::ChangeDetector;
pub use check::{CheckCounts, CheckParams, CheckRefusal, PromisedTurn, TokenCheck};
pub use cubic::Cubic;
pub use epochs::Epochs;
pub use estimate::{Estimate, EstimateParams, NotYet, estimate};
pub use replica_report::{ReplicaId, ReplicaReport, ReportRefused};
pub use replicas::{ExcessRule, ReplicaCounts, ReplicaParams};
pub use samples::{EpochSample, ScaledPoint};
// Searches for a minimum are no part of the paper's machines alone.
pub use crate::search::{Annealing, Bounds, CmaEs, Minimise, Minimum};
pub use subunits::Subunits;
pub use token_gen::{CapacityState, TokenGen, TokenGenAction, TokenGenEvent, TokenGenNext, TokenGenParams};
pub use waiting_room::{
    Comer, RoomAction, RoomAnswer, RoomCounts, RoomFigures, RoomNext, RoomParams, ShownToken, TokenFault, TokenRefusal,
    VisitClaim, WaitingRoom,
};
