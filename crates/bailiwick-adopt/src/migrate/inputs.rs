//! The objects of a cluster, read from its manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_access::{Builder, World};
use bailiwick_admission::others::OtherPolicy;
use bailiwick_admission::psp::PodSecurityPolicy;
use bailiwick_analysis::loaded_world::{
    ManifestReading, MissingNamespace, add_tree, default_namespace, duplicate_object, each_filtered_tree, version_of,
};
use bailiwick_codes as codes;
use bailiwick_kubernetes::{schemas, validation};
use bailiwick_policy::source::manifests::FileFilter;
use bailiwick_workspace::Options;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::{Diagnostic, Files, Origin, RunError, Sink};

use super::workloads::{FoundWorkloads, WorkloadCollector, malformed};
use crate::PspMigrationOptions;
use crate::psp_policies::Namespace;
use crate::psp_policies::superfluous::{Superfluous, SuperfluousCollector};

/// The result of reading.
pub(super) struct Inputs {
    pub(super) world: World,
    pub(super) policies: Vec<PodSecurityPolicy>,
    /// The Namespaces.
    pub(super) declared: BTreeMap<String, Namespace>,
    /// These, and every namespace that something else is in.
    pub(super) namespaces: BTreeSet<String>,
    pub(super) workloads: FoundWorkloads,
    pub(super) superfluous: Superfluous,
    /// The policies of other admission controllers.
    pub(super) others: Vec<OtherPolicy>,
}

/// The newest minor with PodSecurityPolicies, for the rules of the API.
const LAST_WITH_POLICIES: u32 = 24;

/// The versions of the API that had the kind; the second one up to 1.15.
const VERSIONS: [&str; 2] = ["policy/v1beta1", "extensions/v1beta1"];

/// Reads everything. None when the version is unknown; that, and whatever is wrong, is in the sink.
pub(super) fn read(
    run: &Options,
    options: &PspMigrationOptions,
    files: &Arc<Files>,
    sink: &mut Sink,
) -> Result<Option<Inputs>, RunError> {
    let Some(minor) = version_of(&options.kubernetes_version, sink) else { return Ok(None) };
    let filter = FileFilter::new(&options.include, &options.exclude, sink);
    let namespace = match &options.default_namespace {
        Some(name) => default_namespace(Some(name), sink),
        None => MissingNamespace::None,
    };
    let reading = ManifestReading { run, files, filter: &filter, namespace };
    let mut builder = Builder::new(minor).with_default_policy(minor);
    let mut found = Found::default();
    for path in &options.from {
        each_filtered_tree(&run.input_at(path), reading, sink, &mut |tree, sink| {
            add_tree(&mut builder, tree, sink, &mut |object, sink| found.add(object, sink));
        })?;
    }
    if found.policies.is_empty() && !sink.has_errors() {
        let names: Vec<String> = options.from.iter().map(|path| format!("`{}`", path.display())).collect();
        sink.push(
            Diagnostic::error(
                codes::NOTHING_TO_MIGRATE,
                format!("there is no PodSecurityPolicy in {}", names.join(", ")),
            )
            .help("run `kubectl get podsecuritypolicies -o yaml` in a cluster up to Kubernetes 1.24"),
        );
    }
    Ok(Some(found.finish(builder.build())))
}

#[derive(Default)]
struct Found {
    policies: BTreeMap<String, (Origin, PodSecurityPolicy)>,
    declared: BTreeMap<String, Namespace>,
    namespaces: BTreeSet<String>,
    workloads: WorkloadCollector,
    roles: SuperfluousCollector,
    others: BTreeSet<OtherPolicy>,
}

impl Found {
    fn add(&mut self, object: NodeRef<'_>, sink: &mut Sink) {
        let text = |keys: &[&str]| object.path(keys).and_then(NodeRef::as_str).unwrap_or_default();
        match (text(&["apiVersion"]), text(&["kind"])) {
            (_, "") => sink.push(
                Diagnostic::error(codes::MALFORMED_OBJECT, "an item of this list has no kind")
                    .at(object.origin())
                    .help("each item needs its own `apiVersion` and `kind`, as `kubectl get -o yaml` prints them"),
            ),
            (version, "PodSecurityPolicy") if VERSIONS.contains(&version) => self.policy(object, sink),
            ("v1", "Namespace") => self.namespace(object, text(&["metadata", "name"])),
            _ => {
                self.others.extend(OtherPolicy::of(object));
                let namespace = text(&["metadata", "namespace"]);
                if matches!(text(&["kind"]), "ServiceAccount" | "RoleBinding") && !namespace.is_empty() {
                    self.namespaces.insert(namespace.to_owned());
                }
                self.roles.add(object);
                self.namespaces.extend(self.workloads.add(object, sink));
            }
        }
    }

    fn policy(&mut self, object: NodeRef<'_>, sink: &mut Sink) {
        let before = sink.len();
        check(object, sink);
        match PodSecurityPolicy::read(object) {
            Ok(policy) => {
                let name = policy.name().to_owned();
                if let Some((first, _)) = self.policies.insert(name, (object.origin(), policy)) {
                    sink.push(duplicate_object(object.origin(), first));
                }
            }
            // The schema has reported it.
            Err(_) if sink.len() > before => {}
            Err(problem) => sink.push(malformed(problem, object)),
        }
    }

    fn namespace(&mut self, object: NodeRef<'_>, name: &str) {
        let texts = |key: &str| -> BTreeMap<String, String> {
            let entries = object.path(&["metadata", key]).into_iter().flat_map(NodeRef::entries);
            entries.filter_map(|(key, value)| Some((key.as_str()?.to_owned(), value.as_str()?.to_owned()))).collect()
        };
        let namespace = Namespace { labels: texts("labels"), annotations: texts("annotations") };
        self.declared.insert(name.to_owned(), namespace);
        self.namespaces.insert(name.to_owned());
    }

    fn finish(self, world: World) -> Inputs {
        Inputs {
            world,
            policies: self.policies.into_values().map(|(_, policy)| policy).collect(),
            declared: self.declared,
            namespaces: self.namespaces,
            workloads: self.workloads.finish(),
            superfluous: self.roles.finish(),
            others: self.others.into_iter().collect(),
        }
    }
}

/// Holds a policy against the shape of its kind and the API server's rules, but for its metadata.
fn check(object: NodeRef<'_>, sink: &mut Sink) {
    let Some(schema) = schemas::schema_of("policy/v1beta1", "PodSecurityPolicy") else { return };
    let before = sink.len();
    for problem in schema.problems(object).into_iter().filter(|problem| is_of_spec(&problem.path)) {
        let help = problem.help.unwrap_or_else(|| "correct the policy: the API server rejects it".to_owned());
        let message = format!("`{}`: {}", problem.path, problem.message);
        sink.push(Diagnostic::error(codes::MALFORMED_OBJECT, message).at(problem.node.origin()).help(help));
    }
    if sink.len() > before {
        return;
    }
    let mut errors = Vec::new();
    validation::check(object, None, LAST_WITH_POLICIES, &mut errors);
    for error in errors {
        let help = error.help.unwrap_or_else(|| "correct the policy: the API server rejects it".to_owned());
        let message = format!("`{}`: {}", error.path, error.message);
        sink.push(
            Diagnostic::error(codes::MALFORMED_OBJECT, message).at(object.tree().at(error.node).origin()).help(help),
        );
    }
}

/// Returns whether a path is in the spec: metadata that the server writes is ignored.
fn is_of_spec(path: &str) -> bool {
    !path.starts_with("metadata") && !path.starts_with("apiVersion")
}
