//! Colours: 256 of them where the terminal has them, else the 16 that every terminal has, or none. Nothing is said by colour alone.

use analysis::summary::Validity;
use ratatui::style::{Color, Modifier, Style};

/// The ground behind the text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Theme {
    /// Light text on a dark ground.
    #[default]
    Dark,
    /// Dark text on a light ground.
    Light,
}

/// The means by which things are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Palette {
    /// Bold, dim and reversed alone (`NO_COLOR`, `--color never`).
    Plain,
    /// The terminal's own 16 colours, so that its theme is respected.
    Sixteen(Theme),
    /// Colours of the 256 that look the same on every terminal that has them.
    Many(Theme),
}

/// A role: its colour among 256 on a dark and on a light ground, and among 16 on either.
struct Role(u8, u8, Color, Color);

const GOOD: Role = Role(78, 28, Color::Green, Color::Blue);
const BAD: Role = Role(203, 160, Color::LightRed, Color::Red);
const WARN: Role = Role(220, 130, Color::Yellow, Color::Magenta);
const OFFERED: Role = Role(80, 30, Color::Cyan, Color::Black);
const ADMITTED: Role = Role(69, 25, Color::LightBlue, Color::Blue);
const TARGET: Role = Role(176, 90, Color::Magenta, Color::Magenta);
const FAINT: Role = Role(246, 242, Color::Reset, Color::Reset);
const ACCENT: Role = Role(75, 25, Color::Cyan, Color::Blue);

/// Lines: among 256 on a dark and on a light ground. Neighbours differ in hue and in brightness.
const LINES: [[u8; 12]; 2] =
    [[75, 214, 78, 204, 141, 227, 44, 173, 252, 112, 219, 33], [25, 130, 28, 161, 91, 94, 30, 95, 236, 64, 125, 19]];
/// Lines among 16 colours, on either ground.
const SIXTEEN: [[Color; 6]; 2] = [
    [Color::Cyan, Color::Green, Color::Yellow, Color::LightBlue, Color::Red, Color::LightMagenta],
    [Color::Blue, Color::Red, Color::Magenta, Color::Black, Color::DarkGray, Color::LightRed],
];
const MARKS: [char; 6] = ['.', '+', 'x', 'o', '*', '#'];

/// Steps of a heat map, from little to much, on a dark and on a light ground: one hue, so that much is not taken for bad.
const HEAT: [[u8; 6]; 2] = [[23, 30, 37, 43, 79, 158], [195, 152, 116, 73, 31, 24]];

impl Palette {
    /// 16 colours on a dark ground.
    #[cfg(test)]
    pub(super) const COLOURS: Self = Self::Sixteen(Theme::Dark);

    pub(super) fn good(self) -> Style {
        self.style_of(&GOOD, Modifier::empty())
    }

    pub(super) fn bad(self) -> Style {
        self.style_of(&BAD, Modifier::BOLD)
    }

    pub(super) fn warn(self) -> Style {
        self.style_of(&WARN, Modifier::BOLD)
    }

    pub(super) fn offered(self) -> Style {
        self.style_of(&OFFERED, Modifier::empty())
    }

    pub(super) fn admitted(self) -> Style {
        self.style_of(&ADMITTED, Modifier::empty())
    }

    pub(super) fn target(self) -> Style {
        self.style_of(&TARGET, Modifier::empty())
    }

    /// The style of the place where the keys are: the border of a pane, the name of a key.
    pub(super) fn accent(self) -> Style {
        self.style_of(&ACCENT, Modifier::BOLD).add_modifier(Modifier::BOLD)
    }

