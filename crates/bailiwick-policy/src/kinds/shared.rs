//! Common parts of several kinds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_kubernetes::size::{self, MAXIMUM_APPLIED};
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{
    Blueprint, Category, Data, Date, DateError, Fill, Mention, NAMESPACE_NAME, OWN_NAMESPACE, ObjectBlueprint, Pattern,
    Target, Tested, Variables,
};

/// Labels or annotations.
pub(crate) type StringMap = BTreeMap<String, String>;

/// The RBAC API version of everything emitted.
pub(crate) const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// Subjects: users and groups by name, service accounts by name and namespace.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Subjects {
    /// User names, exactly as the authenticator gives them.
    #[serde(default)]
    pub users: Vec<Spanned<String>>,
    /// Group names.
    #[serde(default)]
    pub groups: Vec<Spanned<String>>,
    /// ServiceAccounts by namespace and name.
    #[serde(default)]
    pub service_accounts: Vec<ServiceAccountRef>,
}

/// A service account by its name.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ServiceAccountRef {
    /// The name of the ServiceAccount, a DNS subdomain such as `deployer`.
    pub name: Spanned<String>,
    /// Its namespace. Default: the namespace of the binding.
    #[serde(default)]
    pub namespace: Option<Spanned<String>>,
    /// True when the account is to be created here too.
    #[serde(default)]
    pub create: bool,
    /// Labels of the created account.
    #[serde(default)]
    pub labels: StringMap,
    /// Annotations of the created account, such as the identity of a cloud.
    #[serde(default)]
    pub annotations: StringMap,
    /// The names of Secrets of the created account for registries.
    #[serde(default)]
    pub image_pull_secrets: Vec<Spanned<String>>,
    /// Whether pods get a token of the created account.
    #[serde(default)]
    pub automount_service_account_token: Option<bool>,
}

/// A ServiceAccount of a namespace.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ServiceAccountSpec {
    /// The object's name.
    pub name: Spanned<String>,
    /// Labels of the object.
    #[serde(default)]
    pub labels: StringMap,
    /// Annotations of the object, such as the identity of a cloud.
    #[serde(default)]
    pub annotations: StringMap,
    /// The names of Secrets with the credentials of registries.
    #[serde(default)]
    pub image_pull_secrets: Vec<Spanned<String>>,
    /// Whether pods get a token of the account. Default: the cluster mounts it.
    #[serde(default)]
    pub automount_service_account_token: Option<bool>,
    /// A loop over the elements of a list variable: `{stage: stages}`. Only in a Tenancy.
    #[serde(default, rename = "for")]
    pub each: Option<Spanned<BTreeMap<String, String>>>,
    /// The condition of the item, in CEL. Only in a Tenancy.
    #[serde(default)]
    pub when: Option<Spanned<String>>,
}

impl ServiceAccountSpec {
    pub(crate) fn blueprint(&self, template: &'static str, origin: Origin) -> ObjectBlueprint {
        let secrets = self.image_pull_secrets.iter().map(|name| BTreeMap::from([("name", name.value.as_str())]));
        let secrets: Vec<BTreeMap<&str, &str>> = secrets.collect();
        let object = ObjectBlueprint::new("v1", "ServiceAccount", template, Pattern::parse_checked(&self.name), origin);
        with_metadata(object, &self.labels, &self.annotations)
            .with("imagePullSecrets", Blueprint::from_value(&secrets).of_items_with("name"))
            .with("automountServiceAccountToken", Blueprint::from_value(&self.automount_service_account_token))
    }
}

impl ServiceAccountRef {
    /// Returns the account to create.
    pub(crate) fn created(&self) -> ServiceAccountSpec {
        ServiceAccountSpec {
            name: self.name.clone(),
            labels: self.labels.clone(),
            annotations: self.annotations.clone(),
            image_pull_secrets: self.image_pull_secrets.clone(),
            automount_service_account_token: self.automount_service_account_token,
            each: None,
            when: None,
        }
    }

    /// Whether it has fields of an account to create.
    fn has_content(&self) -> bool {
        !self.labels.is_empty()
            || !self.annotations.is_empty()
            || !self.image_pull_secrets.is_empty()
            || self.automount_service_account_token.is_some()
    }
}

