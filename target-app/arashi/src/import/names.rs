//! Names of folders.

use mail_parser::decoders::base64::base64_decode;

use crate::parse::one_line;

/// The folder of mail without a folder of its own.
pub(super) const INBOX: &str = "inbox";
const MAX_CHARS: usize = 100;

/// A folder's name for display: one line, not empty, not too long.
pub(super) fn folder(stated: &str) -> String {
    let name = one_line(stated, MAX_CHARS);
    if name.is_empty() || name.eq_ignore_ascii_case(INBOX) { INBOX.to_owned() } else { name }
}

/// The name of a folder inside of another.
pub(super) fn below(above: &str, name: &str) -> String {
    if above.is_empty() { folder(name) } else { folder(&format!("{above}/{name}")) }
}

/// `.Lists.Rust` is `Rust` in `Lists`; other than ASCII characters are in IMAP's own UTF-7 (RFC 3501, section 5.1.3).
pub(super) fn maildir_folder(name: &str) -> String {
    let levels = name.trim_matches('.').split('.');
    folder(&levels.map(|level| utf7(level).unwrap_or_else(|| level.to_owned())).collect::<Vec<_>>().join("/"))
}

/// Decodes that encoding; `None` if the name is not valid in it.
fn utf7(name: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = name;
    while let Some((plain, coded)) = rest.split_once('&') {
        out.push_str(plain);
        let (coded, after) = coded.split_once('-')?;
        rest = after;
        if coded.is_empty() {
            out.push('&');
            continue;
        }
        // Base64 of UTF-16 with another last letter and without padding.
        let padded = coded.replace(',', "/") + &"=".repeat((4 - coded.len() % 4) % 4);
        let bytes = base64_decode(padded.as_bytes())?;
        let units = bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
        out.push_str(&String::from_utf16(&units.collect::<Vec<_>>()).ok()?);
    }
    out.push_str(rest);
    Some(out)
}
