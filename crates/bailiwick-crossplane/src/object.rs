//! The objects of a stack, as plain data.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use bailiwick_kubernetes::rbac::{GROUP, PolicyRule};

/// Labels of an object or of a selector.
pub type ObjectLabels = BTreeMap<String, String>;

/// An object created by a manager of packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageObject {
    /// The namespace; none for cluster-scoped kinds.
    pub namespace: Option<String>,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.labels`.
    pub labels: ObjectLabels,
    /// The kind with its data.
    pub content: ObjectContent,
}

/// The kind of an object, with its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectContent {
    /// A ServiceAccount: the account of a stack's controller.
    ServiceAccount,
    /// A Role, or a ClusterRole without a namespace.
    Role(Vec<PolicyRule>),
    /// A ClusterRole with rules aggregated by the cluster from the roles of any of the selectors.
    Gathered(Vec<ObjectLabels>),
    /// A RoleBinding, or a ClusterRoleBinding without a namespace.
    Binding {
        /// `Role` or `ClusterRole`.
        kind: &'static str,
        /// The role's name.
        role: String,
        /// Namespace and name of the bound service accounts.
        accounts: Vec<ServiceAccountName>,
    },
}

/// The identity of an account of pods.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceAccountName {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`, unique in the namespace.
    pub name: String,
}

impl PackageObject {
    /// Returns a service account.
    pub fn account(account: &ServiceAccountName) -> Self {
        let namespace = Some(account.namespace.clone());
        Self {
            namespace,
            name: account.name.clone(),
            labels: ObjectLabels::new(),
            content: ObjectContent::ServiceAccount,
        }
    }

    /// Returns a role; a ClusterRole without a namespace.
    pub fn role(namespace: Option<&str>, name: impl Into<String>, rules: Vec<PolicyRule>) -> Self {
        let namespace = namespace.map(str::to_owned);
        Self { namespace, name: name.into(), labels: ObjectLabels::new(), content: ObjectContent::Role(rules) }
    }

    /// Returns a binding of a role; a ClusterRoleBinding without a namespace.
    pub fn binding(
        namespace: Option<&str>,
        name: impl Into<String>,
        kind: &'static str,
        role: impl Into<String>,
        accounts: Vec<ServiceAccountName>,
    ) -> Self {
        let content = ObjectContent::Binding { kind, role: role.into(), accounts };
        Self { namespace: namespace.map(str::to_owned), name: name.into(), labels: ObjectLabels::new(), content }
    }

    /// Adds labels to the object.
    #[must_use]
    pub fn labelled(mut self, labels: ObjectLabels) -> Self {
        self.labels = labels;
        self
    }

    /// Returns the API version in the manifest.
    pub fn api_version(&self) -> &'static str {
        match self.content {
            ObjectContent::ServiceAccount => "v1",
            _ => "rbac.authorization.k8s.io/v1",
        }
    }

    /// Returns the API group.
    pub fn group(&self) -> &'static str {
        match self.content {
            ObjectContent::ServiceAccount => "",
            _ => GROUP,
        }
    }

    /// Returns the kind in the manifest.
    pub fn kind(&self) -> &'static str {
        match (&self.content, &self.namespace) {
            (ObjectContent::ServiceAccount, _) => "ServiceAccount",
            (ObjectContent::Role(_) | ObjectContent::Gathered(_), Some(_)) => "Role",
            (ObjectContent::Role(_) | ObjectContent::Gathered(_), None) => "ClusterRole",
            (ObjectContent::Binding { .. }, Some(_)) => "RoleBinding",
            (ObjectContent::Binding { .. }, None) => "ClusterRoleBinding",
        }
    }

    /// Returns the resource of the kind.
    pub fn resource(&self) -> &'static str {
        match self.kind() {
            "ServiceAccount" => "serviceaccounts",
            "Role" => "roles",
            "ClusterRole" => "clusterroles",
            "RoleBinding" => "rolebindings",
            _ => "clusterrolebindings",
        }
    }

    /// Returns the rules of a role.
    pub fn rules(&self) -> &[PolicyRule] {
        match &self.content {
            ObjectContent::Role(rules) => rules,
            _ => &[],
        }
    }

    /// Returns the object as a manifest.
    pub fn to_json(&self) -> Value {
        let mut metadata = Map::new();
        metadata.insert("name".to_owned(), json!(self.name));
        metadata.extend(self.namespace.iter().map(|namespace| ("namespace".to_owned(), json!(namespace))));
        if !self.labels.is_empty() {
            metadata.insert("labels".to_owned(), json!(self.labels));
        }
        let mut object = json!({ "apiVersion": self.api_version(), "kind": self.kind(), "metadata": metadata });
        let fields = match &self.content {
            ObjectContent::ServiceAccount => json!({}),
            ObjectContent::Role(rules) => json!({ "rules": rules }),
            ObjectContent::Gathered(selectors) => {
                json!({ "aggregationRule": aggregation_rule(selectors), "rules": [] })
            }
            ObjectContent::Binding { kind, role, accounts } => {
                json!({ "roleRef": role_ref(kind, role), "subjects": subjects(accounts) })
            }
        };
        if let (Some(object), Value::Object(fields)) = (object.as_object_mut(), fields) {
            object.extend(fields);
        }
        object
    }
}

/// Returns the `aggregationRule` of selectors.
pub fn aggregation_rule(selectors: &[ObjectLabels]) -> Value {
    let selectors: Vec<Value> = selectors.iter().map(|labels| json!({ "matchLabels": labels })).collect();
    json!({ "clusterRoleSelectors": selectors })
}

/// Returns the `roleRef` of a binding.
pub fn role_ref(kind: &str, role: &str) -> Value {
    json!({ "apiGroup": GROUP, "kind": kind, "name": role })
}

/// Returns the `subjects` of a binding.
pub fn subjects(accounts: &[ServiceAccountName]) -> Value {
    let subject = |account: &ServiceAccountName| json!({ "kind": "ServiceAccount", "name": account.name, "namespace": account.namespace });
    accounts.iter().map(subject).collect()
}

/// Returns a rule without names.
pub fn rule(groups: &[&str], resources: Vec<String>, verbs: Vec<String>) -> PolicyRule {
    PolicyRule {
        api_groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        resources,
        verbs,
        ..PolicyRule::default()
    }
}

/// Words as a list of texts.
pub fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
