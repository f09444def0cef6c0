//! Parameters: a row of [`params!`] declares a field with its key, type, range, default, unit, description and source.
//! The row yields the field of the typed struct, the check of settings with its hints, and a line of the printed table.

use std::{fmt, sync::Arc};

use super::{
    EntryLookup, Factory, Make, Param, ParamDeclaration, ParamReader, ParamType, Problem, Setting, Settings,
    setting::nearest,
};
use crate::{Place, Site};

/// Typed parameters of an entry, or of a part that several entries share. [`params!`] implements this trait.
pub trait Parameters: fmt::Debug + Send + Sync + Sized + 'static {
    /// Reads each field, in the order of the rows. A field with a wrong setting gets its default.
    fn read(reader: &mut ParamReader<'_>) -> Self;
}

/// No parameters.
impl Parameters for () {
    fn read(_: &mut ParamReader<'_>) -> Self {}
}

/// Declares a struct of typed parameters ([`catalogue::Parameters`](crate::catalogue::Parameters)), one row for each
/// field. The constructors of types are in [`params`](mod@crate::params).
///
/// ```
/// use std::time::Duration;
/// use controllers::params::{ms, number, params, s, time};
///
/// params! {
///     struct MyParams {
///         target: Duration = time(ms(1)..=s(60), ms(100)), "the wait that it aims at", "the lab's choice";
///         gain: f64 = number(0.01..=1.0, 0.1), "share of an error that is corrected in a step", "Hellerstein, 9.2";
///     }
/// }
/// # fn main() {}
/// ```
///
/// - `rate: f64 = number(0.01..=1e6, 100.0).in_unit("/s"), "description", "source";` declares a parameter;
/// - `window: Duration = WINDOW;` uses a [`ParamDeclaration`] value that several structs share;
/// - `quota: QuotaParams;` includes all parameters of another struct.
#[macro_export]
macro_rules! params {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$of_field:meta])* $field:ident : $type:ty $(= $kind:expr $(, $about:expr, $source:expr)?)?;)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone)]
        $vis struct $name {
            $($(#[$of_field])* pub(crate) $field: $type,)*
        }

        impl $crate::catalogue::Parameters for $name {
            fn read(reader: &mut $crate::catalogue::ParamReader<'_>) -> Self {
                Self { $($field: $crate::params!(@read reader $field $type $(= $kind $(, $about, $source)?)?),)* }
            }
        }
    };
    (@read $reader:ident $field:ident $type:ty) => { <$type as $crate::catalogue::Parameters>::read($reader) };
    (@read $reader:ident $field:ident $type:ty = $row:expr) => { $reader.take(stringify!($field), $row) };
    (@read $reader:ident $field:ident $type:ty = $kind:expr, $about:expr, $source:expr) => {
        $reader.take(stringify!($field), $crate::catalogue::ParamDeclaration { kind: $kind, about: $about, source: $source })
    };
}
pub(crate) use params;

impl<'a> ParamReader<'a> {
    /// A reader of these settings. `problems`: those that are known already.
    pub(super) fn new(
        settings: &'a Settings,
        problems: Vec<Problem>,
        known: &'a dyn EntryLookup,
        place: Place,
    ) -> Self {
        Self { settings, known, place, parts: Vec::new(), makes_room: false, params: Vec::new(), problems }
    }

    /// The place of the sites for which the settings are read.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }

    /// Looks up entries that the settings name.
    #[must_use]
    pub fn known(&self) -> &'a dyn EntryLookup {
        self.known
    }

    /// Adds checked parts of a composition, and the problems with them.
    pub(crate) fn compose(&mut self, parts: Vec<Factory>, problems: Vec<Problem>) {
        self.parts = parts;
        self.problems.extend(problems);
    }

    /// Room for the queue of a composition comes of its limit, where no worker has to be free.
    pub(crate) fn make_room(&mut self) {
        self.makes_room = true;
    }

    /// Declares a parameter that is read by hand.
    pub(crate) fn declare(&mut self, param: Param) {
        self.params.push(param);
    }

    /// The setting of this key.
    pub(crate) fn setting(&self, key: &str) -> Option<&'a Setting> {
        self.settings.get(key)
    }

    /// The problems of keys that no parameter has.
    pub(crate) fn unknown_keys(&self) -> Vec<Problem> {
        self.settings.keys().filter_map(|key| self.unknown(key)).collect()
    }

    /// Reads the parameters, from which `make` constructs a policy or machine for a site.
    pub fn make<P: Parameters, M: ?Sized + 'static>(&mut self, make: fn(&P, &Site) -> Box<M>) -> Make<M> {
        self.make_unless(|_| Vec::new(), make)
    }

    /// The same for parameters that depend on each other: `clashes` finds values that are allowed alone but not
    /// together.
    pub fn make_unless<P: Parameters, M: ?Sized + 'static>(
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
        let mut reader = Self::new(settings, Vec::new(), &super::check::Nothing, Place::Stage);
        let params = reader.read();
        if reader.problems.is_empty() { Ok(params) } else { Err(reader.problems) }
    }

    /// Reads the parameters: every problem at once, unknown keys first.
    fn read<P: Parameters>(&mut self) -> P {
        let known_before = self.problems.len();
        let params = P::read(self);
        let unknown = self.unknown_keys();
        self.problems.splice(known_before..known_before, unknown);
        params
    }

    /// Reads one parameter.
    pub fn take<K: ParamType>(&mut self, name: &'static str, row: ParamDeclaration<K>) -> K::Value {
        let ParamDeclaration { kind, about, source } = row;
        let default = kind.written_default();
        self.params.push(Param {
            name,
            about,
            kind: K::KIND,
            unit: kind.unit(),
            range: kind.range(),
            bounds: kind.bounds(),
            default,
            source,
        });
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
        let message = match nearest(key, known.iter().copied()) {
            Some(near) => format!("there is no such parameter; did you mean {near}?"),
            None if known.is_empty() => "this policy has no parameters".to_owned(),
            None => format!("there is no such parameter; there are: {}", known.join(", ")),
        };
        Some(Problem::new(key, message))
    }
}
