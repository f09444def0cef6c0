//! Order of the catalogue for people: what to try first, then by what a policy goes by.

/// Policies that are worth a try before any service.
pub const FIRST: [&str; 3] = ["headway", "concurrency", "gradient2"];

/// Policies under one head.
pub(super) struct Shelf {
    pub(super) title: &'static str,
    pub(super) names: &'static [&'static str],
}

/// Shelves in their order. What is on none, as a policy of one's own, stands at the end.
pub(super) const SHELVES: [Shelf; 6] = [
    Shelf { title: "Start here", names: &["none", "headway", "concurrency", "gradient2", "compose"] },
    Shelf { title: "Limits that you set", names: &["fixed-rate", "queue-length", "connections", "class-queues"] },
    Shelf {
        title: "Adaptive: by response times, waiting or load",
        names: &["aimd", "vegas", "codel", "lifo", "deadline", "cheapest-first", "seda", "degrade"],
    },
    Shelf {
        title: "By importance, customer or cost",
        names: &["fair-queue", "utilization", "dont-retry", "dagor", "quota", "sre", "sentry", "saturation"],
    },
    Shelf { title: "On the senders' side", names: &["throttle", "retry-budget", "sre-client"] },
    Shelf { title: "Research baselines", names: &["pid", "mm1", "queue-threshold", "red", "sessions"] },
];

/// Head of those that are on no shelf.
pub(super) const OWN: &str = "Your own";

/// Shelf of a policy, by its number; the last one is [`OWN`].
pub(super) fn shelf_of(name: &str) -> usize {
    SHELVES.iter().position(|shelf| shelf.names.contains(&name)).unwrap_or(SHELVES.len())
}

#[cfg(test)]
mod tests {
    use controllers::Catalogue;

    use super::*;

    #[test]
    fn every_policy_of_the_catalogue_is_on_one_shelf() {
        let of_catalogue: Vec<&str> =
            Catalogue::built_in().entries().filter(|entry| entry.is_policy()).map(|entry| entry.name).collect();
        for name in &of_catalogue {
            let shelves = SHELVES.iter().filter(|shelf| shelf.names.contains(name)).count();
            assert_eq!(shelves, 1, "{name}");
        }
        let placed = SHELVES.iter().flat_map(|shelf| shelf.names).chain(&FIRST);
        placed.for_each(|name| assert!(of_catalogue.contains(name), "{name}"));
    }
}
