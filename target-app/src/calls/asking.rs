//! An attempt that asks its sender's own policy, live: the policy may hold it, or send it back for a while.

use std::sync::Arc;

use controllers::Timestamp;
use service_core::calls::{Call, CallMachine, CallStep};
use tokio::{sync::oneshot, time::timeout_at};
use workloads::client::Pass;

use crate::stage::SharedSite;

/// Where the policy's decision about an attempt that it holds goes to: a pass, or none if the attempt is refused.
pub(crate) type Decision = oneshot::Sender<Option<Pass>>;

/// Begins an attempt of a call, and waits while the policy holds it: to [`CallStep::Send`] or [`CallStep::Over`].
///
/// Dropping the future leaves the attempt open: [`CallMachine::abandon`] ends it.
pub(crate) async fn begin<S>(site: &Arc<S>, call: &mut Call) -> CallStep
where
    S: SharedSite<Machine = CallMachine<Decision>>,
{
    let clock = site.shared().clock;
    let limit = clock.instant(call.deadline);
    let mut held = None;
    let mut step = site.with(|machine, now| machine.attempt(call, now, || decision_to(&mut held)));
    loop {
        step = match step {
            CallStep::AskAgain(wait) => {
                let at = clock.now() + wait;
                clock.sleep_until(at.min(call.deadline)).await;
                site.with(|machine, now| match at < call.deadline {
                    true => machine.ask(call, now, || decision_to(&mut held)),
                    false => machine.timed_out(call, now),
                })
            }
            CallStep::Wait => {
                let mut decision = held.take().expect("a call that waits is held");
                match timeout_at(limit, &mut decision).await {
                    Ok(decided) => site.with(|machine, _| machine.resume(call, decided.ok().flatten())),
                    Err(_) => {
                        decision.close();
                        // It may have been let go this very moment.
                        let pass = decision.try_recv().ok().flatten();
                        site.with(|machine, now| {
                            let _ = pass.map(|pass| machine.resume(call, Some(pass)));
                            machine.timed_out(call, now)
                        })
                    }
                }
            }
            step => return step,
        };
    }
}

/// Hands out what the policy has decided about held attempts. Returns when it is due next.
pub(crate) fn hand_out(machine: &mut CallMachine<Decision>, now: Timestamp) -> Option<Timestamp> {
    while let Some((waits, pass)) = machine.decided(now) {
        machine.unused(waits.send(pass).err().flatten(), now);
    }
    machine.next_wake()
}

/// The call waits for the decision at the other end.
fn decision_to(held: &mut Option<oneshot::Receiver<Option<Pass>>>) -> Decision {
    let (decided, decision) = oneshot::channel();
    *held = Some(decision);
    decided
}
