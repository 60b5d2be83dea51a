//! Codes of diagnostics about packages of Crossplane.

bailiwick_yaml::declare_codes! {
    // Packages of Crossplane.
    MISSING_APP_YAML: "missing-app-yaml", [Error], "a package without `app.yaml`";
    RBAC_YAML_NOT_SUPPORTED: "rbac-yaml-not-supported", [Error], "a package with `rbac.yaml`";
    UNEXPECTED_PACKAGE_FILE: "unexpected-package-file", [Error], "an unexpected file in a package";
    PERMISSION_SCOPE_MISSING: "permission-scope-missing", [Error], "a package without a scope";
    PERMISSION_SCOPE_INVALID: "permission-scope-invalid", [Error], "a package with an invalid scope";
    SCOPE_MISMATCH: "scope-mismatch", [Error], "an install and its package have different scopes";
    DISALLOWED_CORE_KIND: "disallowed-core-kind", [Error], "a package requests kinds of Kubernetes";
    CLUSTER_SCOPED_CRD: "cluster-scoped-crd", [Error], "a cluster-scoped definition in a stack that cannot own it";
    DEPENDS_ON_SYNTAX: "depends-on-syntax", [Error], "a dependency that names no definition";
    DEPENDS_ON_WITHOUT_GROUP: "depends-on-without-group", [Error], "a dependency without a group";
    DEPENDS_ON_WILDCARD_GROUP: "depends-on-wildcard-group", [Error], "a dependency on every group";
    DEPENDS_ON_EMPTY_KIND: "depends-on-empty-kind", [Error], "a dependency without a kind";
    DEPENDS_ON_KUBERNETES_GROUP: "depends-on-kubernetes-group", [Error], "a dependency on a group of Kubernetes";
    OWNS_KUBERNETES_GROUP: "owns-kubernetes-group", [Error], "a package brings a definition in a group of Kubernetes";
    DEPENDS_ON_GROUP_WILDCARD: "depends-on-group-wildcard", [Warning], "a dependency on a whole group";
    DEPENDS_ON_NOT_A_PLURAL_RESOURCE: "depends-on-not-a-plural-resource", [Warning], "a dependency by kind instead of resource";
    DEPENDS_ON_INSTALLER: "depends-on-installer", [Warning], "a stack that can install stacks";
    DEPENDS_ON_SECURITY_GROUP: "depends-on-security-group", [Warning], "a dependency on a security-relevant group";
    DEPENDENCY_NOT_PROVIDED: "dependency-not-provided", [Warning], "a dependency that no stack provides";
    CRD_SCHEMA_CONFLICT: "crd-schema-conflict", [Error], "one version of a definition has two schemas";
    CRD_SCOPE_CONFLICT: "crd-scope-conflict", [Error], "one definition has two scopes";
    CRD_MULTIPLE_VERSIONS: "crd-multiple-versions", [Warning], "stacks bring different versions of one definition";
    CLUSTER_STACK_SINGLE_VERSION: "cluster-stack-single-version", [Error], "two instances of one cluster stack";
    CLUSTER_ROLE_NAME_CLASH: "cluster-role-name-clash", [Error], "two cluster stacks have the same name";
    STACK_READS_EVERY_SECRET: "stack-reads-every-secret", [Warning], "a cluster stack or a provider reads every Secret";
    PERMISSION_REQUEST_REJECTED: "permission-request-rejected", [Error], "the RBAC manager rejects a permission request of a provider";
}
