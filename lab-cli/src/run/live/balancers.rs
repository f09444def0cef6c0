//! The books of balancers with a cap, in a live run: they stand in the generator's own process, and what they refuse no service
//! reads. In virtual time a cluster keeps these books; here they join those of the services behind them.

use std::collections::BTreeMap;

use analysis::summary::{Joined, ServiceTotals};
use controllers::Reason;
use measure::TurnedBack;
use spec::wire::{Gauges, ReadRequests};

/// Final counts of services: gauges, requests read, totals by service.
pub type SettledCounts = (Gauges, ReadRequests, Vec<ServiceTotals>);

/// The same with what balancers have read and refused: to users that is the service's. Health checks are in no books of requests,
/// and those of a service count what it has read itself.
pub fn with(
    turned_back: &BTreeMap<String, TurnedBack>,
    seen: Option<SettledCounts>,
    joined: Option<Joined>,
) -> (Option<SettledCounts>, Option<Joined>) {
    let all = turned_back.values().map(|of| of.requests).sum::<u64>();
    let seen = seen.map(|(gauges, mut read, mut services)| {
        if all > 0 {
            *read.ledger.refused.entry(Reason::Concurrency.name().to_owned()).or_default() += all;
        }
        read.ledger.requests_read += all;
        for service in &mut services {
            service.users_requests_read += turned_back.get(&service.name).map_or(0, |of| of.requests);
        }
        (gauges, read, services)
    });
    // They were answered without a service; they were read all the same.
    let joined = joined.map(|joined| Joined { turned_away: joined.turned_away.saturating_sub(all), ..joined });
    (seen, joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_balancer_refused_is_read_and_refused_in_the_books_of_its_service() {
        let read = ReadRequests::default();
        let services =
            ["front", "back"].map(|name| ServiceTotals { name: name.to_owned(), ..ServiceTotals::default() });
        let turned_back = [("front".to_owned(), TurnedBack { requests: 7, checks: 2 })].into();
        let joined = Joined { written: 9, turned_away: 8, ..Joined::default() };
        let (seen, joined) = with(&turned_back, Some((Gauges::default(), read, services.to_vec())), Some(joined));
        let (_, read, services) = seen.expect("it was given");
        assert_eq!((read.ledger.requests_read, read.ledger.refused["concurrency"]), (7, 7));
        assert_eq!((services[0].users_requests_read, services[1].users_requests_read), (7, 0));
        assert_eq!(joined.expect("it was given").turned_away, 1, "one was turned away by a service");
    }
}
