//! What a request says of itself, as far as it is believed.

use std::time::Duration;

use controllers::{Class, Criticality, Tags, Timestamp};

use crate::{
    abi::{Filter, HeaderKind},
    config::TrustedHeaders,
};

/// The attributes of a request that comes now.
pub fn tags(filter: Filter, trust: &TrustedHeaders, now: Timestamp) -> Tags {
    let number = |name: &Option<String>| -> Option<u64> {
        filter.header(HeaderKind::Request, name.as_deref()?, |text| text.trim().parse().ok())?
    };
    let criticality = |name: &str| filter.header(HeaderKind::Request, name, |text| Criticality::named(text.trim()));
    Tags {
        criticality: trust.criticality.as_deref().and_then(criticality).flatten().unwrap_or_default(),
        class: Class(number(&trust.class).and_then(|class| class.try_into().ok()).unwrap_or_default()),
        customer: number(&trust.customer).and_then(|customer| customer.try_into().ok()).unwrap_or_default(),
        attempt: number(&trust.attempt).map_or(0, |attempt| u8::try_from(attempt).unwrap_or(u8::MAX)),
        deadline: number(&trust.timeout_ms).map(|ms| now + Duration::from_millis(ms.min(3_600_000))),
        ..Tags::default()
    }
}
