//! What entries after the chapter have in common: their source, and the window over which they count requests.

use crate::entry::{Declared, Source, Time, ms, s, time};

/// A section of the chapter.
pub(super) const fn section(place: &'static str) -> Source {
    Source { title: "Site Reliability Engineering, 2016, chapter 21, Handling Overload", place }
}

/// How far back requests are counted.
pub(super) const WINDOW: Declared<Time> = Declared {
    kind: time(ms(100)..=s(3600), s(120)),
    about: "how far back requests are counted, to a sixtieth of it",
    source: "chapter 21, Client-Side Throttling: the last two minutes of its history",
};
