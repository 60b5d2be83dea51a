//! Rendered text becomes a checked object in the form that is written.
//!
//! The checks, in order: the text is one YAML document, it is the expected object, it has the form of its kind (JSON
//! Schema), the target serves the kind, and the API server's own rules hold (`bailiwick_kubernetes::validation`).
//! Checks of several objects, such as bindings to absent roles, are in [`set`]. Advice is in `lints`.

mod alike;
mod lints;
mod meaning;
mod readings;
mod server_fields;
pub mod set;
mod stated_metadata;
mod trace;

use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_kubernetes::catalogue::{Api, Served};
use bailiwick_kubernetes::custom_fields::CustomFields;
use bailiwick_kubernetes::stored::{StoredForm, to_stored};
use bailiwick_kubernetes::validation;
use bailiwick_kubernetes::validation::fields::KnownFields;
use bailiwick_policy::model::{Platform, Target, TypeMeta, Unit};
use bailiwick_yaml::diag::{Diagnostic, Files, Origin, Sink, nearest};
use bailiwick_yaml::schema::{Problem, ProblemKind};
use bailiwick_yaml::{self as yaml, NodeId, NodeRef, Tree};
use hashbrown::HashMap;

pub use self::alike::RenderedText;
use self::alike::{Alike, KnownId};
use self::lints::ValidObject;
use crate::render::TemplateSet;
pub use bailiwick_kubernetes::validation::fields::ValidationDepth;
pub use set::OutputFileFacts;
pub use stated_metadata::check as check_stated_metadata;
pub use trace::Trees;

/// Checks the objects of one target; one for each thread.
pub struct Validator<'p> {
    target: &'p Target,
    api: Api,
    definitions: &'p [Arc<CustomFields>],
    files: &'p Files,
    trees: &'p Trees,
    /// The object that was checked last, unless it was matched.
    tree: Tree,
    matched: Option<KnownId>,
    /// The objects that were checked before; none if every object is checked by itself.
    alike: Option<Alike>,
    errors: Vec<validation::FieldError>,
    served: HashMap<TypeMeta, ServedKind<'p>>,
}

/// How many differences of one object are shown.
const MOST_CHANGES: usize = 20;

/// Whether the target has a kind, and whether its objects live in namespaces.
#[derive(Debug, Clone, Copy)]
struct ServedKind<'p> {
    served: Served,
    namespaced: Option<bool>,
    fields: KnownFields<'p>,
}

impl<'p> Validator<'p> {
    /// Creates a validator for a target with its API and the fields of its custom resources; `trees` are the policies,
    /// for the places of values.
    pub fn new(
        target: &'p Target,
        api: Api,
        definitions: &'p [Arc<CustomFields>],
        files: &'p Files,
        trees: &'p Trees,
    ) -> Self {
        Self {
            target,
            api,
            definitions,
            files,
            trees,
            tree: Tree::new(bailiwick_yaml::diag::FileId::default()),
            matched: None,
            alike: Some(Alike::default()),
            errors: Vec::new(),
            served: HashMap::new(),
        }
    }

    /// Checks each text by itself, whatever was checked before. The outcome is the same, as tests show with this.
    #[must_use]
    pub fn each_by_itself(self) -> Self {
        Self { alike: None, ..self }
    }

    /// Returns whether a text is like a kept text ([`Validator::keep`]). Its object is then equally valid, and
    /// [`Validator::object`] returns it. Otherwise the text needs [`Validator::check`].
    pub fn matches(&mut self, unit: &Unit, rendered: RenderedText<'_>, facts: &mut OutputFileFacts) -> bool {
        self.matched = self.alike.as_mut().and_then(|alike| alike.find(unit, rendered));
        if self.matched.is_none() {
            return false;
        }
        facts.name(unit);
        self.object().into_iter().for_each(|root| facts.add(unit, root));
        true
    }

