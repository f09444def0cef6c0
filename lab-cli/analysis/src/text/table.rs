//! A table of texts. As text it has columns as wide as their widest cells; reports show it as HTML and Markdown too.

use std::ops::RangeBounds;

/// Heads, and rows with a cell for each.
#[derive(Debug)]
pub struct Table {
    /// Heads of the columns.
    pub heads: Vec<String>,
    /// The cells of each row.
    pub rows: Vec<Vec<String>>,
    numbers: Vec<bool>,
}

impl Table {
    /// A table without rows. These of its columns hold numbers, which stand to the right.
    pub fn new(heads: &[&str], numbers: impl RangeBounds<usize>) -> Self {
        let numbers = (0..heads.len()).map(|column| numbers.contains(&column)).collect();
        Self { heads: heads.iter().map(|head| (*head).to_owned()).collect(), rows: Vec::new(), numbers }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl Into<Vec<String>>) {
        self.rows.push(cells.into());
    }

    /// True if a column holds numbers.
    pub fn is_of_numbers(&self, column: usize) -> bool {
        self.numbers.get(column).is_some_and(|number| *number)
    }

    /// The whole table, a line for each row.
    pub fn to_text(&self) -> String {
        let scrubbed = |row: &Vec<String>| -> Vec<String> { row.iter().map(|cell| super::scrubbed(cell)).collect() };
        let all: Vec<Vec<String>> = std::iter::once(&self.heads).chain(&self.rows).map(scrubbed).collect();
        let width = |column: usize| all.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
        let widths: Vec<usize> = (0..self.heads.len()).map(|column| width(column).unwrap_or(0)).collect();
        let mut text = String::new();
        for row in &all {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
                if self.is_of_numbers(column) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            });
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        text
    }
}
