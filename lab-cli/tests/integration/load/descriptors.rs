//! Fewer descriptors than connections.

use service::{Behaves, Service};

use super::*;

fn with_limit(limit: u64, url: &str) -> Ended {
    let mut shell = Command::new("sh");
    let lab = program::path();
    shell.args(["-c", &format!("ulimit -n {limit} && exec {lab} load {url} -c 40 -d 1s --no-save")]);
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Running::start(shell).ends_within(SOON)
}

/// The number that the error asks for is one with which it runs, and one less is not.
#[test]
fn too_low_a_limit_is_told_with_its_numbers_and_the_limit_that_would_do() {
    let service = Service::start(Behaves::Well);
    let refused = with_limit(64, &service.url());
    let error = String::from_utf8(refused.output.stderr.clone()).expect("text");
    let number = |before: &str| {
        let (_, rest) = error.split_once(before).unwrap_or_else(|| panic!("no {before:?} in {error}"));
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u64>().expect("a number")
    };
    assert_eq!((number("lab: "), number("the limit is ")), (40, 64), "{error}");
    let needed = number("ulimit -n ");
    assert_eq!(needed, 40 + number("sockets, ") + number("are open and "), "{error}");
    assert!(number("sockets, ") > 0 && error.contains("none of them fits"), "{error}");
    assert!(error.contains("fewer users or connections"), "{error}");
    assert_eq!((refused.code(), service.connections()), (1, 0));

    let one_less = with_limit(needed - 1, &service.url());
    let error = String::from_utf8(one_less.output.stderr.clone()).expect("text");
    assert!(error.contains("39 of them fit"), "{error}");
    let enough = with_limit(needed, &service.url());
    assert!([0, 3].contains(&enough.code()) && service.connections() > 0, "{}", enough.code());
}
