//! Tabs: pictures of a comparison, and the figures that they can show.

use ratatui::prelude::*;

use crate::{
    Palette,
    app::{Compare, MouseTarget},
};

pub(super) fn line(compare: &Compare, width: u16, palette: Palette) -> Line<'static> {
    let span = |(text, is_chosen, target): (String, bool, Option<MouseTarget>)| {
        let style = match (is_chosen, target) {
            (true, _) => palette.selected(),
            (false, Some(_)) => Style::new(),
            (false, None) => palette.faint(),
        };
        Span::styled(text, style)
    };
    pieces(compare, width).into_iter().map(span).collect()
}

/// The thing at this column.
pub(super) fn at(compare: &Compare, area: Rect, x: u16) -> Option<MouseTarget> {
    let mut left = usize::from(x - area.x);
    for (text, _, target) in pieces(compare, area.width) {
        match left.checked_sub(text.chars().count()) {
            None => return target,
            Some(rest) => left = rest,
        }
    }
    None
}

/// Texts from left to right, whether each is what is shown, and what it stands for: figures as far as there is room, with that under the
/// cursor.
fn pieces(compare: &Compare, width: u16) -> Vec<(String, bool, Option<MouseTarget>)> {
    let shown = compare.look.view;
    let pictures =
        compare.views().map(|view| (format!(" {} ", view.name()), view == shown, Some(MouseTarget::Picture(view))));
    let figure = |(n, column): (usize, &crate::column::Column)| {
        (format!(" {} ", column.name()), n == compare.column, Some(MouseTarget::Header(n)))
    };
    let figures: Vec<_> = compare.columns.iter().enumerate().map(figure).collect();
    let heading = |text: &str| (text.to_owned(), false, None);
    let mut pieces: Vec<_> = std::iter::once(heading(" v ")).chain(pictures).chain([heading("   h l ")]).collect();
    let wide = |pieces: &[(String, bool, Option<MouseTarget>)]| -> usize {
        pieces.iter().map(|(text, ..)| text.chars().count()).sum()
    };
    let room = usize::from(width).saturating_sub(wide(&pieces));
    let fits = |from: usize, count: usize| wide(&figures[from..from + count]) <= room;
    let most = |from: usize| (1..=figures.len() - from).take_while(|count| fits(from, *count)).last().unwrap_or(1);
    let from = if compare.column < most(0) { 0 } else { compare.column };
    let count = most(from);
    pieces.extend(figures.into_iter().skip(from).take(count));
    pieces
}
