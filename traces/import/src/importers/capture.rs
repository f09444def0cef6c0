//! Packet captures, pcap and pcapng: sessions of IMAP that are not encrypted.
//!
//! `pcap-parser` reads files, `etherparse` packets; [`crate::flow`] puts TCP's segments in order.

use std::{
    collections::BTreeMap,
    io::{self, Read},
    net::IpAddr,
    sync::{Arc, Mutex},
};

use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};
use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, PcapHeader, create_reader, traits::PcapNGPacketBlock};

use crate::{
    flow::{Flow, Segment},
    importer::{Importer, Mark, Reads},
    sink::{LineResult, Sink, Stop},
};

/// The buffer size for one block of a capture. Packets are far smaller.
const BLOCK: usize = 1 << 20;

/// The largest number of connections followed at a time; beyond it, the connection with the longest silence is given
/// up.
const FLOWS: usize = 10_000;

/// The largest number of bytes that all connections together hold, for earlier segments and for answers; beyond it,
/// too, the connections with the longest silence are given up. One connection holds far less.
const HELD: usize = 64 << 20;

/// The largest number of interfaces of a pcapng file; packets of later ones are not understood.
const INTERFACES: usize = 10_000;

/// Address and port.
type End = (IpAddr, u16);

/// Client's address and port, server's address and port.
type Ends = (IpAddr, u16, IpAddr, u16);

/// Packet captures.
pub const IMPORTER: Importer = Importer {
    name: "packet capture",
    files: "packet captures (pcap, pcapng)",
    mark: Mark::Beginning(|first| first.first_chunk().is_some_and(|magic| MAGIC.contains(&u32::from_be_bytes(*magic)))),
    reads: Reads::Log(|_, from, sink| read(from, sink)),
};

/// The first four bytes: pcap's in both orders, with microseconds and nanoseconds; a variant's; pcapng's.
const MAGIC: [u32; 6] = [0xa1b2_c3d4, 0xd4c3_b2a1, 0xa1b2_3c4d, 0x4d3c_b2a1, 0x34cd_b2a1, 0x0a0d_0d0a];

/// Reads to the end.
fn read<R: Read + Send>(from: R, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let (mut packets, broken) = (0, Arc::default());
    let read = blocks(UntilBroken { from, error: Arc::clone(&broken) }, &mut packets, sink);
    let broken = broken.lock().ok().and_then(|mut error| error.take());
    match (broken, read) {
        (_, Err(Stop::Spool(error))) => Err(Stop::Spool(error)),
        // The parser's own error about the missing rest is no cause.
        (Some(error), _) => Err(Stop::Source(format!("after packet {packets}"), error)),
        (None, read) => read,
    }
}

/// A source that ends at its first error, and keeps the error: the parser of captures would lose its buffered bytes and
/// the cause.
struct UntilBroken<R> {
    from: R,
    error: Arc<Mutex<Option<io::Error>>>,
}

impl<R: Read> Read for UntilBroken<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self.from.read(room) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                if let Ok(mut kept) = self.error.lock() {
                    kept.get_or_insert(error);
                }
                Ok(0)
            }
            read => read,
        }
    }
}

fn blocks<R: Read + Send>(from: R, packets: &mut u64, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let broken = |packets: u64, what: &str| {
        Stop::Source(format!("after packet {packets}"), io::Error::new(io::ErrorKind::InvalidData, what.to_owned()))
    };
    let mut reader = create_reader(BLOCK, from).map_err(|_| broken(0, "its first block cannot be read"))?;
    let mut capture = Capture::default();
    loop {
        match reader.next() {
            Ok((length, block)) => {
                if let Some(packet) = capture.packet(&block) {
                    *packets += 1;
                    let heard = match packet {
                        Ok(packet) => capture.take(&packet, sink)?,
                        Err(problem) => LineResult::Not(problem),
                    };
                    sink.heard(heard, format_args!("packet {packets}"));
                }
                reader.consume(length);
            }
            Err(PcapError::Eof) => break,
            Err(PcapError::Incomplete(_)) => {
                let before = reader.data().len();
                let refilled = reader.refill().is_ok();
                if reader.data().is_empty() {
                    break;
                }
                if !refilled || reader.data().len() <= before {
                    // The commands seen in open sessions are kept.
                    capture.finish(sink)?;
                    return Err(broken(*packets, "the capture ends within a block, or has one over 1 MiB"));
                }
            }
            Err(_) => {
                capture.finish(sink)?;
                return Err(broken(*packets, "this is no block of a capture"));
            }
        }
    }
    capture.finish(sink)?;
    Ok(())
}

