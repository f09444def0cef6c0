//! Commands and configurations with their places filled in.

use std::net::SocketAddr;

/// The text of a configuration with places to fill in, and the name of its file without `.in`: programs go by its ending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template {
    pub name: String,
    pub text: String,
}

/// What stands for the words in braces.
#[derive(Debug, Clone)]
pub struct ProxyPlaces {
    /// `{listen}`, and `{port}` of it.
    pub listen: SocketAddr,
    /// `{upstream}`, host and port of the service, and `{upstream_port}` of it.
    pub upstream: String,
    /// `{admin_port}`, which is free.
    pub admin_port: u16,
    /// `{dir}`, an empty folder.
    pub dir: String,
    /// `{config}`, the file that is filled in; `None`: there is none.
    pub config: Option<String>,
}

/// The words that a proxy is told by where to listen, and where to send requests.
pub(crate) const LISTENS: [&str; 2] = ["{listen}", "{port}"];
pub(crate) const SENDS: [&str; 2] = ["{upstream}", "{upstream_port}"];
/// The word that stands for the file.
pub(crate) const CONFIG: &str = "{config}";

impl ProxyPlaces {
    /// The text with these words filled in, and those of a preset's settings. Every other brace stays.
    pub fn filled<'a>(&self, text: &str, settings: impl Iterator<Item = (&'a String, &'a String)>) -> String {
        let upstream_port = self.upstream.rsplit_once(':').map_or("", |(_, port)| port);
        let words = [
            ("listen", Some(self.listen.to_string())),
            ("port", Some(self.listen.port().to_string())),
            ("upstream", Some(self.upstream.clone())),
            ("upstream_port", Some(upstream_port.to_owned())),
            ("admin_port", Some(self.admin_port.to_string())),
            ("dir", Some(self.dir.clone())),
            ("config", self.config.clone()),
        ];
        let of_settings = settings.map(|(key, value)| (key.as_str(), Some(value.clone())));
        let words: Vec<(&str, Option<String>)> = words.into_iter().chain(of_settings).collect();
        let mut parts = text.split('{');
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let known = part.split_once('}').and_then(|(word, rest)| {
                let (_, value) = words.iter().find(|(name, _)| *name == word)?;
                Some((value.as_ref()?, rest))
            });
            match known {
                Some((value, rest)) => filled.extend([value, rest]),
                None => filled.extend(["{", part]),
            }
        }
        filled
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn places() -> ProxyPlaces {
        ProxyPlaces {
            listen: ([127, 0, 0, 1], 8001).into(),
            upstream: "127.0.0.1:9002".to_owned(),
            admin_port: 7003,
            dir: "/run/{port}".to_owned(),
            config: Some("/run/a b.conf".to_owned()),
        }
    }

    #[test]
    fn these_words_alone_are_filled_in_and_every_other_brace_stays() {
        let text = "server { listen {listen}; if ($x ~ \"^{port}{2,3}$\") {} {{port}} {upstream_port}/{upstream} {admin_port} {other} {dir} {config} {";
        let wanted = "server { listen 127.0.0.1:8001; if ($x ~ \"^8001{2,3}$\") {} {8001} 9002/127.0.0.1:9002 7003 {other} /run/{port} /run/a b.conf {";
        assert_eq!(places().filled(text, BTreeMap::new().iter()), wanted);
    }

    #[test]
    fn settings_of_a_preset_are_words_too() {
        let settings = BTreeMap::from([("rate".to_owned(), "10".to_owned())]);
        assert_eq!(places().filled("{rate}r/s {rates}", settings.iter()), "10r/s {rates}");
        let none = ProxyPlaces { config: None, ..places() };
        assert_eq!(none.filled("{config}", BTreeMap::new().iter()), "{config}");
    }
}
