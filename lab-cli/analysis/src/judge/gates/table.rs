//! All gates, as `docs/validity.md` shows them.

use std::fmt::Write as _;

use crate::summary::Verdict::{self, Invalid, Unstable, Warn};

/// One gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gate {
    /// As in `reasons[].code`.
    pub code: &'static str,
    /// What it may say.
    pub verdicts: &'static [Verdict],
    /// What it finds.
    pub finds: &'static str,
    /// From where on.
    pub limit: &'static str,
    /// The way out.
    pub remedy: &'static str,
}

const fn gate(
    code: &'static str,
    verdicts: &'static [Verdict],
    finds: &'static str,
    limit: &'static str,
    remedy: &'static str,
) -> Gate {
    Gate { code, verdicts, finds, limit, remedy }
}

/// In the order of `docs/validity.md`: the books, the load, the generator, the machine, the service, comparisons.
pub const GATES: [Gate; 35] = [
    gate(
        "LEDGER",
        &[Invalid],
        "a request that is not accounted for exactly once, by the clients, by the service, or between the two",
        "sums exactly equal; both sides to 0.1 %, and to the last request where each was numbered and the kernel may hold some",
        "report it with the results folder; where something else talks to the service, stop that",
    ),
    gate(
        "EMPTY",
        &[Invalid],
        "nothing was sent: no request was due, or none got a connection",
        "1 request",
        "see whether the service is up; look for an earlier error; make phases longer",
    ),
    gate(
        "BOOKS",
        &[Invalid],
        "the generator's own counts contradict each other",
        "exactly equal",
        "report it with the results folder",
    ),
    gate(
        "LITTLE",
        &[Invalid],
        "the mean number in flight is not the rate times the time (Little's law)",
        "5 %",
        "report it with the results folder",
    ),
    gate(
        "HDR",
        &[Invalid],
        "times beyond the range of the histograms, which is twice the time-out",
        "0",
        "see whether the time-out is right",
    ),
    gate("PANIC", &[Invalid], "a part of the lab or the service failed", "0", "report it with the results folder"),
    gate(
        "JOBS",
        &[Invalid],
        "a policy's site was told of the start or the end of a job that was not in flight there: told twice, or never admitted",
        "0",
        "report it with the results folder",
    ),
    gate(
        "MODEL",
        &[Warn],
        "a closed load under overload: users who wait do not ask",
        "5 % not served in time",
        "read it as a fixed number of users, or declare closed-overload",
    ),
    gate(
        "CAP",
        &[Warn],
        "the generator had no room for more users: an open load has become a closed one",
        "not once",
        "raise the limit on open files, shorten the time-out, lower the load",
    ),
    gate(
        "ARRIVALS",
        &[Warn],
        "users that were to come independently came too evenly or in bunches (variance over mean in windows of 100 ms)",
        "0.60 to 1.54 for 100 windows; one sound arm in a thousand is outside",
        "mend LAG or HICCUP if found too; else another seed",
    ),
    gate(
        "SAMPLES",
        &[Warn],
        "too few response times in the busiest phase for the percentile that the objective is about",
        "6, 29, 59, 299 and 2995 for the 50th, 90th, 95th, 99th and 99.9th",
        "a longer phase",
    ),
    gate(
        "WALK",
        &[Warn],
        "pages did not offer what users drew from their model: they listed messages instead, and walked another mix; or that grew on the way, as mailboxes ran empty",
        "5 % of what was drawn; 5 points more at the end than at the beginning",
        "read the mix that was walked (`walk` in `summary.json`); a shorter run, or more mail (`target.mail.inbox`)",
    ),
    gate(
        "WARM-UP",
        &[Warn, Invalid],
        "a phase that is read as a steady state begins otherwise than it goes on (MSER), or goes on changing",
        "10 %; void if more than half is warm-up and the file says `steady: true`",
        "a phase of its own for the warm-up; `steady: false` where that is the subject",
    ),
    gate(
        "UNSENT",
        &[Invalid],
        "planned requests that were never sent",
        "0.1 %",
        "lower the load; look at CPU and FILES",
    ),
    gate(
        "LAG",
        &[Invalid],
        "requests left later than planned",
        "p99: 5 % of the objective, at least 2 ms; p99.9: 10 %, at least 4 ms",
        "fewer users, no other programs, `--no-tui`",
    ),
    gate(
        "CPU",
        &[Invalid],
        "the generator nearly filled its processor",
        "70 %",
        "lower the load, or raise the work a request",
    ),
    gate(
        "CROWDED",
        &[Warn, Invalid],
        "the sender was ready and waited for its processor",
        "1 % of the time; INVALID only if it is over 1 % with 25 µs allowed for each wake-up too, and the waits add over 5 % to the median response time or LAG is found",
        "stop other programs, `--no-tui`",
    ),
    gate(
        "HICCUP",
        &[Invalid],
        "the generator paused",
        "a quarter of the objective, at least 25 ms; one wake-up in a thousand: 5 %, at least 5 ms",
        "a quieter machine",
    ),
    gate(
        "GAP",
        &[Warn, Invalid],
        "generator or machine stood still; a caution where it is the service's process",
        "1 s; 100 ms of sleep",
        "a quiet machine that stays awake",
    ),
    gate(
        "FILES",
        &[Warn, Invalid],
        "the generator ran out of descriptors, or came close",
        "0; 64 spare",
        "`ulimit -n`, fewer users",
    ),
    gate(
        "PORTS",
        &[Invalid],
        "the generator ran out of local ports",
        "0",
        "more source addresses (`sources`), kept connections",
    ),
    gate(
        "MEMORY",
        &[Invalid],
        "the generator ran out of memory for answers (256 MiB for all of those under way that users read)",
        "0",
        "fewer users, smaller answers",
    ),
    gate(
        "HEADROOM",
        &[Invalid],
        "generator and machine cannot do much more than was asked of them, measured against a service that does nothing",
        "twice the busiest second; p99 a tenth of the objective",
        "lower the load, a quieter machine",
    ),
    gate(
        "STEAL",
        &[Warn, Invalid],
        "the machine's own host took its processors away",
        "0.5 %, void above 2 %",
        "another time, or a machine of your own",
    ),
    gate(
        "NOISE",
        &[Warn, Invalid],
        "other programs ran on the processors of generator and service; a caution where it was the kernel's own threads",
        "3 % of one; 5 % by the kernel's",
        "stop them",
    ),
    gate("PAGING", &[Warn], "the generator waited for pages from a disk", "0", "free memory"),
    gate(
        "CLOCK",
        &[Warn],
        "the wall clock was set, clocks ran apart, or the kernel's clock is a slow one or changed",
        "10 ms; 500 millionths",
        "let the clock be kept by small corrections",
    ),
    gate(
        "DRIFT",
        &[Warn],
        "the service's processor did the same work faster for one arm than for another of its block, or in one half of an arm than in the other",
        "10 %",
        "more blocks, a quieter machine",
    ),
    gate(
        "BACKLOG",
        &[Warn, Invalid],
        "the kernel dropped connections that the policy was meant to decide about; a caution where its counters cannot be read",
        "0, unless the policy works at accept or the file declares kernel-backlog",
        "a longer backlog, fewer new connections",
    ),
    gate(
        "RENEWAL",
        &[Warn],
        "a phase did not begin with a fresh policy, though it was to",
        "every phase with fresh_policy",
        "read such phases as one long run",
    ),
    gate(
        "TOUCHED",
        &[Warn],
        "a person changed the run while it went on: from then on it is another experiment: left out of comparisons and curves; thresholds are judged as they stand",
        "nothing",
        "run it again without a touch",
    ),
    gate(
        "EXCLUDED",
        &[Warn],
        "the machine spoiled a block (STEAL, NOISE or GAP made an arm INVALID): it is left out of comparisons, thresholds and curves, and the run stands",
        "20 % of the blocks; with more, or for another reason, the run is INVALID",
        "a quieter machine",
    ),
    gate(
        "UNSTABLE",
        &[Unstable],
        "requests in flight grew all the time: a finding about the service, whose percentiles depend on how long it was watched",
        "1 % of what comes, and no chance (Mann and Kendall, 1 %)",
        "read growth and goodput",
    ),
    gate(
        "A/A",
        &[Invalid],
        "two arms that are the same came out different",
        "the verdict of the comparison",
        "repeat on a quiet machine",
    ),
    gate(
        "POWER",
        &[Warn],
        "the noise between two arms that are the same is larger than the margin: nothing can come out equivalent",
        "compare.margin",
        "more blocks, longer phases, a larger margin",
    ),
];

/// As a table in Markdown.
pub fn as_markdown() -> String {
    let mut text = "| code | verdict | finds | limit | way out |\n|---|---|---|---|---|\n".to_owned();
    for Gate { code, verdicts, finds, limit, remedy } in GATES {
        let words: Vec<&str> = verdicts.iter().map(|verdict| verdict.word()).collect();
        let _ = writeln!(text, "| `{code}` | {} | {finds} | {limit} | {remedy} |", words.join(", "));
    }
    text
}
