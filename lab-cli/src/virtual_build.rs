//! Stand-ins of a build for virtual time, which has neither live runs nor screens.

use analysis::chart::Chart;

/// Nothing was taken from the terminal.
pub fn restore() {}

/// No picture of a figure.
#[must_use]
pub fn printed(_: &Chart) -> String {
    String::new()
}

/// Nobody intervenes.
#[derive(Debug, Clone, Default)]
pub struct NoInterventions(());
