//! Which policy a pod gets (`plugin/pkg/admission/security/podsecuritypolicy/admission.go` of 1.24).
//!
//! Who creates the pod and the service account it runs as may each bring a policy. For a pod that a controller makes,
//! the former is the controller's account.

use std::collections::BTreeSet;

use super::admit::{Admission, Provider};
use super::{PodSecurityPolicy, Violation, synchronise, validity};
use crate::pod::Pod;
use bailiwick_access::World;
use bailiwick_access::request::{Identity, Request, ResourceRequest};
use bailiwick_access::world::account_user;

/// The annotation with the name of the policy that a pod got.
pub const RECORDED: &str = "kubernetes.io/psp";

/// The API groups in which the use of a policy can be granted; the second one for grants from before 1.10.
pub const GROUPS: [&str; 2] = ["policy", "extensions"];

/// What happens to the pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// It is new, and may be filled in.
    Create,
    /// It changes. What is recorded in its annotation is tried first, and nothing is filled in.
    Update,
}

/// What came of a pod under all the policies of its cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The policy that admits it; none where none does.
    pub policy: Option<String>,
    /// The pod as it is stored, if it is admitted and valid.
    pub pod: Option<Pod>,
    /// Whether the policy filled something in.
    pub is_mutated: bool,
    /// What makes the pod invalid, whatever the policies say.
    pub invalid: Vec<Violation>,
    /// Where no policy admits it: why not, for each that may be used, by name.
    pub refusals: Vec<Refusal>,
    /// Policies that admission passes over because they cannot be used by anybody, with the reasons, by name.
    pub broken: Vec<(String, Vec<String>)>,
}

/// Why a policy does not admit a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Its name.
    pub policy: String,
    /// What it does not allow; empty where it would have to fill something in, which it may not on an update.
    pub violations: Vec<Violation>,
}

impl Choice {
    /// True when the pod comes through.
    pub fn is_allowed(&self) -> bool {
        self.policy.is_some() && self.invalid.is_empty()
    }
}

/// True when an identity may use a policy in a namespace.
pub fn may_use(world: &World, who: &Identity, namespace: &str, policy: &str) -> bool {
    requests(namespace, policy).any(|request| world.allows(who, &request))
}

/// The names that an identity may use in a namespace, whether or not there is a policy of the name; none where it may
/// use every one. Where each of thousands of tenants has a policy, this finds the few without asking for all of them.
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

/// The policies that an identity may use in a namespace, by name. This is what to tell a person who asks what a user
/// or a service account can get.
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

/// The identity of the service account that a pod in a namespace runs as.
pub fn account_of(pod: &Pod, namespace: &str) -> Identity {
    let name = Some(pod.spec.service_account_name.as_str()).filter(|name| !name.is_empty()).unwrap_or("default");
    Identity::of(&account_user(namespace, name))
}

/// What comes of a pod that somebody creates or changes in a namespace.
pub fn choose(
    world: &World,
    who: &Identity,
    namespace: &str,
    policies: &[PodSecurityPolicy],
    pod: &Pod,
    operation: Operation,
) -> Choice {
    let account = account_of(pod, namespace);
    let may = |name: &str| may_use(world, &account, namespace, name) || may_use(world, who, namespace, name);
    choose_among(policies, may, pod, operation)
}

/// The same where the caller knows which policies may be used.
pub fn choose_among<'p>(
    policies: impl IntoIterator<Item = &'p PodSecurityPolicy>,
    may_use: impl Fn(&str) -> bool,
    pod: &Pod,
    operation: Operation,
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
    let mut providers: Vec<Provider<'_>> = Vec::new();
    for policy in sorted {
        match Provider::new(policy) {
            Ok(provider) if may_use(policy.name()) => providers.push(provider),
            Ok(_) => {}
            Err(reasons) => choice.broken.push((policy.name().to_owned(), reasons)),
        }
    }
    if operation == Operation::Update
        && let Some(recorded) = pod.metadata.annotations.get(RECORDED)
    {
        // Stable, so that the others stay in the order of their names.
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
    if operation == Operation::Create {
        stored.metadata.annotations.insert(RECORDED.to_owned(), name.to_owned());
        prepare(&mut stored);
        choice.invalid = validity::of_new(&stored);
        // The API server asks again for what became of the pod, starting with the policy that was found. Only where
        // it changed how /proc is mounted can the answer be another one, as to fill in twice changes nothing.
        providers.sort_by_key(|provider| provider.name() != name);
        let mut refusals = Vec::new();
        let asks_again = choice.invalid.is_empty();
        if asks_again && first_fit(&providers, &stored, Operation::Update, &mut refusals).is_none() {
            choice.policy = None;
            choice.refusals = refusals;
        }
    } else {
        choice.invalid = validity::problems(&stored);
    }
    choice.pod = Some(stored).filter(|_| choice.is_allowed());
    choice
}

