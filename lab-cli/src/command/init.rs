//! `lab init`: sends a few requests to a service of one's own, and writes an experiment file for it.

mod file;
mod probe;

use std::{
    fs::OpenOptions,
    io::Write as _,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use experiment::{
    Changes,
    plan::{CommandWords, OwnService, PORT},
    schema,
};

use self::{file::FoundService, probe::ServiceProbe};
use super::{
    destination::destination,
    input::{header, read_text},
    stdout::print,
};
use crate::{
    args,
    exit::{CommandResult, Failure, complain},
    run::{Cpus, HttpAnswer, RunningService, Scratch, StopSignal, cache_folder, kept_connections, service_log},
    screens::restore,
    store::write_schema_beside,
};

/// Paths of health checks, in the order in which they are tried, and one that nobody has: an answer that is that of any path is no check.
const READY: [&str; 5] = ["/health", "/healthz", "/ready", "/readyz", "/ping"];
const NOWHERE: &str = "/does-every-path-answer-this";
/// The number of linked pages that are requested at most, the first page apart.
const MOST_LINKS: usize = 4;
/// The longest wait for a page.
const PATIENCE: Duration = Duration::from_secs(10);

pub fn init(args: &args::InitArgs) -> CommandResult {
    let (own, path) = service(args)?;
    let wanted = wanted(&path, &args.paths)?;
    let headers = args.headers.iter().map(|line| header(line)).collect::<Result<Vec<_>, _>>()?;
    let name = name_of(&own);
    let out = args.out.clone().unwrap_or_else(|| format!("{name}.yaml").into());
    let to_stdout = out == Path::new("-");
    if !to_stdout && out.exists() {
        return Err(Failure::usage(format!("{} is there already: name another file with -o", out.display())));
    }
    // Ctrl-C reaches the service through its guard.
    let _stop = StopSignal::listen(restore).map_err(Failure::because)?;
    let cpus = Cpus::choose();
    cpus.pin_generator();
    let scratch = Scratch::new(&cache_folder().join("init")).map_err(Failure::because)?;
    let running = RunningService::start(&own, cpus.target, &service_log(scratch.path())).map_err(Failure::because)?;
    let probe = ServiceProbe { door: &running.door, headers: &headers, patience: PATIENCE };
    let found = look(&probe, &path, &wanted, name)?;
    drop(running);
    if let Some(caution) = &found.caution {
        complain(caution);
    }
    let text = file::text(&found, &own);
    // A file that does not run as it stands is not written.
    read_text(&text, "the new file", &Changes::default())?;
    if to_stdout {
        return print(text.as_bytes());
    }
    let written = OpenOptions::new().write(true).create_new(true).open(&out);
    let written = written.and_then(|mut file| file.write_all((schema::modeline() + &text).as_bytes()));
    written.map_err(Failure::at(&out))?;
    let beside = write_schema_beside(&out).map_err(Failure::because)?;
    let (out, beside) = (out.display(), beside.display());
    let said = format!(
        "{}wrote {out}: lab check {out}, then lab run {out}\nwrote {beside}: editors with a YAML language server check the file \
         and complete its keys\n",
        found.in_words()
    );
    print(said.as_bytes())
}

/// The service, and the path to request.
fn service(args: &args::InitArgs) -> Result<(OwnService, String), Failure> {
    let of = |url: Option<String>, command: Option<CommandWords>| {
        let own = OwnService { url, command, ready: "/".to_owned(), ..OwnService::default() };
        reached(own, &args.transport)
    };
    let at = |url: &str| -> Result<(String, String), Failure> {
        let (parsed, target) = destination(url, &args.allow_host)?;
        Ok((target.url, parsed[url::Position::BeforePath..url::Position::AfterQuery].to_owned()))
    };
    if args.service.starts_with("http://") || args.service.starts_with("https://") {
        let (url, path) = at(&args.service)?;
        return Ok((of(Some(url), None)?, path));
    }
    if is_address(&args.service) {
        return Err(Failure::usage(format!(
            "write http://{0}, if {0} is where your service listens; beside a command that starts it, that is --url http://{0}",
            args.service
        )));
    }
    let words = shlex::split(&args.service).filter(|words| !words.is_empty());
    let words = words.ok_or_else(|| Failure::usage(format!("{:?} is neither a URL nor a command", args.service)))?;
    let command = CommandWords(words);
    let (url, path) = match &args.url {
        // The lab chooses the port: what is left of the URL is the path.
        Some(url) if url.contains(PORT) => {
            let (with_a_port, path) = at(&url.replace(PORT, "1"))?;
            if !["http://127.0.0.1:1", "http://localhost:1"].contains(&with_a_port.as_str()) {
                return Err(Failure::usage(format!(
                    "--url {url}: the lab asks on 127.0.0.1 for what it gives a port: write http://127.0.0.1:{PORT}{path}"
                )));
            }
            (None, path)
        }
        Some(url) => at(url).map(|(url, path)| (Some(url), path))?,
        None => (None, "/".to_owned()),
    };
    if url.is_none() && !command.has_port() {
        let why = format!(
            "it is not said where {} listens: write {PORT} where its port goes, or --url http://127.0.0.1:8080 if that is fixed",
            command.program()
        );
        return Err(Failure::usage(why));
    }
    Ok((of(url, Some(command))?, path))
}

/// The service, spoken to as was said.
///
/// # Errors
/// Certificates of a service that has none, or a file without any.
pub(super) fn reached(own: OwnService, by: &args::ServiceTransport) -> Result<OwnService, Failure> {
    let args::ServiceTransport { insecure, cacert, http2 } = by.clone();
    let is_secure = own.url.as_ref().is_some_and(|url| url.starts_with("https:"));
    let flags = [("-k", insecure), ("--cacert", cacert.is_some())];
    if let Some((flag, _)) = flags.iter().find(|(_, given)| *given && !is_secure) {
        let message = format!("{flag} is about certificates, and {} has none: write https://", own.shown());
        return Err(Failure::usage(message));
    }
    // The file that is written may be run from another folder.
    let whole = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    let own = OwnService { insecure, cacert: cacert.map(whole), http2, ..own };
    own.transport().map_err(|problem| Failure::usage(format!("--cacert {problem}")))?;
    Ok(own)
}

/// Tells an address from a command: host and port, and perhaps a path: `127.0.0.1:8080/items`.
fn is_address(service: &str) -> bool {
    let (host, rest) = service.split_once(':').unwrap_or_default();
    let port = rest.split(['/', '?']).next().unwrap_or_default();
    let is_host = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
    let plain = is_host && port.parse::<u16>().is_ok() && !service.contains(char::is_whitespace);
    plain || service.parse::<SocketAddr>().is_ok()
}

/// The pages that were named: by the URL's path, if it has one, and by `--path`. None: they are looked for.
fn wanted(path: &str, paths: &[String]) -> Result<Vec<String>, Failure> {
    let is_path = |path: &&String| path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic());
    if let Some(wrong) = paths.iter().find(|path| !is_path(path)) {
        return Err(Failure::usage(format!("--path {wrong}: write the path of a page, as in its URL: --path /items")));
    }
    let of_url = (path != "/" && !paths.is_empty()).then(|| path.to_owned());
    let mut wanted: Vec<String> = Vec::new();
    for path in of_url.into_iter().chain(paths.iter().cloned()) {
        if !wanted.contains(&path) {
            wanted.push(path);
        }
    }
    Ok(wanted)
}

