//! The results of `explain`, as text and as JSON.

use std::collections::BTreeSet;

use bailiwick_access::Identity;
use bailiwick_analysis::{
    DefaultPolicy, ExplainedFile, FileState, LoadedWorld, ManualPage, ObjectIdentity, ObjectName, PolicyName,
};
use bailiwick_paths::EscalationPath;
use bailiwick_yaml as yaml;
use schemars::JsonSchema;
use serde::Serialize;

use super::access::{self, ExplainedBinding, ExplainedDecision, ExplainedRole, ExplainedSubject};
use super::namespace::NamespaceRecord;
use super::page::Page;
use super::result::CommandResult;
use super::stacks::StacksRecord;
use super::{human, paths, risk, worlds};

/// The JSON of `explain`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ExplainResult {
    /// An answer about a request.
    Decision(Box<ExplainedDecision>),
    /// A user, group or service account.
    Subject(ExplainedSubject),
    /// A Role or ClusterRole.
    Role(ExplainedRole),
    /// A RoleBinding or ClusterRoleBinding.
    Binding(ExplainedBinding),
    /// An object of an output file.
    Object(OutputObject),
    /// The admission rules for the pods of a namespace.
    Namespace(NamespaceRecord),
    /// The stacks of a target.
    Stacks(StacksRecord),
    /// The default policy of a version.
    DefaultPolicy(DefaultPolicy),
    /// A page of the manual.
    Page(ManualPage),
}

/// An object of an output file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OutputObject {
    /// The cluster configuration of the workspace.
    pub target: String,
    /// The path of the file below the folder of the target.
    pub path: String,
    /// The identity, as it is written.
    pub object: ObjectIdentity,
    /// The policy that makes it.
    pub policy: Option<PolicyName>,
    /// The place in the policy, as `path:line:column`.
    pub place: String,
}

impl CommandResult for ExplainResult {
    const NAME: &'static str = "explain";
}

impl ExplainResult {
    /// Returns a subject with its paths, a role or a binding; none for an object that is not there.
    pub fn object(loaded: &LoadedWorld, name: &ObjectName, paths: &[EscalationPath]) -> Option<Self> {
        Some(match name {
            ObjectName::Subject(who) => Self::Subject(ExplainedSubject::new(loaded, who, paths)),
            ObjectName::Role(namespace, name) => Self::Role(ExplainedRole::new(loaded, namespace.as_deref(), name)?),
            ObjectName::Binding(namespace, name) => {
                Self::Binding(ExplainedBinding::new(loaded, namespace.as_deref(), name)?)
            }
        })
    }
}

/// Describes a subject with its paths, a role or a binding; none for an object that is not there.
pub fn object(loaded: &LoadedWorld, name: &ObjectName, paths: &[EscalationPath]) -> Option<String> {
    match name {
        ObjectName::Subject(who) => Some(subject(loaded, who, paths)),
        ObjectName::Role(namespace, name) => access::role(&loaded.world, namespace.as_deref(), name, &loaded.files),
        ObjectName::Binding(namespace, name) => {
            access::binding(&loaded.world, namespace.as_deref(), name, &loaded.files)
        }
    }
}

fn subject(loaded: &LoadedWorld, who: &Identity, paths: &[EscalationPath]) -> String {
    let chains = loaded.world.all_grants_of(who);
    let groups = who.groups.join(", ");
    let first_steps = loaded.world.escalation_paths(who);
    let mut page = Page::new();
    writeln!(page, "in the groups {groups}");
    page.append(&worlds::memberships(loaded, &who.user));
    page.append(&access::grants(&chains, &loaded.files));
    let paths = [risk::paths(&first_steps, &loaded.files), paths::text(paths, &loaded.files)].concat();
    if !paths.is_empty() {
        writeln!(page, "can become:");
    }
    page.append(&paths);
    let text = page.finish();
    let closing = representatives(loaded, &text);
    text + &closing
}

/// Names the namespaces of a text that stand for others.
fn representatives(loaded: &LoadedWorld, text: &str) -> String {
    let mut page = Page::new();
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let words: BTreeSet<&str> = text.split(|letter| !is_of_name(letter)).collect();
    for (namespace, count) in loaded.representatives().filter(|(namespace, _)| words.contains(namespace)) {
        let count = human::number(count, "namespace");
        writeln!(
            page,
            "{namespace} stands for {count} that differ in names and values of accounts alone; --all prints each"
        );
    }
    page.finish()
}

/// Lists the objects of an output file, one line each.
pub fn file(file: &ExplainedFile) -> String {
    let mut page = Page::new();
    for explained in &file.objects {
        let object = &explained.object;
        let namespace = object.namespace.as_ref().map_or_else(String::new, |name| format!("{name}/"));
        let kind = object.kind.as_deref().unwrap_or_default();
        let name = object.name.as_deref().unwrap_or_default();
        let policy = explained.policy.as_ref();
        let policy = policy.map_or_else(String::new, |policy| format!("{} {} ", policy.kind, policy.name));
        writeln!(page, "{kind} {namespace}{name} <- {policy}({})", explained.place);
    }
    page.finish()
}

/// Returns the objects of an output file.
pub fn file_objects(file: &ExplainedFile) -> Vec<ExplainResult> {
    let object = |explained: &bailiwick_analysis::ExplainedObject| {
        ExplainResult::Object(OutputObject {
            target: file.target.clone(),
            path: file.path.clone(),
            object: explained.object.clone(),
            policy: explained.policy.clone(),
            place: explained.place.clone(),
        })
    };
    file.objects.iter().map(object).collect()
}

/// Describes how the file in the output folder differs; none if it does not.
pub fn state(file: &ExplainedFile) -> Option<&'static str> {
    match file.state {
        FileState::Same => None,
        FileState::Missing => Some("is not there yet; `bailiwick render` writes it"),
        FileState::Different => Some("has other content than this; `bailiwick diff` shows the difference"),
    }
}

/// Returns a default policy as manifests.
pub fn default_policy(policy: &DefaultPolicy) -> String {
    let mut text = format!("# What the API server of Kubernetes 1.{} makes for itself.\n", policy.minor);
    for (index, object) in policy.objects.iter().enumerate() {
        if index > 0 {
            text.push_str("---\n");
        }
        let tree = yaml::from_json(object);
        if let Some(root) = tree.document(0) {
            yaml::write::document(root, &mut text);
        }
    }
    text
}
