//! Codes of diagnostics about the admission of pods: SecurityContextConstraints, and the Pod Security labels of namespaces.

bailiwick_yaml::declare_codes! {
    PLATFORM_CONSTRAINTS: "platform-scc", [Error], "constraints with a name of the platform";
    DEADLY_CONSTRAINTS: "deadly-scc", [Error], "constraints that block every pod of the cluster";
    UNKNOWN_VOLUME_TYPE: "unknown-volume-type", [Error], "a volume type that the platform does not have";
    SECCOMP_SPELLING: "seccomp-spelling", [Warning], "a seccomp profile in a spelling that SecurityContextConstraints do not have";
    CAPABILITY_SPELLING: "capability-spelling", [Warning], "a capability in a spelling that pods do not have";
    DEFAULT_ADD_NOT_COUNTED: "default-add-not-counted", [Warning], "a default capability that the computed level ignores";
    SCC_PRIORITY_HIJACK: "scc-priority-hijack", [Warning], "constraints for all subjects that precede the constraints of the platform";
    SCC_USERS_OR_GROUPS: "scc-users-or-groups", [Warning], "constraints with a list of users or groups";
    DANGLING_SCC: "dangling-scc", [Warning], "a rule for SecurityContextConstraints that do not exist";
    GRANTS_EVERY_SCC: "grants-every-scc", [Warning], "a rule that grants the use of all SecurityContextConstraints";
    LABELS_NOT_COMPUTABLE: "labels-not-computable", [Warning], "the cluster cannot compute the labels of a namespace";
    DECLARED_ENFORCE_STRICTER: "declared-enforce-stricter-than-scc", [Warning], "a declared level is stricter than the usable SecurityContextConstraints";
    SYNC_TRUE_CONFLICT: "sync-true-conflict", [Warning], "the cluster overwrites declared labels";
    OPTED_OUT_WITHOUT_ENFORCE: "opted-out-without-enforce", [Warning], "a namespace opts out of label synchronisation and declares no level";
    REDUNDANT_DECLARED_LABEL: "redundant-declared-label", [Warning], "declared labels that the cluster also writes";
    SCC_ANNOTATIONS_INCOMPLETE: "scc-annotations-incomplete", [Warning], "a range of user ids without an SELinux level";
    PINNED_ENFORCE_VERSION: "pinned-enforce-version", [Warning], "a pinned version of the checks is older than the platform";
    MALFORMED_UID_RANGE: "malformed-uid-range", [Error], "a range of user ids cannot be read";
    DUPLICATE_UID_RANGE: "duplicate-uid-range", [Warning], "two namespaces have the same range of user ids";
    UID_RANGE_AT_ZERO: "uid-range-starts-at-zero", [Warning], "a range of user ids begins at root";
    EXEMPT_NAMESPACE_LABELLED: "exempt-namespace-labelled", [Warning], "a label on an exempt namespace";
    EXEMPT_FROM_LEVEL: "exempt-from-level", [Warning], "a Pod Security level in a namespace that the cluster exempts";
    OPENSHIFT_PREFIX_NOT_SYNCED: "openshift-prefix-not-synced", [Warning], "the name of a namespace excludes it from label synchronisation";
    RUN_LEVEL_BYPASS: "run-level-bypass", [Warning], "a label disables the admission by SecurityContextConstraints";
    USER_ABOVE_ACCOUNTS: "user-above-accounts", [Warning], "a user can create pods under looser constraints than the service accounts";
    REFUSED_BY_LEVEL: "refused-by-level", [Warning], "the Pod Security level rejects the pods of a workload";
    REFUSED_BY_POLICIES: "refused-by-psp", [Warning], "no PodSecurityPolicy admits the pods of a workload";
    REFUSED_BY_CONSTRAINTS: "refused-by-scc", [Warning], "no SecurityContextConstraints admit the pods of a workload";
    REFUSED_BY_PROFILE: "refused-by-profile", [Warning], "the profile of the namespace rejects the pods of a workload";
    REFUSED_BY_ADMISSION_POLICY: "refused-by-admission-policy", [Warning], "an admission policy of the inputs rejects a workload";
}