    /// Checks what a unit's template rendered. On success the object is in the form to be written and is what
    /// [`Validator::object`] returns; otherwise the reasons are in the sink.
    pub fn check(&mut self, unit: &Unit, text: &str, facts: &mut OutputFileFacts, sink: &mut Sink) -> bool {
        let before = sink.len();
        facts.name(unit);
        self.matched = None;
        let mut reading = Sink::new();
        yaml::read_into(text, &mut self.tree, &mut reading);
        let root = match (self.tree.document(0), self.tree.document(1)) {
            (Some(root), None) if reading.is_empty() && root.is_map() => root,
            _ => {
                sink.push(self.not_one_object(unit, text));
                return false;
            }
        };
        check_identity(unit, root, sink);
        if sink.len() > before {
            return false;
        }
        server_fields::check(unit, root, self.target.version.minor(), self.trees, sink);
        self.check_served(unit, sink);
        let is_clean = !sink.has_errors_after(before);
        if let Some(reported) = self.check_fields(unit, sink).filter(|_| is_clean) {
            self.check_rules(unit, &reported, sink);
        }
        if sink.has_errors_after(before) {
            return false;
        }
        if let Some(root) = self.object() {
            let object = ValidObject { unit, root, trees: self.trees };
            lints::check(object, &self.api, self.definitions, sink);
            let id = root.id();
            let form = self.form();
            to_stored(&mut self.tree, id, form);
            self.object().into_iter().for_each(|root| facts.add(unit, root));
        }
        true
    }

    /// Compares the object that was checked last with what its policy states: `stated`, which the built-in template
    /// renders. False where they differ; the differences are in the sink.
    pub fn check_meaning(&self, unit: &Unit, stated: &str, templates: &TemplateSet, sink: &mut Sink) -> bool {
        let Some(changes) = self.object().and_then(|object| meaning_changes(stated, object, self.trees)) else {
            sink.push(self.not_one_object(unit, stated));
            return false;
        };
        // Differences at one line of a template are one problem.
        let mut problems: Vec<Diagnostic> = Vec::new();
        for change in changes.iter().take(MOST_CHANGES) {
            let place = templates.place_of(&unit.template, change.path.iter().map(String::as_str).rev());
            match problems.iter_mut().find(|problem| problem.origin == place) {
                Some(problem) => *problem = problem.clone().note(change.message()),
                None => problems.push(self.changed_meaning(unit, change).at_maybe(place)),
            }
        }
        problems.into_iter().for_each(|problem| sink.push(problem));
        changes.is_empty()
    }

    /// Checks that every applier reads the object that was checked last as it was compiled. False where one does not; the
    /// reasons are in the sink. `may_use_inventory` is true where Flux or Config Sync may apply it.
    pub fn check_readings(
        &self,
        unit: &Unit,
        templates: &TemplateSet,
        may_use_inventory: bool,
        sink: &mut Sink,
    ) -> bool {
        let compiled = readings::Compiled { unit, trees: self.trees, templates };
        self.object().is_none_or(|root| compiled.check(root, may_use_inventory, sink))
    }

    fn changed_meaning(&self, unit: &Unit, change: &meaning::Change) -> Diagnostic {
        let place = self.trees.place_of(unit, &change.field(), change.scalar());
        let file = self.files.get(place.file);
        let position = file.line_column(place.span.start);
        let by = match (&change.stated, self.trees.field_around(place)) {
            (Some(_), Some(field)) => format!("stated by `{field}` in"),
            (Some(_), None) => "stated in".to_owned(),
            (None, _) => "the policy is".to_owned(),
        };
        let note =
            format!("{by} {}:{}:{}; on the target `{}`", file.path(), position.line, position.column, self.target.name);
        Diagnostic::error(codes::TEMPLATE_MEANING, change.message())
            .note(note)
            .note(format!("in {}", unit.identity))
            .help(match change.stated {
                Some(_) => "print the field as in the built-in template",
                None => "state it in the policy; a template can add only labels and annotations without effect",
            })
            .foldable()
    }

