//! The command line of a setup, as a person would type it.

use super::Setup;

impl Setup {
    /// `lab run flash-crowd --virtual --policy seda --set users.think=50ms`.
    pub fn command(&self) -> String {
        let changes = self.changes();
        let mut words = vec!["lab".to_owned(), "run".to_owned(), self.name.clone()];
        words.extend(self.how.virtual_time.then(|| "--virtual".to_owned()));
        let in_file = || self.candidates.iter().filter(|arm| arm.is_in_file());
        let as_in_file = self.candidates.iter().all(|arm| arm.on == arm.is_in_file());
        if !as_in_file || in_file().count() == 0 {
            words.extend(changes.policies.iter().flat_map(|label| ["--policy".to_owned(), label.clone()]));
        }
        words.extend(self.how.repeat.into_iter().flat_map(|times| ["--repeat".to_owned(), times.to_string()]));
        words.extend(changes.set.iter().flat_map(|assignment| ["--set".to_owned(), assignment.clone()]));
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        words.join(" ")
    }
}

/// Quotes a word for a shell.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_word_stays_one_word_in_a_shell() {
        assert_eq!(quoted("users.think=50ms"), "users.think=50ms");
        assert_eq!(quoted("arms.+={seda: {as: x}}"), "'arms.+={seda: {as: x}}'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