/// Reports fields of accounts that are not created.
pub(crate) fn refuse_content<'a>(accounts: impl Iterator<Item = &'a ServiceAccountRef>, help: &str, sink: &mut Sink) {
    for ServiceAccountRef { name, .. } in accounts.filter(|account| account.has_content()) {
        let message =
            format!("the service account `{}` is not created here, and its fields have no effect", name.value);
        sink.push(Diagnostic::error(codes::INVALID_VALUE, message).at(name.origin).help(help));
    }
}

/// Sets the labels and annotations of an object, if there are any.
pub(crate) fn with_metadata(
    mut object: ObjectBlueprint,
    labels: &StringMap,
    annotations: &StringMap,
) -> ObjectBlueprint {
    let fields = [("labels", labels), ("annotations", annotations)];
    for (name, entries) in fields.into_iter().filter(|(_, entries)| !entries.is_empty()) {
        object.fields.retain(|(known, _)| &**known != name);
        object = object.with(name, Blueprint::from_value(entries));
    }
    object
}

impl Subjects {
    /// Whether there is no subject.
    pub(crate) fn is_empty(&self) -> bool {
        self.users.is_empty() && self.groups.is_empty() && self.service_accounts.is_empty()
    }

    /// Returns the names of subjects, with the namespaces of service accounts; `read` parses their texts.
    pub(crate) fn mentions(&self, read: fn(&str) -> Pattern) -> Vec<Mention> {
        let namespaces = self.service_accounts.iter().filter_map(|account| account.namespace.as_ref());
        let users = self.users.iter().map(|name| mention(Category::Users, name, read));
        let groups = self.groups.iter().map(|name| mention(Category::Groups, name, read));
        users.chain(groups).chain(namespaces.map(|name| mention(Category::Namespaces, name, read))).collect()
    }

