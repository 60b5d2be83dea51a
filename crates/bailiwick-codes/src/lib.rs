#![doc = include_str!("../README.md")]

use std::sync::LazyLock;

use serde::{Deserialize, Deserializer, de};

pub use bailiwick_access::codes::*;
pub use bailiwick_admission::codes::*;
pub use bailiwick_audit::codes::*;
pub use bailiwick_crossplane::codes::*;
pub use bailiwick_import::codes::*;
pub use bailiwick_kubernetes::codes::*;
pub use bailiwick_node::codes::*;
pub use bailiwick_yaml::diag::codes::*;
use bailiwick_yaml::diag::{Code, Diagnostic};

bailiwick_yaml::declare_codes! {
    // Reading text.
    INVALID_UTF8: "invalid-utf8", [Error], "a file is not UTF-8";
    FILE_TOO_LARGE: "file-too-large", [Error], "a file exceeds the size limit";
    UNREADABLE_FILE: "unreadable-file", [Error, Warning], "a path that is not a regular file";
    HIDDEN_CHARACTER_IN_NAME: "hidden-character-in-name", [Error], "the name of an input file contains invisible characters";
    // The shape of policies.
    UNKNOWN_KIND: "unknown-kind", [Error], "a document of a kind that is not a policy kind";
    NOT_A_POLICY: "not-a-policy", [Error], "a document in the policy folder is not a policy";
    DUPLICATE_POLICY: "duplicate-policy", [Error], "two policies of one kind have the same name";
    UNKNOWN_TARGET: "unknown-target", [Error], "a target pattern matches no target";
    UNKNOWN_REFERENCE: "unknown-reference", [Error], "a reference to a policy that does not exist";
    INCLUDE_CYCLE: "include-cycle", [Error], "policies include each other";
    INVALID_PATH: "invalid-path", [Error, Warning], "a path that no API request has";
    AMBIGUOUS_RESOURCE: "ambiguous-resource", [Error], "a resource without a group that several groups serve";
    UNKNOWN_VARIABLE: "unknown-variable", [Error], "a variable is not declared";
    INVALID_PATTERN: "invalid-pattern", [Error], "a text with unbalanced braces";
    OPTIONAL_IN_REQUIRED: "optional-in-required", [Error], "a required text with `?`";
    LIST_IN_TEXT: "list-in-text", [Error], "a list in a single text";
    INVALID_CONDITION: "invalid-condition", [Error], "a condition that cannot be evaluated";
    FAILED_CONDITION: "failed-condition", [Error], "a condition fails for an account or a target";
    SHADOWED_VARIABLE: "shadowed-variable", [Error], "the variable of a loop has the name of another variable";
    UNKNOWN_SCOPE: "unknown-scope", [Error], "an object of a kind that may be in a namespace or not";
    OPTIONAL_MAY_BE_EMPTY: "optional-may-be-empty", [Warning], "a missing value changes a name";
    MISSING_VALUE: "missing-value", [Error], "a namespace lacks a label or an annotation";
    UNKNOWN_SUBJECT: "unknown-subject", [Error, Warning], "a user or group that is not declared";
    UNKNOWN_NAMESPACE: "unknown-namespace", [Error, Warning], "a namespace that is neither declared nor created";
    UNUSED_POLICY: "unused-policy", [Warning], "a policy produces no object";
    // Files beside the policies.
    MISSING_FILE: "missing-file", [Error], "a file or folder that the workspace names does not exist";
    PATH_OUTSIDE: "path-outside-workspace", [Error], "a path leaves the workspace";
    INVALID_ACCOUNTS: "invalid-accounts", [Error], "an account list cannot be read";
    INVALID_ACCOUNT: "invalid-account", [Error], "an account violates the declared variables";
    DUPLICATE_ACCOUNT: "duplicate-account", [Error], "two accounts share a unique value";
    // Templates.
    TEMPLATE_SYNTAX: "template-syntax", [Error], "a template has a syntax error";
    TEMPLATE_COMPOSITE: "template-composite", [Error], "a template joins text and a value";
    TEMPLATE_FAILED: "template-failed", [Error], "a template failed during rendering";
    TEMPLATE_IDENTITY: "template-identity", [Error], "a template changes the identity of an object";
    TEMPLATE_MEANING: "template-meaning", [Error], "a template changes the meaning of a policy";
    TEMPLATE_OUTPUT: "template-output", [Error], "a template does not render exactly one object";
    UNKNOWN_TEMPLATE: "unknown-template", [Warning], "a file in the template folder replaces no template";
    // Objects.
    SEVERAL_READINGS: "several-readings", [Error], "an object that an applier reads in another way than it was compiled";
    MALFORMED_OBJECT: "malformed-object", [Error, Warning], "an object does not have the structure of its kind";
    SKIPPED_FILE: "skipped-file", [Note], "a file of a folder holds no objects";
    ASSUMED_NAMESPACE: "assumed-namespace", [Note], "an object without a namespace belongs to `default`";
    SERVER_FIELD: "server-field", [Error, Note], "a field that only the server sets";
    UNRESOLVED_REFERENCE: "unresolved-reference", [Error, Warning], "a binding refers to a role that does not exist";
    POD_SECURITY_POLICY_REMOVED: "podsecuritypolicy-removed", [Error], "a PodSecurityPolicy for a cluster without PodSecurityPolicy";
    DEFAULTS_NOT_SET: "defaults-not-set", [Warning], "a target sets no defaults of a profile";
    INEXPRESSIBLE_LIMIT: "inexpressible-limit", [Error], "the platform has no field for a limit";
    USER_SUBJECT_INVISIBLE: "user-subject-invisible", [Warning], "a binding names a service account as a user";
    STACK_CONTROLLER_ON_NODE: "stack-controller-on-node", [Warning], "the controller of a stack uses the node";
    KIND_NOT_SERVED: "kind-not-served", [Error, Warning], "the target does not serve the kind of an object";
    ALLOWED_HOST_PATHS_WITHOUT_VOLUME: "allowed-host-paths-without-hostPath-volume", [Warning], "host paths that no pod can mount";
    RESERVED_NAME: "reserved-name", [Warning], "a name that the next version of the API server reserves";
    HOST_PATH_WITHOUT_PATHS: "host-path-volume-without-allowed-paths", [Warning], "a profile lets pods mount every path of the node";
    GROUP_RANGE_WITH_ROOT: "group-range-includes-root", [Warning], "a group range includes the root group";
    BINDS_PROFILE_TO_EVERYONE: "binds-psp-to-all-authenticated", [Warning], "a PodSecurityPolicy for all subjects";
    CLUSTER_SCOPED_PATH: "cluster-scoped-path", [Warning], "a path with a cluster-scoped object in a namespace";
    AGGREGATES_EVERYTHING: "aggregates-everything", [Warning], "a role aggregates the rules of every ClusterRole";
    EXPANDED_WILDCARD: "expanded-wildcard", [Finding], "a permission set names the resources of a target in place of `*`";
    GRANT_EXPIRED: "grant-expired", [FailsCheck, Warning], "the last day of a grant is over";
    MISSING_JUSTIFICATION: "missing-justification", [Error], "a grant lacks fields that the workspace requires";
    TOO_LONG: "too-long", [Error], "a grant lasts longer than the workspace allows";
    ALLOW_EXPIRED: "allow-expired", [Warning], "the last day of an acceptance is over";
    UNUSED_ALLOW: "unused-allow", [Warning], "an acceptance of a warning that the policy does not have";
    GRANT_EXPIRES_SOON: "grant-expires-soon", [Warning], "the last day of a grant is near";
    AS_OF_IN_FUTURE: "as-of-in-future", [Warning], "grants are left out before their last day";
    SELECTS_NO_NAMESPACE: "selects-no-namespace", [Warning], "the selector of a grant selects no namespace";
    DELETE_COLLECTION_FOR_TENANTS: "deletecollection-for-tenants", [Warning], "tenants can delete all objects of a kind at once";
    // Packages of Crossplane.
    STACK_REACHES_OUT: "stack-reaches-out", [Warning], "a namespace stack is not isolated";
    STACK_BESIDE_PRIVILEGED: "stack-beside-privileged-account", [Warning], "a namespace stack can gain the permissions of another account";
    STACK_MANAGER_CANNOT_INSTALL: "stack-manager-cannot-install", [Warning], "the Stack Manager cannot install a stack";
    NO_COMMON_DEFINITION: "no-common-definition", [Error], "no copy of a definition serves all packages";
    FAMILY_OF_ANOTHER: "family-of-another-organisation", [Warning], "a provider claims the family of another organisation";
    // Judging access.
    NOTHING_TO_JUDGE: "nothing-to-judge", [Error], "the inputs contain no object that decides access";
    INVALID_USAGE: "invalid-usage", [Error], "an invalid command line";
    RUN_FAILED: "run-failed", [Error], "a run failed";
    INVALID_QUESTION: "invalid-question", [Error], "an incomplete or invalid question";
    NOTHING_TO_MIGRATE: "nothing-to-migrate", [Error], "the inputs contain no object to migrate";
    UNUSABLE_INDEX: "unusable-index", [Error], "an index cannot be used";
    INVALID_FUNCTION_INPUT: "invalid-function-input", [Error], "an input that `bailiwick fn` cannot use";
    UNKNOWN_VERSION: "unknown-version", [Error], "a version without known facts";
    EXPRESSION_TYPE: "expression-type", [Warning], "an expression does not fit a kind of the policy";
    LEGACY_ADDRESS: "legacy-address", [Warning], "an address range that later versions reject";
    UNCHECKED_GROUP: "unchecked-group", [Warning], "a built-in kind in an unknown API group";
    UNKNOWN_RESOURCE: "unknown-resource", [Error], "a resource that no API group serves";
    NEWER_THAN_KNOWN: "newer-than-known", [Warning], "a version is newer than the newest known version";
    DEAD_EXPECTATION: "dead-expectation", [Error, Warning], "an AccessTest that cannot fail";
    APPLIER_CANNOT_APPLY: "applier-cannot-apply", [Warning], "the applier of the output lacks the permission to write an object";
    GUARD_LOCKS_OUT: "guard-locks-out", [Warning], "an admission policy refuses the writes of the applier or of a controller";
    GUARD_CAN_BE_SWITCHED_OFF: "guard-can-be-switched-off", [Warning], "a subject can switch a Guard off or write as an allowed identity";
    UNENFORCED_POD_SECURITY: "unenforced-pod-security", [Finding], "levels or profiles of Pod Security that reject no pod";
    SHARD_TOO_LARGE: "shard-too-large", [Finding], "a folder of the output has too many objects for one application";
    NAMESPACE_UNPROTECTED: "namespace-unprotected", [Finding], "an applier deletes a Namespace that goes from the manifests";
    EXCLUDED_KIND: "excluded-kind", [Finding], "an object of a kind that Argo CD leaves out";
    SUBSTITUTION_IN_TEXT: "substitution-in-text", [Finding], "a text of an object that Flux can take for a variable";
    AGGREGATED_ROLE_WITH_RULES: "aggregated-role-with-rules", [Warning], "an aggregated ClusterRole with its own rules";
    AGGREGATION_RING: "aggregation-ring", [Warning], "aggregated roles aggregate each other";
    UNKNOWN_RULE: "unknown-rule", [Error], "a rule that `lint` does not have";
    // A live cluster.
    DRIFT_MISSING: "drift-missing", [Error], "an object of the policies is not in the cluster";
    DRIFT_CHANGED: "drift-changed", [Error], "an object of the cluster differs from the policies";
    DRIFT_TERMINATING: "drift-terminating", [Error], "an object of the policies is being deleted in the cluster";
    DRIFT_UNMANAGED: "drift-unmanaged", [Error], "an object near the policies that no policy writes";
    DRIFT_ACCEPT_EXPIRED: "drift-accept-expired", [Warning], "an accepted difference after its last day";
    DRIFT_ACCEPT_UNUSED: "drift-accept-unused", [Warning], "an accepted difference that the cluster does not have";
    LIVE_TEST_FAILED: "live-test-failed", [Error], "an AccessTest that passes on the policies and fails in the cluster";
    DRIFT_ACCESS: "drift-access", [Error], "a subject has other access in the cluster than by the policies";
    INCOMPLETE_DUMP: "incomplete-dump", [Error], "a dump lacks objects of its cluster";
    // The output.
    FOREIGN_FILE: "foreign-file", [Error], "a file of another origin in the output folder";
    EDITED_BY_HAND: "edited-by-hand", [Error], "an output file was changed by hand";
    LINK_IN_OUTPUT: "link-in-output", [Error], "a link or a special file in the output folder";
    KEPT_MANIFEST: "kept-manifest", [Error], "an applier would apply a kept file in the output folder";
    APPLIER_STEERED: "applier-steered", [Error], "a file of the repository changes what an applier reads of the output";
    FOLDER_IN_OUTPUT: "folder-in-output", [Error], "a foreign folder in the output folder";
    CONVERTED_OUTPUT: "converted-output", [Error], "a checkout writes other bytes than an output file has in git";
    LEFT_BEHIND: "left-behind", [Error], "an output file outside the output folder";
    EMPTY_OUTPUT: "empty-output", [Error], "a run would delete every object of a target";
    MASS_DELETE: "mass-delete", [Error], "a run would delete most namespaces";
    NAMESPACE_DELETE: "namespace-delete", [Error], "a run would delete a namespace";
    TARGET_DELETE: "target-delete", [Error], "a run would delete the output of a target";
    SHARD_MOVE: "shard-move", [Error], "a run would move output files from a folder whose applier deletes their objects";
    MASS_RECREATE: "mass-recreate", [Warning], "a run would rename one object in many namespaces";
    IMMUTABLE_ROLE_REF: "immutable-roleRef", [Warning], "the role of a binding changes under the same name";
    BROKEN_BASE: "broken-base", [Warning], "the policies of the base of a comparison do not compile";
    // Parts of a run.
    UNUSABLE_SUMMARY: "unusable-summary", [Error], "a summary that `merge` cannot use";
    INCOMPLETE_PARTS: "incomplete-parts", [Error], "the summaries of some shards are missing";
    // The workspace.
    WORKSPACE_NOT_FOUND: "workspace-not-found", [Error], "no workspace in this folder or above it";
    DELIVERY_APPLIER: "delivery-applier", [Error], "the service account of Flux differs from `appliedBy`";
    DELIVERY_PATH: "delivery-path", [Error], "the workspace is in another folder of the repository than its delivery states";
    INVALID_WORKSPACE: "invalid-workspace", [Error], "the workspace file is invalid";
    UNUSED_GLOB: "unused-glob", [Warning], "a glob of the policy files that matches no file";
    // Nodes.
    AGENT_RELABELS_NODE: "agent-relabels-node", [Warning], "an agent can change all labels and taints of its node";
    AGENT_SCOPE_BYPASSED: "agent-scope-bypassed", [Warning], "an agent holds write permissions that its admission policy does not check";
    AGENT_CAN_BE_IMPERSONATED: "agent-can-be-defeated", [Warning], "a subject can act as the agent of any node";
    STALE_NODES_BINDING: "stale-system-nodes-binding", [Warning], "all nodes are bound to the role `system:node`";
    SYSTEM_NODE_DRIFT: "system-node-drift", [Warning], "the role `system:node` differs from the default of its version";
    NODES_GROUP_IN_USE: "system-nodes-subject-in-use", [Error], "kubelets depend on the binding of `system:nodes`";
    ISOLATION_BROKEN: "isolation-broken", [Error], "a node pool reaches Secrets of an isolated namespace";
    STATIC_POD_REFERS_TO_OBJECTS: "static-pod-refers-to-objects", [Warning], "a static pod refers to API objects";
    STATIC_POD_INVALID: "static-pod-invalid", [Warning], "a file in the folder of static pods is not a static pod";
    STEERABLE_SELECTOR: "steerable-node-selector", [Warning], "a node selector with a label that kubelets can set";
}

/// Returns the codes of the program, sorted by id.
pub fn all() -> &'static [Code] {
    static ALL: LazyLock<Vec<Code>> = LazyLock::new(|| {
        let lists = [
            CODES,
            bailiwick_access::codes::CODES,
            bailiwick_admission::codes::CODES,
            bailiwick_audit::codes::CODES,
            bailiwick_crossplane::codes::CODES,
            bailiwick_yaml::diag::codes::CODES,
            bailiwick_import::codes::CODES,
            bailiwick_kubernetes::codes::CODES,
            bailiwick_node::codes::CODES,
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
