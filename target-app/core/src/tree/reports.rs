//! The numbering of the sites of all tasks of a tree, by which reports find their way.

use controllers::{PeerReport, SiteId};

/// The number of site numbers of a task: one task's numbers end where the next one's begin.
const SITES: u16 = 64;
/// The largest number of tasks, by the numbers of their sites.
pub const MOST_TASKS: usize = (u16::MAX / SITES) as usize;

/// A task's site in the numbering of all tasks.
#[must_use]
pub fn among_all(task: usize, site: SiteId) -> SiteId {
    let task = u16::try_from(task).unwrap_or(u16::MAX);
    SiteId(task.saturating_mul(SITES).saturating_add(site.0))
}

/// A task's report, with its site in the numbering of all tasks.
#[must_use]
pub fn global(task: usize, mut report: PeerReport) -> PeerReport {
    let (site, _) = site_of(&mut report);
    *site = among_all(task, *site);
    report
}

/// The task that a report is for, with the report as that task knows it. `None`: it is for the machines of the tree.
#[must_use]
pub fn addressee(mut report: PeerReport) -> Option<(usize, SiteId, PeerReport)> {
    let (site, is_addressed) = site_of(&mut report);
    let (task, to) = local(*site);
    *site = to;
    is_addressed.then_some((task, to, report))
}

/// The site that a report comes from, or, if true, that it is for.
fn site_of(report: &mut PeerReport) -> (&mut SiteId, bool) {
    match report {
        PeerReport::Pressure { from, .. }
        | PeerReport::Usage { from, .. }
        | PeerReport::Arrivals { from, .. }
        | PeerReport::Workload { from, .. }
        | PeerReport::Nucleus { from, .. } => (from, false),
        PeerReport::Quota { to, .. }
        | PeerReport::Server { to, .. }
        | PeerReport::Target { to, .. }
        | PeerReport::Servers { to, .. } => (to, true),
    }
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
