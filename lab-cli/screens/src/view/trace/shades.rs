//! Shares as shades, with what each of them means.

use ratatui::text::{Line, Span};

use crate::Palette;

/// Shades from nothing to much.
pub(super) const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];

/// Limits between one shade and the next, as shares.
const LIMITS: [f64; 3] = [0.05, 0.2, 0.5];

/// The shade of a share. 0: nothing; 1 to 4.
pub(super) fn level(share: f64) -> usize {
    if share > 0.0 { 1 + LIMITS.iter().filter(|limit| share >= **limit).count() } else { 0 }
}

/// For the right end of a title.
pub(super) fn legend(palette: Palette) -> Line<'static> {
    let mut spans: Vec<Span<'_>> = Vec::new();
    let twice = |level: usize| Span::styled(SHADES[level].to_string().repeat(2), palette.warmth(level as f64 / 4.0));
    for (at, limit) in LIMITS.iter().enumerate() {
        spans.push(twice(at + 1));
        spans.push(Span::raw(format!(" < {:.0} % ", limit * 100.0)));
    }
    spans.push(twice(4));
    Line::from(spans).right_aligned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_begin_where_the_legend_says() {
        assert_eq!([0.0, 1e-9, 0.049, 0.05, 0.2, 0.49, 0.5, 1.0].map(level), [0, 1, 1, 2, 3, 3, 4, 4]);
    }
}
