//! Proxies that people run, with the settings of their overload control: each by its name, where the program is installed.

use std::{ops::RangeInclusive, time::Duration};

use controllers::catalogue::parse_time;
use serde_json::{Value, json};

/// A proxy with a configuration of the lab's.
#[derive(Debug)]
pub struct ProxyPreset {
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// The command, with places to fill in.
    pub(crate) command: &'static str,
    /// The name of its configuration, and the text.
    pub(crate) config: (&'static str, &'static str),
    pub settings: &'static [PresetSetting],
}

/// A setting of such a proxy, filled into its configuration.
#[derive(Debug)]
pub struct PresetSetting {
    pub key: &'static str,
    pub about: &'static str,
    /// The value without one: the program's own default, or that of its documentation's example.
    pub default: &'static str,
    pub(crate) values: PresetValues,
}

/// The values that a setting may have.
#[derive(Debug)]
pub(crate) enum PresetValues {
    /// Whole numbers.
    Count(RangeInclusive<u64>),
    Number(RangeInclusive<f64>),
    /// Times, which templates have in milliseconds.
    Time(RangeInclusive<Duration>),
}

/// All of them. Sources: the programs' documentation of Envoy 1.40, HAProxy 2.6, nginx 1.22 and Caddy 2.6.
pub const PRESETS: &[ProxyPreset] = &[
    ProxyPreset {
        name: "envoy-adaptive",
        about: "Envoy with its adaptive concurrency filter (gradient controller)",
        command: "envoy -c {config} --concurrency 1 --log-level warn --use-dynamic-base-id",
        config: ("envoy.yaml", include_str!("preset/envoy-adaptive.yaml.in")),
        settings: &[
            PresetSetting {
                key: "percentile",
                about: "`sample_aggregate_percentile`",
                default: "50",
                values: PresetValues::Number(0.0..=100.0),
            },
            PresetSetting {
                key: "min_concurrency",
                about: "`min_concurrency`, the limit while the smallest latency is measured",
                default: "3",
                values: PresetValues::Count(1..=100_000),
            },
            PresetSetting {
                key: "buffer",
                about: "`buffer`, percent by which latency may exceed the smallest",
                default: "25",
                values: PresetValues::Number(0.0..=1000.0),
            },
        ],
    },
    ProxyPreset {
        name: "envoy-admission",
        about: "Envoy with its admission control filter",
        command: "envoy -c {config} --concurrency 1 --log-level warn --use-dynamic-base-id",
        config: ("envoy.yaml", include_str!("preset/envoy-admission.yaml.in")),
        settings: &[
            PresetSetting {
                key: "sr_threshold",
                about: "`sr_threshold`, percent of successes below which requests are rejected",
                default: "95",
                values: PresetValues::Number(1.0..=100.0),
            },
            PresetSetting {
                key: "aggression",
                about: "`aggression`",
                default: "1",
                values: PresetValues::Number(1.0..=100.0),
            },
        ],
    },
    ProxyPreset {
        name: "haproxy-queue",
        about: "HAProxy with `maxconn` at the server and a queue before it",
        command: "haproxy -db -f {config}",
        config: ("haproxy.cfg", include_str!("preset/haproxy-queue.cfg.in")),
        settings: &[
            PresetSetting {
                key: "maxconn",
                about: "`maxconn` of the server",
                default: "32",
                values: PresetValues::Count(1..=65_535),
            },
            PresetSetting {
                key: "timeout_queue",
                about: "`timeout queue`",
                default: "5s",
                values: PresetValues::Time(Duration::from_millis(1)..=Duration::from_secs(3600)),
            },
        ],
    },
    ProxyPreset {
        name: "nginx-limit",
        about: "nginx with `limit_req` for the whole server",
        command: "nginx -e stderr -p {dir} -c {config}",
        config: ("nginx.conf", include_str!("preset/nginx-limit.conf.in")),
        settings: &[
            PresetSetting {
                key: "rate",
                about: "`rate` of the zone, requests per second",
                default: "10",
                values: PresetValues::Count(1..=1_000_000),
            },
            PresetSetting { key: "burst", about: "`burst`", default: "10", values: PresetValues::Count(0..=1_000_000) },
        ],
    },
    ProxyPreset {
        name: "caddy",
        about: "Caddy, which counts a backend with so many requests as unhealthy",
        command: "caddy run --config {config} --adapter caddyfile",
        config: ("Caddyfile", include_str!("preset/caddy.in")),
        settings: &[PresetSetting {
            key: "count",
            about: "`unhealthy_request_count`; 0: none",
            default: "0",
            values: PresetValues::Count(0..=1_000_000),
        }],
    },
];

impl PresetSetting {
    /// The default, as a template takes it.
    pub(crate) fn default_value(&self) -> String {
        match (&self.values, parse_time(self.default)) {
            (PresetValues::Time(_), Some(time)) => time.as_millis().to_string(),
            _ => self.default.to_owned(),
        }
    }

    /// Its shape in a file: a value, or a list of them, which makes arms of all.
    pub(crate) fn shape(&self) -> Value {
        let one = match &self.values {
            PresetValues::Count(range) => json!({"type": "integer", "minimum": range.start(), "maximum": range.end()}),
            PresetValues::Number(range) => json!({"type": "number", "minimum": range.start(), "maximum": range.end()}),
            PresetValues::Time(_) => json!({"type": "string"}),
        };
        let about = format!("{} [default {}]", self.about, self.default);
        json!({"description": about, "anyOf": [one, {"type": "array", "items": one, "minItems": 1}]})
    }
}

/// The preset of that name.
pub(crate) fn preset(name: &str) -> Option<&'static ProxyPreset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// A setting of a preset.
pub fn preset_setting(preset_name: &str, key: &str) -> Option<&'static PresetSetting> {
    preset(preset_name)?.settings.iter().find(|setting| setting.key == key)
}
