//! `lab init`: sends a few requests to a service of one's own, and writes an experiment file for it.

mod file;
mod probe;

use std::{fs::OpenOptions, io::Write as _, path::Path, time::Duration};

use experiment::{
    Changes,
    plan::{CommandWords, OwnService, PORT},
    schema,
};

use self::{file::FoundService, probe::ServiceProbe};
use super::{destination::destination, load::header, print, read_text};
use crate::{
    args,
    exit::{CommandResult, Failure},
    run::{Cpus, RunningService, Scratch, StopSignal, cache_folder, service_log},
    store::write_schema_beside,
    tui::restore,
};

/// Paths of health checks, in the order in which they are tried.
const READY: [&str; 5] = ["/health", "/healthz", "/ready", "/readyz", "/ping"];
/// The number of linked pages that are requested at most, the first page apart.
const MOST_LINKS: usize = 4;
/// The longest wait for a page.
const PATIENCE: Duration = Duration::from_secs(10);

pub fn init(args: &args::InitArgs) -> CommandResult {
    let (own, path) = service(args)?;
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
    let probe = ServiceProbe { address: running.address, url: &running.url, headers: &headers, patience: PATIENCE };
    let found = look(&probe, &own, &path, name)?;
    drop(running);
    let text = file::text(&found, &own);
    // A file that does not run as it stands is not written.
    read_text(&text, "the new file", &Changes::default())?;
    if to_stdout {
        return print(text.as_bytes());
    }
    let written = OpenOptions::new().write(true).create_new(true).open(&out);
    let written = written.and_then(|mut file| file.write_all((schema::modeline() + &text).as_bytes()));
    written.map_err(|error| Failure::because(format!("{}: {error}", out.display())))?;
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
    let of = |url: Option<String>, command: Option<CommandWords>| OwnService {
        url,
        command,
        ready: "/".to_owned(),
        reset: None,
        concurrency: None,
        pid: None,
    };
    let at = |url: &str| -> Result<(String, String), Failure> {
        let (parsed, target) = destination(url, &args.allow_host)?;
        if parsed.scheme() != "http" {
            return Err(Failure::usage(format!(
                "{url}: the lab's proxy speaks plain HTTP to a service: name its plain HTTP port (http://…)"
            )));
        }
        let path =
            parsed.query().map_or_else(|| parsed.path().to_owned(), |query| format!("{}?{query}", parsed.path()));
        Ok((target.url, path))
    };
    if args.service.starts_with("http://") || args.service.starts_with("https://") {
        let (url, path) = at(&args.service)?;
        return Ok((of(Some(url), None), path));
    }
    if args.service.parse::<std::net::SocketAddr>().is_ok() || args.service.starts_with("localhost:") {
        return Err(Failure::usage(format!("write http://{0}, if {0} is where your service listens", args.service)));
    }
    let words = shlex::split(&args.service).filter(|words| !words.is_empty());
    let words = words.ok_or_else(|| Failure::usage(format!("{:?} is neither a URL nor a command", args.service)))?;
    let command = CommandWords(words);
    let (url, path) = match &args.url {
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
    Ok((of(url, Some(command)), path))
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

/// Requests pages, and measures how fast they are.
fn look(probe: &ServiceProbe<'_>, own: &OwnService, path: &str, name: String) -> Result<FoundService, Failure> {
    let first = probe.get(path).map_err(|error| Failure::because(format!("{}{path}: {error}", probe.url)))?;
    let mut paths = Vec::new();
    if (200..300).contains(&first.status) {
        paths.push(path.to_owned());
    }
    let good = |path: &str| probe.get(path).is_ok_and(|got| (200..300).contains(&got.status));
    for link in probe::links(&first.text).into_iter().filter(|link| link != path) {
        if paths.len() > MOST_LINKS {
            break;
        }
        if good(&link) {
            paths.push(link);
        }
    }
    let ready = READY.into_iter().find(|path| good(path));
    if paths.is_empty() {
        // The health check stands in for a missing first page.
        paths.extend(ready.map(str::to_owned));
    }
    if paths.is_empty() {
        let example = own.command.as_ref().map_or_else(
            || format!("lab init {}/a/page", probe.url),
            |_| "--url http://127.0.0.1:8080/a/page, or start it and lab init http://127.0.0.1:8080/a/page".to_owned(),
        );
        let missing = match first.status {
            401 | 403 => "; if it wants a header, give that: -H 'Authorization: Bearer …'",
            _ if first.text.contains("HTTPS") => "; if it speaks HTTPS there, name its plain HTTP port",
            _ => "",
        };
        let why = format!(
            "{}{path} answers {}, and no page was found: name one that it serves ({example}){missing}",
            probe.url, first.status
        );
        return Err(Failure::because(why));
    }
    let speed = probe.speed(&paths).map_err(Failure::because)?;
    let headers = probe.headers.to_vec();
    Ok(FoundService { name, ready: ready.unwrap_or(&paths[0]).to_owned(), paths, headers, speed })
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
            name_of(&OwnService { url, command, ready: String::new(), reset: None, concurrency: None, pid: None })
        };
        assert_eq!(of(None, &["python3", "-u", "apps/shop.py", "--port", "{port}"]), "shop-py");
        assert_eq!(of(None, &["./my-service", "{port}"]), "my-service");
        assert_eq!(of(Some("http://127.0.0.1:8080"), &[]), "127-0-0-1-8080");
    }
}
