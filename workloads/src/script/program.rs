//! A compiled test plan: places that users walk, and steps that they send.

use controllers::Kind;
use traces::Think;

use super::{extract::Extractor, text::Text};
use crate::{expected::Expected, persona::Method};

/// A test plan, ready to be walked. From every place there is a way to the end, so that every session ends.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) code: Vec<Instruction>,
    pub(super) steps: Vec<Prepared>,
    /// The names of the steps, in the order of their kinds.
    pub(super) names: Vec<String>,
    /// The number of values.
    pub(super) values: usize,
}

#[derive(Debug)]
pub(super) enum Instruction {
    /// The step of this number.
    Ask(usize),
    /// Goes on at one of these places; each with the sum of the weights up to it.
    Choose(Vec<(f64, usize)>),
    Jump(usize),
}

/// A step, ready to be sent.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) kind: Kind,
    pub(super) method: Method,
    pub(super) url: Text,
    /// Its own header lines, each whole.
    pub(super) lines: Text,
    pub(super) body: Option<Text>,
    pub(super) extract: Vec<Extractor>,
    pub(super) expected: Expected,
    pub(super) think: Think,
}
