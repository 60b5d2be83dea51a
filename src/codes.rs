//! The codes of diagnostics: those of the compiler and the command line, which are declared here, and those of the crates.

use std::sync::LazyLock;

use serde::{Deserialize, Deserializer, de};

pub use crate::access::codes::*;
pub use crate::crossplane::codes::*;
pub use crate::diag::codes::*;
use crate::diag::{Code, Diagnostic};
pub use crate::k8s::codes::*;
pub use crate::node::codes::*;

bailiwick_yaml::declare_codes! {
    // Reading text.
    INVALID_UTF8: "invalid-utf8", [Error], "a file is not UTF-8";
    FILE_TOO_LARGE: "file-too-large", [Error], "a file is larger than this program reads";
    UNREADABLE_FILE: "unreadable-file", [Error], "a path that is not a regular file";
    HIDDEN_CHARACTER_IN_NAME: "hidden-character-in-name", [Error], "a name of an input file with characters that do not show";
    // The shape of policies.
    UNKNOWN_KIND: "unknown-kind", [Error], "a document of a kind that is not a policy kind";
    NOT_A_POLICY: "not-a-policy", [Error], "a document in the policy folder that is not a policy";
    DUPLICATE_POLICY: "duplicate-policy", [Error], "two policies of one kind with one name";
    UNKNOWN_TARGET: "unknown-target", [Error], "a target pattern that matches no target";
    UNKNOWN_REFERENCE: "unknown-reference", [Error], "a name that no policy has";
    INCLUDE_CYCLE: "include-cycle", [Error], "policies that include each other";
    INVALID_PATH: "invalid-path", [Error, Warning], "an API path that no request has";
    AMBIGUOUS_RESOURCE: "ambiguous-resource", [Error], "a resource without a group, and several groups that mean different things by it";
    UNKNOWN_VARIABLE: "unknown-variable", [Error], "a variable that is not declared";
    INVALID_PATTERN: "invalid-pattern", [Error], "a text whose braces do not match";
    OPTIONAL_MAY_BE_EMPTY: "optional-may-be-empty", [Warning], "a name that a missing value changes";
    UNKNOWN_SUBJECT: "unknown-subject", [Error, Warning], "a user or a group that nothing declares";
    UNKNOWN_NAMESPACE: "unknown-namespace", [Error, Warning], "a namespace that nothing declares or makes";
    UNUSED_POLICY: "unused-policy", [Warning], "a policy that yields nothing";
    // Files beside the policies.
    MISSING_FILE: "missing-file", [Error], "a file that a policy names is not there";
    PATH_OUTSIDE: "path-outside-workspace", [Error], "a path that leaves the workspace";
    INVALID_ACCOUNTS: "invalid-accounts", [Error], "an account list that cannot be read";
    INVALID_ACCOUNT: "invalid-account", [Error], "an account whose row breaks the declared schema";
    DUPLICATE_ACCOUNT: "duplicate-account", [Error], "two accounts share a value that must be unique";
    // Templates.
    TEMPLATE_SYNTAX: "template-syntax", [Error], "a template that does not parse";
    TEMPLATE_COMPOSITE: "template-composite", [Error], "a template that glues text to a value";
    TEMPLATE_FAILED: "template-failed", [Error], "a template that failed while rendering";
    TEMPLATE_IDENTITY: "template-identity", [Error], "a template that changes what object it renders";
    TEMPLATE_MEANING: "template-meaning", [Error], "a template that changes what a policy states";
    TEMPLATE_OUTPUT: "template-output", [Error], "a template that renders something else than one object";
    UNKNOWN_TEMPLATE: "unknown-template", [Warning], "a file in the template folder that overrides nothing";
    // Objects.
    MALFORMED_OBJECT: "malformed-object", [Error, Warning], "an object that does not have the shape of its kind";
    SERVER_FIELD: "server-field", [Error], "a field that only the server may set";
    UNRESOLVED_REFERENCE: "unresolved-reference", [Error, Warning], "a binding to a role that is not there";
    POD_SECURITY_POLICY_REMOVED: "podsecuritypolicy-removed", [Error], "a PodSecurityPolicy for a cluster that has none";
    INEXPRESSIBLE_LIMIT: "inexpressible-limit", [Error], "a limit that the platform has no field for";
    PLATFORM_CONSTRAINTS: "platform-scc", [Error], "constraints under a name of the platform's own";
    DEADLY_CONSTRAINTS: "deadly-scc", [Error], "constraints that keep every pod of the cluster from being created";
    UNKNOWN_VOLUME_TYPE: "unknown-volume-type", [Error], "a kind of volume that the platform does not know";
    SECCOMP_SPELLING: "seccomp-spelling", [Warning], "a seccomp profile that constraints spell differently";
    CAPABILITY_SPELLING: "capability-spelling", [Warning], "a capability that pods spell differently";
    DEFAULT_ADD_NOT_COUNTED: "default-add-not-counted", [Warning], "a capability that every pod gets and no level counts";
    SCC_PRIORITY_HIJACK: "scc-priority-hijack", [Warning], "constraints that everybody gets before those of the platform";
    SCC_USERS_OR_GROUPS: "scc-users-or-groups", [Warning], "constraints that list who may use them";
    DANGLING_SCC: "dangling-scc", [Warning], "a rule for constraints that are not there";
    GRANTS_EVERY_SCC: "grants-every-scc", [Warning], "a rule that lets its holders use all constraints";
    USER_SUBJECT_INVISIBLE: "user-subject-invisible", [Warning], "a service account that is bound as a user";
    LABELS_NOT_COMPUTABLE: "labels-not-computable", [Warning], "a namespace that the cluster cannot label";
    DECLARED_ENFORCE_STRICTER: "declared-enforce-stricter-than-scc", [Warning], "a declared level that is stricter than what service accounts may use";
    SYNC_TRUE_CONFLICT: "sync-true-conflict", [Warning], "labels that the cluster overwrites";
    OPTED_OUT_WITHOUT_ENFORCE: "opted-out-without-enforce", [Warning], "a namespace that opts out and says no level";
    REDUNDANT_DECLARED_LABEL: "redundant-declared-label", [Warning], "labels that the cluster writes anyway";
    SCC_ANNOTATIONS_INCOMPLETE: "scc-annotations-incomplete", [Warning], "a range of user ids without an SELinux level";
    PINNED_ENFORCE_VERSION: "pinned-enforce-version", [Warning], "a pinned version of the checks that is older than the platform";
    MALFORMED_UID_RANGE: "malformed-uid-range", [Error], "a range of user ids that cannot be read";
    DUPLICATE_UID_RANGE: "duplicate-uid-range", [Warning], "two namespaces with one range of user ids";
    UID_RANGE_AT_ZERO: "uid-range-starts-at-zero", [Warning], "a range of user ids that begins at root";
    EXEMPT_NAMESPACE_LABELLED: "exempt-namespace-labelled", [Warning], "a label on a namespace that is exempt";
    OPENSHIFT_PREFIX_NOT_SYNCED: "openshift-prefix-not-synced", [Warning], "a namespace that is left alone for its name";
    RUN_LEVEL_BYPASS: "run-level-bypass", [Warning], "a label that switches the admission by constraints off";
    STACK_CONTROLLER_ON_NODE: "stack-controller-on-node", [Warning], "a stack whose controller uses the node";
    USER_ABOVE_ACCOUNTS: "user-above-accounts", [Warning], "a user who may create pods under looser constraints than the service accounts";
    REFUSED_BY_LEVEL: "refused-by-level", [Warning], "a workload whose pods the Pod Security level refuses";
    REFUSED_BY_POLICIES: "refused-by-psp", [Warning], "a workload whose pods no PodSecurityPolicy admits";
    REFUSED_BY_CONSTRAINTS: "refused-by-scc", [Warning], "a workload whose pods no constraints admit";
    REFUSED_BY_PROFILE: "refused-by-profile", [Warning], "a workload whose pods the profile of their namespace refuses";
    REFUSED_BY_ADMISSION_POLICY: "refused-by-admission-policy", [Warning], "a workload that an admission policy of the inputs refuses";
    KIND_NOT_SERVED: "kind-not-served", [Error, Warning], "an object of a kind that the target does not serve";
    ALLOWED_HOST_PATHS_WITHOUT_VOLUME: "allowed-host-paths-without-hostPath-volume", [Warning], "host paths that no pod can mount";
    RESERVED_NAME: "reserved-name", [Warning], "a name that the API server reserves from the next version on";
    HOST_PATH_WITHOUT_PATHS: "host-path-volume-without-allowed-paths", [Warning], "a profile that lets pods mount any path of the host";
    GROUP_RANGE_WITH_ROOT: "group-range-includes-root", [Warning], "a group range that includes the root group";
    BINDS_PROFILE_TO_EVERYONE: "binds-psp-to-all-authenticated", [Warning], "a pod security policy that everybody may use";
    CLUSTER_SCOPED_PATH: "cluster-scoped-path", [Warning], "a path that looks for a cluster's object in a namespace";
    AGGREGATES_EVERYTHING: "aggregates-everything", [Warning], "a role that gathers the rules of every ClusterRole";
    GRANT_EXPIRED: "grant-expired", [FailsCheck], "a grant whose last day is over";
    SELECTS_NO_NAMESPACE: "selects-no-namespace", [Warning], "a grant whose selector fits no namespace";
    DELETE_COLLECTION_FOR_TENANTS: "deletecollection-for-tenants", [Warning], "tenants who may delete all of something at once";
    // Packages of Crossplane.
    STACK_REACHES_OUT: "stack-reaches-out", [Warning], "a namespace stack that is not isolated";
    STACK_BESIDE_PRIVILEGED: "stack-beside-privileged-account", [Warning], "a namespace stack that can become an account with more rights";
    STACK_MANAGER_CANNOT_INSTALL: "stack-manager-cannot-install", [Warning], "a stack that the Stack Manager cannot install";
    NO_COMMON_DEFINITION: "no-common-definition", [Error], "a definition of which no copy serves all packages";
    FAMILY_OF_ANOTHER: "family-of-another-organisation", [Warning], "a provider that claims another one's family";
    // Judging access.
    NOTHING_TO_JUDGE: "nothing-to-judge", [Error], "inputs without anything that decides access";
    INVALID_USAGE: "invalid-usage", [Error], "a command that cannot be run as it is written";
    RUN_FAILED: "run-failed", [Error], "a run that failed";
    INVALID_QUESTION: "invalid-question", [Error], "a question that cannot be asked";
    NOTHING_TO_MIGRATE: "nothing-to-migrate", [Error], "inputs without anything to migrate";
    UNUSABLE_INDEX: "unusable-index", [Error], "an index that cannot be asked";
    UNKNOWN_VERSION: "unknown-version", [Error], "a version without known facts";
    EXPRESSION_TYPE: "expression-type", [Warning], "an expression that does not fit a kind of the policy";
    LEGACY_ADDRESS: "legacy-address", [Warning], "a range of addresses that later versions refuse";
    UNCHECKED_GROUP: "unchecked-group", [Warning], "a built-in kind in a group that does not exist";
    UNKNOWN_RESOURCE: "unknown-resource", [Error], "a resource that is not served";
    NEWER_THAN_KNOWN: "newer-than-known", [Warning], "a version that is newer than every known one";
    DEAD_EXPECTATION: "dead-expectation", [Error, Warning], "an AccessTest that cannot fail";
    APPLIER_CANNOT_APPLY: "applier-cannot-apply", [Warning], "an object that the applier of the output may not write";
    AGGREGATED_ROLE_WITH_RULES: "aggregated-role-with-rules", [Warning], "an aggregated ClusterRole with rules of its own";
    AGGREGATION_RING: "aggregation-ring", [Warning], "aggregated roles that gather each other";
    UNKNOWN_RULE: "unknown-rule", [Error], "a rule that `lint` does not have";
    // The output.
    FOREIGN_FILE: "foreign-file", [Error], "a file in the output folder that is not ours";
    EDITED_BY_HAND: "edited-by-hand", [Error], "an output file that was changed by hand";
    LINK_IN_OUTPUT: "link-in-output", [Error], "a symbolic link in the output folder, or what is no file";
    KEPT_MANIFEST: "kept-manifest", [Error], "a kept file in the output folder that could be applied";
    FOLDER_IN_OUTPUT: "folder-in-output", [Error], "a folder in the output folder that holds nothing of ours";
    LEFT_BEHIND: "left-behind", [Error], "an output file outside the output folder";
    EMPTY_OUTPUT: "empty-output", [Error], "a run that would delete everything";
    MASS_DELETE: "mass-delete", [Error], "a run that would delete most namespaces";
    NAMESPACE_DELETE: "namespace-delete", [Error], "a run that would delete a namespace";
    TARGET_DELETE: "target-delete", [Error], "a run that would delete the output of a target";
    MASS_RECREATE: "mass-recreate", [Warning], "the same object renamed in many namespaces";
    IMMUTABLE_ROLE_REF: "immutable-roleRef", [Warning], "a binding whose role changes under the same name";
    BROKEN_BASE: "broken-base", [Warning], "a base of a comparison whose policies do not compile";
    // Parts of a run.
    UNUSABLE_SUMMARY: "unusable-summary", [Error], "a summary that `merge` cannot use";
    INCOMPLETE_PARTS: "incomplete-parts", [Error], "parts that do not make a whole";
    // The workspace.
    WORKSPACE_NOT_FOUND: "workspace-not-found", [Error], "no workspace here";
    INVALID_WORKSPACE: "invalid-workspace", [Error], "a workspace file that cannot be used";
    // Nodes.
    AGENT_RELABELS_NODE: "agent-relabels-node", [Warning], "an agent that may change any label and taint of its node";
    AGENT_SCOPE_BYPASSED: "agent-scope-bypassed", [Warning], "an agent that holds more than its policy looks at";
    AGENT_CAN_BE_IMPERSONATED: "agent-can-be-defeated", [Warning], "a subject that can act as an agent of any node";
    STALE_NODES_BINDING: "stale-system-nodes-binding", [Warning], "all nodes are bound to the role `system:node`";
    SYSTEM_NODE_DRIFT: "system-node-drift", [Warning], "a role `system:node` that is not that of its version";
    NODES_GROUP_IN_USE: "system-nodes-subject-in-use", [Error], "kubelets that depend on the binding of `system:nodes`";
    ISOLATION_BROKEN: "isolation-broken", [Error], "a node pool that reaches Secrets which must be kept from it";
    STATIC_POD_REFERS_TO_OBJECTS: "static-pod-refers-to-objects", [Warning], "a static pod that refers to objects of the API";
    STATIC_POD_INVALID: "static-pod-invalid", [Warning], "a file in the folder of static pods that is no static pod";
    STEERABLE_SELECTOR: "steerable-node-selector", [Warning], "pods that are kept to nodes by a label that a kubelet can set itself";
}

