//! Questions to agents by name, each with its answer. They are in no store: an agent that is not there hears none.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, future::join_all};
use tokio::{
    task::{JoinHandle, spawn_blocking},
    time::{sleep, timeout},
};

use super::{
    Fleet, FleetError,
    envelope::{Envelope, Label},
    stores::Stores,
};

/// Between two attempts to hear questions.
const AGAIN: Duration = Duration::from_millis(300);

/// An answer, and when it was asked for and heard by this machine's clock.
#[derive(Debug, Clone)]
pub struct CallAnswer {
    /// What was answered.
    pub bytes: Vec<u8>,
    /// When the question left.
    pub asked: Instant,
    /// When the answer came.
    pub heard: Instant,
}

/// An agent's answers, given as long as this lives.
#[derive(Debug)]
pub struct CallService(JoinHandle<()>);

impl Fleet {
    /// Answers questions to an agent of this name, each on a thread of its own.
    pub fn answer_calls(&self, answer: impl Fn(Vec<u8>) -> Vec<u8> + Send + Sync + 'static) -> CallService {
        let (client, jetstream, name) = (self.client.clone(), self.jetstream.clone(), self.name.clone());
        let answer = Arc::new(answer);
        CallService(self.runtime.spawn(async move {
            loop {
                let Ok(mut questions) = client.subscribe(subject(&name)).await else {
                    sleep(AGAIN).await;
                    continue;
                };
                while let Some(question) = questions.next().await {
                    let Some(reply) = question.reply else { continue };
                    let (client, jetstream, name) = (client.clone(), jetstream.clone(), name.clone());
                    let answer = Arc::clone(&answer);
                    tokio::spawn(async move {
                        // What is no question of ours is not answered.
                        let Ok(bytes) = opened(&question.payload, &jetstream).await else { return };
                        let Ok(bytes) = spawn_blocking(move || answer(bytes)).await else { return };
                        if let Ok(sent) = sealed(&name, &bytes, &jetstream).await {
                            let _ = client.publish(reply, sent.into()).await;
                        }
                    });
                }
            }
        }))
    }

    /// Asks agents at once, each its own question, and waits so long for an answer of each.
    pub fn call(
        &self,
        agents: &[String],
        question: &dyn Fn(usize) -> Vec<u8>,
        wait: Duration,
    ) -> Vec<Result<CallAnswer, FleetError>> {
        let one = |(number, agent): (usize, &String)| {
            let (agent, question) = (agent.clone(), question(number));
            async move { self.ask(&agent, &question, wait).await }
        };
        self.runtime.block_on(join_all(agents.iter().enumerate().map(one)))
    }

    async fn ask(&self, agent: &str, question: &[u8], wait: Duration) -> Result<CallAnswer, FleetError> {
        let sent = sealed(&self.name, question, &self.jetstream).await?;
        let asked = Instant::now();
        let request = self.client.request(subject(agent), sent.into());
        let failed = |why: &str| FleetError::Server(format!("agent {agent} does not answer: {why}"));
        let heard = timeout(wait, request).await.map_err(|_| failed("it was given time enough"))?;
        let message = heard.map_err(|error| failed(&error.to_string()))?;
        let heard = Instant::now();
        Ok(CallAnswer { bytes: opened(&message.payload, &self.jetstream).await?, asked, heard })
    }
}

impl Drop for CallService {
    fn drop(&mut self) {
        self.0.abort();
    }
}

pub(crate) fn subject(agent: &str) -> String {
    format!("lab.agent.{agent}")
}

/// Long ones go through the store of files.
pub(crate) async fn sealed(
    by: &str,
    bytes: &[u8],
    jetstream: &async_nats::jetstream::Context,
) -> Result<Vec<u8>, FleetError> {
    let label = Label { by: by.to_owned(), ..Label::default() };
    if bytes.len() <= Envelope::INLINE {
        return Envelope { label, bytes: bytes.to_vec() }.written();
    }
    Envelope::pack(label, bytes, &Stores::there(jetstream).await?.files).await?.written()
}

pub(crate) async fn opened(message: &[u8], jetstream: &async_nats::jetstream::Context) -> Result<Vec<u8>, FleetError> {
    let envelope = Envelope::read(message)?;
    match envelope.label.stored {
        None => Ok(envelope.bytes),
        Some(_) => envelope.unpack(&Stores::there(jetstream).await?.files).await,
    }
}
