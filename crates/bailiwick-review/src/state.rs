//! One state of a target: everything that decides about access and pods, gathered in one compilation.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bailiwick_admission::psp::PodSecurityPolicy;
use bailiwick_admission::scc::Scc;
use bailiwick_analysis::account_names::AccountNames;
use bailiwick_analysis::loaded_world::{LoadedWorld, WorldOptions, WorldParts, load_target_seen};
use bailiwick_analysis::memberships::MembersByGroup;
use bailiwick_analysis::pod_inputs::PodInputs;
use bailiwick_compiler::compile;
use bailiwick_kubernetes::stored::{StoredForm, to_stored};
use bailiwick_kubernetes::{absent, list, readers, user_group};
use bailiwick_policy::model::Target;
use bailiwick_workspace::Workspace;
use bailiwick_workspace::identity_key::IdentityKey;
use bailiwick_yaml::diag::{Origin, RunError, Sink};
use bailiwick_yaml::schema::to_json;
use bailiwick_yaml::{self as yaml, NodeRef, Tree, from_json};
use serde_json::Value as Json;

/// Everything about one target in one state of the workspace.
pub(super) struct TargetState<'s> {
    pub(super) workspace: &'s Workspace,
    pub(super) target: &'s Target,
    /// Roles, bindings, namespaces, nodes and pods.
    pub(super) loaded: LoadedWorld,
    /// The objects that decide about pods, and the workloads.
    pub(super) pods: PodInputs<'s>,
    /// PodSecurityPolicies by name.
    pub(super) pod_security_policies: BTreeMap<String, PodSecurityPolicy>,
    /// SecurityContextConstraints by name.
    pub(super) constraints: BTreeMap<String, Scc>,
    /// Admission policies, their bindings and webhooks by kind and name, as the API server stores them and without metadata.
    pub(super) admission_policies: BTreeMap<String, Json>,
    /// The namespaces of the accounts of Tenancies, each with the name of its Tenancy.
    pub(super) accounts: BTreeMap<String, String>,
    /// The users with other groups in the other state, by the names of their groups.
    pub(super) members: &'s MembersByGroup,
    /// The users of each Group object by its name.
    pub(super) groups: BTreeMap<String, BTreeSet<String>>,
    /// The compiled objects with names with which Flux never prunes them, without places.
    pub(super) never_pruned: BTreeMap<IdentityKey, Tree>,
}

impl<'s> TargetState<'s> {
    /// Compiles a target and gathers its objects, with objects of no policy that stay in the cluster; none after an error, which is in the sink.
    pub(super) fn load(
        workspace: &'s Workspace,
        target: &'s Target,
        members: &'s MembersByGroup,
        staying: &[Tree],
        sink: &mut Sink,
    ) -> Result<Option<Self>, RunError> {
        let options = WorldOptions { with_surroundings: true, ..WorldOptions::default() };
        let mut objects = PolicyObjects::default();
        let mut pods = PodInputs::new(workspace, target);
        let mut found = Sink::new();
        pods.add_cluster_objects();
        pods.add_analyzed_documents(&mut found);
        for document in workspace.project().analyzed_documents(target) {
            list::objects(document).into_iter().for_each(|object| objects.add(object));
        }
        for tree in workspace.project().baselines.get(&target.name).into_iter().flatten() {
            tree.documents().flat_map(list::objects).for_each(|object| objects.add(object));
        }
        let mut accounts = Accounts { workspace, by_place: HashMap::new(), names: BTreeMap::new() };
        let mut never_pruned = BTreeMap::new();
        let mut see = |object: NodeRef<'_>, place| {
            pods.add(object, Some(place), &mut found);
            objects.add(object);
            accounts.add(object, place);
            if !readers::survives_inventory(
                object.text_at("apiVersion"),
                absent::text_at(object, &["metadata", "name"]),
            ) {
                never_pruned.insert(IdentityKey::of(object), from_json(&to_json(object)));
            }
        };
        let parts = WorldParts { members: Some(members), staying, ..WorldParts::seen_by(&mut see) };
        let loaded = load_target_seen(workspace, target, &options, parts, sink)?;
        let labels = compile::labels(workspace.project(), target, workspace.compiler(), &mut Sink::new())?;
        pods.finish(labels.as_ref(), &mut found);
        sink.absorb(found);
        let PolicyObjects { pod_security_policies, constraints, admission_policies, groups } = objects;
        let loaded = loaded.filter(|_| !sink.has_errors());
        Ok(loaded.map(|loaded| Self {
            workspace,
            target,
            loaded,
            pods,
            pod_security_policies,
            constraints,
            admission_policies,
            accounts: accounts.names,
            members,
            groups,
            never_pruned,
        }))
    }
}

