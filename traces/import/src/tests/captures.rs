//! Packet captures, made packet by packet.

use etherparse::PacketBuilder;

use super::*;

/// A packet of a connection: milliseconds, from the client, number of its first byte, flags (S, F), text.
pub(super) type Packet<'t> = (u64, bool, u32, &'t str, &'t str);

fn frame(packet: &Packet<'_>, port: u16) -> Vec<u8> {
    let &(_, from_client, sequence, flags, text) = packet;
    let (client, server) = ([192, 0, 2, 1], [192, 0, 2, 2]);
    let ((from, from_port), (to, to_port)) =
        if from_client { ((client, port), (server, 143)) } else { ((server, 143), (client, port)) };
    let mut tcp = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4(from, to, 64).tcp(from_port, to_port, sequence, 1000);
    if flags.contains('S') {
        tcp = tcp.syn();
    }
    if flags.contains('F') {
        tcp = tcp.fin();
    }
    let mut bytes = Vec::new();
    tcp.write(&mut bytes, text.as_bytes()).expect("memory");
    // Ethernet pads short frames; the padding is no part of the data.
    bytes.resize(bytes.len().max(60), 0);
    bytes
}

const SECONDS: u32 = 1_795_225_172;

pub(super) fn pcap(packets: &[Packet<'_>], port: u16) -> Vec<u8> {
    let mut file = Vec::new();
    for number in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
        file.extend(number.to_le_bytes());
    }
    for packet in packets {
        let bytes = frame(packet, port);
        let length = u32::try_from(bytes.len()).expect("short");
        let micros = u32::try_from(packet.0 % 1000 * 1000).expect("short");
        for number in [SECONDS + u32::try_from(packet.0 / 1000).expect("short"), micros, length, length] {
            file.extend(number.to_le_bytes());
        }
        file.extend(bytes);
    }
    file
}

pub(super) fn pcapng(packets: &[Packet<'_>], port: u16) -> Vec<u8> {
    let mut file = Vec::new();
    let mut block = |kind: u32, body: &[u8]| {
        let length = u32::try_from(body.len() + 12).expect("short");
        file.extend(kind.to_le_bytes());
        file.extend(length.to_le_bytes());
        file.extend(body);
        file.extend(length.to_le_bytes());
    };
    let section = [0x1a2b_3c4d_u32.to_le_bytes().as_slice(), &[1, 0, 0, 0], &[0xff; 8]].concat();
    block(0x0a0d_0d0a, &section);
    // Ethernet, no limit, times in nanoseconds (option 9, one byte, padded to four; end of options).
    block(1, &[1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
    for packet in packets {
        let bytes = frame(packet, port);
        let length = u32::try_from(bytes.len()).expect("short");
        let nanos = u64::from(SECONDS) * 1_000_000_000 + packet.0 * 1_000_000;
        let mut body = Vec::new();
        for number in [0, (nanos >> 32) as u32, nanos as u32, length, length] {
            body.extend(number.to_le_bytes());
        }
        body.extend(&bytes);
        body.resize(body.len().next_multiple_of(4), 0);
        block(6, &body);
    }
    file
}

/// A session whose packets come twice, late, and cut at odd positions.
pub(super) const SESSION: [Packet<'static>; 17] = [
    (0, true, 99, "S", ""),
    (1, false, 499, "S", ""),
    (2, false, 500, "", "* OK ready\r\n"),
    (10, true, 100, "", "A1 LOG"),
    // A later segment comes first.
    (12, true, 113, "", "secret\r\n"),
    (13, true, 106, "", "IN joe "),
    (14, true, 106, "", "IN joe "),
    (20, false, 512, "", "A1 OK in\r\n"),
    (30, true, 121, "", "A2 SELECT INBOX\r\nA3 FETCH 1:9 (ENVELOPE)\r\n"),
    (50, false, 522, "", "A2 OK done\r\n"),
    (60, false, 534, "", "A3 OK done\r\n"),
    (900, true, 163, "", "A4 FETCH 4 RFC822\r\n"),
    (950, false, 546, "", "* 4 FETCH (RFC822 {14}\r\nA4 OK no end\r\n)\r\nA4"),
    (990, false, 589, "", " OK done\r\n"),
    (2000, true, 182, "", "A5 NOOP\r\n"),
    (3000, true, 191, "F", ""),
    (3001, false, 599, "F", ""),
];

const EXPECTED: [&str; 4] =
    ["0 joe login", "20 joe list messages INBOX/1:9", "890 joe show message INBOX/4", "2991 joe leave"];

fn captured(file: Vec<u8>) -> (Vec<String>, Tally) {
    shown(&[("a.pcap", file)], &options())
}

#[test]
fn a_session_is_read_from_packets_in_any_order() {
    for file in [pcap(&SESSION, 4711), pcapng(&SESSION, 4711)] {
        let (shown, tally) = captured(file.clone());
        assert_eq!(shown, EXPECTED);
        let (text, _) = import_all(&[("a.pcap", file)], &options()).expect("a trace");
        let show = text.lines().find(|line| line.contains("show message")).expect("there is one");
        assert!(show.contains("\"d\":90000"), "it lasts until its own end, not to what its literal says: {show}");
        assert_eq!((tally.files[0].units, tally.files[0].understood, tally.files[0].cut.as_ref()), (17, 17, None));
        assert_eq!((tally.sessions, tally.without_end, tally.dropped["NOOP"]), (1, 0, 1));
        assert_eq!(tally.out_of_order, 0, "TCP's order is not that of the capture");
    }
}

#[test]
fn other_ports_are_beside_the_point_and_a_cut_capture_gives_what_it_has() {
    let mut file = pcap(&SESSION[..15], 4711);
    file.extend(&pcap(&SESSION, 4712)[24..]);
    let options = Options { port: 993, ..options() };
    let error = import_all(&[("a.pcap", file)], &options).expect_err("nothing on that port");
    assert!(error.to_string().contains("of them 32 without user activity"), "{error}");

    let whole = pcapng(&SESSION, 4711);
    let (shown, tally) = captured(whole[..whole.len() - 30].to_vec());
    assert_eq!(shown[..3], EXPECTED[..3]);
    assert_eq!(shown[3], "2990 joe leave", "one side's last word is enough");
    let cut = tally.files[0].cut.as_ref().expect("cut");
    assert!(cut.starts_with("after packet 16: the capture ends within a block"), "{cut}");
}

#[test]
fn whoever_is_connected_when_the_capture_ends_has_not_left_and_nobody_is_no_session() {
    let (shown, tally) = captured(pcap(&SESSION[..14], 4711));
    assert_eq!(shown, EXPECTED[..3]);
    assert_eq!(tally.without_end, 1);
    let error = import_all(&[("a.pcap", pcap(&SESSION[..4], 4711))], &options()).expect_err("nobody");
    assert!(error.to_string().contains("nothing in these files"), "{error}");
}
