//! The catalogue of this process.
//!
//! A program that adds policies of its own does so once, before anything else ([`install`]); from then on everything that
//! looks up a policy by its name asks [`catalogue`]: experiment files, the service, users' own policies, the terminal view.
//! Without that it is [`of_the_lab`]. It never changes after it was asked for, so that a name means one thing
//! for as long as the process runs. `controllers` itself has no state: there a catalogue is a value.
#![warn(missing_docs)]

use std::sync::OnceLock;

use controllers::{Catalogue, bounds::BOUNDS};

static INSTALLED: OnceLock<Catalogue> = OnceLock::new();

/// The catalogue of this process.
#[must_use]
pub fn catalogue() -> &'static Catalogue {
    INSTALLED.get_or_init(of_the_lab)
}

/// The entries of `controllers`, with the lab's bounds, which are added as a program adds its own entries.
#[must_use]
pub fn of_the_lab() -> Catalogue {
    Catalogue::with(&BOUNDS).unwrap_or_else(|problems| unreachable!("the lab's bounds fit: {problems:?}"))
}

/// Makes this the catalogue of the process.
///
/// # Errors
/// [`TooLate`]: it has one already, or was asked for one.
pub fn install(catalogue: Catalogue) -> Result<(), TooLate> {
    INSTALLED.set(catalogue).map_err(|_| TooLate)
}

/// A catalogue that is installed after another, or after somebody has looked up a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLate;

impl std::fmt::Display for TooLate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the catalogue of this process is in use already: install it first of all, and once")
    }
}

impl std::error::Error for TooLate {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_installed_once_and_before_it_is_used() {
        assert_eq!(install(of_the_lab()), Ok(()));
        assert!(catalogue().find("none").is_some() && catalogue().find("oracle").is_some());
        assert_eq!(install(Catalogue::built_in().clone()), Err(TooLate));
    }
}
