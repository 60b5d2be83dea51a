//! `StackManager`: the service account that installs stacks, with minimal permissions.

use std::collections::BTreeMap;
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_crossplane::conflicts::{Owner, Owners};
use bailiwick_crossplane::definition::Definition;
use bailiwick_crossplane::manager::{self, Rights};
use bailiwick_crossplane::object::{ObjectLabels, PackageObject, ServiceAccountName};
use bailiwick_crossplane::personas;
use bailiwick_crossplane::stack::Stack;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_kubernetes::rules::RuleSet;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};
use bailiwick_yaml::{NodeRef, Spanned, Tree};
use schemars::JsonSchema;
use serde::Deserialize;

use super::packaged::Templates;
use crate::model::{
    CommonMetadataSpec, Contribution, Data, DependentPolicy, Fill, InstalledManager, InstalledStack, Kind,
    KnownNamespace, Linker, ObjectId, Offer, OutputFileKey, Pattern, Patterns, PermissionSet, Policy, PolicyMeta,
    RawDocument, Surroundings, Target, TypeMeta, Unit, UnitSource,
};

/// The policy kind `StackManager`.
pub struct StackManagerKind;

/// The installer of the workspace's stacks: a service account with the minimal permissions to create their objects.
///
/// The Stack Manager of Crossplane is `cluster-admin`, since RBAC forbids granting permissions that the granting user
/// does not have. In a workspace the stacks are known in advance. So the manager gets the permissions of the stacks, in
/// their namespaces, and may write their objects by name. Permissions of cluster stacks and of ClusterRoles apply to
/// the whole cluster.
///
/// ```yaml
/// apiVersion: bailiwick.dev/v1alpha1
/// kind: StackManager
/// metadata:
///   name: stack-manager
/// spec:
///   serviceAccount: {name: stack-manager, namespace: crossplane-system}
///   include: [stack-manager-own]
///   definitions: true
///   namespacePersonas: true
/// ```
///
/// The objects of the manager itself and aggregated roles are not written by the manager but applied with the output:
/// creation of an aggregated role requires full permissions. The manager may remove leftovers of a new package version,
/// such as the roles of the previous version, only until its own roles are applied; afterwards, prune them when you
/// apply the output.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct StackManagerSpec {
    /// Globs of the targets the policy applies to. Default: all of them.
    #[serde(default)]
    pub targets: Vec<String>,
    /// Labels and annotations of every object of the policy.
    #[serde(default)]
    pub common_metadata: CommonMetadataSpec,
    /// The service account of the manager; it is created.
    pub service_account: Spanned<ManagerAccount>,
    /// Further permission sets of the manager, such as for its own requests and jobs.
    #[serde(default)]
    pub include: Vec<Spanned<String>>,
    /// Whether to write the CustomResourceDefinitions of the packages too, with the labels of v0.9 for stacks with this
    /// revision. Default: false.
    #[serde(default)]
    pub definitions: bool,
    /// Whether namespaces labelled `rbac.crossplane.io/managed-roles: "true"` get ClusterRoles for people that
    /// aggregate the roles of the stacks there (v0.9). Default: false.
    #[serde(default)]
    pub namespace_personas: bool,
}

/// The service account of the manager.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ServiceAccount")]
pub struct ManagerAccount {
    /// The `metadata.name` of the account that the manager runs as.
    pub name: String,
    /// The `metadata.namespace` of the same account.
    pub namespace: String,
}

impl Kind for StackManagerKind {
    type Spec = StackManagerSpec;

    const NAME: &'static str = "StackManager";
    const TEMPLATES: &'static [&'static str] = &[
        "stack-manager/clusterrole.yaml.j2",
        "stack-manager/clusterrolebinding.yaml.j2",
        DEFINITION,
        "stack-manager/role.yaml.j2",
        "stack-manager/rolebinding.yaml.j2",
        "stack-manager/serviceaccount.yaml.j2",
    ];
    const PATTERNS: Patterns = Patterns::Own;

    fn link(
        document: &RawDocument<'_>,
        spec: StackManagerSpec,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) -> Option<Box<dyn Policy>> {
        let meta = document.meta.clone();
        let account = ServiceAccountName {
            namespace: spec.service_account.namespace.clone(),
            name: spec.service_account.name.clone(),
        };
        let mut made = BTreeMap::new();
        for target in linker.targets_of(&meta) {
            let further = further_rules(&spec, &meta, &target, linker, sink);
            let stacks: Vec<Arc<Stack>> =
                linker.facts.on(&target.name).map(|installed: &InstalledStack| Arc::clone(&installed.stack)).collect();
            let stacks: Vec<&Stack> = stacks.iter().map(|stack| &**stack).collect();
            let mut parts = own_objects(&meta.name, &account, manager::rights(&stacks, &further));
            if spec.definitions {
                parts.extend(definitions(&stacks, linker, sink));
            }
            made.insert(target.name, parts);
        }
        linker.facts.push(InstalledManager {
            account,
            origin: spec.service_account.origin,
            targets: Arc::clone(&meta.targets),
        });
        let idle = meta.targets.iter().filter(|target| linker.facts.on::<InstalledStack>(target).next().is_none());
        let idle: Vec<String> = idle.map(|target| format!("`{target}`")).collect();
        if !idle.is_empty() && !sink.has_errors() {
            let message = format!("no stack on {} can be installed by `{}`", idle.join(", "), meta.name);
            sink.push(
                Diagnostic::warning(codes::UNUSED_POLICY, message)
                    .at(meta.origin)
                    .help("add a Stack, or exclude the target: the manager has no permissions"),
            );
        }
        Some(Box::new(Linked { origin: spec.service_account.origin, meta, made, personas: spec.namespace_personas }))
    }
}

