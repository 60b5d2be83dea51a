//! `AccessTest`: subjects and the permissions they must and must not have.

use bailiwick_codes as codes;
use bailiwick_paths::Power;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Sink};
use schemars::JsonSchema;
use serde::Deserialize;

use super::approval_policy::power;
use super::shared::{Subjects, mention, refuse_content};
use crate::model::{
    AccessCheck, Category, Contribution, Expectation, Kind, Linker, Mention, MentionedBy, Mentions, OutputFileKey,
    PathCheck, Pattern, Patterns, Policy, PolicyMeta, PowerPattern, RawDocument, Target, Unit,
};

/// The policy kind `AccessTest`.
pub struct AccessTestKind;

/// Expectations about permissions, tested offline on the compiled workspace. An AccessTest creates no object.
///
/// `bailiwick test` runs every AccessTest on each of its targets. For each failure it prints the proof, or the binding
/// that comes closest. Each subject is tested alone: a user with the groups of every user, a group by a member without
/// other groups. `mustNotBecome` is about escalation paths: steps by which a subject gains a power, such as creating a
/// pod with a privileged service account. A failure prints the steps.
///
/// ```yaml
/// apiVersion: bailiwick.dev/v1alpha1
/// kind: AccessTest
/// metadata:
///   name: app1
/// spec:
///   who:
///     serviceAccounts:
///     - name: app1
///       namespace: demo-namespace
///   must:
///   - verbs: [get, list, watch]
///     resources: [services, endpoints]
///     namespaces: [demo-namespace]
///   mustNot:
///   - verbs: [get, list, watch]
///     resources: [secrets]
///     namespaces: ["*"]
///   mustNotBecome: [cluster-admin, nodes]
/// ```
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AccessTestSpec {
    /// Globs of the targets the policy applies to. Default: all of them.
    #[serde(default)]
    pub targets: Vec<String>,
    /// The subjects to test.
    pub who: Subjects,
    /// Access that must be allowed.
    #[serde(default)]
    pub must: Vec<Spanned<Access>>,
    /// Access that must not be allowed.
    #[serde(default)]
    pub must_not: Vec<Spanned<Access>>,
    /// Powers out of reach of the subjects, in any number of steps: `cluster-admin`, `any-user`, `any-account`, `nodes`,
    /// `all-secrets`, `admission`, `gitops`, `namespace-admin:NAMESPACE`, `secrets:NAMESPACE` and
    /// `account:NAMESPACE/NAME`.
    #[serde(default)]
    pub must_not_become: Vec<Spanned<String>>,
    /// Whether only proven paths fail the test. Default: possible paths fail it, too.
    #[serde(default)]
    pub allow_possible: bool,
}

/// Requests: each verb on each resource, in each namespace, for each name.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Access {
    /// RBAC verbs, such as `get`.
    #[schemars(length(min = 1))]
    pub verbs: Vec<String>,
    /// Resources: `deployments`, a subresource after a slash such as `pods/exec`, and the group after a dot if the name
    /// is ambiguous, such as `widgets.example.com/status`.
    #[serde(default)]
    pub resources: Vec<String>,
    /// Namespaces; `"*"` is every namespace mentioned by an object and every built-in namespace. Default: none, for a
    /// request about the whole cluster.
    #[serde(default)]
    pub namespaces: Vec<Spanned<String>>,
    /// Names of objects. Default: requests without a name; under `mustNot`, a permission for a single name is a
    /// failure, too.
    #[serde(default)]
    pub names: Vec<String>,
    /// URL paths instead of resources.
    #[serde(default)]
    pub urls: Vec<String>,
}

impl Kind for AccessTestKind {
    type Spec = AccessTestSpec;

    const NAME: &'static str = "AccessTest";
    const TEMPLATES: &'static [&'static str] = &[];
    const PATTERNS: Patterns = Patterns::Own;

    fn link(
        document: &RawDocument<'_>,
        spec: AccessTestSpec,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) -> Option<Box<dyn Policy>> {
        check(document, &spec, sink);
        let expectations = [(&spec.must, Expectation::Must), (&spec.must_not, Expectation::MustNot)];
        for (accesses, expectation) in expectations {
            for access in accesses.iter().filter(|access| is_request(access, sink)) {
                linker.facts.push(AccessCheck {
                    meta: document.meta.clone(),
                    who: spec.who.user_names(),
                    expectation,
                    origin: access.origin,
                    verbs: access.verbs.clone(),
                    resources: access.resources.clone(),
                    namespaces: access.namespaces.iter().map(|name| name.value.clone()).collect(),
                    names: access.names.clone(),
                    urls: access.urls.clone(),
                });
            }
        }
        for written in &spec.must_not_become {
            if let Some(power) = one_power(written, sink) {
                linker.facts.push(PathCheck {
                    meta: document.meta.clone(),
                    who: spec.who.user_names(),
                    power,
                    allows_possible: spec.allow_possible,
                    origin: written.origin,
                });
            }
        }
        linker.facts.push(Mentions::new(document.meta.clone(), MentionedBy::Test, mentions(&spec)));
        Some(Box::new(Linked { meta: document.meta.clone() }))
    }
}

