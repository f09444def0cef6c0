//! The requests of a load: the URL's path or a list, with headers, a body and a name.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use experiment::FileRequests;
use trace_import::web::place_of;
use url::Url;
use workloads::plan::UrlRequest;

use crate::{
    args::LoadArgs,
    command::input::{contents, header},
    exit::Failure,
};

/// The requests of a load.
pub(super) fn requests(args: &LoadArgs) -> Result<FileRequests, Failure> {
    let asked = &args.request;
    let headers = headers(args)?;
    let mut found = match &asked.urls {
        Some(file) => experiment::read_requests(file, &hosts(&args.url, &headers))
            .map_err(|problem| Failure::usage(format!("--urls {problem}")))?,
        None => FileRequests { requests: vec![the_one(args)?], left_out: None },
    };
    for request in &mut found.requests {
        let named = |name: &str| headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
        // What was typed counts more than what a file says.
        request.headers.retain(|(name, _)| !named(name));
        request.headers.extend(headers.iter().cloned());
    }
    Ok(found)
}

/// The request that is typed.
fn the_one(args: &LoadArgs) -> Result<UrlRequest, Failure> {
    let asked = &args.request;
    Ok(UrlRequest {
        name: "request".to_owned(),
        weight: 1.0,
        method: match (&asked.method, &asked.body) {
            (Some(method), _) => method.to_ascii_uppercase(),
            (None, Some(_)) => "POST".to_owned(),
            (None, None) => "GET".to_owned(),
        },
        path: path(&args.url),
        headers: Vec::new(),
        body: asked.body.as_deref().map(|body| typed("-b", body)).transpose()?,
    })
}

/// Hosts that a recording may name for the service: that of a Host header, else that of the URL.
fn hosts(url: &str, headers: &[(String, String)]) -> Vec<String> {
    let header = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, host)| host.clone());
    let of_url = Url::parse(url).ok().as_ref().and_then(place_of).map(|(host, _)| host);
    header.into_iter().chain(of_url).collect()
}

/// Path and query as they were typed: braces have no place in URLs, and would be encoded.
pub(in crate::command) fn path(url: &str) -> String {
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = after_scheme.find(['/', '?', '#']).map_or("", |at| &after_scheme[at..]);
    let path = path.split('#').next().unwrap_or_default();
    if path.starts_with('/') { path.to_owned() } else { format!("/{path}") }
}

fn headers(args: &LoadArgs) -> Result<Vec<(String, String)>, Failure> {
    let asked = &args.request;
    let mut headers = asked.headers.iter().map(|line| header(line)).collect::<Result<Vec<_>, _>>()?;
    let authorization = match (&asked.user, &asked.bearer) {
        (Some(user), _) => {
            let user = secret("--user", user)?;
            if !user.contains(':') {
                return Err(Failure::usage("--user: write NAME:PASSWORD, or @FILE with that in its first line"));
            }
            Some(("--user", format!("Basic {}", STANDARD.encode(user))))
        }
        (None, Some(token)) => Some(("--bearer", format!("Bearer {}", secret("--bearer", token)?))),
        (None, None) => None,
    };
    if let Some((flag, value)) = authorization {
        if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
            return Err(Failure::usage(format!("{flag} and -H Authorization say the same: leave one of them out")));
        }
        headers.push(("Authorization".to_owned(), value));
    }
    Ok(headers)
}

/// A text, or the text of a file.
fn typed(flag: &str, text: &str) -> Result<String, Failure> {
    let Some(path) = text.strip_prefix('@') else { return Ok(text.to_owned()) };
    let bytes = contents(flag, path.as_ref())?;
    let no_text = |_| Failure::usage(format!("{flag} @{path}: not UTF-8 text; only text can be sent"));
    String::from_utf8(bytes).map_err(no_text)
}

/// A text, or the first line of a file: what is typed ends up in shell histories.
fn secret(flag: &str, text: &str) -> Result<String, Failure> {
    let whole = typed(flag, text)?;
    let first = if text.starts_with('@') { whole.lines().next().unwrap_or_default().trim() } else { &whole };
    if first.is_empty() {
        return Err(Failure::usage(format!("{flag}: it is empty")));
    }
    Ok(first.to_owned())
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn a_path_is_sent_as_it_was_typed() {
        for (url, wanted) in [
            ("http://127.0.0.1:1", "/"),
            ("http://127.0.0.1:1?a=b", "/?a=b"),
            ("http://127.0.0.1:1/a/{{n}}?x={y}#here", "/a/{{n}}?x={y}"),
        ] {
            assert_eq!(path(url), wanted, "{url}");
        }
    }
}
