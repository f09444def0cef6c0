//! Terminals that cannot show every character: what is drawn for them, and those that cannot be drawn on at all.

use std::env;

use ratatui::buffer::Buffer;

/// True if frames can be drawn on the terminal: `TERM=dumb` says that it cannot even move its cursor.
pub fn can_draw() -> bool {
    !matches!(env::var("TERM").as_deref(), Ok("dumb"))
}

/// True if nothing but ASCII is to be drawn: the locale names a character set other than UTF-8 (one that is not set says nothing of the
/// terminal), or the terminal's font has few others, as that of the Linux console.
pub(super) fn is_ascii() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(|name| env::var(name).ok());
    is_ascii_of(locale.into_iter().find(|value| !value.is_empty()).as_deref(), &env::var("TERM").unwrap_or_default())
}

fn is_ascii_of(locale: Option<&str>, term: &str) -> bool {
    let has_utf8 = |locale: &str| ["utf-8", "utf8"].iter().any(|name| locale.to_lowercase().contains(name));
    locale.is_some_and(|locale| !has_utf8(locale)) || term == "linux" || term.starts_with("vt1")
}

/// Puts an ASCII character in the place of each other one.
pub(super) fn to_ascii(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        if let Some(ascii) = cell.symbol().chars().next().filter(|c| !c.is_ascii()).map(like) {
            cell.set_char(ascii);
        }
    }
}

/// The ASCII character that looks most like it.
fn like(c: char) -> char {
    match c {
        '─' | '━' | '╌' | '┈' => '-',
        '│' | '┃' | '┊' => '|',
        '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' | '╭' | '╮' | '╰' | '╯' => '+',
        '█' | '▉' | '▊' | '▋' | '▌' | '▇' | '▓' => '#',
        '▆' | '▅' | '▒' => '=',
        '▄' | '▃' => '-',
        '▂' | '▁' => '_',
        '★' | '●' | '•' => '*',
        '≈' | '±' => '~',
        '▶' | '→' => '>',
        '▲' | '↑' => '^',
        '▼' | '↓' => 'v',
        'µ' => 'u',
        '░' | '·' | '…' | '▏' | '▎' | '▍' => '.',
        // A braille pattern: by the rows of its dots, the highest one first.
        '\u{2800}' => ' ',
        '\u{2801}'..='\u{28ff}' => match u32::from(c) & 0xff {
            dots if dots & 0x09 != 0 && dots & 0xc0 != 0 => '|',
            dots if dots & 0x09 != 0 => '\'',
            dots if dots & 0x36 != 0 => '-',
            _ => '.',
        },
        _ => '?',
    }
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;

    use super::*;

    #[test]
    fn every_cell_has_its_like_in_ascii() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 1));
        buffer.set_string(0, 0, "╭─▇█·★≈⠉⣿⠤⣀é", ratatui::style::Style::new());
        to_ascii(&mut buffer);
        assert_eq!(buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect::<String>(), "+-##.*~'|-.?");
    }

    #[test]
    fn a_locale_or_a_font_decides() {
        for (locale, term, ascii) in [
            (Some("C"), "xterm", true),
            (Some("C.UTF-8"), "xterm", false),
            (Some("de_DE.utf8"), "xterm-256color", false),
            (Some("de_DE.ISO-8859-1"), "xterm", true),
            (Some("C.UTF-8"), "linux", true),
            (None, "vt100", true),
            (None, "xterm", false),
        ] {
            assert_eq!(is_ascii_of(locale, term), ascii, "{locale:?} {term}");
        }
    }
}
