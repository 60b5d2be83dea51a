//! The stage of a target on the way to enforced Pod Security: the modes of levels, and the actions of profiles.

use std::collections::BTreeSet;

use bailiwick_admission::gate::FIRST_MINOR_WITH_LEVELS;
use bailiwick_admission::standards::labels::PodSecurityMode;
use bailiwick_codes as codes;
use bailiwick_kubernetes::validation_action::ValidationAction;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};

use super::target::FIRST_WITH_ADMISSION_POLICIES;
use super::{ClusterPodSecurity, Platform, Version};

/// The part of Pod Security that a target enforces. Default: all of it.
#[derive(Debug, Clone)]
pub struct PodSecurityStage {
    /// The modes of the labels that follow from `podSecurity` of namespaces and tenants.
    pub modes: BTreeSet<PodSecurityMode>,
    /// The actions of the bindings of ValidatingAdmissionPolicies of PodSecurityProfiles. Empty where levels or constraints alone
    /// enforce profiles.
    pub validation_actions: BTreeSet<ValidationAction>,
    /// The location of the settings; none without settings.
    pub origin: Option<Origin>,
}

impl Default for PodSecurityStage {
    fn default() -> Self {
        Self {
            modes: BTreeSet::from(PodSecurityMode::ALL),
            validation_actions: BTreeSet::from([ValidationAction::Deny]),
            origin: None,
        }
    }
}

impl PodSecurityStage {
    /// Whether the levels of namespaces reject pods.
    pub fn enforces(&self) -> bool {
        self.modes.contains(&PodSecurityMode::Enforce)
    }

    /// Whether the profiles of namespaces reject pods.
    pub fn denies(&self) -> bool {
        self.validation_actions.contains(&ValidationAction::Deny)
    }

    /// Whether profiles have no admission policy: the levels of their namespaces, or the constraints on OpenShift, are the only limit.
    pub fn has_no_policies(&self) -> bool {
        self.validation_actions.is_empty()
    }

    /// Returns the words of the actions.
    pub fn action_names(&self) -> Vec<&'static str> {
        self.validation_actions.iter().map(|action| action.name()).collect()
    }

    /// Checks the settings of a target.
    pub(super) fn link(
        spec: Option<&Spanned<ClusterPodSecurity>>,
        platform: Platform,
        version: Version,
        sink: &mut Sink,
    ) -> Self {
        let all = Self::default();
        let Some(spec) = spec else { return all };
        let modes = spec.modes.as_ref().map(|modes| {
            let refusal = refusal_of_modes(platform, version);
            words(modes, refusal, PodSecurityMode::name, sink)
        });
        let actions = spec.validation_actions.as_ref().map(|actions| {
            let refusal = refusal_of_actions(platform, version, actions.is_empty());
            let words = words(actions, refusal, ValidationAction::name, sink);
            if ValidationAction::exclude_each_other(words.iter().copied()) {
                let help = "remove `Warn`: the user of a denied pod reads the message anyway";
                invalid("a binding has either `Deny` or `Warn`".to_owned(), actions.origin, help, sink);
            }
            words
        });
        Self {
            origin: (modes.is_some() || actions.is_some()).then_some(spec.origin),
            modes: modes.map_or(all.modes, |modes| modes),
            validation_actions: actions.map_or(all.validation_actions, |actions| actions),
        }
    }
}

/// Why a target cannot have a setting, with a help.
type Refusal = (String, &'static str);

/// The last minor with PodSecurityPolicies.
const LAST_WITH_POD_SECURITY_POLICIES: u32 = 24;

/// Returns the words of a list. Reports a target that cannot have the list, and a word that is there twice.
fn words<W: Copy + Ord>(
    list: &Spanned<Vec<Spanned<W>>>,
    refusal: Option<Refusal>,
    name: impl Fn(W) -> &'static str,
    sink: &mut Sink,
) -> BTreeSet<W> {
    if let Some((message, help)) = refusal {
        invalid(message, list.origin, help, sink);
    }
    let mut words = BTreeSet::new();
    for word in &list.value {
        if !words.insert(word.value) {
            invalid(format!("`{}` is listed twice", name(word.value)), word.origin, "remove one entry", sink);
        }
    }
    words
}

/// Returns why namespaces cannot have labels of some modes alone. The label synchronization of OpenShift sets each label that is
/// missing, of its own modes.
fn refusal_of_modes(platform: Platform, version: Version) -> Option<Refusal> {
    match platform {
        Platform::Openshift => Some((
            "the label synchronization of OpenShift would set the labels of the other modes".to_owned(),
            "remove `modes`; `features.podSecurityLabelSync` states the labels that the cluster sets: `advising` is `audit` and `warn`",
        )),
        Platform::Kubernetes if version.minor() < FIRST_MINOR_WITH_LEVELS => Some((
            format!(
                "Kubernetes {version} has no Pod Security admission by default; it needs 1.{FIRST_MINOR_WITH_LEVELS}"
            ),
            "remove `modes` from this target",
        )),
        Platform::Kubernetes => None,
    }
}

/// Returns why a target cannot have actions of ValidatingAdmissionPolicies, or cannot be without.
fn refusal_of_actions(platform: Platform, version: Version, are_none: bool) -> Option<Refusal> {
    let serves_policies = version.minor() >= FIRST_WITH_ADMISSION_POLICIES;
    let serves_neither =
        platform == Platform::Kubernetes && !serves_policies && version.minor() > LAST_WITH_POD_SECURITY_POLICIES;
    let has_constraints_alone = platform == Platform::Openshift && !serves_policies;
    if are_none {
        let message = "profiles have objects on this target that reject pods, and no setting removes them".to_owned();
        let help = "remove `validationActions`, or write `[Audit]` to observe the admission policies of profiles";
        return (!serves_neither && !has_constraints_alone).then_some((message, help));
    }
    if serves_policies {
        return None;
    }
    Some(match platform {
        Platform::Openshift => (
            "a profile has an admission policy beside its constraints since OpenShift 4.17".to_owned(),
            "remove `validationActions` from this target: its constraints reject pods; `[]` states that constraints are the only limit",
        ),
        Platform::Kubernetes => (
            format!(
                "Kubernetes {version} has no ValidatingAdmissionPolicy; it needs 1.{FIRST_WITH_ADMISSION_POLICIES}"
            ),
            if serves_neither {
                "write `validationActions: []` to enforce the levels of profiles alone"
            } else {
                "remove `validationActions` from this target; `modes` limits the labels of its levels"
            },
        ),
    })
}

fn invalid(message: String, place: Origin, help: &str, sink: &mut Sink) {
    sink.push(Diagnostic::error(codes::INVALID_WORKSPACE, message).at(place).help(help));
}
