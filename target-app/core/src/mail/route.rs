//! Addresses, request types, stages, and the weight of each type.

use controllers::Kind;
/// The request types: the nine of the thesis, and the rest. Users use the same numbers.
pub use workloads::mail::REQUEST_TYPES as KINDS;

use super::WorkKnob;
use crate::route::{Route, WorkError};
use spec::{
    WorkSpec,
    graph::{Branch, Graph, Role},
};

/// The cost of each type relative to *show message*: the ratio of their 90th percentiles with 16 users and no control
/// (USITS'03, figure 9: 0.83, 1.73, 2.37, 0.70, 1.00, 1.00, 8.17 s), the only published measure of it. Folders are
/// created and deleted in the stage of delete and refile, and have the same weight here. The rest has weight 0.
const WEIGHTS: [f64; 10] = [1.2, 2.5, 3.4, 1.0, 1.4, 1.4, 11.7, 1.4, 1.4, 0.0];

/// The number of uses of a connection for reading by a request of each type, after its extra operations, which have one
/// use of their own. Where it is 0, the request reads on the connection for changes (plants let it follow the extra
/// operations, on theirs).
const TURNS: [u32; 10] = [1, 1, 2, 2, 0, 0, 2, 0, 2, 0];

/// The service's stages. The paper's six dynamic ones keep the names of their request types; delete, refile, create and
/// delete folder share one (thesis, chapter 6.3).
const STAGES: [(&str, Role); 8] = [
    ("static", Role::Static),
    ("login", Role::Dynamic),
    ("list folders", Role::Dynamic),
    ("list messages", Role::Dynamic),
    ("show message", Role::Dynamic),
    ("modify", Role::Dynamic),
    ("search", Role::Dynamic),
    ("misc", Role::Aside),
];

/// The pages of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    SignIn,
    Login,
    Logout,
    FolderList,
    List,
    Show,
    Attachment,
    Search,
    Delete,
    Refile,
    CreateFolder,
    DeleteFolder,
    Logo,
    Style,
}

impl Page {
    pub fn of(path: &str) -> Option<Self> {
        Some(match path {
            "/" => Self::SignIn,
            "/login" => Self::Login,
            "/logout" => Self::Logout,
            "/folderlist" => Self::FolderList,
            "/list" => Self::List,
            "/show" => Self::Show,
            "/attachment" => Self::Attachment,
            "/search" => Self::Search,
            "/delete" => Self::Delete,
            "/refile" => Self::Refile,
            "/createfolder" => Self::CreateFolder,
            "/deletefolder" => Self::DeleteFolder,
            "/logo.png" => Self::Logo,
            "/style.css" => Self::Style,
            _ => return None,
        })
    }

    /// True if the page changes data, so never by GET.
    pub fn is_post(self) -> bool {
        matches!(
            self,
            Self::Login | Self::Logout | Self::Delete | Self::Refile | Self::CreateFolder | Self::DeleteFolder
        )
    }

    /// The index into [`KINDS`] and into [`STAGES`].
    fn place(self) -> (u16, usize) {
        match self {
            Self::Login => (0, 1),
            Self::FolderList => (1, 2),
            Self::List => (2, 3),
            Self::Show => (3, 4),
            Self::Delete => (4, 5),
            Self::Refile => (5, 5),
            Self::Search => (6, 6),
            Self::CreateFolder => (7, 5),
            Self::DeleteFolder => (8, 5),
            Self::Logo | Self::Style => (9, 0),
            Self::SignIn | Self::Logout | Self::Attachment => (9, 7),
        }
    }

    pub fn kind(self) -> usize {
        usize::from(self.place().0)
    }
}

/// The number of uses of a connection for reading by a request of this type, without that of its extra operations.
#[must_use]
pub fn turns(kind: Kind) -> u32 {
    TURNS.get(usize::from(kind.0)).copied().unwrap_or(0)
}

/// The route of a request for this path.
#[must_use]
pub fn route(path: &str) -> Route {
    let (kind, stage) = Page::of(path).map_or((9, 7), Page::place);
    Route { kind: Kind(kind), branch: Branch(stage) }
}

/// The request types and stages, which are the same for every database.
#[must_use]
pub fn graph() -> Graph {
    Graph::new(&KINDS, &STAGES)
}

/// Sets the work knob.
pub fn set_work(knob: &WorkKnob, work: &WorkSpec) -> Result<(), WorkError> {
    let check = |name: &str, value: f64| {
        if value.is_finite() && value >= 0.0 {
            return Ok(value);
        }
        Err(WorkError::Value { name: name.to_owned(), value })
    };
    let operations = check("operations", work.operations)?;
    let spread = check("spread", work.spread)?;
    let mut weights = WEIGHTS;
    for (name, &weight) in &work.weights {
        let Some(kind) = KINDS.iter().position(|kind| kind == name) else {
            return Err(WorkError::Kind { name: name.clone(), known: KINDS.join(", ") });
        };
        weights[kind] = check(name, weight)?;
    }
    for (kind, weight) in weights.into_iter().enumerate() {
        knob.set(kind, operations * weight);
    }
    knob.set_spread(spread);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_graph_has_the_stages_of_the_paper() {
        let graph = graph();
        assert_eq!(graph.branches().filter(|(_, node)| node.role == Role::Dynamic).count(), 6);
        let stage_of = |path| {
            let Route { kind, branch } = route(path);
            let (_, node) = graph.branches().nth(branch.0).expect("is there");
            (graph.kind_name(kind).to_owned(), node.name.clone())
        };
        assert_eq!(stage_of("/list"), ("list messages".into(), "list messages".into()));
        for (path, kind) in [("/delete", "delete"), ("/refile", "refile"), ("/createfolder", "create folder")] {
            assert_eq!(stage_of(path), (kind.into(), "modify".into()));
        }
        assert_eq!(stage_of("/nothing"), ("other".into(), "misc".into()));
        assert_eq!(stage_of("/logo.png"), ("other".into(), "static".into()));
    }

    #[test]
    fn wrong_work_is_named() {
        let knob = WorkKnob::default();
        let work = |operations, name: &str, weight| WorkSpec {
            operations,
            weights: [(name.to_owned(), weight)].into(),
            spread: 0.0,
        };
        assert_eq!(set_work(&knob, &work(2.0, "search", 0.5)), Ok(()));
        assert!(matches!(set_work(&knob, &work(f64::NAN, "search", 1.0)), Err(WorkError::Value { .. })));
        assert!(matches!(set_work(&knob, &work(1.0, "search", -1.0)), Err(WorkError::Value { .. })));
        let unknown = set_work(&knob, &work(1.0, "serach", 1.0)).expect_err("is refused").to_string();
        assert!(unknown.contains("serach") && unknown.contains("show message"), "{unknown}");
    }
}
