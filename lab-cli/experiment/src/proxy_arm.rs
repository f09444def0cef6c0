//! Reads arms that are somebody else's proxy before a service of one's own: `proxy: {as: my-envoy, command: …}`, or a preset's name.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};
use workloads::plan::RefusalMarks;

use super::{
    fields::{Fields, join},
    keys::{Table, by, table},
    label::label,
    named_file,
    own_proxy::{
        CONFIG, LISTENS, OwnProxy, PRESETS, PresetSetting, PresetValues, ProxyPreset, SENDS, Template, preset,
    },
    own_service::{CommandWords, ready, words},
    own_target::Base,
    plan::{AppPlan, ArmPlan},
    problem::Problems,
    raw::Node,
    refusal_marks::{RefusalMarksKeys, refusal_marks},
};

/// The arm's name where all is written in the file.
const WRITTEN: &str = "proxy";

table! {
    /// Somebody else's proxy before a service of one's own, started for this arm as the lab's own is for the others. In `command` and
    /// `config` these words are filled in, and every other brace stays: `{listen}` (127.0.0.1:PORT), `{port}`, `{upstream}` (HOST:PORT of
    /// the service), `{upstream_port}`, `{admin_port}` (a free port), `{dir}` (an empty folder), `{config}`. See [peers](peers.md).
    pub(super) struct OwnProxyKeys as "OwnProxy" {
        label: String = by::<String, _>(label).key("as").otherwise("proxy").example("my-envoy"), "The arm's name in tables and thresholds: letters, digits, - and _";
        command: Option<CommandWords> = by::<String, _>(words).required().example("\"envoy -c {config} --concurrency 1\""), "The program and its arguments, split into words without a shell; it has to stay in the foreground";
        config: Option<Template> = by::<String, _>(template).example("envoy.yaml.in"), "The file of its configuration";
        ready: Option<String> = by::<String, _>(ready_of_proxy).otherwise("as in `target`").example("/health"), "The path that shows that requests get through: the proxy answers it with the service's own status, or a 2xx";
        refused: Option<RefusalMarks> = by::<RefusalMarksKeys, _>(refusal_marks).otherwise("as in `users`").example("{status: 503}"), "The marks of what it refuses";
    }
}

/// True if an arm of that name is somebody else's proxy.
pub fn is_one(name: &str) -> bool {
    name == WRITTEN || preset(name).is_some()
}

/// Reads an arm of that name.
pub fn arm(
    name: &str,
    settings: Option<&Node>,
    node: &Node,
    base: Option<Base<'_>>,
    problems: &Problems,
) -> Option<ArmPlan> {
    let path = join("arms", name);
    if base.is_some_and(|base| !matches!(base.target.app, AppPlan::Own(_))) {
        let hint = "write target: {command: \"./my-service --port {port}\"}, or target: {url: …}";
        problems.add(&node.place, &path, "a proxy stands before a service of your own", hint);
    }
    let (given, proxy) = match (preset(name), settings) {
        (Some(preset), settings) => of_preset(preset, settings, &path, problems)?,
        (None, Some(settings)) => written(&Fields::of_table::<OwnProxyKeys>(settings, &path, problems)?)?,
        (None, None) => {
            let hint = "write proxy: {as: my-envoy, command: \"envoy -c {config}\", config: envoy.yaml.in}";
            return problems.wrong(&node.place, &path, "it is not said which proxy", hint);
        }
    };
    let label = if given.is_empty() { name.to_owned() } else { given };
    Some(ArmPlan { label, direct: true, proxy: Some(proxy), ..ArmPlan::none() })
}