/// The same for what a person writes: a URL, or a command.
pub(super) fn name_for(service: &str) -> String {
    let url = service.contains("://").then(|| service.trim_end_matches('/').to_owned());
    let command = if url.is_none() { shlex::split(service).map(CommandWords) } else { None };
    name_of(&OwnService { url, command, ..OwnService::default() })
}

/// A name of letters, digits and hyphens, from the service's program or host.
fn name_of(own: &OwnService) -> String {
    let words = own.command.as_ref().map(|command| &command.0[..]).unwrap_or_default();
    // Of `python3 server.py` the script is the better name.
    let script = words.iter().skip(1).find(|word| !word.starts_with('-') && word.contains('.') && !word.contains('{'));
    let shown = script.map_or_else(|| own.shown(), String::as_str);
    let shown = shown.rsplit('/').next().unwrap_or(shown);
    let name: String = shown.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let name = name.trim_matches('-').to_owned();
    if name.is_empty() { "my-service".to_owned() } else { name.chars().take(40).collect() }
}

/// Requests pages, and measures how fast they are: those that are `wanted`, or else the first one (`path`) and what it links to.
fn look(probe: &ServiceProbe<'_>, path: &str, wanted: &[String], name: String) -> Result<FoundService, Failure> {
    let ready = || {
        let nowhere = probe.get(NOWHERE).map_or_else(|_| String::new(), |got| got.text);
        let checks = |path: &&str| probe.get(path).is_ok_and(|got| is_good(got.status) && got.text != nowhere);
        READY.into_iter().find(checks)
    };
    let (paths, ready) = if wanted.is_empty() {
        linked(probe, path, ready)?
    } else {
        for path in wanted {
            let got = answer(probe, path)?;
            if !is_good(got.status) {
                return Err(no_page(probe, path, &got));
            }
        }
        (wanted.to_vec(), ready())
    };
    let speed = probe.speed(&paths).map_err(Failure::because)?;
    let headers = probe.headers.to_vec();
    let caution = kept_connections(probe.door, &paths[0], probe.headers).map(|slower| slower.in_words());
    Ok(FoundService { name, ready: ready.unwrap_or(&paths[0]).to_owned(), paths, headers, speed, caution })
}