    /// Keeps the text of the last checked object, for texts that are like it. The check of the object must have
    /// reported nothing.
    pub fn keep(&mut self, unit: &Unit, rendered: RenderedText<'_>) {
        let (form, minor) = (self.form(), self.target.version.minor());
        let (api, definitions, trees) = (&self.api, self.definitions, self.trees);
        let object_type = &unit.identity.object_type;
        let fields = KnownFields::find(minor, self.definitions, &object_type.api_version, &object_type.kind);
        let mut read = |RenderedText { text, stated }: RenderedText<'_>| {
            let mut sink = Sink::new();
            let mut tree = yaml::read(text, bailiwick_yaml::diag::FileId::default(), &mut sink);
            let root = tree.document(0).filter(|_| sink.is_empty())?;
            let mut errors = Vec::new();
            validation::check(root, None, minor, &mut errors);
            let is_valid = errors.is_empty()
                && fields.problems(root).is_empty()
                && lints::expression_types(root, api, definitions).is_ok_and(|misfits| misfits.is_empty());
            let id = root.id();
            to_stored(&mut tree, id, form);
            let means = |stated| meaning_changes(stated, tree.at(id), trees).is_some_and(|changes| changes.is_empty());
            (is_valid && stated.is_none_or(means)).then_some(tree)
        };
        if let (Some(alike), Some(root)) = (&mut self.alike, self.tree.document(0)) {
            alike.learn(unit, rendered, root, &mut read);
        }
    }

    /// Returns the last checked object.
    pub fn object(&self) -> Option<NodeRef<'_>> {
        match (self.matched, &self.alike) {
            (Some(known), Some(alike)) => alike.tree(known)?.document(0),
            _ => self.tree.document(0),
        }
    }

    /// Whether the last checked object was found to be like a checked one ([`Validator::matches`]). It is written as the
    /// other is, with its own names and numbers, each of which is a plain text.
    pub fn has_matched(&self) -> bool {
        self.matched.is_some()
    }

    /// Writes the object that was checked last.
    pub fn write(&self, out: &mut String) {
        match (self.matched, &self.alike) {
            (Some(known), Some(alike)) => alike.write(known, out),
            _ => self.object().into_iter().for_each(|root| yaml::write::document(root, out)),
        }
    }

    /// Changes the object that was checked last, and puts it into the form to be written again.
    pub fn amend(&mut self, change: impl FnOnce(&mut Tree, NodeId)) {
        let matched = self.matched.take().zip(self.alike.as_ref()).and_then(|(known, alike)| alike.tree(known));
        matched.into_iter().for_each(|tree| self.tree = tree.clone());
        let Some(root) = self.object().map(NodeRef::id) else { return };
        change(&mut self.tree, root);
        let form = self.form();
        to_stored(&mut self.tree, root, form);
    }

    fn form(&self) -> StoredForm {
        if self.target.explicit { StoredForm::Explicit } else { StoredForm::Stored }
    }

    /// Reports a text that is not YAML or not one map, with the rendered text as the source.
    fn not_one_object(&self, unit: &Unit, text: &str) -> Diagnostic {
        let file = self.files.add(format!("<rendered {}>", unit.identity), text);
        let mut again = Sink::new();
        let tree = yaml::read(text, file, &mut again);
        let first = again.into_sorted(self.files).into_iter().next();
        let (origin, message) = match first {
            Some(first) => (first.origin, format!("the template renders text that cannot be read: {}", first.message)),
            None => {
                let documents = tree.documents().count();
                let what = if documents == 1 {
                    "a value that is not a map".to_owned()
                } else {
                    format!("{documents} documents")
                };
                let origin = tree.documents().last().map(NodeRef::origin);
                (origin, format!("the template renders {what} instead of one object"))
            }
        };
        let place = origin.unwrap_or(Origin { file, span: bailiwick_yaml::diag::Span::default() });
        with_askers(Diagnostic::error(codes::TEMPLATE_OUTPUT, message).at(place), unit)
            .help(
                "render one map with `apiVersion`, `kind` and `metadata`; the text above is the output of the template",
            )
            .note(format!("the template is `{}`", unit.template))
    }

    /// Reports unknown fields and wrong values, and returns the values that it reported. None where a value is of another type:
    /// the rules would report what follows from that.
    fn check_fields(&mut self, unit: &Unit, sink: &mut Sink) -> Option<Vec<NodeId>> {
        let fields = self.served_kind(&unit.identity.object_type).fields;
        let mut problems = fields.problems(self.object()?);
        // A status has its own diagnostic.
        problems.retain(|problem| problem.path != "status");
        problems.iter().for_each(|problem| sink.push(self.shape_problem(unit, problem)));
        let are_values = problems.iter().all(|problem| problem.kind == ProblemKind::OutOfBounds);
        are_values.then(|| problems.iter().map(|problem| problem.node.id()).collect())
    }

    fn shape_problem(&self, unit: &Unit, problem: &Problem<'_>) -> Diagnostic {
        let place = self.trees.place_of(unit, &problem.path, problem.node.as_str());
        let what = match problem.kind {
            ProblemKind::UnknownField => {
                format!("{} has no such field: {}", unit.identity.object_type.kind, problem.message)
            }
            _ => format!("`{}`: {}", problem.path, problem.message),
        };
        let may_be_there = matches!(problem.kind, ProblemKind::UnknownField) && self.api.is_newer_than_known();
        let told = if may_be_there { Diagnostic::warning } else { Diagnostic::error };
        with_askers(told(codes::MALFORMED_OBJECT, what).at(place), unit)
            .help_maybe(problem.help.clone())
            .note(format!("in {}", unit.identity))
            .foldable()
    }

    /// Reports what the server's own validation refuses, but for values that are `reported` already.
    fn check_rules(&mut self, unit: &Unit, reported: &[NodeId], sink: &mut Sink) {
        let Some(root) = self.tree.document(0) else { return };
        self.errors.clear();
        validation::check(root, None, self.target.version.minor(), &mut self.errors);
        for error in self.errors.iter().filter(|error| !reported.contains(&error.node)) {
            let node = self.tree.at(error.node);
            let place = self.trees.place_of(unit, &error.path, node.as_str());
            sink.push(
                with_askers(Diagnostic::error(codes::INVALID_OBJECT, error.message.clone()).at(place), unit)
                    .help(error.help.clone().unwrap_or_else(|| error.kind.remedy().to_owned()))
                    .note(format!("`{}` of {}", error.path, unit.identity))
                    .foldable(),
            );
        }
    }

    fn check_served(&mut self, unit: &Unit, sink: &mut Sink) {
        let object_type = &unit.identity.object_type;
        let known = self.served_kind(object_type);
        if known.served != Served::Yes {
            sink.push(self.not_served(unit));
            if !self.may_be_served(unit) {
                return;
            }
        }
        if matches!(known.fields, KnownFields::MetadataAlone(_)) {
            self.check_group(unit, sink);
        }
        match (known.namespaced, &unit.identity.namespace) {
            (Some(true), None) => sink.push(
                with_askers(
                    Diagnostic::error(codes::INVALID_OBJECT, format!("this {} has no namespace", object_type.kind))
                        .at(unit.content),
                    unit,
                )
                .help("add `metadata.namespace`: otherwise the namespace depends on the applier")
                .note(format!("in {}", unit.identity)),
            ),
            (Some(false), Some(namespace)) => sink.push(
                with_askers(
                    Diagnostic::error(codes::INVALID_OBJECT, format!("a {} is cluster-scoped", object_type.kind))
                        .at(self.trees.place_of(unit, "metadata.namespace", Some(namespace))),
                    unit,
                )
                .help("remove `metadata.namespace`: the API server drops it silently")
                .note(format!("in {}", unit.identity)),
            ),
            _ => {}
        }
    }

    fn served_kind(&mut self, object_type: &TypeMeta) -> ServedKind<'p> {
        if let Some(known) = self.served.get(object_type) {
            return *known;
        }
        let found = self.look_up(&object_type.api_version, &object_type.kind);
        self.served.insert(object_type.clone(), found);
        found
    }

    /// Warns of a built-in kind in a group that looks like the kind's own: neither is checked.
    fn check_group(&self, unit: &Unit, sink: &mut Sink) {
        let TypeMeta { api_version, kind } = &unit.identity.object_type;
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        let catalogue = self.api.catalogue();
        if catalogue.is_builtin_group(group) {
            return;
        }
        let known = catalogue.api_versions_of_kind(self.target.version.minor(), kind);
        let group_of = |known: &str| known.rsplit_once('/').map_or("core", |(group, _)| group).to_owned();
        let is_meant = |known: &String| group_of(known) == group || nearest(group, [&*group_of(known)]).is_some();
        let Some(meant) = known.iter().find(|known| is_meant(known)) else { return };
        let message =
            format!("no version of Kubernetes has `{api_version}`; only the metadata of this {kind} is checked");
        sink.push(
            with_askers(Diagnostic::warning(codes::UNCHECKED_GROUP, message).at(unit.content), unit)
                .help(format!("write `apiVersion: {meant}`"))
                .note(format!("in {}", unit.identity))
                .foldable(),
        );
    }

    fn look_up(&self, api_version: &str, kind: &str) -> ServedKind<'p> {
        let catalogue = self.api.catalogue();
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        let there = match (api_version, kind) {
            ("policy/v1beta1", "PodSecurityPolicy") => Some(self.target.serves_pod_security_policy()),
            ("security.openshift.io/v1", "SecurityContextConstraints") => {
                Some(self.target.platform == Platform::Openshift)
            }
            _ if group == "admissionregistration.k8s.io" && kind.starts_with("MutatingAdmissionPolicy") => {
                Some(self.target.mutating_admission_policy() == Some(api_version))
            }
            _ => None,
        };
        // A group that no version of Kubernetes has belongs to a custom resource, which is known with its definition.
        let served = match there {
            Some(true) => Served::Yes,
            Some(false) => Served::No,
            None if catalogue.is_builtin_group(group) || catalogue.find_kind(group, kind).is_some() => {
                catalogue.kind(self.target.version.minor(), api_version, kind)
            }
            None => Served::Yes,
        };
        let namespaced = catalogue.is_namespaced(api_version, kind);
        let minor = self.target.version.minor();
        let fields = KnownFields::find(minor, self.definitions, api_version, kind);
        ServedKind { served, namespaced, fields }
    }

    /// Whether a kind that the table lacks may be there: the target is newer than every known version.
    fn may_be_served(&self, unit: &Unit) -> bool {
        let object_type = &unit.identity.object_type;
        self.api.is_newer_than_known()
            && !self.api.catalogue().has_ever_served_kind(&object_type.api_version, &object_type.kind)
    }

    fn not_served(&self, unit: &Unit) -> Diagnostic {
        let object_type = &unit.identity.object_type;
        let version = self.target.version;
        let diagnostic = if &*object_type.kind == "PodSecurityPolicy" {
            let message = if self.target.version.minor() > 24 {
                "policy/v1beta1 PodSecurityPolicy is not served since 1.25".to_owned()
            } else {
                format!("the target `{}` does not have PodSecurityPolicy", self.target.name)
            };
            Diagnostic::error(codes::POD_SECURITY_POLICY_REMOVED, message)
                .help("choose PSa labels plus a validating policy, or exclude the target with `targets`")
        } else {
            let what = format!("{} {}", object_type.api_version, object_type.kind);
            let message = if self.may_be_served(unit) {
                format!("Kubernetes 1.{} does not serve {what}; whether {version} does is not known", version.minor())
            } else {
                format!("Kubernetes {version} does not serve {what}")
            };
            let catalogue = self.api.catalogue();
            let elsewhere = catalogue.api_versions_of_kind(version.minor(), &object_type.kind);
            let near = nearest(&object_type.kind, catalogue.kinds(version.minor()));
            let told = if self.may_be_served(unit) { Diagnostic::warning } else { Diagnostic::error };
            told(codes::KIND_NOT_SERVED, message).help(match (elsewhere.first(), near) {
                (Some(api_version), _) => format!("this version serves it as `{api_version}`"),
                (None, Some(near)) => format!("did you mean `{near}`?"),
                (None, None) => format!("exclude the target `{}` with `targets`", self.target.name),
            })
        };
        with_askers(diagnostic.at(unit.content), unit)
            .note(format!("the target `{}` runs Kubernetes {version}", self.target.name))
            .foldable()
    }
}