fn written(fields: &Fields<'_>) -> Option<(String, OwnProxy)> {
    let OwnProxyKeys { label, command, config, ready, refused } = OwnProxyKeys::read(fields);
    fields.wanted("command", "\"envoy -c {config} --concurrency 1\"");
    let proxy = OwnProxy { preset: None, settings: BTreeMap::new(), command: command?, config, ready, refused };
    let says = |words: &[&str]| {
        let text = proxy.config.iter().map(|config| &config.text).chain(&proxy.command.0);
        text.into_iter().any(|text| words.iter().any(|word| text.contains(word)))
    };
    let takes_config = proxy.command.0.iter().any(|word| word.contains(CONFIG));
    if fields.node("config").is_some() != takes_config {
        let (key, message) = match takes_config {
            true => ("config", "is missing, and the command has {config}"),
            false => ("command", "does not say where the configuration goes"),
        };
        fields.problem(key, message, "write command: \"envoy -c {config}\" with config: envoy.yaml.in");
    } else if fields.node("config").is_none() || proxy.config.is_some() {
        if !says(&LISTENS) {
            fields.problem(
                "command",
                "it is not said where it listens",
                "write {listen} or {port} there, or in its configuration",
            );
        }
        if !says(&SENDS) {
            let hint = "write {upstream} or {upstream_port} there, or in its configuration";
            fields.problem("command", "it is not said where the service is", hint);
        }
    }
    Some((label, proxy))
}

fn template(fields: &Fields<'_>, key: &str) -> Option<Template> {
    let path = fields.file(key)?;
    match named_file::text(&path) {
        Ok(text) => {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            Some(Template { name: name.trim_end_matches(".in").to_owned(), text })
        }
        Err(problem) => fields.wrong(key, problem, "name the file of its configuration, with {listen} and {upstream}"),
    }
}

fn ready_of_proxy(fields: &Fields<'_>, key: &str) -> Option<String> {
    fields.node(key).map(|_| ready(fields, key))
}

fn of_preset(
    preset: &ProxyPreset,
    settings: Option<&Node>,
    path: &str,
    problems: &Problems,
) -> Option<(String, OwnProxy)> {
    let known: Vec<&str> = preset.settings.iter().map(|setting| setting.key).chain(OF_PRESETS).collect();
    let fields = settings.map(|settings| Fields::of(settings, path, &known, problems).ok_or(())).transpose().ok()?;
    let value = |setting: &PresetSetting| {
        let given = fields.as_ref().and_then(|fields| value(fields, setting));
        (setting.key.to_owned(), given.unwrap_or_else(|| setting.default_value()))
    };
    let (name, text) = preset.config;
    let proxy = OwnProxy {
        preset: Some(preset.name.to_owned()),
        settings: preset.settings.iter().map(value).collect(),
        command: CommandWords(preset.command.split(' ').map(str::to_owned).collect()),
        config: Some(Template { name: name.to_owned(), text: text.to_owned() }),
        ready: fields.as_ref().and_then(|fields| ready_of_proxy(fields, "ready")),
        refused: None,
    };
    Some((fields.map(|fields| label(&fields, "as")).unwrap_or_default(), proxy))
}

/// Keys of the lab among a preset's settings.
const OF_PRESETS: [&str; 2] = ["as", "ready"];

/// A setting that is written, as a template takes it.
fn value(fields: &Fields<'_>, setting: &PresetSetting) -> Option<String> {
    match &setting.values {
        PresetValues::Count(range) => fields.count(setting.key, range.clone()).map(|count| count.to_string()),
        PresetValues::Number(range) => fields.number(setting.key, range.clone()).map(|number| number.to_string()),
        PresetValues::Time(range) => fields.time(setting.key, range.clone()).map(|time| time.as_millis().to_string()),
    }
}

