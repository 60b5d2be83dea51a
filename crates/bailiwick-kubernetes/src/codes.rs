//! Codes of diagnostics about Kubernetes objects.

bailiwick_yaml::declare_codes! {
    // Objects.
    INVALID_OBJECT: "invalid-object", [Error], "an object that the API server rejects";
    LEGACY_RBAC_KIND: "legacy-rbac-kind", [Warning], "a role or binding of OpenShift 3";
    DUPLICATE_OBJECT: "duplicate-object", [Error, Warning], "two objects have the same identity";
}
