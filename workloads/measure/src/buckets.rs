//! Counts of times in buckets of three significant digits.

use hdrhistogram::{
    Counter, Histogram,
    serialization::{Serializer, V2Serializer},
};

/// Counts in 32 bits, and in 64 once all together might not fit: a recorder has hundreds of these, and only records of many
/// parts put together hold so much.
#[derive(Debug, Clone)]
pub(super) enum Buckets {
    Narrow(Histogram<u32>),
    Wide(Histogram<u64>),
}

/// The same of either width.
macro_rules! of_either {
    ($buckets:expr, $histogram:ident => $value:expr) => {
        match $buckets {
            Buckets::Narrow($histogram) => $value,
            Buckets::Wide($histogram) => $value,
        }
    };
}

impl Buckets {
    pub(super) fn record(&mut self, micros: u64) {
        match self {
            Self::Narrow(counts) if fits(counts.len(), 1) => counts.record(micros).expect(GROWS),
            _ => self.wide().record(micros).expect(GROWS),
        }
    }

    pub(super) fn record_n(&mut self, micros: u64, times: u64) {
        match (u32::try_from(times), self) {
            (Ok(times), Self::Narrow(counts)) if fits(counts.len(), times.into()) => {
                counts.record_n(micros, times).expect(GROWS);
            }
            (_, wide) => wide.wide().record_n(micros, times).expect(GROWS),
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        match (self, other) {
            (Self::Narrow(mine), Self::Narrow(theirs)) if fits(mine.len(), theirs.len()) => {
                mine.add(theirs).expect(GROWS);
            }
            (mine, theirs) => of_either!(theirs, theirs => copy(theirs, mine.wide())),
        }
    }

    fn wide(&mut self) -> &mut Histogram<u64> {
        if let Self::Narrow(narrow) = self {
            let mut wide = histogram();
            copy(narrow, &mut wide);
            *self = Self::Wide(wide);
        }
        let Self::Wide(wide) = self else { unreachable!("it has just become so") };
        wide
    }

    pub(super) fn reset(&mut self) {
        of_either!(self, counts => counts.reset());
    }

    pub(super) fn len(&self) -> u64 {
        of_either!(self, counts => counts.len())
    }

    /// The largest value of each bucket that is not empty, and its count.
    pub(super) fn iter(&self) -> Box<dyn Iterator<Item = (u64, u64)> + '_> {
        of_either!(self, counts => Box::new(each(counts)))
    }

    pub(super) fn value_at_percentile(&self, p: f64) -> u64 {
        of_either!(self, counts => counts.value_at_percentile(p))
    }

    /// True if a time of `micros`, or a shorter one, was counted.
    pub(super) fn has_until(&self, micros: u64) -> bool {
        of_either!(self, counts => counts.count_between(0, micros) > 0)
    }

    /// The smallest value of the bucket of this one.
    pub(super) fn lowest(&self, micros: u64) -> u64 {
        of_either!(self, counts => counts.lowest_equivalent(micros))
    }

    /// HdrHistogram's V2 bytes.
    pub(super) fn as_v2(&self) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let written = of_either!(self, counts => V2Serializer::new().serialize(counts, &mut bytes));
        written.map_err(|e| format!("a histogram cannot be written: {e}"))?;
        Ok(bytes)
    }
}

impl Default for Buckets {
    fn default() -> Self {
        Self::Narrow(histogram())
    }
}

const GROWS: &str = "a histogram that resizes itself takes every value";

fn fits(count: u64, more: u64) -> bool {
    count.saturating_add(more) <= u32::MAX.into()
}

fn histogram<T: Counter>() -> Histogram<T> {
    let mut histogram = Histogram::new(3).expect("three digits are allowed");
    histogram.auto(true);
    histogram
}

fn each<T: Counter>(counts: &Histogram<T>) -> impl Iterator<Item = (u64, u64)> {
    counts.iter_recorded().map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value().as_u64()))
}

fn copy<T: Counter>(from: &Histogram<T>, into: &mut Histogram<u64>) {
    each(from).for_each(|(micros, times)| into.record_n(micros, times).expect(GROWS));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_go_on_beyond_32_bits() {
        // In buckets of three digits 5000 us is the beginning of one of 4 us.
        let (mut sum, mut part) = (Buckets::default(), Buckets::default());
        part.record_n(5000, 3_000_000_000);
        part.record(70);
        sum.add(&part);
        assert!(matches!(sum, Buckets::Narrow(_)));
        sum.add(&part);
        assert!(matches!(sum, Buckets::Wide(_)), "{sum:?}");
        assert_eq!(sum.iter().collect::<Vec<_>>(), [(70, 2), (5003, 6_000_000_000)]);
        // Wide ones in turn, to wide and to narrow ones.
        part.add(&sum);
        part.add(&sum);
        assert_eq!((part.iter().last(), part.len()), (Some((5003, 15_000_000_000)), 15_000_000_005));
        assert_eq!((part.value_at_percentile(50.0), part.lowest(5003)), (5003, 5000));
        assert!(part.has_until(70) && !part.has_until(69));
        // One by one across the limit.
        let mut full = Buckets::default();
        full.record_n(9, u32::MAX.into());
        assert!(matches!(full, Buckets::Narrow(_)));
        full.record(9);
        assert_eq!(full.iter().next(), Some((9, 1 << 32)));
    }

    #[test]
    fn a_histogram_that_has_become_wide_is_written_as_one_that_has_not() {
        let mut narrow = Buckets::default();
        [1, 80, 80, 123_456].iter().for_each(|micros| narrow.record(*micros));
        let mut wide = narrow.clone();
        wide.wide();
        assert_eq!(wide.as_v2(), narrow.as_v2());
    }
}
