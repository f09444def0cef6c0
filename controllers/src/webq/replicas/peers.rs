//! The other replicas, and what their reports leave to this one.

use crate::UnixSeconds;

use super::{
    super::{
        Subunits,
        bad_params::{BadParams, MAX_REPLICAS},
        replica_report::{MAX_SECONDS, ReplicaId, ReplicaReport, ReportRefused, VERSION},
    },
    divide::divide,
    excess::{ExcessRule, Part},
    peer::{Hearing, Peer},
};

/// How far a peer's clock may be ahead, seconds.
const MAX_AHEAD_S: u64 = 5;

/// One replica among several.
#[derive(Debug, Clone)]
pub struct ReplicaParams {
    /// This replica. Where exactly half of all hear each other, those with the lowest number count as the majority.
    pub me: ReplicaId,
    /// All others, at most 15.
    pub peers: Vec<ReplicaId>,
    /// Reserved minimum of a replica, as a part of an equal share, 0 to 1. The released code gives an idle side a tenth
    /// of the capacity: 0.3 with three replicas.
    pub reserve: f64,
    /// How room is made for bookings beyond a share.
    pub rule: ExcessRule,
}

impl ReplicaParams {
    /// The only replica.
    #[must_use]
    pub fn alone() -> Self {
        Self::among(ReplicaId(0), &[])
    }

    /// A replica among peers: a reserve of 0.3 equal shares, [`ExcessRule::Split`].
    #[must_use]
    pub fn among(me: ReplicaId, peers: &[ReplicaId]) -> Self {
        Self { me, peers: peers.to_vec(), reserve: 0.3, rule: ExcessRule::default() }
    }
}

/// What became of reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReplicaCounts {
    /// Reports that were taken.
    pub taken: u64,
    /// Reports that were not newer than the last one.
    pub old: u64,
    /// Reports that were refused for another reason.
    pub refused: u64,
}

#[derive(Debug)]
pub(in crate::webq) struct Peers {
    me: ReplicaId,
    others: Vec<Peer>,
    reserve: f64,
    rule: ExcessRule,
    /// The capacity that shares were last computed for.
    capacity: Subunits,
    share: Subunits,
    in_majority: bool,
    /// What the others know of this replica.
    told: Option<ReplicaReport>,
    counts: ReplicaCounts,
}

impl Peers {
    pub(in crate::webq) fn new(params: &ReplicaParams) -> Result<Self, BadParams> {
        let mut ids = params.peers.clone();
        ids.sort_unstable();
        let twice = ids.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        if let Some(id) = twice.or_else(|| ids.iter().copied().find(|id| *id == params.me)) {
            return Err(BadParams::Twice(id));
        }
        if ids.len() >= MAX_REPLICAS {
            return Err(BadParams::Replicas(ids.len() + 1));
        }
        if !(0.0..=1.0).contains(&params.reserve) {
            return Err(BadParams::Reserve(params.reserve));
        }
        Ok(Self {
            me: params.me,
            others: ids.into_iter().map(Peer::new).collect(),
            reserve: params.reserve,
            rule: params.rule,
            capacity: Subunits::ZERO,
            share: Subunits::ZERO,
            in_majority: true,
            told: None,
            counts: ReplicaCounts::default(),
        })
    }

    pub(in crate::webq) fn are_none(&self) -> bool {
        self.others.is_empty()
    }

    pub(in crate::webq) fn counts(&self) -> ReplicaCounts {
        self.counts
    }

    /// `S_i`, of the capacity that shares were last computed for.
    pub(in crate::webq) fn share(&self) -> Subunits {
        self.share
    }

    /// Takes a peer's report.
    pub(in crate::webq) fn hear(&mut self, now: UnixSeconds, report: ReplicaReport) -> Result<(), ReportRefused> {
        let heard = self.checked(now, report);
        match heard {
            Ok(()) => self.counts.taken += 1,
            Err(ReportRefused::Old) => self.counts.old += 1,
            Err(_) => self.counts.refused += 1,
        }
        heard
    }

