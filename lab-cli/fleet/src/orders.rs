//! A coordinator's side: places work, takes results in order, places again what was lost.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use async_nats::jetstream::{
    context::PublishErrorKind,
    kv::{Entry, Operation, Watch},
};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::{
    AgentNote, Fleet, FleetError,
    envelope::{Envelope, Label},
    presence,
    stores::{Stores, subject},
};

/// The most pieces of work that wait for their results.
const WINDOW: usize = 256;
/// No work is placed that comes so long after the next one whose result is wanted.
const FARTHEST: usize = 1024;
/// Pieces of work that are placed side by side.
const SIDE_BY_SIDE: usize = 32;
/// Between two reports that it goes on.
const TOLD: Duration = Duration::from_millis(200);
/// Without news for so long, it is looked after what waits.
const QUIET: Duration = Duration::from_secs(5);
/// What has a result may be on the queue so long, if somebody does it a second time.
const SETTLED: Duration = Duration::from_secs(2);

/// A piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkOrder {
    /// A digest of all that decides the result, in hexadecimal.
    pub key: String,
    /// What is to be done.
    pub bytes: Vec<u8>,
}

/// What is heard of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkNews {
    /// The next one in order has this result.
    Done(Vec<u8>),
    /// The next one in order was delivered so often, and nobody came to a result.
    GaveUp(i64),
    /// It goes on.
    Waiting,
    /// There was no news for some time, and these agents are there.
    Quiet(Vec<AgentNote>),
    /// The server did not do something, and is asked again.
    Trouble(String),
}

/// A place for work of one version, in a group that is told apart from others.
#[derive(Debug)]
pub struct WorkOrders<'a> {
    fleet: &'a Fleet,
    stores: Stores,
    version: String,
    group: String,
}

/// Work that is under way.
struct UnderWay<'o> {
    order: &'o dyn Fn(usize) -> WorkOrder,
    /// The number by the key.
    open: BTreeMap<String, usize>,
    /// Numbers that could not be placed.
    unplaced: Vec<usize>,
    /// News that wait for an earlier one.
    ready: BTreeMap<usize, WorkNews>,
}

impl Fleet {
    /// A place for work. `version` and `group` are letters and digits; agents of another version get none of it.
    ///
    /// # Errors
    /// The server does not keep it.
    pub fn orders(&self, version: &str, group: &str) -> Result<WorkOrders<'_>, FleetError> {
        let stores = self.runtime.block_on(async {
            let stores = Stores::made(&self.jetstream).await?;
            stores.make_consumer(version).await?;
            Ok::<_, FleetError>(stores)
        })?;
        Ok(WorkOrders { fleet: self, stores, version: version.to_owned(), group: group.to_owned() })
    }
}

