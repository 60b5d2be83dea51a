//! One future object.

use std::collections::BTreeSet;
use std::sync::Arc;

use bailiwick_yaml::diag::Origin;

use super::texts::shared_text;
use super::{Account, Blueprint, Data, Fill, Pattern, Target, TemplateName, UnitSource};

/// apiVersion and kind of an object, and whether it lives in a namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeMeta {
    /// Such as `rbac.authorization.k8s.io/v1`.
    pub api_version: Arc<str>,
    /// Such as `RoleBinding`.
    pub kind: Arc<str>,
}

impl TypeMeta {
    /// Creates a type from its API version and kind.
    pub fn new(api_version: &str, kind: &str) -> Self {
        Self { api_version: shared_text(api_version), kind: shared_text(kind) }
    }

    /// Returns the API group; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }
}

/// The identity of an object. A template cannot change it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// apiVersion and kind.
    pub object_type: TypeMeta,
    /// The namespace; none for cluster-scoped kinds.
    pub namespace: Option<Arc<str>>,
    /// `metadata.name`.
    pub name: Arc<str>,
}

impl std::fmt::Display for ObjectId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(formatter, "{} {}/{}", self.object_type.kind, namespace, self.name),
            None => write!(formatter, "{} {}", self.object_type.kind, self.name),
        }
    }
}

/// The output file of an object: a file holds one unit of ownership.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OutputFileKey {
    /// `cluster/<kind>.yaml`.
    Cluster,
    /// `namespaces/<namespace>.yaml`, also for cluster-scoped objects of one tenant.
    Namespace(Arc<str>),
}

impl OutputFileKey {
    /// Returns the namespace of the file; none for the files of cluster-scoped objects.
    pub fn namespace(&self) -> Option<&Arc<str>> {
        match self {
            Self::Cluster => None,
            Self::Namespace(name) => Some(name),
        }
    }
}

/// One future object: its identity, and the data for its template.
#[derive(Debug, Clone)]
pub struct Unit {
    /// The identity of the object.
    pub identity: ObjectId,
    /// The template, such as `grant/rolebinding.yaml.j2`.
    pub template: TemplateName,
    /// The data for the template.
    pub data: Data,
    /// The policy value that requests the object.
    pub origin: Origin,
    /// The policy value with the content; differs from `origin` if a policy uses another one.
    pub content: Origin,
    /// The row of the account it was made for.
    pub account: Option<Origin>,
    /// Whether a Namespace gets no computed Pod Security label.
    pub without_levels: bool,
    /// The origin of the values of its template.
    pub source: UnitSource,
}

impl Unit {
    /// Whether the object comes unchanged from a manifest.
    pub fn is_brought_in(&self) -> bool {
        !self.template.is_own() && self.template.starts_with("manifests/")
    }
}

/// A unit with variables in its texts: the result of linking a policy.
#[derive(Debug, Clone)]
pub struct ObjectBlueprint {
    /// apiVersion and kind.
    pub object_type: TypeMeta,
    /// The template, such as `grant/rolebinding.yaml.j2`.
    pub template: TemplateName,
    /// `metadata.name`.
    pub name: Pattern,
    /// The data for the template beside name, namespace, labels and annotations.
    pub fields: Vec<(Arc<str>, Blueprint)>,
    /// A field overridden by a map variable of an account, with the name of the variable.
    pub overridden: Option<(&'static str, String)>,
    /// A field with a list; without an item in the list, there is no object.
    pub needed: Option<&'static str>,
    /// The names of the targets with the object; none for all targets of its policy.
    pub targets: Option<Arc<BTreeSet<String>>>,
    /// Whether a Namespace gets no computed Pod Security label.
    pub without_levels: bool,
    /// The policy value that requests the object.
    pub origin: Origin,
    /// The policy value with the content.
    pub content: Origin,
}

impl ObjectBlueprint {
    /// Creates a blueprint without fields.
    pub fn new(
        api_version: &str,
        kind: &str,
        template: impl Into<TemplateName>,
        name: Pattern,
        origin: Origin,
    ) -> Self {
        Self {
            object_type: TypeMeta::new(api_version, kind),
            template: template.into(),
            name,
            fields: Vec::new(),
            overridden: None,
            needed: None,
            targets: None,
            without_levels: false,
            origin,
            content: origin,
        }
    }

    /// Names a field with a list; without an item in the list, there is no object.
    #[must_use]
    pub fn needing(self, field: &'static str) -> Self {
        Self { needed: Some(field), ..self }
    }

    /// Limits the object to some targets; none for all targets of its policy.
    #[must_use]
    pub fn only_on(self, targets: Option<Arc<BTreeSet<String>>>) -> Self {
        Self { targets, ..self }
    }