/// Checks that a test has subjects and expectations.
fn check(document: &RawDocument<'_>, spec: &AccessTestSpec, sink: &mut Sink) {
    if spec.who.is_empty() {
        sink.push(
            Diagnostic::error(codes::INVALID_VALUE, "this test has no subject")
                .at(document.meta.origin)
                .help("list `users`, `groups` or `serviceAccounts` under `spec.who`"),
        );
    }
    if spec.must.is_empty() && spec.must_not.is_empty() && spec.must_not_become.is_empty() {
        sink.push(
            Diagnostic::error(codes::INVALID_VALUE, "this test has no expectation")
                .at(document.meta.origin)
                .help("add an expectation to `must`, `mustNot` or `mustNotBecome`"),
        );
    }
    refuse_content(spec.who.service_accounts.iter(), "remove the fields: a test names accounts", sink);
    for account in spec.who.service_accounts.iter().filter(|account| account.namespace.is_none()) {
        sink.push(
            Diagnostic::error(
                codes::INVALID_VALUE,
                format!("the service account `{}` needs its namespace", account.name.value),
            )
            .at(account.name.origin)
            .help("add `namespace`: a test has no namespace"),
        );
    }
}

/// Reads a power of one place, and reports another text.
fn one_power(written: &Spanned<String>, sink: &mut Sink) -> Option<Power> {
    let pattern = power(written, sink)?;
    let place = match pattern {
        PowerPattern::One(power) => return Some(power),
        PowerPattern::NamespaceAdmin | PowerPattern::Secrets => "NAMESPACE",
        PowerPattern::Account => "NAMESPACE/NAME",
    };
    sink.push(
        Diagnostic::error(codes::INVALID_VALUE, format!("the power `{pattern}` has no place"))
            .at(written.origin)
            .help(format!("write `{pattern}:{place}`")),
    );
    None
}

/// Whether requests can have the form of an expectation; reports an expectation without requests.
fn is_request(access: &Spanned<Access>, sink: &mut Sink) -> bool {
    let has_place = !access.namespaces.is_empty() || !access.names.is_empty();
    let (message, help) = if access.resources.is_empty() == access.urls.is_empty() {
        ("an expectation has both resources and URLs".to_owned(), "keep either `resources` or `urls`")
    } else if has_place && !access.urls.is_empty() {
        (
            "a URL has neither namespace nor name".to_owned(),
            "remove `namespaces` and `names`, or use `resources` instead of `urls`",
        )
    } else if let Some(star) = access.verbs.iter().chain(&access.resources).find(|text| text.contains('*')) {
        (format!("`{star}` matches no request"), "list the verbs and resources: a request contains no `*`")
    } else {
        return true;
    };
    sink.push(Diagnostic::error(codes::INVALID_VALUE, message).at(access.origin).help(help));
    false
}

/// Returns the names in a test; it has no variables, and `"*"` is not a name.
fn mentions(spec: &AccessTestSpec) -> Vec<Mention> {
    let accesses = spec.must.iter().chain(&spec.must_not);
    let namespaces = accesses.flat_map(|access| &access.namespaces).filter(|name| name.as_str() != "*");
    let mut names = spec.who.mentions(Pattern::constant);
    names.extend(namespaces.map(|name| mention(Category::Namespaces, name, Pattern::constant)));
    names
}

struct Linked {
    meta: PolicyMeta,
}

impl Policy for Linked {
    fn meta(&self) -> &PolicyMeta {
        &self.meta
    }

    fn contributions(&self, _: &Target, _: &mut dyn FnMut(OutputFileKey, Contribution)) {}

    fn expand(&self, _: &Target, _: &OutputFileKey, _: Contribution, _: &mut Vec<Unit>) {}
}