/// Schemas of such arms by their names.
pub fn shapes(generator: &mut schemars::SchemaGenerator) -> Map<String, Json> {
    let about = |text: &str| text.split(". ").next().unwrap_or(text).to_owned();
    let written = generator.subschema_for::<OwnProxyKeys>().to_value();
    let written = json!({"description": about(OwnProxyKeys::ABOUT.trim()), "allOf": [written]});
    let mut shapes = Map::from_iter([(WRITTEN.to_owned(), written)]);
    let rows = OwnProxyKeys::rows();
    let of_table = rows.iter().filter(|row| OF_PRESETS.contains(&row.key));
    let of_table: Map<String, Json> =
        of_table.map(|row| (row.key.to_owned(), json!({"type": "string", "description": row.about}))).collect();
    for preset in PRESETS {
        let mut properties = of_table.clone();
        properties.extend(preset.settings.iter().map(|setting| (setting.key.to_owned(), setting.shape())));
        let table = json!({"type": "object", "properties": properties, "additionalProperties": false});
        shapes.insert(preset.name.to_owned(), json!({"description": preset.about, "anyOf": [table, {"type": "null"}]}));
    }
    shapes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Changes, Experiment, read};

    fn arms(target: &str, arms: &str) -> Result<Vec<ArmPlan>, String> {
        let text = format!(
            "name: x\ntarget: {target}\nobjective: {{percentile: 90, response_time: 1s}}\n\
             users: {{model: url, phases: [{{requests: 5/s, for: 3s}}]}}\narms: {arms}\n"
        );
        let found: Result<Experiment, _> = read(&text, &Changes::default());
        found.map(|found| found.arms).map_err(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    const OWN: &str = "{url: \"http://127.0.0.1:1\"}";

    #[test]
    fn a_preset_has_its_defaults_and_lists_make_arms() {
        let found = arms(OWN, "[haproxy-queue, {nginx-limit: {rate: [5, 9], ready: /up}}]").expect("good");
        let labels: Vec<_> = found.iter().map(|arm| (arm.label.as_str(), arm.policy_name())).collect();
        assert_eq!(labels[0], ("haproxy-queue", "haproxy-queue"));
        assert_eq!((labels[1].0, labels[2].0), ("nginx-limit-rate-5", "nginx-limit-rate-9"));
        let proxies: Vec<_> = found.iter().filter_map(|arm| arm.proxy.as_ref()).collect();
        let settings: Vec<Vec<&str>> =
            proxies.iter().map(|proxy| proxy.settings.values().map(String::as_str).collect()).collect();
        assert_eq!(settings, [["32", "5000"], ["10", "5"], ["10", "9"]]);
        assert_eq!((proxies[0].ready.as_deref(), proxies[1].ready.as_deref()), (None, Some("/up")));
    }

    #[test]
    fn every_word_of_a_preset_is_one_of_its_settings_or_a_place() {
        for preset in PRESETS {
            let mut text = format!("{} {}", preset.command, preset.config.1);
            for setting in preset.settings {
                let word = format!("{{{}}}", setting.key);
                assert!(text.contains(&word), "{}: {word}", preset.name);
                text = text.replace(&word, "");
            }
            assert!(LISTENS.iter().any(|word| text.contains(word)), "{}", preset.name);
            assert!(SENDS.iter().any(|word| text.contains(word)) && text.contains(CONFIG), "{}", preset.name);
            assert!(installed::catalogue().names().iter().all(|name| *name != preset.name), "{}", preset.name);
        }
    }

    #[test]
    fn marks_of_an_arm_are_in_its_users_alone() {
        let text = "[none, {proxy: {command: \"p {listen} {upstream}\", refused: {status: 420}}}]";
        let found = arms(OWN, text).expect("good");
        let marks = found[1].proxy.as_ref().and_then(|proxy| proxy.refused.clone()).expect("some");
        assert_eq!(marks, RefusalMarks { status: vec![420], header: None });
    }

    #[test]
    fn problems_have_their_place_and_a_way_out() {
        for (text, wanted) in [
            ("[proxy]", "5:8: arms.proxy: it is not said which proxy"),
            ("[proxy: {as: x}]", "command: is missing"),
            ("[proxy: {command: \"p {listen}\"}]", "it is not said where the service is"),
            ("[proxy: {command: \"p {upstream}\"}]", "it is not said where it listens"),
            ("[proxy: {command: \"p {config}\"}]", "config: is missing, and the command has {config}"),
            ("[proxy: {command: \"p\", config: Cargo.toml}]", "does not say where the configuration goes"),
            ("[proxy: {command: \"p {config}\", config: nowhere}]", "nowhere"),
            ("[proxy: {command: \"p {listen} {upstream}\", refused: {}}]", "refused: marks nothing"),
            ("[proxy: {command: \"p {listen} {upstream}\", refused: {status: 200}}]", "statuses from 400 to 599"),
            ("[proxy: {command: \"p {listen} {upstream}\", refused: {header: a b}}]", "not the name of a header"),
            ("[haproxy-queue: {maxcon: 3}]", "did you mean maxconn"),
            ("[haproxy-queue: {maxconn: 0}]", "maxconn"),
            ("[caddy, caddy]", "two arms called"),
        ] {
            let told = arms(OWN, text).expect_err(text);
            assert!(told.contains(wanted), "{text}: {told}");
        }
        let told = arms("{app: checksum}", "[caddy]").expect_err("its own target");
        assert!(told.contains("a proxy stands before a service of your own"), "{told}");
    }
}