/// A packet: its time, its link type, and its bytes.
struct Packet<'a> {
    at: i64,
    link: Linktype,
    bytes: &'a [u8],
}

struct Capture {
    /// The header of a pcap file.
    header: Option<PcapHeader>,
    /// The interfaces of a pcapng file: link type, units a second, offset in seconds.
    interfaces: Vec<(Linktype, u64, i64)>,
    flows: BTreeMap<Ends, Flow>,
    /// The bytes that connections hold, and the limit.
    held: usize,
    most: usize,
}

impl Default for Capture {
    fn default() -> Self {
        Self { header: None, interfaces: Vec::new(), flows: BTreeMap::new(), held: 0, most: HELD }
    }
}

impl Capture {
    /// The packet of a block, or the problem with it; `None`: the block has no packet.
    fn packet<'a>(&mut self, block: &'a PcapBlockOwned<'a>) -> Option<Result<Packet<'a>, &'static str>> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                self.header = Some(header.clone());
                None
            }
            PcapBlockOwned::Legacy(packet) => {
                let header = self.header.as_ref()?;
                let fraction = i64::from(packet.ts_usec) / if header.is_nanosecond_precision() { 1000 } else { 1 };
                let at = i64::from(packet.ts_sec) * 1_000_000 + fraction;
                let length = packet.data.len().min(packet.caplen as usize);
                Some(Ok(Packet { at, link: header.network, bytes: &packet.data[..length] }))
            }
            PcapBlockOwned::NG(Block::SectionHeader(_)) => {
                self.interfaces.clear();
                None
            }
            PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
                let units = interface.ts_resolution().filter(|units| *units > 0).unwrap_or(1_000_000);
                if self.interfaces.len() < INTERFACES {
                    self.interfaces.push((interface.linktype, units, interface.ts_offset()));
                }
                None
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                let Some(&(link, units, offset)) = self.interfaces.get(packet.if_id as usize) else {
                    return Some(Err("its interface is not described"));
                };
                let ticks = u128::from(packet.ts_high) << 32 | u128::from(packet.ts_low);
                let micros = i64::try_from(ticks * 1_000_000 / u128::from(units)).ok();
                let at = micros.zip(offset.checked_mul(1_000_000)).and_then(|(at, offset)| at.checked_add(offset));
                Some(at.map(|at| Packet { at, link, bytes: packet.packet_data() }).ok_or("its time is none"))
            }
            PcapBlockOwned::NG(Block::SimplePacket(_)) => Some(Err("it has no time (a simple packet block)")),
            PcapBlockOwned::NG(_) => None,
        }
    }

    fn take(&mut self, &Packet { at, link, bytes }: &Packet<'_>, sink: &mut Sink<'_>) -> io::Result<LineResult> {
        let Some((source, target, segment)) = segment(link, bytes) else { return Ok(LineResult::Beside) };
        let port = sink.options.port;
        let from_client = match (source.1 == port, target.1 == port) {
            (false, true) => true,
            (true, false) => false,
            _ => return Ok(LineResult::Beside),
        };
        let (client, server) = if from_client { (source, target) } else { (target, source) };
        let ends = (client.0, client.1, server.0, server.1);
        // A new connection from a port that was used before.
        if from_client && segment.syn && self.flows.get(&ends).is_some_and(Flow::spoken) {
            self.close(&ends, sink)?;
        }
        if self.flows.len() >= FLOWS && !self.flows.contains_key(&ends) {
            self.give_up_the_most_silent(sink)?;
        }
        let named = || format!("{}:{} {}:{} {at}", ends.0, ends.1, ends.2, ends.3);
        let flow = self.flows.entry(ends).or_insert_with(|| Flow::new(named(), segment.syn));
        let before = flow.held();
        flow.take(at, from_client, &segment, sink)?;
        self.held = self.held - before + flow.held();
        if flow.over() {
            self.close(&ends, sink)?;
        }
        while self.held > self.most && self.flows.len() > 1 {
            self.give_up_the_most_silent(sink)?;
        }
        Ok(LineResult::Understood)
    }

    fn give_up_the_most_silent(&mut self, sink: &mut Sink<'_>) -> io::Result<()> {
        let silent = self.flows.iter().min_by_key(|(_, flow)| flow.last()).map(|(ends, _)| *ends);
        silent.map_or(Ok(()), |silent| self.close(&silent, sink))
    }

    fn close(&mut self, ends: &Ends, sink: &mut Sink<'_>) -> io::Result<()> {
        let Some(flow) = self.flows.remove(ends) else { return Ok(()) };
        self.held -= flow.held();
        flow.finish(sink)
    }

    /// Ends the capture: connections that are still open were cut by it.
    fn finish(&mut self, sink: &mut Sink<'_>) -> io::Result<()> {
        std::mem::take(&mut self.flows).into_values().try_for_each(|flow| flow.finish(sink))
    }
}

