//! Users say their class where the target looks for it, or the plan has a problem: else every request would be of class 0, and
//! no figure would tell.

use std::collections::BTreeSet;

use controllers::ClassRule;
use workloads::{http1::names::is_reserved, plan::CLASS_HEADER};

use super::{
    plan::{Load, Target, Users},
    problem::Problems,
    raw::Node,
};

/// Has users send the header that the target reads. `node`: the target as written.
pub fn agree(target: &Target, users: &mut Users, node: &Node, problems: &Problems) {
    let told = classes(users);
    let place = &node.get("class").unwrap_or(node).place;
    match &target.class {
        ClassRule::Header(name) if name.eq_ignore_ascii_case(CLASS_HEADER) => {}
        // Also where all are of class 0: the target would take what it finds there for a class.
        ClassRule::Header(name) if is_reserved(name) => {
            let message = format!("requests carry {name} for another purpose: no class can be said in it");
            problems.add(place, "target.class.header", message, format!("write {{header: {CLASS_HEADER}}}"));
        }
        ClassRule::Header(name) => users.marks.class_header = Some(name.clone()),
        ClassRule::Cookie(name) => {
            if !told.is_empty() {
                let message =
                    format!("users say their class in a header, and send no cookie {name}: all would be class 0");
                problems.add(place, "target.class.cookie", message, format!("write {{header: {CLASS_HEADER}}}"));
            }
        }
        ClassRule::None | ClassRule::Address(_) | ClassRule::Path(_) => {}
    }
}

/// What readers should know of a target that goes by something else than what users say.
pub fn caution(target: &Target, users: &Users) -> Option<String> {
    let goes_by = match &target.class {
        ClassRule::Address(_) => "source address",
        ClassRule::Path(_) => "path",
        ClassRule::None | ClassRule::Header(_) | ClassRule::Cookie(_) => return None,
    };
    let told: Vec<String> = classes(users).iter().map(ToString::to_string).collect();
    (!told.is_empty()).then(|| {
        format!(
            "users of class {} are told apart in tables by that; the target goes by {goes_by} and may see another class",
            told.join(", ")
        )
    })
}

/// Classes that users say: all but 0, of which nobody speaks.
fn classes(users: &Users) -> BTreeSet<u8> {
    let recorded = users.trace.iter().flat_map(|trace| trace.classes.iter().copied());
    let loads = users.phases.iter().flat_map(|phase| &phase.loads);
    let of_load = |load: &Load| match *load {
        Load::Users { class, .. }
        | Load::Sessions { class, .. }
        | Load::Requests { class, .. }
        | Load::Present { class, .. }
        | Load::Churn { class, .. } => Some(class),
        Load::Replay => None,
    };
    loads.filter_map(of_load).chain(recorded).filter(|class| *class != 0).collect()
}
