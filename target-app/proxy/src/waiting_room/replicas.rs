//! Replicas of a waiting room, which tell each other once a second what they have promised: over UDP, each datagram with a tag of
//! the keys that tokens have. A datagram that is lost is made up for a second later.

use std::{
    collections::BTreeSet,
    net::{SocketAddr, UdpSocket as BoundSocket},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use controllers::webq::{ReplicaId, ReplicaParams, ReplicaReport};
use live_service::{serve::ServeError, stage::lock};
use spec::waiting_room::ReplicaSpec;
use tokio::net::UdpSocket;

use super::Room;
use crate::error::ProxyError;

/// The largest datagram of IPv4, bytes. A report of an hour is at most 45 kB.
const LARGEST: usize = 65_507;

/// The other replicas, and the socket that they are heard on.
#[derive(Debug)]
pub(super) struct Replicas {
    socket: UdpSocket,
    peers: Vec<SocketAddr>,
    pub(super) counts: Datagrams,
}

/// Counts of datagrams that the machine has not seen.
#[derive(Debug, Default)]
pub(super) struct Datagrams {
    /// Without a good tag, or none of a report.
    pub(super) refused: AtomicU64,
    /// That could not be sent.
    pub(super) unsent: AtomicU64,
}

/// The numbers of replicas: their places in the order of their addresses, so that all agree without being told.
///
/// # Errors
/// An address that is listed twice, or is this replica's own.
pub(super) fn numbered(spec: &ReplicaSpec) -> Result<ReplicaParams, ProxyError> {
    let all: BTreeSet<SocketAddr> = spec.peers.iter().copied().chain([spec.listen]).collect();
    if all.len() != spec.peers.len() + 1 {
        let message = format!("{} twice: the peers are all replicas but this one, each once", spec.listen);
        return Err(ProxyError::setting("waiting_room.replicas", message));
    }
    let number = |address: &SocketAddr| {
        let place = all.iter().position(|one| one == address).unwrap_or_default();
        ReplicaId(u16::try_from(place).unwrap_or(u16::MAX))
    };
    let peers: Vec<ReplicaId> = spec.peers.iter().map(number).collect();
    Ok(ReplicaParams::among(number(&spec.listen), &peers))
}

impl Replicas {
    /// Binds the address that the others send to. Needs a runtime.
    ///
    /// # Errors
    /// If it cannot be bound or watched.
    pub(super) fn bind(spec: &ReplicaSpec) -> Result<Self, ProxyError> {
        let bind = || {
            let socket = BoundSocket::bind(spec.listen)?;
            socket.set_nonblocking(true)?;
            UdpSocket::from_std(socket)
        };
        let socket = bind().map_err(|source| ServeError::Listen { address: spec.listen, source })?;
        Ok(Self { socket, peers: spec.peers.clone(), counts: Datagrams::default() })
    }

    /// Sends a report to all peers. What a full buffer does not take is lost.
    pub(super) fn tell(&self, datagram: &[u8]) {
        for peer in &self.peers {
            if self.socket.try_send_to(datagram, *peer).is_err() {
                self.counts.unsent.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Hears the others, for ever.
pub(super) async fn hear(room: Arc<Room>) {
    let Some(replicas) = &room.replicas else { return };
    let mut buffer = vec![0; LARGEST];
    loop {
        match replicas.socket.recv_from(&mut buffer).await {
            Ok((length, _)) => room.heard(&buffer[..length]),
            // The kernel says here that a peer's port was closed.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

impl Room {
    /// Sends this replica's report.
    pub(super) fn report(&self, report: &ReplicaReport) {
        let Some(replicas) = &self.replicas else { return };
        if let Ok(text) = serde_json::to_vec(report) {
            replicas.tell(&self.keys.seal_message(&text));
        }
    }

    fn heard(&self, datagram: &[u8]) {
        let Some(replicas) = &self.replicas else { return };
        let now = self.clock.wall();
        let text = self.keys.open_message(datagram, now);
        match text.and_then(|text| serde_json::from_slice(&text).ok()) {
            Some(report) => lock(&self.machine).hear(now, report),
            None => _ = replicas.counts.refused.fetch_add(1, Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_agree_on_their_numbers_without_being_told() {
        let at = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let spec =
            |listen, peers: &[u16]| ReplicaSpec { listen: at(listen), peers: peers.iter().copied().map(at).collect() };
        let params = |listen, peers: &[u16]| {
            let ReplicaParams { me, peers, .. } = numbered(&spec(listen, peers)).unwrap();
            (me.0, peers.into_iter().map(|peer| peer.0).collect::<Vec<_>>())
        };
        assert_eq!(params(20, &[30, 10]), (1, vec![2, 0]));
        assert_eq!(params(10, &[20, 30]), (0, vec![1, 2]));
        let error = numbered(&spec(10, &[20, 10])).unwrap_err().to_string();
        assert!(error.starts_with("waiting_room.replicas: 127.0.0.1:10 twice"), "{error}");
    }
}