/// Both ends and the segment, for a TCP packet.
fn segment(link: Linktype, bytes: &[u8]) -> Option<(End, End, Segment<'_>)> {
    let after = |header: usize| bytes.get(header..).and_then(|bytes| LaxSlicedPacket::from_ip(bytes).ok());
    let packet = match link.0 {
        1 => LaxSlicedPacket::from_ethernet(bytes).ok(),
        // Raw IP; loopback of BSD; Linux' cooked captures, old and new.
        12 | 14 | 101 | 228 | 229 => after(0),
        0 | 108 => after(4),
        113 => after(16),
        276 => after(20),
        _ => None,
    }?;
    let (source, target): (IpAddr, IpAddr) = match packet.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => (ip.header().source_addr().into(), ip.header().destination_addr().into()),
        LaxNetSlice::Ipv6(ip) => (ip.header().source_addr().into(), ip.header().destination_addr().into()),
        LaxNetSlice::Arp(_) => return None,
    };
    let Some(TransportSlice::Tcp(tcp)) = packet.transport else { return None };
    let segment = Segment {
        sequence: tcp.sequence_number(),
        syn: tcp.syn(),
        fin: tcp.fin(),
        reset: tcp.rst(),
        bytes: tcp.payload(),
    };
    Some(((source, tcp.source_port()), (target, tcp.destination_port()), segment))
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;
    use proptest::prelude::*;
    use traces::{pseudonym::Pseudonyms, tally::Tally};

    use super::*;
    use crate::{Options, entries::Entries};

    fn packet(port: u16, from_client: bool, sequence: u32, text: &[u8]) -> Vec<u8> {
        let (client, server) = ([192, 0, 2, 1], [192, 0, 2, 2]);
        let ((from, from_port), (to, to_port)) =
            if from_client { ((client, port), (server, 143)) } else { ((server, 143), (client, port)) };
        let mut bytes = Vec::new();
        let tcp = PacketBuilder::ipv4(from, to, 64).tcp(from_port, to_port, sequence, 1000);
        tcp.write(&mut bytes, text).expect("memory");
        bytes
    }

    proptest! {
        /// Holes, lines without an end, literals without one, commands without answers: memory is bounded for any
        /// number of connections.
        #[test]
        fn what_waits_is_counted_and_bounded_over_all_connections(
            packets in prop::collection::vec(
                (1000_u16..1020, any::<bool>(), 0_u32..100_000, "(A[0-9] (NOOP|SELECT x{1,300}|X \\{[0-9]{1,4}\\})|z{1,400})(\r\n)?"),
                1..120,
            ),
        ) {
            const MOST: usize = 4000;
            let options = Options::new(Pseudonyms::none(), 2026);
            let (mut tally, mut entries) = (Tally::default(), Entries::new(1000));
            let mut sink = Sink::new(&options, &mut tally, &mut entries);
            let mut capture = Capture { most: MOST, ..Capture::default() };
            for (at, (port, from_client, sequence, text)) in packets.iter().enumerate() {
                let bytes = packet(*port, *from_client, *sequence, text.as_bytes());
                capture.take(&Packet { at: at as i64, link: Linktype(101), bytes: &bytes }, &mut sink).expect("memory");
                prop_assert_eq!(capture.held, capture.flows.values().map(Flow::held).sum::<usize>());
                prop_assert!(capture.held <= MOST || capture.flows.len() == 1, "{} in {}", capture.held, capture.flows.len());
            }
            capture.finish(&mut sink).expect("memory");
        }
    }
}
