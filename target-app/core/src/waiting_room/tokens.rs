//! What hosts of a waiting room share: tokens as the machine sees them, and a row of gauges.

use std::collections::BTreeMap;

use admission_token::{Audience, Binding, Claims, KeyRing, TokenProblem, TokenPurpose};
use controllers::{
    Reason, UnixSeconds,
    site::StageGauges,
    webq::{
        CapacityState, CheckCounts, PromisedTurn, RoomCounts, RoomFigures, ShownToken, Subunits, TokenFault, VisitClaim,
    },
};

/// The reason of a request that is told to wait.
pub const REASON: Reason = Reason::own("waiting-room");

/// Verifies a token of a turn or of a visit.
pub fn open(ring: &KeyRing, text: &str, audience: Audience, now: UnixSeconds) -> Result<Claims, TokenProblem> {
    match ring.open(text, TokenPurpose::TURN, audience, now.0) {
        Err(TokenProblem::Purpose) => ring.open(text, TokenPurpose::VISIT, audience, now.0),
        opened => opened,
    }
}

/// What a request shows, for the machine; `presented`: who has come with it.
pub fn shown<'a>(opened: Option<&'a Result<Claims, TokenProblem>>, presented: &'a Binding) -> ShownToken<'a> {
    let presented = &presented.as_bytes()[..];
    match opened {
        None => ShownToken::Absent,
        Some(Err(problem)) => ShownToken::Unverified(match problem {
            TokenProblem::UnknownKey(_) => TokenFault::UnknownKey,
            TokenProblem::Forged => TokenFault::Forged,
            TokenProblem::Purpose | TokenProblem::Audience => TokenFault::Foreign,
            _ => TokenFault::Malformed,
        }),
        Some(Ok(claims)) => {
            let binding = &claims.binding.as_bytes()[..];
            if claims.purpose == TokenPurpose::VISIT {
                return ShownToken::Visit(VisitClaim { until: UnixSeconds(claims.expires), binding, presented });
            }
            let at = UnixSeconds(claims.not_before);
            ShownToken::Turn(PromisedTurn { at, id: claims.id, binding, presented })
        }
    }
}

/// A row of gauges. Its queue is the work that is promised for the seconds to come, in requests of hardness 1.
pub fn row(name: &str, figures: &RoomFigures, counts: &RoomCounts, check: &CheckCounts) -> StageGauges {
    let requests = counts.requests();
    let admitted = counts.passed + counts.inside;
    let offered: u64 = requests.iter().map(|(_, count)| count).sum();
    let named = requests.map(|(name, count)| (name.replace('-', "_"), count));
    let refused = counts.refusals().map(|(reason, count)| (format!("token_{}", reason.replace('-', "_")), count));
    let outdated = matches!(figures.capacity, CapacityState::Outdated(_));
    let estimated = outdated || matches!(figures.capacity, CapacityState::Estimated(_));
    let named_gauge = |name: &str, value: Option<f64>| value.map(|value| (name.to_owned(), value));
    let hardness = figures.hardness.iter().enumerate().map(|(kind, of)| (format!("hardness[{kind}]"), of.as_f64()));
    let policy: BTreeMap<String, f64> = [
        named_gauge("longest_wait_s", Some(figures.longest_wait_s.into())),
        named_gauge("next_wait_s", figures.next_wait_s.map(f64::from)),
        named_gauge("tokens_remembered", Some(figures.remembered as f64)),
        named_gauge("capacity_per_s", figures.capacity.known().map(Subunits::as_f64)),
        named_gauge("capacity_estimated", Some(estimated.into())),
        named_gauge("capacity_outdated", Some(outdated.into())),
        named_gauge("share_per_s", figures.share.map(Subunits::as_f64)),
    ]
    .into_iter()
    .flatten()
    .chain(hardness)
    .collect();
    let let_in = ("token_admitted".to_owned(), check.admitted);
    StageGauges {
        name: name.to_owned(),
        queue: figures.queued.as_f64().ceil() as u32,
        offered,
        admitted,
        refused: offered - admitted,
        policy,
        counts: named.into_iter().chain(refused).chain([let_in]).collect(),
        ..StageGauges::default()
    }
}
