//! The experiment file that `lab init` writes.

use std::fmt::Write as _;

use analysis::judge::compare::TooFewBlocks;
use experiment::plan::OwnService;

use super::probe::SeenSpeed;

/// The results of the probes of a service.
#[derive(Debug)]
pub struct FoundService {
    pub name: String,
    pub ready: String,
    pub paths: Vec<String>,
    /// Header lines of each request.
    pub headers: Vec<(String, String)>,
    pub speed: SeenSpeed,
    /// A warning to read before measuring.
    pub caution: Option<String>,
}

impl FoundService {
    /// For people.
    pub fn in_words(&self) -> String {
        let SeenSpeed { alone, per_second, range: (slow, fast) } = self.speed;
        let doubt = if self.speed.is_doubtful() {
            "THE ROUNDS DIFFER BY OVER A QUARTER: the rates in the file are a guess; look at what the service does by itself \
             (pauses, caches, other programs), and measure it with lab calibrate\n"
        } else {
            ""
        };
        format!(
            "asked for {}: {:.1} ms alone, about {per_second:.0} requests/s ({slow:.0} to {fast:.0} in three rounds), so about {} at once \
             (lab calibrate measures that)\n{doubt}",
            self.paths.join(", "),
            alone.as_secs_f64() * 1e3,
            self.speed.at_once()
        )
    }

    /// The response time to aim at, milliseconds: ten times the mean time of a request alone, but not less than people notice.
    fn objective_ms(&self) -> f64 {
        rounded((self.speed.alone.as_secs_f64() * 1e4).max(200.0))
    }
}

/// Rounds to two significant digits.
fn rounded(value: f64) -> f64 {
    let scale = libm::pow(10.0, libm::floor(libm::log10(value.max(1.0))) - 1.0).max(1.0);
    (value / scale).round() * scale
}

