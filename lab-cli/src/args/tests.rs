//! The command line as people type it: examples, words of other programs, slips.

use clap::FromArgMatches as _;

use super::*;

fn parsed(words: &[&str]) -> Result<Cli, clap::Error> {
    command().try_get_matches_from(words).and_then(|found| Cli::from_arg_matches(&found))
}

#[test]
fn every_command_has_its_place_and_its_examples_are_understood() {
    let named: Vec<&str> = GROUPS.iter().flat_map(|(_, commands)| *commands).map(|(name, _)| *name).collect();
    let whole = command();
    let shown: Vec<&str> =
        whole.get_subcommands().filter(|one| !one.is_hide_set()).map(clap::Command::get_name).collect();
    assert!(shown.iter().all(|name| named.contains(name)) && named.len() == shown.len(), "{named:?} {shown:?}");
    for (name, examples) in GROUPS.iter().flat_map(|(_, commands)| *commands) {
        assert!(!examples.is_empty(), "{name}");
        for example in *examples {
            let words = shlex::split(example).expect("words of a shell");
            let words: Vec<&str> = words.iter().map(String::as_str).take_while(|word| *word != ">").collect();
            let found = parsed(&words);
            assert!(words[1] == *name && found.is_ok(), "{example}: {:?}", found.err());
        }
    }
}

#[test]
fn help_is_a_screen_and_what_all_commands_have_comes_last() {
    let mut whole = command().term_width(100);
    whole.build();
    let overview = whole.render_help().to_string();
    assert!(overview.lines().count() <= 44, "{overview}");
    for name in ["run", "load", "compare", "history", "report"] {
        let one = whole.find_subcommand_mut(name).expect("a command");
        let (short, long) = (one.render_help().to_string(), one.render_long_help().to_string());
        assert!(short.lines().count() <= 44 && short.contains("Examples:\n  lab "), "{name}:\n{short}");
        let options = long.rfind("Options:").expect("options");
        assert!(long.find("--theme").is_some_and(|at| long[options..].contains("--theme") || at > options), "{long}");
    }
}

#[test]
fn words_of_other_programs_are_understood_or_answered_with_ours() {
    let url = "127.0.0.1:1";
    for flags in [["-z", "1s"], ["--rps", "5"], ["--qps", "5"], ["-X", "PUT"], ["--vus", "5"], ["--data", "a=1"]] {
        assert!(parsed(&["lab", "load", url, flags[0], flags[1]]).is_ok(), "{flags:?}");
    }
    assert!(parsed(&["lab", "run", "flash-crowd", "--arm", "none"]).is_ok());
    let said = |words: &[&str]| with_tip(parsed(words).expect_err("a slip"), &command()).to_string();
    let rate = said(&["lab", "load", url, "-q", "10"]);
    assert!(rate.contains("tip: a rate is -R here") && !rate.contains("as a value"), "{rate}");
    let other = said(&["lab", "compare", "a", "-q"]);
    assert!(!other.contains("-R"), "{other}");
    let body = said(&["lab", "load", url, "-d", "{\"a\": 1}"]);
    assert!(body.contains("-d is how long; a body is -b"), "{body}");
    assert!(said(&["lab", "load", url, "-d", "1"]).contains("did you mean 1s?"));
    assert!(said(&["lab", "rnu"]).contains("tip: did you mean run?"));
    let address = said(&["lab", "proxy", "--listen", ":8500"]);
    assert!(address.contains("write an address and its port: 127.0.0.1:8500"), "{address}");
}
