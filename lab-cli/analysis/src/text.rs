//! Texts and numbers as people read them, in tables, lines, hints and the live view.

use controllers::catalogue::nearest;
use serde::Serialize;

pub mod table;

/// Without characters that would act on a terminal: texts may come from the target. Control and direction characters
/// become U+FFFD; line ends become spaces.
pub fn scrubbed(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\r' | '\t' => ' ',
            c if acts_on_a_terminal(c) => '\u{FFFD}',
            c => c,
        })
        .collect()
}

/// The same for a text of several lines, which stay so. All that is printed goes through it once more, as a whole: no text can be forgotten.
pub fn scrubbed_lines(text: &str) -> String {
    let acts = |c: char| !matches!(c, '\n' | '\t') && acts_on_a_terminal(c);
    text.replace(acts, "\u{FFFD}")
}

/// Without the numbers that the operating system has for its errors: the words beside them say the same.
pub fn without_os_numbers(message: &str) -> String {
    let mut parts = message.split(" (os error ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        text.push_str(rest.strip_prefix(')').unwrap_or(rest));
    }
    text
}

/// Fault of JSON that begins in this line of its file, without the names that this program has for what it reads.
pub fn json_in_words(error: &serde_json::Error, begins: usize) -> String {
    use serde_json::error::Category;
    let message = error.to_string();
    // Of an element of what was read already, and of what is written, there is no line.
    let (what, place) = match message.rsplit_once(" at line ") {
        Some((what, _)) if error.line() > 0 => {
            (what, format!("line {}, column {}: ", begins + error.line() - 1, error.column()))
        }
        _ => (message.as_str(), String::new()),
    };
    match error.classify() {
        Category::Eof => format!("{place}it ends here, in the middle"),
        Category::Syntax => format!("{place}no JSON: {}", scrubbed(what)),
        Category::Io => without_os_numbers(what),
        Category::Data => format!("{place}{}", without_types(&scrubbed(what))),
    }
}

/// A message as people read it: without numbers of the operating system, and without the names that this program has for what it reads.
pub fn in_plain_words(message: &str) -> String {
    without_types(&without_os_numbers(message))
}