    /// Returns every text of a subject.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Spanned<String>> {
        self.users.iter().chain(&self.groups).chain(self.account_names())
    }

    /// Returns the names and namespaces of the service accounts.
    pub(crate) fn account_names(&self) -> impl Iterator<Item = &Spanned<String>> {
        let accounts = self.service_accounts.iter();
        accounts.flat_map(|account| std::iter::once(&account.name).chain(&account.namespace))
    }

    /// Returns the subjects as a request names them.
    pub(crate) fn user_names(&self) -> Vec<Tested> {
        let users = self.users.iter().map(|name| Tested::User(name.value.clone()));
        let groups = self.groups.iter().map(|name| Tested::Group(name.value.clone()));
        let accounts = self.service_accounts.iter().map(|account| {
            let namespace = account.namespace.as_ref().map_or("", |namespace| namespace.value.as_str());
            Tested::User(format!("system:serviceaccount:{namespace}:{}", account.name.value))
        });
        users.chain(groups).chain(accounts).collect()
    }

    /// Builds the subjects of a binding, sorted by kind, namespace and name; with `local`, the namespace of the binding
    /// is the default for service accounts.
    pub(crate) fn blueprint(&self, local: bool) -> Blueprint {
        Blueprint::from_value(&self.sorted(local)).of_items_with("name")
    }

    /// Builds the subjects in one list per binding. The split depends on the subjects alone, so equal lists have equal
    /// parts.
    pub(crate) fn blueprints(&self, local: bool, targets: &[Target]) -> Vec<Blueprint> {
        let mut parts: Vec<Vec<Subject>> = Vec::new();
        let mut size = 0;
        for subject in self.sorted(local) {
            let own = targets.iter().map(|target| subject.size(target)).max().unwrap_or_default();
            size += own;
            match parts.last_mut() {
                Some(part) if size <= MAXIMUM_APPLIED => part.push(subject),
                _ => {
                    size = own;
                    parts.push(vec![subject]);
                }
            }
        }
        parts.iter().map(|part| Blueprint::from_value(part).of_items_with("name")).collect()
    }

    fn sorted(&self, local: bool) -> Vec<Subject> {
        let own_namespace = local.then(|| format!("{{{OWN_NAMESPACE}}}"));
        let group = Some("rbac.authorization.k8s.io");
        let plain = |kind, name: &Spanned<String>| Subject {
            api_group: group,
            kind,
            name: name.value.clone(),
            namespace: None,
        };
        let mut subjects: Vec<Subject> = self.groups.iter().map(|name| plain("Group", name)).collect();
        subjects.extend(self.users.iter().map(|name| plain("User", name)));
        subjects.extend(self.service_accounts.iter().map(|account| Subject {
            api_group: None,
            kind: "ServiceAccount",
            name: account.name.value.clone(),
            namespace: account.namespace.as_ref().map(|own| own.value.clone()).or(own_namespace.clone()),
        }));
        subjects.sort();
        subjects.dedup();
        // Users before accounts, as maintain-kubeusers wrote them; the order of a list is part of its bytes.
        subjects.sort_by_key(|subject| match subject.kind {
            "User" => 0,
            "Group" => 1,
            _ => 2,
        });
        subjects
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
struct Subject {
    #[serde(skip_serializing_if = "Option::is_none")]
    api_group: Option<&'static str>,
    kind: &'static str,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
}

impl Subject {
    /// Returns its size in an annotation: the length of its JSON with escaped quotes.
    fn size(&self, target: &Target) -> usize {
        let namespace = Arc::from("n".repeat(63));
        let from = Fill::from_target(target).in_namespace(&namespace);
        let fill = |text: &String| Pattern::parse_checked(text).fill(from).to_string();
        let filled = Self { name: fill(&self.name), namespace: self.namespace.as_ref().map(fill), ..self.clone() };
        // One byte for the following comma.
        1 + size::applied(&filled)
    }
}

/// Returns the diagnostic for a required name that an absent variable would leave out.
pub(crate) fn left_out(name: &Spanned<String>, variable: &str, help: String) -> Diagnostic {
    let message = format!("this text is required, but `{{{variable}?}}` leaves it out");
    Diagnostic::error(codes::OPTIONAL_IN_REQUIRED, message).at(name.origin).help(help)
}

/// Reports a name of a namespace that names itself.
pub(crate) fn refuse_own_name(name: &Spanned<String>, help: &str, sink: &mut Sink) {
    if Pattern::parse_checked(name).variables().any(|variable| variable == NAMESPACE_NAME) {
        let message = format!("the name of a namespace cannot contain `{{{NAMESPACE_NAME}}}`");
        sink.push(Diagnostic::error(codes::UNKNOWN_VARIABLE, message).at(name.origin).help(help));
    }
}

/// Returns the mention of a name; `read` parses its text.
pub(crate) fn mention(category: Category, name: &Spanned<String>, read: fn(&str) -> Pattern) -> Mention {
    Mention { category, text: read(name), origin: name.origin, repeated: Vec::new() }
}

/// Warns of subjects and names changed by a variable without a value. `variables` are the columns of accounts, if any.
pub(crate) fn warn_of_empty<'n>(
    names: impl IntoIterator<Item = &'n Spanned<String>>,
    targets: &[Target],
    variables: Option<&Variables>,
    sink: &mut Sink,
) {
    for name in names {
        let pattern = Pattern::parse_checked(name);
        for variable in pattern.unconditional_variables() {
            let is_optional = variables.and_then(|known| known.get(variable)).is_some_and(|known| known.optional);
            let is_empty = |target: &&Target| {
                let value = variable.strip_prefix("target.").and_then(|own| target.variable(own));
                value.is_some_and(|value| value == Data::text(""))
            };
            let (message, help) = if is_optional {
                let message = format!("this name is incomplete for an account without `{variable}`");
                (message, format!("declare `{variable}` without `optional`, so that every account has one"))
            } else if let Some(target) = targets.iter().find(is_empty) {
                let message = format!("`{variable}` is empty on the target `{}`, and this name has a gap", target.name);
                (message, "set a value for the variable, or exclude the target with `targets`".to_owned())
            } else {
                continue;
            };
            sink.push(Diagnostic::warning(codes::OPTIONAL_MAY_BE_EMPTY, message).at(name.origin).help(help));
        }
    }
}

