//! Requests pages of a service, and measures how fast it answers.

use std::{
    collections::BTreeSet,
    io,
    sync::atomic::{AtomicU32, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::run::{Door, HttpAnswer, KeptConnection, get_page};

/// The most requests that are sent one after the other in a round.
const ALONE: usize = 40;
/// Rounds, each of requests alone and of several clients at once: one of them may meet a pause of the service.
const ROUNDS: u32 = 3;
/// Clients that ask at once in a round, few and many (who has a short queue of connections is slow with many), the most requests that they
/// send, and the longest time that they may take.
const CROWDS: [usize; 2] = [4, 16];
const CROWDED: usize = 300;
const LASTS: Duration = Duration::from_secs(2);
/// Rounds that differ by more than this share of their median are said to.
const DIFFER: f64 = 0.25;

/// A service that can be probed.
#[derive(Debug, Clone, Copy)]
pub struct ServiceProbe<'a> {
    pub door: &'a Door,
    pub headers: &'a [(String, String)],
    pub patience: Duration,
}

/// The speed of a service.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeenSpeed {
    /// Mean time of a request alone.
    pub alone: Duration,
    /// Requests a second, by one client or by several at once, whichever is more: the median of the rounds.
    pub per_second: f64,
    /// The slowest and the fastest round.
    pub range: (f64, f64),
}

impl SeenSpeed {
    /// The estimated number of requests that the service works on at once.
    pub fn at_once(&self) -> u32 {
        (self.per_second * self.alone.as_secs_f64()).round().clamp(1.0, 1024.0) as u32
    }

    /// Rounds differ by so much that none of them is the service's speed.
    pub fn is_doubtful(&self) -> bool {
        self.range.1 - self.range.0 > DIFFER * self.per_second
    }

    fn of_rounds(mut alone: Vec<Duration>, mut rates: Vec<f64>) -> Self {
        alone.sort_unstable();
        rates.sort_by(f64::total_cmp);
        let middle = rates.len() / 2;
        Self { alone: alone[middle], per_second: rates[middle], range: (rates[0], rates[rates.len() - 1]) }
    }
}

impl ServiceProbe<'_> {
    pub fn get(&self, path: &str) -> io::Result<HttpAnswer> {
        get_page(self.door, path, self.headers, self.patience)
    }

    /// Requests these pages in turn.
    pub fn speed(&self, paths: &[String]) -> io::Result<SeenSpeed> {
        let rounds = (0..ROUNDS).map(|_| self.round(paths)).collect::<io::Result<Vec<_>>>()?;
        let (alone, rates) = rounds.into_iter().unzip();
        Ok(SeenSpeed::of_rounds(alone, rates))
    }

    /// The mean time alone, and requests a second.
    fn round(&self, paths: &[String]) -> io::Result<(Duration, f64)> {
        let rate = |(answered, took): (u32, Duration)| f64::from(answered.max(1)) / took.as_secs_f64().max(1e-6);
        let alone = rate(self.asked(paths, 1, ALONE)?);
        let crowds = CROWDS.map(|clients| self.asked(paths, clients, CROWDED).map(rate));
        let most = crowds.into_iter().try_fold(alone, |most, crowd| Ok::<_, io::Error>(most.max(crowd?)))?;
        Ok((Duration::from_secs_f64(1.0 / alone), most))
    }

    /// Answers to so many clients, each of which asks again at once on a connection that it keeps, and the time that they took.
    fn asked(&self, paths: &[String], clients: usize, most: usize) -> io::Result<(u32, Duration)> {
        let clients = (0..clients).map(|_| KeptConnection::new(self.door, self.headers));
        let clients = clients.collect::<io::Result<Vec<_>>>()?;
        let (asked, answered) = (&AtomicUsize::new(0), &AtomicU32::new(0));
        let began = Instant::now();
        thread::scope(|scope| {
            for client in clients {
                scope.spawn(move || {
                    while began.elapsed() < LASTS {
                        let number = asked.fetch_add(1, Ordering::Relaxed);
                        if number >= most {
                            return;
                        }
                        let got = client.get(&paths[number % paths.len()], self.patience);
                        answered.fetch_add(u32::from(got.is_ok_and(|status| status < 500)), Ordering::Relaxed);
                    }
                });
            }
        });
        Ok((answered.load(Ordering::Relaxed), began.elapsed()))
    }
}

/// The paths of this service that a page links to, in order and without repetition.
pub fn links(page: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for quote in ["href=\"/", "href='/"] {
        for rest in page.split(quote).skip(1) {
            let Some(end) = rest.find(['"', '\'', '#', '<', '>']) else { continue };
            let path = format!("/{}", rest[..end].replace("&amp;", "&"));
            let plain = path.bytes().all(|byte| byte.is_ascii_graphic()) && !path.starts_with("//");
            // A link may sign somebody out, and is then not followed.
            let harmless =
                !["logout", "signout", "delete", "remove"].iter().any(|word| path.to_lowercase().contains(word));
            if plain && harmless && seen.insert(path.clone()) {
                found.push(path);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_the_same_service_are_followed_and_none_that_changes_something() {
        let page = r#"<a href="/a?x=1&amp;y=2">a</a> <a href='/b#top'> <a href="//else/c"> <a href="http://else/d">
            <a href="/logout"> <a href="/a?x=1&amp;y=2"> <a href="/Delete/7"> <a href="/"#;
        assert_eq!(links(page), ["/a?x=1&y=2", "/b"]);
    }

    #[test]
    fn what_is_worked_on_at_once_is_rate_times_time() {
        let alone = [30, 20, 90].map(Duration::from_millis).to_vec();
        let seen = SeenSpeed::of_rounds(alone, vec![133.0, 120.0, 140.0]);
        assert_eq!((seen.at_once(), seen.range, seen.is_doubtful()), (4, (120.0, 140.0), false));
        let torn = SeenSpeed::of_rounds(vec![Duration::ZERO; 3], vec![62.0, 224.0, 177.0]);
        assert_eq!((torn.per_second, torn.is_doubtful()), (177.0, true));
    }
}
