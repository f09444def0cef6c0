//! Parameters: a row of [`params!`] declares a field with its key, type, range, default, unit, description and source.
//! The row yields the field of the typed struct, the check of settings with its hints, and a line of the printed table.

use std::{fmt, sync::Arc};

use super::{ParamKind, ParamType, Problem, Setting, Settings, setting::nearest};
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
    /// The default as a file would give it; an error says in words what stands in its place.
    pub default: Result<Setting, &'static str>,
    /// The symbol and place in the source (`adj_d, USITS'03 fig. 4`), or the reason for the default.
    pub source: &'static str,
}

/// A declaration that several structs share, without the key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Declared<K> {
    pub(crate) kind: K,
    pub(crate) about: &'static str,
    pub(crate) source: &'static str,
}

/// Typed parameters of an entry, or of a part that several entries share. [`params!`] implements this trait.
pub trait Parameters: fmt::Debug + Send + Sync + Sized + 'static {
    /// Reads each field, in the order of the rows. A field with a wrong setting gets its default.
    fn read(reader: &mut ParamReader<'_>) -> Self;
}

/// No parameters.
impl Parameters for () {
    fn read(_: &mut ParamReader<'_>) -> Self {}
}

/// Declares a struct of typed parameters, one row for each field:
///
/// - `rate: f64 = number(0.01..=1e6, 100.0).in_unit("/s"), "description", "source";` declares a parameter;
/// - `window: Duration = WINDOW;` uses a [`Declared`] value that several structs share;
/// - `quota: QuotaParams;` includes all parameters of another struct.
macro_rules! params {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$of_field:meta])* $field:ident : $type:ty $(= $kind:expr $(, $about:expr, $source:expr)?)?;)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone)]
        $vis struct $name {
            $($(#[$of_field])* pub(crate) $field: $type,)*
        }

        impl $crate::entry::Parameters for $name {
            fn read(reader: &mut $crate::entry::ParamReader<'_>) -> Self {
                Self { $($field: params!(@read reader $field $type $(= $kind $(, $about, $source)?)?),)* }
            }
        }
    };
    (@read $reader:ident $field:ident $type:ty) => { <$type as $crate::entry::Parameters>::read($reader) };
    (@read $reader:ident $field:ident $type:ty = $row:expr) => { $reader.take(stringify!($field), $row) };
    (@read $reader:ident $field:ident $type:ty = $kind:expr, $about:expr, $source:expr) => {
        $reader.take(stringify!($field), $crate::entry::Declared { kind: $kind, about: $about, source: $source })
    };
}
pub(crate) use params;

/// A constructor of policies or machines for sites.
pub type Make<M> = Arc<dyn Fn(&Site) -> Box<M> + Send + Sync>;

/// Reads settings, and collects the declared parameters and the problems.
#[derive(Debug)]
pub struct ParamReader<'a> {
    settings: &'a Settings,
    pub(super) params: Vec<Param>,
    pub(super) problems: Vec<Problem>,
}

impl<'a> ParamReader<'a> {
    /// A reader of these settings. `problems`: those that are known already.
    pub(super) fn new(settings: &'a Settings, problems: Vec<Problem>) -> Self {
        Self { settings, params: Vec::new(), problems }
    }

    /// Reads the parameters, from which `make` constructs a policy or machine for a site.
    pub fn make<P: Parameters, M: ?Sized + 'static>(&mut self, make: fn(&P, &Site) -> Box<M>) -> Make<M> {
        self.make_unless(|_| Vec::new(), make)
    }

    /// The same for parameters that depend on each other: `clashes` finds values that are allowed alone but not
    /// together.
    pub(crate) fn make_unless<P: Parameters, M: ?Sized + 'static>(
        &mut self,
        clashes: fn(&P) -> Vec<Problem>,
        make: fn(&P, &Site) -> Box<M>,
    ) -> Make<M> {
        let params: P = self.read();
        if self.problems.is_empty() {
            self.problems = clashes(&params);
        }
        Arc::new(move |site| make(&params, site))
    }

    /// Reads parameters alone.
    #[cfg(test)]
    pub(crate) fn read_all<P: Parameters>(settings: &'a Settings) -> Result<P, Vec<Problem>> {
        let mut reader = Self::new(settings, Vec::new());
        let params = reader.read();
        if reader.problems.is_empty() { Ok(params) } else { Err(reader.problems) }
    }

    /// Reads the parameters: every problem at once, unknown keys first.
    fn read<P: Parameters>(&mut self) -> P {
        let known_before = self.problems.len();
        let params = P::read(self);
        let unknown: Vec<_> = self.settings.keys().filter_map(|key| self.unknown(key)).collect();
        self.problems.splice(known_before..known_before, unknown);
        params
    }

    /// Reads one parameter.
    pub(crate) fn take<K: ParamType>(&mut self, name: &'static str, row: Declared<K>) -> K::Value {
        let Declared { kind, about, source } = row;
        let default = kind.written_default();
        self.params.push(Param { name, about, kind: K::KIND, unit: kind.unit(), range: kind.range(), default, source });
        let Some(setting) = self.settings.get(name) else { return kind.default() };
        kind.read(setting).unwrap_or_else(|problems| {
            let of_param = |problem: Problem| Problem { key: format!("{name}{}", problem.key), ..problem };
            self.problems.extend(problems.into_iter().map(of_param));
            kind.default()
        })
    }

    fn unknown(&self, key: &str) -> Option<Problem> {
        let known: Vec<_> = self.params.iter().map(|param| param.name).collect();
        if known.contains(&key) {
            return None;
        }
        let message = match nearest(key, &known) {
            Some(near) => format!("there is no such parameter; did you mean {near}?"),
            None if known.is_empty() => "this policy has no parameters".to_owned(),
            None => format!("there is no such parameter; there are: {}", known.join(", ")),
        };
        Some(Problem::new(key, message))
    }
}
