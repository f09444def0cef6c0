//! `users.paths`: several requests with their weights, from a list, or from the recording of a browser or a web server.

use std::{collections::BTreeMap, path::Path};

use analysis::text::suggestion;
use schemars::json_schema;
use serde_json::Value as Json;
use workloads::{persona::Method, plan::UrlRequest, url::MOST_REQUESTS};

use super::{
    fields::{Fields, join},
    keys::{Table, by, number, shapes, table, text},
    named_file,
    problem::Problems,
    raw::{Node, Value, parse},
};

/// The number of request types in tables at most: further ones of a recording are `other`.
const MOST_TYPES: usize = 24;

table! {
    /// One of several requests.
    pub(super) struct RequestKeys as "Request" {
        name: Option<String> = text().otherwise("method and path").example("list"), "The request type in tables; several requests may share one";
        path: Option<String> = text().wanted("/items"), "Path and query";
        method: Option<String> = text().otherwise("GET").example("POST"), "`GET`, `POST`, `PUT`, `PATCH`, `DELETE`, `HEAD` or `OPTIONS`";
        weight: f64 = number(0.000_001..=1e9).or(1.0), "Relative frequency";
        body: Option<String> = text().example("'{\"item\": 1}'"), "The body; form-encoded, unless a header says otherwise";
        headers: Vec<(String, String)> = by::<BTreeMap<String, String>, _>(headers).example("{Accept: application/json}"), "Header lines";
    }
}

shapes! {
    PathsKey as "Paths" = |generator| json_schema!({"anyOf": [
        {"type": "string"}, {"type": "array", "items": generator.subschema_for::<RequestKeys>()},
    ]});
}

/// Reads the key: a list, or the path of a file.
pub(super) fn paths(fields: &Fields<'_>, key: &str) -> Vec<UrlRequest> {
    let Some(node) = fields.node(key) else { return Vec::new() };
    let found = match &node.value {
        Value::List(nodes) => written(nodes, &fields.path(key), fields.problems()),
        Value::Text(file) => match from_file(&fields.file(key).unwrap_or_else(|| file.into())) {
            Ok(found) => found,
            Err(message) => {
                let hint = "a list of requests (.yaml), a HAR file, or an access log (common or combined format)";
                fields.problem(key, message, hint);
                return Vec::new();
            }
        },
        other => {
            fields.problem(
                key,
                format!("unexpected {}", other.shown()),
                "write [{path: /items, weight: 8}, {path: /buy}], or a file",
            );
            return Vec::new();
        }
    };
    let is_empty =
        matches!(&node.value, Value::List(nodes) if nodes.is_empty()) || matches!(node.value, Value::Text(_));
    match found.len() {
        0 if !is_empty => {}
        0 => fields.problem(key, "there is no request in it", "for example [{path: /items}]"),
        1..=MOST_REQUESTS => {}
        many => fields.problem(key, format!("{many} requests are too many"), format!("at most {MOST_REQUESTS}")),
    }
    found
}

fn written(nodes: &[Node], path: &str, problems: &Problems) -> Vec<UrlRequest> {
    let one = |(index, node): (usize, &Node)| request(node, &join(path, &index.to_string()), problems);
    nodes.iter().enumerate().filter_map(one).collect()
}

fn request(node: &Node, at: &str, problems: &Problems) -> Option<UrlRequest> {
    let fields = Fields::of_table::<RequestKeys>(node, at, problems)?;
    let RequestKeys { name, path, method, weight, body, headers } = RequestKeys::read(&fields);
    let path = path?;
    if !path.starts_with('/') || path.contains(|c: char| c.is_whitespace() || c.is_control()) {
        fields.problem("path", format!("{path:?} is not a path"), "it begins with / and has no spaces (write %20)");
    }
    let word = method.unwrap_or_else(|| "GET".to_owned());
    let method = Method::of(&word).map_or_else(String::new, |method| method.name().to_owned());
    if method.is_empty() {
        let known = Method::ALL.map(Method::name);
        fields.problem("method", format!("users do not know {word:?}"), suggestion(&word.to_ascii_uppercase(), &known));
    }
    let name = name.unwrap_or_else(|| type_of(&method, &path));
    Some(UrlRequest { name, weight, method, path, headers, body })
}

