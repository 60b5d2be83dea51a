//! E: how to become more than one is.

use super::super::objects::adds_to_default_roles;
use super::{EdgeKind, EdgeTarget, NameEffect, Needs, PermissionReach, RiskRule, RiskSeverity, When, holds};
use crate::codes;

pub(super) const RULES: &[RiskRule] = &[
    holds(
        "E001",
        codes::FULL_AUTHORITY,
        "C/H",
        "* *.*",
        "has every verb on every resource",
    )
    .edge(EdgeKind::Held, EdgeTarget::Everything)
    .help("grant the required verbs and resources, and reserve full authority for repairs of the cluster")
    .power("does everything")
    .reach(PermissionReach::Secrets)
    .named(NameEffect::Void),
    holds(
        "E002",
        codes::ESCALATE_ROLES,
        "C/H",
        "escalate clusterroles.rbac and create,update,patch clusterroles.rbac; escalate roles.rbac and create,update,patch roles.rbac",
        "can write roles with more permissions than it holds, by the verb `escalate`",
    )
    .edge_by(EdgeKind::EscalateRole, EdgeTarget::OwnClusterRoles, &["clusterroles"])
    .edge_by(EdgeKind::EscalateRole, EdgeTarget::OwnRoles, &["roles"])
    .help("remove `escalate`: without it the API server rejects a role with more permissions than its writer holds")
    .power("makes roles with more than it holds")
    .reach(PermissionReach::Secrets),
    holds(
        "E003",
        codes::BIND_ROLES,
        "C/H",
        "bind clusterroles.rbac and create,update,patch clusterrolebindings.rbac,rolebindings.rbac; bind roles.rbac and create,update,patch rolebindings.rbac",
        "can bind any subject to [any role], even a role with more permissions than it holds",
    )
    .edge_by(EdgeKind::BindRole, EdgeTarget::ClusterRolesEverywhere, &["clusterroles", "clusterrolebindings"])
    .edge_by(EdgeKind::BindRole, EdgeTarget::ClusterRolesHere, &["clusterroles", "rolebindings"])
    .edge_by(EdgeKind::BindRole, EdgeTarget::RolesHere, &["roles", "rolebindings"])
    .help("limit `bind` to the required roles by `resourceNames`")
    .power("binds any role")
    .reach(PermissionReach::Secrets)
    .named(NameEffect::Roles),
    holds(
        "E004",
        codes::IMPERSONATE_USERS,
        "C/-",
        "impersonate users",
        "can impersonate [any user]",
    )
    .edge(EdgeKind::Impersonate, EdgeTarget::Users)
    .help("list the users under `resourceNames`")
    .power("acts as any user")
    .reach(PermissionReach::Secrets)
    .named(NameEffect::Users)
    .behind(&["E005"]),
    holds(
        "E005",
        codes::IMPERSONATE_GROUPS,
        // Groups are asked for cluster-wide, and the account to act as may be of one namespace.
        "C/C",
        "impersonate groups and impersonate users,serviceaccounts of any name",
        "can impersonate members of [any group, `system:masters` included]",
    )
    .edge(EdgeKind::Impersonate, EdgeTarget::Groups)
    .help("list the groups under `resourceNames`, without `system:masters`")
    .power("acts as any group")
    .reach(PermissionReach::Secrets)
    .named(NameEffect::Groups),
    holds(
        "E006",
        codes::IMPERSONATE_ACCOUNTS,
        "C/H",
        "impersonate serviceaccounts",
        "can impersonate [any service account]",
    )
    .edge(EdgeKind::Impersonate, EdgeTarget::Accounts)
    .help("list the accounts under `resourceNames`, and grant the verb in their namespace only")
    .power("acts as any service account")
    .reach(PermissionReach::Secrets)
    .named(NameEffect::Accounts)
    .behind(&["E004", "E005"]),
    holds(
        "E007",
        codes::IMPERSONATE_EXTRAS,
        "H/-",
        "impersonate userextras/?.authentication,uids.authentication",
        "can set the UIDs and extra fields of the users that it impersonates",
    )
    .help("grant `userextras/KEY` for single keys, with the values under `resourceNames`"),
    holds(
        "E008",
        codes::CONSTRAINED_IMPERSONATION,
        "H/M",
        "impersonate:user-info users.authentication,groups.authentication since 1.36 and impersonate-on:user-info:? ?.?; \
         impersonate:serviceaccount serviceaccounts.authentication since 1.36 and impersonate-on:serviceaccount:? ?.?; \
         impersonate:arbitrary-node nodes.authentication since 1.36 and impersonate-on:arbitrary-node:? ?.?; \
         impersonate:associated-node nodes.authentication since 1.36 and impersonate-on:associated-node:? ?.?",
        "can impersonate others for some actions",
    )
    .edge_by(EdgeKind::Impersonate, EdgeTarget::Users, &["users"])
    .edge_by(EdgeKind::Impersonate, EdgeTarget::Accounts, &["serviceaccounts"])
    .edge_by(EdgeKind::Impersonate, EdgeTarget::Kubelets, &["nodes"])
    .help("list the impersonated names under `resourceNames`")
    .reach(PermissionReach::Secrets)
    .behind(&["E004", "E005"]),
    holds(
        "E009",
        codes::ISSUE_TOKENS,
        "C/H",
        "create serviceaccounts/token",
        "can issue tokens of [any service account]",
    )
    .edge(EdgeKind::TokenRequest, EdgeTarget::Accounts)
    .help("list the accounts under `resourceNames`")
    .power("makes tokens of every service account")
    .reach(PermissionReach::Secrets)
    .named(NameEffect::Accounts),
    holds(
        "E010",
        codes::TOKEN_THROUGH_SECRET,
        "C/H",
        "create secrets and get,list,watch secrets of any name",
        "can create a token Secret of any service account and read the token",
    )
    .edge(EdgeKind::MakeTokenSecret, EdgeTarget::Accounts)
    .help("remove `create` or the read verbs: the cluster fills a Secret of type `kubernetes.io/service-account-token` with a token")
    .power("makes and reads token Secrets of every service account")
    .reach(PermissionReach::Secrets),
    holds(
        "E011",
        codes::APPROVE_CERTIFICATES,
        "C/-",
        "create certificatesigningrequests.certificates and update,patch certificatesigningrequests/approval.certificates of any name and approve signers.certificates; \
         create certificatesigningrequests.certificates and update,patch certificatesigningrequests/approval.certificates before 1.18",
        "can request client certificates and approve its own requests",
    )
    .edge(EdgeKind::ApproveCsr, EdgeTarget::Certificates)
    .help("let one identity request and another approve, and list the signers under `resourceNames`")
    .power("approves certificates")
    .reach(PermissionReach::Secrets)
    .named(NameEffect::Signers),
    holds(
        "E012",
        codes::SIGN_CERTIFICATES,
        "C/-",
        "update,patch certificatesigningrequests/status.certificates of any name and sign signers.certificates; \
         update,patch certificatesigningrequests/status.certificates before 1.18",
        "can issue certificates of signers",
    )
    .edge(EdgeKind::SignCsr, EdgeTarget::Certificates)
    .help("list the name of the own signer under `resourceNames`")
    .power("signs certificates")
    .reach(PermissionReach::Secrets)
    .named(NameEffect::Signers),
    holds(
        "E013",
        codes::WRITE_ROLES,
        "M/M",
        "create,update,patch roles.rbac,clusterroles.rbac",
        "can write roles with at most the permissions that it holds",
    )
    .help("reserve roles for administrators")
    .behind(&["E002"]),
    holds(
        "E014",
        codes::WRITE_BINDINGS,
        "M/M",
        "create,update,patch rolebindings.rbac,clusterrolebindings.rbac",
        "can grant its own permissions to any subject",
    )
    .edge(EdgeKind::WriteRbac, EdgeTarget::OwnPermissions)
    .help("reserve bindings for administrators")
    .behind(&["E003"]),
    holds(
        "E015",
        codes::DELETE_ROLES,
        "H/M",
        "delete,deletecollection roles.rbac,clusterroles.rbac,rolebindings.rbac,clusterrolebindings.rbac",
        "can revoke the access of others",
    )
    .help("reserve roles and bindings for administrators"),
    RiskRule::new(
        "E016",
        codes::AGGREGATED_INTO_DEFAULT_ROLE,
        "-/-",
        When::Role(adds_to_default_roles),
        "adds rules by its labels to {what}, for every subject with such a role",
    )
    .help("remove the label, and bind the role to the subjects that need it"),
    holds(
        "E017",
        codes::CHANGE_AWS_AUTH,
        "C/-",
        "update,patch configmaps of name aws-auth",
        "can change the mapping of AWS identities to users and groups of the cluster (ConfigMap `aws-auth`)",
    )
    .help("grant other ConfigMaps of `kube-system` by name, and reserve `aws-auth` for administrators")
    .power("changes which identities of AWS are which users")
    .reach(PermissionReach::Secrets)
    .in_control_plane(RiskSeverity::Critical)
    .nowhere_else()
    .needs(Needs::AwsAuth),
    holds(
        "E018",
        codes::REACH_CLOUD_ACCOUNT,
        "M/M",
        "create serviceaccounts/token or create pods or create,update,patch deployments.apps,daemonsets.apps,statefulsets.apps,replicasets.apps,replicationcontrollers,jobs.batch,cronjobs.batch",
        "can get tokens of {what}, and so use identities of a cloud provider",
    )
    .help("keep service accounts with a cloud identity in separate namespaces")
    .named(NameEffect::Void)
    .needs(Needs::CloudAccount),
    holds(
        "E019",
        codes::WRITE_IDENTITIES,
        "C/-",
        "create,update,patch users.user.openshift.io,groups.user.openshift.io,useridentitymappings.user.openshift.io,oauthclients.oauth.openshift.io,oauths.config.openshift.io where known",
        "can change users, groups or logins of OpenShift",
    )
    .help("reserve identities for the identity provider, its group sync and administrators, or list the objects under `resourceNames`")
    .power("changes users, groups or logins of OpenShift")
    .reach(PermissionReach::Secrets),
    holds(
        "E020",
        codes::USE_PRIVILEGED_POLICY,
        "H/H",
        "use securitycontextconstraints.security.openshift.io,podsecuritypolicies.policy,podsecuritypolicies.extensions",
        "can use [any pod policy, privileged policies included,] for its pods",
    )
    .edge_by(EdgeKind::UseScc, EdgeTarget::PodPolicies, &["securitycontextconstraints"])
    .edge_by(EdgeKind::UsePsp, EdgeTarget::PodPolicies, &["podsecuritypolicies"])
    .help("list the policies under `resourceNames`")
    .named(NameEffect::Policies),
    holds(
        "E021",
        codes::WRITE_POD_POLICIES,
        "C/-",
        "create,update,patch securitycontextconstraints.security.openshift.io,podsecuritypolicies.policy,podsecuritypolicies.extensions",
        "can write the policies that restrict pods",
    )
    .help("reserve pod policies for administrators")
    .power("writes the policies that confine pods"),
    holds(
        "E022",
        codes::DRIVE_GITOPS,
        "C/H",
        "create,update,patch applications.argoproj.io,applicationsets.argoproj.io,appprojects.argoproj.io,kustomizations.kustomize.toolkit.fluxcd.io,helmreleases.helm.toolkit.fluxcd.io where known",
        "can make a GitOps controller apply any object",
    )
    .edge(EdgeKind::DriveGitops, EdgeTarget::Controllers)
    .help("let the controller impersonate a service account of the writer, and reserve projects for administrators")
    .power("writes for every GitOps controller")
    .reach(PermissionReach::Secrets),
    holds(
        "E023",
        codes::DRIVE_INSTALLER,
        "C/H",
        "create clusterstackinstalls.stacks.crossplane.io,stackinstalls.stacks.crossplane.io,providers.pkg.crossplane.io,configurations.pkg.crossplane.io,functions.pkg.crossplane.io,subscriptions.operators.coreos.com,clusterserviceversions.operators.coreos.com,clusterextensions.olm.operatorframework.io,helmcharts.helm.cattle.io where known",
        "can make a package manager install any package",
    )
    .edge(EdgeKind::DriveInstaller, EdgeTarget::Controllers)
    .help("reserve installation for administrators: the package manager holds every permission that a package requests")
    .power("installs packages")
    .reach(PermissionReach::Secrets),
    holds(
        "E024",
        codes::NEAR_STAR,
        "C/H",
        "create,update,patch,delete,deletecollection *.*",
        "can {what}",
    )
    .help("list the required resources")
    .named(NameEffect::Void),
];