const DEFINITION: &str = "stack-manager/customresourcedefinition.yaml.j2";

const TEMPLATES: Templates = Templates {
    service_account: "stack-manager/serviceaccount.yaml.j2",
    role: "stack-manager/role.yaml.j2",
    cluster_role: "stack-manager/clusterrole.yaml.j2",
    role_binding: "stack-manager/rolebinding.yaml.j2",
    cluster_role_binding: "stack-manager/clusterrolebinding.yaml.j2",
};

/// Returns the manager's own permissions on a target.
fn further_rules(
    spec: &StackManagerSpec,
    meta: &PolicyMeta,
    target: &Target,
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> Vec<PolicyRule> {
    let mut rules = Vec::new();
    for name in &spec.include {
        let groups = linker.offers.groups([(PermissionSet::KIND, name.as_str())], &meta.targets);
        let Some(on) = groups.iter().find(|on| on.contains(&target.name)) else { continue };
        let Some(set) = linker.offers.find::<PermissionSet>(name, on, sink) else { continue };
        if let Some(variable) = set.variables.first() {
            sink.push(
                Diagnostic::error(
                    codes::INVALID_VALUE,
                    format!("the set `{}` uses the variable `{variable}`, but this policy has no accounts", name.value),
                )
                .at(name.origin)
                .and(set.meta.origin, "the set")
                .help("use it in a Tenancy: its accounts have variables"),
            );
        } else {
            let granted = set.content.granted(&target.name).map(RuleSet::rules).unwrap_or_default();
            rules.extend(granted.into_iter().map(|rule| at_target(rule, target)));
        }
    }
    rules
}

/// Fills in the variables of a target in a rule.
fn at_target(rule: PolicyRule, target: &Target) -> PolicyRule {
    let fill = |texts: Vec<String>| {
        let filled = |text: &String| Pattern::parse_checked(text).fill(Fill::from_target(target)).to_string();
        texts.iter().map(filled).collect()
    };
    PolicyRule {
        api_groups: fill(rule.api_groups),
        resources: fill(rule.resources),
        resource_names: fill(rule.resource_names),
        non_resource_urls: fill(rule.non_resource_urls),
        verbs: fill(rule.verbs),
    }
}

/// An object of an output file.
enum Part {
    Object { object: PackageObject, output_file: OutputFileKey },
    Definition { name: Arc<str>, api_version: Arc<str>, data: Data, content: Origin },
}

/// Builds the service account of the manager and its permissions: roles of the cluster, and roles in the namespaces of
/// stacks.
fn own_objects(name: &str, account: &ServiceAccountName, rights: Rights) -> Vec<Part> {
    let numbered = |index: usize| if index == 0 { name.to_owned() } else { format!("{name}-{}", index + 1) };
    let mut objects = vec![PackageObject::account(account)];
    let places = rights.namespaces.iter().map(|(namespace, rules)| (Some(namespace.as_str()), rules));
    for (namespace, rules) in std::iter::once((None, &rights.cluster)).chain(places) {
        for (index, rules) in manager::in_roles(rules).into_iter().enumerate() {
            let (role, kind) = (numbered(index), if namespace.is_some() { "Role" } else { "ClusterRole" });
            objects.push(PackageObject::role(namespace, role.clone(), rules));
            objects.push(PackageObject::binding(namespace, role.clone(), kind, role, vec![account.clone()]));
        }
    }
    let output_file = |object: &PackageObject| {
        let namespace = object.namespace.as_deref().map(Arc::from);
        namespace.map_or(OutputFileKey::Cluster, OutputFileKey::Namespace)
    };
    objects.into_iter().map(|object| Part::Object { output_file: output_file(&object), object }).collect()
}

/// Returns the definitions of all stacks. It uses the copy that has every version in use.
fn definitions(stacks: &[&Stack], linker: &mut Linker<'_>, sink: &mut Sink) -> Vec<Part> {
    let mut parts = Vec::new();
    for owners in Owners::from_stacks(stacks).iter() {
        let Some(best) = best_copy(owners) else {
            if let Some(Owner { definition, .. }) = owners.first() {
                let copies = owners.iter().skip(1);
                let problem = Diagnostic::error(
                    codes::NO_COMMON_DEFINITION,
                    format!("no copy of `{}` serves all versions of its stacks", definition.name),
                );
                let problem =
                    problem.at(definition.origin).help("put one definition with all versions into each package");
                sink.push(copies.fold(problem, |problem, owner| problem.and(owner.definition.origin, "another copy")));
            }
            continue;
        };
        let mut labels = ObjectLabels::new();
        let owning = owners.iter().filter_map(|owner| stacks.get(owner.stack));
        owning.for_each(|stack| labels.extend(stack.definition_labels()));
        let path = linker.files().get(best.origin.file).path().to_owned();
        let Ok(Some(tree)) = linker.sources.tree(&path, None, sink) else { continue };
        parts.extend(definition_part(&tree, best, &labels));
    }
    parts
}

fn best_copy<'s>(owners: &[Owner<'s>]) -> Option<&'s Definition> {
    let serves_all = |candidate: &&Definition| {
        let others = owners.iter().flat_map(|owner| owner.definition.versions.keys());
        others.into_iter().all(|version| candidate.versions.contains_key(version))
    };
    owners.iter().map(|owner| owner.definition).find(serves_all)
}

