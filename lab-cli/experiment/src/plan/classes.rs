//! Classes of users, and whether the target goes by them.

use std::collections::BTreeSet;

use controllers::ClassRule;

use super::{LoadStream, TargetPlan, UsersPlan};

/// Caution about a target that goes by something else than what users say.
pub(super) fn caution(target: &TargetPlan, users: &UsersPlan) -> Option<String> {
    let goes_by = match &target.class {
        ClassRule::Address(_) => "source address",
        ClassRule::Path(_) => "path",
        ClassRule::None | ClassRule::Header(_) | ClassRule::Named(_) | ClassRule::Cookie(_) => return None,
    };
    let told: Vec<String> = classes(users).iter().map(ToString::to_string).collect();
    (!told.is_empty()).then(|| {
        format!(
            "users of class {} are told apart in tables by that; the target goes by {goes_by} and may see another class",
            told.join(", ")
        )
    })
}

/// Classes that requests carry: all but 0, which is the default.
pub(crate) fn classes(users: &UsersPlan) -> BTreeSet<u8> {
    let recorded = users.trace.iter().flat_map(|trace| trace.classes.iter().copied());
    let loads = users.phases.iter().flat_map(|phase| &phase.loads);
    loads.filter_map(LoadStream::class).chain(recorded).filter(|class| *class != 0).collect()
}
