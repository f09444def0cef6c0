//! The common part of the chapter's entries: their source, and the window of their request counts.

use crate::entry::{ParamDeclaration, Source, Time, ms, s, time};

/// A section of the chapter as a source.
pub(super) const fn section(place: &'static str) -> Source {
    Source { title: "Site Reliability Engineering, 2016, chapter 21, Handling Overload", place }
}

/// The window of request counts.
pub(super) const WINDOW: ParamDeclaration<Time> = ParamDeclaration {
    kind: time(ms(100)..=s(3600), s(120)),
    about: "how far back requests are counted, to a sixtieth of it",
    source: "chapter 21, Client-Side Throttling: the last two minutes of its history",
};
