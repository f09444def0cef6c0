//! `target.url` and `target.command`: a service that is not the lab's, by its address, or by the command that starts it.

use std::{
    net::{Ipv4Addr, SocketAddr},
    ops::Not,
    path::PathBuf,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use url::Url;
use workloads::plan::{HttpVersion, TlsOptions};

use super::{
    exported_metrics::ExportedMetrics,
    fields::Fields,
    keys::{Table, by, count, flag, table, table_of},
    named_file,
};

/// The placeholder of the free port in a command.
pub const PORT: &str = "{port}";

table! {
    /// A service of one's own.
    #[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct OwnService as "OwnService" {
        url: #[serde(default, skip_serializing_if = "Option::is_none")] Option<String> = by::<String, _>(base).shared().example("http://127.0.0.1:8080"), "A service of your own that runs already, or where the `command` listens. In place of `app`; see [your service](your-service.md)";
        command: #[serde(default, skip_serializing_if = "Option::is_none")] Option<CommandWords> = by::<String, _>(words).shared().example("\"./my-service --port {port}\""), "A service of your own, started for each arm on the target's processor and ended after it; split into words without a shell. `{port}` (and `PORT` in its environment) is a free port";
        ready: String = by::<String, _>(ready).otherwise("/").shared().example("/health"), "The path that answers, with anything but a 5xx, once the service takes requests";
        reset: #[serde(default, skip_serializing_if = "Option::is_none")] Option<CommandWords> = by::<String, _>(words).shared().example("./restore-database.sh"), "A command to run before each arm, before the service starts";
        concurrency: #[serde(default, skip_serializing_if = "Option::is_none")] Option<u32> = count(1..=65_535).otherwise("the plant's, else 64").shared().example("4"), "How many requests the service works on in parallel, for policies that keep a queue (`codel`): they hold further ones";
        metrics: #[serde(default, skip_serializing_if = "Option::is_none")] Option<ExportedMetrics> = table_of::<ExportedMetrics>().shared().example("{read: {queue: app_queue_depth}}"), "Metrics that the service exports for Prometheus, shown beside what its clients see: in the live view, in reports, and for thresholds as `gauge.service.queue`";
        pid: #[serde(default, skip)] Option<u32> = count(1..=4_194_304).shared().example("4711"), "The process of a service that runs already, for its CPU time and memory; without it, the process that listens at the `url`, if it can be seen";
        cacert: #[serde(default, skip)] Option<PathBuf> = by::<String, _>(file).shared().example("ca.pem"), "A file with certificates of authorities, in place of the system's, that a service at an `https` `url` shows one of (PEM)";
        insecure: #[serde(default, skip_serializing_if = "Not::not")] bool = flag().or(false), "A service at an `https` `url` may show any certificate";
        http2: #[serde(default, skip_serializing_if = "Not::not")] bool = flag().or(false), "The service is spoken to in HTTP/2, without TLS by prior knowledge (h2c); users speak HTTP/1.1 to the lab's proxy before it. Without it: what TLS negotiates, or HTTP/1.1";
    }
}

/// A command, split into words as by a shell, though no shell runs it. The manifest has the name of its program alone, since
/// arguments and folders may be confidential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandWords(pub Vec<String>);

impl CommandWords {
    /// The command with the port filled in.
    pub fn with_port(&self, port: u16) -> Self {
        Self(self.0.iter().map(|word| word.replace(PORT, &port.to_string())).collect())
    }

    /// True if the command has a placeholder for the port.
    pub fn has_port(&self) -> bool {
        self.0.iter().any(|word| word.contains(PORT))
    }

    /// The name of the program, without its folder.
    pub fn program(&self) -> &str {
        let first = self.0.first().map_or("", String::as_str);
        first.rsplit('/').next().unwrap_or(first)
    }
}

impl Serialize for CommandWords {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.program())
    }
}

impl<'de> Deserialize<'de> for CommandWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(vec![String::deserialize(deserializer)?]))
    }
}

impl OwnService {
    /// The name of the service in lines and tables: its program, or its URL.
    pub fn shown(&self) -> &str {
        match (&self.command, &self.url) {
            (Some(command), _) => command.program(),
            (None, Some(url)) => url,
            (None, None) => "the service",
        }
    }

