//! Parameters: one row of [`params!`] declares a field, and with it the key, type, range, default, unit, text and source.
//! The typed struct, the checks with their hints and the printed table all come from that row.

use std::{fmt, sync::Arc};

use super::{ParamKind, ParamType, Problem, Setting, Settings, setting::nearest};
use crate::Site;

/// One parameter of an entry, as tables show it.
#[derive(Debug, Clone)]
pub struct Param {
    /// The key in files.
    pub name: &'static str,
    /// What it does, one line, with its unit.
    pub about: &'static str,
    /// Its kind.
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

/// A row that several structs declare.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Declared<K> {
    pub(crate) kind: K,
    pub(crate) about: &'static str,
    pub(crate) source: &'static str,
}

/// Typed parameters of an entry, or of a part that several entries share. [`params!`] writes this.
pub trait Parameters: fmt::Debug + Send + Sync + Sized + 'static {
    /// Reads each field, in the order of the rows. A field whose setting is wrong has its default.
    fn read(reader: &mut ParamReader<'_>) -> Self;
}

/// No parameters.
impl Parameters for () {
    fn read(_: &mut ParamReader<'_>) -> Self {}
}

/// Declares a struct of typed parameters, a row for each:
///
/// - `rate: f64 = number(0.01..=1e6, 100.0).in_unit("/s"), "what it does", "source";` declares one;
/// - `window: Duration = WINDOW;` takes a [`Declared`] row that others take as well;
/// - `quota: QuotaParams;` takes all rows of another struct.
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

/// Makes what an entry is about, once for each site.
pub type Make<M> = Arc<dyn Fn(&Site) -> Box<M> + Send + Sync>;

/// Reads settings against rows, and keeps what they declare and what is wrong.
#[derive(Debug)]
pub struct ParamReader<'a> {
    settings: &'a Settings,
    pub(super) params: Vec<Param>,
    pub(super) problems: Vec<Problem>,
}

impl<'a> ParamReader<'a> {
    /// A reader of these settings, of which some things may be known to be wrong.
    pub(super) fn new(settings: &'a Settings, problems: Vec<Problem>) -> Self {
        Self { settings, params: Vec::new(), problems }
    }

    /// Reads the parameters, of which `make` makes a policy or machine for a site.
    pub fn make<P: Parameters, M: ?Sized + 'static>(&mut self, make: fn(&P, &Site) -> Box<M>) -> Make<M> {
        self.make_unless(|_| Vec::new(), make)
    }

    /// The same for parameters that depend on each other: `clashes` says what is wrong between values that are each allowed.
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

    /// The parameters that these settings give.
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
