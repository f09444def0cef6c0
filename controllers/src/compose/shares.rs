//! Shares of a limit: some are guaranteed a part of it, and others borrow what they leave.

use std::collections::BTreeMap;

use crate::{
    Tags,
    entry::{choice, flow_numbers, params},
    flow::{FlowBy, FlowKey},
};

const NETFLIX: &str = "partition, partitionResolver: AbstractPartitionedLimiter.java of Netflix's concurrency-limits";

params! {
    /// Shares that settings name; none: the limit alone decides.
    pub(super) struct SharesParams {
        shares: BTreeMap<FlowKey, f64> = flow_numbers(0.0..=1.0),
            "parts of the limit that are guaranteed, by class or what share_by says; who is not named has what others leave", NETFLIX;
        share_by: FlowBy = choice(
            ("class", FlowBy::Class),
            &[
                ("customer", FlowBy::Customer),
                ("criticality", FlowBy::Criticality),
                ("kind", FlowBy::Kind),
                ("user", FlowBy::User),
            ],
        ), "whose the shares are: a class's, a customer's, those of a level of criticality, of a type of request, or of a user", NETFLIX;
    }
}

impl SharesParams {
    pub(super) fn is_empty(&self) -> bool {
        self.shares.is_empty()
    }

    /// Error in the shares themselves.
    pub(super) fn wrong(&self) -> Option<String> {
        let sum: f64 = self.shares.values().sum();
        let too_much = (sum > 1.0 + 1e-9).then(|| format!("they add up to {sum}: more than the whole limit, 1"));
        self.share_by.unknown(self.shares.keys()).or(too_much)
    }
}

/// Shares of a limit, and who is inside.
#[derive(Debug)]
pub(super) struct LimitShares {
    params: SharesParams,
    /// Jobs inside of those who have a share.
    inside: BTreeMap<FlowKey, u32>,
}

impl LimitShares {
    pub(super) fn new(params: &SharesParams) -> Self {
        Self { params: params.clone(), inside: BTreeMap::new() }
    }

    /// True if a job is within a share of this limit, rounded up, and at least one.
    pub(super) fn has_room(&self, tags: &Tags, limit: f64) -> bool {
        let flow = self.params.share_by.flow(tags);
        let inside = f64::from(self.inside.get(&flow).copied().unwrap_or(0));
        self.params.shares.get(&flow).is_some_and(|share| inside < (limit * share).ceil().max(1.0))
    }

    pub(super) fn enter(&mut self, tags: &Tags) {
        let flow = self.params.share_by.flow(tags);
        if self.params.shares.contains_key(&flow) {
            *self.inside.entry(flow).or_default() += 1;
        }
    }

    pub(super) fn leave(&mut self, tags: &Tags) {
        if let Some(inside) = self.inside.get_mut(&self.params.share_by.flow(tags)) {
            *inside = inside.saturating_sub(1);
        }
    }
}
