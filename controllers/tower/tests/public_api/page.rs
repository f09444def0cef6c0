//! One page of rustdoc: what it says of an item.

use std::collections::BTreeSet;

/// Declarations and signatures on the page of an item.
pub(crate) fn lines(html: &str) -> BTreeSet<String> {
    let declaration = between(html, "<pre class=\"rust item-decl\">", "</pre>").next().map(text).unwrap_or_default();
    let mut lines = BTreeSet::from([declaration.clone()]);
    let is_trait = declaration.starts_with("pub trait");
    // What is in a trait is in its declaration.
    let own = if is_trait { "" } else { section(html, "implementations") };
    let mut of = String::new();
    for header in headers(own) {
        if header.starts_with("impl") {
            of = header;
        } else {
            lines.insert(format!("{of}: {header}"));
        }
    }
    for id in ["trait-implementations", "foreign-impls", "implementors"] {
        lines.extend(headers(section(html, id)).filter(|header| header.starts_with("impl") && !is_generated(header)));
    }
    lines.extend(headers(section(html, "synthetic-implementations")).filter(|header| says_something(header)));
    lines
}

/// Words in signatures that link to no page of this crate, and names of types of `controllers`, which link to its pages
/// where these were there first.
pub(crate) fn foreign_words(html: &str) -> BTreeSet<String> {
    let own = between(html, "<title>", " ").next().unwrap_or_default();
    let declared = between(html, "<pre class=\"rust item-decl\">", "</pre>");
    // The variants of an enum are names too.
    let declared = declared.filter(|declared| !text(declared).contains("pub enum "));
    let parts = ["implementations", "trait-implementations", "implementors"].map(|id| section(html, id));
    let signatures = parts.into_iter().flat_map(|part| between(part, "class=\"code-header\">", "</h"));
    let mut found = BTreeSet::new();
    for signature in declared.chain(signatures) {
        let linked = between(signature, " controllers::", "\"").filter_map(|path| path.rsplit("::").next());
        found.extend(linked.map(str::to_owned));
        let unlinked: String = signature.split("</a>").filter_map(|part| part.split("<a ").next()).collect();
        let plain = text(&unlinked).replace("::", " ::");
        let words = plain.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
        found.extend(words.map(|word| word.trim_end_matches(':')).filter(|word| *word != own).map(str::to_owned));
    }
    found
}

/// True if the item is declared in this crate, and not in one that it re-exports.
pub(crate) fn is_own(html: &str) -> bool {
    html.split_once("item-decl").is_some_and(|(heading, _)| heading.contains("src/tower_admission/"))
}

/// True for what macros need, and no user.
fn is_generated(header: &str) -> bool {
    header.contains("__pin") || header.contains("StructuralPartialEq")
}

/// True for an auto trait that is missing, or that a type has with some parameters only: of `Send` and `Sync`.
fn says_something(header: &str) -> bool {
    let of_threads = header.contains("Send for ") || header.contains("Sync for ");
    of_threads && (header.contains('!') || header.starts_with("impl<"))
}

/// From the heading of a section to the next one.
fn section<'a>(html: &'a str, id: &str) -> &'a str {
    let Some((_, rest)) = html.split_once(&format!("<h2 id=\"{id}\"")) else { return "" };
    rest.split_once("<h2 id=\"").map_or(rest, |(section, _)| section)
}

fn headers(html: &str) -> impl Iterator<Item = String> {
    between(html, "class=\"code-header\">", "</h").map(text)
}

fn between<'a>(html: &'a str, open: &'a str, close: &'a str) -> impl Iterator<Item = &'a str> {
    html.split(open).skip(1).map(move |rest| rest.split_once(close).map_or(rest, |(inside, _)| inside))
}

/// The text without tags, on one line.
fn text(html: &str) -> String {
    let mut plain = String::new();
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        plain.push_str(before);
        let (tag, after) = tag.split_once('>').unwrap_or((tag, ""));
        rest = if tag.starts_with("summary") {
            after.split_once("</summary>").map_or(after, |(_, after)| after)
        } else {
            after
        };
        // Lines of a declaration, and clauses.
        if tag.starts_with("br")
            || tag.starts_with("div")
            || tag.starts_with("/div")
            || tag.starts_with("span class=\"where")
        {
            plain.push(' ');
        }
    }
    plain.push_str(rest);
    for (entity, character) in
        [("&lt;", "<"), ("&gt;", ">"), ("&#39;", "'"), ("&quot;", "\""), ("&nbsp;", " "), ("&amp;", "&")]
    {
        plain = plain.replace(entity, character);
    }
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}
