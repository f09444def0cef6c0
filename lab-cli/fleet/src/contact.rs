//! Contact with agents: each is asked the same again and again, which tells it that somebody cares, and us that it is there.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio::{
    task::JoinHandle,
    time::{interval, timeout},
};

use super::{
    CallAnswer, Fleet,
    calls::{opened, sealed, subject},
};

/// Contact as long as this lives.
#[derive(Debug)]
pub struct Contact {
    last: Arc<Mutex<Vec<Option<CallAnswer>>>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Fleet {
    /// Asks each of these agents once in so long, whether or not it answers.
    pub fn keep_contact(&self, agents: &[String], question: Vec<u8>, every: Duration) -> Contact {
        let last = Arc::new(Mutex::new(vec![None; agents.len()]));
        let question = Arc::new(question);
        let tasks = agents.iter().enumerate().map(|(number, agent)| {
            let (client, jetstream, by) = (self.client.clone(), self.jetstream.clone(), self.name.clone());
            let (last, question, subject) = (Arc::clone(&last), Arc::clone(&question), subject(agent));
            self.runtime.spawn(async move {
                let mut tick = interval(every);
                loop {
                    tick.tick().await;
                    let Ok(sent) = sealed(&by, &question, &jetstream).await else { continue };
                    let asked = Instant::now();
                    let Ok(Ok(message)) = timeout(every, client.request(subject.clone(), sent.into())).await else {
                        continue;
                    };
                    let heard = Instant::now();
                    let Ok(bytes) = opened(&message.payload, &jetstream).await else { continue };
                    if let Ok(mut last) = last.lock() {
                        last[number] = Some(CallAnswer { bytes, asked, heard });
                    }
                }
            })
        });
        Contact { tasks: tasks.collect(), last }
    }
}

impl Contact {
    /// The last answer of an agent.
    pub fn last(&self, number: usize) -> Option<CallAnswer> {
        self.last.lock().ok()?.get(number)?.clone()
    }
}

impl Drop for Contact {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}
