//! The admission of single pods on one side: the level, the policies and the constraints, each read from the objects.

use std::collections::BTreeMap;

use bailiwick::admission::level::{Level, PolicyVersion};
use bailiwick::admission::pod::Pod;
use bailiwick::admission::policy::{AdmissionRequest, Binding, PolicyAnswer, ValidatingAdmissionPolicy};
use bailiwick::admission::psp::PodSecurityPolicy;
use bailiwick::admission::psp::select::{PodOperation, choose_among};
use bailiwick::admission::scc::Scc;
use bailiwick::admission::scc::admit::{Allocated, SccAdmission, admit};
use bailiwick::admission::standards::violations;
use bailiwick::yaml::{self, NodeRef};
use serde_json::{Value, json};

use super::probes::Probe;
use super::questions::identity;
use super::worlds::Side;
use crate::access::Evaluator;
use crate::oracle::Naive;

/// The answer to a pod of an account in a namespace.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    /// Whether the pod is admitted by all parts.
    pub(super) is_allowed: bool,
    /// Whether the level admits the pod as it is written.
    pub(super) level: bool,
    /// Whether the admission policies admit it.
    pub(super) policies: bool,
    /// The name of the PodSecurityPolicy or of the constraints, and the pod with their defaults.
    pub(super) chosen: Option<(String, Pod)>,
}

/// A subject with the use of every policy and all constraints.
pub(super) const ADMINISTRATOR: &str = "administrator";

/// Joins a user or group and a group, for a user who is a member of the group.
pub(super) const AND: &str = " and ";

/// A part of admission with an answer of its own.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part<'n> {
    Level,
    Policies,
    /// A PodSecurityPolicy alone, usable or not.
    Psp(&'n str),
    /// The constraints of a name alone, for those who may use them.
    Scc(&'n str),
    /// The choice among all PodSecurityPolicies or constraints.
    Choice,
}

/// The objects of one side.
pub(super) struct Cluster<'s> {
    side: &'s Side,
    access: &'s Naive,
    namespaces: BTreeMap<String, &'s Value>,
    psps: Vec<PodSecurityPolicy>,
    constraints: Vec<Scc>,
    policies: Vec<ValidatingAdmissionPolicy>,
    bindings: Vec<Binding>,
    /// Whether a subject may use a policy or constraints in a namespace.
    uses: BTreeMap<(String, String, String), bool>,
}

impl<'s> Cluster<'s> {
    pub(super) fn new(side: &'s Side, access: &'s Naive, subjects: &[String]) -> Self {
        let mut cluster = Self {
            side,
            access,
            namespaces: BTreeMap::new(),
            psps: Vec::new(),
            constraints: Vec::new(),
            policies: Vec::new(),
            bindings: Vec::new(),
            uses: BTreeMap::new(),
        };
        for object in side.admission.iter().chain(&side.platform_constraints()) {
            let tree = yaml::from_json(object);
            cluster.add(tree.document(0).expect("a document"));
        }
        for object in side.admission.iter().filter(|object| object["kind"] == "Namespace") {
            cluster.namespaces.insert(object["metadata"]["name"].as_str().expect("a name").to_owned(), object);
        }
        cluster.find_uses(subjects);
        cluster
    }

    fn add(&mut self, object: NodeRef<'_>) {
        match object.get("kind").and_then(NodeRef::as_str).expect("a kind") {
            "PodSecurityPolicy" => self.psps.push(PodSecurityPolicy::read(object).expect("a policy")),
            "SecurityContextConstraints" => self.constraints.push(Scc::read(object).expect("constraints")),
            "ValidatingAdmissionPolicy" => {
                let policy = ValidatingAdmissionPolicy::read(object, self.side.minor()).expect("a policy");
                assert_eq!(policy.unknown_expressions().collect::<Vec<_>>(), Vec::<(&str, &str)>::new());
                self.policies.push(policy);
            }
            "ValidatingAdmissionPolicyBinding" => self.bindings.push(Binding::read(object).expect("a binding")),
            _ => {}
        }
    }