/// Reads header lines, `{Accept: application/json}`.
pub(super) fn headers(fields: &Fields<'_>, key: &str) -> Vec<(String, String)> {
    let Some(node) = fields.node(key) else { return Vec::new() };
    let Value::Table(entries) = &node.value else {
        fields.problem(key, format!("unexpected {}", node.value.shown()), "write {Accept: application/json}");
        return Vec::new();
    };
    let mut lines = Vec::new();
    for entry in entries {
        let text = match &entry.node.value {
            Value::Text(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Flag(flag) => flag.to_string(),
            other => {
                let path = join(&fields.path(key), &entry.key);
                fields.problems().add(
                    &entry.node.place,
                    &path,
                    format!("unexpected {}", other.shown()),
                    "a text in one line",
                );
                continue;
            }
        };
        lines.push((entry.key.clone(), text));
    }
    lines
}

/// Reads a file with requests: a list (YAML, or a URL or path a line), a HAR file of a browser, or an access log.
///
/// # Errors
/// In words, with the path: what cannot be read, or is none of these.
pub fn from_file(path: &Path) -> Result<Vec<UrlRequest>, String> {
    let text = named_file::text(path)?;
    let named = |problem: String| format!("{}: {problem}", path.display());
    if text.trim_start().starts_with('{')
        && let Ok(har) = serde_json::from_str::<Json>(&text)
        && let Some(entries) = har.pointer("/log/entries").and_then(Json::as_array)
    {
        return from_har(entries).map_err(named);
    }
    let logged: Vec<_> = text.lines().filter_map(logged).collect();
    if !logged.is_empty() {
        return Ok(merged(logged));
    }
    if let Some(plain) = plain(&text) {
        return plain.map_err(named);
    }
    let root = parse(&text).map_err(|problem| named(problem.to_string()))?;
    let Value::List(list) = &root.get("requests").unwrap_or(&root).value else {
        // The message does not quote the file: the path may name any file.
        return Err(named("there are no requests in it".to_owned()));
    };
    let problems = Problems::default();
    let found = written(list, "requests", &problems);
    match problems.into_sorted().first() {
        Some(problem) => Err(named(problem.to_string())),
        None => Ok(found),
    }
}

/// Reads a plain list: in each line a URL or a path, with a method before it where that is not GET, and with a weight behind it
/// where that is not 1. `None`: the text is something else.
fn plain(text: &str) -> Option<Result<Vec<UrlRequest>, String>> {
    let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
    let lines: Vec<_> = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).collect();
    let is_place = |word: &str| word.starts_with('/') || word.starts_with("http://") || word.starts_with("https://");
    let (_, first) = lines.first()?;
    if !first.split_whitespace().take(2).any(is_place) {
        return None;
    }
    let all = lines.into_iter().map(|(number, line)| {
        listed(line).ok_or_else(|| format!("line {number} is no `[METHOD] URL [WEIGHT]`, for example: POST /buy 2"))
    });
    Some(all.collect())
}

fn listed(line: &str) -> Option<UrlRequest> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (method, rest) = match Method::of(words[0]) {
        Some(method) => (method, &words[1..]),
        None => (Method::Get, &words[..]),
    };
    let (place, weight) = match rest {
        [place] => (*place, 1.0),
        [place, weight] => (*place, weight.parse().ok().filter(|weight| (1e-6..=1e9).contains(weight))?),
        _ => return None,
    };
    let path = match place.split_once("://") {
        Some(("http" | "https", rest)) => rest.find(['/', '?']).map_or("/", |at| &rest[at..]),
        Some(_) => return None,
        None => place,
    };
    let path = if path.starts_with('?') { format!("/{path}") } else { path.to_owned() };
    let (name, method) = (type_of(method.name(), &path), method.name().to_owned());
    let sound = path.starts_with('/');
    sound.then(|| UrlRequest { name, weight, method, path, headers: Vec::new(), body: None })
}

