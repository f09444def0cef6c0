//! Commands as `lab -h` shows them: in groups, and each with examples under its own help.

use clap::Command;

/// A command, and lines that show its use.
type Shown = (&'static str, &'static [&'static str]);

/// Every command once.
pub(super) const GROUPS: [(&str, &[Shown]); 5] = [
    (
        "Experiments",
        &[
            ("run", &["lab run flash-crowd --virtual", "lab run shop.yaml --repeat until-decided"]),
            ("recommend", &["lab recommend shop.yaml", "lab recommend runs/shop-20261130T101500Z"]),
            ("compare", &["lab compare OLD NEW --fail-if worse", "lab compare RUN --baseline concurrency"]),
            ("report", &["lab report RUN", "lab report RUN --format md > comment.md"]),
            ("history", &["lab history shop", "lab history --policy gradient2 --since 2026-11-22"]),
            ("recheck", &["lab recheck RUN"]),
            ("merge", &["lab merge part-1 part-2 part-3 -o whole"]),
            ("check", &["lab check shop.yaml --repeat 7"]),
        ],
    ),
    (
        "Your service",
        &[
            (
                "init",
                &["lab init './my-service --port {port}' --path /items -o shop.yaml", "lab init 127.0.0.1:8080/items"],
            ),
            (
                "load",
                &[
                    "lab load 127.0.0.1:8080/items -R 200 -d 30s",
                    "lab load http://127.0.0.1:8080/ --find-rate 'p99 < 200ms'",
                    "lab load http://127.0.0.1:8080/ -c 16 -n 10k --fail-if 'error_rate > 1%' --output json",
                ],
            ),
            ("calibrate", &["lab calibrate http://127.0.0.1:8080/items -o shop-plant.yaml"]),
            (
                "proxy",
                &[
                    "lab proxy --to http://127.0.0.1:8080 --policy concurrency --set max=16",
                    "lab proxy --config proxy.yaml --check",
                    "lab proxy set dry_run=false --control http://127.0.0.1:9000 --control-token-file token",
                ],
            ),
        ],
    ),
    (
        "Searches in virtual time",
        &[
            ("sweep", &["lab sweep shop.yaml --policy gradient2 --set limit_min=2..50"]),
            ("tune", &["lab tune shop.yaml --policy gradient2 --under 'p99 < 1s'"]),
            ("suite", &["lab suite --policy gradient2 --output html", "lab suite --random 20 --compare suite.json"]),
            ("agent", &["lab agent --nats tls://nats.example:4222", "lab agent --print-nats-config > nats.conf"]),
            ("reproduce", &["lab reproduce seda-fig10", "lab reproduce --all"]),
        ],
    ),
    (
        "Policies and users",
        &[
            ("policies", &["lab policies", "lab policies gradient2"]),
            ("new-policy", &["lab new-policy my-limit"]),
            ("trace", &["lab trace import access.log -o monday.trace.zst", "lab trace inspect monday.trace.zst"]),
            (
                "replay",
                &[
                    "lab replay monday.trace.zst --speed 10 --policy none --policy seda --capacity 100",
                    "lab replay monday.trace.zst --target 'http://127.0.0.1:8080/{action}?id={object}'",
                ],
            ),
            ("serve", &["lab serve --mail ~/Maildir --policy seda --port 8080"]),
        ],
    ),
    (
        "The program",
        &[
            ("schema", &["lab schema experiment > experiment.schema.json"]),
            ("completions", &["lab completions bash > /etc/bash_completion.d/lab"]),
            ("man", &["lab man trace import", "lab man --out man1"]),
        ],
    ),
];

/// The program's command line with its overview and examples.
pub fn arranged(mut whole: Command) -> Command {
    let mut list = String::new();
    for (group, commands) in GROUPS {
        list.push_str(&format!("{group}:\n"));
        for (name, examples) in commands {
            let about = whole.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            list.push_str(&format!("  {name:<12} {}\n", about.unwrap_or_default()));
            whole = whole.mut_subcommand(name, |command| with_examples(command, examples));
        }
    }
    whole.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}\n{{options}}{{after-help}}"
    ))
}

/// Examples come last on the one screen of `-h`, and before the further text of `--help`.
fn with_examples(command: Command, examples: &[&str]) -> Command {
    let examples: String = examples.iter().map(|example| format!("\n  {example}")).collect();
    let examples = format!("Examples:{examples}");
    let text = command.get_after_help().map(|text| format!("{examples}\n\n{text}"));
    let command = command.after_help(examples);
    match text {
        Some(text) => command.after_long_help(text),
        None => command,
    }
}
