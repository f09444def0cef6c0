//! Makes HTML mail harmless, and converts plain text to HTML.
//!
//! HTML is cleaned once, when a message is stored: cleaning costs far more than showing, and the sender determines how
//! much. The version of the rules is stored with the result, so that a later version can clean again.

use std::sync::LazyLock;

use ammonia::{Builder, UrlRelative};
use linkify::{LinkFinder, LinkKind};
use mail_parser::decoders::html::html_to_text;
use maud::html;

mod bounds;
mod cost;
mod error;

pub use bounds::{MAX_ATTRIBUTES, MAX_BYTES, MAX_DEPTH, MAX_WORK};
use cost::Budget;
pub use error::HtmlError;

/// The version of the rules below. To be raised with every change to them, and when a new version of the cleaning
/// library changes what it accepts.
pub const VERSION: i64 = 1;

/// The largest number of rounds: cleaning clean HTML must change nothing, and odd nesting can need several rounds.
const ROUNDS: usize = 6;

static CLEANER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut builder = Builder::default();
    // Image maps are navigation by pictures, and pictures are removed.
    builder.rm_tags(["map", "area"]);
    // An image keeps its place and its alternative text but has nothing to load: a remote image tells the sender that,
    // when and from where the mail was read.
    builder.rm_tag_attributes("img", ["src", "width", "height", "align"]);
    builder.url_schemes(["http", "https", "mailto"].into());
    builder.url_relative(UrlRelative::Deny);
    builder.link_rel(Some("noopener noreferrer"));
    builder.set_tag_attribute_value("a", "target", "_blank");
    builder
});

/// Makes of a message's HTML a fragment for the inside of `<body>` that runs nothing, loads nothing and posts nothing. Cleaning the result
/// again changes nothing.
pub fn clean(dirty: &str) -> Result<String, HtmlError> {
    if dirty.len() > MAX_BYTES { Err(HtmlError::TooLong { bytes: dirty.len() }) } else { settle(dirty) }
}

/// True if images were left out of clean HTML. The mark is a tag there and nothing else, since text has its `<` escaped.
#[must_use]
pub fn has_images(clean: &str) -> bool {
    clean.contains("<img")
}

/// Cleans until nothing changes. Text that parses differently each time is how clean HTML turns dirty again in the
/// browser, so HTML that does not settle is reduced to its words. The cost of all rounds together is bounded.
fn settle(dirty: &str) -> Result<String, HtmlError> {
    let mut budget = Budget::new();
    let mut clean = |html: &str| {
        budget.pay_for(html)?;
        Ok(CLEANER.clean(html).to_string())
    };
    let mut html = clean(dirty)?;
    for _ in 1..ROUNDS {
        let again = clean(&html)?;
        if again == html {
            return Ok(html);
        }
        html = again;
    }
    let words = html_to_text(&html);
    let escaped = html! { (words) }.into_string();
    clean(&escaped)
}

/// The text of an HTML message, for searches, and for display where the HTML itself is not shown.
#[must_use]
pub fn to_text(html: &str) -> String {
    const BLOCKS: [&str; 20] = [
        "address",
        "blockquote",
        "dd",
        "div",
        "dt",
        "figcaption",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "li",
        "ol",
        "pre",
        "section",
        "table",
        "tr",
        "ul",
    ];
    const CELLS: [&str; 2] = ["td", "th"];
    // The library breaks lines at `<br>` and `</p>` only, which glues the words of all other blocks together.
    let mut broken = String::with_capacity(html.len() + html.len() / 4);
    for (i, piece) in html.split('<').enumerate() {
        let name = tag_name(piece.trim_start_matches('/'));
        if i > 0 && BLOCKS.contains(&name.as_str()) {
            broken.push_str("<br>");
        }
        if i > 0 && CELLS.contains(&name.as_str()) {
            broken.push(' ');
        }
        broken.push_str(if i > 0 { "<" } else { "" });
        broken.push_str(piece);
    }
    let text = html_to_text(&broken);
    // One or two empty lines separate paragraphs; more are layout.
    let mut lines = Vec::new();
    for line in text.lines().map(str::trim) {
        if !line.is_empty() || lines.last().is_some_and(|last: &&str| !last.is_empty()) {
            lines.push(line);
        }
    }
    lines.join("\n").trim_end().to_owned()
}

/// The name at the start of a tag, in lower case.
fn tag_name(tag: &str) -> String {
    let end = tag.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(tag.len());
    // No element's name is longer, and text may follow a stray `<`.
    tag[..end.min(20)].to_ascii_lowercase()
}

/// Plain text as HTML: every character escaped first, then web and mail addresses made into links. Line ends stay
/// unchanged, to be shown with `white-space: pre-wrap`.
#[must_use]
pub fn from_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for span in LinkFinder::new().spans(text) {
        let words = span.as_str();
        let link = match span.kind() {
            Some(LinkKind::Url) if is_web(words) => Some(words.to_owned()),
            Some(LinkKind::Email) => Some(format!("mailto:{words}")),
            _ => None,
        };
        let markup = match link {
            Some(href) => html! { a href=(href) rel="noopener noreferrer" target="_blank" { (words) } },
            None => html! { (words) },
        };
        out.push_str(&markup.into_string());
    }
    out
}

/// True for the only schemes that become links: the effect of others depends on the reader's machine.
fn is_web(url: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| url.get(..scheme.len()).is_some_and(|s| s.eq_ignore_ascii_case(scheme)))
}

#[cfg(test)]
mod tests;
