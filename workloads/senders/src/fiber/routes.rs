use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use controllers::{Class, seed_for};
use workloads::{
    balance::{LOAD_METRICS, LoadReport, Per, Picker},
    plan::{LoadPlan, TaskList},
};

use crate::{
    addresses::Addresses,
    http1::{HEADERS_MAX, Inbox},
};

/// The destinations of requests and connections.
///
/// No process stands between users and the tasks of a service: the generator itself chooses a task for each request or
/// connection, like a balancer without cost.
#[derive(Debug, Clone)]
pub(super) enum Routes {
    /// All go to one host.
    One(Arc<Addresses>),
    /// By class, the first match.
    Entries(Arc<[ServiceRoute]>),
}

/// The tasks of a service.
#[derive(Debug)]
pub(super) struct ServiceRoute {
    service: Arc<str>,
    class: Option<Class>,
    per: Per,
    list: TaskList,
    balanced: Arc<Mutex<Balanced>>,
}

/// The balancer of a service's tasks, as of a version of their list.
#[derive(Debug)]
struct Balanced {
    picker: Picker,
    tasks: Vec<Option<SocketAddr>>,
    version: u64,
}

/// The destination of a request.
#[derive(Debug)]
pub(super) enum Destination {
    /// The peer of its connection: requests are not balanced.
    OfConnection,
    /// This task.
    Task(TaskSlot),
    /// No task: all tasks of this service are at their limit.
    Full(Arc<str>),
}

/// A slot at a task for a request or connection under way, freed when dropped.
#[derive(Debug)]
pub(super) struct TaskSlot {
    pub(super) address: SocketAddr,
    task: usize,
    hears_reports: bool,
    balanced: Arc<Mutex<Balanced>>,
}

impl Routes {
    pub(super) fn of(plan: &LoadPlan) -> Self {
        let target = &plan.target;
        if target.entries.is_empty() {
            return Self::One(Arc::new(Addresses::of(target)));
        }
        let route = |(number, entry): (usize, &workloads::plan::EntryPoint)| ServiceRoute {
            service: entry.service.as_str().into(),
            class: entry.class,
            per: entry.per,
            list: entry.tasks.clone(),
            balanced: {
                let (version, tasks) = (entry.tasks.version(), entry.tasks.addresses());
                let seed = seed_for(plan.seed, &format!("entry {number}"));
                let picker = Picker::new(entry.balancer, tasks.len(), seed).capped(entry.cap);
                let mut balanced = Balanced { picker, tasks: Vec::new(), version };
                balanced.follow(version, tasks);
                Arc::new(Mutex::new(balanced))
            },
        };
        Self::Entries(target.entries.iter().enumerate().map(route).collect())
    }

    /// The destination of a request.
    pub(super) fn for_request(&self, class: Class) -> Destination {
        let Some(route) = self.route(class).filter(|route| route.per == Per::Request) else {
            return Destination::OfConnection;
        };
        let slot = route.slot(Picker::pick_with_room);
        slot.map_or_else(|| Destination::Full(Arc::clone(&route.service)), Destination::Task)
    }

    /// The destination of a new connection that no request has chosen; `None`: users of this class have no route.
    pub(super) fn for_connection(&self, class: Class) -> Option<(SocketAddr, Option<TaskSlot>)> {
        match self {
            Self::One(host) => Some((host.first(), None)),
            Self::Entries(_) => {
                let slot = self.route(class)?.slot(|picker| Some(picker.pick()))?;
                Some((slot.address, Some(slot)))
            }
        }
    }

    /// The address to try after `dead`, where this many of the host's have been tried; `None`: there is no other one.
    pub(super) fn after(&self, dead: SocketAddr, tried: usize) -> Option<SocketAddr> {
        if let Self::One(host) = self { host.after(dead, tried) } else { None }
    }

    fn route(&self, class: Class) -> Option<&ServiceRoute> {
        let Self::Entries(routes) = self else { return None };
        routes.iter().find(|route| route.class.is_none_or(|of| of == class))
    }
}

impl ServiceRoute {
    /// A slot at the task that `pick` chooses among those that take requests.
    fn slot(&self, pick: impl FnOnce(&mut Picker) -> Option<usize>) -> Option<TaskSlot> {
        let mut balanced = lock(&self.balanced);
        // The version first: tasks that are newer than it are looked at once more.
        let version = self.list.version();
        if version != balanced.version {
            balanced.follow(version, self.list.addresses());
        }
        let task = pick(&mut balanced.picker)?;
        let address = balanced.tasks[task]?;
        balanced.picker.took(task);
        let hears_reports = balanced.picker.hears_reports();
        Some(TaskSlot { address, task, hears_reports, balanced: Arc::clone(&self.balanced) })
    }
}

