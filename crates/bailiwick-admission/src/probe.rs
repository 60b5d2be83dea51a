//! Admission of probe pods: would a namespace admit this pod, under these policies or constraints?
//!
//! A [`PodProbe`] is a pod to ask about. [`ProbeGate`] decides about it in a namespace. Namespaces of one
//! [`ProbeClass`] have the same answers: the class has the labels and annotations read by admission, and the profile.

use std::cell::Cell;
use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::gate::{AdmissionObjects, Gate, NamespaceContext, Profile, Surroundings, UsablePolicies};
use super::installed::InstalledPolicies;
use super::labels::namespace::RUN_LEVEL_LABEL;
use super::labels::neighbours::skips_constraints;
use super::psp::select::GROUPS;
use super::scc::{GROUP, RESOURCE, range};
use super::workload::Workload;
use bailiwick_access::World;
use bailiwick_access::request::{Identity, ResourceVerb};
use bailiwick_yaml as yaml;

/// A pod to ask about.
#[derive(Debug, Clone)]
pub struct PodProbe {
    object: Json,
    workload: Workload,
}

impl PodProbe {
    /// Reads a probe from the spec of a pod; none for a field of another type than in the API.
    pub fn new(name: &str, spec: &Json) -> Option<Self> {
        let object = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name }, "spec": spec });
        let workload = Workload::read(yaml::from_json(&object).document(0)?).ok().flatten()?;
        Some(Self { object, workload })
    }

    /// Returns the pod with a service account.
    fn of_account(&self, name: &str) -> Self {
        let mut probe = self.clone();
        if let Some(spec) = probe.object.get_mut("spec").and_then(Json::as_object_mut) {
            spec.insert("serviceAccountName".to_owned(), name.into());
        }
        name.clone_into(&mut probe.workload.template.spec.service_account_name);
        probe
    }
}

/// The answer of a namespace to a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProbeAnswer {
    /// The pod is admitted.
    Admitted,
    /// A policy without an answer might reject it.
    Unknown,
    /// The pod is rejected.
    Rejected,
}

/// The class of namespaces of a probe: equal classes have equal answers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProbeClass {
    labels: Vec<(String, String)>,
    annotations: Vec<(String, String)>,
    profiles: Vec<String>,
    /// The service accounts with other profiles than the rest.
    accounts: BTreeSet<String>,
    skips_constraints: bool,
    /// Whether Pod Security admission does not check its pods.
    is_exempt: bool,
    is_limited: bool,
    /// The name, where some policy reads it.
    name: Option<String>,
}

/// A class of namespaces, with one of them.
#[derive(Debug, Clone)]
pub struct ProbePlace {
    namespace: String,
    context: NamespaceContext,
    class: ProbeClass,
}

impl ProbePlace {
    /// Returns the class.
    pub fn class(&self) -> &ProbeClass {
        &self.class
    }
}

/// The admission of probes.
#[derive(Debug)]
pub struct ProbeGate<'w> {
    gate: Gate<'w>,
    installed: Option<&'w InstalledPolicies>,
    /// The keys of the labels read by policies; none if a policy may read every label or the name.
    keys: Option<BTreeSet<String>>,
    /// The remaining steps of expressions.
    steps: Cell<u64>,
}

/// The steps of expressions for the first questions. Every question adds the steps of a question. Policies as people write them
/// take fewer steps a question; policies that exhaust the limit of the API server take all steps in a second, and then give no
/// answer.
const FIRST_STEPS: u64 = 100_000_000;

/// The steps of expressions that a question adds.
const STEPS_OF_A_QUESTION: u64 = 100_000;

/// The prefix of the labels for Pod Security levels.
const LEVEL_PREFIX: &str = "pod-security.kubernetes.io/";

/// The prefix of the annotations for constraints.
const RANGE_PREFIX: &str = "openshift.io/sa.scc.";

