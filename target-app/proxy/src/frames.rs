//! Frames of HTTP/2 in the bytes of a connection (RFC 9113, section 4.1).

/// The position in a row of frames.
#[derive(Debug, Default)]
pub(super) struct Frames {
    head: [u8; HEAD],
    /// Bytes of the head that have come.
    known: usize,
    /// Bytes of the payload that are to come.
    left: usize,
}

const HEAD: usize = 9;
pub(super) const DATA: u8 = 0;
pub(super) const WINDOW_UPDATE: u8 = 8;

impl Frames {
    /// The bytes among these of frames whose kind counts: of their heads, each as it ends, and of their payload.
    pub(super) fn count(&mut self, mut bytes: &[u8], counts: impl Fn(u8) -> bool) -> (usize, usize) {
        let (mut heads, mut payload) = (0, 0);
        while !bytes.is_empty() {
            let (is_head, missing) = if self.left == 0 { (true, HEAD - self.known) } else { (false, self.left) };
            let (some, rest) = bytes.split_at(missing.min(bytes.len()));
            bytes = rest;
            if is_head {
                self.head[self.known..][..some.len()].copy_from_slice(some);
                self.known = (self.known + some.len()) % HEAD;
                if self.known == 0 {
                    let [high, middle, low, kind, ..] = self.head;
                    self.left = u32::from_be_bytes([0, high, middle, low]) as usize;
                    heads += if counts(kind) { HEAD } else { 0 };
                }
            } else {
                self.left -= some.len();
                payload += if counts(self.head[3]) { some.len() } else { 0 };
            }
        }
        (heads, payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_count_by_their_kind_however_their_bytes_are_cut() {
        let frame = |kind: u8, length: u8| [&[0, 0, length, kind, 0, 0, 0, 0, 1][..], &vec![0; length.into()]].concat();
        let (headers, settings, ping) = (1, 4, 6);
        let row = [frame(headers, 4), frame(DATA, 200), frame(DATA, 0), frame(settings, 0), frame(WINDOW_UPDATE, 4)];
        let bytes = [&row.concat()[..], &frame(DATA, 5), &frame(ping, 8)].concat();
        for size in 1..=bytes.len() {
            let counted = |counts: fn(u8) -> bool| {
                let mut frames = Frames::default();
                let counted = bytes.chunks(size).map(|some| frames.count(some, counts));
                counted.fold((0, 0), |(heads, payload), (head, more)| (heads + head, payload + more))
            };
            assert_eq!(counted(|kind| kind == DATA), (27, 205), "in parts of {size}");
            assert_eq!(counted(|kind| ![DATA, WINDOW_UPDATE].contains(&kind)), (27, 12), "in parts of {size}");
        }
    }
}