/// The annotation with the approvers of a grant.
const APPROVED_BY: &str = "bailiwick.dev/approved-by";

/// The terms of a grant: its owner, its purpose, its last day and its approvers, as annotations of its bindings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms<'t> {
    pub(crate) owner: Option<&'t Spanned<String>>,
    pub(crate) reason: Option<&'t Spanned<String>>,
    pub(crate) expires: Option<&'t Spanned<String>>,
    pub(crate) approved_by: &'t [Spanned<String>],
    /// The other annotations of the bindings.
    pub(crate) annotations: &'t StringMap,
}

impl<'t> Terms<'t> {
    /// Reports empty terms, and terms with two values.
    pub(crate) fn check(self, sink: &mut Sink) {
        let is_blank = |value: &&Spanned<String>| value.trim().is_empty();
        for value in self.notes().map(|(_, value)| value).chain(self.approved_by).filter(is_blank) {
            sink.push(
                Diagnostic::error(codes::INVALID_VALUE, "this text is empty")
                    .at(value.origin)
                    .help("write a text, or remove the field"),
            );
        }
        let approvers = self.approved_by.first().map(|name| (APPROVED_BY, name));
        for (key, value) in self.notes().chain(approvers) {
            if self.annotations.contains_key(key) {
                sink.push(
                    Diagnostic::error(codes::INVALID_VALUE, format!("the annotation `{key}` has two values"))
                        .at(value.origin)
                        .help("remove it under `annotations`"),
                );
            }
        }
        self.check_approvers(sink);
        let is_no_date = |day: &&Spanned<String>| !day.contains('{') && day.parse::<Date>().is_err();
        if let Some(expires) = self.expires.filter(is_no_date) {
            sink.push(
                Diagnostic::error(codes::INVALID_VALUE, format!("`{}` is not a date", expires.value))
                    .at(expires.origin)
                    .help(DateError.to_string()),
            );
        }
    }

    /// Reports approvers that cannot be joined to one text.
    fn check_approvers(self, sink: &mut Sink) {
        for name in self.approved_by.iter().filter(|name| name.contains(',')) {
            let message = format!("the approver `{}` contains a comma", name.value);
            let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(name.origin);
            sink.push(diagnostic.help("write one approver per item: commas join the approvers in the annotation"));
        }
        for name in self.approved_by.iter().filter(|_| self.approved_by.len() > 1) {
            if let Some(variable) = Pattern::parse_checked(name).deciding_variables().next() {
                let message = format!("`{{{variable}?}}` would leave out the other approvers");
                let diagnostic = Diagnostic::error(codes::OPTIONAL_IN_REQUIRED, message).at(name.origin);
                sink.push(diagnostic.help("write `?` only for a single approver"));
            }
        }
    }

    /// Returns the annotations of the bindings.
    pub(crate) fn all_annotations(self) -> StringMap {
        let mut annotations = self.annotations.clone();
        annotations.extend(self.notes().map(|(key, value)| (key.to_owned(), value.value.clone())));
        let approvers: BTreeSet<&str> = self.approved_by.iter().map(|name| name.value.as_str()).collect();
        if !approvers.is_empty() {
            let approvers: Vec<&str> = approvers.into_iter().collect();
            annotations.insert(APPROVED_BY.to_owned(), approvers.join(","));
        }
        annotations
    }

    /// Returns the terms with one text by annotation.
    fn notes(self) -> impl Iterator<Item = (&'static str, &'t Spanned<String>)> {
        let notes = [
            ("bailiwick.dev/expires", self.expires),
            ("bailiwick.dev/owner", self.owner),
            ("bailiwick.dev/reason", self.reason),
        ];
        notes.into_iter().filter_map(|(key, value)| Some((key, value?)))
    }
}

/// A binding's `roleRef`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RoleRef {
    pub(crate) api_group: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) name: String,
}

impl RoleRef {
    pub(crate) fn new(kind: &'static str, name: &str) -> Self {
        Self { api_group: "rbac.authorization.k8s.io", kind, name: name.to_owned() }
    }
}

