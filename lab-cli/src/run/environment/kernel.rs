//! The kernel's counters of TCP (`/proc/net/netstat`), as differences over an arm.

use std::{collections::BTreeMap, fs};

use analysis::summary::Kernel;

/// Counters without which drops are not known.
const NEEDED: [&str; 2] = ["ListenOverflows", "ListenDrops"];

/// Counters at one moment.
#[derive(Debug, Clone, Default)]
pub struct Counters(BTreeMap<String, u64>);

impl Counters {
    /// Now. Those that cannot be read are missing.
    pub fn read() -> Self {
        Self::parse(&fs::read_to_string("/proc/net/netstat").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let mut counters = BTreeMap::new();
        let mut lines = text.lines();
        while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
            let pairs = names.split_ascii_whitespace().zip(values.split_ascii_whitespace()).skip(1);
            counters.extend(pairs.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))));
        }
        Self(counters)
    }

    /// The difference from an earlier reading.
    pub fn since(&self, earlier: &Self) -> Kernel {
        let added = |name: &str| {
            let of = |counters: &Self| counters.0.get(name).copied().unwrap_or(0);
            of(self).saturating_sub(of(earlier))
        };
        Kernel {
            listen_overflows: added("ListenOverflows"),
            listen_drops: added("ListenDrops"),
            syn_retransmits: added("TCPSynRetrans"),
            request_queue_full: added("TCPReqQFullDrop") + added("TCPReqQFullDoCookies"),
            unread: [earlier, self].iter().any(|counters| NEEDED.iter().any(|name| !counters.0.contains_key(*name))),
            ..Kernel::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_by_name() {
        let before = Counters::parse("TcpExt: A ListenOverflows ListenDrops\nTcpExt: 1 10 20\n");
        let after = Counters::parse(
            "TcpExt: A ListenOverflows ListenDrops TCPSynRetrans TCPReqQFullDrop TCPReqQFullDoCookies\n\
             TcpExt: 5 13 26 4 2 5\n",
        );
        let found = after.since(&before);
        assert_eq!((found.listen_overflows, found.listen_drops, found.syn_retransmits), (3, 6, 4));
        assert_eq!(found.request_queue_full, 7);
        assert!(!found.unread);
    }

    #[test]
    fn what_could_not_be_read_is_told() {
        let whole = Counters::parse("TcpExt: ListenOverflows ListenDrops\nTcpExt: 1 1\n");
        assert!(!whole.since(&whole).unread);
        let others = Counters::parse("TcpExt: TCPSynRetrans\nTcpExt: 1\n");
        for missing in [Counters::parse(""), others] {
            assert_eq!(missing.since(&missing), Kernel { unread: true, ..Kernel::default() });
            assert!(whole.since(&missing).unread && missing.since(&whole).unread);
        }
    }
}
