//! Bars: parts of the room that is given, to an eighth of a column.

use crate::Palette;

const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// A bar that fills this share of its columns; a share above nothing is seen.
pub(crate) fn bar(share: f64, room: usize, palette: Palette) -> String {
    let most = room * 8;
    let eighths = if share > 0.0 { ((share.min(1.0) * most as f64).round() as usize).clamp(1, most.max(1)) } else { 0 };
    if palette == Palette::Plain {
        return format!("{:.<room$}", "#".repeat(eighths.div_ceil(8)));
    }
    format!("{:·<room$}", "█".repeat(eighths / 8) + EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_ends_at_an_eighth_and_the_least_is_seen() {
        let of = |share| bar(share, 4, Palette::COLOURS);
        assert_eq!([of(0.0), of(0.001), of(0.5), of(0.6), of(3.0)], ["····", "▏···", "██··", "██▍·", "████"]);
        assert_eq!([bar(0.0, 4, Palette::Plain), bar(0.6, 4, Palette::Plain)], ["....", "###."]);
    }
}