    /// Asks the second evaluator about the use of each policy.
    fn find_uses(&mut self, subjects: &[String]) {
        let psps = self.psps.iter().map(|policy| ("policy", "podsecuritypolicies", policy.name()));
        let sccs =
            self.constraints.iter().map(|scc| ("security.openshift.io", "securitycontextconstraints", scc.name()));
        for (group, resource, name) in psps.chain(sccs) {
            for subject in subjects {
                for namespace in self.namespaces.keys() {
                    let mut asked = identity(subject);
                    for (key, value) in [
                        ("verb", "use"),
                        ("group", group),
                        ("resource", resource),
                        ("name", name),
                        ("namespace", namespace),
                    ] {
                        asked[key] = json!(value);
                    }
                    let is_allowed =
                        self.access.ask(&json!({"can-i": asked}))["allowed"] == true || self.is_named(name, &asked);
                    self.uses.insert((subject.clone(), namespace.clone(), name.to_owned()), is_allowed);
                }
            }
        }
    }

    /// Whether constraints name a user or one of the groups.
    fn is_named(&self, name: &str, asked: &Value) -> bool {
        let Some(scc) = self.constraints.iter().find(|scc| scc.name() == name) else { return false };
        let user = asked["user"].as_str().unwrap_or_default();
        let groups: Vec<String> = match asked["groups"].as_array() {
            Some(groups) => groups.iter().filter_map(|group| group.as_str().map(str::to_owned)).collect(),
            None => crate::oracle::implicit_groups(user),
        };
        scc.users.iter().any(|known| known == user) || groups.iter().any(|group| scc.groups.contains(group))
    }

    fn may_use(&self, subject: &str, namespace: &str, name: &str) -> bool {
        if subject == ADMINISTRATOR {
            return true;
        }
        if let Some((one, other)) = subject.split_once(AND) {
            return self.may_use(one, namespace, name) || self.may_use(other, namespace, name);
        }
        let key = (subject.to_owned(), namespace.to_owned(), name.to_owned());
        self.uses.get(&key) == Some(&true)
    }

    /// Returns the names of the policies or constraints that a subject may use in a namespace.
    pub(super) fn usable(&self, subject: &str, namespace: &str) -> Vec<&str> {
        let psps = self.psps.iter().map(PodSecurityPolicy::name);
        let all = psps.chain(self.constraints.iter().map(Scc::name));
        all.filter(|name| self.may_use(subject, namespace, name)).collect()
    }

    /// Answers a pod of a subject in a namespace by all parts.
    pub(super) fn answer(&self, subject: &str, namespace: &str, probe: &Probe) -> Answer {
        let chosen = self.chosen(subject, namespace, &probe.pod);
        let chooses = self.side.is_openshift() || !self.psps.is_empty();
        let stored = match &chosen {
            Some((_, pod)) => Some(pod),
            None => (!chooses).then_some(&probe.pod),
        };
        let level = self.level_admits(namespace, &probe.pod);
        let policies = self.policies_admit(namespace, probe);
        let is_allowed = policies && stored.is_some_and(|pod| self.level_admits(namespace, pod));
        Answer { is_allowed, level, policies, chosen }
    }

    /// Returns the answer of one part: the pod with its defaults, if the part admits it.
    pub(super) fn part(&self, part: Part<'_>, subject: &str, namespace: &str, probe: &Probe) -> Option<(String, Pod)> {
        let as_written = || (String::new(), probe.pod.clone());
        match part {
            Part::Level => self.level_admits(namespace, &probe.pod).then(as_written),
            Part::Policies => self.policies_admit(namespace, probe).then(as_written),
            Part::Psp(name) => {
                let own = self.psps.iter().filter(|policy| policy.name() == name);
                let choice = choose_among(own, |_| true, &probe.pod, PodOperation::Create);
                choice.policy.zip(choice.pod)
            }
            Part::Scc(name) => {
                let own: Vec<&Scc> = self.constraints.iter().filter(|scc| scc.name() == name).collect();
                self.by_constraints(&own, subject, namespace, &probe.pod)
            }
            Part::Choice => self.chosen(subject, namespace, &probe.pod),
        }
    }

