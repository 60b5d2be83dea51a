//! The selection of a policy for a pod (`plugin/pkg/admission/security/podsecuritypolicy/admission.go` of 1.24).
//!
//! The user of the request and the service account of the pod may each contribute a policy. For a pod created by a
//! controller, the user is the controller's account.

use std::collections::BTreeSet;

use super::admit::{Admission, PspProvider};
use super::{PodSecurityPolicy, PspViolation, synchronise, validity};
use crate::pod::Pod;
use bailiwick_access::World;
use bailiwick_access::request::{Identity, Request, ResourceRequest};
use bailiwick_access::world::account_user;

/// The annotation with the name of the selected policy.
pub const RECORDED: &str = "kubernetes.io/psp";

/// The API groups in grants for policies; the second group is from before 1.10.
pub const GROUPS: [&str; 2] = ["policy", "extensions"];

/// The operation on the pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodOperation {
    /// It is new, and may be filled in.
    Create,
    /// A change of the pod. The policy in its annotation is tried first, and no default is filled in.
    Update,
}

/// The result of admission for a pod under all policies of its cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The policy of the pod; none for a rejected pod.
    pub policy: Option<String>,
    /// The pod as it is stored, if it is admitted and valid.
    pub pod: Option<Pod>,
    /// Whether the policy filled something in.
    pub is_mutated: bool,
    /// The errors of an invalid pod, independent of the policies.
    pub invalid: Vec<PspViolation>,
    /// For a rejected pod, the violations of each usable policy, by name.
    pub refusals: Vec<PspRejection>,
    /// Unusable policies, passed over by admission, with the reasons, by name.
    pub broken: Vec<(String, Vec<String>)>,
}

/// Why a policy does not admit a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PspRejection {
    /// Its name.
    pub policy: String,
    /// The violations; empty if only a default is missing, because an update fills in none.
    pub violations: Vec<PspViolation>,
}

impl Choice {
    /// Whether the pod comes through.
    pub fn is_allowed(&self) -> bool {
        self.policy.is_some() && self.invalid.is_empty()
    }
}

/// Whether an identity may use a policy in a namespace.
pub fn may_use(world: &World, who: &Identity, namespace: &str, policy: &str) -> bool {
    requests(namespace, policy).any(|request| world.allows(who, &request))
}

/// Returns the names of policies usable by an identity in a namespace, with or without an object of the name; none for
/// access to every name. With thousands of policies this is faster than a question for each.
pub fn usable_names(world: &World, who: &Identity, namespace: &str) -> Option<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for request in requests(namespace, "") {
        if world.allows(who, &request) {
            return None;
        }
        names.extend(world.named_variants(who, &request).into_iter().filter_map(|request| match request {
            Request::Resource(request) => Some(request.name),
            Request::Url(_) => None,
        }));
    }
    Some(names)
}

fn requests(namespace: &str, policy: &str) -> impl Iterator<Item = Request> {
    let request = |group: &str| ResourceRequest {
        verb: "use".to_owned(),
        group: group.to_owned(),
        resource: "podsecuritypolicies".to_owned(),
        namespace: namespace.to_owned(),
        name: policy.to_owned(),
        ..ResourceRequest::default()
    };
    GROUPS.map(|group| Request::Resource(request(group))).into_iter()
}

/// Returns the policies usable by an identity in a namespace, by name: the choices of a user or a service account.
pub fn usable<'p>(
    world: &World,
    who: &Identity,
    namespace: &str,
    policies: impl IntoIterator<Item = &'p PodSecurityPolicy>,
) -> Vec<&'p PodSecurityPolicy> {
    let mut found: Vec<_> =
        policies.into_iter().filter(|policy| may_use(world, who, namespace, policy.name())).collect();
    found.sort_by_key(|policy| policy.name());
    found
}

/// Returns the identity of the service account of a pod in a namespace.
pub fn account_of(pod: &Pod, namespace: &str) -> Identity {
    Identity::from_user(&account_user(namespace, pod.account_name()))
}

/// Selects the policy for a pod of a request in a namespace.
pub fn choose(world: &World, policies: &[PodSecurityPolicy], request: &PodRequest<'_>) -> Choice {
    let PodRequest { user, namespace, pod, operation } = *request;
    let account = account_of(pod, namespace);
    let may = |name: &str| may_use(world, &account, namespace, name) || may_use(world, user, namespace, name);
    choose_among(policies, may, pod, operation)
}

