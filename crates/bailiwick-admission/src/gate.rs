//! The whole admission of the pods of a workload in one cluster: PodSecurityPolicies or constraints, then the Pod
//! Security level of the namespace, then the profile of the namespace.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::created::{created, take_annotations};
use super::defaulted::fill_pod;
use super::labels::namespace::RUN_LEVEL_LABEL;
use super::labels::neighbours::skips_constraints;
use super::level::Level;
use super::pod::Pod;
use super::policy::{AdmissionRequest, Binding, PatchError, Patches, ValidatingAdmissionPolicy};
use super::psp::select::{PodOperation, choose_among, usable_names};
use super::psp::{PodSecurityPolicy, PspViolation};
use super::scc::admit::{Allocated, CONSTRAINTS, SccAdmission, admit};
use super::scc::{GROUP, RESOURCE, Scc, range};
use super::standards::admit::{PodSecurityRequest, exemption, refused_labels};
use super::standards::configuration::Configuration;
use super::standards::labels::{LevelVersion, PREFIX};
use super::standards::{message, violations};
use super::workload::Workload;
use bailiwick_access::World;
use bailiwick_access::request::{Identity, Request, ResourceRequest};
use bailiwick_access::world::account_user;
use bailiwick_kubernetes::absent;
use bailiwick_yaml::de::DeError;
use bailiwick_yaml::{self as yaml, NodeRef};

/// A namespace, as far as admission looks at it.
#[derive(Debug, Clone, Default)]
pub struct NamespaceContext {
    /// Labels of the Namespace object.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the Namespace object.
    pub annotations: BTreeMap<String, String>,
    /// The admission policies of the profiles of its pods. With several profiles, the service account of a pod decides which
    /// of them applies.
    pub profiles: Vec<Profile>,
    /// The service accounts with other profiles than the rest, one for each set of profiles.
    pub accounts: BTreeSet<String>,
}

/// The admission policies of a profile.
#[derive(Debug, Clone)]
pub struct Profile {
    /// The name of the ValidatingAdmissionPolicy.
    pub policy: String,
    /// Defaults from a mutating policy, filled in before.
    pub patches: Option<Arc<Patches>>,
}

impl NamespaceContext {
    /// Fills in the defaults of the profiles of the namespace.
    ///
    /// # Errors
    /// Why the defaults cannot be filled in.
    fn fill_in(&self, pod: &mut Json, namespace: &str) -> Result<(), PatchError> {
        let mut patches = self.profiles.iter().filter_map(|profile| profile.patches.as_ref()).peekable();
        if patches.peek().is_none() {
            return Ok(());
        }
        let object = self.object(namespace);
        patches.try_for_each(|patches| patches.apply(pod, &object))
    }

    /// Returns the Namespace object.
    pub fn object(&self, name: &str) -> Json {
        let mut object = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": { "name": name, "labels": self.labels, "annotations": self.annotations },
        });
        label_with_name(&mut object);
        object
    }
}

/// Sets the label with the name of a Namespace, as the API server does in each version of the object
/// (`SetDefaults_Namespace` in `pkg/apis/core/v1/defaults.go`, 1.37).
pub fn label_with_name(namespace: &mut Json) {
    let Some(metadata) = namespace.get_mut("metadata").and_then(Json::as_object_mut) else { return };
    let Some(name) = metadata.get("name").cloned() else { return };
    let labels = metadata.entry("labels").or_insert_with(|| json!({}));
    if labels.is_null() {
        *labels = json!({});
    }
    labels.as_object_mut().into_iter().for_each(|labels| _ = labels.insert(NAME_LABEL.to_owned(), name.clone()));
}

