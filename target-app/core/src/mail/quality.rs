//! The amount of work for a request.

use super::Page;

/// The amount of work for a request. Answers that are less than was requested, or older, are marked: `X-Degraded`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quality {
    /// All work.
    Full,
    /// Admitted by a policy that asks for this quality, under 1: a search covers this share of the mail, the newest,
    /// and a list is a copy if there is one. Other pages are unaffected.
    Share(f64),
    /// Refused by its stage, and answered all the same: a copy of a list, or a shorter one; a message without its text;
    /// no extra work.
    Reduced,
}

impl Quality {
    /// The quality for a stage's figure, 0 to 1.
    pub fn of(figure: f64) -> Self {
        if figure < 1.0 { Self::Share(figure.max(0.0)) } else { Self::Full }
    }

    /// The share of the mail that a search covers.
    pub fn searched(self) -> f64 {
        if let Self::Share(share) = self { share } else { 1.0 }
    }

    /// The share of its extra operations that a request does. They stand for its cost: those of a search shrink with
    /// the part that it covers.
    pub fn of_work(self, page: Page) -> f64 {
        match self {
            Self::Share(share) if page == Page::Search => share,
            Self::Full | Self::Share(_) => 1.0,
            Self::Reduced => 0.0,
        }
    }
}

/// The mark of a search at a figure under 1, which names the part that was searched.
pub fn newest(figure: f64) -> String {
    format!("newest {:.0}%", (figure.clamp(0.0, 1.0) * 100.0).ceil())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_shrinks_searches_and_nothing_else() {
        assert_eq!(Quality::of(1.0), Quality::Full);
        let half = Quality::of(0.5);
        assert_eq!((half.searched(), half.of_work(Page::Search), half.of_work(Page::Show)), (0.5, 0.5, 1.0));
        assert_eq!((Quality::Reduced.searched(), Quality::Reduced.of_work(Page::Show)), (1.0, 0.0));
        assert_eq!(Quality::of(-1.0), Quality::Share(0.0));
        assert_eq!([newest(0.25), newest(0.001)], ["newest 25%", "newest 1%"]);
    }
}
