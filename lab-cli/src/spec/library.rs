//! The experiments that come with the program, by id.

/// One experiment of the library.
#[derive(Debug, Clone, Copy)]
pub struct Library {
    /// What `lab run` takes.
    pub id: &'static str,
    /// Whether it is one of the atlas: a paper's result at the paper's own length, with its claims, for virtual time.
    pub atlas: bool,
    /// The experiment that has most of its claims in a short form, to run live.
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
            text: include_str!(concat!("../../../experiments/", $id, ".yaml")),
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
    "overload-sweep" false None;
    "seda-fig7" true None;
    "seda-fig8" true Some("user-ramp");
    "seda-fig9" true Some("per-type");
    "seda-fig10" true Some("flash-crowd");
    "seda-fig11" true Some("per-stage-or-single");
    "seda-fig12" true Some("degrade");
    "seda-fig13" true Some("degrade");
    "seda-fig14" true Some("classes");
    "seda-fig15" true Some("classes");
    "ew-fig3" true Some("flash-crowd");
    "ew-fig4" true Some("degrade");
    "sre-throttle" true None;
    "sre-retry" true None;
    "sre-fig21-1" true None;
    "sre-fig21-2" true None;
    "sre-criticality" true None;
    "sre-quotas" true None;
    "sre-load-average" true None;
    "sre-promise" true None;
    "sre-connections" true None;
    "sre-organic" true None;
    "sre-degraded" true None;
};

impl Library {
    /// All of them.
    pub fn all() -> &'static [Self] {
        ALL
    }

    /// Those of the atlas, in its order.
    pub fn atlas() -> impl Iterator<Item = &'static Self> {
        ALL.iter().filter(|entry| entry.atlas)
    }

    /// By id.
    pub fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|entry| entry.id == name)
    }

    /// Its line about itself.
    pub fn about(&self) -> String {
        let about = super::raw::parse(self.text).ok().and_then(|root| match &root.get("about")?.value {
            super::raw::Value::Text(text) => Some(text.clone()),
            _ => None,
        });
        about.unwrap_or_default()
    }

    /// Every id.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ALL.iter().map(|entry| entry.id)
    }
}
