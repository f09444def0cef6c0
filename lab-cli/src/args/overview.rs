//! Commands as `lab -h` shows them: in groups, and each with examples under its own help.

use clap::Command;

/// A group of commands: its title, and each command with lines that show its use.
pub(super) type CommandGroup = (&'static str, &'static [(&'static str, &'static [&'static str])]);

/// The program's command line with its overview and examples.
pub fn arranged(mut whole: Command, groups: &[CommandGroup]) -> Command {
    let mut list = String::new();
    for (group, commands) in groups {
        list.push_str(&format!("{group}:\n"));
        for (name, examples) in *commands {
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
