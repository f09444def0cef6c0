//! Users say their class where the target looks for it, or the plan has a problem: else every request would be of class 0, and
//! no figure would tell.

use controllers::{Class, ClassRule};
use workloads::{headers::is_reserved, plan::CLASS_HEADER};

use super::{
    plan::{TargetPlan, UsersPlan, classes},
    problem::Problems,
    raw::Node,
};

/// Has users send the header that the target reads. `node`: the target as written.
pub fn agree(target: &TargetPlan, users: &mut UsersPlan, node: &Node, problems: &Problems) {
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
        ClassRule::Named(named) if is_reserved(&named.header) => {
            let message = format!("requests carry {} for another purpose: no class can be said in it", named.header);
            problems.add(place, "target.class.header", message, "name the header in which your clients say it");
        }
        ClassRule::Named(named) => {
            for class in told.iter().filter(|class| **class > 0) {
                match named.value(Class(*class)) {
                    Some(value) => drop(users.marks.class_values.insert(Class(*class), value.to_owned())),
                    None => {
                        let message = format!("users are of class {class}, and no value says so");
                        problems.add(place, "target.class.values", message, format!("write {{gold: {class}}}"));
                    }
                }
            }
            users.marks.class_header = Some(named.header.clone());
        }
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
