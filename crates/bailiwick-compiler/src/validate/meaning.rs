//! A template cannot change the statement of a policy.
//!
//! The built-in template defines the statement of a policy about an object. A template of the workspace may add labels
//! and annotations that decide nothing; any other difference is an error. Both objects are compared in the form in
//! which the API server stores them, so the order of keys, an explicit default and the order of a set of Kubernetes are
//! no differences.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Keys of labels and annotations that decide something for Kubernetes, OpenShift or Bailiwick begin so, or with a
/// subdomain of it.
const DECIDING_DOMAINS: [&str; 4] = ["kubernetes.io", "k8s.io", "openshift.io", "bailiwick.dev"];

/// Keys in these domains that only describe: the recommended labels of Kubernetes, and texts for people.
const DESCRIBING: [&str; 4] =
    ["app.kubernetes.io/", "kubernetes.io/description", "openshift.io/description", "openshift.io/display-name"];

/// Keys of clouds, for the identity of a service account in a cloud.
const CLOUD_KEYS: [&str; 3] = ["azure.workload.identity/", "eks.amazonaws.com/", "iam.gke.io/"];

/// Lists of RBAC whose order and repetitions are irrelevant.
const SETS: [&str; 7] = ["apiGroups", "nonResourceURLs", "resourceNames", "resources", "rules", "subjects", "verbs"];

/// The longest value that a message shows, in letters.
const LONGEST_SHOWN: usize = 120;

/// A difference of a rendered object from what its policy states.
#[derive(Debug, PartialEq)]
pub(super) struct Change {
    /// The names of the field, from the top.
    pub(super) path: Vec<String>,
    /// The value of the policy; none for an absent value.
    pub(super) stated: Option<Value>,
    /// The rendered value; none for an absent value.
    pub(super) rendered: Option<Value>,
}

/// Returns the differences of a rendered object. `is_deciding` returns whether something in the policies decides by a
/// label or an annotation.
pub(super) fn changes(stated: &Value, rendered: &Value, is_deciding: &dyn Fn(&str) -> bool) -> Vec<Change> {
    let mut comparison = Comparison { path: Vec::new(), found: Vec::new(), is_deciding };
    comparison.values(Some(stated), Some(rendered));
    comparison.found
}

/// Whether Kubernetes, OpenShift, Bailiwick or a cloud decides something by a label or an annotation.
fn decides(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let is_within = |owner: &str| domain == owner || domain.strip_suffix(owner).is_some_and(|rest| rest.ends_with('.'));
    let begins = |known: &[&str]| known.iter().any(|known| key.starts_with(known));
    begins(&CLOUD_KEYS) || DECIDING_DOMAINS.iter().any(|owner| is_within(owner)) && !begins(&DESCRIBING)
}

/// A comparison at a place of both objects.
struct Comparison<'c> {
    path: Vec<String>,
    found: Vec<Change>,
    is_deciding: &'c dyn Fn(&str) -> bool,
}

impl Comparison<'_> {
    fn values(&mut self, stated: Option<&Value>, rendered: Option<&Value>) {
        let none = Map::new();
        match (stated, rendered) {
            (Some(Value::Object(stated)), Some(Value::Object(rendered))) => self.maps(stated, rendered),
            // Labels may be added where there are none.
            (None, Some(Value::Object(rendered))) if self.is_added_to() || self.path == ["metadata"] => {
                self.maps(&none, rendered);
            }
            (Some(Value::Object(stated)), None) if self.is_added_to() => self.maps(stated, &none),
            (Some(Value::Array(stated)), Some(Value::Array(rendered))) if self.is_set() => self.sets(stated, rendered),
            (Some(Value::Array(stated)), Some(Value::Array(rendered))) => {
                for index in 0..stated.len().max(rendered.len()) {
                    self.inside(&format!("[{index}]"), stated.get(index), rendered.get(index));
                }
            }
            (stated, rendered) if stated != rendered => self.differ(stated, rendered),
            _ => {}
        }
    }

    fn inside(&mut self, name: &str, stated: Option<&Value>, rendered: Option<&Value>) {
        self.path.push(name.to_owned());
        self.values(stated, rendered);
        self.path.pop();
    }

    fn differ(&mut self, stated: Option<&Value>, rendered: Option<&Value>) {
        self.found.push(Change { path: self.path.clone(), stated: stated.cloned(), rendered: rendered.cloned() });
    }

    fn maps(&mut self, stated: &Map<String, Value>, rendered: &Map<String, Value>) {
        let names: BTreeSet<&String> = stated.keys().chain(rendered.keys()).collect();
        for name in names {
            let (stated, rendered) = (stated.get(name), rendered.get(name));
            let is_harmless = stated.is_none() && self.is_added_to() && !decides(name) && !(self.is_deciding)(name);
            if !is_harmless {
                self.inside(name, stated, rendered);
            }
        }
    }

    fn sets(&mut self, stated: &[Value], rendered: &[Value]) {
        let canonical = |items: &[Value]| -> BTreeSet<String> { items.iter().map(canonical).collect() };
        let (all_stated, all_rendered) = (canonical(stated), canonical(rendered));
        let missing = stated.iter().find(|item| !all_rendered.contains(&self::canonical(item)));
        let added = rendered.iter().find(|item| !all_stated.contains(&self::canonical(item)));
        if missing.is_some() || added.is_some() {
            self.differ(missing, added);
        }
    }

    /// Whether a template may add entries here.
    fn is_added_to(&self) -> bool {
        matches!(self.path.as_slice(), [metadata, section] if metadata == "metadata" && matches!(section.as_str(), "labels" | "annotations"))
    }

    fn is_set(&self) -> bool {
        matches!(self.path.as_slice(), [only] if SETS.contains(&only.as_str()))
    }
}

