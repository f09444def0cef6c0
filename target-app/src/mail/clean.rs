//! HTML mail made harmless. Done once, when a message is stored, with the version kept beside it: cleaning costs more
//! than showing, and whoever sends mail chooses how much.

use std::sync::LazyLock;

use ammonia::Builder;

/// Version of the rules below. Raise it with every change: what an older version cleaned is cleaned again when shown.
pub const VERSION: i64 = 1;

/// Longest HTML that is looked at, in bytes; a longer message shows its text only.
pub const MAX_HTML: usize = 1 << 20;

static CLEANER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut builder = Builder::default();
    // No pictures: a remote one tells the sender that the mail was read, and from where.
    builder.rm_tags(["img", "map", "area"]);
    builder.url_schemes(["http", "https", "mailto"].into());
    builder.url_relative(ammonia::UrlRelative::Deny);
    // The page that holds the mail is sandboxed; links open outside of it, and tell nobody where they were.
    builder.link_rel(Some("noopener noreferrer"));
    builder.set_tag_attribute_value("a", "target", "_blank");
    builder.strip_comments(true);
    builder
});

/// The HTML with nothing left that runs, loads, or reaches out of the frame that it is shown in.
#[must_use]
pub fn clean(html: &str) -> String {
    CLEANER.clean(html).to_string()
}
