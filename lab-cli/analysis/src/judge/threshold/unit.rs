//! The unit of a value: times are never held against plain numbers.

/// Unit of a number: times (milliseconds) and plain numbers do not mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Time,
    Plain,
}
