//! The page of one message.

use std::borrow::Cow;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Frame, date, list::actions, page, size, subject};
use crate::{
    html,
    store::{EntryId, Folder, Message, Scope},
};

/// The style of HTML mail inside of its frame. The frame may load nothing, so the style is written into the page; the
/// policy of the page allows it by its hash.
const MAIL_STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:12px;overflow-wrap:anywhere}\
                          blockquote{margin-left:0;padding-left:12px;border-left:3px solid #8888}\
                          pre{white-space:pre-wrap}";

/// SHA-256 of [`MAIL_STYLE`] as a source expression of a content security policy.
pub const MAIL_STYLE_HASH: &str = "sha256-fggQFl9QJUrGo5oeTY1TGrBs92b0iBI8XbWmWtoblFY=";

/// A complete message, with its actions.
#[must_use]
pub fn message(frame: &Frame<'_>, folder: &Folder, entry: EntryId, message: &Message, folders: &[Folder]) -> Markup {
    let title = subject(&message.subject);
    let part = |part: i64| frame.link(format!("/attachment?folderid={}&entry={entry}&part={part}", folder.id));
    page(
        frame,
        "message",
        title,
        &html! {
            p class="crumbs" {
                a data-do="list" href=(frame.link(format!("/list?folderid={}", folder.id))) { "← " (folder.name) }
            }
            article data-message=(entry) {
                form data-do="messages" method="post" action="/delete" {
                    (frame.form_fields())
                    input type="hidden" name="folderid" value=(folder.id);
                    input type="hidden" name="message" value=(entry);
                    (actions(folders, Scope::Folder(folder.id)))
                }
                h1 { (title) }
                dl class="head" {
                    dt { "From" } dd { (message.sender) }
                    dt { "To" } dd { (message.recipients) }
                    dt { "Date" } dd { (date(message.date)) }
                }
                @match html_of(message) {
                    Ok(Some(html)) => {
                        @if html::has_images(&html) {
                            p class="count" { "Pictures in this message are not shown: loading them would tell its sender." }
                        }
                        (framed(&html))
                    }
                    found => {
                        @if let Err(problem) = found {
                            p class="count" { "Shown as text, not as it was laid out: " (problem) "." }
                        }
                        pre class="body" { (PreEscaped(html::from_text(&message.text))) }
                    }
                }
                @if !message.attachments.is_empty() {
                    section class="attachments" {
                        h2 { "Attachments" }
                        ul {
                            @for attachment in &message.attachments {
                                li {
                                    a href=(part(attachment.part)) download { (attachment.name) }
                                    span class="count" { (attachment.kind) ", " (size(attachment.size)) }
                                }
                            }
                        }
                    }
                }
                details {
                    summary { "All headers" }
                    pre { (message.headers) }
                }
            }
        },
    )
}

/// Clean HTML, if the message has any, or the reason that it is not shown. HTML cleaned by an older version of the
/// rules is cleaned again.
fn html_of(message: &Message) -> Result<Option<Cow<'_, str>>, Cow<'_, str>> {
    match (message.html.as_deref(), message.html_problem.as_deref()) {
        (Some(stored), _) if message.html_version == html::VERSION => Ok(Some(stored.into())),
        (Some(stored), _) => match html::clean(stored) {
            Ok(clean) => Ok(Some(clean.into())),
            Err(problem) => Err(problem.to_string().into()),
        },
        (None, Some(problem)) => Err(problem.into()),
        (None, None) => Ok(None),
    }
}

/// HTML mail in a frame of its own. Cleaning has made it harmless; this is the second line of defence: in the frame
/// nothing runs, nothing loads, no form is sent, and it has no origin, so that it cannot access the page around it. All
/// that it may do is to open a link outside.
fn framed(clean: &str) -> Markup {
    let inside = html! {
        (DOCTYPE)
        html {
            head {
                meta charset="utf-8";
                meta http-equiv="content-security-policy" content={ "default-src 'none'; style-src '" (MAIL_STYLE_HASH) "'" };
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                style { (PreEscaped(MAIL_STYLE)) }
            }
            body { (PreEscaped(clean)) }
        }
    };
    html! {
        iframe class="body" title="Message" sandbox="allow-popups allow-popups-to-escape-sandbox" srcdoc=(inside.into_string()) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_that_is_not_shown_has_its_reason() {
        let message = |html: Option<&str>, html_version, html_problem: Option<&str>| Message {
            date: 0,
            subject: String::new(),
            sender: String::new(),
            recipients: String::new(),
            headers: String::new(),
            text: String::new(),
            html: html.map(str::to_owned),
            html_version,
            html_problem: html_problem.map(str::to_owned),
            size: 0,
            attachments: Vec::new(),
        };
        let deep = "<div>".repeat(2000);
        assert_eq!(html_of(&message(Some("<p>a"), html::VERSION, None)), Ok(Some("<p>a".into())));
        assert_eq!(html_of(&message(Some("<p>a"), html::VERSION - 1, None)), Ok(Some("<p>a</p>".into())));
        assert_eq!(html_of(&message(None, html::VERSION, None)), Ok(None));
        let told = "HTML nested deeper than 512 elements";
        assert_eq!(html_of(&message(None, html::VERSION, Some(told))), Err(told.into()));
        assert_eq!(html_of(&message(Some(&deep), html::VERSION - 1, None)), Err(told.into()), "by later rules");
    }

    #[test]
    fn the_policy_allows_exactly_our_style() {
        use sha2::{Digest, Sha256};
        let digest = Sha256::digest(MAIL_STYLE);
        assert_eq!(MAIL_STYLE_HASH.strip_prefix("sha256-").expect("prefix"), base64(&digest));
    }

    /// Base64 for a digest of 32 bytes.
    fn base64(bytes: &[u8]) -> String {
        const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for chunk in bytes.chunks(3) {
            let bits = chunk.iter().chain(&[0, 0]).take(3).fold(0_u32, |bits, b| bits << 8 | u32::from(*b));
            for digit in 0..4 {
                let shown = digit <= chunk.len();
                text.push(if shown { DIGITS[(bits >> (18 - 6 * digit) & 63) as usize] as char } else { '=' });
            }
        }
        text
    }
}