    /// The n-th of several lines, with the mark that tells it apart without colour.
    pub(super) fn line(self, n: usize) -> (Style, char) {
        let style = match self {
            Self::Plain => Style::new(),
            Self::Sixteen(theme) => Style::new().fg(SIXTEEN[theme as usize][n % 6]),
            Self::Many(theme) => Style::new().fg(Color::Indexed(LINES[theme as usize][n % 12])),
        };
        (style, MARKS[n % MARKS.len()])
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

    /// Style of a cell of a heat map: from nearly nothing (0) to the most (1); numbers and shades say the same.
    pub(super) fn warmth(self, share: f64) -> Style {
        const DULL: Modifier = Modifier::empty();
        let at = (share.clamp(0.0, 1.0) * 5.0).round() as usize;
        let otherwise = [Modifier::DIM, Modifier::DIM, DULL, DULL, Modifier::BOLD, Modifier::BOLD][at];
        match self {
            Self::Plain => Style::new().add_modifier(otherwise),
            Self::Sixteen(Theme::Dark) if at < 4 => Style::new().fg(Color::LightBlue).add_modifier(otherwise),
            Self::Sixteen(Theme::Dark) => Style::new().fg(Color::Cyan).add_modifier(otherwise),
            Self::Sixteen(Theme::Light) => Style::new().fg(Color::Blue).add_modifier(otherwise),
            Self::Many(theme) => Style::new().fg(Color::Indexed(HEAT[theme as usize][at])),
        }
    }

    /// The style of what is there to be looked up. Of 16 colours none is grey on every terminal: the default colour,
    /// dimmed.
    pub(super) fn faint(self) -> Style {
        match self {
            Self::Many(theme) => Style::new().fg(theme.indexed((FAINT.0, FAINT.1))),
            Self::Plain | Self::Sixteen(_) => Style::new().add_modifier(Modifier::DIM),
        }
    }

    pub(super) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// A line's colour half as far from the ground, for what stands behind another; of 16 colours the same.
    pub(super) fn dimmed(self, style: Style) -> Style {
        let (Self::Many(theme), Some(Color::Indexed(at @ 16..))) = (self, style.fg) else { return style };
        let halved = |step: u8, most: u8| if theme == Theme::Dark { step / 2 } else { (step + most).div_ceil(2) };
        let indexed = match at {
            232.. => 232 + halved(at - 232, 23),
            cube => {
                let [red, green, blue] = [(cube - 16) / 36, (cube - 16) / 6 % 6, (cube - 16) % 6].map(|n| halved(n, 5));
                16 + 36 * red + 6 * green + blue
            }
        };
        style.fg(Color::Indexed(indexed))
    }

    /// The style beneath the titles of a block with a faint border, which would dim them.
    pub(super) fn titles(self) -> Style {
        Style::new().fg(Color::Reset).remove_modifier(Modifier::DIM)
    }

    /// A name at the head of a screen.
    pub(super) fn title(self) -> Style {
        self.inverse([(16, 75), (231, 25)]).add_modifier(Modifier::BOLD)
    }

    /// The row under the cursor.
    pub(super) fn selected(self) -> Style {
        self.inverse([(231, 24), (16, 153)])
    }

    /// Text on a ground of its own, on a dark and on a light one.
    fn inverse(self, of: [(u8, u8); 2]) -> Style {
        let Self::Many(theme) = self else { return Style::new().add_modifier(Modifier::REVERSED) };
        let (text, ground) = of[theme as usize];
        Style::new().fg(Color::Indexed(text)).bg(Color::Indexed(ground)).add_modifier(Modifier::BOLD)
    }

    fn style_of(self, role: &Role, otherwise: Modifier) -> Style {
        let Role(dark, light, sixteen_dark, sixteen_light) = role;
        match self {
            Self::Plain => Style::new().add_modifier(otherwise),
            Self::Sixteen(Theme::Dark) => Style::new().fg(*sixteen_dark),
            Self::Sixteen(Theme::Light) => Style::new().fg(*sixteen_light),
            Self::Many(theme) => Style::new().fg(theme.indexed((*dark, *light))),
        }
    }
}

impl Theme {
    fn indexed(self, (dark, light): (u8, u8)) -> Color {
        Color::Indexed(if self == Self::Dark { dark } else { light })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Red, green and blue of one of the 240 that are the same everywhere.
    fn rgb(at: u8) -> [f64; 3] {
        let level = |step: u8| if step == 0 { 0.0 } else { 55.0 + 40.0 * f64::from(step) };
        match at {
            16..=231 => [(at - 16) / 36, (at - 16) / 6 % 6, (at - 16) % 6].map(level),
            _ => [8.0 + 10.0 * f64::from(at - 232); 3],
        }
    }

    /// The relative luminance of WCAG 2.
    fn luminance(colour: [f64; 3]) -> f64 {
        let linear = |value: f64| {
            let value = value / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { libm::pow((value + 0.055) / 1.055, 2.4) }
        };
        let [red, green, blue] = colour.map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    fn contrast(one: u8, ground: f64) -> f64 {
        let (one, ground) = (luminance(rgb(one)) + 0.05, ground + 0.05);
        one.max(ground) / one.min(ground)
    }

    #[test]
    fn text_and_lines_stand_out_from_their_ground() {
        let roles = [GOOD, BAD, WARN, OFFERED, ADMITTED, TARGET, FAINT, ACCENT];
        let all = roles.iter().map(|role| (role.0, role.1)).chain(LINES[0].into_iter().zip(LINES[1]));
        for (dark, light) in all {
            // 4.5 is what WCAG asks of text; grounds that are called dark or light are not quite black or white.
            assert!(contrast(dark, 0.01) >= 3.9, "{dark} on a dark ground: {}", contrast(dark, 0.01));
            assert!(contrast(light, 0.95) >= 3.9, "{light} on a light ground: {}", contrast(light, 0.95));
        }
    }

    #[test]
    fn twelve_lines_have_twelve_colours() {
        for theme in [Theme::Dark, Theme::Light] {
            let styles: Vec<Style> = (0..12).map(|n| Palette::Many(theme).line(n).0).collect();
            for (n, style) in styles.iter().enumerate() {
                assert!(!styles[..n].contains(style), "{n}: {style:?}");
            }
        }
    }

    #[test]
    fn nothing_that_is_read_is_in_a_grey_that_a_theme_may_hide() {
        assert_eq!(Palette::COLOURS.faint(), Style::new().add_modifier(Modifier::DIM));
    }
}
