//! A profile as admission policies: the checks of pods, and the defaults set before.
//!
//! One policy covers every namespace with the label of the profile, and reads the values of a tenant from annotations
//! of the namespace: one policy per tenant would overload the API server.

use bailiwick_yaml::diag::Origin;

use super::PodSecurityProfileSpec;
use super::cel::variable_name;
use super::checks::{CONTAINERS, Check, checks};
use super::defaults::{self, Form};
use super::held::Holding;
use crate::model::{
    Blueprint, Data, Enforcement, ObjectBlueprint, Pattern, PodSecurityProfile, PolicyMeta, ProfileDefaults, Target,
};

const V1: &str = "admissionregistration.k8s.io/v1";

/// A profile as it is written, for the targets of its policy.
#[derive(Clone, Copy)]
pub(super) struct WrittenProfile<'p> {
    pub(super) spec: &'p PodSecurityProfileSpec,
    pub(super) meta: &'p PolicyMeta,
    /// The account variables.
    pub(super) variables: &'p [String],
    pub(super) targets: &'p [Target],
    /// The location of the spec.
    pub(super) content: Origin,
}

/// Builds the objects of a profile, for the targets with admission policies. Objects of one kind with several
/// apiVersions are for different targets, see [`is_served`].
pub(super) fn objects(holding: Holding, profile: WrittenProfile<'_>) -> Vec<ObjectBlueprint> {
    let WrittenProfile { spec, meta, variables, targets, .. } = profile;
    let targets: Vec<&Target> =
        targets.iter().filter(|target| target.enforcement() == Enforcement::AdmissionPolicy).collect();
    let by_target = |make: &dyn Fn(&Target) -> Data| {
        let each = targets.iter().map(|target| (target.name.clone(), Blueprint::Constant(make(target))));
        Blueprint::by_target(each.collect())
    };
    let name = &*meta.name;
    let checked = by_target(&|target| {
        let checks = checks(spec, variables, target).into_iter();
        let held = checks.map(|check| Check { expression: holding.check(check.expression), ..check });
        Data::List(held.map(|check| check.data(name)).collect())
    });
    let own = Blueprint::Constant(validating_variables(holding, name, variables));
    let mut objects = validating(profile, checked, own);
    let patches = by_target(&|target| {
        let patches = defaults::patches(spec, target, Form::Object).into_iter();
        Data::List(patches.map(|patch| Data::text(holding.patches(patch))).collect())
    });
    let fills_in = targets.iter().any(|target| !defaults::patches(spec, target, Form::Object).is_empty());
    let mut versions: Vec<&str> = targets.iter().filter_map(|target| target.mutating_admission_policy()).collect();
    versions.sort_unstable();
    versions.dedup();
    for version in versions.into_iter().filter(|_| fills_in) {
        objects.push(
            object(profile, version, MUTATING, "pod-security-profile/mutatingadmissionpolicy.yaml.j2")
                .with("variables", Blueprint::Constant(mutating_variables(holding, name, variables)))
                .with("patches", patches.clone()),
        );
        let template = "pod-security-profile/mutatingadmissionpolicybinding.yaml.j2";
        objects.push(object(profile, version, MUTATING_BINDING, template));
    }
    objects
}

/// Builds the ValidatingAdmissionPolicy of a profile, and its binding.
pub(super) fn validating(profile: WrittenProfile<'_>, checks: Blueprint, variables: Blueprint) -> Vec<ObjectBlueprint> {
    let template = "pod-security-profile/validatingadmissionpolicy.yaml.j2";
    let policy = object(profile, V1, VALIDATING, template);
    let template = "pod-security-profile/validatingadmissionpolicybinding.yaml.j2";
    let binding = object(profile, V1, BINDING, template).with("validationActions", actions(profile.targets));
    vec![policy.with("variables", variables).with("checks", checks), binding]
}

/// Returns the actions of bindings on each target.
fn actions(targets: &[Target]) -> Blueprint {
    let of_target = |target: &Target| Blueprint::from_value(&target.pod_security_stage.action_names());
    Blueprint::by_target(targets.iter().map(|target| (target.name.clone(), of_target(target))).collect())
}

