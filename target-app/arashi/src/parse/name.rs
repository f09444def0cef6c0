//! File names chosen by a sender, made safe for a browser and a file system.

use super::header::line;

const MAX_CHARS: usize = 120;

/// A file name: the last component, without characters that have a meaning in a shell, a path or a header.
pub(super) fn file_name(stated: &str) -> Option<String> {
    let last = stated.rsplit(['/', '\\']).find(|part| !part.trim().is_empty())?;
    let safe = |c: char| if matches!(c, '"' | '<' | '>' | '|' | ':' | '*' | '?' | '%' | ';') { '_' } else { c };
    let name: String = line(last, usize::MAX).chars().map(safe).collect();
    let name = name.trim_matches(['.', ' ']);
    (!name.is_empty()).then(|| shorten(name))
}

/// Removes the middle, so that the extension stays.
fn shorten(name: &str) -> String {
    let chars = name.chars().count();
    if chars <= MAX_CHARS {
        return name.to_owned();
    }
    let extension = name.rsplit_once('.').map(|(_, e)| e).filter(|e| e.chars().count() <= 10);
    let end = extension.map_or(String::from("…"), |e| format!("….{e}"));
    let start: String = name.chars().take(MAX_CHARS - end.chars().count()).collect();
    start + &end
}

/// A name for an attachment without one, with an extension so that a desktop can open it.
pub(super) fn unnamed(number: usize, content_type: &str) -> String {
    let extension = match content_type {
        "application/ms-tnef" => return "winmail.dat".to_owned(),
        "application/pgp-signature" => ".asc",
        "application/pdf" => ".pdf",
        "application/pkcs7-signature" | "application/x-pkcs7-signature" => ".p7s",
        "image/gif" => ".gif",
        "image/jpeg" => ".jpg",
        "image/png" => ".png",
        "message/rfc822" => ".eml",
        "text/calendar" => ".ics",
        "text/html" => ".html",
        "message/delivery-status" | "text/plain" | "text/rfc822-headers" => ".txt",
        _ => "",
    };
    format!("attachment-{number}{extension}")
}

/// `type/subtype` in lower case, or the type of arbitrary bytes.
pub(super) fn content_type(kind: &str, subtype: Option<&str>) -> String {
    let is_token = |text: &str| {
        (1..=60).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-+._".contains(&b))
    };
    match subtype {
        Some(subtype) if is_token(kind) && is_token(subtype) => format!("{kind}/{subtype}").to_ascii_lowercase(),
        _ => "application/octet-stream".to_owned(),
    }
}
