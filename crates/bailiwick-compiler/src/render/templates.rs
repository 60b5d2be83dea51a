//! The templates of a workspace: the built-in templates and their replacements.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_policy::model::WorkspaceTemplates;
use bailiwick_policy::source::Sources;
use bailiwick_yaml::diag::{Diagnostic, FileId, Origin, RunError, Sink, Span, nearest};
use bailiwick_yaml::limits::{MAXIMUM_TEMPLATE_SIZE, MAXIMUM_TREE_SIZE};

use super::BUILTIN;
use super::composite;

/// How many templates may stand for one another in a row.
const MAXIMUM_ALIASES: usize = 8;

/// Every template by its path below the template folder.
#[derive(Debug, Default, Clone)]
pub struct TemplateSet {
    templates: BTreeMap<String, (FileId, Arc<str>)>,
    /// Templates that only include another one, with that one.
    aliases: BTreeMap<String, String>,
    /// The built-in templates; none where the workspace replaces none of them.
    built_in: Option<Box<TemplateSet>>,
    /// The built-in templates that render something else because of the workspace's.
    replaced: BTreeSet<&'static str>,
}

impl TemplateSet {
    /// Returns the built-in templates with the replacements in the workspace's folder.
    ///
    /// # Errors
    /// When a template is there and cannot be read.
    pub fn load(folder: &str, sources: &mut Sources, sink: &mut Sink) -> Result<Self, RunError> {
        let mut set = Self::default();
        for (path, text) in BUILTIN {
            let file = sources.files().add(format!("<built-in>/{path}"), *text);
            set.templates.insert((*path).to_owned(), (file, Arc::from(*text)));
        }
        set.find_aliases();
        let built_in = set.clone();
        let prefix = format!("{folder}/");
        let mut own = BTreeSet::new();
        for path in sources.list(folder, None)?.iter() {
            let Some(name) = path.strip_prefix(&prefix).map(str::to_owned) else { continue };
            let Some(file) = sources.text(path, MAXIMUM_TREE_SIZE, None, sink)? else { continue };
            let text: Arc<str> = sources.files().get(file).text().into();
            if text.len() > MAXIMUM_TEMPLATE_SIZE {
                sink.push(
                    Diagnostic::error(codes::FILE_TOO_LARGE, format!("this template has {} KiB", text.len() >> 10))
                        .at(Origin { file, span: Span::new(0, 1) })
                        .help(format!(
                            "split the template with `{{% include %}}`: it can have at most {} KiB",
                            MAXIMUM_TEMPLATE_SIZE >> 10
                        )),
                );
                continue;
            }
            own.insert(name.clone());
            set.templates.insert(name, (file, text));
        }
        // A test checks the built-in templates by themselves.
        if !own.is_empty() {
            set.find_aliases();
            let names = BUILTIN.iter().map(|(name, _)| *name);
            set.replaced = names.filter(|name| built_in.reaches(name, &own)).collect();
            set.built_in = Some(Box::new(built_in));
            set.refuse_composites(sink);
        }
        Ok(set)
    }

    /// Returns the templates for the link of policies; `folder` is the template folder.
    pub fn for_policies(&self, folder: &str) -> WorkspaceTemplates {
        let built_in: BTreeSet<&'static str> = BUILTIN.iter().map(|(name, _)| *name).collect();
        let own = self.names().filter(|name| !built_in.contains(name)).map(str::to_owned).collect();
        WorkspaceTemplates { folder: folder.to_owned(), own, built_in, named: BTreeSet::new() }
    }

    /// Reports the templates of the workspace without a use: they replace no built-in template, and no policy names them.
    /// `is_in_use` returns whether a template has a use all the same.
    pub fn report_unknown(&self, templates: &WorkspaceTemplates, is_in_use: &dyn Fn(&str) -> bool, sink: &mut Sink) {
        let unknown = templates.own.iter().filter(|name| !is_part(name) && !templates.named.contains(*name));
        for name in unknown.filter(|name| !is_in_use(name)) {
            let place = self.file(name).map(|file| Origin { file, span: Span::new(0, 1) });
            let message = format!("`{name}` replaces no built-in template, and no policy names it");
            let diagnostic = Diagnostic::warning(codes::UNKNOWN_TEMPLATE, message).at_maybe(place);
            sink.push(diagnostic.help(nearest(name, templates.built_in.iter().copied()).map_or_else(
                || {
                    "name it under `objects` of a policy, or begin the name of a template for `{% include %}` with `_`"
                        .to_owned()
                },
                |near| format!("did you mean `{near}`?"),
            )));
        }
    }

    fn find_aliases(&mut self) {
        let names = self.templates.keys().map(|name| (name.clone(), self.follow(name).to_owned()));
        self.aliases = names.filter(|(name, followed)| name != followed).collect();
    }

    /// Whether a built-in template is one of these, or includes one.
    fn reaches(&self, name: &str, wanted: &BTreeSet<String>) -> bool {
        let included = self.source(name).unwrap_or_default().split("{% include \"").skip(1);
        let mut names = included.filter_map(|rest| rest.split('"').next());
        wanted.contains(name) || names.any(|name| self.reaches(name, wanted))
    }

    /// Returns the built-in templates, where the workspace replaces some of them: what they make of a unit is what its policy
    /// states.
    pub fn built_in(&self) -> Option<&TemplateSet> {
        self.built_in.as_deref()
    }

