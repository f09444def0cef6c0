//! What HTML may cost to parse.
//!
//! Parsing is linear for what people write and quadratic for some things that they do not: elements inside of elements
//! without end (many tags make the parser walk all that are open), styles left open (each new block opens all of them
//! again), and attributes of one tag (each is compared with those before it). Half a megabyte of these takes minutes or
//! gigabytes, so all are bounded before, on the text and without parsing.

use super::{HtmlError, tag_name};

/// The deepest nesting that is cleaned, in elements.
pub const MAX_DEPTH: usize = 512;
/// The most attributes of a tag.
pub const MAX_ATTRIBUTES: usize = 1000;

/// The sum over all tags of what was open there. 10 000 tags at a depth of 50 are half of it.
pub const MAX_WORK: usize = 1_000_000;

/// Elements that hold nothing.
const VOID: [&str; 14] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"];
/// Elements that end where the next of them starts, so that it takes others to nest them, which are counted.
const SELF_ENDING: [&str; 16] = [
    "p", "li", "td", "th", "tr", "dd", "dt", "thead", "tbody", "tfoot", "caption", "colgroup", "option", "optgroup",
    "rt", "rp",
];
/// Elements that a closing tag inside of them does not reach beyond.
const WALLS: [&str; 9] = ["table", "object", "applet", "marquee", "template", "select", "button", "svg", "math"];

/// Elements that are opened again in the next block if the block that they were opened in ends before them.
const STYLES: [&str; 14] =
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];

pub(super) fn check(html: &str) -> Result<(), HtmlError> {
    let mut open: Vec<String> = Vec::new();
    let (mut styles, mut work) = ([0_usize; STYLES.len()], 0);
    for piece in html.split('<').skip(1) {
        if attributes(piece) > MAX_ATTRIBUTES {
            return Err(HtmlError::TooManyAttributes);
        }
        let (closes, name) = match piece.strip_prefix('/') {
            Some(rest) => (true, tag_name(rest)),
            None => (false, tag_name(piece)),
        };
        if let Some(style) = STYLES.iter().position(|style| *style == name) {
            styles[style] = if closes { styles[style].saturating_sub(1) } else { styles[style] + 1 };
        }
        work += 1 + open.len() + styles.iter().sum::<usize>();
        if work > MAX_WORK {
            return Err(HtmlError::TooIntricate);
        }
        if name.is_empty() || VOID.contains(&name.as_str()) || SELF_ENDING.contains(&name.as_str()) {
            continue;
        }
        if !closes {
            open.push(name);
        } else if let Some(at) = matching(&open, &name) {
            open.truncate(at);
        }
        if open.len() > MAX_DEPTH {
            return Err(HtmlError::TooDeep);
        }
    }
    Ok(())
}

/// Which open element a closing tag closes.
fn matching(open: &[String], name: &str) -> Option<usize> {
    for (at, candidate) in open.iter().enumerate().rev() {
        if candidate == name {
            return Some(at);
        }
        if WALLS.contains(&candidate.as_str()) {
            return None;
        }
    }
    None
}

/// At most how many attributes there are between two `<`. Values may hold `>`, so that the last one counts; text behind
/// a tag is only taken for attributes if it has a `>` of its own.
fn attributes(piece: &str) -> usize {
    let tag = piece.rfind('>').map_or(piece, |end| &piece[..end]);
    tag.bytes().filter(|b| b.is_ascii_whitespace() || *b == b'/').count()
}
