//! Codes of diagnostics about Kubernetes objects.

bailiwick_yaml::declare_codes! {
    // Objects.
    INVALID_OBJECT: "invalid-object", [Error], "an object that the API server rejects";
    INFERRED_PLATFORM: "inferred-platform", [Note], "an object that OpenShift alone serves decides the platform";
    NAMESPACE_ON_CLUSTER_SCOPED: "namespace-on-cluster-scoped", [Warning], "an object of a cluster-scoped kind has a namespace";
    LEGACY_RBAC_KIND: "legacy-rbac-kind", [Warning], "a role or binding of OpenShift 3";
    NO_OBJECTS: "no-objects", [Warning], "a glob of manifests matches files without objects alone";
    DUPLICATE_OBJECT: "duplicate-object", [Error, Warning], "two objects have the same identity";
}
