//! The pod security profiles of a class.

use std::sync::Arc;

use super::class::{ClassLinker, check_shared, namespaces_of};
use super::{NamespaceSpec, TenancySpec};
use crate::codes;
use crate::diag::{Diagnostic, Origin, Sink};
use crate::kinds::stance::tenant_grants;
use crate::model::{
    Enforcement, NamespaceProfile, ObjectBlueprint, Pattern, PodSecurityProfile, ProfileAccounts, Shared, Target,
    VariableType,
};
use crate::yaml::Spanned;

/// The pod security profiles of a class.
#[derive(Default)]
pub(super) struct LinkedProfiles {
    /// The last profile; a class for admission policies has one at most.
    pub(super) profile: Option<Arc<PodSecurityProfile>>,
    pub(super) granted: Vec<ObjectBlueprint>,
    pub(super) cluster: Vec<(Enforcement, ObjectBlueprint)>,
    pub(super) shared: Vec<(Enforcement, ObjectBlueprint)>,
}

impl LinkedProfiles {
    /// Adds the objects of a profile.
    fn add(&mut self, name: &Spanned<String>, profile: &Shared<PodSecurityProfile>) {
        let (asked, content) = (name.origin, profile.meta.origin);
        let template = "tenancy/podsecuritypolicy.yaml.j2";
        let policy = profile.content.pod_security_policy(template, name, asked, content);
        let template = "tenancy/securitycontextconstraints.yaml.j2";
        let constraints = profile.content.security_context_constraints(template, name, asked, content);
        let made = [(Enforcement::PodSecurityPolicy, policy), (Enforcement::SecurityContextConstraints, constraints)];
        match Pattern::parse_checked(name).needs_account() || profile.content.needs_account() {
            true => self.cluster.extend(made),
            // The profile makes the object of its own name.
            false if name.value == *profile.meta.name => {}
            false => self.shared.extend(made),
        }
        self.granted.extend(tenant_grants(name, asked, content));
    }
}

/// Returns the service accounts of a namespace that the profile of its class applies to.
fn accounts_of(namespace: &NamespaceSpec) -> ProfileAccounts {
    let own = namespace.pod_security.as_ref().filter(|own| !own.service_accounts.is_empty());
    own.map_or(ProfileAccounts::All, |_| ProfileAccounts::Others)
}

/// Returns the diagnostic for constraints with another name than their profile: the admission policy beside the constraints of the
/// profile does not apply to their pods.
fn other_name(profile: &PodSecurityProfile, name: &Spanned<String>) -> Diagnostic {
    let message = format!("the constraints `{}` have no admission policy with the limits of the profile", name.value);
    Diagnostic::error(codes::INEXPRESSIBLE_LIMIT, message)
        .at(name.origin)
        .help(format!("use the name of the profile: `name: {}`", profile.name()))
}

/// Returns the diagnostic for a second profile on a target that cannot choose between profiles.
fn second_profile(first: &PodSecurityProfile, target: &Target, asked: Origin) -> Diagnostic {
    let message = format!("a namespace has one profile, and `{}` is already set", first.name());
    Diagnostic::error(codes::INVALID_VALUE, message)
        .at(asked)
        .help("keep one profile, or write a preset for these targets: only PodSecurityPolicy chooses between profiles")
        .note(format!("the target `{}` runs Kubernetes {}", target.name, target.version))
}

impl ClassLinker<'_, '_> {
    /// Resolves the pod security profiles.
    pub(super) fn profiles(&mut self) -> LinkedProfiles {
        let mut linked = LinkedProfiles::default();
        let on = self.on_targets();
        let judging = on.iter().find(|target| target.enforcement() == Enforcement::AdmissionPolicy);
        for used in &self.class.pod_security {
            let reference = used.profile.origin;
            let found = self.linker.offers.find::<PodSecurityProfile>(&used.profile, self.targets, self.sink);
            let Some(profile) = found else { continue };
            check_shared(&profile.meta, &profile.variables, self.spec, reference, self.sink);
            let is_limited = profile.content.is_limited_beside() && used.name.value != *profile.meta.name;
            if is_limited && on.iter().any(Target::has_policies_beside_constraints) {
                self.sink.push(other_name(&profile.content, &used.name));
            }
            linked.add(&used.name, profile);
            for namespace in namespaces_of(self.class) {
                self.linker.facts.push(NamespaceProfile {
                    namespace: namespace.name.origin,
                    profile: profile.content.name().to_owned(),
                    targets: Arc::new(self.targets.clone()),
                    accounts: accounts_of(namespace),
                });
            }
            if judging.is_some() {
                check_values(&profile.content, self.spec, reference, self.sink);
            }
            if let Some(first) = linked.profile.replace(Arc::clone(&profile.content))
                && let Some(target) = judging
            {
                self.sink.push(second_profile(&first, target, reference));
            }
        }
        linked
    }
}

/// Checks that every account has the values for an admission policy, and that number columns have numbers.
fn check_values(profile: &PodSecurityProfile, spec: &TenancySpec, asked: Origin, sink: &mut Sink) {
    for name in profile.variables() {
        let Some(variable) = spec.variables.get(name) else { continue };
        let is_number = profile.numbers().contains(name);
        let problem = if variable.optional {
            format!("an account can lack `{name}`, but the profile `{}` needs it", profile.name())
        } else if is_number && variable.r#type != VariableType::Integer {
            format!("`{name}` is not an integer, but the profile `{}` uses it as a number", profile.name())
        } else if matches!(variable.r#type, VariableType::Map) {
            format!("`{name}` is a map, but the profile `{}` uses it as a text", profile.name())
        } else {
            continue;
        };
        sink.push(
            Diagnostic::error(codes::INVALID_VALUE, problem)
                .at(asked)
                .help("declare it as `{type: integer, minimum: 1}`, or as a string, without `optional`"),
        );
    }
}
