//! Paths for recorded steps.

use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::{mail::REQUEST_TYPES, replay::ReplayStep};

/// Placeholders in a path, in braces, which are filled in for each recorded step. Texts are the recording's own words:
///
/// - `action`: with `-` for spaces;
/// - `object`, `user`;
/// - `folder`, `message`: the object's two parts ([`traces::trace::split_object`]);
/// - `object-path`: the object with its slashes, for objects that are paths themselves;
/// - `object-number`, `user-number`: numbers from 0, for services that have other names.
///
/// A text is percent-encoded except for letters, digits, `-`, `_` and `~` and single dots (RFC 3986, section 2.3), so
/// that it stays in its place: it can begin no segment, query, header line or host. A text of dots alone, which would
/// be a step up, has its dots encoded twice. `-` stands for a text that is not recorded.
pub const PLACES: [&str; 8] =
    ["action", "object", "user", "folder", "message", "object-path", "object-number", "user-number"];

/// A path with [`PLACES`]. All other text is sent unchanged.
#[derive(Debug)]
pub(super) struct Template(Vec<Part>);

#[derive(Debug, PartialEq)]
enum Part {
    Text(String),
    /// A placeholder, by its name in [`PLACES`].
    Place(&'static str),
}

/// The user of a step: a number, and the recording's name.
#[derive(Debug, Clone)]
pub(super) struct StepUser {
    pub(super) number: u32,
    pub(super) name: Arc<str>,
}

impl Template {
    pub(super) fn of(path: &str) -> Self {
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = path;
        while let Some(at) = rest.find('{') {
            let place = PLACES.into_iter().find(|name| {
                let inside = rest[at + 1..].strip_prefix(name);
                inside.is_some_and(|after| after.starts_with('}'))
            });
            let end = at + place.map_or(1, |name| name.len() + 2);
            text.push_str(&rest[..if place.is_some() { at } else { end }]);
            if let Some(name) = place {
                parts.extend((!text.is_empty()).then(|| Part::Text(std::mem::take(&mut text))));
                parts.push(Part::Place(name));
            }
            rest = &rest[end..];
        }
        text.push_str(rest);
        parts.extend((!text.is_empty()).then_some(Part::Text(text)));
        Self(parts)
    }

    pub(super) fn fill(&self, user: &StepUser, step: &ReplayStep) -> Arc<str> {
        let mut path = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => path.push_str(text),
                Part::Place(name) => place(&mut path, name, user, step),
            }
        }
        path.into()
    }
}

fn place(path: &mut String, name: &str, user: &StepUser, step: &ReplayStep) {
    let object = &*step.texts.object;
    match name {
        "action" if step.texts.action.is_empty() => {
            let kind = REQUEST_TYPES.get(usize::from(step.kind.0)).copied().unwrap_or("other");
            push(path, &kind.replace(' ', "-"));
        }
        "action" => push(path, &step.texts.action.replace(' ', "-")),
        "object" => push(path, object),
        "folder" => push(path, traces::trace::split_object(object).0),
        "message" => push(path, traces::trace::split_object(object).1),
        "object-path" => {
            // Leading empty segments could name a host.
            for (nth, segment) in object.split('/').filter(|segment| !segment.is_empty()).enumerate() {
                path.push_str(if nth > 0 { "/" } else { "" });
                push(path, segment);
            }
            if object.bytes().all(|byte| byte == b'/') {
                push(path, "");
            }
        }
        "user" => push(path, &user.name),
        "object-number" => path.push_str(&step.object.message.to_string()),
        _ => path.push_str(&user.number.to_string()),
    }
}

/// All characters except those that RFC 3986 (section 2.3) calls unreserved.
const RESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

