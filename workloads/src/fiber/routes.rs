use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use controllers::{Class, seed_for};

use crate::{
    balance::{Per, Picker},
    plan::LoadPlan,
};

/// Where requests and connections go.
///
/// There is no process between users and the tasks of a service: the generator chooses a task for each request or connection
/// itself, as a balancer that costs nothing.
#[derive(Debug, Clone)]
pub(super) enum Routes {
    /// All to one address.
    One(SocketAddr),
    /// By class, the first that fits.
    Entries(Arc<[Way]>),
}

/// Several tasks.
#[derive(Debug)]
pub(super) struct Way {
    class: Option<Class>,
    tasks: Vec<SocketAddr>,
    per: Per,
    picker: Arc<Mutex<Picker>>,
}

/// Something under way at a task, until it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
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
        let way = |(number, entry): (usize, &crate::plan::Entry)| Way {
            class: entry.class,
            tasks: entry.tasks.clone(),
            per: entry.per,
            picker: Arc::new(Mutex::new(Picker::new(
                entry.balancer,
                entry.tasks.len(),
                seed_for(plan.seed, &format!("entry {number}")),
            ))),
        };
        Self::Entries(target.entries.iter().enumerate().map(way).collect())
    }

    /// The task of a request, where each request has one of its own.
    pub(super) fn for_request(&self, class: Class) -> Option<Seat> {
        self.way(class).filter(|way| way.per == Per::Request).map(Way::seat)
    }

    /// Where a new connection goes for which no request has chosen; `None`: users of this class can go nowhere.
    pub(super) fn for_connection(&self, class: Class) -> Option<(SocketAddr, Option<Seat>)> {
        match self {
            Self::One(address) => Some((*address, None)),
            Self::Entries(_) => {
                let seat = self.way(class)?.seat();
                Some((seat.address, Some(seat)))
            }
        }
    }

    fn way(&self, class: Class) -> Option<&Way> {
        let Self::Entries(ways) = self else { return None };
        ways.iter().find(|way| way.class.is_none_or(|of| of == class))
    }
}

impl Way {
    fn seat(&self) -> Seat {
        let mut picker = self.picker.lock().unwrap_or_else(PoisonError::into_inner);
        let task = picker.pick();
        picker.took(task);
        Seat { address: self.tasks[task], task, picker: Arc::clone(&self.picker) }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.picker.lock().unwrap_or_else(PoisonError::into_inner).left(self.task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{balance::Balancer, plan::Entry, testing::url_plan};

    fn address(port: u16) -> SocketAddr {
        ([127, 0, 0, 1], port).into()
    }

    fn routes(entries: Vec<Entry>) -> Routes {
        let mut plan = url_plan(&[("all", 1, 1)]);
        plan.target.entries = entries;
        Routes::of(&plan)
    }

    #[test]
    fn classes_go_to_their_own_service_and_requests_to_the_least_loaded_task() {
        let two = |class, first: u16, per| Entry {
            class: Some(Class(class)),
            tasks: vec![address(first), address(first + 1)],
            balancer: Balancer::LeastLoaded,
            per,
        };
        let routes = routes(vec![two(0, 10, Per::Request), two(1, 20, Per::Connection)]);
        let first = routes.for_request(Class(0)).expect("per request");
        let second = routes.for_request(Class(0)).expect("per request");
        assert_eq!((first.address, second.address), (address(10), address(11)));
        drop(second);
        assert_eq!(routes.for_request(Class(0)).expect("per request").address, address(11), "the first is still busy");
        assert!(routes.for_request(Class(1)).is_none(), "its connections are balanced");
        assert_eq!(routes.for_connection(Class(1)).expect("it has an entry").0, address(20));
        assert!(routes.for_connection(Class(2)).is_none());
    }
}
