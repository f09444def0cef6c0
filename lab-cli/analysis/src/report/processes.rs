//! Use of CPU and memory by a service that is not the lab's, and work of the proxy before it.

use crate::{
    summary::{Arm, RunSummary, ServiceUse},
    text::{percent, table::Table},
};

/// A row for each arm on such a service.
pub(super) fn table(summary: &RunSummary, head: &str, name: impl Fn(&Arm) -> String) -> Table {
    let mut table = Table::new(&[head, "service CPU", "core", "memory", "proxy CPU", "core", "memory"], 1..);
    for arm in &summary.arms {
        let Some(ServiceUse { cpu, memory_mb, core, proxy_cpu, proxy_core, proxy_memory_mb, .. }) = arm.service else {
            continue;
        };
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let megabytes = |mb: f64| format!("{mb:.0} MB");
        let any = |known: bool, core: Option<usize>| match (known, core) {
            (_, Some(core)) => core.to_string(),
            (true, None) => "any".to_owned(),
            (false, None) => "-".to_owned(),
        };
        table.row([
            name(arm),
            or_dash(cpu.map(percent)),
            any(cpu.is_some(), core),
            or_dash(memory_mb.map(megabytes)),
            or_dash(proxy_cpu.map(percent)),
            any(proxy_cpu.is_some(), proxy_core),
            or_dash(proxy_memory_mb.map(megabytes)),
        ]);
    }
    table
}

/// Reason for which a service's CPU and memory are not known, once.
pub(super) fn unknown(summary: &RunSummary) -> Option<String> {
    let why = summary.arms.iter().find_map(|arm| arm.service.as_ref()?.unknown.as_deref())?;
    Some(format!("The service's CPU and memory are unknown: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unknown_is_a_dash_with_its_reason() {
        let arm = |name: &str, service: Option<ServiceUse>| Arm { policy: name.to_owned(), service, ..Arm::default() };
        let own = ServiceUse {
            cpu: Some(0.97),
            memory_mb: Some(41.2),
            core: Some(1),
            proxy_cpu: Some(0.12),
            proxy_core: Some(0),
            proxy_memory_mb: Some(14.6),
            unknown: None,
        };
        let direct = ServiceUse { unknown: Some("it is elsewhere".to_owned()), ..ServiceUse::default() };
        let arms = vec![arm("none", Some(own)), arm("direct", Some(direct)), arm("lab's", None)];
        let summary = RunSummary { arms, ..RunSummary::default() };
        let found = table(&summary, "processes", |arm| arm.policy.clone());
        assert_eq!(
            found.rows,
            [["none", "97 %", "1", "41 MB", "12 %", "0", "15 MB"], ["direct", "-", "-", "-", "-", "-", "-"]]
        );
        assert!(unknown(&summary).is_some_and(|why| why.ends_with("it is elsewhere")));
        assert_eq!(unknown(&RunSummary::default()), None);
    }
}
