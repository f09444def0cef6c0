//! Texts with placeholders that each request fills in.

use std::sync::Arc;

use controllers::Random as _;

use crate::persona::{Draws, Purpose};

/// A path, a body or header lines. Placeholders stand in double braces:
///
/// - `{{number}}`, or `{{n}}`: the number of the request in the run, from 0;
/// - `{{1..1000}}`: a whole number from the first to the second, both included, drawn evenly;
/// - `{{uuid}}`: a drawn UUID (version 4).
///
/// Draws follow from the seed. All other text is sent as it is, braces too.
#[derive(Debug)]
pub(crate) enum Text {
    Fixed(Arc<str>),
    Filled(Vec<Piece>),
}

#[derive(Debug, PartialEq)]
pub(crate) enum Piece {
    Text(String),
    Number,
    Uuid,
    Between(u64, u64),
}

impl Text {
    pub(crate) fn of(text: &str) -> Self {
        let (mut pieces, mut fixed, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find("{{") {
            let placeholder = rest[at + 2..].find("}}").and_then(|end| {
                let piece = Piece::named(&rest[at + 2..at + 2 + end])?;
                Some((piece, at + end + 4))
            });
            let (upto, then) = placeholder.as_ref().map_or((at + 1, at + 1), |(_, then)| (at, *then));
            fixed.push_str(&rest[..upto]);
            if let Some((piece, _)) = placeholder {
                pieces.extend((!fixed.is_empty()).then(|| Piece::Text(std::mem::take(&mut fixed))));
                pieces.push(piece);
            }
            rest = &rest[then..];
        }
        if pieces.is_empty() {
            return Self::Fixed(text.into());
        }
        fixed.push_str(rest);
        pieces.extend((!fixed.is_empty()).then_some(Piece::Text(fixed)));
        Self::Filled(pieces)
    }

    /// The text of the request with this number. `nth`: which of the request's texts it is, for draws that differ.
    pub(crate) fn fill(&self, number: u64, nth: u32, draws: &Draws) -> Arc<str> {
        let pieces = match self {
            Self::Fixed(text) => return Arc::clone(text),
            Self::Filled(pieces) => pieces,
        };
        let mut random = draws.nth(Purpose::Text, nth);
        let mut filled = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Number => filled.push_str(&number.to_string()),
                Piece::Uuid => filled.push_str(&uuid(random.next_u64(), random.next_u64())),
                Piece::Between(from, to) => {
                    let drawn = (random.uniform() * (to - from + 1) as f64) as u64;
                    filled.push_str(&(from + drawn.min(to - from)).to_string());
                }
            }
        }
        filled.into()
    }
}

impl Text {
    /// The text for the request with this number; `None`: a part of it is drawn, and not known any more once a request is sent.
    pub(crate) fn numbered(&self, number: u64) -> Option<String> {
        let pieces = match self {
            Self::Fixed(text) => return Some(text.to_string()),
            Self::Filled(pieces) => pieces,
        };
        let numbered = pieces.iter().map(|piece| match piece {
            Piece::Text(text) => Some(text.clone()),
            Piece::Number => Some(number.to_string()),
            Piece::Uuid | Piece::Between(..) => None,
        });
        numbered.collect()
    }
}

impl Piece {
    fn named(name: &str) -> Option<Self> {
        match name {
            "number" | "n" => Some(Self::Number),
            "uuid" => Some(Self::Uuid),
            _ => {
                // Beyond that a uniform draw does not reach every number.
                const MOST: u64 = 1 << 53;
                let (from, to) = name.split_once("..")?;
                let (from, to) = (from.parse().ok()?, to.parse().ok()?);
                (from <= to && to < MOST).then_some(Self::Between(from, to))
            }
        }
    }
}

/// RFC 9562, section 5.4.
fn uuid(high: u64, low: u64) -> String {
    let (high, low) = (high & !0xF000 | 0x4000, low & !(0b11 << 62) | 0b10 << 62);
    let (time_low, time_mid, time_high) = (high >> 32, high >> 16 & 0xFFFF, high & 0xFFFF);
    format!("{time_low:08x}-{time_mid:04x}-{time_high:04x}-{:04x}-{:012x}", low >> 48, low & 0xFFFF_FFFF_FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str, number: u64, user: u64) -> String {
        Text::of(text).fill(number, 0, &Draws::new(1, user)).to_string()
    }

    #[test]
    fn placeholders_are_filled_in_and_all_else_stays() {
        assert_eq!(filled("/items/{{n}}?a={{x}}&b={c}", 7, 0), "/items/7?a={{x}}&b={c}");
        assert_eq!(filled("/items/{{number}}", 7, 0), "/items/7");
        assert_eq!(filled("{\"a\": {{{n}}}}", 3, 0), "{\"a\": {3}}");
        for plain in ["/", "{{", "}}", "{{n", "{{9..1}}", "{{1..}}", "{{-1..3}}", "{{ n }}"] {
            assert!(matches!(Text::of(plain), Text::Fixed(_)), "{plain}");
            assert_eq!(filled(plain, 1, 0), plain);
        }
    }

    #[test]
    fn numbers_are_drawn_from_the_whole_range_and_again_from_the_same_seed() {
        let mut seen: Vec<u64> = (0..200).map(|user| filled("{{3..5}}", 0, user).parse().expect("a number")).collect();
        assert_eq!(filled("{{3..5}}", 0, 9), filled("{{3..5}}", 1, 9));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [3, 4, 5]);
        assert_eq!(filled("{{7..7}}", 0, 1), "7");
    }

    #[test]
    fn a_uuid_has_its_version_and_variant() {
        assert_eq!(uuid(u64::MAX, u64::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(uuid(0, 0), "00000000-0000-4000-8000-000000000000");
        assert_ne!(filled("{{uuid}}", 0, 1), filled("{{uuid}}", 0, 2));
    }
}
