//! Waiting rooms before a plant: the machine of `lab proxy --waiting-room`, with users who follow `Refresh` and keep no cookies.

use std::{collections::BTreeMap, time::Duration};

use admission_token::{Audience, Binding, Claims, KeyRing, SecretKey, TokenPurpose};
use controllers::{
    JobId, Reason, Timestamp, UnixSeconds,
    random::mix,
    site::StageGauges,
    webq::{Comer, Estimate, ReplicaId, ReplicaParams, ReplicaReport, RoomAction, RoomAnswer, RoomNext, WaitingRoom},
};
use http::request::Parts;
use service_core::waiting_room::{
    carried::{self, Carried},
    tokens,
};
use spec::waiting_room::{RoomsSpec, WaitingRoomSpec};
use workloads::sim::Response;

use super::{error::PlantError, responses::Responses};

/// The waiting rooms of a plant.
#[derive(Debug)]
pub(super) struct PlantRooms {
    spec: WaitingRoomSpec,
    rooms: Vec<WaitingRoom>,
    responses: Vec<Responses>,
    /// The last estimate of each room.
    estimates: Vec<Option<Estimate>>,
    /// Requests that were let in and have not ended.
    inside: BTreeMap<JobId, PlantTurn>,
    ring: KeyRing,
    audience: Audience,
    seed: u64,
    tokens: u64,
}

/// What becomes of a request.
#[derive(Debug)]
pub(super) enum PlantEntry {
    /// It passes.
    In(PlantTurn),
    /// It is told when to come.
    Told(Response, Reason),
}

/// A request that was let in.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlantTurn {
    room: usize,
    kind: usize,
    entered: Timestamp,
}

impl PlantRooms {
    /// Empty rooms.
    ///
    /// # Errors
    /// The settings are out of range, or need cookies.
    pub(super) fn new(spec: &RoomsSpec, seed: u64) -> Result<Self, PlantError> {
        let now = UnixSeconds::in_virtual_time(Timestamp::ZERO);
        let all: Vec<ReplicaId> = (0..spec.replicas.max(1)).map(ReplicaId).collect();
        let rooms = all.iter().map(|me| {
            let peers: Vec<ReplicaId> = all.iter().copied().filter(|peer| peer != me).collect();
            let mut room = WaitingRoom::new(&spec.room.params(ReplicaParams::among(*me, &peers), now))?;
            if spec.room.capacity.is_some() {
                room.give(now, spec.room.capacity(), Vec::new());
            }
            Ok(room)
        });
        let rooms: Vec<WaitingRoom> = rooms.collect::<Result<_, _>>().map_err(PlantError::WaitingRoom)?;
        let (responses, estimates) = (vec![Responses::default(); rooms.len()], vec![None; rooms.len()]);
        let ring = KeyRing::new(SecretKey::new(1, [0; 32]), spec.room.longest_life_s());
        let audience = Audience::named(&spec.room.name);
        Ok(Self {
            spec: spec.room.clone(),
            rooms,
            responses,
            estimates,
            inside: BTreeMap::new(),
            ring,
            audience,
            seed,
            tokens: 0,
        })
    }

    /// Decides about a request; `class`: that of its user, who asks the replica of this number, and that of the request.
    pub(super) fn present(
        &mut self,
        now: Timestamp,
        head: &mut Parts,
        user: u64,
        (of_user, class): (u8, u8),
    ) -> PlantEntry {
        let (at_room, kind) = (usize::from(of_user) % self.rooms.len(), self.spec.kind(class));
        let wall = UnixSeconds::in_virtual_time(now);
        let Carried { token, .. } = Carried::take(head, false);
        let binding = Binding::digest(&user.to_be_bytes());
        let opened = token.as_deref().map(|token| tokens::open(&self.ring, token, self.audience, wall));
        let answer = self.rooms[at_room].present(
            wall,
            now,
            Comer { kind, source: user },
            &tokens::shown(opened.as_ref(), &binding),
        );
        let entry = match answer {
            RoomAnswer::Pass { .. } => PlantEntry::In(PlantTurn { room: at_room, kind, entered: now }),
            RoomAnswer::Wait { at, wait_s, keeps_token, .. } => {
                let token = if keeps_token { token } else { self.seal(at, binding, wall) };
                let query = carried::query_with(&head.uri, token.as_deref().unwrap_or_default());
                let refresh = ("refresh", format!("{wait_s}; url={query}"));
                PlantEntry::Told(
                    Response { status: 200, headers: vec![refresh], ..Response::default() },
                    tokens::REASON,
                )
            }
            RoomAnswer::Full { full, .. } => {
                let wait_s = full.come_back_s(mix(self.seed ^ self.tokens));
                let headers = vec![("x-refused", "queue-full".to_owned()), ("retry-after", wait_s.to_string())];
                PlantEntry::Told(Response { status: 503, headers, ..Response::default() }, Reason::QueueFull)
            }
        };
        self.work(wall);
        entry
    }

