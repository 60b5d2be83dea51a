//! Checks for Guards that lock out the applier or admit every user.

use bailiwick_codes as codes;
use bailiwick_kubernetes::names::{dns_label, dns_subdomain};
use bailiwick_kubernetes::validation_action::ValidationAction;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};

use super::GuardSpec;
use crate::model::{Platform, Target};

/// The first minor with `admissionregistration.k8s.io/v1` policies. Source: feature ValidatingAdmissionPolicy in
/// `pkg/features/kube_features.go`.
const FIRST_MINOR: u32 = 30;

/// Groups that the API server fills by itself. Source: `k8s.io/apiserver/pkg/authentication/user/user.go`.
const BROAD_GROUPS: [&str; 4] =
    ["system:authenticated", "system:nodes", "system:serviceaccounts", "system:unauthenticated"];

/// The user of a request without credentials.
const ANONYMOUS: &str = "system:anonymous";

/// The longest message, in characters.
const LONGEST_MESSAGE: usize = 1024;

/// Reports the mistakes of a Guard.
pub(super) fn guard(spec: &GuardSpec, origin: Origin, targets: &[Target], sink: &mut Sink) {
    targets.iter().for_each(|target| check_target(spec, target, origin, sink));
    check_break_glass(spec, sink);
    check_allowed(spec, sink);
    check_actions(spec, origin, sink);
    if let Some(message) = &spec.message {
        check_message(message, sink);
    }
}

fn check_target(spec: &GuardSpec, target: &Target, origin: Origin, sink: &mut Sink) {
    let name = &target.name;
    if target.version.minor() < FIRST_MINOR {
        let minor = target.version.minor();
        sink.push(
            wrong(format!("the target `{name}` has Kubernetes 1.{minor}, and a Guard needs 1.{FIRST_MINOR}"), origin)
                .help("exclude such targets with `targets`"),
        );
    }
    let Some(applier) = &target.applied_by else {
        sink.push(
            wrong(format!("the target `{name}` has no `appliedBy`, and its Guard would refuse every apply"), origin)
                .help("add `appliedBy: {user: USER}` to the target, or exclude it with `targets`"),
        );
        return;
    };
    if applier.user.trim().is_empty() || applier.user == ANONYMOUS {
        sink.push(
            wrong(
                format!("`{}` applies the target `{name}`, and a Guard cannot tell it from others", applier.user),
                origin,
            )
            .help("let an own service account or user apply the target"),
        );
    }
    let is_enforced = spec.validation_actions().contains(&ValidationAction::Deny);
    if target.platform == Platform::Openshift && is_enforced && spec.allow.is_none() {
        sink.push(
            wrong(
                format!("the accounts of the operators that write RBAC on the OpenShift target `{name}` are not known"),
                origin,
            )
            .help("adopt the Guard with `validationActions: [Audit]`, and list the writers of the audit log under `allow`"),
        );
    }
}

fn check_break_glass(spec: &GuardSpec, sink: &mut Sink) {
    for group in &spec.break_glass.groups {
        check_group(group, sink);
        if group.starts_with("system:serviceaccounts:") {
            sink.push(
                wrong(format!("`{}` is every service account of a namespace", group.value), group.origin)
                    .help("name a group of people; list accounts under `allow.serviceAccounts`"),
            );
        }
    }
}

fn check_allowed(spec: &GuardSpec, sink: &mut Sink) {
    let Some(allow) = &spec.allow else { return };
    allow.groups.iter().for_each(|group| check_group(group, sink));
    for user in &allow.users {
        if user.trim().is_empty() || user.as_str() == ANONYMOUS {
            sink.push(
                wrong(format!("`{}` is not the name of one user", user.value), user.origin)
                    .help("write the name as the authenticator gives it"),
            );
        }
    }
    for account in &allow.service_accounts {
        let invalid_namespace = dns_label(&account.namespace).is_err().then_some(&account.namespace);
        let invalid_name = dns_subdomain(&account.name).is_err().then_some(&account.name);
        for name in invalid_namespace.into_iter().chain(invalid_name) {
            sink.push(
                wrong(format!("`{}` is not a name of Kubernetes", name.value), name.origin)
                    .help("write the namespace and the name of a ServiceAccount"),
            );
        }
    }
}

fn check_group(group: &Spanned<String>, sink: &mut Sink) {
    if group.trim().is_empty() {
        sink.push(wrong("a group without a name has no members".to_owned(), group.origin).help("name the group"));
    } else if BROAD_GROUPS.contains(&group.as_str()) {
        sink.push(
            wrong(format!("with the group `{}`, the Guard guards nothing", group.value), group.origin)
                .help("name a group with few members"),
        );
    }
}

fn check_actions(spec: &GuardSpec, origin: Origin, sink: &mut Sink) {
    if ValidationAction::exclude_each_other(spec.validation_actions().iter().copied()) {
        sink.push(
            wrong("a binding has either `Deny` or `Warn`".to_owned(), origin)
                .help("remove `Warn`: a refused writer reads the message anyway"),
        );
    }
}

fn check_message(message: &Spanned<String>, sink: &mut Sink) {
    let text = message.as_str();
    let is_fine =
        !text.trim().is_empty() && text.chars().count() <= LONGEST_MESSAGE && !text.chars().any(char::is_control);
    if !is_fine {
        sink.push(
            wrong("this message is empty, too long, or has control characters".to_owned(), message.origin)
                .help(format!("write one line of at most {LONGEST_MESSAGE} characters")),
        );
    }
}

fn wrong(message: String, origin: Origin) -> Diagnostic {
    Diagnostic::error(codes::INVALID_VALUE, message).at(origin)
}