/// The objects of a cluster that decide about its pods, beside its access.
#[derive(Debug)]
pub struct AdmissionObjects {
    minor: u32,
    pub(super) is_openshift: bool,
    /// The configuration of Pod Security admission.
    pod_security: Configuration,
    places: BTreeMap<String, NamespaceContext>,
    pub(super) policies: BTreeMap<String, PodSecurityPolicy>,
    /// The names of PodSecurityPolicies that the minor does not have.
    ignored_policies: BTreeSet<String>,
    pub(super) constraints: Vec<Scc>,
    /// Admission policies by name.
    pub(super) admission_policies: BTreeMap<String, ValidatingAdmissionPolicy>,
    /// Bindings by the names of their policies.
    pub(super) bindings: BTreeMap<String, Vec<Binding>>,
    /// Service accounts without a mounted token, by namespace and name.
    without_token: BTreeSet<(String, String)>,
}

/// The admission of a cluster: its objects, and the access that decides about their use.
#[derive(Debug, Clone, Copy)]
pub struct Gate<'w> {
    world: &'w World,
    pub(super) objects: &'w AdmissionObjects,
}

/// The namespace of a pod, and the policies or constraints usable for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surroundings<'s> {
    pub(super) place: &'s NamespaceContext,
    pub(super) usable: UsablePolicies<'s>,
}

/// The usable PodSecurityPolicies or SecurityContextConstraints.
#[derive(Debug, Clone, Copy)]
pub(super) enum UsablePolicies<'s> {
    /// By the access of the service account of the pod.
    Account(&'s Identity),
    /// By name.
    Named(&'s BTreeSet<String>),
}

/// The part of admission with an objection to the pods of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The Pod Security level of the namespace.
    Level,
    /// PodSecurityPolicies.
    Policies,
    /// SecurityContextConstraints.
    Constraints,
    /// The profile of the namespace.
    Profile,
}

/// The decision of Pod Security about a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LevelDecision {
    /// The level of the namespace admits it.
    Admitted,
    /// The level of the namespace refuses it, with the message of the API server.
    Refused(String),
    /// The namespace is not among the objects, and the pod violates some level.
    UnknownNamespace,
}

/// Why the pods of a workload would be refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The part of admission.
    pub by: By,
    /// Short texts, one for each violation.
    pub reasons: Vec<String>,
}

/// The constraints that admit a pod.
#[derive(Debug)]
pub struct AdmittingConstraints {
    /// Their name.
    pub name: String,
    /// The pod with their defaults.
    pub pod: Pod,
}

/// The label of every Namespace with its name.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// The first minor with Pod Security levels on by default.
pub const FIRST_MINOR_WITH_LEVELS: u32 = 23;

/// The last minor with PodSecurityPolicies.
const LAST_WITH_POLICIES: u32 = 24;

/// The first minor with admission policies from files on by default: `staticManifestsDir` of the admission
/// configuration (`plugin/policy/config` of k8s.io/apiserver v0.37.2).
const FIRST_WITH_POLICIES_FROM_FILES: u32 = 37;

/// Returns a text about the policies without an object in the API; none for a version without such policies.
pub fn unseen_policies(minor: u32) -> Option<&'static str> {
    (minor >= FIRST_WITH_POLICIES_FROM_FILES)
        .then_some("admission policies and webhooks from files of the API server are not judged: no API shows them")
}

/// Range of user ids for a namespace without a known range.
const SOME_RANGE: &str = "1000000000/10000";

/// SELinux level for a namespace without a known range.
pub(super) const SOME_SELINUX_LEVEL: &str = "s0:c1,c0";

impl AdmissionObjects {
    /// Returns the objects of an empty cluster of a Kubernetes minor.
    pub fn new(minor: u32, is_openshift: bool) -> Self {
        Self {
            minor,
            is_openshift,
            pod_security: Configuration::default(),
            places: BTreeMap::new(),
            policies: BTreeMap::new(),
            ignored_policies: BTreeSet::new(),
            constraints: Vec::new(),
            admission_policies: BTreeMap::new(),
            bindings: BTreeMap::new(),
            without_token: BTreeSet::new(),
        }
    }

