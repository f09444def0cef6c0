//! A build for virtual time: the places of live runs and screens.

use analysis::chart::Chart;

/// Nothing was taken from the terminal.
pub fn restore() {}

/// No picture of a figure.
#[must_use]
pub fn printed(_: &Chart) -> String {
    String::new()
}

/// Nobody intervenes.
pub type NoInterventions = ();