impl Balanced {
    /// The tasks are these from now on.
    fn follow(&mut self, version: u64, tasks: Vec<Option<SocketAddr>>) {
        for (task, address) in tasks.iter().enumerate() {
            self.picker.set_member(task, address.is_some());
        }
        (self.tasks, self.version) = (tasks, version);
    }
}

impl TaskSlot {
    /// Takes in what an answer of the task says of its load, if the balancer asks for it.
    pub(super) fn answered(&self, inbox: &Inbox) {
        if !self.hears_reports {
            return;
        }
        let mut space = [("", &b""[..]); HEADERS_MAX];
        let response = inbox.response(&mut space);
        let report = response.iter().flat_map(|response| response.headers).find_map(|(name, value)| {
            name.eq_ignore_ascii_case(LOAD_METRICS).then(|| LoadReport::read(value)).flatten()
        });
        let mut balanced = lock(&self.balanced);
        // Another process may have come to the same place meanwhile.
        if balanced.tasks[self.task] == Some(self.address) {
            report.iter().for_each(|report| balanced.picker.reported(self.task, report));
        }
    }
}

impl Drop for TaskSlot {
    fn drop(&mut self) {
        lock(&self.balanced).picker.left(self.task);
    }
}

fn lock(balanced: &Mutex<Balanced>) -> MutexGuard<'_, Balanced> {
    balanced.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use workloads::{balance::Balancer, plan::EntryPoint, testing::url_plan};

    fn address(port: u16) -> SocketAddr {
        ([127, 0, 0, 1], port).into()
    }

    /// Two tasks of a service for this class.
    fn two(class: u8, first: u16, per: Per, cap: u32) -> EntryPoint {
        EntryPoint {
            service: format!("service {first}"),
            class: Some(Class(class)),
            tasks: vec![address(first), address(first + 1)].into(),
            balancer: Balancer::LeastLoaded,
            per,
            cap,
        }
    }

    fn slot(routes: &Routes, class: u8) -> Option<TaskSlot> {
        if let Destination::Task(slot) = routes.for_request(Class(class)) { Some(slot) } else { None }
    }

    fn routes(entries: Vec<EntryPoint>) -> Routes {
        let mut plan = url_plan(&[("all", 1, 1)]);
        plan.target.entries = entries;
        Routes::of(&plan)
    }

    #[test]
    fn classes_go_to_their_own_service_and_requests_to_the_least_loaded_task() {
        let routes = routes(vec![two(0, 10, Per::Request, 0), two(1, 20, Per::Connection, 0)]);
        let first = slot(&routes, 0).expect("per request");
        let second = slot(&routes, 0).expect("per request");
        assert_eq!((first.address, second.address), (address(10), address(11)));
        drop(second);
        assert_eq!(slot(&routes, 0).expect("per request").address, address(11), "the first is still busy");
        assert!(matches!(routes.for_request(Class(1)), Destination::OfConnection), "its connections are balanced");
        assert_eq!(routes.for_connection(Class(1)).expect("it has an entry").0, address(20));
        assert!(routes.for_connection(Class(2)).is_none());
    }

    #[test]
    fn with_all_tasks_at_the_cap_there_is_nowhere_to_go() {
        let routes = routes(vec![two(0, 10, Per::Request, 1), two(1, 20, Per::Connection, 1)]);
        let (first, second) = (slot(&routes, 0).expect("room"), slot(&routes, 0).expect("room"));
        assert_ne!(first.address, second.address);
        assert!(matches!(routes.for_request(Class(0)), Destination::Full(service) if &*service == "service 10"));
        let address = second.address;
        drop(second);
        assert_eq!(slot(&routes, 0).expect("room again").address, address);
        let all: Vec<_> = (0..3).filter_map(|_| routes.for_connection(Class(1))).collect();
        assert_eq!(all.len(), 3, "connections have no cap");
    }
    #[test]
    fn users_follow_the_list_of_tasks_and_what_is_under_way_goes_on() {
        let entry = two(0, 10, Per::Request, 0);
        let list = entry.tasks.clone();
        let routes = routes(vec![entry]);
        let first = slot(&routes, 0).expect("two tasks");
        list.set(&[None, Some(address(11))]);
        let others: Vec<_> = (0..3).filter_map(|_| slot(&routes, 0)).collect();
        assert!(others.len() == 3 && others.iter().all(|slot| slot.address == address(11)), "{others:?}");
        assert_eq!(first.address, address(10), "it was there before");
        // Another process has the place of the first task: the least loaded, with the one that is still under way.
        list.set(&[Some(address(12)), Some(address(11))]);
        assert_eq!(slot(&routes, 0).expect("two tasks").address, address(12));
        list.set(&[None, None]);
        assert!(matches!(routes.for_request(Class(0)), Destination::Full(_)), "nobody is there");
        assert!(routes.for_connection(Class(0)).is_none());
    }
}
