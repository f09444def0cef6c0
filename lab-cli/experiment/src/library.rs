//! The experiments that come with the program, by id.

/// One experiment of the library.
#[derive(Debug, Clone, Copy)]
pub struct Library {
    /// Name for `lab run`.
    pub id: &'static str,
    /// True of the atlas: a paper's result at the paper's own length, with its claims, for virtual time.
    pub atlas: bool,
    /// The experiment that has most of its claims in a short form, to run live; its own id where it runs live alone.
    pub short: Option<&'static str>,
    /// The file.
    pub text: &'static str,
}

macro_rules! library {
    ($($id:literal $atlas:literal $short:expr;)*) => {
        &[$(Library {
            id: $id,
            atlas: $atlas,
            short: $short,
            text: include_str!(concat!("../library/", $id, ".yaml")),
        }),*]
    };
}

static ALL: &[Library] = library! {
    "flash-crowd" false None;
    "user-ramp" false None;
    "per-type" false None;
    "per-stage-or-single" false None;
    "degrade" false None;
    "classes" false None;
    "class-queues" false None;
    "overload-sweep" false None;
    "self-throttle" false None;
    "retry-budget" false None;
    "attempts" false None;
    "retry-stack" false None;
    "four-levels" false None;
    "greedy-customer" false None;
    "burst-or-overload" false None;
    "ten-times" false None;
    "batch-proxy" false None;
    "one-slow-task" false None;
    "gold-first" false None;
    "threshold-first" false None;
    "sentry-switch" false None;
    "two-applications" false None;
    "room-bursts" false None;
    "power-peak" false None;
    "compose" false None;
    "paying-first" false None;
    "partial-search" false None;
    "subrequests" false None;
    "metastable" false None;
    "four-policies" false None;
    "noise" false None;
    "what-decides" false None;
    "whose-plant" false None;
    "break-even" false None;
    "gradient2-drifts" false None;
    "lifo-starves" false None;
    "aimd-climbs" false None;
    "vegas-probes" false None;
    "front-doors" false None;
    "pools" false None;
    "batching" false None;
    "older-policies" false None;
    "refusals" false None;
    "upstream" false None;
    "monitor" false None;
    "memory-signal" false None;
    "dagor" false None;
    "server-and-client" false None;
    "harvest" false None;
    "spike-at-one-stage" false None;
    "earlier-controller" false None;
    "cascade" false None;
    "lost-task" false None;
    "balancers" false None;
    "combined-signals" false None;
    "limits-per-criticality" false None;
    "seda-fig7" true Some("spike-at-one-stage");
    "seda-fig8" true Some("user-ramp");
    "seda-fig9" true Some("per-type");
    "seda-fig10" true Some("flash-crowd");
    "seda-fig11" true Some("per-stage-or-single");
    "seda-fig12" true Some("degrade");
    "seda-fig13" true Some("degrade");
    "seda-fig14" true Some("classes");
    "seda-fig15" true Some("classes");
    "ew-fig3" true Some("earlier-controller");
    "ew-fig4" true Some("degrade");
    "sre-throttle" true Some("self-throttle");
    "sre-retry" true Some("retry-budget");
    "sre-fig21-1" true Some("attempts");
    "sre-fig21-2" true Some("retry-stack");
    "sre-criticality" true Some("four-levels");
    "sre-quotas" true Some("greedy-customer");
    "sre-load-average" true Some("burst-or-overload");
    "sre-promise" true Some("ten-times");
    "sre-connections" true Some("batch-proxy");
    "sre-sporadic" true None;
    "sre-organic" true Some("one-slow-task");
    "sre-degraded" true Some("partial-search");
    "webq-fig2" true Some("power-peak");
    "webq-fig3-4" true None;
    "webq-fig3-4-waves" true None;
    "webq-fig6-8" true None;
    "webq-fig9-10" true None;
    "webq-fig9-10-waves" true None;
    "webq-3types" true None;
    "webq-3types-waves" true None;
    "webq-2tiers" true None;
    "webq-change" true None;
    "webq-fig11" true Some("room-bursts");
    "webq-fig12" true None;
    "webq-fig13" true None;
    "sre-health" true None;
    "webq-table1" true Some("webq-table1");
    "script-arashi" false None;
    "sentry-cpu" false None;
    "more-sentries" false None;
    "cat-fig3" true Some("gold-first");
    "cat-fig4" true Some("sentry-cpu");
    "cat-fig5" true Some("threshold-first");
    "cat-switch" true Some("sentry-switch");
    "cat-fig6" true Some("more-sentries");
    "cat-fig7" true Some("two-applications");
    "cat-revenue" true None;
};

