//! The numbers of the requests that were read, as a client of ours gave them. One bit each.

/// Larger numbers are not stored, which bounds memory to 8 MiB.
const END: u64 = 1 << 26;

#[derive(Debug, Default)]
pub(super) struct Numbers {
    words: Vec<u64>,
    /// Requests whose number had been read before.
    pub(super) again: u64,
    /// Requests without a number, or with one that is too large.
    pub(super) unnumbered: u64,
}

impl Numbers {
    /// Notes that a request with this number was read.
    pub(super) fn read(&mut self, number: Option<u64>) {
        let Some(number) = number.filter(|&number| number < END) else {
            self.unnumbered += 1;
            return;
        };
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.again += u64::from(self.words[word] & bit != 0);
        self.words[word] |= bit;
    }

    /// The numbers that were read, as first and last of each run of them, in order.
    pub(super) fn runs(&self) -> Vec<[u64; 2]> {
        let mut runs: Vec<[u64; 2]> = Vec::new();
        for (word, bits) in (0_u64..).zip(&self.words) {
            for number in (0..64).filter(|bit| bits >> bit & 1 == 1).map(|bit| word * 64 + bit) {
                match runs.last_mut() {
                    Some([_, last]) if *last + 1 == number => *last = number,
                    _ => runs.push([number, number]),
                }
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_told_in_runs() {
        let mut numbers = Numbers::default();
        for number in [0, 1, 3, 63, 64, 65, 300, 3] {
            numbers.read(Some(number));
        }
        assert_eq!(numbers.runs(), [[0, 1], [3, 3], [63, 65], [300, 300]]);
        assert_eq!((numbers.again, numbers.unnumbered), (1, 0));
    }

    #[test]
    fn no_number_costs_memory_without_bound() {
        let mut numbers = Numbers::default();
        numbers.read(None);
        numbers.read(Some(END));
        numbers.read(Some(u64::MAX));
        assert_eq!((numbers.words.len(), numbers.unnumbered), (0, 3));
        numbers.read(Some(END - 1));
        assert_eq!(numbers.runs(), [[END - 1, END - 1]]);
    }
}
