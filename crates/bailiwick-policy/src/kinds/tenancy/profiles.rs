//! The pod security profiles of a class.

use std::collections::BTreeMap;
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};

use super::class::{ClassLinker, check_shared, namespaces_of};
use super::linked::LinkedClass;
use super::scope::{ItemScope, Repeated};
use super::{NamespaceSpec, ProfileUse, TenancySpec};
use crate::kinds::shared::StringMap;
use crate::kinds::stance::{NamedProfile, tenant_grants};
use crate::model::{
    Accounts, Blueprint, Enforcement, Fill, NamespaceProfile, ObjectBlueprint, Pattern, PodSecurityProfile,
    ProfileAccounts, Repetition, Shared, Target, Unit, VariableType,
};

/// The pod security profiles of a class.
#[derive(Default)]
pub(super) struct LinkedProfiles {
    /// The last profile of every account; a class for admission policies has one at most.
    pub(super) profile: Option<Arc<PodSecurityProfile>>,
    /// The profiles of some accounts. The last one that applies to an account is the profile of its namespaces.
    pub(super) conditional: Vec<(Repetition, Arc<PodSecurityProfile>)>,
    pub(super) objects: ProfileObjects,
}

/// The objects for the profiles of a class.
#[derive(Default)]
pub(super) struct ProfileObjects {
    /// The objects that allow the service accounts of the namespace to use its constraints.
    pub(super) granted: Vec<ProfileObject>,
    /// Cluster-scoped objects, one per account.
    pub(super) cluster: Vec<ProfileObject>,
    /// Cluster-scoped objects shared by all accounts.
    pub(super) shared: Vec<ProfileObject>,
}

/// An object for a profile, on the targets with one enforcement.
#[derive(Clone)]
pub(super) struct ProfileObject {
    pub(super) enforcement: Enforcement,
    pub(super) object: ObjectBlueprint,
    pub(super) repetition: Repetition,
}

impl ProfileObject {
    /// Adds the objects for some values.
    pub(super) fn add(&self, from: Fill<'_>, units: &mut Vec<Unit>) {
        if self.enforcement == from.target.enforcement() {
            self.repetition.each(from, &mut |from| units.push(self.object.fill_from(from)));
        }
    }

    fn detached(&self) -> Self {
        Self { object: self.object.detached(), ..self.clone() }
    }
}

impl ProfileObjects {
    /// Adds what an account needs for a profile: the object itself, and the permission to use it.
    fn add(&mut self, used: &ProfileUse, repetition: &Repetition, profile: &Shared<PodSecurityProfile>) {
        let (name, asked, content) = (&used.name, used.name.origin, profile.meta.origin);
        let made = |enforcement, object: ObjectBlueprint| {
            let object = with_own_metadata(object, &used.labels, &used.annotations);
            ProfileObject { enforcement, object, repetition: repetition.clone() }
        };
        let template = "tenancy/podsecuritypolicy.yaml.j2";
        let policy = profile.content.pod_security_policy(template, name, asked, content);
        let template = "tenancy/securitycontextconstraints.yaml.j2";
        let constraints = profile.content.security_context_constraints(template, name, asked, content);
        let both =
            [made(Enforcement::PodSecurityPolicy, policy), made(Enforcement::SecurityContextConstraints, constraints)];
        match Pattern::parse_checked(name).needs_account() || profile.content.needs_account() {
            true => self.cluster.extend(both),
            // The profile makes the object of its own name.
            false if name.value == *profile.meta.name => {}
            false => self.shared.extend(both),
        }
        let grants = tenant_grants(name, asked, content).into_iter();
        self.granted.extend(grants.map(|object| ProfileObject {
            enforcement: Enforcement::SecurityContextConstraints,
            object,
            repetition: repetition.clone(),
        }));
    }

    /// Copies the objects without shared parts, see [`crate::model::TenancyPolicy::detached`].
    pub(super) fn detached(&self) -> Self {
        let detach = |objects: &[ProfileObject]| objects.iter().map(ProfileObject::detached).collect();
        Self { granted: detach(&self.granted), cluster: detach(&self.cluster), shared: detach(&self.shared) }
    }
}

