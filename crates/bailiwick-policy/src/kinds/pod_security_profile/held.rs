//! The expressions of a profile that applies to some service accounts of a namespace.
//!
//! The accounts are in annotations of the namespace: match conditions of a policy are evaluated without the namespace
//! (`plugin/webhook/matchconditions/matcher.go` of k8s.io/apiserver), so the accounts of all namespaces would be in the policy.

use super::cel::quoted;
use crate::model::{PodSecurityProfile, ProfileDefaults};

/// The name of the variable: whether the profile applies to the pod.
const HELD: &str = "held";

/// The pods that the policies of a profile apply to, in a namespace with its label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holding {
    /// Every pod.
    Every,
    /// The pods of some service accounts.
    ByAccount,
}

impl Holding {
    /// Returns the variable that the expressions need, with its value.
    pub(super) fn variable(self, profile: &str) -> Option<(String, String)> {
        (self == Holding::ByAccount).then(|| (HELD.to_owned(), held(profile)))
    }

    /// Returns the check of the pods.
    pub(super) fn check(self, expression: String) -> String {
        match self {
            Holding::Every => expression,
            Holding::ByAccount => format!("!variables.{HELD} || ({expression})"),
        }
    }

    /// Returns the patches of the pods.
    pub(super) fn patches(self, expression: String) -> String {
        match self {
            Holding::Every => expression,
            Holding::ByAccount => format!("variables.{HELD} ? ({expression}) : []"),
        }
    }

    /// Returns the defaults of the pods.
    pub(super) fn defaults(self, profile: &str, defaults: &ProfileDefaults) -> ProfileDefaults {
        let ProfileDefaults { mut variables, mut patches } = defaults.clone();
        variables.extend(self.variable(profile));
        for expression in patches.values_mut().flatten() {
            *expression = self.patches(std::mem::take(expression));
        }
        ProfileDefaults { variables, patches }
    }
}

/// Returns whether a profile applies to a pod: it is the profile of the namespace, and the service account of the pod has no other,
/// or the namespace lists the account for the profile.
fn held(profile: &str) -> String {
    let value = |field: &str, key: &str| format!("namespaceObject.metadata.?{field}[?{}].orValue('')", quoted(key));
    let list = |key: &str| {
        let account = "object.spec.?serviceAccountName.orValue('default')";
        format!("{}.contains(',' + {account} + ',')", value("annotations", key))
    };
    format!(
        "{} == {} && !{} || {}",
        value("labels", PodSecurityProfile::LABEL),
        quoted(profile),
        list(PodSecurityProfile::OTHERS),
        list(&PodSecurityProfile::accounts_key(profile)),
    )
}