    /// A request that passed goes on as this job.
    pub(super) fn goes_in(&mut self, job: JobId, turn: PlantTurn) {
        self.inside.insert(job, turn);
    }

    /// A job has ended, if it is one that passed.
    pub(super) fn ended(&mut self, now: Timestamp, job: JobId, served: bool) {
        let Some(turn) = self.inside.remove(&job) else { return };
        let response: Duration = now.since(turn.entered);
        if served {
            self.responses[turn.room].add(response);
        }
        self.rooms[turn.room].ended(UnixSeconds::in_virtual_time(now), turn.kind, response, served);
    }

    /// A second begins.
    pub(super) fn second(&mut self, now: Timestamp) {
        self.work(UnixSeconds::in_virtual_time(now));
    }

    /// A row for each replica, with the response times of those it let in, since the start, by how much the waits of all
    /// replicas differ, and how well the last estimate's curve fits.
    pub(super) fn gauges(&self, now: Timestamp) -> Vec<StageGauges> {
        let wall = UnixSeconds::in_virtual_time(now);
        let number = |at: usize| if self.rooms.len() > 1 { format!(" {at}") } else { String::new() };
        let waits = || self.rooms.iter().filter_map(|room| room.figures(wall).next_wait_s);
        let spread = waits().max().zip(waits().min()).map(|(most, least)| f64::from(most - least));
        let row = |(at, room): (usize, &WaitingRoom)| {
            let name = format!("waiting room{}", number(at));
            let mut row = tokens::row(&name, &room.figures(wall), &room.counts(), &room.check_counts());
            let of = &self.responses[at];
            let times =
                [("response_p99_ms", of.p99_ms()), ("response_variation", of.variation()), ("wait_spread_s", spread)];
            let fit = |of: fn(&Estimate) -> f64| self.estimates[at].as_ref().map(of);
            let fits = [
                ("estimated_capacity_per_s", fit(|estimate| estimate.capacity)),
                ("unexplained", fit(|estimate| estimate.unexplained)),
                ("unexplained_unscaled", fit(|estimate| estimate.unexplained_unscaled)),
            ];
            let named = times.into_iter().chain(fits);
            row.policy.extend(named.filter_map(|(name, value)| Some((name.to_owned(), value?))));
            row
        };
        self.rooms.iter().enumerate().map(row).collect()
    }

    fn seal(&mut self, at: UnixSeconds, binding: Binding, now: UnixSeconds) -> Option<String> {
        self.tokens += 1;
        let claims = Claims {
            purpose: TokenPurpose::TURN,
            audience: self.audience,
            not_before: at.0,
            expires: at.0 + u64::from(self.spec.skew_s),
            id: self.tokens.into(),
            binding,
        };
        self.ring.seal(&claims, now.0).ok()
    }

    /// Does what the rooms want done. Reports arrive at once.
    fn work(&mut self, now: UnixSeconds) {
        let mut reports: Vec<(usize, ReplicaReport)> = Vec::new();
        for (at, room) in self.rooms.iter_mut().enumerate() {
            while let RoomNext::Do(action) = room.poll(now) {
                match action {
                    RoomAction::Report(report) => reports.push((at, report)),
                    RoomAction::Estimate(samples) => {
                        let found = self.spec.search.estimate(&samples, self.seed);
                        self.estimates[at] = found.as_ref().ok().cloned().or(self.estimates[at].take());
                        room.estimated(now, found);
                    }
                    RoomAction::Capacity(_) | RoomAction::Ignored(_) => {}
                }
            }
        }
        for (from, report) in reports {
            for (_, room) in self.rooms.iter_mut().enumerate().filter(|(at, _)| *at != from) {
                room.hear(now, report.clone());
            }
        }
    }
}
