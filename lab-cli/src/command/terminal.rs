//! The terminal of a command with a screen: its colours before, its state after.

use crate::{
    args::{Color, Colours, ThemeName},
    exit::{CommandResult, End, Failure},
    run::StopSignal,
    tui::{Palette, Screen, Theme, theme_of_terminal},
};

/// `NO_COLOR` (no-color.org): any value but none switches colours off.
pub(super) fn palette(colours: Colours) -> Palette {
    let set = |name| std::env::var(name).unwrap_or_default();
    if colours.color == Color::Never || colours.color == Color::Auto && !set("NO_COLOR").is_empty() {
        return Palette::Plain;
    }
    let theme = match colours.theme {
        ThemeName::Dark => Theme::Dark,
        ThemeName::Light => Theme::Light,
        ThemeName::Auto => theme_of_terminal().unwrap_or_default(),
    };
    let has_many = set("TERM").contains("256color") || matches!(&*set("COLORTERM"), "truecolor" | "24bit");
    if has_many { Palette::Many(theme) } else { Palette::Sixteen(theme) }
}

/// Puts the terminal back, after the person left or a signal came.
pub(super) fn close(screen: Screen, stop: &StopSignal) -> CommandResult {
    let given_back = screen.finish();
    match stop.end() {
        // Its terminal may have been closed.
        Some(end) => Ok(end),
        None => given_back.map(|()| End::Done).map_err(Failure::because),
    }
}
