//! Names in headers, in files and in tables agree.

use std::collections::BTreeSet;

use controllers::{Criticality, Reason};

#[test]
fn every_reason_is_in_the_table_once_under_one_name() {
    let names: BTreeSet<_> = Reason::ALL.iter().map(|reason| reason.name()).collect();
    assert_eq!(names.len(), Reason::ALL.len());
    assert!(Reason::ALL.is_sorted(), "in the order of declaration");
    for reason in Reason::ALL {
        let declared = match reason {
            Reason::Own(own) => panic!("{own:?} is not this crate's"),
            other => format!("{other:?}"),
        };
        assert_eq!(declared.to_lowercase(), reason.name().replace('-', ""));
        assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
    }
    assert_eq!(Reason::ALL.last(), Some(&Reason::Draining), "the last of the declaration");
}

#[test]
fn a_reason_of_a_policy_elsewhere_is_written_as_its_name() {
    const LATE: Reason = Reason::own("surely-late");
    assert_eq!((LATE.name(), serde_json::to_value(LATE).unwrap()), ("surely-late", "surely-late".into()));
}

#[test]
fn a_criticality_has_one_name() {
    for (level, criticality) in Criticality::ALL.into_iter().enumerate() {
        assert_eq!(criticality.level(), level);
        assert_eq!(Criticality::named(criticality.name()), Some(criticality));
        assert_eq!(serde_json::to_value(criticality).unwrap(), criticality.name());
    }
    assert_eq!(Criticality::named("critical"), None);
    assert_eq!(Criticality::default(), Criticality::Critical, "of production jobs");
}