fn definition_part(tree: &Tree, definition: &Definition, labels: &ObjectLabels) -> Option<Part> {
    let root = tree.documents().find(|root| root.span().contains(definition.origin.span))?;
    let Data::Map(entries) = Data::from_node(root) else { return None };
    // Removes `status`: generators write it, but only the server may set it.
    let kept = entries.iter().filter(|(key, _)| &**key != "status").map(|(key, value)| {
        if &**key != "metadata" {
            return (Arc::clone(key), value.clone());
        }
        let own = value.get("labels").cloned().unwrap_or(Data::Map(Arc::default()));
        let ours = Data::map(labels.iter().map(|(key, value)| (key.as_str(), Data::text(value.as_str()))));
        let merged = if labels.is_empty() {
            value.clone()
        } else {
            value.merged_with(&Data::map([("labels", own.merged_with(&ours))]))
        };
        let Data::Map(fields) = merged else { return (Arc::clone(key), merged) };
        let fields = fields.iter().filter(|(key, value)| &**key != "creationTimestamp" || !value.is_empty());
        (Arc::clone(key), Data::map(fields.map(|(key, value)| (Arc::clone(key), value.clone()))))
    });
    Some(Part::Definition {
        name: definition.name.as_str().into(),
        api_version: root.get("apiVersion").and_then(NodeRef::as_str)?.into(),
        data: Data::map([("object", Data::map(kept.collect::<Vec<_>>()))]),
        content: definition.origin,
    })
}

struct Linked {
    meta: PolicyMeta,
    origin: Origin,
    /// The objects of each target.
    made: BTreeMap<String, Vec<Part>>,
    /// True when namespaces get roles for people.
    personas: bool,
}

impl Linked {
    fn parts(&self, target: &Target) -> &[Part] {
        self.made.get(&target.name).map(Vec::as_slice).unwrap_or_default()
    }
}

impl Policy for Linked {
    fn meta(&self) -> &PolicyMeta {
        &self.meta
    }

    fn contributions(&self, target: &Target, visit: &mut dyn FnMut(OutputFileKey, Contribution)) {
        for (index, part) in self.parts(target).iter().enumerate() {
            let output_file = match part {
                Part::Object { output_file, .. } => output_file.clone(),
                Part::Definition { .. } => OutputFileKey::Cluster,
            };
            visit(output_file, Contribution::try_from(index).unwrap_or_default());
        }
    }

    fn expand(&self, target: &Target, _: &OutputFileKey, part: Contribution, units: &mut Vec<Unit>) {
        units.extend(self.parts(target).get(part as usize).map(|part| match part {
            Part::Object { object, .. } => TEMPLATES.unit(object, self.origin, self.meta.origin),
            Part::Definition { name, api_version, data, content } => Unit {
                identity: ObjectId {
                    object_type: TypeMeta::new(api_version, "CustomResourceDefinition"),
                    namespace: None,
                    name: Arc::clone(name),
                },
                template: DEFINITION.into(),
                data: data.clone(),
                origin: self.origin,
                content: *content,
                account: None,
                without_levels: false,
                source: UnitSource::default(),
            },
        }));
    }
    fn as_dependent(&mut self) -> Option<&mut dyn DependentPolicy> {
        Some(self)
    }
}

impl DependentPolicy for Linked {
    fn needs_namespaces(&self) -> bool {
        self.personas
    }

    fn settle(&mut self, surroundings: &mut Surroundings<'_, '_>, _: &mut Sink) {
        if !self.personas {
            return;
        }
        for (target, parts) in &mut self.made {
            for KnownNamespace { name: namespace, labels, .. } in surroundings.namespaces.on(target) {
                let is_true = |key: &str| labels.get(key).is_some_and(|value| &**value == "true");
                // Cluster-scoped, but made for one namespace alone.
                let output_file = || OutputFileKey::Namespace(Arc::clone(namespace));
                let roles = personas::of_namespace(namespace, is_true).into_iter();
                parts.extend(roles.map(|object| Part::Object { object, output_file: output_file() }));
            }
        }
    }
}
