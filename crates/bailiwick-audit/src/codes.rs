//! Codes of diagnostics about audit logs.

bailiwick_yaml::declare_codes! {
    AUDIT_DISAGREES: "audit-disagrees", [Warning], "an audit log has a decision that the manifests do not lead to";
    INVALID_AUDIT_POLICY: "invalid-audit-policy", [Error], "a file is not an audit policy";
    UNREADABLE_AUDIT_LOG: "unreadable-audit-log", [Error], "a file is not an audit log";
    UNUSED_BINDING: "unused-binding", [Warning], "no subject of a binding used it";
    UNUSED_GRANT: "unused-grant", [Warning], "a subject used some rights of a binding only";
}
