//! Figures of a program.

use std::fmt;

use prometheus_client::metrics::MetricType;

use super::page::MetricsPage;

/// A figure of a program that is no service: `lab load` publishes its own.
#[derive(Debug, Clone)]
pub struct ProgramFigure {
    /// Its name, behind the program's.
    pub name: &'static str,
    /// What it says.
    pub help: &'static str,
    /// It only grows.
    pub counter: bool,
    /// The label that tells its values apart; empty: there is one value, whose label is ignored.
    pub label: &'static str,
    /// Label and value.
    pub values: Vec<(String, f64)>,
}

impl ProgramFigure {
    pub(super) fn write_all(figures: &[Self], page: &mut MetricsPage<'_>) -> fmt::Result {
        for Self { name, help, counter, label, values } in figures {
            let kind = if *counter { MetricType::Counter } else { MetricType::Gauge };
            if label.is_empty() {
                values.iter().try_for_each(|(_, value)| page.number(name, help, kind, *value))?;
            } else {
                let rows = values.iter().map(|(of, value)| ([(*label, of.as_str())], *value));
                page.family(name, help, kind, rows)?;
            }
        }
        Ok(())
    }
}
