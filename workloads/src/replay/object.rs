//! The object of a recorded step.

use std::sync::Arc;

/// The object of a step, by numbers, from which users of a mail service find their own folder and message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Object {
    /// The folder: the user's folders are numbered from 0 in the order in which its recording names them. `None`: the
    /// folder is not known, and the user stays in the open one. With fewer folders on the service, the numbers wrap
    /// round to its first.
    pub folder: Option<u32>,
    /// The message (or word to look for), modulo the number that a page offers.
    pub message: u32,
}

/// A step in the recording's words, for users that request exactly these from a service. Empty where none do: texts are
/// shared, but there are many of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts {
    /// The action.
    pub action: Arc<str>,
    /// The object, as [`traces::trace::Record::object`] has it.
    pub object: Arc<str>,
}