impl<'w> ProbeGate<'w> {
    /// Creates the admission of a cluster.
    pub fn new(world: &'w World, objects: &'w AdmissionObjects, installed: Option<&'w InstalledPolicies>) -> Self {
        let mut keys = BTreeSet::from([RUN_LEVEL_LABEL.to_owned()]);
        objects.bindings.values().flatten().for_each(|binding| binding.add_namespace_labels(&mut keys));
        let mut is_known = installed.is_none_or(|installed| installed.add_namespace_labels(&mut keys));
        for policy in objects.admission_policies.values() {
            is_known &= policy.add_namespace_labels(&mut keys);
        }
        is_known &= !keys.contains("kubernetes.io/metadata.name");
        Self {
            gate: Gate::new(world, objects),
            installed,
            keys: is_known.then_some(keys),
            steps: Cell::new(FIRST_STEPS),
        }
    }

    /// Returns the names of the PodSecurityPolicies or SecurityContextConstraints.
    pub fn policies(&self) -> impl Iterator<Item = &'w str> {
        let objects = self.gate.objects;
        let constraints = objects.constraints.iter().map(|scc| scc.name());
        objects.policies.keys().map(String::as_str).chain(constraints)
    }

    /// Returns the permissions for the use of policies or constraints.
    pub fn use_permissions(&self) -> Vec<ResourceVerb<'static>> {
        let of_group = |group, resource| ResourceVerb { verb: "use", group, resource };
        if self.gate.objects.is_openshift {
            vec![of_group(GROUP, RESOURCE)]
        } else {
            GROUPS.map(|group| of_group(group, "podsecuritypolicies")).into()
        }
    }

    /// Returns the names of the constraints that list an identity themselves.
    pub fn policies_naming<'s>(&'s self, who: &'s Identity) -> impl Iterator<Item = &'w str> + 's {
        let constraints = self.gate.objects.constraints.iter();
        constraints.filter(|scc| scc.names(&who.user, &who.groups)).map(|scc| scc.name())
    }

    /// Whether the Namespace object is known.
    pub fn is_known(&self, namespace: &str) -> bool {
        self.gate.objects.place(namespace).is_some()
    }

    /// Returns the class of a namespace as it is.
    pub fn place(&self, namespace: &str) -> ProbePlace {
        let context = match self.gate.objects.place(namespace) {
            Some(context) => context.clone(),
            None => NamespaceContext::default(),
        };
        self.place_of(namespace, context)
    }

    /// Returns the class of a namespace after the removal of its labels, with the level `privileged`.
    pub fn unlabelled_place(&self, namespace: &str) -> ProbePlace {
        let mut context = match self.gate.objects.place(namespace) {
            Some(context) => context.clone(),
            None => NamespaceContext::default(),
        };
        context.labels.clear();
        context.labels.insert(format!("{LEVEL_PREFIX}enforce"), "privileged".to_owned());
        context.profiles.clear();
        context.accounts.clear();
        self.place_of(namespace, context)
    }

    fn place_of(&self, namespace: &str, context: NamespaceContext) -> ProbePlace {
        let is_read =
            |key: &str| key.starts_with(LEVEL_PREFIX) || self.keys.as_ref().is_none_or(|keys| keys.contains(key));
        let labels = context.labels.iter().filter(|(key, _)| is_read(key));
        let annotations = context.annotations.iter().filter(|(key, _)| key.starts_with(RANGE_PREFIX));
        let class = ProbeClass {
            labels: labels.map(|(key, value)| (key.clone(), value.clone())).collect(),
            annotations: annotations.map(|(key, value)| (key.clone(), range_class(key, value))).collect(),
            profiles: context.profiles.iter().map(|Profile { policy, .. }| policy.clone()).collect(),
            accounts: context.accounts.clone(),
            skips_constraints: skips_constraints(namespace, context.labels.get(RUN_LEVEL_LABEL).map(String::as_str)),
            is_exempt: self.gate.objects.is_exempt(namespace),
            is_limited: self.installed.is_some_and(|installed| installed.is_limited(namespace)),
            name: self.keys.is_none().then(|| namespace.to_owned()),
        };
        ProbePlace { namespace: namespace.to_owned(), context, class }
    }

    /// Decides about a probe in a namespace, with the policies or constraints usable for it. Places of one class have
    /// the same answers. The author of a pod chooses its service account, and so its profile: the best answer counts.
    pub fn ask(&self, probe: &PodProbe, place: &ProbePlace, usable: &BTreeSet<String>) -> ProbeAnswer {
        let own = self.ask_one(probe, place, usable);
        let accounts = place.context.accounts.iter();
        accounts.fold(own, |best, account| match best {
            ProbeAnswer::Admitted => best,
            _ => best.min(self.ask_one(&probe.of_account(account), place, usable)),
        })
    }

    fn ask_one(&self, probe: &PodProbe, place: &ProbePlace, usable: &BTreeSet<String>) -> ProbeAnswer {
        let mut workload = probe.workload.clone();
        workload.namespace.clone_from(&place.namespace);
        let surroundings = Surroundings { place: &place.context, usable: UsablePolicies::Named(usable) };
        if !self.gate.judge_in(&workload, &probe.object, &surroundings).is_empty() {
            return ProbeAnswer::Rejected;
        }
        let Some(installed) = self.installed else { return ProbeAnswer::Admitted };
        let pod = self.gate.created_pod_in(&workload, &probe.object, &surroundings);
        let namespace = self.gate.objects.place(&place.namespace).map(|_| place.context.object(&place.namespace));
        self.steps.set(self.steps.get().saturating_add(STEPS_OF_A_QUESTION));
        let decisions = installed.judge_within(&self.steps, &workload, &probe.object, pod, namespace.as_ref());
        match (decisions.rejections.is_empty(), decisions.unknown.is_empty()) {
            (false, _) => ProbeAnswer::Rejected,
            (true, false) => ProbeAnswer::Unknown,
            (true, true) => ProbeAnswer::Admitted,
        }
    }
}

