//! Text in columns, each as wide as its widest cell.

/// On which side of its column a cell stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Names.
    Left,
    /// Numbers.
    Right,
}

/// A table of text.
#[derive(Debug)]
pub struct Columns {
    aligns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Columns {
    /// A table with these columns.
    pub fn new(header: &[(&str, Align)]) -> Self {
        let names = header.iter().map(|(name, _)| (*name).to_owned()).collect();
        Self { aligns: header.iter().map(|(_, align)| *align).collect(), rows: vec![names] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The whole table, a line for each row.
    pub fn into_text(self) -> String {
        let width = |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(|c| c.chars().count()).max();
        let widths: Vec<usize> = (0..self.aligns.len()).map(|column| width(column).unwrap_or(0)).collect();
        let mut text = String::new();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).zip(&self.aligns).map(|((cell, width), align)| match align {
                Align::Left => format!("{cell:<width$}"),
                Align::Right => format!("{cell:>width$}"),
            });
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        text
    }
}
