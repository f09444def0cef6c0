//! Steps that lead to each other, and the ways through them.

use super::*;

/// A step that leads on by these weights.
fn leads(name: &str, then: &[(&str, f64)]) -> PlanStep {
    let then = then.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect();
    PlanStep { then, ..PlanStep::get(name, "/") }
}

#[test]
fn steps_that_lead_to_each_other_are_walked_as_a_markov_chain() {
    // From a list half go on in the list, a quarter to the cart and a quarter away; from the cart all go back.
    let users = ScriptUsers::new(plan(vec![
        leads("list", &[("list", 2.0), ("cart", 1.0), ("end", 1.0)]),
        leads("cart", &[("list", 1.0)]),
    ]));
    let mut visits = [0u32; 2];
    for slot in 0..1000 {
        let mut user = Fed::of(&users, slot, Stay::OneSession);
        let mut kinds = vec![user.start().kind.0];
        while let Move::Send(call) = user.answer(200, &[], "").then {
            kinds.push(call.kind.0);
        }
        assert!(kinds[0] == 0 && kinds.windows(2).all(|pair| pair != [1, 1]) && kinds.last() == Some(&0), "{kinds:?}");
        kinds.iter().for_each(|&kind| visits[usize::from(kind)] += 1);
    }
    // A visit of the list ends the session with probability 1/4: 4 visits a session, and one of the cart to four of the list. Standard
    // deviations of the sums: sqrt(1000 * 12) = 110 for the list, about 42 for the cart.
    assert!((3600..4400).contains(&visits[0]) && (850..1150).contains(&visits[1]), "{visits:?}");
}

#[test]
fn closed_users_begin_again_where_a_chain_ends() {
    let users = ScriptUsers::new(plan(vec![leads("one", &[("end", 1.0)])]));
    let mut user = Fed::of(&users, 0, Stay::Forever);
    let _ = user.start();
    for _ in 0..3 {
        assert!(matches!(user.answer(200, &[], "").then, Move::Send(_)), "a session after the other");
    }
}

#[test]
fn a_value_counts_as_known_only_if_every_way_has_it() {
    let finds = |name: &str, then: &[(&str, f64)]| PlanStep {
        extract: vec![Extraction::from_body("v", "v=(\\w+)")],
        ..leads(name, then)
    };
    let uses = |then: &[(&str, f64)]| PlanStep { url: "/${v}".to_owned(), ..leads("uses", then) };
    let of = |steps: Vec<PlanStep>| problems(&ScriptUsers::new(plan(steps)));
    let back = [("first", 1.0), ("end", 1.0)];
    assert_eq!(of(vec![finds("first", &[("uses", 1.0)]), uses(&back)]), [""; 0]);
    // The middle leads there too, and the first step may lead to the middle.
    let told =
        of(vec![leads("first", &[("finds", 1.0), ("uses", 1.0)]), finds("finds", &[("uses", 1.0)]), uses(&back)]);
    assert!(told.len() == 1 && told[0].contains("step 3 (uses): url: ${v} is not extracted on every way"), "{told:?}");
    let told = of(vec![leads("first", &[("end", 1.0)]), leads("second", &[])]);
    assert!(told.len() == 1 && told[0].contains("step 2 (second): name: no way leads to this step"), "{told:?}");
    let told = of(vec![leads("first", &[("second", 1.0)]), leads("second", &[("first", 1.0)])]);
    assert!(told.len() == 2 && told[0].contains("step 1 (first): then: who comes here never leaves"), "{told:?}");
    // What leads nowhere is told alone.
    let told = of(vec![leads("first", &[("secnd", 1.0)]), leads("second", &[])]);
    assert!(told.len() == 1 && told[0].contains("then: there is no step \"secnd\""), "{told:?}");
    let told = of(vec![leads("first", &[("end", 1.0)]), leads("end", &[])]);
    assert!(told.iter().any(|told| told.contains("then: end ends the session, and a step is called end")), "{told:?}");
}
