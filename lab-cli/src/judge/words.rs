//! "did you mean": what a word that is not known was meant to be.

/// The hint for an unknown word: the nearest known one if it is near enough to be a slip, else all of them.
pub(super) fn suggestion(word: &str, known: &[&str]) -> String {
    let near = known
        .iter()
        .map(|known| (strsim::damerau_levenshtein(word, known), known))
        .filter(|(edits, known)| *edits <= 1 + known.len() / 4)
        .min();
    match near {
        Some((_, near)) => format!("did you mean {near}?"),
        None => format!("there are: {}", known.join(", ")),
    }
}