    /// Makes items of lists that name a list variable items for each of its elements.
    #[must_use]
    pub fn spreading(mut self, lists: &BTreeSet<String>) -> Self {
        if !lists.is_empty() {
            self.fields = self.fields.into_iter().map(|(name, value)| (name, value.spreading(lists))).collect();
        }
        self
    }

    /// Adds a field.
    #[must_use]
    pub fn with(mut self, name: &str, value: Blueprint) -> Self {
        self.fields.push((shared_text(name), value));
        self
    }

    /// Sets the location of the content to another policy.
    #[must_use]
    pub fn content_at(mut self, content: Origin) -> Self {
        self.content = content;
        self
    }

    /// Frees the spare memory of a list: a large workspace has a hundred thousand short lists.
    pub fn shrink(objects: &mut Vec<Self>) {
        objects.iter_mut().for_each(|object| object.fields.shrink_to_fit());
        objects.shrink_to_fit();
    }

    /// Copies the blueprint without shared parts, see [`super::TenancyPolicy::detached`].
    #[must_use]
    pub fn detached(&self) -> Self {
        let TypeMeta { api_version, kind } = &self.object_type;
        let object_type = TypeMeta { api_version: Arc::from(&**api_version), kind: Arc::from(&**kind) };
        let fields = self.fields.iter().map(|(name, value)| (Arc::from(&**name), value.detached())).collect();
        let (name, template) = (self.name.detached(), self.template.detached());
        Self { object_type, name, fields, template, ..self.clone() }
    }

    /// Whether a text needs an account.
    pub fn needs_account(&self) -> bool {
        self.name.needs_account() || self.fields.iter().any(|(_, value)| value.needs_account())
    }

    /// Returns a field with its variables filled in; null for a missing field.
    pub fn fill_field(&self, name: &str, from: Fill<'_>) -> Data {
        let field = self.fields.iter().find(|(known, _)| &**known == name);
        field.map_or(Data::Null, |(_, value)| value.fill(from))
    }

    /// Returns the name of the cluster-scoped object of an account.
    pub fn name_for(&self, target: &Target, account: Account<'_>) -> Arc<str> {
        self.name.fill(Fill::from_account(target, account))
    }

    /// Builds the unit for a target, an account and a namespace; without a namespace it is cluster-scoped.
    pub fn fill(&self, target: &Target, account: Option<Account<'_>>, namespace: Option<&Arc<str>>) -> Unit {
        self.fill_from(Fill { account, namespace, ..Fill::from_target(target) })
    }

    /// Builds the unit, unless it is for other targets or a list that it needs is empty.
    pub fn fill_existing(&self, from: Fill<'_>) -> Option<Unit> {
        if self.targets.as_ref().is_some_and(|targets| !targets.contains(&from.target.name)) {
            return None;
        }
        let unit = self.fill_from(from);
        let is_lost = self.needed.is_some_and(|field| unit.data.get(field).is_none_or(Data::is_empty));
        (!is_lost).then_some(unit)
    }

    /// Builds the unit from some values.
    pub fn fill_from(&self, from: Fill<'_>) -> Unit {
        let Fill { account, namespace, .. } = from;
        let name = self.name.fill(from);
        let mut entries: Vec<(Arc<str>, Data)> = Vec::with_capacity(self.fields.len() + 4);
        let namespace_data = namespace.map_or(Data::Null, |namespace| Data::Str(Arc::clone(namespace)));
        METADATA.with(|[name_field, namespace_field, optional @ ..]| {
            entries.push((Arc::clone(name_field), Data::Str(Arc::clone(&name))));
            entries.push((Arc::clone(namespace_field), namespace_data));
            let missing = optional.iter().filter(|field| !self.fields.iter().any(|(known, _)| known == *field));
            entries.extend(missing.map(|field| (Arc::clone(field), Data::Null)));
        });
        for (field, value) in &self.fields {
            let mut data = value.fill(from);
            if let Some((overridden, variable)) = &self.overridden
                && **field == **overridden
                && let Some(over) = account.and_then(|account| account.get(variable))
            {
                data = data.merged_with(&over.to_data());
            }
            entries.push((Arc::clone(field), data));
        }
        Unit {
            identity: ObjectId { object_type: self.object_type.clone(), namespace: namespace.cloned(), name },
            template: self.template.clone(),
            data: Data::Map(entries.into()),
            origin: self.origin,
            content: self.content,
            account: account.map(Account::origin),
            without_levels: self.without_levels,
            source: UnitSource { loops: from.loops(true), ..UnitSource::default() },
        }
    }
}

thread_local! {
    /// The fields available to every template, interned once per thread.
    static METADATA: [Arc<str>; 4] = ["name", "namespace", "labels", "annotations"].map(Arc::from);
}
