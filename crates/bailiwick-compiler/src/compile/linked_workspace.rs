//! A workspace with linked policies.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_kubernetes::catalogue::Api;
use bailiwick_kubernetes::custom_fields::CustomFields;
use bailiwick_policy::model::{
    Account, AnalyzedManifest, Date, Expiry, ObjectId, Policy, PolicyFacts, PolicyMeta, Target, TermLimit, Validity,
    WorkspaceSettings,
};
use bailiwick_yaml::diag::{Code, Diagnostic, FileId, Files, Origin, Severity, Sink};
use bailiwick_yaml::{NodeRef, Tree};

use super::{Accepted, AllowEntry, OutputFile, TenantAccount};
use crate::render::TemplateSet;
use crate::validate::Trees;

/// The term of a grant or an acceptance.
struct Term {
    words: String,
    until: Date,
    origin: Origin,
}

/// The place of the accounts of a Tenancy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountRows {
    /// The account list, or the policy with an inline list.
    pub file: FileId,
    /// The bytes from the first account to the last.
    pub rows: Range<usize>,
}

/// A workspace that was read and linked.
pub struct LinkedWorkspace {
    /// The workspace file.
    pub workspace: WorkspaceSettings,
    /// The policies, in the order of the kinds and then of the paths.
    pub policies: Vec<Box<dyn Policy>>,
    /// The policies by the locations of their names.
    pub named: NamedPolicies,
    /// The built-in templates and the files that replace them.
    pub templates: Arc<TemplateSet>,
    /// Every text, for diagnostics.
    pub files: Arc<Files>,
    /// The policies as trees, for the places of values.
    pub trees: Trees,
    /// The objects of clusters beside the output, by target, if labels of namespaces follow from them.
    pub baselines: BTreeMap<String, Vec<Tree>>,
    /// Objects that are there without being compiled, by target.
    pub existing: BTreeMap<String, BTreeSet<ObjectId>>,
    /// The API of each target, by its name.
    pub apis: BTreeMap<String, Api>,
    /// The fields of the custom resources of each target, by its name.
    pub custom_fields: BTreeMap<String, Vec<Arc<CustomFields>>>,
    /// The facts registered by policies.
    pub facts: PolicyFacts,
    /// Warnings that policies accept.
    pub accepted: Vec<Accepted>,
    /// The day on which grants and acceptances are judged; without it none of them is over.
    pub today: Option<Date>,
}

/// The policies by the locations of their names. An object, such as the role of a PermissionSet in a Grant, has the common labels and
/// annotations of the policy with its content.
#[derive(Default)]
pub struct NamedPolicies {
    places: HashMap<Origin, usize>,
}

impl NamedPolicies {
    /// Finds the policies. Without common labels and annotations, no object needs its policy.
    pub fn new(policies: &[Box<dyn Policy>], targets: &[Target]) -> Self {
        let of_targets = targets.iter().any(|target| !target.common_metadata.is_empty());
        let of_policies = || policies.iter().any(|policy| !policy.meta().common_metadata.is_empty());
        if !of_targets && !of_policies() {
            return Self::default();
        }
        Self { places: policies.iter().enumerate().map(|(index, policy)| (policy.meta().origin, index)).collect() }
    }
}

impl LinkedWorkspace {
    /// Returns the policies that apply to a target.
    pub fn policies_of<'p>(&'p self, target: &'p Target) -> impl Iterator<Item = &'p dyn Policy> {
        self.policies.iter().filter(|policy| policy.meta().targets.contains(&target.name)).map(|policy| &**policy)
    }

    /// Returns the kinds and names that several policies have, each on its own targets.
    pub fn shared_names(&self) -> BTreeSet<(&'static str, &str)> {
        let mut known = BTreeSet::new();
        let metas = self.policies.iter().map(|policy| policy.meta());
        metas.map(|meta| (meta.kind, &*meta.name)).filter(|name| !known.insert(*name)).collect()
    }

    /// Returns the policy with a name at a location; none if no object has common labels or annotations.
    pub fn policy_named_at(&self, place: Origin) -> Option<&PolicyMeta> {
        self.policies.get(*self.named.places.get(&place)?).map(|policy| policy.meta())
    }

    /// Returns the policy with a place in its document; none for a place in an account list or a manifest.
    pub fn policy_at(&self, place: Origin) -> Option<&PolicyMeta> {
        self.policies.iter().map(|policy| policy.meta()).find(|meta| self.trees.share_document(meta.origin, place))
    }

