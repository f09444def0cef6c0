//! Paths for recorded steps.

use std::sync::Arc;

use crate::{mail::REQUEST_TYPES, replay::Step};

/// A path with places that are filled in for each step: `{action}` (its request type, with `-` for spaces), `{object}` (the
/// number of what it was done to) and `{user}` (the user's number). Anything else is sent as it is.
#[derive(Debug)]
pub(super) struct Template(Vec<Part>);

#[derive(Debug, PartialEq)]
enum Part {
    Text(String),
    Action,
    Object,
    User,
}

impl Template {
    pub(super) fn of(path: &str) -> Self {
        let mut parts = Vec::new();
        let mut rest = path;
        while !rest.is_empty() {
            let places = [("{action}", Part::Action), ("{object}", Part::Object), ("{user}", Part::User)];
            let first = places.into_iter().filter_map(|(name, part)| Some((rest.find(name)?, name, part)));
            let Some((at, name, part)) = first.min_by_key(|&(at, ..)| at) else { break };
            parts.extend((at > 0).then(|| Part::Text(rest[..at].to_owned())));
            parts.push(part);
            rest = &rest[at + name.len()..];
        }
        parts.extend((!rest.is_empty()).then(|| Part::Text(rest.to_owned())));
        Self(parts)
    }

    pub(super) fn fill(&self, user: u32, step: &Step) -> Arc<str> {
        let mut path = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => path.push_str(text),
                Part::Action => {
                    let name = REQUEST_TYPES.get(usize::from(step.kind.0)).copied().unwrap_or("other");
                    path.extend(name.chars().map(|c| if c == ' ' { '-' } else { c }));
                }
                Part::Object => path.push_str(&step.pick.to_string()),
                Part::User => path.push_str(&user.to_string()),
            }
        }
        path.into()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use controllers::Kind;

    use super::*;

    #[test]
    fn places_are_filled_in_and_the_rest_is_sent_as_it_is() {
        let step = Step { kind: Kind(2), at: Duration::ZERO, pause: Duration::ZERO, pick: 7 };
        let filled = |path| Template::of(path).fill(3, &step).to_string();
        assert_eq!(filled("/u{user}/{action}?id={object}&x={y}"), "/u3/list-messages?id=7&x={y}");
        assert_eq!(filled("{object}{object}"), "77");
        assert_eq!(filled("/"), "/");
        let unknown = Step { kind: Kind(99), ..step };
        assert_eq!(Template::of("/{action}").fill(0, &unknown).as_ref(), "/other");
    }
}