/// Lays labels and annotations over the metadata of an object.
fn with_own_metadata(mut object: ObjectBlueprint, labels: &StringMap, annotations: &StringMap) -> ObjectBlueprint {
    for (field, own) in
        [("labels", labels), ("annotations", annotations)].into_iter().filter(|(_, own)| !own.is_empty())
    {
        let own = Blueprint::from_value(own);
        match object.fields.iter_mut().find(|(name, _)| **name == *field) {
            Some((_, value)) => *value = own.with_missing(value),
            None => object = object.with(field, own),
        }
    }
    object
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
    /// Returns the profile that a namespace names itself, in a class without `podSecurity`.
    pub(super) fn named_profile(&mut self, namespace: &NamespaceSpec) -> Option<NamedProfile> {
        let name = namespace.pod_security.as_ref()?.profile.as_ref()?;
        if !self.class.pod_security.is_empty() {
            let message = "this namespace has a profile beside the profiles in `podSecurity` of the class";
            let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(name.origin);
            self.sink.push(diagnostic.help("keep one of the two"));
            return None;
        }
        let help = "list it in `class.podSecurity` with a `name` for the objects of each account";
        let found = NamedProfile::find(name, self.targets, help, self.linker, self.sink)?;
        self.linker.facts.push(NamespaceProfile {
            namespace: namespace.name.origin,
            profile: found.profile.name().to_owned(),
            targets: Arc::new(self.targets.clone()),
            accounts: accounts_of(namespace),
        });
        Some(found)
    }

    /// Resolves the pod security profiles.
    pub(super) fn profiles(&mut self) -> LinkedProfiles {
        let mut linked = LinkedProfiles::default();
        let on = self.on_targets();
        let judging = on.iter().find(|target| target.enforcement() == Enforcement::AdmissionPolicy);
        let own = ItemScope::new(&self.spec.variables);
        for used in &self.class.pod_security {
            let repetition = own.of_item(Repeated::of(used), &on, self.sink).repetition;
            let reference = used.profile.origin;
            let found = self.linker.offers.find::<PodSecurityProfile>(&used.profile, self.targets, self.sink);
            let Some(profile) = found else { continue };
            check_shared(&profile.meta, &profile.variables, self.spec, reference, self.sink);
            let is_limited = profile.content.is_limited_beside() && used.name.value != *profile.meta.name;
            if is_limited && on.iter().any(Target::has_policies_beside_constraints) {
                self.sink.push(other_name(&profile.content, &used.name));
            }
            linked.objects.add(used, &repetition, profile);
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
            } else if used.when.is_none() {
                check_numbers(&profile.content, self.spec, reference, self.sink);
            }
            let content = Arc::clone(&profile.content);
            let earlier = linked.profile.clone();
            if repetition.is_once() {
                linked.profile = Some(content);
            } else {
                linked.conditional.push((repetition, content));
            }
            if let Some((first, target)) = earlier.zip(judging) {
                self.sink.push(second_profile(&first, target, reference));
            }
            if let Some((each, target)) = used.each.as_ref().zip(judging) {
                let message = "a namespace has one profile, and a loop can make several";
                let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(each.origin);
                let diagnostic =
                    diagnostic.note(format!("the target `{}` runs Kubernetes {}", target.name, target.version));
                self.sink.push(diagnostic.help("remove `for`, or write a preset for these targets"));
            }
        }
        linked
    }
}

impl LinkedClass {
    /// Reports accounts with two profiles on a target that cannot choose between profiles.
    pub(super) fn check_choice(&self, accounts: &Accounts, targets: &[Target], sink: &mut Sink) {
        let mut found: BTreeMap<Origin, Origin> = BTreeMap::new();
        // Every namespace of the class has the same profiles.
        let Some(namespace) = self.namespaces.first() else { return };
        for target in targets.iter().filter(|target| target.enforcement() == Enforcement::AdmissionPolicy) {
            for (_, account) in accounts.on(&target.name) {
                let from = Fill::from_account(target, account);
                let second = namespace.by_profile.iter().filter(|(repetition, _)| repetition.is_made(from)).nth(1);
                if let Some(when) = second.and_then(|(repetition, _)| repetition.when.as_ref()) {
                    found.entry(when.origin).or_insert(account.origin());
                }
            }
        }
        for (when, row) in found {
            let message = "a namespace has one profile, and another profile applies to the account, too";
            let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(when).and(row, "the account");
            sink.push(diagnostic.help("write conditions of which one at most holds for an account"));
        }
    }
}

/// Checks that every account has the numbers for a PodSecurityPolicy or constraints: an absent number of a range is 0, the id of root.
fn check_numbers(profile: &PodSecurityProfile, spec: &TenancySpec, asked: Origin, sink: &mut Sink) {
    let numbers = profile.variables().iter().filter(|name| profile.numbers().contains(*name));
    for name in numbers.filter(|name| spec.variables.get(*name).is_some_and(|variable| variable.optional)) {
        let problem =
            format!("an account can lack `{name}`, and a range of the profile `{}` would have 0", profile.name());
        sink.push(
            Diagnostic::error(codes::INVALID_VALUE, problem)
                .at(asked)
                .help("declare it without `optional`, or write `when` for the accounts that have it"),
        );
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
