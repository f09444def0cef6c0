//! CPU time and memory of a process with all its descendants, read from outside (proc(5)).

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::SocketAddr,
    path::Path,
    time::Duration,
};

use nix::unistd::{SysconfVar, sysconf};

/// CPU time and memory of a process and its descendants.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TreeSample {
    /// CPU time since they started, including that of children that have ended and were waited for.
    pub cpu: Duration,
    /// Resident memory, bytes; a page shared by several processes counts for each of them.
    pub resident_bytes: u64,
    /// The process ids; the root of the tree comes first.
    pub pids: Vec<u32>,
}

/// One process, from its line in `/proc/[pid]/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    parent: u32,
    ticks: u64,
    resident_pages: u64,
}

/// Reads the tree below this process; `None` if the process has ended.
pub fn sample(root: u32) -> Option<TreeSample> {
    of_tree(root, &processes())
}

fn of_tree(root: u32, all: &BTreeMap<u32, Process>) -> Option<TreeSample> {
    all.get(&root)?;
    let mut found = TreeSample { pids: vec![root], ..TreeSample::default() };
    let mut ticks = 0;
    let mut at = 0;
    while let Some(&pid) = found.pids.get(at) {
        let Some(process) = all.get(&pid) else { break };
        ticks += process.ticks;
        found.resident_bytes += process.resident_pages * page_bytes();
        found.pids.extend(all.iter().filter(|(_, child)| child.parent == pid).map(|(child, _)| *child));
        at += 1;
    }
    found.cpu = Duration::from_secs_f64(ticks as f64 / ticks_per_second());
    Some(found)
}

/// The children of a process that have not ended.
pub fn children(of: u32) -> Vec<u32> {
    processes().iter().filter(|(_, process)| process.parent == of).map(|(pid, _)| *pid).collect()
}

fn processes() -> BTreeMap<u32, Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeMap::new() };
    let numbered = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    // A process that ends during the search has no file any more.
    numbered.filter_map(|pid| Some((pid, parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?))).collect()
}

/// Fields are counted from the state, after the name in parentheses, which may contain any character: the parent is the 2nd, times
/// are the 12th to 15th, pages the 22nd. A process that has ended and is not reaped counts as ended.
fn parse(line: &str) -> Option<Process> {
    let (_, rest) = line.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
    if matches!(fields.first(), Some(&("Z" | "X"))) {
        return None;
    }
    let ticks = number(11)? + number(12)? + number(13)? + number(14)?;
    Some(Process { parent: u32::try_from(number(1)?).ok()?, ticks, resident_pages: number(21).unwrap_or(0) })
}

fn ticks_per_second() -> f64 {
    sysconf(SysconfVar::CLK_TCK).ok().flatten().map_or(100.0, |ticks| ticks as f64)
}

fn page_bytes() -> u64 {
    sysconf(SysconfVar::PAGE_SIZE).ok().flatten().and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(4096)
}

/// The process that listens at an address, if this user may see its files; else the reason why it is not known.
pub fn listener(address: SocketAddr) -> Result<u32, String> {
    let inodes = listening(address.port());
    if inodes.is_empty() {
        return Err(format!("nothing of this machine listens on port {}", address.port()));
    }
    holder(&inodes)
}

/// The process that listens at a path.
///
/// # Errors
/// The reason why it is not known.
pub fn unix_listener(path: &Path) -> Result<u32, String> {
    let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let inodes: BTreeSet<u64> = match path.canonicalize() {
        Ok(path) => {
            table.lines().filter_map(bound).filter(|bound| is_at(&path, bound)).map(|(inode, _)| inode).collect()
        }
        Err(_) => BTreeSet::new(),
    };
    if inodes.is_empty() { Err(format!("nothing listens at {}", path.display())) } else { holder(&inodes) }
}

/// The inode of a line about a Unix socket that accepts connections, and the path that it was bound to, which may contain spaces.
fn bound(line: &str) -> Option<(u64, &Path)> {
    const ACCEPTS: &str = "00010000";
    let behind = |text, fields| {
        (0..fields).try_fold(text, |text: &str, _| text.split_once(' ').map(|(_, rest)| rest.trim_start()))
    };
    let flags: &str = behind(line, 3)?;
    let (inode, path) = behind(flags, 3)?.split_once(' ')?;
    flags.starts_with(ACCEPTS).then_some((inode.parse().ok()?, Path::new(path)))
}

/// True if a socket was bound to this path: by another name of it, or seen from its own process's folder. One whose process cannot be
/// seen counts if the name is the same.
fn is_at(path: &Path, &(inode, bound): &(u64, &Path)) -> bool {
    let is_same = |bound: &Path| bound.canonicalize().is_ok_and(|bound| bound == path);
    if bound.is_absolute() || bound.file_name() != path.file_name() {
        return is_same(bound);
    }
    holder(&[inode].into()).map_or(true, |pid| is_same(&Path::new(&format!("/proc/{pid}/cwd")).join(bound)))
}