/// The `hard` limits of a ResourceQuota.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct QuotaSpec {
    /// The object's name.
    pub name: Spanned<String>,
    /// Limits by resource name: quantities such as `"2"`, `6Gi`, `500m`.
    pub hard: BTreeMap<String, QuantityValue>,
    /// Scopes of the pods to count, such as `BestEffort` and `NotTerminating`.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The name of a map variable; its entries replace entries of `hard`. Only in a Tenancy.
    #[serde(default)]
    pub overrides: Option<Spanned<String>>,
    /// Labels of the object.
    #[serde(default)]
    pub labels: StringMap,
    /// Annotations of the object.
    #[serde(default)]
    pub annotations: StringMap,
    /// A loop over the elements of a list variable: `{stage: stages}`. Only in a Tenancy.
    #[serde(default, rename = "for")]
    pub each: Option<Spanned<BTreeMap<String, String>>>,
    /// The condition of the item, in CEL. Only in a Tenancy.
    #[serde(default)]
    pub when: Option<Spanned<String>>,
}

/// A quantity, written as a number or as text.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub enum QuantityValue {
    /// A whole number.
    Number(i64),
    /// Text such as `500m`.
    Text(String),
}

impl JsonSchema for QuantityValue {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["integer", "string"] })
    }
}

/// A LimitRange of a namespace.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LimitRangeSpec {
    /// The object's name.
    pub name: Spanned<String>,
    /// One entry for each limited type.
    pub limits: Vec<LimitItem>,
    /// Labels of the object.
    #[serde(default)]
    pub labels: StringMap,
    /// Annotations of the object.
    #[serde(default)]
    pub annotations: StringMap,
    /// A loop over the elements of a list variable: `{stage: stages}`. Only in a Tenancy.
    #[serde(default, rename = "for")]
    pub each: Option<Spanned<BTreeMap<String, String>>>,
    /// The condition of the item, in CEL. Only in a Tenancy.
    #[serde(default)]
    pub when: Option<Spanned<String>>,
}

/// The limits of one type.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LimitItem {
    /// `Container`, `Pod` or `PersistentVolumeClaim`.
    pub r#type: String,
    /// Limits of containers without limits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub default: BTreeMap<String, QuantityValue>,
    /// Requests of containers without requests.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub default_request: BTreeMap<String, QuantityValue>,
    /// The maximum request or limit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub max: BTreeMap<String, QuantityValue>,
    /// The minimum request or limit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub min: BTreeMap<String, QuantityValue>,
    /// How many times its request a limit may be.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub max_limit_request_ratio: BTreeMap<String, QuantityValue>,
}

impl QuotaSpec {
    pub(crate) fn blueprint(&self, template: &'static str, origin: Origin) -> ObjectBlueprint {
        let object = ObjectBlueprint::new("v1", "ResourceQuota", template, Pattern::parse_checked(&self.name), origin)
            .with("hard", Blueprint::from_value(&self.hard))
            .with("scopes", Blueprint::from_value(&self.scopes));
        let mut object = with_metadata(object, &self.labels, &self.annotations);
        object.overridden = self.overrides.as_ref().map(|variable| ("hard", variable.value.clone()));
        object
    }
}

impl LimitRangeSpec {
    pub(crate) fn blueprint(&self, template: &'static str, origin: Origin) -> ObjectBlueprint {
        let object = ObjectBlueprint::new("v1", "LimitRange", template, Pattern::parse_checked(&self.name), origin)
            .with("limits", Blueprint::from_value(&self.limits));
        with_metadata(object, &self.labels, &self.annotations)
    }
}

/// A RoleBinding or a ClusterRoleBinding of a policy.
pub(crate) struct NewBinding<'b> {
    pub(crate) kind: &'static str,
    pub(crate) template: &'static str,
    pub(crate) name: &'b str,
    pub(crate) role: &'b RoleRef,
    pub(crate) subjects: Blueprint,
    pub(crate) origin: Origin,
}

impl NewBinding<'_> {
    pub(crate) fn blueprint(self) -> ObjectBlueprint {
        ObjectBlueprint::new(RBAC, self.kind, self.template, Pattern::parse_checked(self.name), self.origin)
            .with("roleRef", Blueprint::from_value(self.role))
            .with("subjects", self.subjects)
    }
}