    /// Returns the columns with texts of the account with objects in a file, each with its value; no columns for a file without
    /// an account, and for a file of several.
    pub fn columns_of(&self, file: &OutputFile) -> Vec<(&str, &str)> {
        file.tenant.map_or_else(Vec::new, |account| self.texts_of(account))
    }

    /// Returns the columns with texts of an account, each with its value.
    pub fn texts_of(&self, account: TenantAccount) -> Vec<(&str, &str)> {
        let TenantAccount { policy, part } = account;
        let account = self.policies.get(policy as usize).and_then(|policy| policy.as_tenancy()?.account(part));
        account.map_or_else(Vec::new, Account::texts)
    }

    /// Returns the places of the accounts of each Tenancy.
    pub fn account_rows(&self) -> Vec<AccountRows> {
        let tenancies = self.policies.iter().filter_map(|policy| policy.as_tenancy());
        let lists = tenancies.filter_map(|tenancy| {
            let mut accounts = (0..).map_while(|part| tenancy.account(part)).map(|account| account.origin());
            let first = accounts.next()?;
            let bytes = |origin: Origin| origin.span.start as usize..origin.span.end as usize;
            let mut rows = bytes(first);
            for origin in accounts.filter(|origin| origin.file == first.file) {
                let own = bytes(origin);
                rows = rows.start.min(own.start)..rows.end.max(own.end);
            }
            Some(AccountRows { file: first.file, rows })
        });
        lists.collect()
    }

    /// Iterates over the documents of a target that are in the cluster without being compiled.
    pub fn analyzed_documents<'p>(&'p self, target: &'p Target) -> impl Iterator<Item = NodeRef<'p>> {
        self.facts.on(&target.name).flat_map(AnalyzedManifest::documents)
    }

    /// Returns the objects of a target that are there without being compiled.
    pub fn existing_on(&self, target: &Target) -> &BTreeSet<ObjectId> {
        static NONE: BTreeSet<ObjectId> = BTreeSet::new();
        self.existing.get(&target.name).unwrap_or(&NONE)
    }

    /// Returns the API of a target.
    pub fn api(&self, target: &Target) -> Api {
        self.apis.get(&target.name).cloned().unwrap_or_else(|| target.version.api())
    }

    /// Returns the fields of the custom resources of a target.
    pub fn custom_fields(&self, target: &Target) -> &[Arc<CustomFields>] {
        self.custom_fields.get(&target.name).map_or(&[], Vec::as_slice)
    }

    /// Warns of policies and acceptances whose last day is over or near. The output is the same on any day.
    pub fn warn_of_expiry(&self, sink: &mut Sink) {
        let Some(today) = self.today else { return };
        for entry in self.allow_entries().filter(|entry| entry.is_over(today)) {
            entry.until.into_iter().for_each(|until| sink.push(entry.expired(until)));
        }
        let settings = &self.workspace.expiry;
        if let Some(as_of) = settings.as_of.filter(|as_of| as_of.value > today) {
            sink.push(
                Diagnostic::warning(codes::AS_OF_IN_FUTURE, format!("`asOf` is the future day {}", as_of.value))
                    .at(as_of.origin)
                    .help("write the current day or an earlier day: grants that are valid today are left out"),
            );
        }
        self.facts.all().filter_map(|expiry| self.expiry_warning(expiry, today)).for_each(|warning| sink.push(warning));
    }

    /// Returns the warning about a policy with an expiry date; none for a last day that is far off.
    fn expiry_warning(&self, expiry: &Expiry, today: Date) -> Option<Diagnostic> {
        let Expiry { until, origin, .. } = expiry;
        let grant = expiry.words();
        let settings = &self.workspace.expiry;
        let warning = match settings.validity(*until, today) {
            Validity::Valid => return None,
            Validity::ExpiresSoon => {
                Diagnostic::warning(codes::GRANT_EXPIRES_SOON, format!("{grant} expires on {until}"))
                    .help("set a later day if the permissions are still needed")
            }
            Validity::LeftOut => {
                let message = format!("{grant} with the last day {until} is left out of the output");
                Diagnostic::warning(codes::GRANT_EXPIRED, message).help("remove it, or set a later day")
            }
            Validity::Expired => {
                let help = match settings.as_of {
                    Some(_) => "run `bailiwick expire` to leave it out of the output, or set a later day",
                    None => "remove the policy or set a later day; its objects stay in the output until then",
                };
                Diagnostic::warning(codes::GRANT_EXPIRED, format!("{grant} expired on {until}"))
                    .help(help)
                    .failing_check()
            }
        };
        Some(warning.at(*origin))
    }

