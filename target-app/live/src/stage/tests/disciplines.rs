//! The catalogue's queue disciplines in a stage with a clock.

use controllers::catalogue::PolicySpec;

use super::*;

fn chosen(name: &str, settings: &[(&str, &str)]) -> Box<dyn Policy> {
    let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
    let resolved = Resolved::new(&PolicySpec { name: name.to_owned(), place: None, settings }).unwrap();
    resolved.factory.policy(&site()).unwrap()
}

#[tokio::test]
async fn jobs_that_waited_too_long_are_refused_when_their_turn_comes() {
    let mut bench = bench(chosen("folly", &[]), spec(1, 100));
    bench.until(|gauges| gauges.idle == 1).await;
    for id in 0..12 {
        bench.stage.enqueue(bench.piece(id, 30)).unwrap();
    }
    let mut said = Vec::new();
    for _ in 0..12 {
        said.push(bench.next().await);
    }
    // Each next one has waited 30 ms longer, far over 5 ms. After an interval of that, of 100 ms, all the rest go.
    let done: Vec<_> = said.iter().filter(|said| matches!(said, Said::Done(_))).collect();
    assert!((2..=8).contains(&done.len()), "{said:?}");
    assert!(done.iter().zip(0..).all(|(said, id)| **said == Said::Done(id)), "in order: {said:?}");
    let late = (0..12).filter(|id| said.contains(&Said::Refused(*id, Reason::Waited))).count();
    assert_eq!(late + done.len(), 12, "{said:?}");
}

#[tokio::test]
async fn a_time_out_does_not_wait_for_a_worker() {
    let mut bench = bench(chosen("lifo", &[("timeout", "40ms"), ("timeout_standing", "40ms")]), spec(1, 100));
    bench.until(|gauges| gauges.idle == 1).await;
    bench.stage.enqueue(bench.piece(0, 400)).unwrap();
    bench.stage.enqueue(bench.piece(1, 1)).unwrap();
    assert_eq!(bench.next().await, Said::Refused(1, Reason::Waited));
    assert_eq!(bench.next().await, Said::Done(0));
    assert_eq!(bench.stage.gauges().refused, 1);
}
