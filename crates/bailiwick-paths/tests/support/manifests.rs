//! Manifests from short texts.

use std::fmt::Write;

/// Manifests of a cluster.
#[derive(Debug, Clone, Default)]
pub(crate) struct Manifests {
    text: String,
    count: usize,
}

impl Manifests {
    /// Adds an object.
    pub(crate) fn object(mut self, yaml: &str) -> Self {
        write!(self.text, "---\n{yaml}\n").expect("a text");
        self
    }

    /// Adds a role with a binding for a subject, in a namespace or cluster-wide. The rules are texts such as
    /// `create pods` or `get,list secrets named a; update nodes`. The role is called `r1`, `r2` and so on.
    pub(crate) fn grant(self, subject: &str, namespace: &str, rules: &str) -> Self {
        let kind = if namespace.is_empty() { "ClusterRole" } else { "Role" };
        let name = format!("r{}", self.count + 1);
        self.role(namespace, &name, rules).bind(subject, namespace, kind, &name)
    }

    /// Adds a role.
    pub(crate) fn role(self, namespace: &str, name: &str, rules: &str) -> Self {
        let (kind, place) = if namespace.is_empty() {
            ("ClusterRole", String::new())
        } else {
            ("Role", format!(", namespace: {namespace}"))
        };
        let rules: Vec<String> = rules.split("; ").filter(|rule| !rule.is_empty()).map(rule).collect();
        self.object(&format!(
            "{{apiVersion: rbac.authorization.k8s.io/v1, kind: {kind}, metadata: {{name: {name}{place}}}, rules: [{}]}}",
            rules.join(", ")
        ))
    }

    /// Adds a binding of a role.
    pub(crate) fn bind(mut self, subject: &str, namespace: &str, kind: &str, role: &str) -> Self {
        self.count += 1;
        let (binding, place) = if namespace.is_empty() {
            ("ClusterRoleBinding", String::new())
        } else {
            ("RoleBinding", format!(", namespace: {namespace}"))
        };
        let subject = match subject.split('/').collect::<Vec<_>>()[..] {
            ["ServiceAccount", namespace, name] => {
                format!("{{kind: ServiceAccount, name: {name}, namespace: {namespace}}}")
            }
            [kind, name] => format!("{{kind: {kind}, apiGroup: rbac.authorization.k8s.io, name: \"{name}\"}}"),
            _ => panic!("a subject: {subject}"),
        };
        let count = self.count;
        self.object(&format!(
            "{{apiVersion: rbac.authorization.k8s.io/v1, kind: {binding}, metadata: {{name: b{count}{place}}}, \
             roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: {kind}, name: \"{role}\"}}, subjects: [{subject}]}}"
        ))
    }

    /// Adds a Namespace with labels such as `a: b`.
    pub(crate) fn namespace(self, name: &str, labels: &str) -> Self {
        self.object(&format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}, labels: {{{labels}}}}}}}"))
    }

    /// Adds a service account.
    pub(crate) fn account(self, namespace: &str, name: &str) -> Self {
        self.object(&format!(
            "{{apiVersion: v1, kind: ServiceAccount, metadata: {{name: {name}, namespace: {namespace}}}}}"
        ))
    }

    /// Adds a pod, on a node where it is not empty.
    pub(crate) fn pod(self, namespace: &str, name: &str, account: &str, node: &str) -> Self {
        let node = if node.is_empty() { String::new() } else { format!(", nodeName: {node}") };
        self.object(&format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: {namespace}}}, \
             spec: {{serviceAccountName: {account}{node}, containers: [{{name: a, image: a}}]}}}}"
        ))
    }

    /// Adds a workload of the group `apps`.
    pub(crate) fn workload(self, kind: &str, namespace: &str, name: &str, account: &str) -> Self {
        self.object(&format!(
            "{{apiVersion: apps/v1, kind: {kind}, metadata: {{name: {name}, namespace: {namespace}}}, spec: {{template: \
             {{spec: {{serviceAccountName: {account}, containers: [{{name: a, image: a}}]}}}}}}}}"
        ))
    }

    /// Returns the text of the manifests.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// Returns a rule as YAML, from a text such as `get,list secrets,deployments.apps named a,b`.
fn rule(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let (verbs, resources, names) = match words[..] {
        [verbs, resources] => (verbs, resources, ""),
        [verbs, resources, "named", names] => (verbs, resources, names),
        _ => panic!("a rule: {text}"),
    };
    let quoted = |list: Vec<String>| list.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
    let words = |list: &str| list.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let split = |resource: &String| match resource.split_once('.') {
        Some((name, group)) => (name.to_owned(), group.replace("rbac", "rbac.authorization.k8s.io")),
        None => (resource.clone(), String::new()),
    };
    let mut groups: Vec<String> = words(resources).iter().map(|resource| split(resource).1).collect();
    groups.dedup();
    let resources = words(resources).iter().map(|resource| split(resource).0).collect();
    format!(
        "{{apiGroups: [{}], resources: [{}], verbs: [{}], resourceNames: [{}]}}",
        quoted(groups),
        quoted(resources),
        quoted(words(verbs)),
        quoted(words(names))
    )
}
