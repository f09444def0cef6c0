//! Goodput over time as a heat map, a row an arm: what share of what could be served was served in time. Twelve arms can be
//! compared at a glance, in grey too.

use maud::{Markup, html};

use super::drawn::{Drawn, Joined};
use crate::{
    chart::{
        ChartLine, Point,
        layout::{Anchor, Size, round},
    },
    report::html::markup::{shown, wide},
    series::{axis::shown as tick_shown, value::Value},
    text::{percent, table::Table},
};

/// Height of a row, and what of it is drawn.
const ROW: f64 = 20.0;
const DRAWN: f64 = 16.0;
/// Columns at most.
const COLUMNS: usize = 220;
/// Shades, from nothing to all.
const SHADES: f64 = 8.0;

const TITLE: &str = "Goodput as a share of what could be served";

/// Nothing without load, or without goodput anywhere.
pub(super) fn picture(drawn: &Drawn<'_>) -> Markup {
    let goodput = drawn.lines(|second| Some(Value::known(second.goodput as f64)), Joined::Mean);
    let offered = drawn.lines(|second| Some(Value::known(second.offered as f64)), Joined::Mean);
    let values = || goodput.iter().flat_map(|line| &line.points).filter_map(|(_, value)| Some((*value)?.at));
    let most = drawn.capacity.unwrap_or_else(|| values().fold(0.0, f64::max));
    if most <= 0.0 || values().all(|value| value <= 0.0) {
        return html! {};
    }
    let could = |second: f64| drawn.capacity_at(second).unwrap_or(most);
    let rows: Vec<Row> = goodput.iter().zip(&offered).map(|(good, offered)| Row::of(good, offered, could)).collect();
    let reference = if drawn.capacity.is_some() { "capacity" } else { "highest goodput of any arm" };
    html! {
        figure {
            figcaption {
                strong { (TITLE) } ", over time, s; of what was offered, or of the " (reference) " where more was offered. "
                span.scale aria-hidden="true" { "0 %" @for shade in 0..=SHADES as usize { i.{ "h" (shade) } {} } "100 %" } "."
            }
            (drawn_in(&Size::WIDE, &rows, drawn))
            (drawn_in(&Size::NARROW, &rows, drawn))
            (table(&rows, drawn))
        }
    }
}

/// An arm over time.
struct Row {
    name: String,
    /// Begin, end, and the share between them; `None`: nothing was offered.
    cells: Vec<(f64, f64, Option<f64>)>,
}

impl Row {
    /// `could`: what could be served at most, at a second.
    fn of(goodput: &ChartLine, offered: &ChartLine, could: impl Fn(f64) -> f64) -> Self {
        let per = goodput.points.len().div_ceil(COLUMNS).max(1);
        let sum = |points: &[Point]| points.iter().filter_map(|(_, value)| Some((*value)?.at)).sum::<f64>();
        let wide = goodput.points.get(1).zip(goodput.points.first()).map_or(1.0, |(b, a)| b.0 - a.0);
        let cells = goodput.points.chunks(per).zip(offered.points.chunks(per)).map(|(good, offered)| {
            let from = good.first().map_or(0.0, |(x, _)| x - wide / 2.0);
            let to = good.last().map_or(from, |(x, _)| x + wide / 2.0);
            let could = sum(offered).min(good.iter().map(|(x, _)| could(*x)).sum());
            (from, to, (could > 0.0).then(|| (sum(good) / could).min(1.0)))
        });
        Self { name: goodput.name.clone(), cells: cells.collect() }
    }
}

fn drawn_in(size: &'static Size, rows: &[Row], drawn: &Drawn<'_>) -> Markup {
    let across = drawn.across().scale.axis(size.ticks);
    let name = if size.narrow { 80.0 } else { 130.0 };
    let (left, right) = (name + 6.0, size.right());
    let x = |value: f64| left + across.at(value) * (right - left);
    let top = 20.0;
    let bottom = top + rows.len() as f64 * ROW;
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let said = format!("{TITLE}, for {}.", names.join(", "));
    let body = html! {
        @for band in &drawn.bands {
            path d={ "M" (round(x(band.from))) " 2V" (bottom) } class="border" {}
            (size.label(&band.name, Anchor::After(x(band.from) + 4.0), 10.0, (x(band.to) - x(band.from) - 5.0).max(0.0)))
        }
        @for (number, row) in rows.iter().enumerate() {
            @let y = top + number as f64 * ROW;
            (size.label(&row.name, Anchor::Before(name), y + DRAWN / 2.0, name))
            @for (from, to, share) in row.cells.iter().filter_map(|(from, to, share)| Some((from, to, (*share)?))) {
                rect.{ "h" ((share * SHADES).round()) } x=(round(x(*from))) y=(y) width=(round((x(*to) - x(*from) + 0.15).max(0.3))) height=(DRAWN) {
                    @if !size.narrow { title { (round(*from)) " s\n" (shown(&row.name)) ": " (percent(share)) } }
                }
            }
            rect.outline x=(left) y=(y) width=(round(right - left)) height=(DRAWN) {}
        }
        @for tick in &across.ticks {
            (size.label(&tick_shown(*tick), Anchor::Around(x(*tick)), bottom + 8.0, 70.0))
        }
        (size.label("time, s", Anchor::Before(right), bottom + 24.0, 200.0))
    };
    size.svg(bottom + 34.0, &said, &body)
}

/// The mean share of each phase.
fn table(rows: &[Row], drawn: &Drawn<'_>) -> Markup {
    if drawn.bands.is_empty() {
        return html! {};
    }
    let names: Vec<&str> = drawn.bands.iter().map(|band| band.name.as_str()).collect();
    let mut table = Table::new(&[&["arm"], &names[..]].concat(), 1..);
    for row in rows {
        let of = |from: f64, to: f64| {
            let inside =
                row.cells.iter().filter(|(at, _, _)| (from..to).contains(at)).filter_map(|(_, _, share)| *share);
            let shares: Vec<f64> = inside.collect();
            if shares.is_empty() { "-".to_owned() } else { percent(shares.iter().sum::<f64>() / shares.len() as f64) }
        };
        let cells = drawn.bands.iter().map(|band| of(band.from, band.to));
        table.row(std::iter::once(row.name.clone()).chain(cells).collect::<Vec<_>>());
    }
    html! { details { summary { "As a table" } (wide(&format!("{TITLE}: the mean of each phase"), &table)) } }
}
