//! `users.paths`: several requests with their weights, from a list, or from the recording of a browser or a web server.

use std::{
    collections::BTreeMap,
    io::{self, Cursor, Read as _},
    path::Path,
};

use analysis::text::{suggestion, without_os_numbers};
use schemars::json_schema;
use trace_import::{
    Format,
    web::{BYTE_ORDER_MARK, place_of},
};
use traces::pack;
use url::Url;
use workloads::{persona::Method, plan::UrlRequest, url::MOST_REQUESTS};

use super::{
    fields::{Fields, join},
    keys::{Table, by, number, shapes, table, text},
    named_file,
    problem::Problems,
    raw::{Node, Value, parse},
    recorded_requests::{FileRequests, from_har, from_log, of_one_host, request, type_of},
};

table! {
    /// One of several requests. The manifest has digests in place of header values and bodies.
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

/// Reads the key: a list, or the path of a file. `hosts`: what the target is called.
pub(super) fn paths(fields: &Fields<'_>, key: &str, hosts: &[String]) -> FileRequests {
    let Some(node) = fields.node(key) else { return FileRequests::default() };
    let found = match &node.value {
        Value::List(nodes) => {
            let requests = written(nodes, &fields.path(key), fields.problems());
            FileRequests { requests, left_out: None }
        }
        Value::Text(file) => match from_file(&fields.file(key).unwrap_or_else(|| file.into()), hosts) {
            Ok(found) => found,
            Err(message) => {
                let hint = "a list of requests (.yaml), a HAR file, or an access log (common or combined format)";
                fields.problem(key, message, hint);
                return FileRequests::default();
            }
        },
        other => {
            let hint = "write [{path: /items, weight: 8}, {path: /buy}], or a file";
            fields.problem(key, other.unexpected(), hint);
            return FileRequests::default();
        }
    };
    let is_empty =
        matches!(&node.value, Value::List(nodes) if nodes.is_empty()) || matches!(node.value, Value::Text(_));
    match found.requests.len() {
        0 if !is_empty => {}
        0 => fields.problem(key, "there is no request in it", "for example [{path: /items}]"),
        1..=MOST_REQUESTS => {}
        many => fields.problem(key, format!("{many} requests are too many"), format!("at most {MOST_REQUESTS}")),
    }
    found
}

fn written(nodes: &[Node], path: &str, problems: &Problems) -> Vec<UrlRequest> {
    let one = |(index, node): (usize, &Node)| one_request(node, &join(path, &index.to_string()), problems);
    nodes.iter().enumerate().filter_map(one).collect()
}

fn one_request(node: &Node, at: &str, problems: &Problems) -> Option<UrlRequest> {
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
    let mut lines = Vec::new();
    for entry in fields.entries(key, "write {Accept: application/json}") {
        let text = match &entry.node.value {
            Value::Text(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Flag(flag) => flag.to_string(),
            other => {
                let (path, message) = (join(&fields.path(key), &entry.key), other.unexpected());
                fields.problems().add(&entry.node.place, &path, message, "a text in one line");
                continue;
            }
        };
        lines.push((entry.key.clone(), text));
    }
    lines
}

/// Longer files are no lists and no recordings that somebody means to send.
const MOST_BYTES: u64 = 256 << 20;

/// The number of bytes of a file from which its format is detected.
const FIRST: usize = 64 << 10;

/// Reads a file with requests, as it is or packed (gzip, zstd): a list (YAML, or a URL or path a line), a HAR file, or an access
/// log. `hosts`: what the target is called; requests to others are left out.
///
/// # Errors
/// In words, with the path: what cannot be read, or is none of these.
pub fn from_file(path: &Path, hosts: &[String]) -> Result<FileRequests, String> {
    let named = |problem: String| format!("{}: {problem}", path.display());
    let broken = |error: io::Error| named(without_os_numbers(&error.to_string()));
    let (stream, _) = pack::unpack(named_file::open(path)?).map_err(broken)?;
    let mut stream = stream.take(MOST_BYTES + 1);
    let mut first = pack::peek(&mut stream, FIRST).map_err(broken)?;
    if first.starts_with(BYTE_ORDER_MARK) {
        first.drain(..BYTE_ORDER_MARK.len());
    }
    let format = Format::of(&first);
    let mut whole = Cursor::new(first).chain(&mut stream);
    let found = match format {
        Some(Format::Har) => from_har(whole, hosts),
        Some(Format::AccessLog) => from_log(whole),
        _ => {
            let mut bytes = Vec::new();
            whole.read_to_end(&mut bytes).map_err(broken)?;
            String::from_utf8(bytes)
                .map_err(|_| "it is no text in UTF-8: save it as that".to_owned())
                .and_then(|text| listed_in(&text, hosts))
        }
    };
    if stream.limit() == 0 {
        return Err(named(format!("over {} MiB: a part of it has the same requests", MOST_BYTES >> 20)));
    }
    found
        .map(|found| FileRequests { left_out: found.left_out.map(named), ..found })
        .map_err(|problem| format!("{}: {problem}", path.display()))
}

/// Reads a list: a URL or path a line, or YAML.
fn listed_in(text: &str, hosts: &[String]) -> Result<FileRequests, String> {
    if let Some(plain) = plain(text) {
        return plain.map(|all| of_one_host(all, hosts));
    }
    let root = parse(text).map_err(|problem| problem.to_string())?;
    let Value::List(list) = &root.get("requests").unwrap_or(&root).value else {
        // The message does not quote the file: the path may name any file.
        return Err("there are no requests in it".to_owned());
    };
    let problems = Problems::default();
    let requests = written(list, "requests", &problems);
    match problems.into_sorted().first() {
        Some(problem) => Err(problem.to_string()),
        None => Ok(FileRequests { requests, left_out: None }),
    }
}

/// A request, and the host that its line names.
type Hosted = (Option<String>, UrlRequest);

/// Reads a plain list: in each line a URL or a path, with a method before it where that is not GET, and with a weight behind it
/// where that is not 1. `None`: the text is something else.
fn plain(text: &str) -> Option<Result<Vec<Hosted>, String>> {
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

fn listed(line: &str) -> Option<(Option<String>, UrlRequest)> {
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
    let host = Url::parse(place).ok().and_then(|url| place_of(&url)).map(|(host, _)| host);
    let sound = path.starts_with('/');
    sound.then(|| (host, UrlRequest { weight, ..request(method, path, Vec::new(), None) }))
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
        let found = from_file(list.path(), &[]).expect("a list").requests;
        let wanted = ["GET /items GET /items 9", "GET /buy GET /buy?x=1 1", "POST / POST / 1", "GET / GET /?q=2 0.5"];
        assert_eq!(shown(&found), wanted);
        for (bad, line) in [("/a\n/b x\n", "line 2"), ("/a\nfoo\n", "line 2"), ("/a 1 2\n", "line 1")] {
            let told = from_file(file(bad).path(), &[]).expect_err(bad);
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
        let found = from_file(log.path(), &[]).expect("a log").requests;
        assert_eq!(shown(&found), ["GET /a GET /a?x=1 2", "GET /items/* GET /items/7 1"]);
        let har = file(
            r#"{"log": {"entries": [
                {"request": {"method": "GET", "url": "http://shop:8080/a"}},
                {"request": {"method": "GET", "url": "http://elsewhere/b"}},
                {"request": {"method": "POST", "url": "http://shop:8080/buy", "postData": {"mimeType": "application/json", "text": "{}"}}}
            ]}}"#,
        );
        let found = from_file(har.path(), &[]).expect("a HAR").requests;
        assert_eq!(shown(&found), ["GET /a GET /a 1", "POST /buy POST /buy 1"]);
        assert_eq!((found[1].body.as_deref(), found[1].headers.len()), (Some("{}"), 1));
        let other = file("root:x:0:0\n");
        let told = from_file(other.path(), &[]).expect_err("no requests");
        assert!(!told.contains("root:x"), "{told}");
    }
}
