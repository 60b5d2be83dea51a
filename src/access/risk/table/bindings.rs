//! B: bindings and their subjects.

use super::super::objects;
use super::{Rule, When};
use crate::diag::Code;

pub(super) const RULES: &[Rule] = &[
    Rule::new(
        "B001",
        Code::AnonymousSubject,
        "C/C",
        When::Binding(objects::anonymous),
        "gives {role} to {what}: to whoever reaches the API server",
        "bind somebody who has to say who he is",
    ),
    Rule::new(
        "B002",
        Code::EverybodySubject,
        "H/H",
        When::Binding(objects::everybody),
        "gives {role} to {what}: to everybody, and to every account of every pod",
        "bind the group of those who need it",
    ),
    Rule::new(
        "B003",
        Code::AllAccountsSubject,
        "H/M",
        When::Binding(objects::all_accounts),
        "gives {role} to {what}: to accounts that nobody here chose, and to those that are made later",
        "bind the accounts that need it",
    ),
    Rule::new(
        "B004",
        Code::MastersSubject,
        "H/H",
        When::Binding(objects::masters),
        "gives {role} to {what}, whose members may do everything without it",
        "remove the subject, and see that no certificate names the group: it cannot be revoked",
    ),
    Rule::new(
        "B005",
        Code::ClusterAdminBinding,
        "C/H",
        When::Binding(objects::cluster_admin),
        "makes {what} an administrator of everything",
        "bind a role with what is needed, and keep `cluster-admin` for repairing the cluster",
    ),
    Rule::new(
        "B006",
        Code::DefaultAccountBound,
        "M/M",
        When::Binding(objects::default_account),
        "gives {role} to {what}, which every pod has that names no other account",
        "make an account for the workload and bind that",
    ),
    Rule::new(
        "B007",
        Code::NeedlesslyClusterWide,
        "M/-",
        When::Binding(objects::needlessly_cluster_wide),
        "gives {role} in every namespace to {what}, where a RoleBinding would give it in one",
        "bind the role by RoleBindings in the namespaces that are needed",
    ),
    Rule::new(
        "B008",
        Code::DanglingRole,
        "M/M",
        When::Binding(objects::dangling),
        "binds {what}, which is not there",
        "bring the role in, or remove the binding: it gives whatever somebody puts under that name",
    ),
    Rule::new(
        "B011",
        Code::BindingWithoutSubjects,
        "I/I",
        When::Binding(objects::without_subjects),
        "gives {role} to nobody",
        "remove the binding, or name whom it is for",
    ),
    Rule::new(
        "B015",
        Code::ForeignAccount,
        "L/L",
        When::Binding(objects::foreign_account),
        "gives {role} to {what}, which lives in another namespace",
        "see that the other namespace is in the same hands: whoever makes pods there holds it",
    ),
    Rule::new(
        "B018",
        Code::Wildcard,
        "M/L",
        When::Role(objects::wildcard),
        "has a star among {what}, which grows with every version and every custom resource",
        "write out what is needed",
    ),
];
