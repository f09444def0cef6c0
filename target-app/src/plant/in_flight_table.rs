//! Requests by their identities, which are mostly consecutive.

use std::collections::VecDeque;

use controllers::JobId;

use super::in_flight::InFlight;

/// The requests in a plant.
///
/// A site numbers its jobs consecutively, so a place in a queue beside the oldest request's finds a request at once; an
/// event of a request looks here several times. The queue is as long as the oldest request in flight is old, in jobs:
/// eight bytes for each.
#[derive(Debug, Default)]
pub(super) struct InFlightTable {
    /// The identity at the first place.
    first: u64,
    places: VecDeque<Option<Box<InFlight>>>,
}

impl InFlightTable {
    pub(super) fn get(&self, id: JobId) -> Option<&InFlight> {
        self.places.get(self.place(id)?)?.as_deref()
    }

    pub(super) fn get_mut(&mut self, id: JobId) -> Option<&mut InFlight> {
        let place = self.place(id)?;
        self.places.get_mut(place)?.as_deref_mut()
    }

    /// Adds a request, whose identity is larger than those before it.
    pub(super) fn insert(&mut self, id: JobId, request: Box<InFlight>) {
        if self.places.is_empty() {
            self.first = id.0;
        }
        let place = self.place(id).expect("identities grow");
        if place >= self.places.len() {
            self.places.resize_with(place, || None);
            self.places.push_back(Some(request));
        } else {
            self.places[place] = Some(request);
        }
    }

    pub(super) fn remove(&mut self, id: JobId) -> Option<Box<InFlight>> {
        let place = self.place(id)?;
        let request = self.places.get_mut(place)?.take();
        while let Some(None) = self.places.front() {
            self.places.pop_front();
            self.first += 1;
        }
        request
    }

    /// The requests by identity.
    #[cfg(test)]
    pub(super) fn values(&self) -> impl Iterator<Item = &InFlight> {
        self.places.iter().flatten().map(|request| &**request)
    }

    fn place(&self, JobId(id): JobId) -> Option<usize> {
        usize::try_from(id.checked_sub(self.first)?).ok()
    }
}