/// Returns a text that is equal for two values if Kubernetes treats them as equal.
fn canonical(value: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(entries) => entries
                .iter()
                .map(|(key, value)| {
                    let value = match value {
                        Value::Array(items) if SETS.contains(&key.as_str()) => {
                            let set: BTreeSet<String> = items.iter().map(canonical).collect();
                            set.into_iter().collect()
                        }
                        other => sorted(other),
                    };
                    (key.clone(), value)
                })
                .collect(),
            other => other.clone(),
        }
    }
    sorted(value).to_string()
}

impl Change {
    /// Returns the field as a path, such as `spec.hard.pods`.
    pub(super) fn field(&self) -> String {
        let mut field = String::new();
        for name in &self.path {
            if !field.is_empty() && !name.starts_with('[') {
                field.push('.');
            }
            field.push_str(name);
        }
        field
    }

    /// Returns the message about the change of the template.
    pub(super) fn message(&self) -> String {
        let (what, name) = match self.path.as_slice() {
            [metadata, section, key] if metadata == "metadata" && section == "labels" => ("the label ", key.clone()),
            [metadata, section, key] if metadata == "metadata" && section == "annotations" => {
                ("the annotation ", key.clone())
            }
            _ => ("", self.field()),
        };
        match (&self.stated, &self.rendered) {
            (Some(stated), None) => {
                format!("the template omits {what}`{name}: {}` of a policy", shown(stated))
            }
            (None, Some(rendered)) => {
                format!("the template adds {what}`{name}: {}`, which is in no policy", shown(rendered))
            }
            (stated, rendered) => {
                let of = |value: &Option<Value>| value.as_ref().map(shown).unwrap_or_default();
                format!("the template renders {what}`{name}: {}` where a policy states `{}`", of(rendered), of(stated))
            }
        }
    }

    /// Returns a scalar of the policy's value, to look for in the policy.
    pub(super) fn scalar(&self) -> Option<&str> {
        fn first(value: &Value) -> Option<&str> {
            match value {
                Value::String(text) => Some(text),
                Value::Array(items) => items.iter().find_map(first),
                Value::Object(entries) => entries.get("name").or_else(|| entries.values().next()).and_then(first),
                _ => None,
            }
        }
        self.stated.as_ref().and_then(first)
    }
}

fn shown(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if text.chars().count() <= LONGEST_SHOWN {
        return text;
    }
    text.chars().take(LONGEST_SHOWN).chain(['.', '.', '.']).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn messages(stated: &Value, rendered: &Value) -> Vec<String> {
        changes(stated, rendered, &|key| key == "tier").iter().map(Change::message).collect()
    }

    #[test]
    fn labels_and_annotations_that_decide_nothing_may_be_added() {
        let stated = json!({"kind": "Role", "rules": []});
        for key in ["made-by", "example.com/owner", "app.kubernetes.io/part-of", "argocd.argoproj.io/sync-wave"] {
            let with =
                json!({"kind": "Role", "rules": [], "metadata": {"labels": {key: "x"}, "annotations": {key: "x"}}});
            assert_eq!(messages(&stated, &with), [""; 0], "{key}");
        }
        for key in [
            "tier",
            "bailiwick.dev/pod-security-profile",
            "eks.amazonaws.com/role-arn",
            "kubernetes.io/metadata.name",
            "openshift.io/run-level",
            "pod-security.kubernetes.io/enforce",
            "rbac.authorization.k8s.io/aggregate-to-admin",
            "rbac.authorization.kubernetes.io/autoupdate",
            "security.openshift.io/scc.podSecurityLabelSync",
        ] {
            let with = json!({"kind": "Role", "rules": [], "metadata": {"labels": {key: "x"}}});
            assert_eq!(
                messages(&stated, &with),
                [format!("the template adds the label `{key}: x`, which is in no policy")]
            );
        }
    }

    #[test]
    fn sets_are_compared_as_sets_and_lists_as_lists() {
        let first = json!({"verbs": ["get", "list"], "resources": ["pods"]});
        let second = json!({"verbs": ["list", "get", "get"], "resources": ["pods"]});
        let other = json!({"verbs": ["get"], "resources": ["secrets"]});
        let of = |rules: &[&Value]| json!({ "rules": rules });
        assert_eq!(messages(&of(&[&first, &other]), &of(&[&other, &second, &first])), [""; 0]);
        assert_eq!(messages(&of(&[&first]), &of(&[&first, &other])).len(), 1);
        assert_eq!(messages(&of(&[&first, &other]), &of(&[&first])).len(), 1);
        let spec = |items: [&str; 2]| json!({"spec": {"rules": items}});
        assert_eq!(messages(&spec(["a", "b"]), &spec(["b", "a"])).len(), 2);
    }
}
