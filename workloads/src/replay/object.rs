//! The object of a recorded step.

use std::sync::Arc;

/// The object of a step, by numbers: users of a mail service find their own folder and message by them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Object {
    /// Which folder: the user's folders are numbered from 0 as its recording names them. `None`: it is not known, and the user
    /// stays in the folder that it is in. A service with fewer folders begins again with its first.
    pub folder: Option<u32>,
    /// Which message (or word to look for): counted modulo what a page offers.
    pub message: u32,
}

/// A step in the recording's words, for those who ask a service for the very same. Empty where nobody does: texts are shared,
/// but there are many of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts {
    /// The action.
    pub action: Arc<str>,
    /// The object, as [`traces::trace::Record::object`] has it.
    pub object: Arc<str>,
}