    /// The URL at which it is reached, if its command was given `port`.
    pub fn url_at(&self, port: Option<u16>) -> String {
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, port.unwrap_or_default()));
        self.url.clone().unwrap_or_else(|| format!("http://{at}"))
    }

    /// Transport to the service.
    ///
    /// # Errors
    /// The file of certificates cannot be read, or has none: the reason, in words.
    pub fn transport(&self) -> Result<(TlsOptions, HttpVersion), String> {
        let of_file = |path: &PathBuf| {
            let pem = named_file::text(path)?.into_bytes();
            #[cfg(feature = "live")]
            senders::tls::authorities(&pem).map_err(|problem| format!("{}: {problem}", path.display()))?;
            Ok::<_, String>(pem)
        };
        let authorities = self.cacert.as_ref().map(of_file).transpose()?;
        let version = if self.http2 { HttpVersion::Http2 } else { HttpVersion::Auto };
        Ok((TlsOptions { insecure: self.insecure, authorities, identity: None }, version))
    }

    /// Caution for a live run of so many turns of arms: a service that runs already keeps what an arm leaves in it.
    pub fn live_caution(&self, turns: usize) -> Option<String> {
        let keeps = self.command.is_none() && self.reset.is_none() && turns > 1;
        keeps.then(|| {
            "the service runs on from arm to arm, and what one leaves in it (queues, caches, connections) the next one finds: \
             `command` starts it anew for each, `reset` runs a command before each"
                .to_owned()
        })
    }
}

/// The keys of the table; a target that has one of the first two is a service of one's own.
pub fn is_own(fields: &Fields<'_>) -> bool {
    fields.node("url").is_some() || fields.node("command").is_some()
}

/// Reads the keys of the table.
pub fn own_service(fields: &Fields<'_>) -> Option<OwnService> {
    let service = OwnService::read(fields);
    if let (Some(command), None) = (&service.command, fields.node("url"))
        && !command.has_port()
    {
        let hint = format!("write {PORT} where the port goes, or url: http://127.0.0.1:8080 if it has a fixed one");
        fields.problem("command", "it is not said where it listens", hint);
    }
    if service.pid.is_some() && service.command.is_some() {
        fields.problem("pid", "belongs to a service that runs already", "leave it out: the lab starts this one");
    }
    let secure = service.url.as_ref().is_some_and(|url| url.starts_with("https:"));
    for (key, given) in [("cacert", service.cacert.is_some()), ("insecure", service.insecure)] {
        if given && !secure {
            let hint = "write url: https://127.0.0.1:8443";
            fields.problem(key, "is about certificates, and this service has none", hint);
        }
    }
    if let Err(problem) = service.transport() {
        fields.problem("cacert", problem, "name a file of certificates in PEM");
    }
    (service.url.is_some() || service.command.is_some()).then_some(service)
}

pub fn ready(fields: &Fields<'_>, key: &str) -> String {
    let ready = fields.text(key).unwrap_or_else(|| "/".to_owned());
    if !ready.starts_with('/') || ready.contains(|c: char| c.is_whitespace() || c.is_control()) {
        fields.problem(key, format!("{ready:?} is not a path"), "write /health");
    }
    ready
}

fn file(fields: &Fields<'_>, key: &str) -> Option<PathBuf> {
    let named = fields.text(key)?;
    Some(fields.file(key).unwrap_or_else(|| named.into()))
}

/// Reads scheme, host and port; the paths are under `users`.
fn base(fields: &Fields<'_>, key: &str) -> Option<String> {
    let text = fields.text(key)?;
    let example = "write http://127.0.0.1:8080";
    // `localhost:8080` would be a scheme and a path, and `127.0.0.1:8080` is neither.
    if !text.contains("://") {
        let host = text.split('/').next().unwrap_or_default();
        let message = format!("{text:?} does not begin with http:// or https://");
        return fields.wrong("url", message, format!("write http://{host}"));
    }
    let url = match Url::parse(&text) {
        Ok(url) => url,
        Err(error) => return fields.wrong("url", format!("{text:?} is no URL: {error}"), example),
    };
    let problem = if !matches!(url.scheme(), "http" | "https") {
        Some(("the lab speaks HTTP to a service", example))
    } else if url.host_str().is_none_or(str::is_empty) {
        Some(("it has no host", example))
    } else if !url.username().is_empty() || url.password().is_some() {
        Some(("a run's files must hold no password", "say it in a header of users.paths"))
    } else if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        Some(("it is scheme, host and port alone", "say what is asked for under users: path, or paths"))
    } else {
        None
    };
    if let Some((message, hint)) = problem {
        return fields.wrong("url", message, hint);
    }
    Some(url.as_str().trim_end_matches('/').to_owned())
}