/// Returns the differences of an object from the text that its policy states; none if the text is not one object.
fn meaning_changes(stated: &str, object: NodeRef<'_>, trees: &Trees) -> Option<Vec<meaning::Change>> {
    let mut reading = Sink::new();
    let mut tree = yaml::read(stated, bailiwick_yaml::diag::FileId::default(), &mut reading);
    let id = tree.document(0).filter(|_| reading.is_empty())?.id();
    let stored = |tree: &mut Tree, id| {
        to_stored(tree, id, StoredForm::Stored);
        yaml::schema::to_json(tree.at(id))
    };
    let (stated, rendered) = (stored(&mut tree, id), stored(&mut object.tree().clone(), object.id()));
    Some(meaning::changes(&stated, &rendered, &|key| trees.decides_by(key)))
}

/// Adds who asked for the object, where that is not where the primary place is anyway.
fn with_askers(mut diagnostic: Diagnostic, unit: &Unit) -> Diagnostic {
    let inside = |place: Origin| place.file == unit.origin.file && unit.origin.span.contains(place.span);
    if !diagnostic.origin.is_some_and(inside) {
        diagnostic = diagnostic.and(unit.origin, "requested here");
    }
    match unit.account {
        Some(account) if diagnostic.origin != Some(account) => diagnostic.and(account, "for this account"),
        _ => diagnostic,
    }
}

