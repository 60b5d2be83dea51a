//! Links the policies of a workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_policy::kinds::{self, KindEntry};
use bailiwick_policy::model::{
    COMMON_METADATA, CommonMetadata, ForeignDocuments, Linker, NamespaceVariables, Namespaces, Patterns, Policy,
    PolicyMeta, RawDocument, Surroundings, Target, VariableScope, Variables, check_patterns,
};
use bailiwick_policy::source::glob;
use bailiwick_yaml::de::from_node;
use bailiwick_yaml::diag::{Diagnostic, Origin, RunError, Sink, nearest};
use bailiwick_yaml::{NodeRef, Tree};

use super::allow::{self, Accepted, AllowEntry};
use super::policy_variables::{self, DeclaredNames};
use super::{WORKSPACE_FILE, order};

/// The field of an item with its condition.
const WHEN: &str = "when";

/// The linked policies of a workspace.
pub(super) struct Linked {
    /// The policies, in the order of the kinds and then of the paths.
    pub(super) policies: Vec<Box<dyn Policy>>,
    /// The accepted warnings of documents.
    pub(super) accepted: Vec<Accepted>,
}

/// Links the policies of all files by their paths.
pub(super) fn policies(
    trees: &BTreeMap<String, Arc<Tree>>,
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> Result<Linked, RunError> {
    let (documents, strays) = documents(trees, linker.targets, sink);
    for document in &documents {
        let (name, origin) = document.name().map_or(("", None), |(name, origin)| (name, Some(origin)));
        linker.offers.announce(document.kind.name, name, origin, Arc::clone(&document.targets));
    }
    let mut linking = Linking { declared: DeclaredNames::of_all(&documents), ..Linking::default() };
    let mut previous = None;
    for document in order::by_inclusion(documents, sink) {
        if previous.replace(document.kind.name) != Some(document.kind.name) {
            linker.learn();
        }
        linking.link(&document, linker, sink)?;
    }
    linker.learn();
    linker.sources.report_problems(sink);
    let is_whole = !sink.has_errors();
    report_strays(strays, &linker.claimed, sink);
    if !sink.has_errors() {
        // After a mistyped reference the policy it meant would seem unused.
        report_unused(linker, sink);
    }
    kinds::check_together(linker, is_whole, sink);
    linking.settle(linker, sink);
    Ok(linking.finish(linker))
}

/// Sorts the policy documents by their kinds. Returns the other documents too, each with the path of its file.
fn documents(
    trees: &BTreeMap<String, Arc<Tree>>,
    targets: &[Target],
    sink: &mut Sink,
) -> (Vec<Document>, Vec<(String, Origin)>) {
    let mut documents: Vec<Document> = Vec::new();
    let mut strays: Vec<(String, Origin)> = Vec::new();
    // Most documents are of the same targets.
    let mut shared: BTreeSet<Arc<BTreeSet<String>>> = BTreeSet::new();
    for (path, tree) in trees {
        let shared_path: Arc<str> = path.as_str().into();
        for (index, root) in tree.documents().enumerate() {
            match policy_kind(root, sink) {
                DocumentKind::Policy(kind) => {
                    let mut problems = Sink::new();
                    let targets = matching_targets(root.get("spec"), targets, &mut problems);
                    let targets = match shared.get(&targets) {
                        Some(known) => Arc::clone(known),
                        None => Arc::new(targets),
                    };
                    shared.insert(Arc::clone(&targets));
                    let (path, tree) = (Arc::clone(&shared_path), Arc::clone(tree));
                    documents.push(Document { path, tree, index, kind, targets, problems });
                }
                DocumentKind::Stray => strays.push((path.clone(), root.origin())),
                DocumentKind::Unknown => {}
            }
        }
    }
    documents.sort_by_key(|document| kinds::ALL.iter().position(|entry| entry.name == document.kind.name));
    (documents, strays)
}

/// A policy document that waits to be linked.
pub(super) struct Document {
    pub(super) path: Arc<str>,
    pub(super) tree: Arc<Tree>,
    /// The index of the document in its file.
    pub(super) index: usize,
    pub(super) kind: &'static KindEntry,
    /// The names of its targets.
    pub(super) targets: Arc<BTreeSet<String>>,
    /// The problems of `targets`.
    problems: Sink,
}

impl Document {
    /// Returns the policy's name and its location, where it has one.
    pub(super) fn name(&self) -> Option<(&str, Origin)> {
        let name = self.tree.document(self.index)?.path(&["metadata", "name"])?;
        Some((name.as_str()?, name.origin()))
    }
}

/// The kind of a document of the policy folder.
enum DocumentKind {
    Policy(&'static KindEntry),
    /// Not a policy; a file that some policy claims may hold it.
    Stray,
    /// A policy of a kind that is not there; reported.
    Unknown,
}

fn policy_kind(root: NodeRef<'_>, sink: &mut Sink) -> DocumentKind {
    let api_version = root.get("apiVersion");
    let Some(group) = api_version.and_then(NodeRef::as_str).and_then(|version| version.split_once('/')) else {
        return DocumentKind::Stray;
    };
    if group.0 != "bailiwick.dev" {
        return DocumentKind::Stray;
    }
    if api_version.and_then(NodeRef::as_str) != Some(kinds::API_VERSION) {
        let written = api_version.and_then(NodeRef::as_str).unwrap_or_default();
        sink.push(
            Diagnostic::error(codes::UNKNOWN_KIND, format!("`{written}` is not a version of the policy format"))
                .at(api_version.unwrap_or(root).origin())
                .help(format!("write `{}`", kinds::API_VERSION)),
        );
        return DocumentKind::Unknown;
    }
    let kind = root.get("kind");
    let name = kind.and_then(NodeRef::as_str).unwrap_or_default();
    if let Some(entry) = kinds::find(name) {
        return DocumentKind::Policy(entry);
    }
    let message = match kind {
        _ if name == kinds::WORKSPACE => "a Workspace is not a policy".to_owned(),
        Some(kind) if kind.as_str().is_none() => format!("the kind of a policy is a string, not {}", kind.describe()),
        Some(_) => format!("there is no policy kind `{name}`"),
        None => "this policy has no `kind`".to_owned(),
    };
    let near = nearest(name, kinds::ALL.iter().map(|entry| entry.name));
    let help = near.filter(|_| name != kinds::WORKSPACE).map_or_else(
        || format!("the kinds are: {}", kinds::ALL.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    let help =
        if name == kinds::WORKSPACE { format!("move it to `{WORKSPACE_FILE}` in the root folder") } else { help };
    sink.push(
        Diagnostic::error(codes::UNKNOWN_KIND, message)
            .at(kind.map_or_else(|| root.beginning(), NodeRef::origin))
            .help(help),
    );
    DocumentKind::Unknown
}

/// The parts of a document that every kind has.
pub(super) struct Head<'t> {
    pub(super) api_version: &'t str,
    pub(super) kind: &'t str,
    pub(super) name: &'t str,
    name_origin: Origin,
    allow: Option<NodeRef<'t>>,
    pub(super) spec: NodeRef<'t>,
}

impl<'t> Head<'t> {
    /// Returns the document; none for another structure, which the schema reports.
    pub(super) fn read(root: NodeRef<'t>) -> Option<Self> {
        let known = |node: NodeRef<'t>, names: &[&str]| {
            node.entries().all(|(key, _)| key.as_str().is_some_and(|key| names.contains(&key)))
        };
        let metadata = root.get("metadata")?;
        let name = metadata.get("name")?;
        let allow = metadata.get("allow");
        let fits = known(root, &["apiVersion", "kind", "metadata", "spec"])
            && known(metadata, &["name", "allow"])
            && allow.is_none_or(|allow| allow.is_seq() && allow.items().all(allow::is_entry));
        let spec = root.get("spec").filter(|spec| spec.is_map())?;
        fits.then_some(())?;
        Some(Self {
            api_version: root.get("apiVersion")?.as_str()?,
            kind: root.get("kind")?.as_str()?,
            name: name.as_str().filter(|name| !name.is_empty())?,
            name_origin: name.origin(),
            allow,
            spec,
        })
    }
}

/// The policies linked so far.
#[derive(Default)]
struct Linking {
    policies: Vec<Box<dyn Policy>>,
    accepted: Vec<Accepted>,
    /// The entries of `metadata.allow` of a policy, by the location of its name.
    accepted_by: BTreeMap<Origin, Vec<Arc<AllowEntry>>>,
    /// The names of the policies by kind, each with the policies of the name.
    names: BTreeMap<(&'static str, Arc<str>), Vec<NamedPolicy>>,
    /// The policy variables that a Tenancy declares for its accounts.
    declared: DeclaredNames,
}

/// A policy with a name.
struct NamedPolicy {
    /// The location of its name.
    origin: Origin,
    targets: Arc<BTreeSet<String>>,
}

impl Linking {
    fn link(&mut self, document: &Document, linker: &mut Linker<'_>, sink: &mut Sink) -> Result<(), RunError> {
        let Some(root) = document.tree.document(document.index) else { return Ok(()) };
        let schema = &document.kind.schema;
        // The schema alone has constraints that a type cannot state, such as a list that may not be empty.
        let Some(head) = Head::read(root).filter(|_| schema.fits(root)) else {
            schema.report(root, None, sink);
            return Ok(());
        };
        let name = head.name.into();
        if !self.take_name(document, &head, Arc::clone(&name), sink) {
            return Ok(());
        }
        let accepted = head.allow.map_or_else(Vec::new, |allow| allow::entries(allow, sink));
        let in_document = |entry: &Arc<AllowEntry>| Accepted {
            code: entry.code,
            document: root.origin(),
            entries: vec![entry.clone()],
        };
        self.accepted.extend(accepted.iter().map(in_document));
        if !accepted.is_empty() {
            self.accepted_by.insert(head.name_origin, accepted);
        }
        document.problems.diagnostics().iter().for_each(|problem| sink.push(problem.clone()));
        let meta = PolicyMeta {
            kind: document.kind.name,
            name,
            origin: head.name_origin,
            targets: Arc::clone(&document.targets),
            common_metadata: CommonMetadata::none(),
        };
        let filled = policy_variables::filled(document, head.spec, &meta, &self.declared);
        let spec = filled.as_ref().map_or(head.spec, |tree| tree.at(head.spec.id()));
        let mut raw = RawDocument { meta, root, spec, path: &document.path };
        let targets = linker.targets_of(&raw.meta);
        if let Some(scope) = scope_of(document.kind.patterns, &targets) {
            for (key, value) in raw.spec.entries().filter(|(key, _)| key.as_str() != Some(COMMON_METADATA)) {
                check_patterns(key, scope, sink);
                check_field(value, scope, sink);
            }
        }
        let variables = declared_variables(raw.spec);
        let scope = VariableScope { accounts: variables.as_ref(), ..VariableScope::of_targets(&targets) };
        let common = CommonMetadata::link(&[raw.spec], scope, codes::INVALID_VALUE, sink);
        if !common.is_empty() {
            raw.meta.common_metadata = Arc::new(common);
        }
        match document.kind.link(&raw, linker, sink) {
            Ok(policy) => self.policies.extend(policy),
            Err(error) => schema.report(root, Some(error), sink),
        }
        Ok(())
    }

    /// Whether the name of a policy is new on its targets; reports a second policy of the name.
    fn take_name(&mut self, document: &Document, head: &Head<'_>, name: Arc<str>, sink: &mut Sink) -> bool {
        let kind = document.kind.name;
        let policies = self.names.entry((kind, name)).or_default();
        let Some(first) = policies.iter().find(|other| !other.targets.is_disjoint(&document.targets)) else {
            policies.reserve_exact(1);
            policies.push(NamedPolicy { origin: head.name_origin, targets: Arc::clone(&document.targets) });
            return true;
        };
        let both = first.targets.intersection(&document.targets).map(|target| format!("`{target}`"));
        let both: Vec<String> = both.collect();
        let plural = if both.len() > 1 { "s" } else { "" };
        sink.push(
            Diagnostic::error(codes::DUPLICATE_POLICY, format!("two policies have the name {kind} `{}`", head.name))
                .at(head.name_origin)
                .and(first.origin, "the first one")
                .help("rename one of them, or narrow `targets` of one of them")
                .note(format!("both apply to the target{plural} {}", both.join(", "))),
        );
        false
    }

    /// Resolves the parts of policies that depend on all policies.
    fn settle(&mut self, linker: &mut Linker<'_>, sink: &mut Sink) {
        let (mut needs_namespaces, mut needs_annotations) = (false, false);
        for policy in self.policies.iter_mut().filter_map(|policy| policy.as_dependent()) {
            needs_namespaces |= policy.needs_namespaces();
            needs_annotations |= policy.needs_annotations();
        }
        let mut surroundings = Surroundings { namespaces: Namespaces::default(), linker };
        if needs_namespaces {
            let targets = surroundings.linker.targets;
            surroundings.namespaces = Namespaces::collect(&self.policies, targets, needs_annotations);
        }
        for policy in self.policies.iter_mut().filter_map(|policy| policy.as_dependent()) {
            policy.settle(&mut surroundings, sink);
        }
    }

    /// Returns the result. A warning in a document of another file, such as a package that is installed twice, is
    /// accepted if each policy with the document accepts it.
    fn finish(mut self, linker: &Linker<'_>) -> Linked {
        let mut users: BTreeMap<Origin, usize> = BTreeMap::new();
        let mut accepting: BTreeMap<(Origin, &'static str), Accepted> = BTreeMap::new();
        for ForeignDocuments { origins, policy } in linker.facts.all() {
            let accepted = self.accepted_by.get(&policy.origin);
            for origin in origins {
                *users.entry(*origin).or_default() += 1;
                for entry in accepted.into_iter().flatten() {
                    let none = || Accepted { code: entry.code, document: *origin, entries: Vec::new() };
                    accepting.entry((*origin, entry.code.id())).or_insert_with(none).entries.push(Arc::clone(entry));
                }
            }
        }
        let by_all =
            accepting.into_values().filter(|accepted| users.get(&accepted.document) == Some(&accepted.entries.len()));
        self.accepted.extend(by_all);
        Linked { policies: self.policies, accepted: self.accepted }
    }
}

/// Returns the names of the targets that `spec.targets` matches; all of them without it.
fn matching_targets(spec: Option<NodeRef<'_>>, targets: &[Target], sink: &mut Sink) -> BTreeSet<String> {
    let Some(globs) = spec.and_then(|spec| spec.get("targets")).filter(|globs| !globs.is_empty()) else {
        return targets.iter().map(|target| target.name.clone()).collect();
    };
    let mut found = BTreeSet::new();
    for written in globs.items() {
        let Some(text) = written.as_str() else { continue };
        let matcher = match glob::compile(text, false) {
            Ok(matcher) => matcher.compile_matcher(),
            Err(error) => {
                sink.push(
                    Diagnostic::error(codes::INVALID_VALUE, format!("`{text}` is not a glob: {error}"))
                        .at(written.origin())
                        .help("`*` matches any text, such as `prod-*`; close every `[` and `{`"),
                );
                continue;
            }
        };
        let before = found.len();
        found.extend(targets.iter().filter(|target| matcher.is_match(&target.name)).map(|target| target.name.clone()));
        let matched = targets.iter().any(|target| matcher.is_match(&target.name));
        if found.len() == before && !matched {
            let near = nearest(text, targets.iter().map(|target| target.name.as_str()));
            sink.push(
                Diagnostic::error(codes::UNKNOWN_TARGET, format!("no target matches `{text}`"))
                    .at(written.origin())
                    .help(near.map_or_else(
                        || {
                            format!(
                                "the targets are: {}",
                                targets.iter().map(|target| target.name.as_str()).collect::<Vec<_>>().join(", ")
                            )
                        },
                        |near| format!("did you mean `{near}`?"),
                    )),
            );
        }
    }
    found
}

/// Returns the variables allowed in every text of a kind; none if the kind checks its texts itself.
fn scope_of(patterns: Patterns, targets: &[Target]) -> Option<VariableScope<'_>> {
    let of_targets = VariableScope::of_targets(targets);
    match patterns {
        Patterns::Targets => Some(of_targets),
        Patterns::Namespaces => Some(VariableScope { namespace: NamespaceVariables::Name, ..of_targets }),
        Patterns::Open => Some(VariableScope { open: true, ..of_targets }),
        Patterns::Scoped | Patterns::Own => None,
    }
}

/// Checks the patterns of a field. The condition `when` of an item of a list is no pattern.
fn check_field(field: NodeRef<'_>, scope: VariableScope<'_>, sink: &mut Sink) {
    if !field.is_seq() {
        return check_patterns(field, scope, sink);
    }
    for item in field.items() {
        if !item.is_map() {
            check_patterns(item, scope, sink);
        }
        for (key, value) in item.entries() {
            check_patterns(key, scope, sink);
            if key.as_str() != Some(WHEN) {
                check_patterns(value, scope, sink);
            }
        }
    }
}

/// Returns the declared variables of a Tenancy; none for another kind, and for declarations that the schema rejects.
fn declared_variables(spec: NodeRef<'_>) -> Option<Variables> {
    from_node(spec.get("variables")?).ok()
}

fn report_strays(strays: Vec<(String, Origin)>, claimed: &BTreeSet<String>, sink: &mut Sink) {
    for (path, mut origin) in strays.into_iter().filter(|(path, _)| !claimed.contains(path)) {
        origin.span.end = origin.span.start + 1;
        let file = path.rsplit('/').next().unwrap_or_default();
        sink.push(
            Diagnostic::error(codes::NOT_A_POLICY, "this document is not a policy")
                .at(origin)
                .help(format!("a policy begins with `apiVersion: {}`", kinds::API_VERSION))
                .help(format!("to bring in plain manifests, name the file in a Manifests policy: `files: [{file}]`")),
        );
    }
}

/// Reports policies that need a user and have none, such as those with account variables.
fn report_unused(linker: &Linker<'_>, sink: &mut Sink) {
    for meta in linker.offers.unused() {
        sink.push(
            Diagnostic::warning(codes::UNUSED_POLICY, format!("no policy uses the {} `{}`", meta.kind, meta.name))
                .at(meta.origin)
                .help("bind it in a Grant or a Tenancy, or remove it"),
        );
    }
}