/// What the API server does to a new pod between the mutating and the validating plugins, of what policies look at.
fn prepare(pod: &mut Pod) {
    synchronise(pod);
    let spec = &mut pod.spec;
    let containers = spec.init_containers.iter_mut().chain(&mut spec.containers).chain(&mut spec.ephemeral_containers);
    for context in containers.filter_map(|container| container.security_context.as_mut()) {
        // The gate ProcMountType is off in 1.24: whatever is asked for becomes the default.
        if let Some(kind) = &mut context.proc_mount {
            "Default".clone_into(kind);
        }
    }
}

/// The first policy that admits the pod as it is; on create, else the first that admits what it makes of it.
fn first_fit<'p>(
    providers: &[Provider<'p>],
    pod: &Pod,
    operation: Operation,
    refusals: &mut Vec<Refusal>,
) -> Option<(&'p str, Admission)> {
    let mut first_mutating = None;
    for provider in providers {
        let admission = provider.admit(pod);
        let is_fine = admission.violations.is_empty();
        if is_fine && !admission.is_mutated {
            return Some((provider.name(), admission));
        }
        if is_fine && operation == Operation::Create {
            first_mutating.get_or_insert((provider.name(), admission));
        } else {
            refusals.push(Refusal { policy: provider.name().to_owned(), violations: admission.violations });
        }
    }
    first_mutating
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::{Container, PodSecurityContext, SyscallProfile};
    use crate::psp::{IdStrategy, SeLinuxStrategy, Spec};

    fn policy(name: &str, change: impl FnOnce(&mut PodSecurityPolicy)) -> PodSecurityPolicy {
        let any = || IdStrategy { rule: "RunAsAny".to_owned(), ranges: Vec::new() };
        let spec = Spec {
            run_as_user: any(),
            fs_group: any(),
            supplemental_groups: any(),
            se_linux: SeLinuxStrategy { rule: "RunAsAny".to_owned(), se_linux_options: None },
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
        let choice = choose_among(&policies, |_| true, &pod(), Operation::Create);
        assert_eq!((choice.policy.as_deref(), choice.is_mutated), (Some("b"), false));
        let policies = [policy("b", read_only), policy("a", read_only)];
        let choice = choose_among(&policies, |_| true, &pod(), Operation::Create);
        assert_eq!((choice.policy.as_deref(), choice.is_mutated), (Some("a"), true));
        assert_eq!(choice.pod.expect("admitted").metadata.annotations[RECORDED], "a");
        let choice = choose_among(&policies, |name| name == "b", &pod(), Operation::Create);
        assert_eq!(choice.policy.as_deref(), Some("b"));
        assert!(!choose_among(&policies, |_| false, &pod(), Operation::Create).is_allowed());
    }

    #[test]
    fn an_update_fills_in_nothing_and_starts_with_what_is_recorded() {
        let policies = [policy("a", |_| ()), policy("b", |_| ()), policy("m", read_only)];
        let mut pod = pod();
        pod.metadata.annotations.insert(RECORDED.to_owned(), "b".to_owned());
        let choice = choose_among(&policies, |_| true, &pod, Operation::Update);
        assert_eq!(choice.policy.as_deref(), Some("b"));
        let choice = choose_among(&policies, |name| name == "m", &pod, Operation::Update);
        assert_eq!(choice.refusals, [Refusal { policy: "m".to_owned(), violations: Vec::new() }]);
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
        let choice = choose_among(&policies, |_| true, &pod, Operation::Create);
        assert_eq!(choice.policy.as_deref(), Some("a"), "by name, as both add the annotation");
        synchronise(&mut pod);
        let choice = choose_among(&policies, |_| true, &pod, Operation::Create);
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
        let choice = choose_among(&policies, |_| true, &pod, Operation::Create);
        assert_eq!(choice.policy.as_deref(), Some("a"));
        assert!(!choice.is_allowed() && choice.pod.is_none(), "{:?}", choice.invalid);
    }
}
