//! Rules that map requests of a web server to actions.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use regex::Regex;
use serde::Deserialize;

/// The rules of the Arashi service.
const ARASHI: &str = include_str!("../rules/arashi.yaml");

/// Rules in their order: the first match decides.
#[derive(Debug, Clone)]
pub struct Rules(Vec<Rule>);

#[derive(Debug, Clone)]
struct Rule {
    method: Option<String>,
    /// `None`: the recording's own host.
    host: Option<Regex>,
    path: Regex,
    then: Then,
}

#[derive(Debug, Clone)]
enum Then {
    Drop,
    Action { action: String, object: String },
}

/// The result of the rules for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found<'r> {
    /// This action, on this object.
    Action(&'r str, String),
    /// The request is dropped.
    Drop,
    /// No rule matches.
    Unknown,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rules: Vec<Written>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    host: Option<String>,
    path: String,
    #[serde(default)]
    action: Option<String>,
    #[serde(default)]
    object: Option<String>,
    #[serde(default)]
    drop: bool,
}

impl Rules {
    /// Parses a table of rules: see `rules/arashi.yaml` for the form.
    ///
    /// # Errors
    /// If the text is no such table; names the wrong rule and its error.
    pub fn from_yaml(text: &str) -> Result<Self, String> {
        let file: File = serde_yaml::from_str(text)
            .map_err(|error| format!("the rules cannot be read: {}", error.without_snippet()))?;
        if file.rules.is_empty() {
            return Err("there are no rules; `rules: [{path: '^/list', action: list messages}]` is one".into());
        }
        let rules = file
            .rules
            .into_iter()
            .enumerate()
            .map(|(at, written)| Rule::new(written).map_err(|problem| format!("rule {}: {problem}", at + 1)));
        rules.collect::<Result<_, _>>().map(Self)
    }

    /// The rules of the Arashi service.
    ///
    /// # Panics
    /// Never: a test parses them.
    #[must_use]
    pub fn arashi() -> Self {
        Self::from_yaml(ARASHI).expect("the shipped rules are sound")
    }

    /// The result for a request. `url`: path and query. An object is text: percent-encoded characters of the URL are
    /// decoded.
    #[must_use]
    pub fn find(&self, method: &str, url: &str) -> Found<'_> {
        self.find_at(None, method, url)
    }

    /// The result for a request. `other_host`: its host, if the recording is about another.
    #[must_use]
    pub fn find_at(&self, other_host: Option<&str>, method: &str, url: &str) -> Found<'_> {
        let url = &*with_plain_spaces(url);
        for rule in &self.0 {
            let has_host = match (&rule.host, other_host) {
                (None, None) => true,
                (Some(wanted), Some(host)) => wanted.is_match(host),
                (None, Some(_)) | (Some(_), None) => false,
            };
            if !has_host {
                continue;
            }
            if rule.method.as_ref().is_some_and(|wanted| wanted != method) {
                continue;
            }
            let Some(groups) = rule.path.captures(url) else { continue };
            return match &rule.then {
                Then::Drop => Found::Drop,
                Then::Action { action, object } => {
                    let mut about = String::new();
                    groups.expand(object, &mut about);
                    Found::Action(action, decoded(about))
                }
            };
        }
        Found::Unknown
    }
}

/// In a query, `+` is a space as `%20` is.
fn with_plain_spaces(url: &str) -> Cow<'_, str> {
    match url.split_once('?') {
        Some((path, query)) if query.contains('+') => format!("{path}?{}", query.replace('+', "%20")).into(),
        _ => url.into(),
    }
}

/// Decodes percent-encoded text. If the result is not UTF-8, the text stays encoded.
fn decoded(text: String) -> String {
    match percent_decode_str(&text).decode_utf8() {
        Ok(Cow::Owned(plain)) => plain,
        _ => text,
    }
}