pub fn words(fields: &Fields<'_>, key: &str) -> Option<CommandWords> {
    match shlex::split(&fields.text(key)?) {
        Some(words) if !words.is_empty() => Some(CommandWords(words)),
        Some(_) => fields.wrong(key, "it is empty", "write ./my-service --port {port}"),
        None => fields.wrong(key, "a quotation mark is not closed, or a backslash ends it", "quote as in a shell"),
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Changes, Experiment,
        plan::{AppPlan, OwnService},
        read,
    };

    fn file(target: &str, arms: &str) -> String {
        format!(
            "name: x\ntarget: {target}\nobjective: {{percentile: 90, response_time: 1s}}\n\
             users: {{model: url, phases: [{{requests: 5/s, for: 3s}}]}}\narms: {arms}\n"
        )
    }

    fn experiment(target: &str, arms: &str) -> Result<Experiment, String> {
        let read = read(&file(target, arms), &Changes::default());
        read.map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    fn own(target: &str) -> Result<OwnService, String> {
        match experiment(target, "[none]")?.target.app {
            AppPlan::Own(own) => Ok(own),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn a_command_is_split_into_words_and_given_a_port() {
        let found = own("{command: \"./serve 'a b' --port={port}\", ready: /health}").expect("it is good");
        let command = found.command.expect("it has one");
        assert_eq!(command.with_port(81).0, ["./serve", "a b", "--port=81"]);
        assert_eq!((found.ready.as_str(), found.url), ("/health", None));
    }

    #[test]
    fn how_it_is_spoken_to_is_in_its_manifest_but_for_folders() {
        let found = own("{url: \"https://127.0.0.1:1\", insecure: true, http2: true}").expect("it is good");
        let text = serde_json::to_string(&found).expect("JSON");
        assert_eq!(text, r#"{"url":"https://127.0.0.1:1","ready":"/","insecure":true,"http2":true}"#);
        let (tls, version) = found.transport().expect("no file is named");
        assert!(tls.insecure && tls.authorities.is_none() && version == workloads::plan::HttpVersion::Http2);
        let plain = own("{url: \"http://127.0.0.1:1\"}").expect("it is good");
        assert_eq!(plain.transport().expect("no file is named").1, workloads::plan::HttpVersion::Auto);
    }

    #[test]
    fn the_proxy_before_it_advises_when_to_retry_if_it_is_told_to() {
        let advised = experiment("{command: \"./serve {port}\", retry_after: 3s}", "[seda]").expect("it is good");
        let spec = crate::resolve::proxy_spec(&advised, &advised.arms[0], "http://127.0.0.1:8080", 1, None);
        assert_eq!(spec.refusal.retry_after, Some(std::time::Duration::from_secs(3)));
        let silent = experiment("{command: \"./serve {port}\"}", "[seda]").expect("it is good");
        let spec = crate::resolve::proxy_spec(&silent, &silent.arms[0], "http://127.0.0.1:8080", 1, None);
        assert_eq!(spec.refusal.retry_after, None);
    }

    #[test]
    fn the_proxy_before_it_believes_the_labs_own_users() {
        let experiment = experiment("{command: \"./serve {port}\"}", "[dagor]").expect("it is good");
        let arm = &experiment.arms[0];
        let before_own = crate::resolve::proxy_spec(&experiment, arm, "http://127.0.0.1:8080", 1, None).headers;
        let with_room = crate::resolve::room_spec(&experiment, arm, 1, None).headers;
        for headers in [before_own, with_room] {
            assert!(headers.trust_criticality && headers.trust_forwarded, "{headers:?}");
        }
        let others = spec::proxy::HeaderSpec::default();
        assert!(!others.trust_criticality && !others.trust_forwarded);
    }

    #[test]
    fn a_service_that_runs_on_from_arm_to_arm_is_told_of() {
        let cautions = |target: &str, arms: &str| experiment(target, arms).expect("it is good").live_cautions().len();
        let url = "{url: \"http://127.0.0.1:8080\"}";
        assert_eq!((cautions(url, "[none]"), cautions(url, "[none, seda]")), (0, 1));
        assert_eq!(cautions("{url: \"http://127.0.0.1:8080\", reset: ./empty}", "[none, seda]"), 0);
        assert_eq!(cautions("{command: \"./serve {port}\"}", "[none, seda]"), 0);
    }

    #[test]
    fn problems_have_places_and_ways_out() {
        for (target, place, wanted) in [
            ("{command: ./serve}", "2:19", "write {port}"),
            ("{command: \"./serve 'a {port}\"}", "2:19", "quotation mark"),
            ("{url: \"h2c://127.0.0.1:1\"}", "2:15", "speaks HTTP"),
            ("{url: \"http://127.0.0.1:1\", insecure: true}", "2:47", "https://"),
            ("{url: \"https://127.0.0.1:1\", cacert: /nowhere}", "2:46", "/nowhere"),
            ("{url: \"https://127.0.0.1:1\", cacert: Cargo.toml}", "2:46", "no certificate"),
            ("{url: \"http://127.0.0.1:1/x\"}", "2:15", "under users"),
            ("{url: \"http://me:secret@127.0.0.1:1\"}", "2:15", "password"),
            ("{url: \"http://127.0.0.1:1\", workers: 3}", "2:46", "workers"),
            ("{url: \"http://127.0.0.1:1\", app: arashi}", "2:42", "app"),
            ("{app: arashi, ready: /}", "2:30", "does not belong"),
            ("{ready: /}", "2:9", "app: is missing"),
        ] {
            let told = own(target).expect_err(target);
            assert!(told.starts_with(place) && told.contains(wanted), "{target}: {told}");
        }
    }

    #[test]
    fn policies_sit_at_the_proxy_unless_they_say_otherwise() {
        let url = "{url: \"http://127.0.0.1:1\"}";
        let arms = "[none, gradient2, codel, {vegas: {scope: client}}, {none: {as: bare, direct: true}}]";
        let found = experiment(url, arms).expect("it is good").arms;
        let client: Vec<_> = found.iter().map(|arm| arm.client.as_ref().map(|client| client.policy.as_str())).collect();
        assert_eq!(client, [None, None, None, Some("vegas"), None]);
        let labels: Vec<_> =
            found.iter().map(|arm| (arm.label.as_str(), arm.policy.name.as_str(), arm.direct)).collect();
        let all = [
            ("none", "none", false),
            ("gradient2", "gradient2", false),
            ("codel", "codel", false),
            ("vegas", "none", false),
            ("bare", "none", true),
        ];
        assert_eq!(labels, all);
        // A queue discipline names no place `proxy`, and sits in it as at dispatch.
        let same = experiment(url, "[codel, {codel: {as: said, scope: proxy}}]").expect("it is good").arms;
        assert_eq!(same[0].policy, same[1].policy);
        for (arms, wanted) in [
            ("[{gradient2: {scope: per-stage}}]", "scope: proxy"),
            ("[{seda: {scope: elsewhere}}]", "scope"),
            ("[connections: {max: 4}]", "accept"),
            ("[{gradient2: {direct: true}}]", "nobody decides"),
        ] {
            let told = experiment(url, arms).expect_err(arms);
            assert!(told.contains(wanted), "{arms}: {told}");
        }
        let told = experiment("{app: checksum}", "[{none: {direct: true}}]").expect_err("its own target");
        assert!(told.contains("target.url"), "{told}");
    }

    #[test]
    fn a_manifest_says_neither_arguments_nor_folders() {
        let found = own("{command: \"/home/me/serve --key secret --port {port}\", reset: /home/me/reset}");
        let text = serde_json::to_string(&found.expect("it is good")).expect("JSON");
        assert_eq!(text, r#"{"command":"serve","ready":"/","reset":"reset"}"#);
    }
}