/// Returns the codes of the program, sorted by id.
pub fn all() -> &'static [Code] {
    static ALL: LazyLock<Vec<Code>> = LazyLock::new(|| {
        let lists = [
            CODES,
            crate::access::codes::CODES,
            crate::crossplane::codes::CODES,
            crate::diag::codes::CODES,
            crate::k8s::codes::CODES,
            crate::node::codes::CODES,
        ];
        let mut all = lists.concat();
        all.sort_unstable();
        all
    });
    &ALL
}

/// Returns the code with an id.
pub fn find(id: &str) -> Option<Code> {
    let position = all().binary_search_by(|code| code.id().cmp(id)).ok()?;
    all().get(position).copied()
}

/// Reads diagnostics from a file of the program. An unknown code makes the file invalid.
///
/// # Errors
/// The errors of the deserializer, and an unknown code.
pub fn diagnostics<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Diagnostic>, D::Error> {
    let list = Vec::<Diagnostic<String>>::deserialize(deserializer)?;
    list.into_iter().map(resolve).collect()
}

/// Reads diagnostics with a number beside each, as [`diagnostics`] does.
///
/// # Errors
/// The errors of the deserializer, and an unknown code.
pub fn numbered_diagnostics<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(u32, Diagnostic)>, D::Error> {
    let list = Vec::<(u32, Diagnostic<String>)>::deserialize(deserializer)?;
    list.into_iter().map(|(number, diagnostic)| Ok((number, resolve(diagnostic)?))).collect()
}

fn resolve<E: de::Error>(diagnostic: Diagnostic<String>) -> Result<Diagnostic, E> {
    diagnostic.resolve(find).ok_or_else(|| E::custom("a diagnostic has an unknown code"))
}