    /// Whether a template renders something else than the built-in one because of the workspace's templates.
    pub fn is_replaced(&self, template: &str) -> bool {
        self.replaced.contains(template)
    }

    /// Returns the line of the workspace's templates that prints a field of an object, as far as the text shows it: the first
    /// line with the first of these names that one has, else the beginning.
    pub fn place_of<'n>(&self, template: &str, names: impl Iterator<Item = &'n str>) -> Option<Origin> {
        let mut reached = Vec::new();
        self.reach(template, &mut reached);
        let own: Vec<_> = reached.into_iter().filter_map(|name| self.templates.get(name)).collect();
        let place = |file, start: usize, end: usize| Origin { file, span: Span::new(start, end) };
        for name in names {
            for (file, text) in &own {
                let key = text.match_indices(name).find(|(start, _)| {
                    let before = text.get(..*start).and_then(|before| before.chars().next_back());
                    let behind = text.get(start + name.len()..).unwrap_or_default();
                    behind.starts_with(':') && before.is_none_or(|before| " \n{-\"'".contains(before))
                });
                if let Some((start, _)) = key {
                    return Some(place(*file, start, start + name.len()));
                }
            }
        }
        own.first().map(|(file, _)| place(*file, 0, 1))
    }

    /// Collects the workspace's templates that a template may include, itself among them.
    fn reach<'s>(&'s self, name: &'s str, reached: &mut Vec<&'s str>) {
        let name = self.resolve(name);
        let mut visited = BTreeSet::from([name]);
        let mut open = vec![name];
        while let Some(name) = open.pop() {
            let built_in = self.built_in().and_then(|built_in| built_in.file(name));
            if built_in != self.file(name) {
                reached.push(name);
            }
            let source = self.source(name).unwrap_or_default();
            let names = self.templates.keys().map(String::as_str);
            let included =
                names.filter(|name| source.contains(&format!("\"{name}\"")) || source.contains(&format!("'{name}'")));
            open.extend(included.map(|name| self.resolve(name)).filter(|name| visited.insert(name)));
        }
    }

    /// Reports values that text is glued to, in whatever a template includes.
    fn refuse_composites(&self, sink: &mut Sink) {
        let (parts, roots): (Vec<&str>, Vec<&str>) = self.names().partition(|name| is_part(name));
        // A part by itself comes last, so that its problem is reported once.
        let found = match composite::find(self, roots.into_iter().chain(parts)) {
            Ok(found) => found,
            Err(name) => {
                let place = self.file(name).map(|file| Origin { file, span: Span::new(0, 1) });
                sink.push(
                    Diagnostic::error(codes::TEMPLATE_COMPOSITE, "this template has too many branches")
                        .at_maybe(place)
                        .help("write fewer nested loops"),
                );
                return;
            }
        };
        for (name, start, end) in found {
            let Some(file) = self.file(&name) else { continue };
            sink.push(
                Diagnostic::error(codes::TEMPLATE_COMPOSITE, "text is next to this value")
                    .at(Origin { file, span: Span::new(start, end) })
                    .help("build the whole value inside the braces, such as `{{ \"tool-\" ~ name }}`"),
            );
        }
    }

    /// Returns a template by its own name or by the name of a template that only includes it.
    pub(super) fn named(&self, name: &str) -> Option<(&str, &str)> {
        let (name, (_, source)) = self.templates.get_key_value(self.resolve(name))?;
        Some((name, source))
    }

    /// Returns the template that a name stands for: one that only includes another one is the other one, at no cost.
    pub(super) fn resolve<'n>(&'n self, name: &'n str) -> &'n str {
        self.aliases.get(name).map_or(name, String::as_str)
    }

    /// Follows templates that only include another one.
    fn follow<'n>(&'n self, name: &'n str) -> &'n str {
        let mut resolved = name;
        for _ in 0..MAXIMUM_ALIASES {
            let included = self.source(resolved).and_then(|source| {
                let inside = source.trim().strip_prefix("{%")?.strip_suffix("%}")?.trim();
                inside.strip_prefix("include")?.trim().strip_prefix('"')?.strip_suffix('"')
            });
            match included.filter(|included| self.templates.contains_key(*included)) {
                Some(included) => resolved = included,
                None => break,
            }
        }
        resolved
    }

    /// Returns the source of a template.
    pub(super) fn source(&self, name: &str) -> Option<&str> {
        self.templates.get(name).map(|(_, text)| &**text)
    }

    /// Returns the names of all templates.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.templates.keys().map(String::as_str)
    }

    /// Returns the registered text of a template.
    pub(super) fn file(&self, name: &str) -> Option<FileId> {
        self.templates.get(name).map(|(file, _)| *file)
    }

    /// Returns the bytes of a line, counted from 1, without its indentation.
    pub(super) fn line(&self, name: &str, line: usize) -> Span {
        let mut start = 0;
        for (index, text) in self.source(name).unwrap_or_default().split_inclusive('\n').enumerate() {
            if index + 1 == line {
                let indent = text.len() - text.trim_start().len();
                return Span::new(start + indent, start + text.trim_end().len().max(indent + 1));
            }
            start += text.len();
        }
        Span::default()
    }
}

/// Whether a template exists only to be included.
fn is_part(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|last| last.starts_with('_'))
}
