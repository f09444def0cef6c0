//! The table as text that goes elsewhere.

use std::fmt::Write as _;

use analysis::text::scrubbed;

use super::Compare;

impl Compare {
    /// The table that is shown, as Markdown: with its run, its phase, and how many blocks its figures are the medians of.
    pub fn as_markdown(&self) -> String {
        let mut out = String::new();
        let runs: Vec<String> = (0..self.runs.len()).map(|run| self.run_name(run)).collect();
        let when = match self.look.moment {
            Some(at) => format!("at {at:.0} s"),
            None => format!("phase {}", scrubbed(self.phase_name())),
        };
        let blocks = match self.kept() {
            // A second is one of the block that is drawn.
            _ if self.look.moment.is_some() => String::new(),
            (1, 1) => String::new(),
            (least, most) if least == most => format!(", medians of {most} blocks"),
            (least, most) => format!(", medians of {least} to {most} blocks"),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}: {when}{blocks}\n", runs.join("; "));
        let mut header: Vec<String> = self.columns.iter().map(|column| column.name().to_owned()).collect();
        let found = self.found_head().filter(|_| self.look.moment.is_none());
        header.extend(found.as_ref().map(|head| cell(head)));
        let _ = writeln!(out, "| arm | {} |", header.join(" | "));
        let _ = writeln!(out, "|---|{}", "---:|".repeat(header.len()));
        for at in self.order() {
            let arm_series = self.all_series[at];
            let mut values: Vec<String> =
                self.columns.iter().map(|column| column.shown(self.figure(arm_series, *column))).collect();
            values.extend(found.as_ref().map(|_| cell(&self.found_of(arm_series))));
            let _ = writeln!(out, "| {} | {} |", cell(&scrubbed(&self.name(arm_series))), values.join(" | "));
        }
        out
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