impl Rule {
    fn new(written: Written) -> Result<Self, String> {
        let Written { method, host, path, action, object, drop } = written;
        let pattern = |key: &str, text: &str| {
            Regex::new(text).map_err(|error| format!("its {key} is no regular expression: {error}"))
        };
        let path = pattern("path", &path)?;
        let host = host.map(|host| pattern("host", &host)).transpose()?;
        let then = match (action, drop) {
            (Some(_), true) => return Err("it has an action, and drops: take one out".into()),
            (None, false) => return Err("it needs an action, or `drop: true`".into()),
            (None, true) => Then::Drop,
            (Some(action), false) if action.is_empty() || action.len() > 64 || action == traces::trace::LEAVE => {
                return Err(format!("{action:?} cannot name an action: up to 64 letters, and not `leave`"));
            }
            (Some(action), false) => Then::Action { action, object: object.unwrap_or_default() },
        };
        Ok(Self { method, host, path, then })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_of_arashi_are_known() {
        let rules = Rules::arashi();
        let action = |action, object: &str| Found::Action(action, object.to_owned());
        assert_eq!(rules.find("POST", "/login"), action("login", ""));
        assert_eq!(rules.find("GET", "/login"), Found::Drop);
        assert_eq!(rules.find("GET", "/list?folderid=3&key=ab"), action("list messages", "3"));
        assert_eq!(rules.find("GET", "/show?key=ab&folderid=3&entry=12"), action("show message", "3/12"));
        assert_eq!(rules.find("GET", "/logo.png"), Found::Drop);
        assert_eq!(rules.find("POST", "/delete"), action("delete", ""));
        assert_eq!(rules.find("GET", "/wiki"), Found::Unknown);
    }

    #[test]
    fn an_object_is_the_text_that_the_url_encodes() {
        let rules = "rules: [{path: '^/find\\?q=([^&]*)', action: search, object: '$1'}, {path: '^/(.*)', action: page, object: '$1'}]";
        let rules = Rules::from_yaml(rules).expect("sound");
        let object = |url: &str| match rules.find("GET", url) {
            Found::Action(_, object) => object,
            found => panic!("{found:?}"),
        };
        assert_eq!(object("/wiki/Gr%C3%BC%C3%9Fe%20an+alle"), "wiki/Grüße an+alle");
        assert_eq!(object("/find?q=a+b%2Bc&x=1"), "a b+c");
        assert_eq!(object("/caf%E9"), "caf%E9", "this is Latin-1");
        assert_eq!(object("/100%"), "100%");
    }

    #[test]
    fn other_hosts_are_for_rules_that_name_them() {
        let rules = "rules: [{host: '^cdn\\.', path: '^/(.*)', action: file, object: '$1'}, {path: '.', action: page}]";
        let rules = Rules::from_yaml(rules).expect("sound");
        assert_eq!(rules.find_at(None, "GET", "/a"), Found::Action("page", String::new()));
        assert_eq!(rules.find_at(Some("cdn.example"), "GET", "/a"), Found::Action("file", "a".to_owned()));
        assert_eq!(rules.find_at(Some("ads.example"), "GET", "/a"), Found::Unknown);
    }

    #[test]
    fn what_is_wrong_with_rules_is_said() {
        let says = |text: &str, words: &str| {
            let said = Rules::from_yaml(text).expect_err(words);
            assert!(said.contains(words), "{said}");
        };
        says("rules: []", "there are no rules");
        says("rules: [{path: '^/a', action: a}, {path: '(', drop: true}]", "rule 2: its path is no regular expression");
        says("rules: [{path: '^/a', host: '(', drop: true}]", "rule 1: its host is no regular expression");
        says("rules: [{path: '^/a'}]", "rule 1: it needs an action");
        says("rules: [{path: '^/a', action: a, drop: true}]", "take one out");
        says("rules: [{path: '^/a', action: leave}]", "cannot name an action");
        says("rules: [{path: '^/a', acton: a}]", "acton");
    }
}
