//! Where the server is, and how one shows who one is.

use std::{
    env, fs,
    net::IpAddr,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use async_nats::ConnectOptions;
use url::Url;

use super::FleetError;

/// Environment variable with a token, or with `USER:PASSWORD`: neither is in a list of processes.
const TOKEN: &str = "LAB_NATS_TOKEN";

/// A server of NATS, as it was named on the command line.
#[derive(Debug, Clone)]
pub struct NatsAccess {
    /// `nats://HOST:PORT`, or `tls://` with TLS.
    pub url: String,
    /// A file with credentials (JWT and seed), the seed of an nkey, a token, or `USER:PASSWORD`.
    pub credentials: Option<PathBuf>,
    /// Neither TLS nor loopback is asked for.
    pub insecure: bool,
}

impl NatsAccess {
    /// The address, if one may send secrets there.
    pub(crate) fn address(&self) -> Result<String, FleetError> {
        let unfit = |why: &str| Err(FleetError::Unfit(format!("--nats {}: {why}", shown(&self.url))));
        let text = if self.url.contains("://") { self.url.clone() } else { format!("nats://{}", self.url) };
        let Ok(url) = Url::parse(&text) else { return unfit("is no address: write nats://127.0.0.1:4222") };
        if !url.username().is_empty() || url.password().is_some() {
            return unfit(&format!("names a secret, which other users of the machine can see: give it in {TOKEN}"));
        }
        let Some(host) = url.host_str().filter(|host| !host.is_empty()) else {
            return unfit("names no host: write nats://127.0.0.1:4222");
        };
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        let near = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
        match url.scheme() {
            "tls" => Ok(text),
            "nats" if near || self.insecure => Ok(text),
            "nats" => unfit("is neither TLS nor this machine: write tls://, or add --insecure-nats"),
            other => unfit(&format!("{other}:// is not known: write nats:// or tls://")),
        }
    }

    /// Options of a connection that shows who one is.
    pub(crate) fn options(&self) -> Result<ConnectOptions, FleetError> {
        let options = ConnectOptions::new();
        let secret = match &self.credentials {
            Some(path) => secret_of(path)?,
            None => env::var(TOKEN).unwrap_or_default(),
        };
        let secret = secret.trim();
        if secret.is_empty() {
            return Ok(options);
        }
        if secret.contains("BEGIN NATS USER JWT") {
            let failed = |_| FleetError::Unfit("--nats-creds: the credentials cannot be read".to_owned());
            // Its last line is a line.
            return options.credentials(&format!("{secret}\n")).map_err(failed);
        }
        if secret.starts_with("SU") && secret.len() == 58 {
            return Ok(options.nkey(secret.to_owned()));
        }
        Ok(match secret.split_once(':') {
            Some((user, password)) => options.user_and_password(user.to_owned(), password.to_owned()),
            None => options.token(secret.to_owned()),
        })
    }
}

/// A secret in a file that nobody else may read.
fn secret_of(path: &Path) -> Result<String, FleetError> {
    let unfit = |why: String| FleetError::Unfit(format!("--nats-creds {}: {why}", path.display()));
    let about = fs::metadata(path).map_err(|error| unfit(error.to_string()))?;
    let mode = about.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(unfit(format!("others may read it (mode {mode:03o}): chmod 600")));
    }
    if !about.is_file() || about.len() > 1 << 16 {
        return Err(unfit("is no file of credentials".to_owned()));
    }
    fs::read_to_string(path).map_err(|error| unfit(error.to_string()))
}

/// The address without what may be a secret.
pub(crate) fn shown(url: &str) -> String {
    match url.rsplit_once('@') {
        Some((_, host)) => format!("...@{host}"),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str, insecure: bool) -> Result<String, String> {
        NatsAccess { url: url.to_owned(), credentials: None, insecure }.address().map_err(|error| error.to_string())
    }

    #[test]
    fn secrets_go_over_tls_or_stay_on_the_machine() {
        for url in ["nats://127.0.0.1:4222", "nats://localhost", "nats://[::1]:4222", "tls://nats.example:4222"] {
            assert_eq!(address(url, false), Ok(url.to_owned()));
        }
        assert_eq!(address("127.0.0.1:4222", false), Ok("nats://127.0.0.1:4222".to_owned()));
        for url in ["nats://nats.example:4222", "nats://10.0.0.1", "nats://localhost.example"] {
            assert!(address(url, false).is_err_and(|why| why.contains("--insecure-nats")), "{url}");
            assert_eq!(address(url, true), Ok(url.to_owned()));
        }
        let told = address("nats://me:hush@127.0.0.1", false).expect_err("a secret");
        assert!(told.contains("LAB_NATS_TOKEN") && !told.contains("hush"), "{told}");
        assert!(address("http://127.0.0.1", false).is_err() && address("nats://", false).is_err());
    }

    #[test]
    fn a_secret_that_others_may_read_is_refused() {
        let folder = std::env::temp_dir().join(format!("lab-creds-{}", std::process::id()));
        fs::write(&folder, "me:hush").expect("written");
        let with = |mode| {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).expect("set");
            secret_of(&folder).map_err(|error| error.to_string())
        };
        let told = with(0o644).expect_err("open to all");
        assert!(told.contains("chmod 600"), "{told}");
        assert_eq!(with(0o600), Ok("me:hush".to_owned()));
        fs::remove_file(&folder).expect("there");
    }
}
