//! Epochs of observation (section IV-B: 10 s).

use std::time::Duration;

use crate::UnixSeconds;

use super::EpochSample;

/// Counts what TokenCheck sees, epoch by epoch. Epochs begin at multiples of their length.
#[derive(Debug)]
pub struct Epochs {
    length_s: u32,
    /// The number of the current epoch, and whether it was seen from its beginning.
    current: Option<(u64, bool)>,
    sample: EpochSample,
}

impl Epochs {
    /// Epochs of `length_s` seconds (the paper: 10) for this many request types. Neither may be 0: 1 is taken.
    #[must_use]
    pub fn new(length_s: u32, types: usize) -> Self {
        let (length_s, types) = (length_s.max(1), types.max(1));
        Self { length_s, current: None, sample: empty(length_s, types) }
    }

    /// A request has come to the server. A type that is not known counts as the last one.
    pub fn arrived(&mut self, kind: usize) {
        let kind = self.known(kind);
        self.sample.arrived[kind] += 1;
    }

    /// A request was answered well.
    pub fn served(&mut self, kind: usize, response: Duration) {
        let kind = self.known(kind);
        self.sample.served[kind] += 1;
        self.sample.response_s[kind] += response.as_secs_f64();
    }

    /// The epoch that has ended by now, if one has: to be called before what happens now is counted. The first epoch
    /// is dropped, since it was not seen from its beginning; so are those before and after a gap or a step of the clock.
    pub fn ended(&mut self, now: UnixSeconds) -> Option<EpochSample> {
        let epoch = now.0 / u64::from(self.length_s);
        let (before, whole) = match self.current {
            Some((before, _)) if before == epoch => return None,
            Some(current) => current,
            None => (u64::MAX, false),
        };
        let follows = before.wrapping_add(1) == epoch && self.current.is_some();
        self.current = Some((epoch, follows));
        let next = empty(self.length_s, self.sample.arrived.len());
        let ended = std::mem::replace(&mut self.sample, next);
        (whole && follows).then_some(ended)
    }

    fn known(&self, kind: usize) -> usize {
        kind.min(self.sample.arrived.len() - 1)
    }
}

fn empty(length_s: u32, types: usize) -> EpochSample {
    EpochSample {
        length: Duration::from_secs(u64::from(length_s)),
        arrived: vec![0; types],
        served: vec![0; types],
        response_s: vec![0.0; types],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_epochs_alone_are_samples() {
        let mut epochs = Epochs::new(10, 2);
        let mut ended = |now| {
            let ended = epochs.ended(UnixSeconds(now));
            epochs.arrived(0);
            epochs.arrived(9); // a type that is not known
            epochs.served(1, Duration::from_millis(500));
            ended
        };
        assert_eq!([ended(1005), ended(1010), ended(1019)], [None, None, None], "the first was not seen whole");
        let sample = ended(1020).expect("the epoch from 1010 to 1019");
        assert_eq!((sample.arrived, sample.served, sample.response_s), (vec![2, 2], vec![0, 2], vec![0.0, 1.0]));
        assert_eq!([ended(1045), ended(1050)], [None, None], "a gap: the epochs at both ends are not whole");
        assert_eq!(ended(1060).expect("whole again").arrived, [1, 1]);
        assert_eq!(ended(1000), None, "the clock went back");
    }
}
