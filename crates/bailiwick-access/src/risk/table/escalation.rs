//! E: how to become more than one is.

use super::super::objects::adds_to_default_roles;
use super::{Named, Needs, Reach, Rule, Severity, When, holds};
use crate::codes;

pub(super) const RULES: &[Rule] = &[
    holds(
        "E001",
        codes::FULL_AUTHORITY,
        "C/H",
        "* *.*",
        "may do everything",
        "grant the verbs and resources that are needed, and keep full authority for repairing the cluster",
    )
    .power("does everything")
    .reach(Reach::Secrets)
    .named(Named::Void),
    holds(
        "E002",
        codes::ESCALATE_ROLES,
        "C/H",
        "escalate clusterroles.rbac and create,update,patch clusterroles.rbac; escalate roles.rbac and create,update,patch roles.rbac",
        "can write roles that grant more than it holds, by `escalate`",
        "take `escalate` away: without it the API server refuses to let a role grant more than its writer holds",
    )
    .power("makes roles with more than it holds")
    .reach(Reach::Secrets),
    holds(
        "E003",
        codes::BIND_ROLES,
        "C/H",
        "bind clusterroles.rbac and create,update,patch clusterrolebindings.rbac,rolebindings.rbac; bind roles.rbac and create,update,patch rolebindings.rbac",
        "can bind anybody to [any role], whatever it holds itself",
        "limit `bind` to the roles that are to be handed out, by `resourceNames`",
    )
    .power("binds any role")
    .reach(Reach::Secrets)
    .named(Named::Roles),
    holds(
        "E004",
        codes::IMPERSONATE_USERS,
        "C/-",
        "impersonate users",
        "can act as [any user]",
        "name the users under `resourceNames`",
    )
    .power("acts as any user")
    .reach(Reach::Secrets)
    .named(Named::Users)
    .behind(&["E005"]),
    holds(
        "E005",
        codes::IMPERSONATE_GROUPS,
        // Groups are asked for cluster-wide, and the account to act as may be of one namespace.
        "C/C",
        "impersonate groups and impersonate users,serviceaccounts of any name",
        "can act as a member of [any group, `system:masters` included]",
        "name the groups under `resourceNames`, and never `system:masters`",
    )
    .power("acts as any group")
    .reach(Reach::Secrets)
    .named(Named::Groups),
    holds(
        "E006",
        codes::IMPERSONATE_ACCOUNTS,
        "C/H",
        "impersonate serviceaccounts",
        "can act as [any service account]",
        "name the accounts under `resourceNames`, and grant it in their namespace only",
    )
    .power("acts as any service account")
    .reach(Reach::Secrets)
    .named(Named::Accounts)
    .behind(&["E004", "E005"]),
    holds(
        "E007",
        codes::IMPERSONATE_EXTRAS,
        "H/-",
        "impersonate userextras/?.authentication,uids.authentication",
        "can set uids and extra fields of whom it acts as",
        "write the keys out as `userextras/KEY`, with the values under `resourceNames`",
    ),
    holds(
        "E008",
        codes::CONSTRAINED_IMPERSONATION,
        "H/M",
        "impersonate:user-info users.authentication,groups.authentication since 1.36 and impersonate-on:user-info:? ?.?; \
         impersonate:serviceaccount serviceaccounts.authentication since 1.36 and impersonate-on:serviceaccount:? ?.?; \
         impersonate:arbitrary-node nodes.authentication since 1.36 and impersonate-on:arbitrary-node:? ?.?; \
         impersonate:associated-node nodes.authentication since 1.36 and impersonate-on:associated-node:? ?.?",
        "can act as others for some actions",
        "name whom it may act as under `resourceNames`",
    )
    .reach(Reach::Secrets)
    .behind(&["E004", "E005"]),
    holds(
        "E009",
        codes::ISSUE_TOKENS,
        "C/H",
        "create serviceaccounts/token",
        "can issue itself tokens of [any service account]",
        "name the accounts under `resourceNames`",
    )
    .power("makes tokens of every service account")
    .reach(Reach::Secrets)
    .named(Named::Accounts),
    holds(
        "E010",
        codes::TOKEN_THROUGH_SECRET,
        "C/H",
        "create secrets and get,list,watch secrets of any name",
        "can make a token of any service account and read it",
        "leave `create` or reading away: a secret of type `kubernetes.io/service-account-token` is filled by the cluster",
    )
    .power("makes and reads token Secrets of every service account")
    .reach(Reach::Secrets),
    holds(
        "E011",
        codes::APPROVE_CERTIFICATES,
        "C/-",
        "create certificatesigningrequests.certificates and update,patch certificatesigningrequests/approval.certificates of any name and approve signers.certificates; \
         create certificatesigningrequests.certificates and update,patch certificatesigningrequests/approval.certificates before 1.18",
        "can ask for client certificates and approve them itself",
        "let one identity ask and another approve, and name the signers under `resourceNames`",
    )
    .power("approves certificates")
    .reach(Reach::Secrets)
    .named(Named::Signers),
    holds(
        "E012",
        codes::SIGN_CERTIFICATES,
        "C/-",
        "update,patch certificatesigningrequests/status.certificates of any name and sign signers.certificates; \
         update,patch certificatesigningrequests/status.certificates before 1.18",
        "can issue certificates in the name of signers",
        "name the signer that it is under `resourceNames`",
    )
    .power("signs certificates")
    .reach(Reach::Secrets)
    .named(Named::Signers),
    holds(
        "E013",
        codes::WRITE_ROLES,
        "M/M",
        "create,update,patch roles.rbac,clusterroles.rbac",
        "can write roles, within what it holds",
        "leave roles to whoever reviews them",
    )
    .behind(&["E002"]),
    holds(
        "E014",
        codes::WRITE_BINDINGS,
        "M/M",
        "create,update,patch rolebindings.rbac,clusterrolebindings.rbac",
        "can hand on what it holds to anybody",
        "leave bindings to whoever reviews them",
    )
    .behind(&["E003"]),
    holds(
        "E015",
        codes::DELETE_ROLES,
        "H/M",
        "delete,deletecollection roles.rbac,clusterroles.rbac,rolebindings.rbac,clusterrolebindings.rbac",
        "can take away the access of others",
        "leave roles and bindings to whoever reviews them",
    ),
    Rule::new(
        "E016",
        codes::AGGREGATED_INTO_DEFAULT_ROLE,
        "-/-",
        When::Role(adds_to_default_roles),
        "adds by its labels to {what}, for everybody who holds that",
        "take the label away, and bind the role to whom it is for",
    ),
    holds(
        "E017",
        codes::CHANGE_AWS_AUTH,
        "C/-",
        "update,patch configmaps of name aws-auth",
        "can change which identities of AWS are which users and groups of the cluster (ConfigMap `aws-auth`)",
        "grant other ConfigMaps of `kube-system` by name, and leave this one to administrators",
    )
    .power("changes which identities of AWS are which users")
    .reach(Reach::Secrets)
    .in_control_plane(Severity::Critical)
    .nowhere_else()
    .needs(Needs::AwsAuth),
    holds(
        "E018",
        codes::REACH_CLOUD_ACCOUNT,
        "M/M",
        "create serviceaccounts/token or create pods or create,update,patch deployments.apps,daemonsets.apps,statefulsets.apps,replicasets.apps,replicationcontrollers,jobs.batch,cronjobs.batch",
        "can get tokens of {what}, by which a cloud knows an identity of its own",
        "keep accounts with an identity in a cloud in namespaces of their own",
    )
    .named(Named::Void)
    .needs(Needs::CloudAccount),
    holds(
        "E019",
        codes::WRITE_IDENTITIES,
        "C/-",
        "create,update,patch users.user.openshift.io,groups.user.openshift.io,useridentitymappings.user.openshift.io,oauthclients.oauth.openshift.io,oauths.config.openshift.io where known",
        "can change users, groups or logins of OpenShift",
        "leave identities to the identity provider, its group sync and administrators, or name the objects under `resourceNames`",
    )
    .power("changes users, groups or logins of OpenShift")
    .reach(Reach::Secrets),
    holds(
        "E020",
        codes::USE_PRIVILEGED_POLICY,
        "H/H",
        "use securitycontextconstraints.security.openshift.io,podsecuritypolicies.policy,podsecuritypolicies.extensions",
        "may use [any pod policy, the privileged ones included] for its pods",
        "name the policies under `resourceNames`",
    )
    .named(Named::Policies),
    holds(
        "E021",
        codes::WRITE_POD_POLICIES,
        "C/-",
        "create,update,patch securitycontextconstraints.security.openshift.io,podsecuritypolicies.policy,podsecuritypolicies.extensions",
        "can write the policies that fence pods in",
        "leave them to whoever reviews them",
    )
    .power("writes the policies that confine pods"),
    holds(
        "E022",
        codes::DRIVE_GITOPS,
        "C/H",
        "create,update,patch applications.argoproj.io,applicationsets.argoproj.io,appprojects.argoproj.io,kustomizations.kustomize.toolkit.fluxcd.io,helmreleases.helm.toolkit.fluxcd.io where known",
        "can have a GitOps controller apply what it likes",
        "let the controller act as an account of the writer's own, and keep projects to administrators",
    )
    .power("writes for every GitOps controller")
    .reach(Reach::Secrets),
    holds(
        "E023",
        codes::DRIVE_INSTALLER,
        "C/H",
        "create clusterstackinstalls.stacks.crossplane.io,stackinstalls.stacks.crossplane.io,providers.pkg.crossplane.io,configurations.pkg.crossplane.io,functions.pkg.crossplane.io,subscriptions.operators.coreos.com,clusterserviceversions.operators.coreos.com,clusterextensions.olm.operatorframework.io,helmcharts.helm.cattle.io where known",
        "can have a package manager install what it likes",
        "leave installing to administrators: the manager holds what every package asks for",
    )
    .power("installs packages")
    .reach(Reach::Secrets),
    holds(
        "E024",
        codes::NEARLY_FULL_AUTHORITY,
        "C/H",
        "create,update,patch,delete,deletecollection *.*",
        "can {what} every resource of every API group",
        "write out the resources that are needed",
    )
    .named(Named::Void),
];
