//! Random pairs of worlds: the verdict is `no effective change` if and only if the second evaluator and admission answer every
//! question about both worlds alike, and every listed effect is confirmed by a question that they answer differently.
//!
//! Half of the pairs are equal in effect by construction. The access of both sides is asked of the second evaluator
//! (`tests/oracle`), and pods are asked of the admission of single pods on the objects of each side.

mod changes;
mod cluster;
mod judge;
mod probes;
mod questions;
mod tally;
mod worlds;

use self::judge::judge;
use self::tally::Tally;
use self::worlds::{Area, Pair};
use crate::oracle::Dice;
use crate::support::rounds;

#[test]
fn changes_of_access_are_proven() {
    prove(Area::Access);
}

#[test]
fn changes_of_the_version_are_proven() {
    prove(Area::Version);
}

#[test]
fn changes_of_levels_are_proven() {
    prove(Area::Level);
}

#[test]
fn changes_of_admission_policies_are_proven() {
    prove(Area::Policy);
}

#[test]
fn changes_of_pod_security_policies_are_proven() {
    prove(Area::Psp);
}

#[test]
fn changes_of_constraints_are_proven() {
    prove(Area::Scc);
}

/// Judges the pairs of an area.
fn prove(area: Area) {
    let mut tally = Tally::default();
    for number in 0..rounds(8, 334) {
        let mut dice = Dice::new(number * 6 + area as u64);
        let pair = Pair::new(area, number, &mut dice);
        // In the long run, some pairs get as many questions as fit into a night for all.
        let many = if number % 20 == 1 { 100_000 } else { 5_000 };
        judge(&pair, &mut dice, rounds(600, many), &mut tally);
    }
    tally.check(area);
}
