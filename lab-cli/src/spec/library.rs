//! The experiments that come with the program, by id.

/// One experiment of the library.
#[derive(Debug, Clone, Copy)]
pub struct Library {
    /// What `lab run` takes.
    pub id: &'static str,
    /// Other names of it: ids of the atlas.
    pub aliases: &'static [&'static str],
    /// The file.
    pub text: &'static str,
}

macro_rules! library {
    ($($id:literal $aliases:expr;)*) => {
        &[$(Library {
            id: $id,
            aliases: &$aliases,
            text: include_str!(concat!("../../../experiments/", $id, ".yaml")),
        }),*]
    };
}

static ALL: &[Library] = library! {
    "flash-crowd" ["seda-fig10", "ew-fig3"];
    "user-ramp" ["seda-fig8"];
    "per-type" ["seda-fig9"];
    "per-stage-or-single" ["seda-fig11"];
    "degrade" ["seda-fig12", "seda-fig13", "ew-fig4"];
    "classes" ["seda-fig14", "seda-fig15"];
    "overload-sweep" [];
};

impl Library {
    /// All of them.
    pub fn all() -> &'static [Self] {
        ALL
    }

    /// By id or alias.
    pub fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|entry| entry.id == name || entry.aliases.contains(&name))
    }

    /// Its line about itself.
    pub fn about(&self) -> String {
        let about = super::raw::parse(self.text).ok().and_then(|root| match &root.get("about")?.value {
            super::raw::Value::Text(text) => Some(text.clone()),
            _ => None,
        });
        about.unwrap_or_default()
    }

    /// Every name.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ALL.iter().flat_map(|entry| std::iter::once(entry.id).chain(entry.aliases.iter().copied()))
    }
}
