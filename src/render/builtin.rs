//! The built-in templates, embedded from the repository's own `templates/`.

macro_rules! embed {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/templates/", $path)))),*]
    };
}

/// Path and source of each; `tests/registry.rs` holds the list against the folder.
pub const BUILTIN: &[(&str, &str)] = embed![
    "_metadata.yaml.j2",
    "grant/clusterrolebinding.yaml.j2",
    "grant/role.yaml.j2",
    "grant/rolebinding.yaml.j2",
    "grant/serviceaccount.yaml.j2",
    "manifests/object.yaml.j2",
    "namespace-set/limitrange.yaml.j2",
    "namespace-set/namespace.yaml.j2",
    "namespace-set/resourcequota.yaml.j2",
    "namespace-set/role.yaml.j2",
    "namespace-set/rolebinding.yaml.j2",
    "node-access/clusterrole.yaml.j2",
    "node-access/clusterrolebinding.yaml.j2",
    "node-access/serviceaccount.yaml.j2",
    "node-access/validatingadmissionpolicy.yaml.j2",
    "node-access/validatingadmissionpolicybinding.yaml.j2",
    "permission-set/clusterrole.yaml.j2",
    "permission-set/role.yaml.j2",
    "pod-security-profile/clusterrole.yaml.j2",
    "pod-security-profile/mutatingadmissionpolicy.yaml.j2",
    "pod-security-profile/mutatingadmissionpolicybinding.yaml.j2",
    "pod-security-profile/podsecuritypolicy.yaml.j2",
    "pod-security-profile/securitycontextconstraints.yaml.j2",
    "pod-security-profile/validatingadmissionpolicy.yaml.j2",
    "pod-security-profile/validatingadmissionpolicybinding.yaml.j2",
    "stack-manager/clusterrole.yaml.j2",
    "stack-manager/clusterrolebinding.yaml.j2",
    "stack-manager/customresourcedefinition.yaml.j2",
    "stack-manager/role.yaml.j2",
    "stack-manager/rolebinding.yaml.j2",
    "stack-manager/serviceaccount.yaml.j2",
    "stack/clusterrole.yaml.j2",
    "stack/clusterrolebinding.yaml.j2",
    "stack/role.yaml.j2",
    "stack/rolebinding.yaml.j2",
    "stack/serviceaccount.yaml.j2",
    "tenancy/limitrange.yaml.j2",
    "tenancy/namespace.yaml.j2",
    "tenancy/podsecuritypolicy.yaml.j2",
    "tenancy/resourcequota.yaml.j2",
    "tenancy/role.yaml.j2",
    "tenancy/rolebinding.yaml.j2",
    "tenancy/securitycontextconstraints.yaml.j2",
    "tenancy/serviceaccount.yaml.j2",
];