impl WorkOrders<'_> {
    /// Has so many pieces of work done, and hears of them in their order. What `order` gives for a number is always the same.
    ///
    /// # Errors
    /// It was stopped; two machines compute differently; or what `heard` returns.
    pub fn all<E: From<FleetError>>(
        &self,
        count: usize,
        order: &dyn Fn(usize) -> WorkOrder,
        stopped: &dyn Fn() -> bool,
        heard: &mut dyn FnMut(WorkNews) -> Result<(), E>,
    ) -> Result<(), E> {
        self.fleet.runtime.block_on(async {
            let done = self.until_done(count, order, stopped, heard).await;
            if done.is_err() {
                // Nobody waits for the rest; a server that is away keeps it, and it is found there later.
                let rest = self.stores.work.purge().filter(self.all_subjects());
                let _ = timeout(SETTLED, rest).await;
            }
            done
        })
    }

    async fn until_done<E: From<FleetError>>(
        &self,
        count: usize,
        order: &dyn Fn(usize) -> WorkOrder,
        stopped: &dyn Fn() -> bool,
        heard: &mut dyn FnMut(WorkNews) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut under_way = UnderWay { order, open: BTreeMap::new(), unplaced: Vec::new(), ready: BTreeMap::new() };
        let mut results = self.results().await?;
        let mut tick = interval(TOLD);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut next, mut wanted, mut news_at) = (0, 0, Instant::now());
        while wanted < count {
            if stopped() {
                return Err(FleetError::Stopped.into());
            }
            // Results that wait for an earlier one are bounded too.
            let most = count.min(wanted + FARTHEST);
            if next < most && under_way.open.len() < WINDOW / 2 {
                let until = most.min(next + WINDOW - under_way.open.len());
                self.place(&mut under_way, (next..until).collect(), true).await.or_else(|error| told(error, heard))?;
                next = until;
            }
            tokio::select! {
                entry = results.next() => match entry {
                    Some(Ok(entry)) => self.take(&mut under_way, &entry.key, &entry).await.or_else(|error| told(error, heard))?,
                    _ => {
                        tick.tick().await;
                        results = match self.results().await {
                            Ok(results) => results,
                            Err(error) => { told(error, heard)?; continue }
                        };
                        news_at = Instant::now().checked_sub(QUIET).unwrap_or(news_at);
                    }
                },
                _ = tick.tick() => {
                    heard(WorkNews::Waiting)?;
                    let again = std::mem::take(&mut under_way.unplaced);
                    self.place(&mut under_way, again, false).await.or_else(|error| told(error, heard))?;
                    if news_at.elapsed() > QUIET {
                        news_at = Instant::now();
                        let open = under_way.open.values().copied().collect();
                        self.place(&mut under_way, open, false).await.or_else(|error| told(error, heard))?;
                        heard(WorkNews::Quiet(presence::agents(&self.stores.agents).await))?;
                    }
                }
            }
            while let Some(news) = under_way.ready.remove(&wanted) {
                heard(news)?;
                (wanted, news_at) = (wanted + 1, Instant::now());
            }
        }
        self.look_at_the_rest(&mut under_way, &mut results).await.or_else(|error| told(error, heard))
    }

    /// Places work, unless it waits already or its result is there. `fresh`: what was given up before is tried once more.
    async fn place(&self, under_way: &mut UnderWay<'_>, numbers: Vec<usize>, fresh: bool) -> Result<(), FleetError> {
        let order = under_way.order;
        let placed = stream::iter(numbers).map(|number| async move {
            let WorkOrder { key, bytes } = order(number);
            let placed = self.place_one(&key, &bytes, fresh).await;
            (number, key, placed)
        });
        let placed: Vec<_> = placed.buffer_unordered(SIDE_BY_SIDE).collect().await;
        let mut failed = None;
        for (number, key, found) in placed {
            under_way.open.insert(key, number);
            let taken = match found {
                Ok(Some(entry)) => self.take(under_way, &entry.key, &entry).await,
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = taken {
                under_way.unplaced.push(number);
                failed = failed.filter(|known| !matches!(known, FleetError::Server(_))).or(Some(error));
            }
        }
        failed.map_or(Ok(()), Err)
    }

    async fn place_one(&self, key: &str, bytes: &[u8], fresh: bool) -> Result<Option<Entry>, FleetError> {
        let failed = "work was not placed";
        let name = self.key(key);
        let entry = self.stores.results.entry(&name).await.map_err(FleetError::of(failed))?;
        if let Some(entry) = entry.filter(|entry| entry.operation == Operation::Put) {
            if !fresh || Envelope::read(&entry.value)?.label.gave_up.is_none() {
                return Ok(Some(entry));
            }
            self.stores.results.purge(&name).await.map_err(FleetError::of(failed))?;
        }
        let label = Label { by: self.fleet.name.clone(), ..Label::default() };
        let message = Envelope::pack(label, bytes, &self.stores.files).await?.written()?;
        let subject = subject(&self.version, &self.group, key);
        let sent = self.fleet.jetstream.publish(subject, message.into()).await.map_err(FleetError::of(failed))?;
        match sent.await {
            Ok(_) => Ok(None),
            // It waits already.
            Err(error) if error.to_string().contains("per subject exceeded") => Ok(None),
            Err(error) if error.kind() == PublishErrorKind::StreamNotFound => {
                // The server has lost all that it kept.
                let stores = Stores::made(&self.fleet.jetstream).await?;
                stores.make_consumer(&self.version).await?;
                Err(FleetError::Server(format!("{failed}: the server had forgotten the queue")))
            }
            Err(error) => Err(FleetError::of(failed)(error)),
        }
    }

    /// Takes a result, and tells two that differ.
    async fn take(&self, under_way: &mut UnderWay<'_>, name: &str, entry: &Entry) -> Result<(), FleetError> {
        let key = name.rsplit('.').next().unwrap_or_default();
        if entry.operation != Operation::Put {
            return Ok(());
        }
        let found = Envelope::read(&entry.value)?;
        if let Some(second) = found.label.other {
            return Err(FleetError::Differ { key: key.to_owned(), first: found.label.by, second });
        }
        let Some(number) = under_way.open.get(key).copied() else { return Ok(()) };
        let news = match found.label.gave_up {
            Some(deliveries) => WorkNews::GaveUp(deliveries),
            None => WorkNews::Done(found.unpack(&self.stores.files).await?),
        };
        under_way.open.remove(key);
        under_way.ready.insert(number, news);
        Ok(())
    }

    /// Waits a moment for what is done a second time: its result may be another.
    async fn look_at_the_rest(&self, under_way: &mut UnderWay<'_>, results: &mut Watch) -> Result<(), FleetError> {
        let failed = "the queue was not looked at";
        let (until, mut quiet) = (Instant::now() + SETTLED, false);
        while Instant::now() < until && !quiet {
            let waiting = self.stores.work.info_builder().subjects(self.all_subjects());
            let mut waiting = waiting.fetch().await.map_err(FleetError::of(failed))?;
            quiet = waiting.try_next().await.map_err(FleetError::of(failed))?.is_none();
            while let Ok(Some(Ok(entry))) = timeout(Duration::from_millis(10), results.next()).await {
                self.take(under_way, &entry.key, &entry).await?;
            }
        }
        Ok(())
    }

    async fn results(&self) -> Result<Watch, FleetError> {
        let all = self.key(">");
        self.stores.results.watch(&all).await.map_err(FleetError::of("results are not sent"))
    }

    fn key(&self, key: &str) -> String {
        format!("{}.{}.{key}", self.version, self.group)
    }

    fn all_subjects(&self) -> String {
        subject(&self.version, &self.group, ">")
    }
}

/// Goes on after what another attempt may mend.
fn told<E: From<FleetError>>(error: FleetError, heard: &mut dyn FnMut(WorkNews) -> Result<(), E>) -> Result<(), E> {
    match error {
        FleetError::Server(why) => heard(WorkNews::Trouble(why)),
        error => Err(error.into()),
    }
}
