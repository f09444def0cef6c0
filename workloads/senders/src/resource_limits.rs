//! The machine's limits, checked before the first user arrives: a limit reached later would look like the target's
//! fault.

use std::{fs::File, io::Read, sync::Once};

use nix::{
    fcntl::{FcntlArg, fcntl},
    sys::resource::{Resource, getrlimit, setrlimit},
    unistd::close,
};
use workloads::plan::{ConnectionHabit, Load, LoadPlan};

use super::options::{RunError, RunOptions};

/// Descriptors reserved for everything else: the process's own files, the scheduler, the control connection.
const RESERVED_DESCRIPTORS: u64 = 64;
/// Memory maps reserved for everything else.
const RESERVED_MAPS: u64 = 4096;
/// The guard page and the stack are a map each.
const MAPS_PER_FIBER: u64 = 2;

/// Memory for answers under way, over all connections: 256 MiB. One connection alone may take the 16 MiB of
/// [`Limits::body`](crate::http1::Limits::body); a thousand of them may not.
pub(crate) const MEMORY_FOR_ANSWERS: usize = 256 * 1024 * 1024;

/// Resources that a run may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allowance {
    /// Requests in flight at once.
    pub(crate) in_flight: u32,
    /// The process's limit of descriptors.
    pub(crate) descriptors: u64,
}

/// Raises the soft limit of descriptors to the hard one, and checks that the plan fits.
pub(crate) fn check(plan: &LoadPlan, options: &RunOptions) -> Result<Allowance, RunError> {
    raise_descriptor_limit();
    let descriptors = health::descriptor_limit();
    grow_descriptor_table(descriptors);
    read_program();
    let open = health::open_descriptors();
    let free = descriptors.saturating_sub(open + RESERVED_DESCRIPTORS);
    let kept = kept_connections(plan);
    if kept > free {
        let (limit, reserved) = (descriptors, RESERVED_DESCRIPTORS);
        return Err(RunError::TooFewDescriptors { wanted: kept, limit, open, reserved });
    }
    let sources = sources(plan, options);
    let ports = health::local_ports();
    if kept > sources * ports && options.unix_socket.is_none() {
        return Err(RunError::TooFewPorts { wanted: kept, sources, ports });
    }
    let fibers = health::max_map_count().saturating_sub(RESERVED_MAPS) / MAPS_PER_FIBER;
    // A request on a kept connection takes no further descriptor; in the worst case none is on one.
    let most = free.min(fibers).max(1);
    let in_flight = u32::try_from(most).unwrap_or(u32::MAX);
    Ok(Allowance {
        in_flight: options.in_flight_limit.map_or(in_flight, |limit| limit.clamp(1, in_flight)),
        descriptors,
    })
}

/// The number of addresses that connections come from.
fn sources(plan: &LoadPlan, options: &RunOptions) -> u64 {
    match options.source_addresses.len() {
        0 if plan.target.address.ip().is_loopback() => plan.sources.max(1).into(),
        given => given.max(1) as u64,
    }
}

/// The largest number of connections that closed users keep at once. The number of users of an open load depends on the
/// target, so they are not counted here: if connections run out, the run reports it.
fn kept_connections(plan: &LoadPlan) -> u64 {
    let share = match plan.connections() {
        ConnectionHabit::PerUser | ConnectionHabit::PerSession | ConnectionHabit::Shared { .. } => 1.0,
        ConnectionHabit::Mixed { keep } => keep,
        ConnectionHabit::PerRequest => 0.0,
    };
    let of_load = |load: &Load| match load {
        Load::Users { .. } => (load.most_at_once() as f64 * share) as u64,
        _ => load.most_at_once(),
    };
    let kept = plan.phases.iter().map(|phase| phase.loads.iter().map(of_load).sum::<u64>()).max();
    match plan.connections() {
        // However few users the plan begins with.
        ConnectionHabit::Shared { most: Some(most) } => u64::from(most),
        _ => plan.portion(kept.unwrap_or_default()),
    }
}

fn raise_descriptor_limit() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        // If the limit cannot be raised, the plan is checked against the current one.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// Reads this program's own file once, so that code that a run needs for the first time is already in memory: otherwise
/// the first run after a build waits for the disk in the middle of its spike (gate `PAGING`).
fn read_program() {
    static READ: Once = Once::new();
    READ.call_once(|| {
        // A failure here costs only those faults.
        let Ok(mut file) = File::open("/proc/self/exe") else { return };
        let mut part = vec![0; 1 << 20];
        while matches!(file.read(&mut part), Ok(read) if read > 0) {}
    });
}

/// The largest table that [`grow_descriptor_table`] makes: 8 bytes of the kernel per descriptor.
const PLACES: u64 = 1 << 16;

/// Makes the kernel's table of this process's descriptors as large as the limit allows, before the run.
///
/// The table doubles when it is full, and where a process has several threads, the thread that asked for the descriptor
/// then sleeps until every core has passed a quiescent state (`synchronize_rcu`): 8 to 22 ms were measured, at 256,
/// 512, 1024 ... sockets, in which the sender sends nothing. A descriptor with a high number, closed at once, leaves
/// the table grown.
fn grow_descriptor_table(descriptors: u64) {
    let last = i32::try_from(descriptors.min(PLACES)).unwrap_or(i32::MAX).saturating_sub(1);
    // A failure here costs only the growth during the run.
    if let Ok(any) = File::open("/dev/null")
        && let Ok(high) = fcntl(&any, FcntlArg::F_DUPFD_CLOEXEC(last))
    {
        let _ = close(high);
    }
}

#[cfg(test)]
mod tests {
    use workloads::{plan::Target, testing::url_plan};

    use super::*;

    #[test]
    fn the_table_of_descriptors_is_grown_and_no_descriptor_is_left_open() {
        raise_descriptor_limit();
        let limit = health::descriptor_limit();
        grow_descriptor_table(limit);
        let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
        let size = status.lines().find_map(|line| line.strip_prefix("FDSize:")).expect("a line of its own");
        assert!(size.trim().parse::<u64>().expect("a number") >= limit.min(PLACES), "{size} of {limit}");
        let high = format!("/proc/self/fd/{}", limit.min(PLACES) - 1);
        assert!(!std::path::Path::new(&high).exists());
    }

    #[test]
    fn what_is_missing_is_said_with_the_number_that_is_needed() {
        let plan = |address: &str| {
            let target = Target::at(address.parse().expect("an address"));
            LoadPlan { sources: 64, target, ..url_plan(&[]) }
        };
        let given = RunOptions { source_addresses: vec![[10, 0, 0, 1].into(); 3], ..RunOptions::default() };
        let (here, elsewhere) = (plan("127.0.0.1:80"), plan("10.0.0.9:80"));
        // Those of 127.0.0.0/8 lead to no other machine.
        assert_eq!((sources(&here, &RunOptions::default()), sources(&elsewhere, &RunOptions::default())), (64, 1));
        assert_eq!((sources(&here, &given), sources(&elsewhere, &given)), (3, 3));

        // 35.4 addresses of 28 232 ports.
        let ports = RunError::TooFewPorts { wanted: 1_000_000, sources: 2, ports: 28_232 }.to_string();
        assert!(
            ports.contains("have 56464 local ports") && ports.contains("36 source addresses are needed"),
            "{ports}"
        );
        let files =
            RunError::TooFewDescriptors { wanted: 1_000_000, limit: 20_000, open: 18, reserved: 64 }.to_string();
        assert!(files.contains("19918 of them fit") && files.contains("`ulimit -n 1000082`"), "{files}");
    }
}
