//! An attempt that asks its sender's own policy, live: the policy may hold it, or send it back for a while.

use std::sync::Arc;

use controllers::{Timestamp, UnixSeconds};
use service_core::calls::{Call, CallMachine, CallStep};
use tokio::{sync::oneshot, time::timeout_at};
use workloads::client::Pass;

use crate::{
    clock::ServiceClock,
    stage::{Shared, SharedSite, keep_time, spawn},
};

/// Where the policy's decision about an attempt that it holds goes to: a pass, or none if the attempt is refused.
pub(crate) type Decision = oneshot::Sender<Option<Pass>>;

/// The machine of calls, shared by the tasks that make them.
#[derive(Debug)]
pub struct CallSite(Shared<CallMachine<Decision>>);

impl CallSite {
    /// Needs a runtime: a policy may be put in place later, and its timer runs from now on.
    pub fn new(machine: CallMachine<Decision>, clock: ServiceClock) -> Arc<Self> {
        let site = Arc::new(Self(Shared::new(machine, clock)));
        spawn(keep_time(Arc::downgrade(&site)));
        site
    }
}

impl SharedSite for CallSite {
    type Machine = CallMachine<Decision>;
    type Wants = ();

    fn shared(&self) -> &Shared<Self::Machine> {
        &self.0
    }

    fn set_wall(machine: &mut Self::Machine, wall: UnixSeconds) {
        machine.set_wall(wall);
    }

    /// Hands out what the policy has decided about held calls.
    fn poll(self: &Arc<Self>, machine: &mut Self::Machine, now: Timestamp) -> ((), Option<Timestamp>) {
        while let Some((waits, pass)) = machine.decided(now) {
            machine.unused(waits.send(pass).err().flatten(), now);
        }
        ((), machine.next_wake())
    }

    fn carry_out(self: &Arc<Self>, (): ()) {}
}

/// Begins an attempt of a call, and waits while the policy holds it: to [`CallStep::Send`] or [`CallStep::Over`].
///
/// Dropping the future leaves the attempt open: [`CallMachine::abandon`] ends it.
pub async fn begin(site: &Arc<CallSite>, call: &mut Call) -> CallStep {
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

/// The call waits for the decision at the other end.
fn decision_to(held: &mut Option<oneshot::Receiver<Option<Pass>>>) -> Decision {
    let (decided, decision) = oneshot::channel();
    *held = Some(decision);
    decided
}
