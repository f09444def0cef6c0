use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use controllers::{Class, seed_for};

use crate::{
    balance::{Per, Picker},
    plan::LoadPlan,
};

/// The destinations of requests and connections.
///
/// No process stands between users and the tasks of a service: the generator itself chooses a task for each request or
/// connection, like a balancer without cost.
#[derive(Debug, Clone)]
pub(super) enum Routes {
    /// All go to one address.
    One(SocketAddr),
    /// By class, the first match.
    Entries(Arc<[ServiceRoute]>),
}

/// The tasks of a service.
#[derive(Debug)]
pub(super) struct ServiceRoute {
    service: Arc<str>,
    class: Option<Class>,
    tasks: Vec<SocketAddr>,
    per: Per,
    picker: Arc<Mutex<Picker>>,
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
    picker: Arc<Mutex<Picker>>,
}

impl Routes {
    pub(super) fn of(plan: &LoadPlan) -> Self {
        let target = &plan.target;
        if target.entries.is_empty() {
            return Self::One(target.address);
        }
        let route = |(number, entry): (usize, &crate::plan::EntryPoint)| ServiceRoute {
            service: entry.service.as_str().into(),
            class: entry.class,
            tasks: entry.tasks.clone(),
            per: entry.per,
            picker: {
                let seed = seed_for(plan.seed, &format!("entry {number}"));
                Arc::new(Mutex::new(Picker::new(entry.balancer, entry.tasks.len(), seed).capped(entry.cap)))
            },
        };
        Self::Entries(target.entries.iter().enumerate().map(route).collect())
    }

    /// The destination of a request.
    pub(super) fn for_request(&self, class: Class) -> Destination {
        let Some(route) = self.route(class).filter(|route| route.per == Per::Request) else {
            return Destination::OfConnection;
        };
        let task = route.picker().pick_with_room();
        task.map_or_else(|| Destination::Full(Arc::clone(&route.service)), |task| Destination::Task(route.slot(task)))
    }

    /// The destination of a new connection that no request has chosen; `None`: users of this class have no route.
    pub(super) fn for_connection(&self, class: Class) -> Option<(SocketAddr, Option<TaskSlot>)> {
        match self {
            Self::One(address) => Some((*address, None)),
            Self::Entries(_) => {
                let route = self.route(class)?;
                let task = route.picker().pick();
                let slot = route.slot(task);
                Some((slot.address, Some(slot)))
            }
        }
    }

    fn route(&self, class: Class) -> Option<&ServiceRoute> {
        let Self::Entries(routes) = self else { return None };
        routes.iter().find(|route| route.class.is_none_or(|of| of == class))
    }
}

impl ServiceRoute {
    fn picker(&self) -> MutexGuard<'_, Picker> {
        self.picker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, task: usize) -> TaskSlot {
        self.picker().took(task);
        TaskSlot { address: self.tasks[task], task, picker: Arc::clone(&self.picker) }
    }
}

impl Drop for TaskSlot {
    fn drop(&mut self) {
        self.picker.lock().unwrap_or_else(PoisonError::into_inner).left(self.task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{balance::Balancer, plan::EntryPoint, testing::url_plan};

    fn address(port: u16) -> SocketAddr {
        ([127, 0, 0, 1], port).into()
    }

    /// Two tasks of a service for this class.
    fn two(class: u8, first: u16, per: Per, cap: u32) -> EntryPoint {
        EntryPoint {
            service: format!("service {first}"),
            class: Some(Class(class)),
            tasks: vec![address(first), address(first + 1)],
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
}
