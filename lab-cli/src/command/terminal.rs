//! The terminal of a command with a screen: its colours before, its state after.

use std::io::{self, IsTerminal};

use analysis::live::LiveEvent;

use crate::{
    args::{Color, Colours, ThemeName},
    exit::{CommandResult, End, Failure},
    run::{Interventions, Sinks, StopSignal},
    screens::{Palette, Screen, Theme, UserRequest, can_draw, theme_of_terminal},
};

/// True if a view of what goes on has a terminal to be drawn on, one that nobody reads results from.
pub(super) fn has_view() -> bool {
    io::stdout().is_terminal() && io::stderr().is_terminal() && can_draw()
}

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

/// Shows a run, in which the person may stop it or change something.
pub(super) fn of_one_run(
    colours: Colours,
    stop: &StopSignal,
    touches: &Interventions,
    sinks: &mut Sinks,
) -> Result<Screen, Failure> {
    let (asked, touched) = (stop.clone(), touches.clone());
    let ask = move |ask| match ask {
        UserRequest::Stop | UserRequest::Abort => asked.ask_by_person(),
        UserRequest::Touch(touch) => touched.ask(touch),
    };
    let shown = Screen::of_one_run(palette(colours), ask).map_err(Failure::because)?;
    if let Some(teller) = shown.teller() {
        sinks.add(move |event: &LiveEvent| teller.event(event));
    }
    Ok(shown)
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
