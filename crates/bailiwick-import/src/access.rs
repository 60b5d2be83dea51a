//! Differences of objects about access without an effect on access.

use bailiwick_kubernetes::rbac;
use hashbrown::HashSet;

use crate::fold::{groups, normal_rules};
use crate::object::ObjectKey;
use crate::values::{InternedValues, ValueId};

/// Returns the difference of two objects in stored form with the same access: RBAC objects, or Groups of OpenShift. None for
/// another difference.
pub fn harmless_difference(values: &InternedValues, one: ValueId, other: ValueId) -> Option<&'static str> {
    let identity = ObjectKey::of(values, one);
    (identity.group() == rbac::GROUP || identity.is(groups::GROUP, "Group")).then_some(())?;
    let keys: HashSet<&str> = values.entries(one).chain(values.entries(other)).map(|(key, _)| key).collect();
    let mut difference = None;
    for key in keys {
        let (left, right) = (values.at(one, &[key]), values.at(other, &[key]));
        if left == right {
            continue;
        }
        let (found, is_same) = match key {
            "rules" => ("rules regrouped", normal_rules(values, left)? == normal_rules(values, right)?),
            "subjects" | "users" => {
                let set = |list: Option<ValueId>| -> HashSet<ValueId> {
                    list.map_or(&[][..], |list| values.items(list)).iter().copied().collect()
                };
                (
                    if key == "users" { "members in another order" } else { "subjects in another order" },
                    set(left) == set(right),
                )
            }
            _ => return None,
        };
        is_same.then_some(())?;
        difference = Some(found);
    }
    difference
}
