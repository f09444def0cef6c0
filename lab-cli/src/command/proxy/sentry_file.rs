//! `lab proxy --sentry FILE`: Cataclysm's sentry, as the file says.

use controllers::{
    ClassRule,
    catalogue::{Setting, Settings},
};
use serde::Deserialize;
use spec::proxy::{ProxySpec, RequestTypes};

use super::settings_text::yaml;
use crate::exit::Failure;

/// The keys of a sentry's file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SentryFile {
    /// The parameters of the policy `sentry`.
    sentry: Settings,
    /// The rule for a request's class; absent: that of `--config`.
    #[serde(default)]
    class: Option<ClassRule>,
}

/// Puts the file's sentry in place of the policy: before as many servers as there are backends, with a service time for each
/// path.
///
/// # Errors
/// A file that is none, and classes without a rule that finds them.
pub fn seat(name: &str, spec: &mut ProxySpec) -> Result<(), Failure> {
    let SentryFile { sentry: mut settings, class } = yaml(name)?;
    if let Some(class) = class {
        spec.class = class;
    }
    let one_class = settings.get("classes").and_then(Setting::number) == Some(1.0);
    if spec.class == ClassRule::None && !one_class {
        return Err(Failure::usage(format!(
            "{name}: class: nothing says which class a request has: add class: {{header: User-Class}} (or cookie, address, path), \
             or sentry: {{classes: 1}}"
        )));
    }
    let servers = u32::try_from(spec.to.len()).unwrap_or(u32::MAX).max(1);
    settings.entry("servers".to_owned()).or_insert_with(|| servers.into());
    spec.policy.name = "sentry".to_owned();
    spec.policy.place = None;
    spec.policy.settings = settings;
    spec.types = RequestTypes::Path;
    Ok(())
}
