//! A run as JUnit XML: thresholds and gates as test cases, so that a CI server shows them.
//!
//! There is no standard; this is the form that Jenkins and GitLab document: `testsuites/testsuite/testcase` with `failure`, `error`,
//! `system-out`. A threshold that did not hold is a failure; a finding that makes the run INVALID is an error, since then
//! nothing was measured; a caution is a case that passed and says so.

use maud::{Markup, PreEscaped, html};

use super::RunFiles;
use crate::{
    summary::{GateFinding, ThresholdResult, Validity},
    text::scrubbed,
};

/// The document.
pub fn document(run: &RunFiles) -> String {
    let summary = &run.summary;
    let failed = summary.thresholds.iter().filter(|threshold| threshold.judged && !threshold.held).count();
    let void = summary.reasons.iter().filter(|reason| reason.verdict == Validity::Invalid).count();
    let partial = summary.partial_in_words();
    let gates = summary.reasons.len().max(1) + usize::from(partial.is_some());
    let name = clean(&summary.experiment);
    let markup = html! {
        (PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"))
        testsuites name=(name) tests=(summary.thresholds.len() + gates) failures=(failed) errors=(void) {
            testsuite name={ (name) ": validity" } tests=(gates) failures="0" errors=(void) {
                @if summary.reasons.is_empty() { testcase name=(summary.verdict.word()) classname={ (name) ".validity" } {} }
                @for reason in &summary.reasons { (gate(&name, reason)) }
                @if let Some(partial) = &partial {
                    testcase name="PARTIAL" classname={ (name) ".validity" } { skipped message=(clean(partial)) {} }
                }
            }
            testsuite name={ (name) ": thresholds" } tests=(summary.thresholds.len()) failures=(failed) errors="0" {
                @for threshold in &summary.thresholds { (case(&name, threshold)) }
            }
        }
    };
    format!("{}\n", markup.into_string())
}

fn gate(experiment: &str, reason: &GateFinding) -> Markup {
    let place = if reason.arm.is_empty() { String::new() } else { format!(" ({})", reason.arm) };
    let found = clean(&format!(
        "{} {}: {}; limit: {}. {}",
        reason.verdict.word(),
        reason.message,
        reason.value,
        reason.threshold,
        reason.remedy
    ));
    html! {
        testcase name=(clean(&format!("{}{place}", reason.code))) classname={ (experiment) ".validity" } {
            @if reason.verdict == Validity::Invalid {
                error message=(clean(&reason.value)) type=(clean(&reason.code)) { (found) }
            } @else {
                system-out { (found) }
            }
        }
    }
}

fn case(experiment: &str, threshold: &ThresholdResult) -> Markup {
    let why = clean(&threshold.why);
    html! {
        testcase name=(clean(&threshold.text)) classname={ (experiment) ".thresholds" } {
            @if !threshold.judged {
                skipped message=(why) {}
            } @else if threshold.held {
                system-out { (why) }
            } @else {
                failure message=(why) type="threshold" {
                    @for block in &threshold.blocks { "block " (block.block) ": " (clean(&block.found)) "\n" }
                }
            }
        }
    }
}

/// Without what XML cannot hold at all (its production Char), not even escaped.
fn clean(text: &str) -> String {
    scrubbed(text).replace(['\u{FFFE}', '\u{FFFF}'], "\u{FFFD}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::whole::sample::{hostile, run};

    #[test]
    fn thresholds_and_gates_are_cases() {
        let text = document(&run());
        assert!(text.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"flash-crowd\" tests=\"3\" failures=\"1\" errors=\"0\">"), "{text}");
        assert!(text.contains("<testcase name=\"STEAL (seda)\" classname=\"flash-crowd.validity\"><system-out>WARN"));
        assert!(text.contains("<testcase name=\"seda.spike.response_time.p90 &lt; 2s\""));
        assert_eq!(text.matches("<failure ").count(), 1);
    }

    #[test]
    fn what_is_void_is_an_error_and_its_thresholds_say_nothing() {
        let mut void = run();
        void.summary.reasons[0].verdict = Validity::Invalid;
        void.summary.verdict = Validity::Invalid;
        void.summary.valid = false;
        void.summary.leave_void_unjudged();
        let text = document(&void);
        assert_eq!((text.matches("<error ").count(), text.matches("<skipped ").count()), (1, 2), "{text}");
        assert!(!text.contains("<failure ") && text.contains(" failures=\"0\" "), "{text}");
    }

    #[test]
    fn names_stay_names() {
        let text = document(&hostile("</testcase><x a=\"1\">&\u{1b}\u{ffff}"));
        assert!(
            !text.contains("<x")
                && !text.contains("</testcase><x")
                && !text.contains('\u{1b}')
                && !text.contains('\u{ffff}')
        );
        assert_eq!(text.matches("<testcase ").count(), text.matches("</testcase>").count());
    }
}
