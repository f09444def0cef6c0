//! Where a load goes, where it comes from, and what it says of a rate that it cannot keep.

use std::{
    io::{Read as _, Write as _},
    os::unix::net::UnixListener,
};

use carriers::Carrier;
use service::{Behaves, Service};

use super::*;

#[test]
fn a_host_without_a_scheme_is_one_of_plain_http() {
    let service = Service::start(Behaves::Well);
    let url = service.url();
    let ended = Running::load(&[url.strip_prefix("http://").expect("http"), "-n", "5", "-c", "1"]).ends_within(SOON);
    assert_eq!(count(&ended.json(), "served"), 5);
}

#[test]
fn a_unix_socket_is_loaded() {
    let path = std::env::temp_dir().join(format!("lab-load-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).expect("a socket");
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            while stream.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {
                let _ = stream.write_all(service::OK.as_bytes());
            }
        }
    });
    let socket = path.to_str().expect("a path");
    // The name is not looked up.
    let args = ["http://api.example/x", "--unix-socket", socket, "-n", "5", "-c", "1"];
    let ended = Running::load(&args).ends_within(SOON);
    let _ = std::fs::remove_file(&path);
    assert_eq!(count(&ended.json(), "served"), 5);
}

#[test]
fn a_source_address_is_one_of_this_machine() {
    let service = Service::start(Behaves::Well);
    let url = service.url();
    let ended = Running::load(&[&url, "--source-address", "127.0.0.7,127.0.0.8", "-n", "6", "-c", "2"]);
    assert_eq!(count(&ended.ends_within(SOON).json(), "served"), 6);
}

#[test]
fn a_unix_socket_and_source_addresses_carry_tls_and_http2_as_well() {
    let folder = tempfile::tempdir().expect("a folder");
    let trust = carriers::file("authority.pem");
    for carrier in Carrier::ALL {
        let secure: &[&str] = if carrier == Carrier::Plain2 { &[] } else { &["--cacert", &trust] };
        let load = |url: &str, way: &[&str]| {
            let few = ["-c", "2", "-n", "20", carrier.version()];
            let ended = Running::load(&[&[url], &few[..], secure, way].concat()).ends_within(SOON);
            let found = ended.json();
            assert_eq!(count(&found, "served"), 20, "{carrier:?} {way:?}: {found:#}");
        };
        let socket = folder.path().join(format!("{carrier:?}.sock"));
        carrier.serves_at(&socket, "server");
        load(&format!("{}://localhost/", carrier.scheme()), &["--unix-socket", socket.to_str().expect("a path")]);
        let (address, peers) = carrier.serves("server");
        let url = format!("{}://{address}/", carrier.scheme());
        load(&url, &["--source-address", "127.0.0.7,127.0.0.8"]);
        let seen: Vec<String> = peers.lock().expect("no panic").iter().map(ToString::to_string).collect();
        assert_eq!(seen, ["127.0.0.7", "127.0.0.8"], "{carrier:?}: each user has a connection from another one");
    }
}

#[test]
fn a_name_is_served_at_whichever_of_its_addresses_there_is_a_service() {
    let folder = tempfile::tempdir().expect("a folder");
    let hosts = folder.path().join("hosts");
    std::fs::write(&hosts, "::1 localhost\n127.0.0.9 localhost\n127.0.0.1 localhost\n").expect("written");
    // In a mount namespace of its own, where that is allowed.
    let within = |command: &[&str]| {
        let mut unshare = Command::new("unshare");
        unshare.args(["-Urm", "sh", "-c", "mount --bind \"$0\" /etc/hosts && exec \"$@\""]).arg(&hosts).args(command);
        unshare
    };
    if !within(&["true"]).output().is_ok_and(|output| output.status.success()) {
        return;
    }
    for carrier in Carrier::ALL {
        let (address, _) = carrier.serves("server");
        let url = format!("{}://localhost:{}/", carrier.scheme(), address.port());
        let lab = program::path();
        let mut args =
            vec![lab.as_str(), "load", &url, carrier.version(), "-c", "2", "-n", "20", "--no-save", "--output", "json"];
        let trust = carriers::file("authority.pem");
        args.extend(if carrier == Carrier::Plain2 { vec![] } else { vec!["--cacert", trust.as_str()] });
        let mut command = within(&args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let found = Running::start(command).ends_within(SOON).json();
        assert_eq!(count(&found, "served"), 20, "{carrier:?}: {found:#}");
    }
}

/// Beyond twice its time: what is open is cut off, and what was counted is written.
const SLACK: Duration = Duration::from_secs(5);

/// The larger, the more is in the way of the end: users that wait take memory, and time to be counted.
#[test]
fn a_rate_that_cannot_be_kept_ends_within_twice_its_time_and_is_no_fault_of_the_books() {
    let service = Service::start(Behaves::Well);
    let (address, _) = Carrier::Plain2.serves("server");
    let multiplexed = format!("http://{address}/");
    for (url, more) in [(&service.url(), &[][..]), (&multiplexed, &["--http2"])] {
        for (rate, seconds) in [(400_000, 1), (1_000_000, 1), (1_000_000, 2), (4_000_000, 1)] {
            let (a_second, lasts) = (rate.to_string(), format!("{seconds}s"));
            let args = [&[url.as_str(), "-R", &a_second, "-d", &lasts], more].concat();
            let most = Duration::from_secs(2 * seconds) + SLACK;
            let ended = Running::load(&args).ends_within(most);
            let found = ended.json();
            assert!(found["missed_rate"]["sent"].as_u64() < Some(rate * seconds), "{found:#}");
            assert!(!codes(&found).contains(&"LITTLE"), "{found:#}");
            assert!(count(&found, "unsent") > 0, "what had not begun was given up: {found:#}");
            let planned = count(&found, "planned");
            assert!(planned.abs_diff(rate * seconds) <= 1, "each of them is counted: {planned}");
            assert!(ended.memory < 500_000_000, "{args:?}: {} MB", ended.memory / 1_000_000);
        }
    }
}