    /// Sets the configuration of Pod Security admission. Default: the configuration of upstream.
    pub fn configure(&mut self, pod_security: Configuration) {
        self.pod_security = pod_security;
    }

    /// Adds a Namespace, a ServiceAccount, a PodSecurityPolicy or constraints; others are passed over.
    ///
    /// # Errors
    /// The first field with a value of another type than in the API.
    pub fn add(&mut self, object: NodeRef<'_>) -> Result<(), DeError> {
        let text = |keys: &[&str]| absent::text_at(object, keys);
        match (text(&["apiVersion"]), text(&["kind"])) {
            ("v1", "Namespace") | ("project.openshift.io/v1", "Project") => {
                let texts = |key: &str| -> BTreeMap<String, String> {
                    let entries = object.path(&["metadata", key]).into_iter().flat_map(NodeRef::entries);
                    entries.map(|(key, value)| (key.as_key().into(), absent::text(value.as_str()).into())).collect()
                };
                let (labels, annotations) = (texts("labels"), texts("annotations"));
                let place = NamespaceContext { labels, annotations, ..NamespaceContext::default() };
                self.places.insert(text(&["metadata", "name"]).to_owned(), place);
            }
            ("policy/v1beta1", "PodSecurityPolicy") if self.minor <= LAST_WITH_POLICIES => {
                let policy = PodSecurityPolicy::read(object)?;
                self.policies.insert(policy.name().to_owned(), policy);
            }
            ("policy/v1beta1" | "extensions/v1beta1", "PodSecurityPolicy") => {
                self.ignored_policies.insert(text(&["metadata", "name"]).to_owned());
            }
            ("security.openshift.io/v1", "SecurityContextConstraints") if self.is_openshift => {
                self.constraints.push(Scc::read(object)?);
            }
            ("v1", "ServiceAccount") => {
                let automounts = object.get("automountServiceAccountToken").and_then(NodeRef::as_bool);
                if automounts == Some(false) {
                    let key = (text(&["metadata", "namespace"]).to_owned(), text(&["metadata", "name"]).to_owned());
                    self.without_token.insert(key);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds a ValidatingAdmissionPolicy or a binding of one; others are passed over.
    ///
    /// # Errors
    /// The first field with a value of another type than in the API.
    pub fn add_admission_policy(&mut self, object: NodeRef<'_>) -> Result<(), DeError> {
        match object.get("kind").and_then(NodeRef::as_str) {
            Some("ValidatingAdmissionPolicy") => {
                let policy = ValidatingAdmissionPolicy::read(object, self.minor)?;
                self.admission_policies.insert(policy.name.clone(), policy);
            }
            Some("ValidatingAdmissionPolicyBinding") => {
                let binding = Binding::read(object)?;
                self.bindings.entry(binding.policy.clone()).or_default().push(binding);
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the number of PodSecurityPolicies that decide about pods.
    pub fn evaluated_policies(&self) -> usize {
        self.policies.len()
    }

    /// Returns the number of PodSecurityPolicies that decide nothing, since the minor does not have them.
    pub fn ignored_policies(&self) -> usize {
        self.ignored_policies.len()
    }

    /// Iterates over the namespaces, to set their profiles.
    pub fn places(&mut self) -> impl Iterator<Item = (&str, &mut NamespaceContext)> {
        self.places.iter_mut().map(|(name, place)| (name.as_str(), place))
    }

    /// Iterates over the namespaces by name.
    pub fn known_places(&self) -> impl Iterator<Item = (&str, &NamespaceContext)> {
        self.places.iter().map(|(name, place)| (name.as_str(), place))
    }

    /// Iterates over the constraints.
    pub fn constraints(&self) -> impl Iterator<Item = &Scc> {
        self.constraints.iter()
    }

    /// Returns the name of the first constraints that admit a pod by a user of some constraints. The namespace has ranges as
    /// OpenShift allocates them.
    pub fn first_constraints(&self, pod: &Pod, may_use: impl Fn(&Scc) -> bool) -> Option<String> {
        let all: Vec<&Scc> = self.constraints.iter().collect();
        match admit(pod, &all, may_use, allocated(&NamespaceContext::default())) {
            SccAdmission::Admitted { scc, .. } => Some(scc),
            _ => None,
        }
    }

    /// Returns the Pod Security level of the pods of a namespace; none for a server without levels. Pods of an exempt namespace are not
    /// checked, as with `privileged`.
    pub fn enforced_level(&self, namespace: &str, place: &NamespaceContext) -> Option<LevelVersion> {
        let (levels, _) = self.pod_security.defaults.with_labels(&place.labels);
        let enforced = if self.is_exempt(namespace) { LevelVersion::PRIVILEGED } else { levels.enforce };
        (self.minor >= FIRST_MINOR_WITH_LEVELS).then_some(enforced)
    }

    /// Whether Pod Security admission does not check the pods of a namespace.
    pub(super) fn is_exempt(&self, namespace: &str) -> bool {
        self.pod_security.exemptions.has_namespace(namespace)
    }

    /// Returns the decision of Pod Security about a pod of a user, after the defaults of the profile of the namespace.
    ///
    /// # Errors
    /// The pod has a field with a value of another type than in the API.
    pub fn decision_by_level(&self, user: &str, namespace: &str, pod: &Json) -> Result<LevelDecision, DeError> {
        let known = self.places.get(namespace);
        let nowhere = NamespaceContext::default();
        let place = known.map_or(&nowhere, |place| place);
        let mut pod = pod.clone();
        // The API server rejects a pod whose defaults cannot be filled in, whatever its level.
        _ = place.fill_in(&mut pod, namespace);
        let tree = yaml::from_json(&pod);
        let Some(pod) = tree.document(0).map(Pod::read).transpose()? else { return Ok(LevelDecision::Admitted) };
        if known.is_none() && self.may_refuse_somewhere(user, namespace, &pod) {
            return Ok(LevelDecision::UnknownNamespace);
        }
        let refusal = self.by_level(user, namespace, &pod, place);
        Ok(refusal.map_or(LevelDecision::Admitted, LevelDecision::Refused))
    }

    /// Whether a namespace with some label can refuse a pod: it violates the strictest level.
    fn may_refuse_somewhere(&self, user: &str, namespace: &str, pod: &Pod) -> bool {
        let strictest = BTreeMap::from([(format!("{PREFIX}enforce"), Level::Restricted.to_string())]);
        let place = NamespaceContext { labels: strictest, ..NamespaceContext::default() };
        self.by_level(user, namespace, pod, &place).is_some()
    }

    /// Returns the invalid Pod Security labels of a new or changed Namespace, in the words of the API server; `old` are the labels before
    /// a change.
    pub fn invalid_levels(
        &self,
        old: Option<&BTreeMap<String, String>>,
        new: &BTreeMap<String, String>,
    ) -> Vec<String> {
        if self.minor < FIRST_MINOR_WITH_LEVELS {
            return Vec::new();
        }
        refused_labels(self.pod_security.defaults, old, new).iter().map(ToString::to_string).collect()
    }

    /// Returns a new pod as the API server hands it to admission policies: with the defaults of its fields and the token of its
    /// service account.
    pub fn new_pod(&self, pod: &Json, namespace: &str) -> Json {
        let mut filled = pod.clone();
        fill_pod(&mut filled);
        let account = absent::text(filled.pointer("/spec/serviceAccountName").and_then(Json::as_str)).to_owned();
        created(&filled, namespace, !self.without_token.contains(&(namespace.to_owned(), account)))
    }

    /// Checks pods that a user creates against the level of the namespace, for every kind of workload.
    fn by_level(&self, user: &str, namespace: &str, pod: &Pod, place: &NamespaceContext) -> Option<String> {
        let minor = self.minor;
        let enforced = self.enforced_level(namespace, place)?;
        let request = PodSecurityRequest { user, namespace, labels: &place.labels, pod, is_pod: true };
        if enforced.level == Level::Privileged || exemption(&self.pod_security.exemptions, request).is_some() {
            return None;
        }
        let violations = violations(pod, enforced.level, enforced.version.on_server_of(minor));
        (!violations.is_empty()).then(|| message(enforced, &violations))
    }

    /// Returns a namespace; none where no Namespace object is known.
    pub fn place(&self, namespace: &str) -> Option<&NamespaceContext> {
        self.places.get(namespace)
    }
}

impl<'w> Gate<'w> {
    /// Returns the admission of a cluster with the access granted by a world.
    pub fn new(world: &'w World, objects: &'w AdmissionObjects) -> Self {
        Self { world, objects }
    }

    /// Returns the objections of the cluster to the pods of a workload with this template; an empty list means
    /// admission. The result covers objects of the API: see [`unseen_policies`].
    pub fn judge(&self, workload: &Workload, template: &Json) -> Vec<Refused> {
        let namespace = workload.namespace();
        let nowhere = NamespaceContext::default();
        let place = match self.objects.places.get(namespace) {
            Some(place) => place,
            None => &nowhere,
        };
        let account = Identity::from_user(&account_user(namespace, workload.service_account()));
        let creator = Identity::from_user(workload.creator());
        if self.objects.is_openshift || self.objects.policies.is_empty() || workload.creator().is_empty() {
            return self.judge_in(
                workload,
                template,
                &Surroundings { place, usable: UsablePolicies::Account(&account) },
            );
        }
        // The service account of a pod and its creator may each use policies.
        let names = [&account, &creator].map(|identity| usable_names(self.world, identity, namespace));
        let usable = match names {
            [Some(mut names), Some(more)] => {
                names.extend(more);
                return self.judge_in(
                    workload,
                    template,
                    &Surroundings { place, usable: UsablePolicies::Named(&names) },
                );
            }
            [None, _] => UsablePolicies::Account(&account),
            [_, None] => UsablePolicies::Account(&creator),
        };
        self.judge_in(workload, template, &Surroundings { place, usable })
    }

    /// Returns the objections to the pods of a workload in given surroundings.
    pub(super) fn judge_in(
        &self,
        workload: &Workload,
        template: &Json,
        surroundings: &Surroundings<'_>,
    ) -> Vec<Refused> {
        let (namespace, place) = (workload.namespace(), surroundings.place);
        let mut refused = Vec::new();
        let mut pod = workload.pod();
        let filled = if self.objects.is_openshift {
            self.by_constraints(&pod, namespace, surroundings)
        } else {
            self.by_policies(&pod, namespace, surroundings)
        };
        match filled {
            Ok(filled) => pod = filled,
            Err(reasons) => {
                // The level of a pod without its defaults means little.
                let by = if self.objects.is_openshift { By::Constraints } else { By::Policies };
                return vec![Refused { by, reasons }];
            }
        }
        if !place.profiles.is_empty() {
            let (judged, reasons) = self.by_profiles(workload, template, place);
            if let Some(judged) = judged {
                pod = judged;
            }
            if !reasons.is_empty() {
                refused.push(Refused { by: By::Profile, reasons });
            }
        }
        if let Some(reason) = self.objects.by_level(workload.creator(), namespace, &pod, place) {
            refused.push(Refused { by: By::Level, reasons: vec![reason] });
        }
        refused
    }

    /// Returns the pod with the defaults of the policies. A cluster without policies has no such admission.
    fn by_policies(&self, pod: &Pod, namespace: &str, surroundings: &Surroundings<'_>) -> Result<Pod, Vec<String>> {
        if self.objects.policies.is_empty() {
            return Ok(pod.clone());
        }
        // Of thousands of policies an account may use a few, which are looked up by their names.
        let usable: Option<Cow<'_, BTreeSet<String>>> = match surroundings.usable {
            UsablePolicies::Account(account) => usable_names(self.world, account, namespace).map(Cow::Owned),
            UsablePolicies::Named(names) => Some(Cow::Borrowed(names)),
        };
        let all = &self.objects.policies;
        let policies: Vec<&PodSecurityPolicy> = match &usable {
            Some(names) => names.iter().filter_map(|name| all.get(name)).collect(),
            None => all.values().collect(),
        };
        let choice = choose_among(policies, |_| true, pod, PodOperation::Create);
        if let (true, Some(pod)) = (choice.is_allowed(), choice.pod) {
            return Ok(pod);
        }
        let mut reasons: Vec<String> = choice.invalid.iter().map(described).collect();
        for refusal in &choice.refusals {
            let problems: Vec<String> = refusal.violations.iter().map(described).collect();
            reasons.push(format!("`{}`: {}", refusal.policy, problems.join(", ")));
        }
        if reasons.is_empty() {
            reasons.push("neither its service account nor its controller may use a policy".to_owned());
        }
        Err(reasons)
    }

    /// Checks a pod that a user creates against the PodSecurityPolicies. The user or the service account of the pod may use them.
    ///
    /// # Errors
    /// Why no policy admits the pod.
    pub fn check_policies(&self, creator: &Identity, namespace: &str, pod: &Pod) -> Result<(), Vec<String>> {
        let account = account_of(pod, namespace);
        let place = &NamespaceContext::default();
        let check = |usable| self.by_policies(pod, namespace, &Surroundings { place, usable }).map(|_| ());
        match [&account, creator].map(|who| usable_names(self.world, who, namespace)) {
            [Some(mut names), Some(more)] => {
                names.extend(more);
                check(UsablePolicies::Named(&names))
            }
            [None, _] => check(UsablePolicies::Account(&account)),
            [_, None] => check(UsablePolicies::Account(creator)),
        }
    }

    fn by_constraints(&self, pod: &Pod, namespace: &str, surroundings: &Surroundings<'_>) -> Result<Pod, Vec<String>> {
        let admitting = self.usable_constraints(pod, namespace, surroundings)?;
        Ok(admitting.map_or_else(|| pod.clone(), |admitting| admitting.pod))
    }

    /// Returns the constraints that admit a pod that a user creates; none for a pod without admission by constraints. The user or
    /// the service account of the pod may use them.
    ///
    /// # Errors
    /// Why no constraints admit the pod.
    pub fn constraints_for(
        &self,
        creator: &Identity,
        namespace: &str,
        pod: &Pod,
    ) -> Result<Option<AdmittingConstraints>, Vec<String>> {
        let nowhere = NamespaceContext::default();
        let place = self.objects.places.get(namespace).map_or(&nowhere, |place| place);
        let account = account_of(pod, namespace);
        let may_use =
            |scc: &Scc| [&account, creator].into_iter().any(|who| self.may_use_constraints(who, namespace, scc));
        if self.objects.is_openshift { self.admitting_constraints(pod, namespace, place, may_use) } else { Ok(None) }
    }

    fn admitting_constraints(
        &self,
        pod: &Pod,
        namespace: &str,
        place: &NamespaceContext,
        may_use: impl Fn(&Scc) -> bool,
    ) -> Result<Option<AdmittingConstraints>, Vec<String>> {
        let run_level = place.labels.get(RUN_LEVEL_LABEL).map(String::as_str);
        if skips_constraints(namespace, run_level) || self.objects.constraints.is_empty() {
            return Ok(None);
        }
        let constraints: Vec<&Scc> = self.objects.constraints.iter().collect();
        match admit(pod, &constraints, may_use, allocated(place)) {
            SccAdmission::Skipped => Ok(None),
            SccAdmission::Admitted { scc, pod, .. } => Ok(Some(AdmittingConstraints { name: scc, pod: *pod })),
            SccAdmission::Refused { refusals } if refusals.is_empty() => {
                Err(vec!["its service account may use no constraints".to_owned()])
            }
            SccAdmission::Refused { refusals } => Err(refusals
                .iter()
                .map(|refusal| format!("`{}`: {}", refusal.scc, refusal.problems.join(", ")))
                .collect()),
            SccAdmission::Broken { scc, why } if scc.is_empty() => Err(vec![why.to_string()]),
            SccAdmission::Broken { scc, why } => Err(vec![format!("`{scc}` keeps every pod out: {why}")]),
        }
    }

    fn usable_constraints(
        &self,
        pod: &Pod,
        namespace: &str,
        surroundings: &Surroundings<'_>,
    ) -> Result<Option<AdmittingConstraints>, Vec<String>> {
        let may_use = |scc: &Scc| match surroundings.usable {
            UsablePolicies::Account(account) => self.may_use_constraints(account, namespace, scc),
            UsablePolicies::Named(names) => names.contains(scc.name()),
        };
        self.admitting_constraints(pod, namespace, surroundings.place, may_use)
    }

    /// Whether a user may use constraints in a namespace; an empty namespace asks for every namespace.
    pub fn may_use_constraints(&self, who: &Identity, namespace: &str, scc: &Scc) -> bool {
        let request = ResourceRequest {
            verb: "use".to_owned(),
            group: GROUP.to_owned(),
            resource: RESOURCE.to_owned(),
            namespace: namespace.to_owned(),
            name: scc.name().to_owned(),
            ..ResourceRequest::default()
        };
        scc.names(&who.user, &who.groups) || self.world.allows(who, &Request::Resource(request))
    }

    /// Returns the Namespace object of a workload, if it is known.
    pub fn namespace_object(&self, workload: &Workload) -> Option<Json> {
        let namespace = workload.namespace();
        self.objects.places.get(namespace).map(|place| place.object(namespace))
    }

    /// Returns the pod for a template after the mutating policy of a profile, with the name of the constraints that admit it; none
    /// if the defaults of the profile cannot be filled in.
    pub fn created_pod(&self, workload: &Workload, template: &Json) -> Option<Json> {
        let namespace = workload.namespace();
        let nowhere = NamespaceContext::default();
        let place = self.objects.places.get(namespace).map_or(&nowhere, |place| place);
        let account = Identity::from_user(&account_user(namespace, workload.service_account()));
        let surroundings = Surroundings { place, usable: UsablePolicies::Account(&account) };
        self.created_pod_in(workload, template, &surroundings)
    }

    /// Returns the pod for a template in given surroundings, as [`Gate::created_pod`] does.
    pub(super) fn created_pod_in(
        &self,
        workload: &Workload,
        template: &Json,
        surroundings: &Surroundings<'_>,
    ) -> Option<Json> {
        let namespace = workload.namespace();
        let account = (namespace.to_owned(), workload.service_account().to_owned());
        let mut pod = created(template, namespace, !self.objects.without_token.contains(&account));
        if let Some(place) = self.objects.places.get(namespace) {
            place.fill_in(&mut pod, namespace).ok()?;
        }
        take_annotations(&mut pod);
        if self.objects.is_openshift
            && let Ok(Some(admitting)) = self.usable_constraints(&workload.pod(), namespace, surroundings)
        {
            admitting.fill_in(&mut pod);
        }
        Some(pod)
    }

    /// Returns the pod after the defaults of its profile, if it can be read, and the objections of the profile's policy.
    /// An unknown answer is no objection.
    fn by_profiles(
        &self,
        workload: &Workload,
        template: &Json,
        place: &NamespaceContext,
    ) -> (Option<Pod>, Vec<String>) {
        let namespace = workload.namespace();
        let account = (namespace.to_owned(), workload.service_account().to_owned());
        let mut pod = created(template, namespace, !self.objects.without_token.contains(&account));
        let object = place.object(namespace);
        if let Err(reason) = place.fill_in(&mut pod, namespace) {
            return (None, vec![format!("its defaults cannot be filled in: {reason}")]);
        }
        take_annotations(&mut pod);
        let judged = yaml::from_json(&pod).document(0).and_then(|root| Pod::read(root).ok());
        let request = AdmissionRequest {
            operation: "CREATE".to_owned(),
            version: "v1".to_owned(),
            resource: "pods".to_owned(),
            kind: "Pod".to_owned(),
            namespace: namespace.to_owned(),
            name: workload.name.clone(),
            object: Some(pod),
            ..AdmissionRequest::default()
        };
        let mut denials: Vec<String> = Vec::new();
        for Profile { policy: name, .. } in &place.profiles {
            let Some(policy) = self.objects.admission_policies.get(name) else { continue };
            for binding in self.objects.bindings.get(name).into_iter().flatten() {
                let verdict = policy.evaluate(&request, Some(binding), Some(&object));
                // Two bindings of a policy can select the namespace.
                denials
                    .extend(verdict.denials.into_iter().filter(|denial| !denials.contains(denial)).collect::<Vec<_>>());
            }
        }
        (judged, denials)
    }
}

impl AdmittingConstraints {
    /// Writes the name into the annotation of the pod, in place of a value of its author, and the users that the constraints set.
    pub fn fill_in(&self, pod: &mut Json) {
        self.fill_in_users(pod);
        let Some(metadata) = pod.get_mut("metadata").and_then(Json::as_object_mut) else { return };
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if !annotations.is_object() {
            *annotations = json!({});
        }
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(CONSTRAINTS.to_owned(), self.name.as_str().into());
        }
    }

    fn fill_in_users(&self, pod: &mut Json) {
        let spec = &self.pod.spec;
        for (list, filled) in [("initContainers", &spec.init_containers), ("containers", &spec.containers)] {
            let written = pod.pointer_mut(&format!("/spec/{list}")).and_then(Json::as_array_mut);
            for (container, filled) in written.into_iter().flatten().zip(filled) {
                let (Some(container), Some(context)) = (container.as_object_mut(), &filled.security_context) else {
                    continue;
                };
                let fields = [
                    ("runAsUser", context.run_as_user.map(Json::from)),
                    ("runAsNonRoot", context.run_as_non_root.map(Json::from)),
                ];
                for (field, value) in fields {
                    let Some(value) = value else { continue };
                    let own = container.entry("securityContext").or_insert_with(|| json!({}));
                    own.as_object_mut().into_iter().for_each(|own| _ = own.insert(field.to_owned(), value.clone()));
                }
            }
        }
    }
}

/// Returns the identity of the service account of a pod.
fn account_of(pod: &Pod, namespace: &str) -> Identity {
    let account = match pod.spec.service_account_name.as_str() {
        "" => "default",
        name => name,
    };
    Identity::from_user(&account_user(namespace, account))
}

/// Returns the ranges of a namespace. The cluster allocates the annotations missing from the namespace.
fn allocated(place: &NamespaceContext) -> Allocated<'_> {
    let annotation = |key: &str| place.annotations.get(key).map(String::as_str);
    Allocated {
        uid_range: annotation(range::UID_RANGE).or(Some(SOME_RANGE)),
        supplemental_groups: annotation(range::SUPPLEMENTAL_GROUPS),
        mcs: annotation(range::MCS).or(Some(SOME_SELINUX_LEVEL)),
    }
}

fn described(violation: &PspViolation) -> String {
    format!("{}: {}", violation.field, violation.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_from_files_are_named_since_1_37() {
        assert_eq!(unseen_policies(36), None);
        assert!(unseen_policies(37).is_some_and(|text| text.contains("from files")));
    }
}
