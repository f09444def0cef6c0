//! Characters to tokens.

use super::{
    error::{ThresholdError, error},
    unit::Unit,
};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    /// First character, from 0.
    pub at: usize,
    pub kind: TokenKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind {
    /// A name: letters, digits, `_`, and `-` between letters or digits. `quoted`: it stood in quotes.
    Word { text: String, quoted: bool },
    /// A number with its unit resolved: times in milliseconds, `%` as a fraction.
    Number { value: f64, unit: Unit, percent: bool },
    /// `. .. [ ] ( ) , + - * / < <= > >= ==`
    Sign(&'static str),
}

/// Longer ones first.
const SIGNS: [&str; 15] = ["..", "<=", ">=", "==", ".", "[", "]", "(", ")", ",", "+", "*", "/", "<", ">"];

pub(super) fn tokens(text: &str) -> Result<Vec<Token>, ThresholdError> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        let (kind, end) = if c.is_whitespace() {
            at += 1;
            continue;
        } else if c.is_ascii_digit() {
            number(&chars, at)?
        } else if c.is_alphabetic() || c == '_' {
            word(&chars, at)
        } else if c == '"' || c == '\'' {
            quoted(&chars, at)?
        } else {
            sign(&chars, at)?
        };
        tokens.push(Token { at, kind });
        at = end;
    }
    Ok(tokens)
}

fn word(chars: &[char], from: usize) -> (TokenKind, usize) {
    let mut end = from;
    while end < chars.len() {
        let inner_minus = chars[end] == '-' && chars.get(end + 1).is_some_and(|next| next.is_alphanumeric());
        if !chars[end].is_alphanumeric() && chars[end] != '_' && !inner_minus {
            break;
        }
        end += 1;
    }
    (TokenKind::Word { text: chars[from..end].iter().collect(), quoted: false }, end)
}

fn quoted(chars: &[char], from: usize) -> Result<(TokenKind, usize), ThresholdError> {
    let close = chars[from + 1..].iter().position(|c| *c == chars[from]);
    let Some(length) = close else {
        return Err(error(from, "the quote is not closed", "write a name with spaces as \"list messages\""));
    };
    let end = from + 1 + length;
    Ok((TokenKind::Word { text: chars[from + 1..end].iter().collect(), quoted: true }, end + 1))
}

fn number(chars: &[char], from: usize) -> Result<(TokenKind, usize), ThresholdError> {
    let mut end = from;
    let digit_at = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
    // A dot belongs to the number only before a digit: `50%..` and `5..` are ranges.
    while digit_at(end) || (chars.get(end) == Some(&'.') && digit_at(end + 1)) {
        end += 1;
    }
    let digits: String = chars[from..end].iter().collect();
    let value: f64 =
        digits.parse().map_err(|_| error(from, format!("{digits} is not a number"), "write 0.5, 2s or 50%"))?;
    let suffix_from = end;
    while end < chars.len() && (chars[end].is_alphabetic() || chars[end] == '%') {
        end += 1;
    }
    let suffix: String = chars[suffix_from..end].iter().collect();
    let (factor, unit, percent) = match suffix.as_str() {
        "" => (1.0, Unit::Plain, false),
        "%" => (0.01, Unit::Plain, true),
        "k" => (1000.0, Unit::Plain, false),
        "us" | "µs" => (0.001, Unit::Time, false),
        "ms" => (1.0, Unit::Time, false),
        "s" => (1000.0, Unit::Time, false),
        "m" | "min" => (60_000.0, Unit::Time, false),
        "h" => (3_600_000.0, Unit::Time, false),
        _ => {
            let hint = "units are us, ms, s, m, h for times, /s for rates, % for fractions";
            return Err(error(suffix_from, format!("unknown unit {suffix}"), hint));
        }
    };
    // `100/s` is a rate.
    let rate = suffix.is_empty()
        && chars.get(end) == Some(&'/')
        && chars.get(end + 1) == Some(&'s')
        && !chars.get(end + 2).is_some_and(|c| c.is_alphanumeric() || *c == '_' || *c == '.' || *c == '-');
    Ok((TokenKind::Number { value: value * factor, unit, percent }, if rate { end + 2 } else { end }))
}

fn sign(chars: &[char], at: usize) -> Result<(TokenKind, usize), ThresholdError> {
    let rest: String = chars[at..].iter().take(2).collect();
    if rest.starts_with('-') {
        return Ok((TokenKind::Sign("-"), at + 1));
    }
    if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        return Ok((TokenKind::Sign(sign), at + sign.len()));
    }
    let hint = match chars[at] {
        '=' => "to compare write ==, <=, >=",
        '≤' => "write <=",
        '≥' => "write >=",
        '!' => "there is no \"not equal\": say what should hold",
        _ => "known signs: < <= > >= == + - * / ( ) [ ] . ..",
    };
    Err(error(at, format!("{:?} is not allowed here", chars[at]), hint))
}
