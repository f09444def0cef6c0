//! A thread that samples something again and again while an arm runs: the newest sample can be taken.

use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// Looks until it is dropped.
#[derive(Debug)]
pub struct Sampler<T> {
    newest: Arc<Mutex<Option<T>>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Sampler<T> {
    /// Begins, with a pause of this length between two looks. One that sees nothing leaves what was seen before.
    ///
    /// # Errors
    /// The machine has no thread left.
    pub fn begin(
        name: &str,
        pause: Duration,
        mut look: impl FnMut() -> Option<T> + Send + 'static,
    ) -> io::Result<Self> {
        let (newest, over) = (Arc::new(Mutex::new(None)), Arc::new(AtomicBool::new(false)));
        let (to, until) = (Arc::clone(&newest), Arc::clone(&over));
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            while !until.load(Ordering::Relaxed) {
                if let Some(seen) = look()
                    && let Ok(mut to) = to.lock()
                {
                    *to = Some(seen);
                }
                thread::park_timeout(pause);
            }
        })?;
        Ok(Self { newest, over, thread: Some(thread) })
    }
}

impl<T> Sampler<T> {
    /// The newest of what was seen, once.
    pub fn take(&self) -> Option<T> {
        self.newest.lock().ok()?.take()
    }
}

impl<T> Drop for Sampler<T> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join(); // a panic there has been printed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Something new, within some seconds.
    fn next<T: Send + 'static>(sampler: &Sampler<T>) -> Option<T> {
        (0..500).find_map(|_| {
            thread::sleep(Duration::from_millis(10));
            sampler.take()
        })
    }

    #[test]
    fn the_newest_is_taken_once_and_nothing_seen_is_nothing_new() {
        let mut looks = 0;
        let sampler = Sampler::begin("sampler", Duration::from_millis(1), move || {
            looks += 1;
            (looks == 3).then_some(looks)
        });
        let sampler = sampler.expect("a thread");
        assert_eq!(next(&sampler), Some(3));
        assert_eq!(sampler.take(), None);
    }

    #[test]
    fn it_ends_at_once_however_long_its_pause_is() {
        let sampler = Sampler::begin("sampler", Duration::from_secs(3600), || Some(())).expect("a thread");
        assert_eq!(next(&sampler), Some(()));
        let began = std::time::Instant::now();
        drop(sampler);
        assert!(began.elapsed() < Duration::from_secs(60));
    }
}