/// The text of the file.
pub fn text(found: &FoundService, own: &OwnService) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut target = Vec::new();
    if let Some(command) = &own.command {
        let words: Vec<&str> = command.0.iter().map(String::as_str).collect();
        target.push(format!("command: {}", quoted(&shlex::try_join(words).unwrap_or_default())));
    }
    target.extend(own.url.as_ref().map(|url| format!("url: {}", quoted(url))));
    target.extend(own.cacert.as_ref().map(|path| format!("cacert: {}", quoted(&path.display().to_string()))));
    target.extend(own.insecure.then(|| "insecure: true".to_owned()));
    target.extend(own.http2.then(|| "http2: true".to_owned()));
    target.extend((found.ready != "/").then(|| format!("ready: {}", quoted(&found.ready))));
    target.push(format!("concurrency: {}", found.speed.at_once()));
    let lines: Vec<String> =
        found.headers.iter().map(|(name, value)| format!("{}: {}", quoted(name), quoted(value))).collect();
    let headers = if lines.is_empty() { String::new() } else { format!(", headers: {{{}}}", lines.join(", ")) };
    let paths: Vec<String> = found.paths.iter().map(|path| format!("{{path: {}{headers}}}", quoted(path))).collect();
    let SeenSpeed { per_second: rate, range: (slow, fast), .. } = found.speed;
    let objective = found.objective_ms();
    let timeout = (objective * 4.0).max(2000.0);
    let limit = format!("{{concurrency: {{max: {}}}}}", found.speed.at_once());
    let arms = ["none", "headway", &limit, "gradient2", "vegas"];
    let [calm, most, overload] = [0.5, 1.5, 2.0].map(|times| rounded((rate * times).max(1.0)));
    let mut text = String::new();
    let _ = write!(
        text,
        "# Written by lab init. lab check says how long it takes; lab run runs it; docs/your-service.md has the rest.\n\
         name: {}\n\
         # concurrency: what it seems to work on at once (requests/s times the time of one alone), for policies that keep a queue; lab calibrate\n\
         # measures it.\n\
         target: {{{}}}\n\
         # A good answer: what goodput counts. Answers that take longer are late.\n\
         objective: {{percentile: 90, response_time: {objective:.0}ms}}\n\
         users:\n  model: url\n\
         \x20 # What is asked for; weight: 8, method: POST, body and headers are understood, and a HAR file or an access log.\n\
         \x20 paths: [{}]\n\
         \x20 timeout: {timeout:.0}ms\n\
         \x20 # Users try again: that is what turns a moment of overload into a lasting one.\n\
         \x20 on_reject: {{then: backoff, attempts: 3}}\n\
         \x20 on_failure: {{then: backoff, attempts: 3}}\n\
         \x20 # Some matter more? target: class: {{header: X-Plan, values: {{paid: 1}}}}, criticality: {{0: SHEDDABLE, 1: CRITICAL}}; a phase:\n\
         \x20 # loads: [{{requests: {calm:.0}/s, class: 1}}, {{requests: {most:.0}/s}}] in place of requests.\n\
         \x20 # It served about {rate:.0} requests/s ({slow:.0} to {fast:.0} in three rounds): half of that, then twice.\n\
         \x20 phases: [{{name: calm, requests: {calm:.0}/s, for: 10s}}, {{name: overload, requests: {overload:.0}/s, for: 30s}}]\n\
         # Each has the same proxy before the service; add {{none: {{as: direct, direct: true}}}} for an arm without it.\n\
         # concurrency is the simplest policy: as many requests as it seems to work on, and none beyond.\n\
         arms: [{}]\n\
         # What decides. lab run --repeat {} is enough for a verdict, with one block to spare.\n\
         compare: {{phase: overload}}\n",
        found.name,
        target.join(", "),
        paths.join(", "),
        arms.join(", "),
        TooFewBlocks::least_blocks() + 1,
    );
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use experiment::{
        Changes, Repeat,
        plan::{AppPlan, CommandWords},
        read,
    };

    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let words = ["./my service", "--say", "a \"b\" 'c'", "--port", "{port}"].map(str::to_owned).to_vec();
        let own =
            OwnService { command: Some(CommandWords(words.clone())), ready: "/".to_owned(), ..OwnService::default() };
        let speed = SeenSpeed { alone: Duration::from_millis(30), per_second: 131.7, range: (120.0, 140.0) };
        let paths = vec!["/".to_owned(), "/a?x=\"1\"".to_owned()];
        let headers = vec![("X-Key".to_owned(), "a: \"b\"".to_owned())];
        let found = FoundService {
            name: "my-service".to_owned(),
            ready: "/health".to_owned(),
            paths,
            headers,
            speed,
            caution: None,
        };
        let experiment = read(&text(&found, &own), &Changes::default()).expect("it is good");
        let AppPlan::Own(read) = &experiment.target.app else { panic!("it is one's own") };
        assert_eq!(read.command, Some(CommandWords(words)));
        assert_eq!((read.ready.as_str(), read.concurrency), ("/health", Some(4)));
        let arms: Vec<&str> = experiment.arms.iter().map(|arm| arm.label.as_str()).collect();
        assert_eq!(arms, ["none", "headway", "concurrency", "gradient2", "vegas"]);
        let limit = experiment.arms[2].policy.settings.get("max").map(ToString::to_string);
        assert_eq!((experiment.arms[2].policy_name(), limit.as_deref()), ("concurrency", Some("4")));
        // Six blocks for any number of arms, and one to spare.
        let of_blocks =
            |repeat| experiment::read(&text(&found, &own), &Changes { repeat: Some(repeat), ..Changes::default() });
        assert!(text(&found, &own).contains("--repeat 7 "), "{}", text(&found, &own));
        let few = [5, 6].map(|blocks| of_blocks(Repeat::Times(blocks)).expect("good").too_few_blocks().is_some());
        assert_eq!(few, [true, false]);
        let workloads = format!("{:?}", experiment.users.model);
        assert_eq!(workloads.matches(r#"headers: [("X-Key", "a: \"b\"")]"#).count(), 2, "{workloads}");
        assert!((experiment.objective.response_time_ms - 300.0).abs() < 1e-9);
    }

    #[test]
    fn rates_have_two_digits() {
        assert_eq!([65.85, 263.4, 0.7, 1999.0].map(rounded), [66.0, 260.0, 1.0, 2000.0]);
    }
}