impl<'s> TargetState<'s> {
    /// Returns the accounts of the namespaces.
    pub(super) fn account_names(&self) -> AccountNames<'s> {
        AccountNames::of_target(self.workspace, self.target)
    }
}

/// The namespaces of the accounts of Tenancies.
struct Accounts<'w> {
    workspace: &'w Workspace,
    /// The Tenancy at each place, if there is one.
    by_place: HashMap<Origin, Option<String>>,
    names: BTreeMap<String, String>,
}

impl Accounts<'_> {
    fn add(&mut self, object: NodeRef<'_>, place: Origin) {
        if object.get("kind").and_then(NodeRef::as_str) != Some("Namespace") {
            return;
        }
        let workspace = self.workspace;
        let tenancy = self.by_place.entry(place).or_insert_with(|| {
            let policy = workspace.project().policy_at(place).filter(|policy| policy.kind == "Tenancy")?;
            Some(policy.name.to_string())
        });
        let name = object.path(&["metadata", "name"]).and_then(NodeRef::as_str);
        self.names.extend(name.map(str::to_owned).zip(tenancy.clone()));
    }
}

/// The objects of a target that restrict pods, and its groups.
#[derive(Default)]
struct PolicyObjects {
    pod_security_policies: BTreeMap<String, PodSecurityPolicy>,
    constraints: BTreeMap<String, Scc>,
    admission_policies: BTreeMap<String, Json>,
    groups: BTreeMap<String, BTreeSet<String>>,
}

impl PolicyObjects {
    fn add(&mut self, object: NodeRef<'_>) {
        let text = |keys: &[&str]| absent::text_at(object, keys);
        let (group, _) = absent::group_and_version(text(&["apiVersion"]));
        let (kind, name) = (text(&["kind"]), text(&["metadata", "name"]));
        match (group, kind) {
            ("policy", "PodSecurityPolicy") => {
                let read = PodSecurityPolicy::read(object).ok();
                self.pod_security_policies.extend(read.map(|policy| (name.to_owned(), policy)));
            }
            ("security.openshift.io", "SecurityContextConstraints") => {
                self.constraints.extend(Scc::read(object).ok().map(|scc| (name.to_owned(), scc)));
            }
            ("user.openshift.io", "Group") => {
                let users = user_group::members(text(&["apiVersion"]), kind, object).into_iter().flatten();
                let users = users.filter_map(|user| Some(user.as_str()?.to_owned()));
                self.groups.entry(name.to_owned()).or_default().extend(users);
            }
            ("admissionregistration.k8s.io", _) => {
                self.admission_policies.insert(format!("{kind}/{name}"), without_form(object));
            }
            _ => {}
        }
    }
}

/// Returns an object as the API server stores it, without its metadata.
fn without_form(object: NodeRef<'_>) -> Json {
    let mut tree = yaml::from_json(&to_json(object));
    let Some(root) = tree.document(0).map(NodeRef::id) else { return Json::Null };
    to_stored(&mut tree, root, StoredForm::Stored);
    let mut stored = to_json(tree.at(root));
    stored.as_object_mut().into_iter().for_each(|fields| _ = fields.shift_remove("metadata"));
    stored
}
