//! Export to a collector of OpenTelemetry, in builds that have it:
//! `cargo test --workspace --features lab-cli/otel --test integration proxy::exported`.

#[cfg(feature = "otel")]
mod with {
    use std::{
        io::{BufRead, BufReader, Read, Write},
        net::{TcpListener, TcpStream},
        sync::mpsc::{Receiver, channel},
        thread,
    };

    use serde_json::json;

    use crate::proxy::proxied::{PATIENCE, Proxied};

    /// A request to the collector: its first line and its header lines, and its body.
    type Exported = (String, Vec<u8>);

    /// A collector that accepts whatever comes.
    fn collector() -> (String, Receiver<Exported>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let (tell, exports) = channel();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let tell = tell.clone();
                thread::spawn(move || {
                    let mut reader = BufReader::new(stream);
                    while let Some(exported) = receive(&mut reader) {
                        let answer =
                            b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n";
                        if reader.get_mut().write_all(answer).is_err() || tell.send(exported).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        (address, exports)
    }

    fn receive(reader: &mut BufReader<TcpStream>) -> Option<Exported> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let head = head.to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.expect("a length")];
        reader.read_exact(&mut body).ok()?;
        Some((head, body))
    }

    fn has(body: &[u8], text: &str) -> bool {
        memchr::memmem::find(body, text.as_bytes()).is_some()
    }

    #[test]
    fn metrics_reach_a_collector_and_the_last_ones_at_the_end() {
        let (to, exports) = collector();
        let settings = json!({"policy": "gradient2", "otlp": {"to": to, "every": "1s"}, "log": "off"});
        let (backend, mut proxy) = Proxied::alone(settings);
        assert_eq!(proxy.get("/").status, 200);
        let whole = |(head, body): &Exported| {
            assert!(head.starts_with("post /v1/metrics ") && head.contains("application/x-protobuf"), "{head}");
            let names = ["lab-proxy", "lab_proxy_requests", "lab_proxy_policy_gauge", "lab_proxy_backend_up"];
            names.iter().all(|name| has(body, name))
        };
        let next = || exports.recv_timeout(PATIENCE).expect("an export");
        let mut export = next();
        // Times are exported once there are some.
        while !(whole(&export) && has(&export.1, "lab_proxy_request_seconds") && has(&export.1, "2xx")) {
            export = next();
        }
        assert!(has(&export.1, &backend.url()));
        proxy.signal("TERM");
        assert!(whole(&next()));
        assert!(proxy.ended().success());
    }

    #[test]
    fn a_collector_that_is_gone_harms_nobody() {
        let settings = json!({"otlp": {"to": "http://127.0.0.1:1", "every": "1s"}, "log": "off"});
        let (_backend, mut proxy) = Proxied::alone(settings);
        assert_eq!(proxy.get("/").status, 200);
        proxy.signal("TERM");
        assert!(proxy.ended().success());
    }

    #[test]
    fn an_address_that_is_none_is_said() {
        for (settings, says) in [("{to: nowhere}", "otlp.to: \"nowhere\" is no URL"), ("{every: 1ms}", "otlp.every")] {
            let folder = tempfile::tempdir().expect("a folder");
            let file = folder.path().join("proxy.yaml");
            let listen = "listen: 127.0.0.1:0";
            std::fs::write(&file, format!("to: [http://127.0.0.1:1]\n{listen}\notlp: {settings}\n")).expect("written");
            let ran = crate::program::lab().args(["proxy", "--config"]).arg(&file).output().expect("it runs");
            let said = String::from_utf8_lossy(&ran.stderr);
            assert!(ran.status.code() == Some(2) && said.contains(says), "{said}");
        }
    }
}

#[cfg(not(feature = "otel"))]
#[test]
fn a_build_without_it_says_so() {
    let flags = ["proxy", "--listen", "127.0.0.1:0", "--to", "http://127.0.0.1:1", "--otlp", "http://127.0.0.1:4318"];
    let ran = crate::program::lab().args(flags).output().expect("it runs");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.code() == Some(2) && said.contains("--features otel"), "{said}");
}
