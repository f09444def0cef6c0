//! What an entry says of a parameter, and what it makes of all of them.

use std::sync::Arc;

use super::{ParamKind, Setting};
use crate::Site;

/// The description of one parameter of an entry.
#[derive(Debug, Clone)]
pub struct Param {
    /// The key in files.
    pub name: &'static str,
    /// Its effect, one line, with its unit.
    pub about: &'static str,
    /// Its type.
    pub kind: ParamKind,
    /// The unit, `""` for none.
    pub unit: &'static str,
    /// The allowed values.
    pub range: String,
    /// The least and the greatest of them, of numbers in their unit and of times in seconds; `None` of all else.
    pub bounds: Option<[f64; 2]>,
    /// The default as a file would give it; an error says in words what stands in its place.
    pub default: Result<Setting, &'static str>,
    /// The symbol and place in the source (`adj_d, USITS'03 fig. 4`), or the reason for the default.
    pub source: &'static str,
}

/// The declaration of a parameter without its key: several structs can share it.
#[derive(Debug, Clone, Copy)]
pub struct ParamDeclaration<K> {
    /// Type, range and default: [`super::number`], [`super::count`], [`super::time`], [`super::flag`], [`super::choice`].
    pub kind: K,
    /// Its effect, one line, with its unit.
    pub about: &'static str,
    /// The symbol and place in the source, or the reason for the default.
    pub source: &'static str,
}

/// A constructor of policies or machines for sites.
pub type Make<M> = Arc<dyn Fn(&Site) -> Box<M> + Send + Sync>;
