//! A log that cannot be written.

use crate::proxy::{
    backend::Backend,
    observed::metrics,
    proxied::{Proxied, until},
};

#[test]
fn lines_that_find_no_room_are_counted_and_cost_no_request() {
    const REQUESTS: u32 = 1000;
    /// What is kept until there is room again, bytes.
    const KEPT: u32 = 64 * 1024;
    let backend = Backend::start();
    let (to, path) = (backend.url(), format!("/{}", "a".repeat(200)));
    let proxy = Proxied::on_a_full_disk(&["--to", &to, "--log", "requests", "--metrics", "127.0.0.1:0"]);
    assert!((0..REQUESTS).all(|_| proxy.get(&path).status == 200));
    // A line has the path and more than a hundred bytes beside it.
    let lost = until("lost lines", || {
        let lost = metrics(&proxy)["lab_proxy_log_lines_lost_total"];
        (lost >= f64::from(REQUESTS - KEPT / 300)).then_some(lost)
    });
    assert!(lost <= f64::from(REQUESTS), "{lost}");
    assert_eq!(metrics(&proxy)["lab_proxy_requests_total{outcome=\"served\"}"], f64::from(REQUESTS));
}
