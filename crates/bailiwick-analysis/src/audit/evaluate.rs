//! The use of grants by the requests of a log.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use bailiwick_access::decide::also_asked;
use bailiwick_access::usage::{BindingUsage, RightUsage, SubjectUsage, Usage};
use bailiwick_access::{Identity, Request, World};
use bailiwick_audit::policy::{AuditPolicy, PolicySubject};
use bailiwick_audit::reason::RbacReason;
use bailiwick_audit::{AuditDecision, AuditLog, Observation, Timestamp, least};
use bailiwick_codes as codes;
use bailiwick_kubernetes::catalogue::Served;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_workspace::words::number;
use bailiwick_yaml::diag::{Diagnostic, Sink};
use hashbrown::HashMap;

use super::{
    AuditInputs, AuditSummary, DeniedRequest, UnobservableRights, UnusedRights, UsedBinding, day, is_too_short,
};

/// How many requests of a disagreement are named.
const MAXIMUM_NAMED: usize = 3;

/// The requests of a log, beside the grants of a world.
pub struct EvaluatedLog {
    /// The use of the bindings of the inputs.
    pub bindings: Vec<EvaluatedBinding>,
    /// The counts, the denied requests and the used bindings.
    pub summary: AuditSummary,
}

/// A binding with the use of the rights of its subjects.
pub struct EvaluatedBinding {
    /// The binding, with the requests that it allowed.
    pub usage: BindingUsage,
    /// The subjects, in the order of the binding.
    pub subjects: Vec<EvaluatedSubject>,
}

/// The rights of a subject of a binding by their use.
pub struct EvaluatedSubject {
    /// The subject, such as `User/ann`.
    pub subject: String,
    pub(crate) is_group: bool,
    /// Whether the log has a request of the user, or of a member of the group.
    pub(crate) is_seen: bool,
    /// The rights with a request.
    pub(crate) used: Vec<PolicyRule>,
    /// The rights without a request.
    pub unused: Vec<PolicyRule>,
    /// The used rights with a wildcard, each with rights enough for its requests.
    pub(crate) wide: Vec<(PolicyRule, BTreeSet<PolicyRule>)>,
    /// The unused rights outside of every log, by the reason.
    pub unobservable: BTreeMap<&'static str, Vec<PolicyRule>>,
}

impl EvaluatedSubject {
    fn new(subject: &SubjectUsage, namespace: Option<&str>, observability: &Observability<'_>) -> Self {
        let identity = observability.identity(subject);
        let mut evaluated = Self {
            subject: subject.subject.clone(),
            is_group: subject.is_group,
            is_seen: observability.is_seen(subject),
            used: Vec::new(),
            unused: Vec::new(),
            wide: Vec::new(),
            unobservable: BTreeMap::new(),
        };
        let policy_subject =
            if subject.is_group { PolicySubject::Group(&subject.name) } else { PolicySubject::User(&identity) };
        for RightUsage { right, used } in &subject.rights {
            let Some(used) = used else {
                match observability.why_unobservable(policy_subject, right, namespace) {
                    Some(reason) => evaluated.unobservable.entry(reason).or_default().push(right.clone()),
                    None => {
                        let hidden = observability.hidden_part(right);
                        let hidden = hidden.map(|hidden| (ASKED_ELSEWHERE, hidden)).into_iter();
                        hidden.for_each(|(why, hidden)| evaluated.unobservable.entry(why).or_default().push(hidden));
                        evaluated.unused.push(right.clone());
                    }
                }
                continue;
            };
            evaluated.used.push(right.clone());
            if !used.narrower.is_empty() {
                evaluated.wide.push((right.clone(), used.narrower.clone()));
            }
        }
        evaluated
    }
}

/// Whether a log can show the use of rights.
struct Observability<'o> {
    world: &'o World,
    policy: Option<&'o AuditPolicy>,
    /// The groups of each user of the log.
    groups: HashMap<&'o str, BTreeSet<&'o str>>,
    /// The groups with a member in the log.
    seen_groups: BTreeSet<&'o str>,
}

impl<'o> Observability<'o> {
    fn new(world: &'o World, inputs: &'o AuditInputs) -> Self {
        let mut groups: HashMap<&str, BTreeSet<&str>> = HashMap::new();
        let mut seen_groups = BTreeSet::new();
        for Identity { user, groups: own } in inputs.log.identities() {
            groups.entry(user).or_default().extend(own.iter().map(String::as_str));
            seen_groups.extend(own.iter().map(String::as_str));
        }
        Self { world, policy: inputs.policy.as_ref(), groups, seen_groups }
    }

