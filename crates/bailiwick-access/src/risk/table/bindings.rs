//! B: bindings and their subjects.

use super::super::{hygiene, objects};
use super::{RiskRule, When};
use crate::codes;

pub(super) const RULES: &[RiskRule] = &[
    RiskRule::new(
        "B001",
        codes::ANONYMOUS_SUBJECT,
        "C/C",
        When::Binding(objects::anonymous),
        "grants {role} to {what}, and so to every client of the API server",
    )
    .help("bind users, groups or service accounts that authenticate"),
    RiskRule::new(
        "B002",
        codes::EVERYBODY_SUBJECT,
        "H/H",
        When::Binding(objects::everybody),
        "grants {role} to {what}, and so to every user and service account",
    )
    .help("bind the groups and service accounts that need the role"),
    RiskRule::new(
        "B003",
        codes::ALL_ACCOUNTS_SUBJECT,
        "H/M",
        When::Binding(objects::all_accounts),
        "grants {role} to {what}, which includes service accounts of later workloads",
    )
    .help("bind the service accounts that need the role"),
    RiskRule::new(
        "B004",
        codes::MASTERS_SUBJECT,
        "H/H",
        When::Binding(objects::masters),
        "grants {role} to {what}, whose members have full authority without it",
    )
    .help("remove the subject, and issue no certificate for the group: a certificate cannot be revoked"),
    RiskRule::new(
        "B005",
        codes::CLUSTER_ADMIN_BINDING,
        "C/H",
        When::Binding(objects::cluster_admin),
        "grants full authority to {what}",
    )
    .help("bind a role with the required permissions, and reserve `cluster-admin` for repairs of the cluster"),
    RiskRule::new(
        "B006",
        codes::DEFAULT_ACCOUNT_BOUND,
        "M/M",
        When::Binding(objects::default_account),
        "grants {role} to {what}, the account of every pod that sets no other account",
    )
    .help("create a service account for the workload, and bind it instead"),
    RiskRule::new(
        "B007",
        codes::NEEDLESSLY_CLUSTER_WIDE,
        "M/-",
        When::Binding(objects::needlessly_cluster_wide),
        "grants {role} in every namespace to {what}, although RoleBindings can grant it in single namespaces",
    )
    .help("bind the role by RoleBindings in the required namespaces"),
    RiskRule::new(
        "B008",
        codes::DANGLING_ROLE,
        "M/M",
        When::Binding(objects::dangling),
        "binds {what}, which is not among the objects",
    )
    .help("add the role, or remove the binding: it grants any role that is created under that name"),
    RiskRule::new(
        "B010",
        codes::UNUSED_ROLE,
        "I/I",
        When::Role(hygiene::unused_role),
        "has no binding among the objects, and no aggregated role selects it",
    )
    .help("remove the role, or add a binding"),
    RiskRule::new(
        "B011",
        codes::BINDING_WITHOUT_SUBJECTS,
        "I/I",
        When::Binding(objects::without_subjects),
        "grants {role} to no subject",
    )
    .help("remove the binding, or add subjects"),
    RiskRule::new("B012", codes::REPEATED_USERS, "I/I", When::Binding(hygiene::repeated_users), "lists {what}")
        .help("bind a group of these users, if the identity provider has groups"),
    RiskRule::new("B013", codes::SHADOWED_BINDING, "I/I", When::Binding(hygiene::shadowed), "grants {role} to {what}")
        .help("remove the binding, or remove the wider one if the narrow one is intended"),
    RiskRule::new(
        "B014",
        codes::REPEATED_ROLE,
        "I/I",
        When::Role(hygiene::repeated_role),
        "has the same rules as {what}",
    )
    .help("write the rules once, in a ClusterRole, and bind it in each namespace"),
    RiskRule::new(
        "B015",
        codes::FOREIGN_ACCOUNT,
        "L/L",
        When::Binding(objects::foreign_account),
        "grants {role} to {what}, an account of another namespace",
    )
    .help("make sure that one team controls both namespaces: a subject that creates pods there gains the role"),
    RiskRule::new(
        "B017",
        codes::MANY_ROLES,
        "I/I",
        When::Subject(hygiene::many_roles),
        "is bound to {what} roles with different rules",
    )
    .help("merge roles that are granted in the same namespaces"),
    RiskRule::new(
        "B018",
        codes::WILDCARD,
        "M/L",
        When::Role(objects::wildcard),
        "has `*` among {what}, which grows with every Kubernetes version and every custom resource",
    )
    .help("list the required entries"),
    RiskRule::new(
        "B019",
        codes::BASELINE_ROLE_BINDING,
        "C/H",
        When::BaselineRole,
        "holds {role}, a baseline role with {what}",
    )
    .help("bind a role with the required permissions, or accept the baseline role as a whole"),
];
