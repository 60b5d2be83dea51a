//! The request that admission is asked about.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use bailiwick_cel::Value;

/// A request to change something, as the API server hands it to admission.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AdmissionRequest {
    /// Who asks.
    pub user: String,
    /// The id of who asks.
    pub uid: String,
    /// The groups of who asks.
    pub groups: Vec<String>,
    /// What else the authenticator says of who asks.
    pub extra: BTreeMap<String, Vec<String>>,
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub operation: String,
    /// The API group.
    pub api_group: String,
    /// The version.
    pub version: String,
    /// The resource, in the plural.
    pub resource: String,
    /// The part of it, such as `status`; empty for the whole.
    pub subresource: String,
    /// The kind of the object.
    pub kind: String,
    /// The namespace; empty for what is in none. For a namespace, its own name.
    pub namespace: String,
    /// The name; empty where the server is to make one.
    pub name: String,
    /// The object as it shall be.
    pub object: Option<Json>,
    /// The object as it is.
    pub old_object: Option<Json>,
    /// Whether nothing shall be stored.
    pub dry_run: bool,
    /// The options of the request, if they are known.
    pub options: Option<Json>,
}

impl AdmissionRequest {
    /// Reads a request of a question.
    ///
    /// # Errors
    /// Why it is none.
    pub fn from_json(json: &Json) -> Result<Self, String> {
        let given = json.as_object().ok_or("a request is an object")?;
        // Null is the same as what is left out.
        let given: Map<String, Json> = given.iter().filter(|(_, value)| !value.is_null()).map(own).collect();
        let request = Self::deserialize(Json::Object(given)).map_err(|error| format!("not a request: {error}"))?;
        match request.operation.as_str() {
            "CREATE" | "UPDATE" | "DELETE" | "CONNECT" => Ok(request),
            other => Err(format!("there is no operation `{other}`")),
        }
    }

    /// What `request` stands for in an expression. What is empty is not there.
    pub(super) fn value(&self) -> Value {
        let kind = json!({ "group": self.api_group, "version": self.version, "kind": self.kind });
        let resource = json!({ "group": self.api_group, "version": self.version, "resource": self.resource });
        let mut user = Map::new();
        text(&mut user, "username", &self.user);
        text(&mut user, "uid", &self.uid);
        if !self.groups.is_empty() {
            user.insert("groups".to_owned(), json!(self.groups));
        }
        if !self.extra.is_empty() {
            user.insert("extra".to_owned(), json!(self.extra));
        }
        let mut request = Map::new();
        for (key, value) in
            [("kind", &kind), ("requestKind", &kind), ("resource", &resource), ("requestResource", &resource)]
        {
            request.insert(key.to_owned(), value.clone());
        }
        text(&mut request, "subResource", &self.subresource);
        text(&mut request, "requestSubResource", &self.subresource);
        text(&mut request, "name", &self.name);
        text(&mut request, "namespace", &self.namespace);
        request.insert("operation".to_owned(), json!(self.operation));
        request.insert("userInfo".to_owned(), Json::Object(user));
        request.insert("dryRun".to_owned(), json!(self.dry_run));
        if let Some(options) = &self.options {
            request.insert("options".to_owned(), options.clone());
        }
        Value::from_json(&Json::Object(request))
    }
}

fn own((key, value): (&String, &Json)) -> (String, Json) {
    (key.clone(), value.clone())
}

fn text(map: &mut Map<String, Json>, key: &str, value: &str) {
    if !value.is_empty() {
        map.insert(key.to_owned(), json!(value));
    }
}

/// What `namespaceObject` stands for: the parts of a namespace that expressions may see, without what is empty.
pub(super) fn namespace_value(namespace: &Json) -> Value {
    const METADATA: [&str; 11] = [
        "name",
        "generateName",
        "namespace",
        "labels",
        "annotations",
        "uid",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "resourceVersion",
        "finalizers",
    ];
    let part = |key: &str| match namespace.get(key) {
        Some(Json::Object(part)) => part.clone(),
        _ => Map::new(),
    };
    let mut metadata = part("metadata");
    metadata.retain(|key, value| METADATA.contains(&key.as_str()) && !is_empty(value));
    let mut spec = part("spec");
    spec.retain(|_, value| !is_empty(value));
    let mut status = part("status");
    status.retain(|_, value| !is_empty(value));
    Value::from_json(&json!({ "metadata": metadata, "spec": spec, "status": status }))
}

fn is_empty(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(entries) => entries.is_empty(),
        Json::Number(number) => number.as_i64() == Some(0),
        Json::Bool(_) => false,
    }
}