    fn is_seen(&self, subject: &SubjectUsage) -> bool {
        let name = subject.name.as_str();
        if subject.is_group { self.seen_groups.contains(name) } else { self.groups.contains_key(name) }
    }

    /// Returns a user with the groups in the log and the groups of its kind of user.
    fn identity(&self, subject: &SubjectUsage) -> Identity {
        let mut identity = Identity::from_user(&subject.name);
        let seen = self.groups.get(subject.name.as_str()).into_iter().flatten();
        identity.groups.extend(seen.map(|group| (*group).to_owned()));
        identity.groups.sort();
        identity.groups.dedup();
        identity
    }

    /// Returns the part of a right to all verbs of a resource that no log shows, such as `bind` and `escalate`; none without one.
    fn hidden_part(&self, right: &PolicyRule) -> Option<PolicyRule> {
        let (Some(group), Some(resource)) = (right.api_groups.first(), right.resources.first()) else { return None };
        if right.verbs != ["*"] {
            return None;
        }
        let verbs = self.world.api().catalogue().verbs_asked_elsewhere(self.world.minor(), group, resource);
        let verbs: Vec<String> = verbs.into_iter().map(str::to_owned).collect();
        (!verbs.is_empty()).then(|| PolicyRule { verbs, ..right.clone() })
    }

    /// Returns the reason why no log can show the use of a right of a subject; none for a right that a log shows.
    fn why_unobservable(
        &self,
        subject: PolicySubject<'_>,
        right: &PolicyRule,
        namespace: Option<&str>,
    ) -> Option<&'static str> {
        let (api, minor) = (self.world.api(), self.world.minor());
        let parts = (right.api_groups.first(), right.resources.first(), right.verbs.first());
        if let (Some(group), Some(resource), Some(verb)) = parts
            && (api.catalogue().is_asked_elsewhere(minor, group, resource, verb)
                || verb == "*" && api.availability(group, resource) != Served::Yes && self.hidden_part(right).is_some())
        {
            return Some(ASKED_ELSEWHERE);
        }
        self.policy?.drops(subject, right, namespace).then_some(DROPPED)
    }
}

/// Evaluates the requests of a log. Reports decisions against the world. Grants of `defaults`, the world of a new
/// cluster, are not evaluated.
pub fn evaluate(inputs: &AuditInputs, world: &World, defaults: &World, sink: &mut Sink) -> EvaluatedLog {
    let mut evaluation = Evaluation {
        world,
        usage: Usage::new(world),
        denied: BTreeMap::new(),
        used: BTreeMap::new(),
        disagreements: BTreeMap::new(),
        ungranted: 0,
    };
    inputs.log.observations().for_each(|observation| evaluation.add(observation));
    let observability = Observability::new(world, inputs);
    let evaluated = |usage: BindingUsage| {
        let namespace = usage.namespace.as_deref();
        let subjects = usage.subjects.iter().map(|subject| EvaluatedSubject::new(subject, namespace, &observability));
        EvaluatedBinding { subjects: subjects.collect(), usage }
    };
    let bindings: Vec<EvaluatedBinding> = evaluation.usage.bindings(defaults).into_iter().map(evaluated).collect();
    let summary = AuditSummary {
        denied: denied_requests(std::mem::take(&mut evaluation.denied)),
        used: used_bindings(&bindings, &evaluation.used),
        unused: unused(&bindings),
        not_observable: unobservable(&bindings),
        ungranted: evaluation.ungranted,
        ..summary(&inputs.log)
    };
    evaluation.report(inputs, sink);
    EvaluatedLog { bindings, summary }
}

/// Returns the counts of a log.
fn summary(log: &AuditLog) -> AuditSummary {
    let users: BTreeSet<&str> = log.identities().iter().map(|identity| identity.user.as_str()).collect();
    let counts = &log.counts;
    AuditSummary {
        first_day: day(log.window().map(|(first, _)| first)),
        last_day: day(log.window().map(|(_, last)| last)),
        days: log.days(),
        days_with_events: log.days_with_events(),
        is_too_short: is_too_short(log),
        requests: counts.events,
        guessed: counts.guessed,
        undecided: counts.undecided,
        unauthenticated: counts.unauthenticated,
        unreadable: counts.unreadable,
        users: users.len(),
        ungranted: 0,
        denied: Vec::new(),
        used: Vec::new(),
        unused: Vec::new(),
        not_observable: Vec::new(),
    }
}

