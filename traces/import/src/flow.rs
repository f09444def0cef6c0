//! A TCP connection: its segments in order, in both directions, for a [`Conversation`].

use std::{collections::BTreeMap, io};

use super::{conversation::Conversation, sink::Sink};

/// The largest number of bytes that wait for an earlier segment; beyond it the missing one counts as lost.
const WAITING: usize = 1 << 20;

/// The largest number of segments that wait.
const SEGMENTS: usize = 1024;

/// A packet's part of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Segment<'a> {
    /// The sequence number of its first byte.
    pub sequence: u32,
    /// True if it opens the connection.
    pub syn: bool,
    /// True if its sender sends nothing more.
    pub fin: bool,
    /// True if it resets the connection.
    pub reset: bool,
    /// The payload.
    pub bytes: &'a [u8],
}

/// A connection, and the session on it.
#[derive(Debug)]
pub struct Flow {
    session: Conversation,
    client: Order,
    server: Order,
    last: i64,
    reset: bool,
}

impl Flow {
    /// `from_start`: its opening was seen, so the login will be.
    pub fn new(name: String, from_start: bool) -> Self {
        let session = Conversation::new(name, String::new(), !from_start);
        Self { session, client: Order::default(), server: Order::default(), last: 0, reset: false }
    }

    /// True if any bytes were sent on it.
    pub fn spoken(&self) -> bool {
        self.client.given + self.server.given > 0
    }

    /// The number of bytes held: for earlier segments, for the rest of a line, and for answers.
    pub fn held(&self) -> usize {
        self.client.waiting + self.server.waiting + self.session.held()
    }

    /// The time of its last packet.
    pub fn last(&self) -> i64 {
        self.last
    }

    /// True if no more bytes follow.
    pub fn over(&self) -> bool {
        self.reset || (self.client.ended() && self.server.ended())
    }

    /// Takes a segment from either side.
    pub fn take(&mut self, at: i64, from_client: bool, segment: &Segment<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
        self.last = self.last.max(at);
        self.reset |= segment.reset;
        let order = if from_client { &mut self.client } else { &mut self.server };
        for bytes in order.take(segment) {
            if from_client {
                self.session.client(at, &bytes, sink)?;
            } else {
                self.session.server(at, &bytes, sink)?;
            }
        }
        Ok(())
    }

    /// Ends the connection, or the capture.
    pub fn finish(self, sink: &mut Sink<'_>) -> io::Result<()> {
        // A client still connected at the end of the capture has not left. The end of one side is enough for the end of
        // the connection.
        let ended = self.reset || self.client.ended() || self.server.ended();
        self.session.finish(self.last, ended, sink)
    }
}

/// The bytes of one side in order. Positions are relative to the first byte, so that sequence numbers may wrap round.
#[derive(Debug, Default)]
struct Order {
    next: Option<u32>,
    /// Segments that came too early, by their distance from the first byte of the connection that was seen.
    early: BTreeMap<u64, Vec<u8>>,
    waiting: usize,
    /// The number of bytes emitted, and skipped as lost.
    given: u64,
    end: Option<u64>,
}

impl Order {
    fn ended(&self) -> bool {
        self.end.is_some_and(|end| self.given >= end)
    }

    /// Takes a segment; returns the bytes that are now in order.
    fn take(&mut self, segment: &Segment<'_>) -> Vec<Vec<u8>> {
        let first = segment.sequence.wrapping_add(u32::from(segment.syn));
        let next = *self.next.get_or_insert(first);
        // A segment lies before or after the next byte by less than half of all numbers.
        let ahead = first.wrapping_sub(next).cast_signed();
        let place = self.given.checked_add_signed(i64::from(ahead));
        if let (Some(place), true) = (place, segment.fin) {
            self.end = Some(place + segment.bytes.len() as u64);
        }
        let (place, bytes) = match place {
            Some(place) if place >= self.given => (place, segment.bytes),
            // A retransmission: its first part, or all of it, is known.
            _ => {
                let known = usize::try_from(-i64::from(ahead)).unwrap_or(usize::MAX);
                (self.given, segment.bytes.get(known..).unwrap_or_default())
            }
        };
        if !bytes.is_empty() {
            let kept = self.early.entry(place).or_default();
            if kept.len() < bytes.len() {
                self.waiting += bytes.len() - kept.len();
                *kept = bytes.to_vec();
            }
        }
        let mut given = self.in_order();
        if (self.waiting > WAITING || self.early.len() > SEGMENTS)
            && let Some((&lost, _)) = self.early.first_key_value()
        {
            self.go_on(lost);
            given.extend(self.in_order());
        }
        given
    }

    fn in_order(&mut self) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        while let Some(entry) = self.early.first_entry() {
            if *entry.key() > self.given {
                break;
            }
            let (place, mut bytes) = entry.remove_entry();
            self.waiting -= bytes.len();
            let known = usize::try_from(self.given - place).unwrap_or(usize::MAX);
            if known < bytes.len() {
                bytes.drain(..known);
                self.go_on(self.given + bytes.len() as u64);
                found.push(bytes);
            }
        }
        found
    }

    /// Sets the position of the next byte.
    fn go_on(&mut self, place: u64) {
        let step = place - self.given;
        self.given = place;
        self.next = self.next.map(|next| next.wrapping_add(step as u32));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn segment(sequence: u32, bytes: &[u8]) -> Segment<'_> {
        Segment { sequence, syn: false, fin: false, reset: false, bytes }
    }

    #[test]
    fn segments_are_put_in_order_and_those_sent_again_are_known() {
        let mut order = Order::default();
        assert!(order.take(&Segment { syn: true, ..segment(u32::MAX - 1, b"") }).is_empty());
        assert_eq!(order.take(&segment(u32::MAX, b"ab")), [b"ab"]);
        // The numbers have wrapped round: 1 is next.
        assert!(order.take(&segment(3, b"ef")).is_empty());
        assert_eq!(order.take(&segment(0, b"bcd")), [b"cd".to_vec(), b"ef".to_vec()]);
        assert!(order.take(&segment(0, b"bcd")).is_empty());
        assert!(!order.ended());
        order.take(&Segment { fin: true, ..segment(5, b"") });
        assert!(order.ended());
    }

    #[test]
    fn what_is_lost_is_passed_over_before_memory_is_full() {
        let mut order = Order::default();
        order.take(&segment(0, b"a"));
        let mut given = 0;
        for part in 0..20_u32 {
            given += order.take(&segment(100 + part * 100_000, &[b'x'; 100_000])).iter().map(Vec::len).sum::<usize>();
            assert!(order.waiting <= WAITING + 100_000);
        }
        assert_eq!(given, 2_000_000);
    }

    proptest! {
        #[test]
        fn any_order_of_segments_gives_the_bytes_in_theirs(
            bytes in prop::collection::vec(any::<u8>(), 1..200),
            cuts in prop::collection::vec((0_usize..200, 1_usize..30), 0..40),
            start in any::<u32>(),
        ) {
            let mut order = Order::default();
            order.take(&Segment { syn: true, ..segment(start, b"") });
            let mut found = Vec::new();
            let mut take = |from: usize, to: usize| {
                let sequence = start.wrapping_add(1).wrapping_add(from as u32);
                found.extend(order.take(&segment(sequence, &bytes[from..to])).concat());
                assert_eq!(order.waiting, order.early.values().map(Vec::len).sum::<usize>());
            };
            for (from, length) in cuts {
                let from = from.min(bytes.len());
                take(from, (from + length).min(bytes.len()));
            }
            take(0, bytes.len());
            prop_assert_eq!(found, bytes.clone());
        }
    }
}
