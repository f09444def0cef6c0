//! Charts in a page: each panel is a figure with a caption, a column under the pointer that tells its values, and a table of
//! them. It is drawn twice, for a wide and for a narrow page; the style sheet shows one of them.

use maud::{Markup, html};

use super::markup::{shown, wide};
use crate::{
    chart::{Band, Chart, ChartLine, ChartPanel, layout::Size},
    series::value::Value,
    text::table::Table,
};

/// The figures of a chart; nothing of a panel that has no value at all.
pub(super) fn figures(chart: &Chart) -> Markup {
    html! { @for panel in &chart.panels { (figure(chart, panel)) } }
}

fn figure(chart: &Chart, panel: &ChartPanel) -> Markup {
    let across = &chart.across;
    let names: Vec<String> = panel.lines.iter().map(|line| shown(&line.name)).collect();
    // For those who hear the page.
    let label = format!("{}, over {}, for {}.", panel.title, across.title, names.join(", "));
    html! {
        @if panel.values().next().is_some() {
            figure {
                figcaption { strong { (panel.title) } ", over " (across.title) @for note in chart.notes_of(panel) { "; " (note) } "." }
                @for size in [&Size::WIDE, &Size::NARROW] {
                    (size.svg(size.height(across), &label, &chart.panel(panel, &panel.unit, size)))
                }
                @if !across.bands.is_empty() { (table(panel, &across.bands)) }
            }
        }
    }
}

/// Table of the lines, band by band.
fn table(panel: &ChartPanel, bands: &[Band]) -> Markup {
    let names: Vec<&str> = bands.iter().map(|band| band.name.as_str()).collect();
    let mut table = Table::new(&[&["arm"], &names[..]].concat(), 1..);
    for line in &panel.lines {
        let values = bands.iter().map(|band| come_to(panel, line, band));
        table.row(std::iter::once(line.name.clone()).chain(values).collect::<Vec<_>>());
    }
    // Percentiles are not averaged; counts that come in waves have no meaning in the middle.
    let middle = if panel.log { "median" } else { "mean" };
    let caption = format!("{}: the {middle} of each phase, and its highest value in parentheses", panel.title);
    html! { details { summary { "As a table" } (wide(&caption, &table)) } }
}

fn come_to(panel: &ChartPanel, line: &ChartLine, band: &Band) -> String {
    let inside = line.points.iter().filter(|(x, _)| (band.from..band.to).contains(x));
    let values: Vec<Value> = inside.filter_map(|(_, value)| *value).collect();
    let (Some(median), Some(most)) = (Value::median(&values), Value::worst(&values)) else { return "-".to_owned() };
    let mean = || Value::known(values.iter().map(|value| value.at).sum::<f64>() / values.len() as f64);
    let middle = if panel.log { median } else { mean() };
    format!("{} ({})", middle.shown(panel.value), most.shown(panel.value))
}