/// The creation or the change of a pod.
#[derive(Debug, Clone, Copy)]
pub struct PodRequest<'r> {
    /// The author of the request.
    pub user: &'r Identity,
    /// Name of the namespace object.
    pub namespace: &'r str,
    /// The object.
    pub pod: &'r Pod,
    /// The kind of request.
    pub operation: PodOperation,
}

/// Selects a policy with the usable policies known to the caller.
pub fn choose_among<'p>(
    policies: impl IntoIterator<Item = &'p PodSecurityPolicy>,
    may_use: impl Fn(&str) -> bool,
    pod: &Pod,
    operation: PodOperation,
) -> Choice {
    let mut choice = Choice {
        policy: None,
        pod: None,
        is_mutated: false,
        invalid: Vec::new(),
        refusals: Vec::new(),
        broken: Vec::new(),
    };
    let mut sorted: Vec<&PodSecurityPolicy> = policies.into_iter().collect();
    sorted.sort_by_key(|policy| policy.name());
    let mut providers: Vec<PspProvider<'_>> = Vec::new();
    for policy in sorted {
        match PspProvider::new(policy) {
            Ok(provider) if may_use(policy.name()) => providers.push(provider),
            Ok(_) => {}
            Err(error) => choice.broken.push((policy.name().to_owned(), error.texts())),
        }
    }
    if operation == PodOperation::Update
        && let Some(recorded) = pod.metadata.annotations.get(RECORDED)
    {
        // The sort is stable, and the others stay in the order of their names.
        providers.sort_by_key(|provider| provider.name() != recorded);
    }
    let found = first_fit(&providers, pod, operation, &mut choice.refusals);
    let Some((name, admission)) = found else {
        choice.invalid = validity::problems(pod);
        choice.refusals.sort_by(|left, right| left.policy.cmp(&right.policy));
        return choice;
    };
    choice.refusals.clear();
    choice.is_mutated = admission.is_mutated;
    choice.policy = Some(name.to_owned());
    let mut stored = admission.pod;
    if operation == PodOperation::Create {
        stored.metadata.annotations.insert(RECORDED.to_owned(), name.to_owned());
        prepare(&mut stored);
        choice.invalid = validity::of_new(&stored);
        // The API server runs the selection again on the mutated pod, starting with the selected policy. Only a change
        // of the /proc mount can lead to another result, because the defaults are idempotent.
        providers.sort_by_key(|provider| provider.name() != name);
        let mut refusals = Vec::new();
        let asks_again = choice.invalid.is_empty();
        if asks_again && first_fit(&providers, &stored, PodOperation::Update, &mut refusals).is_none() {
            choice.policy = None;
            choice.refusals = refusals;
        }
    } else {
        choice.invalid = validity::problems(&stored);
    }
    choice.pod = Some(stored).filter(|_| choice.is_allowed());
    choice
}

/// Applies the changes of the API server to a new pod between the mutating and the validating plugins, in fields read
/// by policies.
fn prepare(pod: &mut Pod) {
    synchronise(pod);
    let spec = &mut pod.spec;
    let containers = spec.init_containers.iter_mut().chain(&mut spec.containers).chain(&mut spec.ephemeral_containers);
    for context in containers.filter_map(|container| container.security_context.as_mut()) {
        // The gate ProcMountType is off in 1.24: every value becomes the default.
        if let Some(kind) = &mut context.proc_mount {
            "Default".clone_into(kind);
        }
    }
}

