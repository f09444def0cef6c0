//! Several replicas that exchange reports once a second, for tests.

use std::collections::BTreeMap;

use super::{
    super::{Booking, BookingParams, ExcessRule, ReplicaId, ReplicaParams, ReplicaReport, Subunits},
    at,
};

pub(super) struct Cluster {
    pub(super) replicas: Vec<Booking>,
    rule: ExcessRule,
    capacity: Subunits,
    /// What all have promised, by second.
    pub(super) promised: BTreeMap<u64, Subunits>,
    pub(super) hardest: Subunits,
}

impl Cluster {
    pub(super) fn new(n: u16, capacity: u64, rule: ExcessRule) -> Self {
        let capacity = Subunits::whole(capacity);
        let mut cluster =
            Self { replicas: Vec::new(), rule, capacity, promised: BTreeMap::new(), hardest: Subunits::ZERO };
        cluster.replicas = (0..n).map(|me| cluster.replica(me, n, 0)).collect();
        cluster
    }

    /// A new process of a replica.
    pub(super) fn replica(&self, me: u16, n: u16, started: u64) -> Booking {
        let peers: Vec<ReplicaId> = (0..n).filter(|id| *id != me).map(ReplicaId).collect();
        let replica = ReplicaParams { rule: self.rule, ..ReplicaParams::among(ReplicaId(me), &peers) };
        let mut booking =
            Booking::new(&BookingParams { horizon_s: 1000, replica, started: at(started) }).expect("good params");
        booking.set_capacity(at(started), Some(self.capacity));
        booking
    }

    /// The exchange as a second begins, among those who are in one group. `None`: a replica that is down.
    pub(super) fn exchange(&mut self, second: u64, groups: &[Option<u8>]) {
        let reports = self.reports(second);
        self.deliver(second, groups, &reports);
    }

    pub(super) fn reports(&mut self, second: u64) -> Vec<ReplicaReport> {
        self.replicas.iter_mut().map(|replica| replica.report(at(second))).collect()
    }

    pub(super) fn deliver(&mut self, second: u64, groups: &[Option<u8>], reports: &[ReplicaReport]) {
        for (i, replica) in self.replicas.iter_mut().enumerate() {
            let heard =
                reports.iter().enumerate().filter(|(j, _)| *j != i && groups[i].is_some() && groups[*j] == groups[i]);
            for (_, report) in heard {
                replica.hear(at(second), report.clone()).expect("a newer report");
            }
        }
    }

    /// A request at a replica: its wait.
    pub(super) fn ask(&mut self, second: u64, replica: usize, hardness: Subunits) -> Option<u32> {
        let booked = self.replicas[replica].book(at(second), hardness).ok()?;
        *self.promised.entry(booked.at.0 - at(0).0).or_default() += hardness;
        self.hardest = self.hardest.max(hardness);
        Some(booked.wait_s)
    }

    /// Requests of a second, taken in turns: the longest wait at each replica.
    pub(super) fn ask_all(&mut self, second: u64, loads: &[usize], hardness: Subunits) -> Vec<Option<u32>> {
        let mut longest = vec![None; loads.len()];
        for turn in 0..loads.iter().copied().max().unwrap_or(0) {
            for (replica, _) in loads.iter().enumerate().filter(|(_, load)| turn < **load) {
                let wait = self.ask(second, replica, hardness);
                longest[replica] = longest[replica].max(wait);
            }
        }
        longest
    }

    /// The most that is promised for one second.
    pub(super) fn most(&self) -> Subunits {
        self.promised.values().copied().max().unwrap_or_default()
    }

    pub(super) fn shares(&self) -> Vec<f64> {
        self.replicas.iter().map(|replica| replica.share().expect("a capacity").as_f64()).collect()
    }
}