/// Returns the part of an annotation with an effect on probes: ranges without root are alike.
fn range_class(key: &str, value: &str) -> String {
    let is_without_root = || range::UidRange::read(Some(value)) == range::UidRange::AboveZero;
    match key {
        range::UID_RANGE | range::SUPPLEMENTAL_GROUPS if is_without_root() => "without root".to_owned(),
        range::MCS if !value.is_empty() => "a level".to_owned(),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_access::Builder;
    use bailiwick_yaml::diag::{FileId, Sink};

    /// Policies of an attacker that take every step, in more questions than the steps are enough for.
    #[test]
    fn all_questions_together_have_a_number_of_steps() {
        let numbers = "[0,1,2,3,4,5,6,7,8,9]";
        let all = (0..5).fold("false".to_owned(), |inner, depth| format!("{numbers}.exists(n{depth}, {inner})"));
        let text = format!(
            "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {{name: slow}}\nspec:\n  \
             matchConstraints: {{resourceRules: [{{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}\n  \
             validations: [{{expression: '!{all}'}}]\n---\n\
             apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {{name: slow}}\n\
             spec: {{policyName: slow, validationActions: [Deny]}}\n"
        );
        let tree = yaml::read(&text, FileId::default(), &mut Sink::new());
        let mut installed = InstalledPolicies::new(34);
        tree.documents().for_each(|object| installed.add(object));
        let world = Builder::new(34).build();
        let objects = AdmissionObjects::new(34, false);
        let gate = ProbeGate::new(&world, &objects, Some(&installed));
        let probe = PodProbe::new("probe", &json!({ "containers": [{ "name": "a", "image": "a" }] })).expect("a pod");
        let ask = || gate.ask(&probe, &gate.place("shop"), &BTreeSet::new());
        gate.steps.set(2_000_000);
        let answers: Vec<ProbeAnswer> = (0..40).map(|_| ask()).collect();
        assert_eq!(answers[0], ProbeAnswer::Admitted);
        assert_eq!(answers[39], ProbeAnswer::Unknown, "a policy without a step left may reject the pod");
        let admitted = answers.iter().filter(|answer| **answer == ProbeAnswer::Admitted).count();
        assert!(admitted < 20, "{admitted} answers");
    }
}