/// The evaluation of the requests of a log.
struct Evaluation<'w, 'l> {
    world: &'w World,
    usage: Usage<'w>,
    /// The number of each denied request of a user.
    denied: BTreeMap<(&'l str, String), u64>,
    used: BTreeMap<u32, BindingUse<'l>>,
    disagreements: BTreeMap<String, Disagreement>,
    ungranted: u64,
}

/// The requests of a binding.
#[derive(Default)]
struct BindingUse<'l> {
    requests: u64,
    last: Option<Timestamp>,
    only_by_it: BTreeMap<(&'l str, String), u64>,
}

/// Decisions of a log against the world, for one reason.
struct Disagreement {
    requests: u64,
    /// The first distinct requests in words.
    named: Vec<String>,
    /// The place of the first one in the logs.
    log: usize,
    line: u64,
}

impl<'l> Evaluation<'_, 'l> {
    fn add(&mut self, observation: Observation<'l>) {
        let requests = observation.observed.requests;
        if observation.decision == AuditDecision::Denied {
            *self.denied.entry((&observation.identity.user, observation.request.to_string())).or_default() += requests;
            let is_allowed = observation.reason.is_some()
                && !observation.identity.is_master()
                && self.world.allows(observation.identity, observation.request);
            if is_allowed {
                self.disagree("denied, and allowed by the manifests".to_owned(), observation);
            }
            return;
        }
        let bindings = self.usage.record(observation.identity, observation.request, requests);
        if let Some(also) = also_asked(self.world.minor(), observation.request) {
            self.usage.record(observation.identity, &also, 0);
        }
        if observation.is_implied || observation.identity.is_master() {
            self.count(&bindings, observation);
            return;
        }
        match observation.reason.map(RbacReason::read) {
            Some(Some(reason)) => self.compare(&reason, &bindings, observation),
            _ if bindings.is_empty() => self.ungranted += requests,
            _ => {}
        }
        self.count(&bindings, observation);
    }

    /// Counts a request for its bindings.
    fn count(&mut self, bindings: &[u32], observation: Observation<'l>) {
        let Observation { identity, request, observed, .. } = observation;
        for binding in bindings {
            let used = self.used.entry(*binding).or_default();
            used.requests += observed.requests;
            used.last = used.last.max(observed.last);
        }
        if let [only] = bindings {
            let used = self.used.entry(*only).or_default();
            *used.only_by_it.entry((&identity.user, request.to_string())).or_default() += observed.requests;
        }
    }

    /// Compares the binding in the reason of the authorizer with the allowing bindings.
    fn compare(&mut self, reason: &RbacReason, bindings: &[u32], observation: Observation<'l>) {
        let world = self.world;
        let is_named = |binding: &u32| world.binding_link_of(*binding).is_some_and(|link| link.name == reason.binding);
        if bindings.iter().any(is_named) {
            return;
        }
        let parts: Vec<&str> = reason.binding.split('/').collect();
        let found = match parts.as_slice() {
            [_, name] => world.describe_binding(None, name),
            [_, namespace, name] => world.describe_binding(Some(namespace), name),
            _ => None,
        };
        let RbacReason { binding, role } = reason;
        let why = match found {
            None => format!("allowed by {binding} of {role}, and the manifests do not have this binding"),
            Some((_, Err(_), _)) => format!("allowed by {binding}, and the manifests do not have its {role}"),
            Some(_) => format!("allowed by {binding} of {role}, and the manifests do not give this right by it"),
        };
        self.disagree(why, observation);
    }

    fn disagree(&mut self, why: String, observation: Observation<'l>) {
        let Observation { identity, request, observed, .. } = observation;
        let disagreement = self.disagreements.entry(why).or_insert_with(|| Disagreement {
            requests: 0,
            named: Vec::new(),
            log: observed.log,
            line: observed.line,
        });
        disagreement.requests += observed.requests;
        if disagreement.named.len() < MAXIMUM_NAMED {
            disagreement.named.push(format!("`{}`: {request}", identity.user));
        }
    }

