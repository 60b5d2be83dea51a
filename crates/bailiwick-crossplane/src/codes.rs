//! Codes of diagnostics about packages of Crossplane.

bailiwick_yaml::declare_codes! {
    // Packages of Crossplane.
    MISSING_APP_YAML: "missing-app-yaml", [Error], "a package without `app.yaml`";
    RBAC_YAML_NOT_SUPPORTED: "rbac-yaml-not-supported", [Error], "a package with `rbac.yaml`";
    UNEXPECTED_PACKAGE_FILE: "unexpected-package-file", [Error], "a file in a package that is not read";
    PERMISSION_SCOPE_MISSING: "permission-scope-missing", [Error], "a package that does not say where it works";
    PERMISSION_SCOPE_INVALID: "permission-scope-invalid", [Error], "a scope that no package has";
    SCOPE_MISMATCH: "scope-mismatch", [Error], "an install of another scope than its package";
    DISALLOWED_CORE_KIND: "disallowed-core-kind", [Error], "a package that asks for kinds of Kubernetes itself";
    CLUSTER_SCOPED_CRD: "cluster-scoped-crd", [Error], "a definition scoped to the cluster, for a stack that may have none";
    DEPENDS_ON_SYNTAX: "depends-on-syntax", [Error], "a dependency that names no definition";
    DEPENDS_ON_WITHOUT_GROUP: "depends-on-without-group", [Error], "a dependency without a group";
    DEPENDS_ON_WILDCARD_GROUP: "depends-on-wildcard-group", [Error], "a dependency on every group";
    DEPENDS_ON_EMPTY_KIND: "depends-on-empty-kind", [Error], "a dependency without a kind";
    DEPENDS_ON_KUBERNETES_GROUP: "depends-on-kubernetes-group", [Error], "a dependency on a group of Kubernetes itself";
    OWNS_KUBERNETES_GROUP: "owns-kubernetes-group", [Error], "a package that brings a definition in a group of Kubernetes itself";
    DEPENDS_ON_GROUP_WILDCARD: "depends-on-group-wildcard", [Warning], "a dependency on all of a group";
    DEPENDS_ON_NOT_A_PLURAL_RESOURCE: "depends-on-not-a-plural-resource", [Warning], "a dependency by the kind";
    DEPENDS_ON_INSTALLER: "depends-on-installer", [Warning], "a stack that can install stacks";
    DEPENDS_ON_SECURITY_GROUP: "depends-on-security-group", [Warning], "a dependency on a group that decides over access";
    DEPENDENCY_NOT_PROVIDED: "dependency-not-provided", [Warning], "a dependency that no stack here brings";
    CRD_SCHEMA_CONFLICT: "crd-schema-conflict", [Error], "one version of a definition with two schemas";
    CRD_SCOPE_CONFLICT: "crd-scope-conflict", [Error], "one definition with two scopes";
    CRD_MULTIPLE_VERSIONS: "crd-multiple-versions", [Warning], "stacks that bring different versions of one definition";
    CLUSTER_STACK_SINGLE_VERSION: "cluster-stack-single-version", [Error], "two instances of one cluster stack";
    CLUSTER_ROLE_NAME_CLASH: "cluster-role-name-clash", [Error], "two cluster stacks of one name";
    STACK_READS_EVERY_SECRET: "stack-reads-every-secret", [Warning], "a cluster stack, or a provider";
    PERMISSION_REQUEST_REJECTED: "permission-request-rejected", [Error], "a permission request of a provider that is not allowed";
}