/// `expected an object` for `expected struct Threshold`: what serde says of a type.
fn without_types(message: &str) -> String {
    const KINDS: [(&str, &str); 8] = [
        ("internally tagged enum ", "an object"),
        ("adjacently tagged enum ", "an object"),
        ("struct variant ", "an object"),
        ("tuple variant ", "a list"),
        ("tuple struct ", "a list"),
        ("unit struct ", "nothing"),
        ("struct ", "an object"),
        ("enum ", "a word or an object"),
    ];
    let mut parts = message.split("expected ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str("expected ");
        let of_type = KINDS.into_iter().find_map(|(kind, words)| {
            let name = part.strip_prefix(kind).filter(|name| name.starts_with(|c: char| c.is_ascii_uppercase()))?;
            Some((words, name.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_' || c == ':')))
        });
        match of_type {
            Some((words, rest)) => text.extend([words, rest]),
            None => text.push_str(part),
        }
    }
    text
}

/// JSON for standard output, which may be a terminal: on several lines, with an end of line, and with what would act on a
/// terminal escaped. JSON has such characters in strings alone, so that the value stays the same.
///
/// # Errors
/// If the value cannot be written as JSON.
pub fn json(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    for c in serde_json::to_string_pretty(value)?.chars() {
        match c {
            '\n' => text.push(c),
            c if acts_on_a_terminal(c) => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push('\n');
    Ok(text)
}

/// Control characters, and those that turn the direction of writing.
fn acts_on_a_terminal(c: char) -> bool {
    let turns = matches!(c, '\u{200E}' | '\u{200F}' | '\u{061C}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control()
}

/// A time in milliseconds with three digits that matter: `0.42 ms`, `850 ms`, `1.42 s`, `61.0 s`.
pub fn time(ms: f64) -> String {
    match ms {
        ms if ms < 1.0 => format!("{ms:.2} ms"),
        ms if ms < 10.0 => format!("{ms:.1} ms"),
        ms if ms < 999.5 => format!("{ms:.0} ms"),
        ms if ms < 9_995.0 => format!("{:.2} s", ms / 1000.0),
        ms => format!("{:.1} s", ms / 1000.0),
    }
}

/// A longer time in seconds: `12 s`, `3 min 12 s`, `2 h 5 min`.
pub fn long_time(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let [small, large] = match (hours, minutes) {
        (0, 0) => return format!("{seconds} s"),
        (0, _) => [(seconds, "s"), (minutes, "min")],
        _ => [(minutes, "min"), (hours, "h")],
    };
    let large = format!("{} {}", large.0, large.1);
    if small.0 == 0 { large } else { format!("{large} {} {}", small.0, small.1) }
}

/// A time that is known, or that is hidden by requests that were given up and is at least something: `850 ms`, `>= 60.0 s`,
/// `-` where there are too few to say. The only way in which a percentile is printed: a bound is never shown as a number.
pub fn known_or_at_least(ms: Option<f64>, at_least: Option<f64>) -> String {
    match (ms, at_least) {
        (Some(ms), _) => time(ms),
        (None, Some(bound)) => format!(">= {}", time(bound)),
        (None, None) => "-".to_owned(),
    }
}

/// A number a second: `0.4`, `7.3`, `98`.
pub fn rate(per_second: f64) -> String {
    if per_second < 9.95 { format!("{per_second:.1}") } else { format!("{per_second:.0}") }
}

/// A fraction in percent: `0 %`, `0.3 %`, `64 %`.
pub fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    if percent > 0.0 && percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// Lines of words, none longer than this where a word is not.
pub fn wrapped(text: &str, longest: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= longest => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Three digits are enough for a reader.
pub fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        at if at >= 100.0 => format!("{value:.0}"),
        at if at >= 10.0 => format!("{value:.1}"),
        at if at >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// Bytes as they are written: `812 B`, `1.5 kB`, `34.2 MB`, `1.1 GB`.
pub fn volume(bytes: f64) -> String {
    let (mut value, mut unit) = (bytes, "B");
    for larger in ["kB", "MB", "GB", "TB"] {
        if value < 999.95 {
            break;
        }
        (value, unit) = (value / 1000.0, larger);
    }
    if unit == "B" { format!("{value:.0} B") } else { format!("{value:.1} {unit}") }
}

/// Bytes: `412 MB`.
pub fn bytes(bytes: u64) -> String {
    format!("{:.0} MB", bytes as f64 / 1e6)
}

/// The hint for an unknown word: the nearest known one, else all of them.
pub fn suggestion(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("there are: {}", known.join(", ")),
    }
}

/// `1 block`, `2 blocks`.
pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_does_not_reach_it() {
        assert_eq!(scrubbed("a\u{1b}]0;b\u{9b}\u{202e}c\nd"), "a\u{fffd}]0;b\u{fffd}\u{fffd}c d");
        assert_eq!(scrubbed("Grüße 你好 👋"), "Grüße 你好 👋");
    }

    #[test]
    fn an_error_has_words_and_no_number_of_the_system() {
        let message = "a.yaml: No such file or directory (os error 2); b: Permission denied (os error 13)";
        assert_eq!(without_os_numbers(message), "a.yaml: No such file or directory; b: Permission denied");
        assert_eq!(without_os_numbers("x (Connection refused (os error 111))"), "x (Connection refused)");
        assert_eq!(without_os_numbers("nothing (so far)"), "nothing (so far)");
        let message = "a.yaml: expected struct PlantSpec, found 7; expected tuple variant A::B at line 3; expected struct members";
        let plain = "a.yaml: expected an object, found 7; expected a list at line 3; expected struct members";
        assert_eq!(in_plain_words(message), plain);
    }

    #[test]
    fn json_says_the_same_without_what_acts_on_a_terminal() {
        let value = serde_json::json!({"a\u{9b}": ["\u{1b}[2J\u{7f}", "\u{202e}x\n", "Grüße"]});
        let text = json(&value).expect("JSON");
        assert!(!text.contains(|c: char| c != '\n' && acts_on_a_terminal(c)), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), value);
        assert!(text.contains("\\u009b") && text.contains("Grüße") && text.ends_with("}\n"), "{text}");
    }

    #[test]
    fn numbers_have_the_digits_that_matter() {
        let written = [0.0, 812.0, 1500.0, 999_950.0, 34.2e6, 1.1e9, 2e16].map(volume);
        assert_eq!(written, ["0 B", "812 B", "1.5 kB", "1.0 MB", "34.2 MB", "1.1 GB", "20000.0 TB"]);
        let times = [0.424, 1.04, 9.96, 850.4, 999.6, 1420.0, 61_000.0].map(time);
        assert_eq!(times, ["0.42 ms", "1.0 ms", "10.0 ms", "850 ms", "1.00 s", "1.42 s", "61.0 s"]);
        assert_eq!([0.0, 7.25, 9.96, 98.4].map(rate), ["0.0", "7.2", "10", "98"]);
        assert_eq!([0.0, 0.003, 0.64, 1.0].map(percent), ["0 %", "0.3 %", "64 %", "100 %"]);
        assert_eq!(bytes(412_300_000), "412 MB");
    }

    #[test]
    fn a_bound_is_never_shown_as_a_number() {
        let shown =
            [(Some(850.4), None), (None, Some(60_000.0)), (None, None)].map(|(ms, at)| known_or_at_least(ms, at));
        assert_eq!(shown, ["850 ms", ">= 60.0 s", "-"]);
    }

    #[test]
    fn a_slip_gets_the_word_that_was_meant_and_anything_else_all_of_them() {
        let known = ["rejected", "served", "timed_out"];
        assert_eq!(suggestion("sreved", &known), "did you mean served?");
        assert_eq!(suggestion("nonsense", &known), "there are: rejected, served, timed_out");
        assert_eq!(nearest("", known), None);
    }
}
