//! The parameters of a search for the best value of another policy's parameter.

use super::{Param, ParamDeclaration, ParamKind, ParamReader, ValueSearch, count};

/// The source of a search's parameters.
const OWN: &str = "the lab's choice";

impl ValueSearch {
    /// Declares the search's own parameters. Settings beside them are those of the policy.
    pub(super) fn declare(&self, reader: &mut ParamReader<'_>) {
        reader.declare(Param {
            name: "of",
            about: "the policy whose value is looked for",
            kind: ParamKind::Part,
            unit: "",
            range: format!("a policy with the parameter {}", self.parameter),
            bounds: None,
            default: Ok(self.of.into()),
            source: OWN,
        });
        let most = ParamDeclaration {
            kind: count(1..=65_536, self.most),
            about: "the highest value that is tried",
            source: OWN,
        };
        reader.take("most", most);
    }
}