/// Checks that a template renders the expected object.
fn check_identity(unit: &Unit, root: NodeRef<'_>, sink: &mut Sink) {
    let identity = &unit.identity;
    let expected = [
        ("apiVersion", root.get("apiVersion"), Some(&identity.object_type.api_version)),
        ("kind", root.get("kind"), Some(&identity.object_type.kind)),
        ("metadata.name", root.path(&["metadata", "name"]), Some(&identity.name)),
        ("metadata.namespace", root.path(&["metadata", "namespace"]), identity.namespace.as_ref()),
    ];
    for (path, rendered, expected) in expected {
        let same = match (rendered, expected) {
            (None, None) => true,
            (Some(node), Some(expected)) => node.as_str() == Some(expected),
            _ => false,
        };
        if !same {
            let rendered = rendered.map_or_else(|| "nothing".to_owned(), NodeRef::describe);
            let expected = expected.map_or_else(|| "nothing".to_owned(), |expected: &Arc<str>| format!("`{expected}`"));
            sink.push(
                Diagnostic::error(
                    codes::TEMPLATE_IDENTITY,
                    format!(
                        "the template `{}` renders {rendered} as `{path}`, and the object has {expected}",
                        unit.template
                    ),
                )
                .at(unit.origin)
                .help("print `name` and `namespace` unchanged; the policy decides the names")
                .note(format!("in {identity}"))
                .foldable(),
            );
        }
    }
}
