//! The numbering of the sites of all tasks of a tree, by which reports find their way.

use controllers::{PeerReport, SiteId};

/// The number of site numbers of a task: one task's numbers end where the next one's begin.
const SITES: u16 = 64;
/// The largest number of tasks, by the numbers of their sites.
pub const MOST_TASKS: usize = (u16::MAX / SITES) as usize;

/// A task's report, with its site in the numbering of all tasks.
#[must_use]
pub fn global(task: usize, report: PeerReport) -> PeerReport {
    let task = u16::try_from(task).unwrap_or(u16::MAX);
    let among_all = |site: SiteId| SiteId(task.saturating_mul(SITES).saturating_add(site.0));
    match report {
        PeerReport::Usage { from, customer, used, wanted } => {
            PeerReport::Usage { from: among_all(from), customer, used, wanted }
        }
        PeerReport::Pressure { from, level } => PeerReport::Pressure { from: among_all(from), level },
        PeerReport::Quota { to, customer, limit } => PeerReport::Quota { to: among_all(to), customer, limit },
        PeerReport::Arrivals { from, rank, offered } => PeerReport::Arrivals { from: among_all(from), rank, offered },
        PeerReport::Workload { from, refused, service, interarrival, cpu } => {
            PeerReport::Workload { from: among_all(from), refused, service, interarrival, cpu }
        }
        PeerReport::Nucleus { from, queueing, in_service } => {
            PeerReport::Nucleus { from: among_all(from), queueing, in_service }
        }
        PeerReport::Server { to, server, queueing, in_service } => {
            PeerReport::Server { to: among_all(to), server, queueing, in_service }
        }
        PeerReport::Target { to, response } => PeerReport::Target { to: among_all(to), response },
        PeerReport::Servers { to, servers } => PeerReport::Servers { to: among_all(to), servers },
    }
}

/// The task that a report is for, with the report as that task knows it. `None`: it is for the machines of the tree.
#[must_use]
pub fn addressee(report: PeerReport) -> Option<(usize, SiteId, PeerReport)> {
    let (task, to, report) = match report {
        PeerReport::Quota { to, customer, limit } => {
            let (task, to) = local(to);
            (task, to, PeerReport::Quota { to, customer, limit })
        }
        PeerReport::Target { to, response } => {
            let (task, to) = local(to);
            (task, to, PeerReport::Target { to, response })
        }
        PeerReport::Servers { to, servers } => {
            let (task, to) = local(to);
            (task, to, PeerReport::Servers { to, servers })
        }
        PeerReport::Server { to, server, queueing, in_service } => {
            let (task, to) = local(to);
            (task, to, PeerReport::Server { to, server, queueing, in_service })
        }
        PeerReport::Pressure { .. }
        | PeerReport::Usage { .. }
        | PeerReport::Arrivals { .. }
        | PeerReport::Nucleus { .. }
        | PeerReport::Workload { .. } => return None,
    };
    Some((task, to, report))
}

/// The task of a site in the numbering of all tasks, and the site's number in the task.
#[must_use]
pub fn local(site: SiteId) -> (usize, SiteId) {
    (usize::from(site.0 / SITES), SiteId(site.0 % SITES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_told_apart_by_task() {
        let report = PeerReport::Usage { from: SiteId(2), customer: 7, used: 0.5, wanted: 1.0 };
        let PeerReport::Usage { from, customer: 7, .. } = global(3, report) else { panic!("another report") };
        assert_eq!(local(from), (3, SiteId(2)));
    }
}
