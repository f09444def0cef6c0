//! Boards of loads that several agents send: what each load is, and what agents post of it. Posts stay, for whoever comes later.

use std::{
    fmt,
    time::{Duration, Instant},
};

use async_nats::jetstream::kv::{CreateErrorKind, Operation, Store, Watch};
use futures_util::StreamExt as _;
use tokio::time::{sleep, timeout};

use super::{
    Fleet, FleetError,
    calls::{opened, sealed},
    stores::{LOADS, Stores},
};

/// Between two attempts to post.
const AGAIN: Duration = Duration::from_millis(500);
/// Without a post for so long, all are asked for again.
const QUIET: Duration = Duration::from_secs(5);

/// The board of one load.
#[derive(Debug)]
pub struct LoadBoard<'a> {
    fleet: &'a Fleet,
    loads: Store,
    load: String,
}

/// Posts on a board, as they come.
pub struct BoardPosts<'a> {
    board: &'a LoadBoard<'a>,
    watch: Option<Watch>,
    /// The number of the last post, counted over all boards.
    last: u64,
    since: Instant,
}

impl fmt::Debug for BoardPosts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "posts of {}", self.board.load)
    }
}

impl Fleet {
    /// The board of a load. Its name is of letters, digits, `-` and `_`.
    ///
    /// # Errors
    /// No coordinator has been here, and this is none.
    pub fn board(&self, load: &str) -> Result<LoadBoard<'_>, FleetError> {
        let loads = match self.stores.get() {
            Some(stores) => stores.loads.clone(),
            None => {
                self.runtime.block_on(async { Ok::<_, FleetError>(Stores::there(&self.jetstream).await?.loads) })?
            }
        };
        Ok(LoadBoard { fleet: self, loads, load: load.to_owned() })
    }

    /// Makes what the server keeps, where it is missing: the business of coordinators.
    ///
    /// # Errors
    /// The server does not keep it.
    pub fn make_stores(&self) -> Result<(), FleetError> {
        let stores = self.runtime.block_on(Stores::made(&self.jetstream))?;
        self.stores.get_or_init(|| stores);
        Ok(())
    }
}

impl LoadBoard<'_> {
    /// Says what the load is, once.
    ///
    /// # Errors
    /// It was said before, or the server did not take it.
    pub fn describe(&self, bytes: &[u8]) -> Result<(), FleetError> {
        let Fleet { runtime, jetstream, name, .. } = self.fleet;
        runtime.block_on(async {
            let message = sealed(name, bytes, jetstream).await?;
            match self.loads.create(&self.load, message.into()).await {
                Ok(_) => Ok(()),
                Err(error) if error.kind() == CreateErrorKind::AlreadyExists => {
                    Err(FleetError::Unfit(format!("there is a load {} already", self.load)))
                }
                Err(error) => Err(FleetError::of("the load was not announced")(error)),
            }
        })
    }

    /// What the load is; `None`: there is none of this name, or no more.
    ///
    /// # Errors
    /// The server does not say.
    pub fn description(&self) -> Result<Option<Vec<u8>>, FleetError> {
        let Fleet { runtime, jetstream, .. } = self.fleet;
        runtime.block_on(async {
            let found = self.loads.get(&self.load).await.map_err(FleetError::of("a load is not told"))?;
            match found {
                Some(message) => opened(&message, jetstream).await.map(Some),
                None => Ok(None),
            }
        })
    }

    /// Posts under a name, and tries until the server has it.
    ///
    /// # Errors
    /// It is too long, or the last failure when `given_up` said that it is in vain.
    pub fn post(&self, name: &str, bytes: &[u8], given_up: &dyn Fn(&FleetError) -> bool) -> Result<(), FleetError> {
        let Fleet { runtime, jetstream, name: by, .. } = self.fleet;
        let key = format!("{}.{name}", self.load);
        runtime.block_on(async {
            loop {
                let posted = match sealed(by, bytes, jetstream).await {
                    Ok(message) => {
                        self.loads.put(&key, message.into()).await.map_err(FleetError::of("nothing is posted"))
                    }
                    Err(error) => Err(error),
                };
                match posted {
                    Ok(_) => return Ok(()),
                    Err(error @ FleetError::Unfit(_)) => return Err(error),
                    Err(error) if given_up(&error) => return Err(error),
                    Err(_) => sleep(AGAIN).await,
                }
            }
        })
    }

    /// Takes the load and all posts off the board: they are kept elsewhere.
    ///
    /// # Errors
    /// The server does not do it now; it forgets them in a week.
    pub fn clear(&self) -> Result<(), FleetError> {
        let failed = "a board was not cleared";
        self.fleet.runtime.block_on(async {
            for subject in [format!("$KV.{LOADS}.{}.>", self.load), format!("$KV.{LOADS}.{}", self.load)] {
                self.loads.stream.purge().filter(subject).await.map_err(FleetError::of(failed))?;
            }
            Ok(())
        })
    }

    /// All posts, from the first one.
    pub fn posts(&self) -> BoardPosts<'_> {
        BoardPosts { board: self, watch: None, last: 0, since: Instant::now() }
    }
}

impl BoardPosts<'_> {
    /// The next post within this time: its name, and what it says; each once.
    ///
    /// # Errors
    /// The server does not say now, or a post is none.
    pub fn next(&mut self, wait: Duration) -> Result<Option<(String, Vec<u8>)>, FleetError> {
        let Fleet { runtime, jetstream, .. } = self.board.fleet;
        let until = Instant::now() + wait;
        runtime.block_on(async {
            loop {
                let left = until.saturating_duration_since(Instant::now());
                if self.since.elapsed() > QUIET {
                    self.watch = None;
                }
                let watch = match &mut self.watch {
                    Some(watch) => watch,
                    None => {
                        let all = format!("{}.>", self.board.load);
                        let found = timeout(QUIET, self.board.loads.watch_with_history(&all)).await;
                        let failed = FleetError::of("posts are not told");
                        self.since = Instant::now();
                        self.watch.insert(found.map_err(|_| failed("no answer"))?.map_err(FleetError::of("posts"))?)
                    }
                };
                let Ok(found) = timeout(left, watch.next()).await else { return Ok(None) };
                let Some(Ok(entry)) = found else {
                    self.watch = None;
                    sleep(left.min(AGAIN)).await;
                    return Ok(None);
                };
                self.since = Instant::now();
                let name = entry.key.strip_prefix(&format!("{}.", self.board.load)).unwrap_or_default().to_owned();
                if entry.operation == Operation::Put && entry.revision > self.last {
                    // What cannot be fetched now is told again.
                    let bytes = opened(&entry.value, jetstream).await.inspect_err(|_| self.watch = None)?;
                    self.last = entry.revision;
                    return Ok(Some((name, bytes)));
                }
            }
        })
    }
}
