//! All open connections: which are overdue, and which make room.

use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    net::{IpAddr, Ipv6Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use controllers::Timestamp;
use tokio::{sync::Notify, task::AbortHandle};

use super::conn::{Conn, Phase};
use crate::spec::EdgeSpec;

/// The open connections.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    open: Mutex<Open>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    slots: BTreeMap<u64, Slot>,
    /// The number of connections that were chosen to make room, and are about to end.
    evicted: usize,
    /// The number of the others by source.
    sources: HashMap<Source, usize>,
}

impl Open {
    /// Tells so many connections to end, those with the highest scores, and returns their number.
    fn end_highest(&mut self, scored: &mut [(f64, u64)], wanted: usize) -> usize {
        let wanted = wanted.min(scored.len());
        if wanted == 0 {
            return 0;
        }
        scored.select_nth_unstable_by(wanted - 1, |(one, _), (other, _)| other.total_cmp(one));
        let mut ended = 0;
        for (_, id) in &scored[..wanted] {
            let Some(slot) = self.slots.get_mut(id).filter(|slot| slot.conn.end_if_evictable()) else { continue };
            slot.evicted = true;
            slot.task.abort();
            self.evicted += 1;
            ended += 1;
            one_less(&mut self.sources, Source::of(slot.conn.peer));
        }
        ended
    }
}

/// The score from which a client counts as slow: the time for which one that moves nothing is waited for, seconds.
const A_WHILE_S: f64 = 0.25;
/// The divisor of the number of connections that make room at a time.
const AT_ONCE: usize = 64;

/// The source of a connection: an address, or in IPv6 the network of a household.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Source(IpAddr);

impl Source {
    pub(crate) fn of(peer: SocketAddr) -> Self {
        /// A network of 64 bits.
        const NETWORK: u128 = !0 << 64;
        Self(match peer.ip().to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & NETWORK).into(),
            address @ IpAddr::V4(_) => address,
        })
    }
}

impl Source {
    /// A number of its own: the network's, and for an address of IPv4 one where no network is.
    pub(crate) fn number(self) -> u64 {
        match self.0 {
            IpAddr::V6(network) => (network.to_bits() >> 64) as u64,
            IpAddr::V4(address) => 0xffff << 32 | u64::from(address.to_bits()),
        }
    }
}

fn one_less(sources: &mut HashMap<Source, usize>, source: Source) {
    if let Entry::Occupied(mut entry) = sources.entry(source) {
        *entry.get_mut() -= 1;
        if *entry.get() == 0 {
            entry.remove();
        }
    }
}

#[derive(Debug)]
struct Slot {
    conn: Arc<Conn>,
    task: AbortHandle,
    evicted: bool,
}

impl Registry {
    /// The number of open connections, without those chosen to make room.
    pub(crate) fn len(&self) -> usize {
        let open = self.lock();
        open.slots.len() - open.evicted
    }

    /// The number of open connections, with those whose tasks have been told to end and have not yet.
    pub(crate) fn all(&self) -> usize {
        self.lock().slots.len()
    }

    /// The number of connections in [`Registry::len`] from this source.
    pub(crate) fn len_from(&self, source: Source) -> usize {
        self.lock().sources.get(&source).copied().unwrap_or(0)
    }

    /// The number of connections in these phases.
    pub(crate) fn in_phase(&self, phases: &[Phase]) -> usize {
        self.lock().slots.values().filter(|slot| phases.contains(&slot.conn.phase())).count()
    }

    /// Adds a connection. `start` starts its task, with the guard that removes the connection again.
    pub(crate) fn add(self: &Arc<Self>, conn: Arc<Conn>, start: impl FnOnce(Member) -> AbortHandle) {
        let mut open = self.lock();
        let id = open.next;
        open.next += 1;
        let task = start(Member { registry: Arc::clone(self), id });
        *open.sources.entry(Source::of(conn.peer)).or_default() += 1;
        open.slots.insert(id, Slot { conn, task, evicted: false });
    }

