//! Colours of the terminal, for all commands.

use clap::{Args, ValueEnum};

/// Colours of a terminal.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Global options")]
pub struct Colours {
    /// Colours: when.
    #[arg(long, global = true, display_order = 1000, hide_short_help = true, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
    /// Colours for a dark or a light ground [auto: the terminal is asked].
    #[arg(long, global = true, display_order = 1000, hide_short_help = true, value_enum, default_value_t = ThemeName::Auto)]
    pub theme: ThemeName,
}

/// The ground that colours are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ThemeName {
    /// As the terminal says; dark if it does not.
    Auto,
    /// Light text on a dark ground.
    Dark,
    /// Dark text on a light ground.
    Light,
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
