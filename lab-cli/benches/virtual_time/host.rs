//! The bare host: users of one URL, and a world that answers each request after 10 ms of nothing.

use std::time::Duration;

use traces::Think;
use workloads::{
    StopFlag,
    plan::{LoadPlan, Users},
    sim::{ConnId, Cx, LinkSpec, Response, SimClient, SimRequest, SimServer, SynResult, run},
    testing::url_plan,
};

/// Answers after 10 ms.
struct Later;

impl SimServer for Later {
    type Event = ConnId;

    fn begin(&mut self, _: &mut Cx<'_, ConnId>) {}

    fn connect(&mut self, _: ConnId, _: SimClient, _: &mut Cx<'_, ConnId>) -> SynResult {
        SynResult::Taken
    }

    fn ask(&mut self, asked: Box<SimRequest>, cx: &mut Cx<'_, ConnId>) {
        cx.plan(cx.now() + Duration::from_millis(10), asked.conn);
    }

    fn hang_up(&mut self, _: ConnId, _: &mut Cx<'_, ConnId>) {}

    fn happen(&mut self, conn: ConnId, cx: &mut Cx<'_, ConnId>) {
        cx.reply(conn, Response { status: 200, ..Response::default() });
    }
}

/// A thousand users that think for a tenth of a second.
pub fn plan(seconds: u64, users: u32) -> LoadPlan {
    let mut plan = url_plan(&[("all", seconds, users)]);
    if let Users::Url(users) = &mut plan.users {
        users.think = Think::Exponential { mean: Duration::from_millis(100) };
    }
    plan
}

pub fn measure() {
    let plan = plan(60, 1000);
    super::speed("bare host, 1000 users of one URL", || {
        let finished = run(&plan, LinkSpec::default(), &mut Later, |_, _, _| {}, &StopFlag::new()).expect("it runs");
        finished.events
    });
}