    /// Reads the labels of a namespace as `PolicyToEvaluate` of Kubernetes does.
    fn level_admits(&self, namespace: &str, pod: &Pod) -> bool {
        let minor = u64::from(self.side.minor());
        let labels = &self.namespaces[namespace]["metadata"]["labels"];
        let label = |key: &str| labels[format!("pod-security.kubernetes.io/{key}")].as_str();
        let level = match label("enforce") {
            None | Some("privileged") => return true,
            Some("baseline") => Level::Baseline,
            Some(_) => Level::Restricted,
        };
        let pinned = label("enforce-version").and_then(|version| version.strip_prefix("v1.")?.parse::<u64>().ok());
        let version = PolicyVersion::Minor(pinned.map_or(minor, |pinned| pinned.min(minor)));
        violations(pod, level, version).is_empty()
    }

    fn policies_admit(&self, namespace: &str, probe: &Probe) -> bool {
        self.policies_admit_in(namespace, self.namespaces[namespace], probe)
    }

    /// Whether the admission policies admit a pod in a Namespace, also in a Namespace beside the objects of the side.
    pub(super) fn policies_admit_in(&self, namespace: &str, object: &Value, probe: &Probe) -> bool {
        let mut labelled = object.clone();
        labelled["metadata"]["labels"]["kubernetes.io/metadata.name"] = json!(namespace);
        let mut pod = probe.json.clone();
        pod["metadata"]["namespace"] = json!(namespace);
        let request = AdmissionRequest {
            operation: "CREATE".to_owned(),
            version: "v1".to_owned(),
            resource: "pods".to_owned(),
            kind: "Pod".to_owned(),
            namespace: namespace.to_owned(),
            name: "p".to_owned(),
            object: Some(pod),
            ..AdmissionRequest::default()
        };
        self.bindings.iter().all(|binding| {
            let Some(policy) = self.policies.iter().find(|policy| policy.name == binding.policy) else { return true };
            let verdict = policy.evaluate(&request, Some(binding), Some(&labelled));
            assert_ne!(verdict.answer, PolicyAnswer::Unknown, "{}", verdict.message);
            verdict.answer == PolicyAnswer::Allow
        })
    }

    fn chosen(&self, subject: &str, namespace: &str, pod: &Pod) -> Option<(String, Pod)> {
        if self.side.is_openshift() {
            let all: Vec<&Scc> = self.constraints.iter().collect();
            return self.by_constraints(&all, subject, namespace, pod);
        }
        let may_use = |name: &str| self.may_use(subject, namespace, name);
        let choice = choose_among(&self.psps, may_use, pod, PodOperation::Create);
        choice.policy.zip(choice.pod)
    }

    fn by_constraints(&self, all: &[&Scc], subject: &str, namespace: &str, pod: &Pod) -> Option<(String, Pod)> {
        let annotations = &self.namespaces[namespace]["metadata"]["annotations"];
        let annotation = |key: &str| annotations[format!("openshift.io/sa.scc.{key}")].as_str();
        let allocated = Allocated {
            uid_range: annotation("uid-range"),
            supplemental_groups: annotation("supplemental-groups"),
            mcs: annotation("mcs"),
        };
        match admit(pod, all, |scc| self.may_use(subject, namespace, scc.name()), allocated) {
            SccAdmission::Admitted { scc, pod, .. } => Some((scc, *pod)),
            SccAdmission::Skipped => Some((String::new(), pod.clone())),
            SccAdmission::Refused { .. } | SccAdmission::Broken { .. } => None,
        }
    }
}
