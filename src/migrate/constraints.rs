//! Profiles for OpenShift: their names, their limits without a field in constraints, and the order of their constraints.
//!
//! Admission takes the first constraints in the order of priority that a service account may use and that admit the pod
//! (`pkg/securitycontextconstraints/sccadmission/admission.go` of openshift/apiserver-library-go). Each account may use
//! `restricted-v2`, so the constraints of a profile need a higher priority to set their own defaults.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::stages::Destination;
use crate::admission::psp::plan::Plan;
use crate::admission::scc::defaults;
use crate::admission::scc::release::Release;

/// The rules of OpenShift for the profiles of a plan.
#[derive(Clone, Copy)]
pub struct ConstraintRules<'r> {
    /// The cluster at the end of the migration.
    pub to: Destination,
    /// Returns the fields of the spec of a profile with a limit that constraints have no field for.
    pub limits_beside: &'r dyn Fn(&Value) -> Vec<&'static str>,
}

/// The priority of the constraints of a profile: above `anyuid`, the constraints of the platform with the highest priority (10).
const PRIORITY: i32 = 11;

impl ConstraintRules<'_> {
    /// Returns the names that no profile can have: constraints of the platform have them.
    pub(super) fn reserved(&self) -> BTreeSet<&'static str> {
        // A later release may have further constraints.
        self.to.release().map(|_| defaults::names(Release::LAST).collect()).unwrap_or_default()
    }

    /// Returns the fields of a profile with a limit that constraints have no field for; none for another platform.
    pub(super) fn limits(&self, spec: &Value) -> Vec<&'static str> {
        match self.to {
            Destination::Kubernetes(_) => Vec::new(),
            Destination::Openshift(_) => (self.limits_beside)(spec),
        }
    }

    /// Whether a profile of tenants can have the limits of a spec: an admission policy beside constraints has no variables, and
    /// constraints with variables have one range of user ids.
    pub(super) fn fits_tenants(&self, spec: &Value) -> bool {
        let limits = self.limits(spec);
        limits.is_empty() || !self.to.has_admission_policies() && !limits.contains(&"runAsUser")
    }

    /// Adds the priority of its constraints to the spec of a profile.
    pub(super) fn add_priority(&self, spec: &mut Value, priority: i32) {
        if self.to.release().is_some() {
            spec["openshift"] = json!({ "priority": priority });
        }
    }
}

/// The priorities of the constraints of profiles.
pub(super) struct Priorities(BTreeMap<String, i32>);

impl Priorities {
    /// Determines the priorities. A service account with a policy of its own may use the policy of its namespace, too: its own
    /// constraints come first. Policies with a cycle of such demands get the priority of the longest chain without one.
    pub(super) fn new(plan: &Plan) -> Self {
        let demands: BTreeSet<(&str, &str)> = plan
            .namespaces
            .iter()
            .flat_map(|namespace| {
                let common = namespace.needs.common.policy();
                let own = namespace.needs.accounts.iter().filter_map(|own| own.need.policy());
                own.filter_map(move |own| Some((common?, own))).filter(|(common, own)| common != own)
            })
            .collect();
        let mut priorities: BTreeMap<String, i32> = BTreeMap::new();
        let of = |priorities: &BTreeMap<String, i32>, policy: &str| {
            priorities.get(policy).map_or(PRIORITY, |priority| *priority)
        };
        let policies: BTreeSet<&str> = demands.iter().flat_map(|(common, own)| [*common, *own]).collect();
        for _ in 1..policies.len() {
            let before = priorities.clone();
            for (common, own) in &demands {
                let least = of(&before, common) + 1;
                if of(&priorities, own) < least {
                    priorities.insert((*own).to_owned(), least);
                }
            }
            if priorities == before {
                break;
            }
        }
        Self(priorities)
    }

    /// Returns the priority without a demand.
    pub(super) fn least(&self) -> i32 {
        PRIORITY
    }

    /// Returns the priority for the constraints of a policy.
    pub(super) fn of(&self, policy: &str) -> i32 {
        self.0.get(policy).map_or(PRIORITY, |priority| *priority)
    }
}
