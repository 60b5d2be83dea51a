//! Profiles for OpenShift: their names, their limits without a field in constraints, and the order of their constraints.
//!
//! Admission takes the first constraints in the order of priority that a service account may use and that admit the pod
//! (`pkg/securitycontextconstraints/sccadmission/admission.go` of openshift/apiserver-library-go). Each account may use
//! `restricted-v2`, so the constraints of a profile need a higher priority to set their own defaults.

use std::collections::BTreeSet;

use bailiwick_admission::psp::plan::Plan;
use bailiwick_admission::scc::defaults;
use bailiwick_admission::scc::release::Release;
use serde_json::{Value, json};

use super::stages::FinalCluster;

/// The rules of OpenShift for the profiles of a plan.
#[derive(Clone, Copy)]
pub struct ConstraintRules<'r> {
    /// The cluster at the end of the migration.
    pub to: FinalCluster,
    /// Returns the fields of the spec of a profile with a limit that constraints have no field for.
    pub limits_beside: &'r dyn Fn(&Value) -> Vec<&'static str>,
}

/// The priority of the constraints of the profile of a namespace: above `anyuid`, the constraints of the platform with the highest
/// priority (10).
pub(super) const OF_NAMESPACES: i32 = 11;

/// The priority of the constraints of the profile of single service accounts: they may use the profile of their namespace, too.
pub(super) const OF_ACCOUNTS: i32 = 12;

impl ConstraintRules<'_> {
    /// Returns the names that no profile can have: constraints of the platform have them. A later release may have further names.
    pub(super) fn reserved(&self) -> BTreeSet<&'static str> {
        match self.to {
            FinalCluster::Kubernetes(_) => BTreeSet::new(),
            FinalCluster::Openshift(_) => defaults::names(Release::LAST).collect(),
        }
    }

    /// Returns the fields of a profile with a limit that constraints have no field for; none for another platform.
    pub(super) fn limits(&self, spec: &Value) -> Vec<&'static str> {
        match self.to {
            FinalCluster::Kubernetes(_) => Vec::new(),
            FinalCluster::Openshift(_) => (self.limits_beside)(spec),
        }
    }

    /// Whether a profile of tenants can have the limits of a spec: an admission policy beside constraints has no variables, and
    /// constraints with variables have one range of user ids.
    pub(super) fn fits_tenants(&self, spec: &Value) -> bool {
        let limits = self.limits(spec);
        limits.is_empty() || !self.to.has_admission_policies() && !limits.contains(&"runAsUser")
    }

    /// Adds the priority of its constraints to a profile.
    pub(super) fn add_priority(&self, profile: &mut Value, priority: i32) {
        let spec = profile.get_mut("spec").and_then(Value::as_object_mut);
        if let Some(spec) = spec.filter(|_| self.to.release().is_some()) {
            spec.insert("openshift".to_owned(), json!({ "priority": priority }));
        }
    }
}

/// The policies of a plan by their use.
pub(super) struct PolicyUses<'p> {
    /// The policies of namespaces.
    pub(super) of_namespaces: BTreeSet<&'p str>,
    /// The policies of single service accounts.
    pub(super) of_accounts: BTreeSet<&'p str>,
}

impl<'p> PolicyUses<'p> {
    pub(super) fn new(plan: &'p Plan) -> Self {
        let needs = || plan.namespaces.iter().map(|namespace| &namespace.needs);
        let of_accounts = needs().flat_map(|needs| &needs.accounts).filter_map(|own| own.need.policy());
        let of_namespaces = needs().filter_map(|needs| needs.common.policy());
        Self { of_namespaces: of_namespaces.collect(), of_accounts: of_accounts.collect() }
    }

    /// Returns the priority for the constraints of the one profile of a policy.
    pub(super) fn priority(&self, policy: &str) -> i32 {
        let is_of_accounts = self.of_accounts.contains(policy) && !self.of_namespaces.contains(policy);
        if is_of_accounts { OF_ACCOUNTS } else { OF_NAMESPACES }
    }

    /// Iterates over the policies with two profiles on OpenShift, since constraints have one priority.
    pub(super) fn of_both(&self) -> impl Iterator<Item = &'p str> {
        self.of_namespaces.intersection(&self.of_accounts).copied()
    }
}