/// Reads the recording of a browser: equal requests become one, with their number as its weight. Pages of other hosts than that of
/// the first are left out, and so are methods that users do not know, cookies, and the browser's own header lines.
fn from_har(entries: &[Json]) -> Result<Vec<UrlRequest>, String> {
    let mut host = None;
    let mut found = Vec::new();
    for entry in entries {
        let text = |pointer: &str| entry.pointer(pointer).and_then(Json::as_str);
        let (Some(method), Some(url)) = (text("/request/method"), text("/request/url")) else { continue };
        let (Some(method), Ok(url)) = (Method::of(method), url::Url::parse(url)) else { continue };
        let this = (url.host_str().map(str::to_owned), url.port_or_known_default());
        if *host.get_or_insert_with(|| this.clone()) != this {
            continue;
        }
        let path = url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
        let body = text("/request/postData/text").map(str::to_owned);
        let kind = text("/request/postData/mimeType").filter(|_| body.is_some());
        let headers = kind.map(|kind| ("Content-Type".to_owned(), kind.to_owned())).into_iter().collect();
        let (name, method) = (type_of(method.name(), &path), method.name().to_owned());
        found.push(UrlRequest { name, weight: 1.0, method, path, headers, body });
    }
    if found.is_empty() { Err("this HAR has no request that users could send".to_owned()) } else { Ok(merged(found)) }
}

/// The request of a line in the common or combined format: `… "GET /items?page=2 HTTP/1.1" 200 512`. Lines of methods with a
/// body are skipped, since the log does not have the body.
fn logged(line: &str) -> Option<UrlRequest> {
    let request = line.split('"').nth(1)?;
    let mut words = request.split(' ');
    let (method, path, version) = (words.next()?, words.next()?, words.next()?);
    let answered = line.split('"').nth(2)?.split_whitespace().next()?.parse::<u16>().is_ok();
    let fits = method == "GET" && path.starts_with('/') && version.starts_with("HTTP/") && answered;
    let name = type_of(method, path);
    fits.then(|| UrlRequest {
        name,
        weight: 1.0,
        method: method.to_owned(),
        path: path.to_owned(),
        headers: Vec::new(),
        body: None,
    })
}

/// Merges equal requests, the most frequent first and no more than users can have; rare types become `other`.
fn merged(all: Vec<UrlRequest>) -> Vec<UrlRequest> {
    let mut found: Vec<UrlRequest> = Vec::new();
    let mut places = BTreeMap::new();
    for request in all {
        let key = (request.method.clone(), request.path.clone(), request.body.clone());
        let at = *places.entry(key).or_insert(found.len());
        match found.get_mut(at) {
            Some(known) => known.weight += 1.0,
            None => found.push(request),
        }
    }
    found.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.path.cmp(&b.path)));
    found.truncate(MOST_REQUESTS);
    let mut types: Vec<String> = Vec::new();
    for request in &mut found {
        if types.contains(&request.name) {
            continue;
        }
        if types.len() < MOST_TYPES {
            types.push(request.name.clone());
        } else {
            "other".clone_into(&mut request.name);
        }
    }
    found
}

