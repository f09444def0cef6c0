//! Drops of the kernel at the listening sockets of processes, socket by socket (sock_diag(7)): its counters in
//! `/proc/net/netstat` are of all programs of the machine.

use std::{
    collections::BTreeMap,
    io,
    os::fd::{AsRawFd as _, OwnedFd},
};

use nix::{
    libc,
    sys::socket::{AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket},
};

use super::service::process_tree::sockets_of;

/// Drops at each listening socket of some processes, by the sockets' numbers, at one moment.
#[derive(Debug)]
pub struct ListenQueues(BTreeMap<u32, u64>);

impl ListenQueues {
    /// Reads the drops of these processes; `None`: the kernel does not say.
    pub fn of(pids: &[u32]) -> Option<Self> {
        let mut all = BTreeMap::new();
        for family in [libc::AF_INET, libc::AF_INET6] {
            all.extend(listening(family).ok()?);
        }
        // The kernel's answer has the lower half of a number.
        let ours = pids.iter().flat_map(|pid| sockets_of(*pid)).map(|inode| inode as u32);
        Some(Self(ours.filter_map(|inode| Some((inode, *all.get(&inode)?))).collect()))
    }

    /// Connections that were dropped since.
    pub fn dropped_since(&self, earlier: &Self) -> u64 {
        let added = |(inode, drops): (&u32, &u64)| drops.saturating_sub(earlier.0.get(inode).copied().unwrap_or(0));
        self.0.iter().map(added).sum()
    }
}

// From Linux' `include/uapi/linux/`: `netlink.h`, `sock_diag.h`, `inet_diag.h`, `tcp_states.h`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const REQUEST_AND_DUMP: u16 = 0x301;
const MESSAGE_IS_ERROR: u16 = 2;
const MESSAGE_IS_LAST: u16 = 3;
const IN_STATE_LISTEN: u32 = 1 << 10;
const MEMORY_INFO: u16 = 7;
/// Bytes of a message's head, of the request in it, and of a socket in an answer before its attributes.
const HEAD: usize = 16;
const QUESTION: usize = 56;
const SOCKET: usize = 72;
/// Offsets in an answer: the number of a socket, the drops in its memory info.
const INODE_AT: usize = 68;
const DROPS_AT: usize = 8 * 4;

/// The drops of all listening sockets of this family, by the sockets' numbers.
fn listening(family: i32) -> io::Result<BTreeMap<u32, u64>> {
    let to_kernel =
        socket(AddressFamily::Netlink, SockType::Datagram, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkSockDiag)?;
    sendto(to_kernel.as_raw_fd(), &question(family), &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
    let mut found = BTreeMap::new();
    while take(&to_kernel, &mut found)? {}
    Ok(found)
}

fn question(family: i32) -> [u8; HEAD + QUESTION] {
    let mut message = [0; HEAD + QUESTION];
    message[0..4].copy_from_slice(&((HEAD + QUESTION) as u32).to_ne_bytes());
    message[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    message[6..8].copy_from_slice(&REQUEST_AND_DUMP.to_ne_bytes());
    message[16] = family as u8;
    message[17] = libc::IPPROTO_TCP as u8;
    message[18] = 1 << (MEMORY_INFO - 1);
    message[20..24].copy_from_slice(&IN_STATE_LISTEN.to_ne_bytes());
    message
}

/// Reads one datagram of the answer; false after the last one.
fn take(from_kernel: &OwnedFd, found: &mut BTreeMap<u32, u64>) -> io::Result<bool> {
    let mut buffer = vec![0; 1 << 16];
    let length = recv(from_kernel.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
    let mut rest = &buffer[..length];
    while let Some(size) = number(rest, 0).map(|size| size as usize).filter(|size| (HEAD..=rest.len()).contains(size)) {
        match half(rest, 4) {
            Some(MESSAGE_IS_LAST) => return Ok(false),
            Some(MESSAGE_IS_ERROR) => return Err(io::ErrorKind::Unsupported.into()),
            _ => found.extend(of_socket(&rest[HEAD..size])),
        }
        rest = rest.get(size.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(length > 0)
}

/// The number of a socket, and its drops.
fn of_socket(socket: &[u8]) -> Option<(u32, u64)> {
    let inode = number(socket, INODE_AT)?;
    let mut attributes = socket.get(SOCKET..)?;
    while let Some(size) = half(attributes, 0).map(usize::from).filter(|size| (4..=attributes.len()).contains(size)) {
        if half(attributes, 2) == Some(MEMORY_INFO) {
            return Some((inode, number(&attributes[4..size], DROPS_AT)?.into()));
        }
        attributes = attributes.get(size.next_multiple_of(4)..).unwrap_or_default();
    }
    None
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::{
        net::{SocketAddr, TcpListener, TcpStream},
        os::fd::AsRawFd as _,
        time::Duration,
    };

    use nix::sys::socket::{Backlog, listen};

    use super::*;

    /// A socket whose queue has room for one or two connections, which nobody takes.
    fn short_queue() -> (TcpListener, SocketAddr) {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
        listen(&socket, Backlog::new(1).expect("a length")).expect("a shorter queue");
        let address = socket.local_addr().expect("an address");
        (socket, address)
    }

    fn overflow(address: SocketAddr) -> Vec<TcpStream> {
        (0..6).filter_map(|_| TcpStream::connect_timeout(&address, Duration::from_millis(100)).ok()).collect()
    }

    #[test]
    fn a_drop_is_counted_where_it_happened() {
        let ((full, at_full), (quiet, _)) = (short_queue(), short_queue());
        let inode = |socket: &TcpListener| {
            let link = std::fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).expect("a link");
            let link = link.to_str().expect("a name").trim_start_matches("socket:[").trim_end_matches(']').to_owned();
            link.parse::<u64>().expect("a number") as u32
        };
        let own = [std::process::id()];
        let before = ListenQueues::of(&own).expect("the kernel says");
        let _kept = overflow(at_full);
        let after = ListenQueues::of(&own).expect("the kernel says");
        let dropped = |socket| after.0[&inode(socket)] - before.0[&inode(socket)];
        assert!(dropped(&full) >= 1, "{before:?} {after:?}");
        assert_eq!(dropped(&quiet), 0);
        assert!(after.dropped_since(&before) >= 1);
        assert_eq!(after.dropped_since(&after), 0);
        // Nobody's sockets.
        assert_eq!(ListenQueues::of(&[]).expect("the kernel says").dropped_since(&before), 0);
    }

    #[test]
    fn what_is_cut_short_is_no_socket() {
        assert_eq!(of_socket(&[0; SOCKET]), None);
        assert_eq!(of_socket(&[0; 10]), None);
        let mut whole = vec![0; SOCKET];
        whole[INODE_AT..INODE_AT + 4].copy_from_slice(&7_u32.to_ne_bytes());
        whole.extend([40_u16.to_ne_bytes(), MEMORY_INFO.to_ne_bytes()].concat());
        whole.extend((0..9_u32).flat_map(|n| (n * 11).to_ne_bytes()));
        assert_eq!(of_socket(&whole), Some((7, 88)));
        assert_eq!(of_socket(&whole[..whole.len() - 1]), None);
    }
}
