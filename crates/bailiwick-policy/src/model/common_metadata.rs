//! Labels and annotations of every object: `commonMetadata` of a workspace, of a target and of a policy.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::{Code, Diagnostic, Sink};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Account, Blueprint, BoundValue, Data, Fill, LabelMap, POLICY_VARIABLES, PolicyMeta, Target, Unit, VariableScope,
    Variables, check_pattern,
};

/// Labels and annotations of every object. An entry of the object itself wins, then an entry of its policy, of the target and of the
/// workspace. Texts can name variables of the target, `{policy.kind}` and `{policy.name}`, in a Tenancy also variables of the account.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct CommonMetadataSpec {
    /// Labels of the objects.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Annotations of the objects.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
}

/// The entries of a field, by key.
type Entries = BTreeMap<String, Blueprint>;

/// The labels and annotations of the objects of a target or of a policy.
#[derive(Debug, Clone, Default)]
pub struct CommonMetadata {
    labels: Entries,
    annotations: Entries,
}

/// The origin of an object: its policy, its target, and its account in a Tenancy.
#[derive(Debug, Clone, Copy)]
pub struct MadeFor<'m> {
    /// The policy with the content of the object.
    pub policy: &'m PolicyMeta,
    /// The target of the output.
    pub target: &'m Target,
    /// The account, if the policy is a Tenancy.
    pub account: Option<Account<'m>>,
}

/// The field with the labels and annotations.
pub const COMMON_METADATA: &str = "commonMetadata";

/// The prefixes of keys that decide access: only the fields of the policies write them.
const DECIDING: [&str; 4] =
    ["bailiwick.dev/", "pod-security.kubernetes.io/", "rbac.authorization.k8s.io/", "security.openshift.io/"];

impl CommonMetadata {
    /// Returns no entries; every policy without entries shares them.
    pub fn none() -> Arc<Self> {
        static NONE: LazyLock<Arc<CommonMetadata>> = LazyLock::new(Arc::default);
        Arc::clone(&NONE)
    }

    /// Reads the entries of some nodes with the field; the entries of later nodes win. Reports unknown variables as the scope has
    /// them, and with the code keys that decide access.
    pub fn link(nodes: &[NodeRef<'_>], scope: VariableScope<'_>, code: Code, sink: &mut Sink) -> Self {
        let none = Variables::new();
        let scope = VariableScope { accounts: scope.accounts.or(Some(&none)), ..scope };
        let mut read = |field: &str| {
            let mut found = BTreeMap::new();
            for (key, value) in
                nodes.iter().filter_map(|node| node.path(&[COMMON_METADATA, field])).flat_map(NodeRef::entries)
            {
                let name = key.as_str().map_or("", |name| name);
                if DECIDING.iter().any(|prefix| name.starts_with(prefix)) {
                    let message = format!("`{name}` decides access, and is no common label or annotation");
                    let diagnostic = Diagnostic::error(code, message).at(key.origin());
                    sink.push(diagnostic.help("set it with the fields of the policies"));
                }
                _ = check_pattern(value, scope, sink);
                found.insert(name.to_owned(), Blueprint::from_value(&value.as_str().map_or("", |text| text)));
            }
            found
        };
        Self { labels: read("labels"), annotations: read("annotations") }
    }

    /// Adds the entries of the target and of the policy to an object.
    pub fn add(unit: &mut Unit, of: MadeFor<'_>) {
        let both = [
            ("labels", filled(|common| &common.labels, of)),
            ("annotations", filled(|common| &common.annotations, of)),
        ];
        for (field, common) in both {
            let Some(common) = common else { continue };
            unit.data = match unit.is_brought_in() {
                true => changed(&unit.data, &["object", "metadata", field], &common),
                false => changed(&unit.data, &[field], &common),
            };
        }
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.annotations.is_empty()
    }

    /// Adds the labels and annotations of the target and of the policy that a Namespace does not have itself.
    pub(super) fn add_to_maps(labels: &mut LabelMap, annotations: &mut LabelMap, of: MadeFor<'_>) {
        let both =
            [(labels, filled(|common| &common.labels, of)), (annotations, filled(|common| &common.annotations, of))];
        for (own, common) in both {
            let Some(Data::Map(entries)) = common else { continue };
            for (key, value) in entries.iter() {
                if let Data::Str(text) = value {
                    own.entry(Arc::clone(key)).or_insert_with(|| Arc::clone(text));
                }
            }
        }
    }
}

/// Returns the entries of the target and of the policy with their values; none without entries.
fn filled(entries: impl Fn(&CommonMetadata) -> &Entries, of: MadeFor<'_>) -> Option<Data> {
    let (of_target, of_policy) = (entries(&of.target.common_metadata), entries(&of.policy.common_metadata));
    if of_target.is_empty() && of_policy.is_empty() {
        return None;
    }
    let [kind, name] = POLICY_VARIABLES;
    let (kind_value, name_value) = (Data::text(of.policy.kind), Data::Str(Arc::clone(&of.policy.name)));
    let kind = BoundValue { name: kind, value: &kind_value, outer: None };
    let both = BoundValue { name, value: &name_value, outer: Some(&kind) };
    // The texts of the policy have these values already, or name variables of its accounts.
    let from_policy = Fill { account: of.account, ..Fill::from_target(of.target) };
    let from_target = from_policy.within(Some(&both));
    let inherited = of_target.iter().filter(|(key, _)| !of_policy.contains_key(*key));
    let all = inherited.map(|entry| (entry, from_target)).chain(of_policy.iter().map(|entry| (entry, from_policy)));
    let present = all.filter(|((_, value), from)| value.exists(*from));
    Some(Data::map(present.map(|((key, value), from)| (key.as_str(), value.fill(from)))))
}

/// Returns a map with further entries in a map within it. Present entries win.
fn changed(data: &Data, path: &[&str], common: &Data) -> Data {
    let Some((first, rest)) = path.split_first() else { return common.merged_with(data) };
    let Data::Map(entries) = data else { return data.clone() };
    let mut all: Vec<(Arc<str>, Data)> = entries.to_vec();
    match all.iter_mut().find(|(key, _)| **key == **first) {
        Some((_, inner)) if *inner == Data::Null => *inner = changed(&Data::map([] as [(&str, Data); 0]), rest, common),
        Some((_, inner)) => *inner = changed(inner, rest, common),
        None => {
            let empty = Data::map([] as [(&str, Data); 0]);
            all.push((Arc::from(*first), changed(&empty, rest, common)));
        }
    }
    Data::Map(all.into())
}