/// The process that has these sockets open.
fn holder(inodes: &BTreeSet<u64>) -> Result<u32, String> {
    let holds = |pid: u32| sockets_of(pid).any(|inode| inodes.contains(&inode));
    let all = processes();
    let holders: BTreeSet<u32> = all.keys().copied().filter(|pid| holds(*pid)).collect();
    // Of several processes of one server the first, which started the others.
    let first = holders.iter().find(|pid| all.get(pid).is_none_or(|process| !holders.contains(&process.parent)));
    first.copied().ok_or_else(|| "its process is another user's, or outside of this container".to_owned())
}

/// The inodes of the sockets that a process has open, if this user may see its files.
pub fn sockets_of(pid: u32) -> impl Iterator<Item = u64> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    files.filter_map(|file| {
        let link = fs::read_link(file.path()).ok()?;
        link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    })
}

/// The inodes of sockets that listen on that port.
fn listening(port: u16) -> BTreeSet<u64> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| fs::read_to_string(table).unwrap_or_default());
    tables.iter().flat_map(|table| table.lines()).filter_map(|line| listens(line, port)).collect()
}

/// The inode of a line about a socket in the state LISTEN (0A) on that port.
fn listens(line: &str, port: u16) -> Option<u64> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (_, local) = fields.get(1)?.rsplit_once(':')?;
    let here = u16::from_str_radix(local, 16) == Ok(port) && *fields.get(3)? == "0A";
    if here { fields.get(9)?.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, os::unix::net::UnixListener, process::Command};

    use super::*;

    #[test]
    fn a_tree_is_all_that_descends_from_its_root() {
        let process = |parent, ticks| Process { parent, ticks, resident_pages: 2 };
        let all =
            [(1, process(0, 7)), (5, process(1, 100)), (6, process(5, 20)), (9, process(6, 3)), (8, process(1, 50))];
        let tree = of_tree(5, &all.into()).expect("it is there");
        assert_eq!(tree.pids, [5, 6, 9]);
        assert!((tree.cpu.as_secs_f64() - 123.0 / ticks_per_second()).abs() < 1e-9);
        assert_eq!(tree.resident_bytes, 6 * page_bytes());
        assert_eq!(of_tree(4, &all.into()), None);
    }

    #[test]
    fn a_line_with_any_name_is_read_and_the_dead_are_gone() {
        let line = |state: &str| {
            format!("7 (a) b (c) {state} 3 7 7 0 -1 4194560 100 0 0 0 5 1 2 4 20 0 1 0 99 1000 17 18446744073709551615")
        };
        assert_eq!(parse(&line("S")), Some(Process { parent: 3, ticks: 12, resident_pages: 17 }));
        assert_eq!(parse(&line("Z")), None);
        assert_eq!(parse("7 (a"), None);
    }

    #[test]
    fn a_line_about_a_unix_socket_says_where_it_was_bound() {
        let line = |flags: &str, path: &str| format!("0000000000000000: 00000002 00000000 {flags} 0001 01 31337{path}");
        assert_eq!(bound(&line("00010000", " a b.sock")), Some((31337, Path::new("a b.sock"))));
        assert_eq!(bound(&line("00010000", "")), None);
        assert_eq!(bound(&line("00000000", " a b.sock")), None);
    }

    #[test]
    fn a_relative_socket_is_seen_from_its_own_process() {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
        let inode = listening(socket.local_addr().expect("an address").port());
        let here = (inode.into_iter().next().expect("an inode"), Path::new("Cargo.toml"));
        let own = Path::new("Cargo.toml").canonicalize().expect("the folder of this crate");
        assert!(is_at(&own, &here));
        assert!(!is_at(Path::new("/elsewhere/Cargo.toml"), &here));
    }

    #[test]
    fn this_process_listens_and_has_a_child() {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = socket.local_addr().expect("an address");
        assert_eq!(listener(address), Ok(std::process::id()));
        drop(socket);
        assert!(listener(address).is_err_and(|why| why.contains("nothing of this machine")));
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a socket");
        assert!(unix_listener(&path).is_err());
        let _listens = UnixListener::bind(&path).expect("a socket");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        for name in [&path, &link] {
            assert_eq!(unix_listener(name), Ok(std::process::id()), "{}", name.display());
        }
        let mut child = Command::new("sleep").arg("60").spawn().expect("a child");
        let tree = sample(std::process::id()).expect("this process");
        assert!(tree.pids.contains(&child.id()) && tree.resident_bytes > 0);
        child.kill().expect("killed");
        child.wait().expect("reaped");
    }
}
