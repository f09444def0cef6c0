//! Texts and tables as markup.

use maud::{Markup, html};

use crate::text::{scrubbed, table::Table};

/// A table that may be wider than the page.
pub(super) fn wide(caption: &str, table: &Table) -> Markup {
    html! { div.wide { (whole(caption, table)) } }
}

fn whole(caption: &str, table: &Table) -> Markup {
    html! {
        table {
            caption { (shown(caption)) }
            (head(table))
            tbody { @for row in &table.rows { tr { @for (column, cell) in row.iter().enumerate() {
                @if column == 0 { th scope="row" { (shown(cell)) } }
                @else if table.is_of_numbers(column) { td.n { (shown(cell)) } }
                @else { td { (shown(cell)) } }
            } } } }
        }
    }
}

/// Heads of the columns.
pub(super) fn head(table: &Table) -> Markup {
    html! {
        thead { tr { @for (column, head) in table.heads.iter().enumerate() {
            @if table.is_of_numbers(column) { th.n scope="col" { (shown(head)) } } @else { th scope="col" { (shown(head)) } }
        } } }
    }
}

/// A text that may have come from anywhere.
pub(super) fn shown(text: &str) -> String {
    scrubbed(text)
}