macro_rules! suite {
    ($($name:literal $file:literal;)*) => {
        &[$(Library {
            id: concat!("suite/", $name),
            atlas: false,
            short: None,
            text: include_str!(concat!("../library/suite/", $file, ".yaml")),
        }),*]
    };
}

/// Scenarios of the suite.
static SUITE: &[Library] = suite! {
    "step" "01-step";
    "ramp" "02-ramp";
    "mild" "03-mild";
    "retry-storm" "04-retry-storm";
    "brown-out" "05-brown-out";
    "half-capacity" "06-half-capacity";
    "heavy-tail" "07-heavy-tail";
    "two-costs" "08-two-costs";
    "priorities" "09-priorities";
    "greedy-customer" "10-greedy-customer";
    "long-way" "11-long-way";
    "many-clients" "12-many-clients";
    "pauses" "13-pauses";
    "cold-start" "14-cold-start";
    "warm-up" "14b-warm-up";
    "crowd" "15-crowd";
    "impatience" "16-impatience";
    "latency-shift" "17-latency-shift";
    "idle-burst" "18-idle-burst";
    "diurnal" "19-diurnal";
    "degradable" "20-degradable";
    "dear-refusals" "21-dear-refusals";
    "large-service" "22-large-service";
    "slow-service" "23-slow-service";
    "shared-processor" "24-shared-processor";
    "slow-dependency" "25-slow-dependency";
    "four-calls" "26-four-calls";
    "slow-node" "27-slow-node";
    "failing-node" "27b-failing-node";
    "bursts" "28-bursts";
    "token-generation" "29-token-generation";
    "cold-overload" "30-cold-overload";
    "long-overload" "31-long-overload";
    "two-doors" "32-two-doors";
    "eight-doors" "33-eight-doors";
    "two-types" "34-two-types";
};

impl Library {
    /// All of them, without the scenarios of the suite.
    pub fn all() -> &'static [Self] {
        ALL
    }

    /// Iterates over the experiments of the atlas, in its order.
    pub fn atlas() -> impl Iterator<Item = &'static Self> {
        ALL.iter().filter(|entry| entry.atlas)
    }

    /// True if it runs live alone: its claims are about what the generator uses.
    pub fn is_live_only(&self) -> bool {
        self.short == Some(self.id)
    }

    /// Scenarios of the suite, in its order.
    pub fn suite() -> &'static [Self] {
        SUITE
    }

    /// Finds an experiment by id; that of a scenario is `suite/NAME`.
    pub fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().chain(SUITE).find(|entry| entry.id == name)
    }

    /// Line of the file about itself.
    pub fn about(&self) -> String {
        let about = super::raw::parse(self.text).ok().and_then(|root| match &root.get("about")?.value {
            super::raw::Value::Text(text) => Some(text.clone()),
            _ => None,
        });
        about.unwrap_or_default()
    }

    /// Paragraphs at the beginning of its file: its setup, and what is not as in the source.
    pub fn setup(&self) -> Vec<String> {
        let comment = self.text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim);
        let mut paragraphs = vec![String::new()];
        for line in comment {
            let begins = line.is_empty() || line.starts_with("Not in the paper") || line.starts_with("As in the paper");
            if begins && paragraphs.last().is_some_and(|last| !last.is_empty()) {
                paragraphs.push(String::new());
            }
            if let Some(last) = paragraphs.last_mut() {
                last.push_str(if last.is_empty() || line.is_empty() { "" } else { " " });
                last.push_str(line);
            }
        }
        paragraphs.retain(|paragraph| !paragraph.is_empty());
        paragraphs
    }

    /// Every id.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ALL.iter().map(|entry| entry.id)
    }
}