    /// Reports the disagreements: the manifests are not the manifests of the cluster in the time of the log.
    fn report(self, inputs: &AuditInputs, sink: &mut Sink) {
        for (why, Disagreement { requests, named, log, line }) in self.disagreements {
            let name = inputs.names.get(log).map_or("the log", String::as_str);
            let place = if line == 0 { name.to_owned() } else { format!("{name}:{line}") };
            let were = if requests == 1 { "was" } else { "were" };
            let count = number(usize::try_from(requests).map_or(usize::MAX, |count| count), "request");
            let message = format!("{count} of the log {were} {why}");
            let diagnostic = Diagnostic::warning(codes::AUDIT_DISAGREES, message);
            let diagnostic = named.into_iter().fold(diagnostic, Diagnostic::note);
            sink.push(
                diagnostic
                    .note(format!("the first one is at {place}"))
                    .help("use the objects that the cluster had in the time of the log"),
            );
        }
    }
}

fn denied_requests(denied: BTreeMap<(&str, String), u64>) -> Vec<DeniedRequest> {
    let request =
        |((user, request), requests): ((&str, String), u64)| DeniedRequest { user: user.to_owned(), request, requests };
    denied.into_iter().map(request).collect()
}

/// Returns the used bindings of the inputs, in their order.
fn used_bindings(bindings: &[EvaluatedBinding], used: &BTreeMap<u32, BindingUse<'_>>) -> Vec<UsedBinding> {
    let of_binding = |EvaluatedBinding { usage: binding, .. }: &EvaluatedBinding| {
        let used = used.get(&binding.id)?;
        let only_by_it = used.only_by_it.iter().map(|((user, request), requests)| DeniedRequest {
            user: (*user).to_owned(),
            request: request.clone(),
            requests: *requests,
        });
        Some(UsedBinding {
            binding: binding.binding.name.clone(),
            role: binding.role.name.clone(),
            requests: used.requests,
            last_day: day(used.last),
            only_by_it: only_by_it.collect(),
        })
    };
    bindings.iter().filter_map(of_binding).collect()
}

/// Why no log shows the use of a right.
const ASKED_ELSEWHERE: &str = "components ask for it while they serve other requests";

/// Why no log of an audit policy shows the use of a right.
const DROPPED: &str = "the audit policy drops its requests";

/// Returns the unused rights, and the used wildcards.
fn unused(bindings: &[EvaluatedBinding]) -> Vec<UnusedRights> {
    let of_binding = |EvaluatedBinding { usage, subjects }: &EvaluatedBinding| {
        let is_listed = |subject: &&EvaluatedSubject| !subject.unused.is_empty() || !subject.wide.is_empty();
        let rights = |subject: &EvaluatedSubject| UnusedRights {
            binding: usage.binding.name.clone(),
            role: usage.role.name.clone(),
            subject: subject.subject.clone(),
            is_seen: subject.is_seen,
            used: subject.used.len(),
            unused: subject.unused.len(),
            rules: least::rules(&subject.unused),
            narrower: least::rules(subject.wide.iter().flat_map(|(_, narrower)| narrower)),
        };
        subjects.iter().filter(is_listed).map(rights).collect::<Vec<_>>()
    };
    bindings.iter().flat_map(of_binding).collect()
}

/// Returns the unused rights outside of every log.
fn unobservable(bindings: &[EvaluatedBinding]) -> Vec<UnobservableRights> {
    let mut found = Vec::new();
    for EvaluatedBinding { usage, subjects } in bindings {
        for subject in subjects {
            found.extend(subject.unobservable.iter().map(|(reason, rights)| UnobservableRights {
                binding: usage.binding.name.clone(),
                subject: subject.subject.clone(),
                rules: least::rules(rights),
                reason: (*reason).to_owned(),
            }));
        }
    }
    found
}

/// Returns the allowed requests of a log.
pub fn allowed(log: &AuditLog) -> impl Iterator<Item = Observation<'_>> {
    log.observations().filter(|observation| observation.decision == AuditDecision::Allowed)
}

/// Returns a request with the further request of the server for it.
pub fn with_further(minor: u32, request: &Request) -> impl Iterator<Item = Cow<'_, Request>> {
    std::iter::once(Cow::Borrowed(request)).chain(also_asked(minor, request).map(Cow::Owned))
}
