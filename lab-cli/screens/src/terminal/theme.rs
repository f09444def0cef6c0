//! Theme of the terminal, dark or light, asked of itself: OSC 11 tells the colour of its ground. Terminals that do not
//! know the question stay silent; what all know (DA1) is asked after it, so that nobody waits for them.

use std::{
    io::{self, IsTerminal, Write, stdin, stdout},
    os::fd::AsFd,
    time::{Duration, Instant},
};

use crossterm::terminal::{disable_raw_mode, enable_raw_mode, is_raw_mode_enabled};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::Theme;

/// The ground's colour, and then what kind of terminal it is.
const QUESTION: &[u8] = b"\x1b]11;?\x1b\\\x1b[c";
/// An answer over a slow line.
const PATIENCE: Duration = Duration::from_millis(300);
/// More is no answer.
const MOST: usize = 256;

/// `None`: it does not say.
pub fn of_terminal() -> Option<Theme> {
    if !stdin().is_terminal() || !stdout().is_terminal() || is_raw_mode_enabled().ok()? {
        return None;
    }
    enable_raw_mode().ok()?;
    let answer = ask();
    // The terminal may be gone: then nobody reads the error.
    let _ = disable_raw_mode();
    theme_of(&answer.ok()?)
}

fn ask() -> io::Result<Vec<u8>> {
    stdout().write_all(QUESTION)?;
    stdout().flush()?;
    let (begun, mut answer) = (Instant::now(), Vec::new());
    let input = stdin();
    while answer.len() < MOST && !is_whole(&answer) {
        let left = PATIENCE.saturating_sub(begun.elapsed());
        let timeout = PollTimeout::try_from(left.as_millis()).unwrap_or(PollTimeout::ZERO);
        let mut ready = [PollFd::new(input.as_fd(), PollFlags::POLLIN)];
        if left.is_zero() || poll(&mut ready, timeout)? == 0 {
            break;
        }
        // One at a time, past any buffer: what a person types after the answer is not the answer's.
        let mut byte = [0];
        if nix::unistd::read(&input, &mut byte)? == 0 {
            break;
        }
        answer.push(byte[0]);
    }
    Ok(answer)
}

/// DA1 has been answered: `ESC [ ? … c`.
fn is_whole(answer: &[u8]) -> bool {
    answer.last() == Some(&b'c') && answer.windows(3).any(|part| part == b"\x1b[?")
}

/// Reads the theme from `ESC ] 11 ; rgb:ffff/ffff/ffff`, with one to four digits each; what is brighter than the middle
/// is light.
fn theme_of(answer: &[u8]) -> Option<Theme> {
    let text = String::from_utf8_lossy(answer);
    let colour = text.split("rgb:").nth(1).or_else(|| text.split("rgba:").nth(1))?;
    let end = colour.find(|c: char| !c.is_ascii_hexdigit() && c != '/').unwrap_or(colour.len());
    let part = |digits: &str| {
        let most = libm::pow(16.0, digits.len() as f64) - 1.0;
        Some(f64::from(u32::from_str_radix(digits, 16).ok()?) / most)
    };
    let parts: Vec<f64> = colour[..end].split('/').take(3).map(part).collect::<Option<_>>()?;
    let [red, green, blue] = parts[..] else { return None };
    let brightness = 0.299 * red + 0.587 * green + 0.114 * blue;
    Some(if brightness > 0.5 { Theme::Light } else { Theme::Dark })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ground_is_read_from_what_terminals_answer() {
        for (answer, theme) in [
            ("\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62;c", Some(Theme::Light)),
            ("\x1b]11;rgb:0000/2b2b/3636\x07\x1b[?1;2c", Some(Theme::Dark)),
            ("\x1b]11;rgb:fd/f6/e3\x07", Some(Theme::Light)),
            ("\x1b]11;rgba:1e1e/1e1e/1e1e/ffff\x07", Some(Theme::Dark)),
            ("\x1b[?1;2c", None),
            ("\x1b]11;rgb:xyz\x07", None),
            ("\x1b]11;rgb:ff/ff\x07", None),
            ("", None),
        ] {
            assert_eq!(theme_of(answer.as_bytes()), theme, "{answer:?}");
        }
        assert!(is_whole(b"\x1b]11;rgb:0/0/0\x07\x1b[?1;2c") && !is_whole(b"\x1b]11;rgb:0c/0c/0c"));
    }
}