/// Returns the first policy for the pod as it is; on create, else the first policy for the pod with its defaults.
fn first_fit<'p>(
    providers: &[PspProvider<'p>],
    pod: &Pod,
    operation: PodOperation,
    refusals: &mut Vec<PspRejection>,
) -> Option<(&'p str, Admission)> {
    let mut first_mutating = None;
    for provider in providers {
        let admission = provider.admit(pod);
        let is_fine = admission.violations.is_empty();
        if is_fine && !admission.is_mutated {
            return Some((provider.name(), admission));
        }
        if is_fine && operation == PodOperation::Create {
            first_mutating.get_or_insert((provider.name(), admission));
        } else {
            refusals.push(PspRejection { policy: provider.name().to_owned(), violations: admission.violations });
        }
    }
    first_mutating
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::{Container, PodSecurityContext, SyscallProfile};
    use crate::psp::{IdStrategy, PspSeLinuxStrategy, Spec};

    fn policy(name: &str, change: impl FnOnce(&mut PodSecurityPolicy)) -> PodSecurityPolicy {
        let any = || IdStrategy { rule: "RunAsAny".to_owned(), ranges: Vec::new() };
        let spec = Spec {
            run_as_user: any(),
            fs_group: any(),
            supplemental_groups: any(),
            se_linux: PspSeLinuxStrategy { rule: "RunAsAny".to_owned(), se_linux_options: None },
            ..Spec::default()
        };
        let mut policy = PodSecurityPolicy { spec, ..PodSecurityPolicy::default() };
        policy.metadata.name = name.to_owned();
        change(&mut policy);
        policy
    }

    fn pod() -> Pod {
        let mut pod = Pod::default();
        pod.spec.containers.push(Container { name: "c".to_owned(), ..Container::default() });
        pod
    }

    fn read_only(policy: &mut PodSecurityPolicy) {
        policy.spec.read_only_root_filesystem = true;
    }

    #[test]
    fn a_policy_that_changes_nothing_comes_before_the_name() {
        let policies = [policy("b", |_| ()), policy("a", read_only), policy("c", |_| ())];
        let choice = choose_among(&policies, |_| true, &pod(), PodOperation::Create);
        assert_eq!((choice.policy.as_deref(), choice.is_mutated), (Some("b"), false));
        let policies = [policy("b", read_only), policy("a", read_only)];
        let choice = choose_among(&policies, |_| true, &pod(), PodOperation::Create);
        assert_eq!((choice.policy.as_deref(), choice.is_mutated), (Some("a"), true));
        assert_eq!(choice.pod.expect("admitted").metadata.annotations[RECORDED], "a");
        let choice = choose_among(&policies, |name| name == "b", &pod(), PodOperation::Create);
        assert_eq!(choice.policy.as_deref(), Some("b"));
        assert!(!choose_among(&policies, |_| false, &pod(), PodOperation::Create).is_allowed());
    }

    #[test]
    fn an_update_fills_in_nothing_and_starts_with_what_is_recorded() {
        let policies = [policy("a", |_| ()), policy("b", |_| ()), policy("m", read_only)];
        let mut pod = pod();
        pod.metadata.annotations.insert(RECORDED.to_owned(), "b".to_owned());
        let choice = choose_among(&policies, |_| true, &pod, PodOperation::Update);
        assert_eq!(choice.policy.as_deref(), Some("b"));
        let choice = choose_among(&policies, |name| name == "m", &pod, PodOperation::Update);
        assert_eq!(choice.refusals, [PspRejection { policy: "m".to_owned(), violations: Vec::new() }]);
    }

    #[test]
    fn a_profile_in_the_field_alone_makes_every_policy_mutate() {
        let allowing = |policy: &mut PodSecurityPolicy| {
            let key = "seccomp.security.alpha.kubernetes.io/allowedProfileNames";
            policy.metadata.annotations.insert(key.to_owned(), "*".to_owned());
        };
        let both = |policy: &mut PodSecurityPolicy| {
            allowing(policy);
            read_only(policy);
        };
        let policies = [policy("a", both), policy("b", allowing)];
        let mut pod = pod();
        let profile = SyscallProfile { r#type: "RuntimeDefault".to_owned(), localhost_profile: None };
        pod.spec.security_context = Some(PodSecurityContext { seccomp_profile: Some(profile), ..Default::default() });
        let choice = choose_among(&policies, |_| true, &pod, PodOperation::Create);
        assert_eq!(choice.policy.as_deref(), Some("a"), "by name, as both add the annotation");
        synchronise(&mut pod);
        let choice = choose_among(&policies, |_| true, &pod, PodOperation::Create);
        assert_eq!(choice.policy.as_deref(), Some("b"), "the annotation is there already");
    }

    #[test]
    fn what_a_policy_makes_of_a_pod_has_to_be_valid() {
        let policies = [policy("a", |policy| {
            policy.spec.privileged = true;
            policy.spec.allow_privilege_escalation = false;
        })];
        let mut pod = pod();
        pod.spec.containers[0].security_context =
            Some(crate::pod::SecurityContext { privileged: Some(true), ..Default::default() });
        let choice = choose_among(&policies, |_| true, &pod, PodOperation::Create);
        assert_eq!(choice.policy.as_deref(), Some("a"));
        assert!(!choice.is_allowed() && choice.pod.is_none(), "{:?}", choice.invalid);
    }
}
