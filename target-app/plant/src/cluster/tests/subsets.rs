//! Callers that send to a part of the tasks each.

use super::*;

fn read_by_back(callers: u32) -> Vec<u64> {
    let front = ServiceSpec { tasks: callers, ..service("front", 1, 4, &["back"]) };
    let back = ServiceSpec { tasks: 4, subset: 2, ..service("back", 10, 1, &[]) };
    let (_, cluster) = ran(&open_plan(20.0, 10), &tree(vec![front, back]));
    cluster.books().into_iter().find(|service| service.name == "back").expect("is there").read_by_task
}

#[test]
fn a_caller_sends_to_its_own_tasks_and_two_to_all() {
    let mut of_one = read_by_back(1);
    of_one.sort_unstable();
    assert_eq!(of_one, [0, 0, 100, 100]);
    assert_eq!(read_by_back(2), [50; 4]);
}
