//! Packet captures, pcap and pcapng: sessions of IMAP that are not encrypted.
//!
//! Files are read by `pcap-parser`, packets by `etherparse`; [`super::flow`] puts TCP's segments in order.

use std::{
    collections::BTreeMap,
    io::{self, Read},
    net::IpAddr,
};

use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};
use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, PcapHeader, create_reader, traits::PcapNGPacketBlock};

use super::{
    flow::{Flow, Segment},
    sink::{Heard, Sink, Stop},
};

/// Room for one block of a capture. Packets are far smaller.
const BLOCK: usize = 1 << 20;

/// Most connections that are followed at a time; beyond, the one that has been silent longest is given up.
const FLOWS: usize = 10_000;

/// Address and port.
type End = (IpAddr, u16);

/// Client's address and port, server's address and port.
type Ends = (IpAddr, u16, IpAddr, u16);

/// Reads to the end.
pub fn read<R: Read + Send>(from: R, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let mut packets = 0_u64;
    let broken = |packets: u64, what: &str| {
        Stop::Source(format!("after packet {packets}"), io::Error::new(io::ErrorKind::InvalidData, what.to_owned()))
    };
    let mut reader = create_reader(BLOCK, from).map_err(|_| broken(0, "its first block cannot be read"))?;
    let mut capture = Capture::default();
    loop {
        match reader.next() {
            Ok((length, block)) => {
                if let Some((at, link, bytes)) = capture.packet(&block) {
                    packets += 1;
                    let heard = capture.take(at, link, bytes, sink)?;
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
                    // What was seen of open sessions stands.
                    capture.finish(sink)?;
                    return Err(broken(packets, "the capture ends within a block, or has one over 1 MiB"));
                }
            }
            Err(_) => {
                capture.finish(sink)?;
                return Err(broken(packets, "this is no block of a capture"));
            }
        }
    }
    capture.finish(sink)?;
    Ok(())
}

#[derive(Default)]
struct Capture {
    /// Of a pcap file.
    header: Option<PcapHeader>,
    /// Of a pcapng file: link type, units a second, offset in seconds.
    interfaces: Vec<(Linktype, u64, i64)>,
    flows: BTreeMap<Ends, Flow>,
    last: i64,
}

impl Capture {
    /// The packet of a block, with its time and what it begins with; `None`: the block is none, or has no time.
    fn packet<'a>(&mut self, block: &'a PcapBlockOwned<'a>) -> Option<(i64, Linktype, &'a [u8])> {
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
                Some((at, header.network, &packet.data[..length]))
            }
            PcapBlockOwned::NG(Block::SectionHeader(_)) => {
                self.interfaces.clear();
                None
            }
            PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
                let units = interface.ts_resolution().filter(|units| *units > 0).unwrap_or(1_000_000);
                self.interfaces.push((interface.linktype, units, interface.ts_offset()));
                None
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                let &(link, units, offset) = self.interfaces.get(packet.if_id as usize)?;
                let ticks = u128::from(packet.ts_high) << 32 | u128::from(packet.ts_low);
                let micros = i64::try_from(ticks * 1_000_000 / u128::from(units)).ok()?;
                let at = micros.checked_add(offset.checked_mul(1_000_000)?)?;
                Some((at, link, packet.packet_data()))
            }
            PcapBlockOwned::NG(_) => None,
        }
    }

    fn take(&mut self, at: i64, link: Linktype, bytes: &[u8], sink: &mut Sink<'_>) -> io::Result<Heard> {
        let Some((source, target, segment)) = segment(link, bytes) else { return Ok(Heard::Beside) };
        let port = sink.options.port;
        let from_client = match (source.1 == port, target.1 == port) {
            (false, true) => true,
            (true, false) => false,
            _ => return Ok(Heard::Beside),
        };
        let (client, server) = if from_client { (source, target) } else { (target, source) };
        let ends = (client.0, client.1, server.0, server.1);
        self.last = self.last.max(at);
        // A new connection from a port that was used before.
        if from_client && segment.syn && self.flows.get(&ends).is_some_and(Flow::spoken) {
            self.close(&ends, sink)?;
        }
        if self.flows.len() >= FLOWS
            && !self.flows.contains_key(&ends)
            && let Some(silent) = self.flows.iter().min_by_key(|(_, flow)| flow.last()).map(|(ends, _)| *ends)
        {
            self.close(&silent, sink)?;
        }
        let named = || format!("{}:{} {}:{} {at}", ends.0, ends.1, ends.2, ends.3);
        let flow = self.flows.entry(ends).or_insert_with(|| Flow::new(named(), segment.syn));
        flow.take(at, from_client, &segment, sink)?;
        if flow.over() {
            self.close(&ends, sink)?;
        }
        Ok(Heard::Understood)
    }

    fn close(&mut self, ends: &Ends, sink: &mut Sink<'_>) -> io::Result<()> {
        self.flows.remove(ends).map_or(Ok(()), |flow| flow.finish(sink))
    }

    /// The capture is over: connections that are still open were cut by it.
    fn finish(&mut self, sink: &mut Sink<'_>) -> io::Result<()> {
        std::mem::take(&mut self.flows).into_values().try_for_each(|flow| flow.finish(sink))
    }
}

/// Both ends and the segment, if the packet is one of TCP.
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
