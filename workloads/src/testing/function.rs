use std::time::Duration;

use controllers::Timestamp;

use crate::{
    crowd_error::CrowdError,
    host::StopFlag,
    measure::{Report, Window},
    persona::Call,
    plan::LoadPlan,
    sim::{self, ConnId, Cx, Identity, LinkSpec, Response, SimClient, SimRequest, SimServer, SynResult, identity_of},
};

/// The reaction of a service to a request.
#[derive(Debug, Clone)]
pub enum Reaction {
    /// Answers after this time.
    Answer(Duration, Response),
    /// Never answers.
    Silence,
}

/// Runs a plan against a service that is a function of user number, request and time, with a link that takes no time.
///
/// # Errors
/// If the users of the plan cannot be made.
pub fn run(
    plan: &LoadPlan,
    on_window: impl FnMut(Window),
    service: impl FnMut(u64, &Call, Timestamp) -> Reaction,
) -> Result<Report, CrowdError> {
    run_where(plan, |_| true, on_window, service)
}

/// The same run, where some users find no connection.
///
/// # Errors
/// If the users of the plan cannot be made.
pub fn run_where(
    plan: &LoadPlan,
    connects: impl Fn(u64) -> bool,
    mut on_window: impl FnMut(Window),
    service: impl FnMut(u64, &Call, Timestamp) -> Reaction,
) -> Result<Report, CrowdError> {
    let link = LinkSpec { delay: Duration::ZERO, ..LinkSpec::default() };
    let mut world = Function { connects, service };
    let finished = sim::run(plan, link, &mut world, |window, _, _| on_window(window), &StopFlag::new())?;
    Ok(finished.report)
}

/// An answer that is under way.
struct Reply(ConnId, Response);

impl Identity for Reply {
    fn identity(&self) -> u64 {
        identity_of(0, &[self.0.identity(), self.1.identity()])
    }
}

struct Function<C, S> {
    connects: C,
    service: S,
}

impl<C: Fn(u64) -> bool, S: FnMut(u64, &Call, Timestamp) -> Reaction> SimServer for Function<C, S> {
    type Event = Reply;

    fn begin(&mut self, _: &mut Cx<'_, Self::Event>) {}

    fn connect(&mut self, _: ConnId, client: SimClient, _: &mut Cx<'_, Self::Event>) -> SynResult {
        if (self.connects)(client.user) { SynResult::Taken } else { SynResult::Dropped }
    }

    fn ask(&mut self, asked: Box<SimRequest>, cx: &mut Cx<'_, Self::Event>) {
        match (self.service)(asked.user, &asked.call, cx.now()) {
            Reaction::Answer(after, response) => cx.plan(cx.now() + after, Reply(asked.conn, response)),
            Reaction::Silence => {}
        }
    }

    fn hang_up(&mut self, _: ConnId, _: &mut Cx<'_, Self::Event>) {}

    fn happen(&mut self, Reply(conn, response): Reply, cx: &mut Cx<'_, Self::Event>) {
        cx.reply(conn, response);
    }
}
