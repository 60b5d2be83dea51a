//! Objects of Crossplane's packages on their way to a file.

use std::sync::Arc;

use bailiwick_crossplane::object::{ObjectContent, PackageObject, aggregation_rule, role_ref, subjects};
use bailiwick_yaml::diag::Origin;

use crate::model::{Data, ObjectId, TypeMeta, Unit, UnitSource};

/// The templates of a kind of policy, one for each kind of object.
pub(super) struct Templates {
    pub(super) service_account: &'static str,
    pub(super) role: &'static str,
    pub(super) cluster_role: &'static str,
    pub(super) role_binding: &'static str,
    pub(super) cluster_role_binding: &'static str,
}

impl Templates {
    /// Builds the unit of an object from the locations of its request and of its content.
    pub(super) fn unit(&self, object: &PackageObject, origin: Origin, content: Origin) -> Unit {
        let template = match object.kind() {
            "ServiceAccount" => self.service_account,
            "Role" => self.role,
            "ClusterRole" => self.cluster_role,
            "RoleBinding" => self.role_binding,
            _ => self.cluster_role_binding,
        };
        let labels = object.labels.iter().map(|(key, value)| (key.as_str(), Data::text(value.as_str())));
        let namespace = object.namespace.as_deref().map(Arc::<str>::from);
        let mut data = vec![
            ("name", Data::text(object.name.as_str())),
            ("namespace", namespace.clone().map_or(Data::Null, Data::Str)),
            ("labels", Data::map(labels)),
            ("annotations", Data::Null),
        ];
        match &object.content {
            ObjectContent::ServiceAccount => {}
            ObjectContent::Role(rules) => {
                let rules = serde_json::to_value(rules).unwrap_or_default();
                data.extend([("rules", Data::from_json(&rules)), ("aggregationRule", Data::Null)]);
            }
            ObjectContent::Gathered(selectors) => {
                data.extend([
                    ("rules", Data::Null),
                    ("aggregationRule", Data::from_json(&aggregation_rule(selectors))),
                ]);
            }
            ObjectContent::Binding { kind, role, accounts } => data.extend([
                ("roleRef", Data::from_json(&role_ref(kind, role))),
                ("subjects", Data::from_json(&subjects(accounts))),
            ]),
        }
        Unit {
            identity: ObjectId {
                object_type: TypeMeta::new(object.api_version(), object.kind()),
                namespace,
                name: object.name.as_str().into(),
            },
            template: template.into(),
            data: Data::map(data),
            origin,
            content,
            account: None,
            without_levels: false,
            source: UnitSource::default(),
        }
    }
}
