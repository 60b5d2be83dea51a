//! The second evaluator: the same answers, computed slowly and by other code.

mod aggregate;
mod compare;
mod cover;
mod crossplane;
mod decide;
mod duel;
mod evaluate;
mod http;
mod impersonate;
mod mutate;
mod questions;
mod read;
mod reconcile;
mod worlds;
mod write;

use serde_json::{Value, json};

use crate::access::Evaluator;
pub(crate) use worlds::{Dice, GROUPS, NAMESPACES, USERS};

pub(crate) use aggregate::settle;
pub(crate) use cover::{atoms, uncovered};
pub(crate) use decide::{Actor, Request, decide, implicit_groups, rule_allows, rules_for};
pub(crate) use duel::duel;
pub(crate) use evaluate::{HeldRules, Naive};
pub(crate) use mutate::{changed, random_world, respelled};
pub(crate) use read::{pruned, tidy_rules};

/// The worlds that a test run looks at.
const SEEDS: std::ops::Range<u64> = 0..150;

/// A comparison that is answered with no each time, or with yes, compares little.
#[test]
fn about_half_of_the_random_decisions_are_yes() {
    let (mut asked, mut yes) = (0, 0);
    for_each_question(|naive, _, question| {
        if question.get("can-i").is_some_and(|question| question.get("http").is_none()) {
            asked += 1;
            yes += usize::from(naive.ask(question)["allowed"] == true);
        }
    });
    let share = yes * 100 / asked;
    assert!((40..=60).contains(&share), "{share} of 100 of {asked}");
}

/// The order of objects decides nothing.
#[test]
fn the_order_of_objects_does_not_matter() {
    struct Reversed(Naive);
    impl Evaluator for Reversed {
        fn world(&mut self, objects: &[Value], baseline: Option<&str>) {
            let reversed: Vec<Value> = objects.iter().rev().cloned().collect();
            self.0.world(&reversed, baseline);
        }

        fn ask(&self, question: &Value) -> Value {
            self.0.ask(question)
        }
    }
    let asked = duel(&mut Naive::default(), &mut Reversed(Naive::default()), SEEDS);
    assert_eq!(asked.unwrap_or_else(|difference| panic!("{difference}")), 6000);
}

/// Every subject of `who-can` has the permission, and no other subject of a binding has it.
#[test]
fn who_can_and_can_i_say_the_same() {
    let mut compared = 0;
    for_each_question(|naive, objects, question| {
        let Some(asked) = question.get("who-can") else { return };
        let subjects = naive.ask(question)["subjects"].clone();
        for user in ["u1", "u2", "system:serviceaccount:a:s1", "system:serviceaccount:b:s2"] {
            let mut own = asked.clone();
            own["user"] = json!(user);
            own["groups"] = json!(["g1"]);
            let can = naive.ask(&json!({"can-i": own}))["allowed"] == true;
            let mut labels = vec![format!("User/{user}"), "Group/g1".to_owned()];
            labels.extend(decide::service_account(user).map(|(place, name)| format!("ServiceAccount/{place}/{name}")));
            let named = labels.iter().any(|label| subjects.as_array().is_some_and(|all| all.contains(&json!(label))));
            assert_eq!(can, named, "{user}: {subjects}\n{question}\n{objects:?}");
            compared += 1;
        }
    });
    assert!(compared > 1000, "{compared}");
}

/// A fault is found, and shown by no more than it takes: a role or two, a binding, and what is asked.
#[test]
fn a_careless_evaluator_is_caught_with_a_small_case() {
    struct Careless(Naive);
    impl Evaluator for Careless {
        fn world(&mut self, objects: &[Value], baseline: Option<&str>) {
            let mut objects = objects.to_vec();
            for object in &mut objects {
                for rule in object.get_mut("rules").and_then(Value::as_array_mut).into_iter().flatten() {
                    rule.as_object_mut().and_then(|rule| rule.shift_remove("resourceNames"));
                }
            }
            self.0.world(&objects, baseline);
        }

        fn ask(&self, question: &Value) -> Value {
            self.0.ask(question)
        }
    }
    let difference = duel(&mut Naive::default(), &mut Careless(Naive::default()), SEEDS).expect_err("a difference");
    let case: Value = serde_yaml::from_str(&difference).expect("YAML");
    assert!(read::items(&case, "objects").len() <= 3, "{difference}");
    assert!(difference.contains("resourceNames"), "{difference}");
}

/// Calls for each question about each random world.
fn for_each_question(mut call: impl FnMut(&Naive, &[Value], &Value)) {
    for seed in SEEDS {
        let mut dice = Dice::new(seed);
        let objects = worlds::world(&mut dice);
        let mut naive = Naive::default();
        naive.world(&objects, None);
        for _ in 0..40 {
            call(&naive, &objects, &questions::question(&mut dice, &objects));
        }
    }
}
