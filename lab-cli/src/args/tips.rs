//! Tips on words that are no words of the command line: what other load generators have, and slips.

use clap::{
    Command, Error,
    error::{ContextKind, ContextValue, ErrorKind},
};
use controllers::catalogue::nearest;

/// Flags of other load generators, and what serves their purpose.
const FLAGS: [(&[&str], &str); 4] = [
    (&["-q"], "a rate is -R here, of all connections together"),
    (&["-t", "--threads"], "a time-out is --timeout here, and threads are chosen by the program"),
    (
        &["-s", "--script"],
        "requests come from a list, a HAR file or an access log by --urls; a plan of steps is an experiment's",
    ),
    (&["-L", "--latency"], "latencies are always shown, other percentiles by --percentiles 50,99.99"),
];

/// The error with a tip, where there is one.
pub fn with_tip(mut error: Error, command: &Command) -> Error {
    let typed = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    let tip = match error.kind() {
        ErrorKind::UnknownArgument => {
            let flag = typed(ContextKind::InvalidArg);
            let loads = error.get(ContextKind::Usage).is_some_and(|usage| usage.to_string().contains("lab load"));
            FLAGS.iter().find(|(names, _)| loads && names.contains(&&*flag)).map(|(_, tip)| (*tip).to_owned())
        }
        ErrorKind::InvalidSubcommand if error.get(ContextKind::SuggestedSubcommand).is_none() => {
            let names = command.get_subcommands().map(Command::get_name);
            nearest(&typed(ContextKind::InvalidSubcommand), names).map(|name| format!("did you mean {name}?"))
        }
        _ => None,
    };
    if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}