/// Builds an object of a profile without its expressions.
fn object(profile: WrittenProfile<'_>, api_version: &str, kind: &str, template: &'static str) -> ObjectBlueprint {
    let WrittenProfile { spec, meta, content, .. } = profile;
    let name = meta.name.replace('{', "{{").replace('}', "}}");
    let policy = PodSecurityProfile::admission_policy(&name);
    ObjectBlueprint::new(api_version, kind, template, Pattern::parse_checked(&policy), meta.origin)
        .with("apiVersion", Blueprint::from_value(&api_version))
        .with("profile", Blueprint::from_value(&name))
        .with("policy", Blueprint::from_value(&policy))
        .with("labels", Blueprint::from_value(&spec.labels))
        .with("annotations", Blueprint::from_value(&spec.annotations))
        .content_at(content)
}

/// Returns the bindings of a profile for namespaces with a list of service accounts, from its objects.
pub(super) fn account_bindings(objects: &[ObjectBlueprint], meta: &PolicyMeta) -> Vec<ObjectBlueprint> {
    let name = meta.name.replace('{', "{{").replace('}', "}}");
    let bindings = objects.iter().filter(|object| matches!(&*object.object_type.kind, BINDING | MUTATING_BINDING));
    let for_accounts = |binding: &ObjectBlueprint| {
        let mut binding =
            binding.clone().with("listed", Blueprint::from_value(&PodSecurityProfile::accounts_key(&name)));
        binding.name = Pattern::parse_checked(&PodSecurityProfile::accounts_binding(&name));
        binding
    };
    bindings.map(for_accounts).collect()
}

const VALIDATING: &str = "ValidatingAdmissionPolicy";
const BINDING: &str = "ValidatingAdmissionPolicyBinding";
const MUTATING: &str = "MutatingAdmissionPolicy";
const MUTATING_BINDING: &str = "MutatingAdmissionPolicyBinding";

/// Whether the target serves the version of an object. A target with constraints alone has no admission policy beside them.
pub(super) fn is_served(object: &ObjectBlueprint, target: &Target) -> bool {
    match &*object.object_type.kind {
        MUTATING | MUTATING_BINDING => target.mutating_admission_policy() == Some(&*object.object_type.api_version),
        VALIDATING | BINDING => {
            target.enforcement() == Enforcement::AdmissionPolicy || target.has_policies_beside_constraints()
        }
        _ => true,
    }
}

/// Returns the variables of the expressions, in the order of their declaration.
fn validating_variables(holding: Holding, profile: &str, variables: &[String]) -> Data {
    let own = [variable("containers", CONTAINERS.to_owned())];
    Data::List(own.into_iter().chain(held(holding, profile)).chain(accounts(variables)).collect())
}

fn mutating_variables(holding: Holding, profile: &str, variables: &[String]) -> Data {
    Data::List(held(holding, profile).chain(accounts(variables)).collect())
}

fn held(holding: Holding, profile: &str) -> impl Iterator<Item = Data> {
    holding.variable(profile).into_iter().map(|(name, expression)| variable(&name, expression))
}

fn accounts(variables: &[String]) -> impl Iterator<Item = Data> {
    variables.iter().map(|name| {
        let (name, expression) = account_variable(name);
        variable(&name, expression)
    })
}

/// Returns the expression for the value of an account variable, from the annotations of the namespace; empty without an
/// annotation.
fn account_variable(name: &str) -> (String, String) {
    let annotation = PodSecurityProfile::annotation(name);
    (variable_name(name), format!("namespaceObject.metadata.?annotations[?'{annotation}'].orValue('')"))
}

/// Whether a profile has defaults that a mutating policy can set.
pub(super) fn has_defaults(spec: &PodSecurityProfileSpec, target: &Target) -> bool {
    !defaults::patches(spec, target, Form::Map).is_empty()
}

/// Returns the defaults that mutating policies set, for each target that serves them.
pub(super) fn filled_in(spec: &PodSecurityProfileSpec, variables: &[String], targets: &[Target]) -> ProfileDefaults {
    let serves = |target: &&Target| {
        target.enforcement() == Enforcement::AdmissionPolicy && target.mutating_admission_policy().is_some()
    };
    let patches = |target: &Target| (target.name.clone(), defaults::patches(spec, target, Form::Map));
    ProfileDefaults {
        variables: variables.iter().map(|name| account_variable(name)).collect(),
        patches: targets.iter().filter(serves).map(patches).collect(),
    }
}

/// Returns a variable of a policy.
pub(super) fn variable(name: &str, expression: String) -> Data {
    Data::map([("name", Data::text(name)), ("expression", Data::text(expression))])
}
