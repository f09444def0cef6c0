//! The unit of a value: times are never held against plain numbers.

/// What a number counts: times (milliseconds) and plain numbers do not mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Time,
    Plain,
}