    /// Reports acceptances without the fields that the workspace requires.
    pub(super) fn check_acceptances(&self, sink: &mut Sink) {
        for requirement in &self.workspace.requirements {
            for entry in self.allow_entries() {
                let missing = requirement.missing_of_acceptance(entry.code, &entry.fields());
                if let Some(missing) = missing.filter(|missing| !missing.is_empty()) {
                    sink.push(requirement.missing_justification(&entry.words(), &missing).at(entry.origin));
                }
            }
        }
    }

    /// Reports grants and acceptances with a last day that is too far off. The output is the same on any day.
    pub fn check_terms(&self, sink: &mut Sink) {
        let Some(today) = self.today else { return };
        let limits = self.facts.all().map(|limit: &TermLimit| {
            let TermLimit { expiry, max_days, requirement } = limit;
            (Term { words: expiry.words(), until: expiry.until, origin: expiry.origin }, *max_days, *requirement)
        });
        let acceptances = self.workspace.requirements.iter().flat_map(|requirement| {
            let is_selected = |entry: &&AllowEntry| requirement.missing_of_acceptance(entry.code, &[]).is_some();
            let terms = self
                .allow_entries()
                .filter(is_selected)
                .filter_map(|entry| Some(Term { words: entry.words(), until: entry.until?, origin: entry.origin }));
            terms.filter_map(|term| Some((term, requirement.max_days?, requirement.origin)))
        });
        for (term, max_days, requirement) in limits.chain(acceptances) {
            if today.days_until(term.until) > i64::from(max_days) {
                let Term { words, until, origin } = term;
                let message = format!("{words} lasts until {until}, more than {max_days} days from {today}");
                let diagnostic = Diagnostic::error(codes::TOO_LONG, message).at(origin);
                sink.push(diagnostic.and(requirement, "the requirement").help("set an earlier day"));
            }
        }
    }

    /// Whether the warnings of the workspace depend on the day.
    pub fn depends_on_day(&self) -> bool {
        self.facts.has::<Expiry>()
            || self.facts.has::<TermLimit>()
            || self.workspace.expiry.as_of.is_some()
            || self.allow_entries().any(|entry| entry.until.is_some())
    }

    /// Iterates over the entries of `metadata.allow`, each once.
    pub fn allow_entries(&self) -> impl Iterator<Item = &AllowEntry> {
        // The entry of a policy is in its document. A document of another file has the entries again.
        let of_policies = self.accepted.iter().map(|accepted| (accepted, &accepted.entries));
        of_policies.flat_map(|(accepted, entries)| {
            entries.iter().filter(|entry| accepted.covers(entry.code, entry.origin)).map(|entry| &**entry)
        })
    }

    /// Iterates over the acceptances that are not over.
    pub fn valid_acceptances(&self) -> impl Iterator<Item = &Accepted> {
        self.accepted.iter().filter(|accepted| accepted.holds(self.today))
    }

    /// Drops the warnings accepted by policies, and gives the other diagnostics the severity of the workspace. A finding of a risk rule
    /// stays: its place is a word of a role, and the policy with the grant accepts it.
    pub fn without_accepted(&self, diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let is_left = |diagnostic: &Diagnostic| diagnostic.risk.is_some() || !self.accepts(diagnostic);
        let left = diagnostics.into_iter().filter(is_left);
        left.filter_map(|diagnostic| self.workspace.diagnostics.apply(diagnostic)).collect()
    }

    /// Whether a policy accepts a warning or a note.
    pub fn accepts(&self, diagnostic: &Diagnostic) -> bool {
        diagnostic.severity != Severity::Error
            && diagnostic.origin.is_some_and(|origin| self.accepts_at(diagnostic.code, origin))
    }

    /// Whether a policy accepts the warnings of a code at a place.
    pub fn accepts_at(&self, code: Code, place: Origin) -> bool {
        let accepting = self.valid_acceptances().filter(|accepted| accepted.covers(code, place));
        accepting.inspect(|accepted| accepted.mark()).count() > 0
    }
}