/// `GET /items/*`: the path without its query, with a star for each part that looks like a number or a key.
fn type_of(method: &str, path: &str) -> String {
    let path = path.split(['?', '#']).next().unwrap_or(path);
    let key = |part: &str| part.bytes().any(|byte| byte.is_ascii_digit()) || part.len() > 32;
    let parts: Vec<&str> = path.split('/').map(|part| if key(part) { "*" } else { part }).collect();
    format!("{method} {}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::{Changes, plan::Model, read};

    fn file(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(text.as_bytes()).expect("written");
        file
    }

    fn shown(found: &[UrlRequest]) -> Vec<String> {
        found.iter().map(|r| format!("{} {} {} {}", r.name, r.method, r.path, r.weight)).collect()
    }

    #[test]
    fn a_list_in_the_experiment_and_one_in_a_file_are_the_same() {
        let list =
            "[{name: list, path: /items, weight: 8}, {method: post, path: /buy/7, body: a=1, headers: {X-A: 1}}]";
        let of = |paths: &str| {
            let text = format!(
                "name: x\ntarget: {{url: \"http://127.0.0.1:1\"}}\nobjective: {{percentile: 90, response_time: 1s}}\n\
                 users: {{model: url, paths: {paths}, phases: [{{requests: 5/s, for: 3s}}]}}\narms: [none]\n"
            );
            match read(&text, &Changes::default()).map(|experiment| experiment.users.model) {
                Ok(Model::Url { requests, .. }) => Ok(requests),
                Ok(other) => Err(format!("{other:?}")),
                Err(problems) => Err(problems[0].to_string()),
            }
        };
        let inline = of(list).expect("it is good");
        assert_eq!(shown(&inline), ["list GET /items 8", "POST /buy/* POST /buy/7 1"]);
        assert_eq!(inline[1].headers, [("X-A".to_owned(), "1".to_owned())]);
        let kept = file(&format!("requests: {list}\n"));
        assert_eq!(of(&kept.path().display().to_string()).expect("it is good"), inline);
        for (paths, place, wanted) in [
            ("[{path: items}]", "users.paths.0.path", "begins with /"),
            ("[{path: /, method: TRACE}]", "users.paths.0.method", "GET"),
            ("[{path: /, mehtod: GET}]", "users.paths.0.mehtod", "did you mean method"),
            ("[]", "users.paths", "no request"),
            ("/nowhere.yaml", "users.paths", "there is no"),
        ] {
            let told = of(paths).expect_err(paths);
            assert!(told.contains(place) && told.contains(wanted), "{paths}: {told}");
        }
    }

    #[test]
    fn a_plain_list_has_a_request_a_line() {
        let list = file("# a comment\n/items 9\n\nhttp://shop:80/buy?x=1\nPOST http://shop\nhttps://shop?q=2 0.5\n");
        let found = from_file(list.path()).expect("a list");
        let wanted = ["GET /items GET /items 9", "GET /buy GET /buy?x=1 1", "POST / POST / 1", "GET / GET /?q=2 0.5"];
        assert_eq!(shown(&found), wanted);
        for (bad, line) in [("/a\n/b x\n", "line 2"), ("/a\nfoo\n", "line 2"), ("/a 1 2\n", "line 1")] {
            let told = from_file(file(bad).path()).expect_err(bad);
            assert!(told.contains(line) && told.contains("POST /buy 2"), "{told}");
        }
    }

    #[test]
    fn a_log_and_a_har_become_requests_by_their_number() {
        let line =
            |request: &str| format!("127.0.0.1 - - [10/Oct/2025:13:55:36 +0000] \"{request}\" 200 512 \"-\" \"x\"\n");
        let lines =
            ["GET /a?x=1 HTTP/1.1", "GET /items/7 HTTP/1.1", "GET /a?x=1 HTTP/1.1", "POST /buy HTTP/1.1"].map(line);
        let log = file(&lines.concat());
        let found = from_file(log.path()).expect("a log");
        assert_eq!(shown(&found), ["GET /a GET /a?x=1 2", "GET /items/* GET /items/7 1"]);
        let har = file(
            r#"{"log": {"entries": [
                {"request": {"method": "GET", "url": "http://shop:8080/a"}},
                {"request": {"method": "GET", "url": "http://elsewhere/b"}},
                {"request": {"method": "POST", "url": "http://shop:8080/buy", "postData": {"mimeType": "application/json", "text": "{}"}}}
            ]}}"#,
        );
        let found = from_file(har.path()).expect("a HAR");
        assert_eq!(shown(&found), ["GET /a GET /a 1", "POST /buy POST /buy 1"]);
        assert_eq!((found[1].body.as_deref(), found[1].headers.len()), (Some("{}"), 1));
        let other = file("root:x:0:0\n");
        let told = from_file(other.path()).expect_err("no requests");
        assert!(!told.contains("root:x"), "{told}");
    }
}