fn is_good(status: u16) -> bool {
    (200..300).contains(&status)
}

fn answer(probe: &ServiceProbe<'_>, path: &str) -> Result<HttpAnswer, Failure> {
    probe.get(path).map_err(|error| Failure::because(format!("{}{path}: {error}", probe.door.url)))
}

/// The first page and what it links to, as far as there are any, and the path of a health check.
fn linked(
    probe: &ServiceProbe<'_>,
    path: &str,
    ready: impl Fn() -> Option<&'static str>,
) -> Result<(Vec<String>, Option<&'static str>), Failure> {
    let first = answer(probe, path)?;
    // Only a first page that nobody named may be missing.
    if path != "/" && !is_good(first.status) {
        return Err(no_page(probe, path, &first));
    }
    let mut paths = Vec::new();
    if is_good(first.status) {
        paths.push(path.to_owned());
    }
    for link in probe::links(&first.text).into_iter().filter(|link| link != path) {
        if paths.len() > MOST_LINKS {
            break;
        }
        if probe.get(&link).is_ok_and(|got| is_good(got.status)) {
            paths.push(link);
        }
    }
    let ready = ready();
    if paths.is_empty() {
        // The health check stands in for a missing first page.
        paths.extend(ready.map(str::to_owned));
    }
    if paths.is_empty() { Err(no_page(probe, path, &first)) } else { Ok((paths, ready)) }
}

/// There is nothing to ask for.
fn no_page(probe: &ServiceProbe<'_>, path: &str, got: &HttpAnswer) -> Failure {
    let missing = match got.status {
        401 | 403 => "; if it wants a header, give that: -H 'Authorization: Bearer …'",
        _ if got.text.contains("HTTPS") => "; if it speaks HTTPS there, write https://",
        _ => "",
    };
    Failure::because(format!(
        "{}{path} answers {}: name pages that it serves (--path /items --path /search){missing}",
        probe.door.url, got.status
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_the_script_the_program_or_the_host() {
        let of = |url: Option<&str>, words: &[&str]| {
            let command =
                (!words.is_empty()).then(|| CommandWords(words.iter().map(|&word| word.to_owned()).collect()));
            let url = url.map(str::to_owned);
            name_of(&OwnService { url, command, ..OwnService::default() })
        };
        assert_eq!(of(None, &["python3", "-u", "apps/shop.py", "--port", "{port}"]), "shop-py");
        assert_eq!(of(None, &["./my-service", "{port}"]), "my-service");
        assert_eq!(of(Some("http://127.0.0.1:8080"), &[]), "127-0-0-1-8080");
        assert_eq!(["http://127.0.0.1:8080/", "python3 shop.py {port}"].map(name_for), ["127-0-0-1-8080", "shop-py"]);
    }

    #[test]
    fn an_address_is_no_command() {
        for address in ["127.0.0.1:9/items", "localhost:8080", "127.0.0.1:80", "[::1]:80", "shop.local:8080/a?b=1"] {
            assert!(is_address(address), "{address}");
        }
        for command in ["./serve --at 127.0.0.1:80", "./serve", "serve:80x", "./a:80"] {
            assert!(!is_address(command), "{command}");
        }
    }

    #[test]
    fn pages_are_those_that_were_named_once_each() {
        let named = |path, paths: &[&str]| wanted(path, &paths.iter().map(|&path| path.to_owned()).collect::<Vec<_>>());
        assert_eq!(named("/", &[]).ok(), Some(vec![]));
        assert_eq!(named("/a", &[]).ok(), Some(vec![]), "it is looked at for links");
        let both = ["/a", "/b"].map(str::to_owned).to_vec();
        assert_eq!((named("/a", &["/b", "/a"]).ok(), named("/", &["/a", "/b"]).ok()), (Some(both.clone()), Some(both)));
        for wrong in ["items", "/a b", ""] {
            assert!(
                matches!(named("/", &[wrong]), Err(Failure::Usage(why)) if why.contains("--path /items")),
                "{wrong}"
            );
        }
    }
}
