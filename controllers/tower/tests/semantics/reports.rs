//! Reports between replicas: usage to the machine that divides quotas, and its answers.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use controllers::{Catalogue, Effect, MachineSeat, Next, PeerReport, Place, Seen, Site, SiteId, Timestamp};
use tower::{Layer, ServiceExt, service_fn};
use tower_admission::{AdmissionLayer, RequestTags};

use super::{takes, work};

type Reports = Arc<Mutex<Vec<PeerReport>>>;

fn quota(number: u16, reports: &Reports) -> AdmissionLayer {
    let reports = Arc::clone(reports);
    AdmissionLayer::new("quota")
        .set("report_usage", true)
        .set("report_every", "1s")
        .site(SiteId(number))
        .on_tell(move |report| reports.lock().unwrap_or_else(PoisonError::into_inner).push(report))
}

#[tokio::test(start_paused = true)]
async fn replicas_report_their_usage_and_get_their_parts_of_a_quota() {
    let reports = Reports::default();
    let customer = |_: &http::Request<String>| RequestTags::new().customer(1);
    let [one, two] = [3, 8].map(|number| quota(number, &reports).classify(customer).layer(service_fn(work)));
    for ms in [300, 100] {
        one.clone().oneshot(takes(ms)).await.unwrap();
    }
    two.clone().oneshot(takes(100)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let usage = std::mem::take(&mut *reports.lock().unwrap());
    let who: Vec<_> = usage
        .iter()
        .map(|report| match report {
            PeerReport::Usage { from, customer, .. } => (from.0, *customer),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(who, [(3, 1), (8, 1)]);

    // The machine that divides quotas, in some process.
    let mut divider = divider();
    for report in usage {
        divider.observe(Timestamp::from_secs(1), &Seen::Peer(report));
    }
    let mut parts = 0;
    for second in 2..30 {
        while let Next::Do(Effect::Tell(report)) = divider.poll(Timestamp::from_secs(second)) {
            parts += 1;
            [&one, &two].into_iter().for_each(|service| service.admission().tell(report));
        }
    }
    assert!(parts >= 2, "one for each replica, at least once");

    // A limit of nothing is obeyed by the replica that it is for, once it has spent what it had saved.
    one.admission().tell(PeerReport::Quota { to: SiteId(3), customer: 1, limit: 0.0 });
    two.admission().tell(PeerReport::Quota { to: SiteId(3), customer: 1, limit: 0.0 });
    let mut statuses = Vec::new();
    for (service, ms) in [(&one, 5_000), (&two, 50)] {
        let mut last = 0;
        for _ in 0..20 {
            last = service.clone().oneshot(takes(ms)).await.unwrap().status().as_u16();
        }
        statuses.push(last);
    }
    assert_eq!(statuses, [503, 200]);
}

fn divider() -> MachineSeat {
    let entry = Catalogue::built_in().find("quota-server").unwrap();
    let factory = entry.check(&controllers::Settings::new()).unwrap();
    let objective = controllers::Objective { percentile: 90.0, response_time: Duration::from_secs(1) };
    let site = Site { id: SiteId(0), name: "divider".to_owned(), place: Place::Single, objective };
    MachineSeat::new(SiteId(0), factory.machine(&site).unwrap(), 1, Box::new(()))
}

#[test]
fn reports_that_nobody_gets_are_an_error_that_says_what_to_do() {
    let said = |layer: AdmissionLayer| layer.build().map(|_| ()).unwrap_err().to_string();
    let wrong = said(AdmissionLayer::new("quota").set("report_usage", true));
    assert!(
        wrong.starts_with("quota.report_usage: nobody gets the reports: say with the layer's `on_tell`"),
        "{wrong}"
    );
    let part = tower_admission::policies::Compose::default()
        .limit("vegas")
        .select(tower_admission::policies::Quota::default().report_usage(true));
    assert!(said(AdmissionLayer::new(part)).contains("nobody gets the reports"));
    AdmissionLayer::new("quota").set("report_usage", true).on_tell(drop).build().map(drop).unwrap();
    AdmissionLayer::new("quota").set("report_usage", false).build().map(drop).unwrap();
}