    /// Closes the connections with the highest scores ([`Conn::eviction_score`]), those of one source if one is named,
    /// and returns their number. Several at once: a search through all connections for each new one would be work that
    /// a flood of connections causes.
    pub(crate) fn evict(&self, now: Timestamp, of: Option<Source>) -> usize {
        let mut guard = self.lock();
        let open = &mut *guard;
        let among = open.slots.iter().filter(|(_, slot)| of.is_none_or(|source| source == Source::of(slot.conn.peer)));
        let mut scored: Vec<(f64, u64)> =
            among.filter_map(|(&id, slot)| Some((slot.conn.eviction_score(now)?, id))).collect();
        let wanted = (scored.len() / AT_ONCE).max(1);
        open.end_highest(&mut scored, wanted)
    }

    /// Closes the slowest of those that have kept the service waiting in a request for a while, but for so many, and returns their
    /// number.
    pub(crate) fn end_slowest_but(&self, most: usize, now: Timestamp) -> usize {
        let mut guard = self.lock();
        let open = &mut *guard;
        let slow = open.slots.iter().filter(|(_, slot)| slot.conn.is_slow());
        let scored = slow.filter_map(|(&id, slot)| Some((slot.conn.eviction_score(now)?, id)));
        let mut scored: Vec<(f64, u64)> = scored.filter(|(score, _)| *score >= A_WHILE_S).collect();
        let wanted = scored.len().saturating_sub(most);
        open.end_highest(&mut scored, wanted)
    }

    /// Closes those of HTTP/2 with the highest scores until so many places are enough for all, and returns their number.
    pub(crate) fn end_over(&self, places: usize, now: Timestamp) -> usize {
        let mut guard = self.lock();
        let open = &mut *guard;
        let staying = || open.slots.iter().filter(|(_, slot)| !slot.evicted);
        let taken: usize = staying().map(|(_, slot)| slot.conn.places()).sum();
        let wide = staying().filter(|(_, slot)| slot.conn.places() > 1 && taken > places);
        let mut scored: Vec<(f64, u64)> =
            wide.filter_map(|(&id, slot)| Some((slot.conn.eviction_score(now)?, id))).collect();
        open.end_highest(&mut scored, taken.saturating_sub(places).div_ceil(2))
    }

    /// Closes overdue connections.
    pub(crate) fn reap(&self, now: Timestamp, limits: &EdgeSpec) {
        self.close_if(|conn| conn.end_if_overdue(now, limits));
    }

    /// A mark between the connections so far and those that are added from now on.
    pub(crate) fn mark(&self) -> u64 {
        self.lock().next
    }

    /// The number of connections before a mark that have not ended. Those of them between requests are closed, and, if `new`,
    /// those before their first one.
    pub(crate) fn close_idle_before(&self, mark: u64, new: bool) -> usize {
        let open = self.lock();
        open.slots.range(..mark).filter(|(_, slot)| slot.conn.end_if_idle(new)).for_each(|(_, slot)| slot.task.abort());
        open.slots.range(..mark).count()
    }

    /// Closes all connections.
    pub(crate) fn close_all(&self) {
        self.close_if(|_| true);
    }

    /// Waits until a connection has closed.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn close_if(&self, doomed: impl Fn(&Conn) -> bool) {
        self.lock().slots.values().filter(|slot| doomed(&slot.conn)).for_each(|slot| slot.task.abort());
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held by a connection's task: whichever way that ends, the connection is removed from the list.
#[derive(Debug)]
pub(crate) struct Member {
    registry: Arc<Registry>,
    id: u64,
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut guard = self.registry.lock();
        let open = &mut *guard;
        let slot = open.slots.remove(&self.id);
        match &slot {
            Some(slot) if slot.evicted => open.evicted -= 1,
            Some(slot) => one_less(&mut open.sources, Source::of(slot.conn.peer)),
            None => {}
        }
        drop(guard);
        drop(slot);
        self.registry.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_household_is_one_source() {
        let source = |text: &str| Source::of(text.parse().unwrap());
        assert_eq!(source("[2001:db8::1]:1"), source("[2001:db8::ffff:1]:2"));
        assert_ne!(source("[2001:db8::1]:1"), source("[2001:db8:0:1::1]:1"));
        assert_eq!(source("[::ffff:192.0.2.1]:1"), source("192.0.2.1:2"));
        assert_ne!(source("192.0.2.2:1"), source("192.0.2.1:1"));
    }
}
