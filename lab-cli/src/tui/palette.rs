//! Colours: the 16 that every terminal has, or none. Nothing is said by colour alone.

use analysis::summary::Validity;
use ratatui::style::{Color, Modifier, Style};

/// The means by which things are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Palette {
    /// With the terminal's own 16 colours, so that its theme is respected.
    Colours,
    /// With bold, dim and reversed alone (`NO_COLOR`, `--color never`).
    Plain,
}

impl Palette {
    pub(super) fn good(self) -> Style {
        self.or(Color::Green, Modifier::empty())
    }

    pub(super) fn bad(self) -> Style {
        self.or(Color::Red, Modifier::BOLD)
    }

    pub(super) fn warn(self) -> Style {
        self.or(Color::Yellow, Modifier::BOLD)
    }

    pub(super) fn offered(self) -> Style {
        self.or(Color::Cyan, Modifier::empty())
    }

    pub(super) fn admitted(self) -> Style {
        self.or(Color::Blue, Modifier::empty())
    }

    pub(super) fn target(self) -> Style {
        self.or(Color::Magenta, Modifier::empty())
    }

    /// The n-th of several lines, with the mark that tells it apart without colour.
    pub(super) fn line(self, n: usize) -> (Style, char) {
        const COLOURS: [Color; 6] =
            [Color::Cyan, Color::Green, Color::Yellow, Color::Blue, Color::Red, Color::LightMagenta];
        const MARKS: [char; 6] = ['.', '+', 'x', 'o', '*', '#'];
        (self.or(COLOURS[n % COLOURS.len()], Modifier::empty()), MARKS[n % MARKS.len()])
    }

    pub(super) fn verdict(self, verdict: Validity) -> Style {
        match verdict {
            Validity::Valid => self.good(),
            Validity::Warn | Validity::Unstable => self.warn(),
            Validity::Invalid => self.bad(),
        }
    }

    /// The mark of a line: colour tells lines apart where there is one.
    pub(super) fn mark(self, mark: char) -> char {
        if self == Self::Plain { mark } else { '━' }
    }

    /// Of a heat map, from 1 (little) to 4; numbers and shades say the same.
    pub(super) fn heat(self, level: usize) -> Style {
        const COLOURS: [Color; 4] = [Color::Blue, Color::Cyan, Color::Yellow, Color::Red];
        const OTHERWISE: [Modifier; 4] = [Modifier::DIM, Modifier::empty(), Modifier::BOLD, Modifier::BOLD];
        let at = level.clamp(1, 4) - 1;
        self.or(COLOURS[at], OTHERWISE[at])
    }

    pub(super) fn faint(self) -> Style {
        self.or(Color::DarkGray, Modifier::DIM)
    }

    pub(super) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(super) fn title(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn or(self, colour: Color, otherwise: Modifier) -> Style {
        match self {
            Self::Colours => Style::new().fg(colour),
            Self::Plain => Style::new().add_modifier(otherwise),
        }
    }
}
