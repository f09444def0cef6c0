//! Requests that the service never read: numbers that clients gave, against numbers that the service read.

use analysis::summary::Joined;
use measure::{Fate, Numbers};
use spec::wire::ReadRequests;

/// Joins both sides. `None` if the clients had more requests without an answer than they remember.
pub fn join(numbers: &Numbers, read: &ReadRequests) -> Option<Joined> {
    let written = numbers.written();
    let mut joined = Joined { written, read_again: read.again, ..Joined::default() };
    for (number, fate) in numbers.without_answer()? {
        let name = name(fate).to_owned();
        if !was_read(&read.read, number) {
            *joined.unread.entry(name.clone()).or_default() += 1;
        }
        *joined.unanswered.entry(name).or_default() += 1;
    }
    joined.answered = written - joined.unanswered.values().sum::<u64>();
    let (ours, beyond) = split(&read.read, numbers.given());
    joined.strange = read.unnumbered + beyond;
    // A number that was void for the client and yet read would show here: as a sum that does not hold.
    joined.turned_away = written.saturating_sub(ours + joined.unread());
    Some(joined)
}

/// The fate's name in a phase's ledger.
fn name(fate: Fate) -> &'static str {
    match fate {
        Fate::TimedOut => "timed_out",
        Fate::Abandoned => "abandoned",
        Fate::InFlight => "in_flight",
        _ => "failed",
    }
}

fn was_read(runs: &[[u64; 2]], number: u64) -> bool {
    let next = runs.partition_point(|&[first, _]| first <= number);
    next.checked_sub(1).is_some_and(|before| number <= runs[before][1])
}

/// Counts numbers below `end`, and those from there on.
fn split(runs: &[[u64; 2]], end: u64) -> (u64, u64) {
    let counts = runs.iter().map(|&[first, last]| {
        let below = (last + 1).min(end).saturating_sub(first);
        (below, last + 1 - first - below)
    });
    counts.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Ten requests; 2 and 3 timed out, 9 was in flight.
    fn numbers() -> Numbers {
        let mut numbers = Numbers::default();
        while numbers.give() < 9 {
            numbers.wrote();
        }
        numbers.wrote();
        numbers.unanswered(3, Fate::TimedOut);
        numbers.unanswered(2, Fate::TimedOut);
        numbers.unanswered(9, Fate::InFlight);
        numbers
    }

    fn counts(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
        counts.iter().map(|&(name, count)| (name.to_owned(), count)).collect()
    }

    #[test]
    fn only_what_was_not_read_is_unread() {
        // 3 was read and not answered in time.
        let read = ReadRequests { read: vec![[0, 1], [3, 8]], ..ReadRequests::default() };
        let joined = join(&numbers(), &read).expect("few");
        assert_eq!((joined.written, joined.answered), (10, 7));
        assert_eq!(joined.unanswered, counts(&[("in_flight", 1), ("timed_out", 2)]));
        assert_eq!(joined.unread, counts(&[("in_flight", 1), ("timed_out", 1)]));
        assert_eq!((joined.turned_away, joined.read_again, joined.strange), (0, 0, 0));
        assert_eq!(joined.read_of(10), Some(8));
    }

    #[test]
    fn an_answer_to_what_was_not_read_came_from_the_door() {
        let read = ReadRequests { read: vec![[0, 1], [3, 6]], ..ReadRequests::default() };
        let joined = join(&numbers(), &read).expect("few");
        assert_eq!((joined.unread(), joined.turned_away), (2, 2));
        assert_eq!(joined.read_of(10), Some(6));
    }

    #[test]
    fn requests_of_others_and_those_read_twice_are_told_apart() {
        let read = ReadRequests { read: vec![[0, 11], [20, 20]], again: 1, unnumbered: 4, ..ReadRequests::default() };
        let joined = join(&numbers(), &read).expect("few");
        assert_eq!((joined.unread(), joined.read_again, joined.strange), (0, 1, 7));
        assert_eq!(joined.read_of(10), Some(18));
    }
}
