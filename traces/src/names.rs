//! Counts by names that come from outside: bounded in length and number.

use std::collections::BTreeMap;

/// The largest number of names that are counted separately; the others are counted together.
const NAMES: usize = 64;

/// What names beyond [`NAMES`] are counted as.
pub(crate) const OTHERS: &str = "others";

/// Counts a name, or adds it to the others if there are too many already. Names are cut to 32 characters, with
/// `?` for control characters.
pub fn count(names: &mut BTreeMap<String, u64>, name: &str) {
    if let Some(count) = names.get_mut(name) {
        *count += 1;
        return;
    }
    let shown: String = name.chars().take(32).map(|c| if c.is_control() { '?' } else { c }).collect();
    let shown = if names.len() < NAMES || names.contains_key(&shown) { shown } else { OTHERS.into() };
    *names.entry(shown).or_default() += 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_in_length_and_number() {
        let mut names = BTreeMap::new();
        for n in 0..1000 {
            count(&mut names, &format!("{n:040}"));
            count(&mut names, "NOOP");
        }
        assert_eq!(names["NOOP"], 1000);
        assert!(names.len() <= NAMES + 1 && names.keys().all(|name| name.len() <= 32));
        assert_eq!(names.values().sum::<u64>(), 2000);
    }
}
