//! `lab man`: the help of each command as a man page, from the same definitions.

use std::fs;

use clap::Command;
use clap_mangen::Man;

use super::stdout::print;
use crate::{
    args::{self, ManArgs},
    exit::{CommandResult, End, Failure},
};

pub(super) fn man(args: &ManArgs) -> CommandResult {
    // `lab help` has no page of its own, nor has it one of each command.
    let mut lab = args::command().disable_help_subcommand(true);
    // Gives commands their full names and the options that hold for all.
    lab.build();
    match &args.out {
        Some(folder) => {
            let written = fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(lab, folder));
            written.map_err(Failure::at(folder))?;
            Ok(End::Done)
        }
        None => {
            let mut page = Vec::new();
            Man::new(find(lab, &args.command)?).render(&mut page)?;
            print(&page)
        }
    }
}

/// The command of these words: `trace import`.
fn find(lab: Command, words: &[String]) -> Result<Command, Failure> {
    words.iter().try_fold(lab, |parent, word| {
        let names: Vec<&str> = parent.get_subcommands().filter(|c| !c.is_hide_set()).map(Command::get_name).collect();
        let found = parent.find_subcommand(word).cloned();
        found.ok_or_else(|| {
            let place = parent.get_display_name().unwrap_or("lab").replace('-', " ");
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Failure::usage(format!("{place} has no command {word}; its commands: {known}"))
        })
    })
}
