//! Callers that send to a part of the tasks each.

use super::*;

fn read_by_back(callers: u32) -> Vec<u64> {
    let front = with(service("front", 1, 4, &["back"]), |front| front.tasks = callers);
    let back = with(service("back", 10, 1, &[]), |back| (back.tasks, back.subset) = (4, 2));
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