/// Simplifies the schema of schemars: enums of words as `enum`, and no `null` among the types of an optional field,
/// since policies omit absent fields.
pub(crate) fn simplify_schema(schema: &mut serde_json::Value) {
    if let Some(object) = schema.as_object_mut() {
        if let Some(inner) = object.get("anyOf").and_then(only_beside_null) {
            object.remove("anyOf");
            if let serde_json::Value::Object(inner) = inner {
                for (key, value) in inner {
                    object.entry(key).or_insert(value);
                }
            }
        }
        if let Some(words) = object.get("oneOf").and_then(words_of) {
            let (names, notes) = words;
            object.remove("oneOf");
            object.insert("type".to_owned(), "string".into());
            object.insert("enum".to_owned(), names.into());
            if let Some(serde_json::Value::String(description)) = object.get_mut("description") {
                description.push_str(&notes);
            } else {
                object.insert("description".to_owned(), notes.trim().into());
            }
        }
        if let Some(serde_json::Value::Array(types)) = object.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                object.insert("type".to_owned(), only);
            }
        }
        if let Some(serde_json::Value::Array(words)) = object.get_mut("enum") {
            words.retain(|word| !word.is_null());
        }
        if object.get("default").is_some_and(serde_json::Value::is_null) {
            object.remove("default");
        }
        object.remove("format");
    }
    match schema {
        serde_json::Value::Object(object) => object.values_mut().for_each(simplify_schema),
        serde_json::Value::Array(items) => items.iter_mut().for_each(simplify_schema),
        _ => {}
    }
}

/// Returns the words of a `oneOf` of constants, with their descriptions as one text.
fn words_of(one_of: &serde_json::Value) -> Option<(Vec<String>, String)> {
    let mut names = Vec::new();
    let mut notes = String::new();
    for arm in one_of.as_array()? {
        let arm_names: Vec<&str> = match (arm.get("const"), arm.get("enum")) {
            (Some(word), _) => vec![word.as_str()?],
            (None, Some(words)) => words.as_array()?.iter().filter_map(|word| word.as_str()).collect(),
            (None, None) => return None,
        };
        if let (Some(description), [name]) =
            (arm.get("description").and_then(|text| text.as_str()), arm_names.as_slice())
        {
            notes.push_str(&format!("\n\n`{name}`: {description}"));
        }
        names.extend(arm_names.into_iter().map(str::to_owned));
    }
    Some((names, notes))
}

fn only_beside_null(any_of: &serde_json::Value) -> Option<serde_json::Value> {
    match any_of.as_array()?.as_slice() {
        [inner, null] if null.get("type").is_some_and(|name| name == "null") => Some(inner.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Data;

    #[test]
    fn very_many_subjects_go_into_several_bindings() {
        let user = |number| Spanned::new(format!("someone-{number}@example.com"), Origin::default());
        let users = |count: usize| (0..count).map(user).collect();
        let parts = |users: Vec<Spanned<String>>| -> Vec<Vec<Data>> {
            let target = Target::plain("t", 36);
            let subjects = Subjects { users, ..Subjects::default() };
            let fill = |part: &Blueprint| match part.fill(Fill::from_target(&target)) {
                Data::List(items) => items.to_vec(),
                _ => Vec::new(),
            };
            subjects.blueprints(true, std::slice::from_ref(&target)).iter().map(fill).collect()
        };
        assert_eq!(parts(users(1_000)).len(), 1);
        let mut shuffled: Vec<Spanned<String>> = users(10_000);
        shuffled.reverse();
        let found = parts(shuffled);
        assert_eq!(found, parts(users(10_000)), "the order of the list does not show");
        assert!(found.len() > 1 && found.iter().map(Vec::len).sum::<usize>() == 10_000);
        for part in &found {
            let mut json = String::new();
            Data::List(part.clone().into()).write_json(&mut json);
            assert!(json.len() < MAXIMUM_APPLIED, "{}", json.len());
        }
    }
}
