//! The service that a request has attained at servers that share their time: what a host sees of equation 2 when no server
//! reports it.

use std::time::Duration;

use crate::Timestamp;

/// The service that a request present from the start would have attained at `n` processor-sharing servers with a perfect
/// balance: with `k` requests inside, each proceeds at the rate `min(1, n / k)`.
///
/// The difference between two readings is the inherent service time of a request that was inside between them, however
/// many there were. At a server that takes requests in order the difference is the same in the mean, as long as the number
/// of requests changes little while one is inside.
#[derive(Debug)]
pub(super) struct AttainedService {
    servers: f64,
    in_service: f64,
    attained_s: f64,
    at: Timestamp,
}

impl AttainedService {
    pub(super) fn new(now: Timestamp, servers: u32) -> Self {
        Self { servers: f64::from(servers), in_service: 0.0, attained_s: 0.0, at: now }
    }

    /// The service attained by now.
    pub(super) fn read(&mut self, now: Timestamp) -> Duration {
        let rate = (self.servers / self.in_service.max(1.0)).min(1.0);
        self.attained_s += now.since(self.at).as_secs_f64() * rate;
        self.at = self.at.max(now);
        Duration::from_secs_f64(self.attained_s)
    }

    /// From the time of the last reading on there are so many servers.
    pub(super) fn set_servers(&mut self, servers: u32) {
        self.servers = f64::from(servers);
    }

    /// From the time of the last reading on there are so many requests inside.
    pub(super) fn set_in_service(&mut self, requests: u64) {
        self.in_service = requests as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_share_the_servers() {
        let (at, ms) = (Timestamp::from_millis, Duration::from_millis);
        let mut attained = AttainedService::new(at(0), 3);
        // Two on three servers: each has one.
        attained.set_in_service(2);
        assert_eq!(attained.read(at(10)), ms(10));
        // Six on three servers: half of the time each, 10 ms of 20.
        attained.set_in_service(6);
        assert_eq!(attained.read(at(30)), ms(20));
        assert_eq!(attained.read(at(30)), ms(20), "no time passed");
        // Six on one server: a sixth of the time.
        attained.set_servers(1);
        assert_eq!(attained.read(at(90)), ms(30));
    }
}