fn push(path: &mut String, text: &str) {
    if text.is_empty() {
        path.push('-');
    } else if text.bytes().all(|byte| byte == b'.') {
        // `%2E` alone is read as a dot (WHATWG URL, section 4.3).
        path.push_str(&"%252E".repeat(text.len()));
    } else {
        path.extend(utf8_percent_encode(text, &RESERVED));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use controllers::Kind;
    use proptest::prelude::*;

    use super::*;
    use crate::replay::{Object, Texts};

    fn step(action: &str, object: &str) -> ReplayStep {
        ReplayStep {
            kind: Kind(2),
            at: Duration::ZERO,
            pause: Duration::ZERO,
            object: Object { folder: Some(1), message: 7 },
            texts: Texts { action: action.into(), object: object.into() },
        }
    }

    fn filled(path: &str, user: &str, step: &ReplayStep) -> String {
        Template::of(path).fill(&StepUser { number: 3, name: user.into() }, step).to_string()
    }

    #[test]
    fn places_are_filled_in_and_the_rest_is_sent_as_it_is() {
        let step = step("list messages", "Work/12");
        let as_joe = |path: &str| filled(path, "joe@example.org", &step);
        assert_eq!(
            as_joe("/u/{user}/{action}?id={object}&x={y}"),
            "/u/joe%40example.org/list-messages?id=Work%2F12&x={y}"
        );
        assert_eq!(as_joe("/show?folderid={folder}&entry={message}"), "/show?folderid=Work&entry=12");
        assert_eq!(as_joe("/{object-path}"), "/Work/12");
        assert_eq!(as_joe("{object-number}{user-number}"), "73");
        assert_eq!(as_joe("/{{user}{"), "/{joe%40example.org{");
        assert_eq!(as_joe("/"), "/");
    }

    #[test]
    fn what_is_not_recorded_is_a_dash_and_an_action_has_its_request_type() {
        let nothing = step("", "");
        assert_eq!(filled("/{action}/{object}/{message}/{object-path}/{user}", "", &nothing), "/list-messages/-/-/-/-");
        let unknown = ReplayStep { kind: Kind(99), ..nothing };
        assert_eq!(filled("/{action}", "", &unknown), "/other");
    }

    #[test]
    fn other_texts_are_written_as_they_were() {
        let of = |object: &str| filled("/{object}", "", &step("", object));
        assert_eq!(of("Gesendete Objekte"), "/Gesendete%20Objekte");
        assert_eq!(of("Entwürfe"), "/Entw%C3%BCrfe");
        assert_eq!(of("100%"), "/100%25");
        assert_eq!(of("a.b-c_d~e"), "/a.b-c_d~e");
    }

    #[test]
    fn a_hostile_text_stays_in_its_place() {
        let texts = [
            "..",
            ".",
            "../../etc",
            "//evil.example/",
            "a\r\nX: y",
            "a b",
            "?x=1",
            "#",
            "%2e%2e",
            "@evil.example",
            "a&b=c",
        ];
        for text in texts {
            let path = filled("/a/{object}/b?c={user}&d=e", text, &step("", text));
            assert_eq!(path.matches(['/', '?', '&', '=', '#']).count(), 7, "{path}");
            let url = url::Url::parse(&format!("http://127.0.0.1:80{path}")).expect("it is a URL");
            let segments: Vec<&str> = url.path_segments().expect("it has a path").collect();
            assert_eq!(
                (url.host_str(), segments[0], segments[2], segments.len()),
                (Some("127.0.0.1"), "a", "b", 3),
                "{path}"
            );
        }
        // Its slashes stay, and nothing else: the object can neither climb nor name a host.
        let of = |object: &str| filled("/{object-path}", "", &step("", object));
        assert_eq!(of("//evil.example/../x?y"), "/evil.example/%252E%252E/x%3Fy");
        assert_eq!(of("/wiki/Main Page/"), "/wiki/Main%20Page");
    }

    proptest! {
        #[test]
        fn no_text_leaves_its_place(text in any::<String>()) {
            let path = filled("/a/{object}/{user}?{action}", &text, &step(&text, &text));
            prop_assert!(path.bytes().all(|byte| byte.is_ascii_graphic()), "{}", path);
            prop_assert_eq!(path.matches(['/', '?', '#', '&']).count(), 4, "{}", path);
            let base = url::Url::parse("http://127.0.0.1:80/").expect("a URL");
            let url = base.join(&path).expect("a path");
            prop_assert_eq!(url.host_str(), Some("127.0.0.1"));
            prop_assert_eq!(url.path_segments().map(Iterator::count), Some(3), "{}", url);
        }
    }
}