    fn checked(&mut self, now: UnixSeconds, report: ReplicaReport) -> Result<(), ReportRefused> {
        if report.version != VERSION {
            return Err(ReportRefused::Version(report.version));
        }
        let Some(peer) = self.others.iter_mut().find(|peer| peer.id == report.from) else {
            return Err(ReportRefused::Unknown(report.from));
        };
        let ahead = report.second.0.saturating_sub(now.0);
        if ahead > MAX_AHEAD_S {
            return Err(ReportRefused::Ahead(ahead));
        }
        if report.booked.len() > MAX_SECONDS {
            return Err(ReportRefused::TooLong(report.booked.len()));
        }
        if peer.hear(now, report) { Ok(()) } else { Err(ReportRefused::Old) }
    }

    /// Writes this replica's report, which it counts itself by as well: all replicas compute with the same numbers.
    pub(in crate::webq) fn tell(
        &mut self,
        (started, second): (UnixSeconds, UnixSeconds),
        load: Subunits,
        booked: Vec<Subunits>,
    ) -> ReplicaReport {
        let sequence = self.told.as_ref().map_or(0, |told| told.sequence + 1);
        let report = ReplicaReport { version: VERSION, from: self.me, started, sequence, second, load, booked };
        self.told = Some(report.clone());
        report
    }

    /// Computes all shares of the capacity (equation 1).
    pub(in crate::webq) fn share_out(&mut self, now: UnixSeconds, capacity: Subunits) {
        let reserve = Subunits::of(capacity.split(self.others.len() + 1).as_f64() * self.reserve);
        self.in_majority = self.hears_majority(now.0);
        if !self.in_majority {
            self.share = reserve;
            self.capacity = capacity;
            return;
        }
        let before = std::mem::replace(&mut self.capacity, capacity);
        let mut fixed = Subunits::ZERO;
        let mut loads = vec![self.told.as_ref().map_or(Subunits::ZERO, |told| told.load)];
        for peer in &mut self.others {
            match peer.hearing(now.0) {
                Hearing::Fresh => loads.push(peer.load()),
                Hearing::Late => {
                    peer.share = capacity.share(peer.share, before).max(reserve);
                    fixed += peer.share;
                }
                Hearing::Lost => {
                    peer.share = reserve;
                    fixed += reserve;
                }
            }
        }
        let mut shares = divide(capacity.less(fixed), &loads, reserve).into_iter();
        self.share = shares.next().unwrap_or_default();
        let fresh = self.others.iter_mut().filter(|peer| peer.hearing(now.0) == Hearing::Fresh);
        for (peer, share) in fresh.zip(shares) {
            peer.share = share;
        }
    }

    /// `C_i[k]`: what this replica may use of a second in which the server has `total` left (equations 2 and 3).
    pub(in crate::webq) fn usable(&self, second: u64, total: Subunits) -> Subunits {
        if self.others.is_empty() {
            return total;
        }
        let of = |share: Subunits| if total == self.capacity { share } else { total.share(share, self.capacity) };
        let booked = self.told.as_ref().map_or(Subunits::ZERO, |told| told.booked_for(second));
        let others = self.others.iter().map(|peer| Part { share: of(peer.share), booked: peer.booked(second) });
        // Those who are cut off do not know the others' shares.
        let rule = if self.in_majority { self.rule } else { ExcessRule::AsPublished };
        rule.usable(total, Part { share: of(self.share), booked }, others)
    }

    /// `Σ N_j[k]` over the peers.
    pub(in crate::webq) fn booked(&self, second: u64) -> Subunits {
        self.others.iter().map(|peer| peer.booked(second)).sum()
    }

    fn hears_majority(&self, now: u64) -> bool {
        let heard: Vec<ReplicaId> = self.others.iter().filter(|peer| peer.is_heard(now)).map(|peer| peer.id).collect();
        let all = self.others.len() + 1;
        let lowest = self.others.iter().map(|peer| peer.id).fold(self.me, Ord::min);
        match (2 * (heard.len() + 1)).cmp(&all) {
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Equal => lowest == self.me || heard.contains(&lowest),
            std::cmp::Ordering::Less => false,
        }
    }
}
