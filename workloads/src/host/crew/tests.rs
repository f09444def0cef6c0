use controllers::Class;

use super::*;
use crate::{
    persona::Purpose,
    plan::{Load, LoadPlan},
    testing::url_plan,
};

/// First draws of the users of a class, in order of arrival.
fn draws(plan: &LoadPlan, class: u8) -> Vec<f64> {
    let mut crew: Crew<()> = Crew::new(plan, Crowd::new(plan).expect("users can be made"), None);
    crew.advance(Timestamp::from_secs(1));
    let guests = std::iter::from_fn(|| crew.take());
    let of_class = guests.filter(|guest| guest.call().is_some_and(|call| call.class == Class(class)));
    of_class.map(|guest| guest.draws.uniform(Purpose::Transition)).collect()
}

#[test]
fn one_more_class_does_not_shift_the_draws_of_another() {
    let mut plan = url_plan(&[("all", 10, 5)]);
    let alone = draws(&plan, 0);
    assert_eq!(alone.len(), 5);
    // They come in between, so that numbers of users are others.
    plan.phases[0].loads.insert(0, Load::Users { from: 3, to: 3, class: Class(1) });
    assert_eq!(draws(&plan, 1).len(), 3);
    assert_eq!(draws(&plan, 0), alone);
    plan.phases[0].loads.push(Load::Users { from: 3, to: 3, class: Class(2) });
    plan.phases[0].loads.reverse();
    assert_eq!(draws(&plan, 0), alone);
}
