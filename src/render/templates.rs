//! The templates of a workspace: built-in ones, and those that replace them.

use std::collections::BTreeMap;

use super::builtin::BUILTIN;
use super::composite;
use crate::diag::{Code, Diagnostic, FileId, Origin, RunError, Sink, Span, nearest};
use crate::source::Sources;

/// How many templates may stand for one another in a row.
const MAXIMUM_ALIASES: usize = 8;

/// Every template by its path below the template folder.
#[derive(Debug, Default)]
pub struct TemplateSet {
    templates: BTreeMap<String, (FileId, std::sync::Arc<str>)>,
    /// Templates that only include another one, with that one.
    aliases: BTreeMap<String, String>,
}

impl TemplateSet {
    /// The built-in templates, with those of the workspace's folder over them.
    ///
    /// # Errors
    /// When a template is there and cannot be read.
    pub fn load(folder: &str, sources: &mut Sources, sink: &mut Sink) -> Result<Self, RunError> {
        let mut set = Self::default();
        for (path, text) in BUILTIN {
            let file = sources.files().add(format!("<built-in>/{path}"), *text);
            set.templates.insert((*path).to_owned(), (file, std::sync::Arc::from(*text)));
        }
        let prefix = format!("{folder}/");
        for path in sources.list(folder)? {
            let Some(name) = path.strip_prefix(&prefix).map(str::to_owned) else { continue };
            let Some(file) = sources.text(&path, sink)? else { continue };
            let text = sources.files().get(file).shared_text();
            let is_part = name.rsplit('/').next().is_some_and(|last| last.starts_with('_'));
            if !is_part && !BUILTIN.iter().any(|(known, _)| *known == name) {
                let near = nearest(&name, BUILTIN.iter().map(|(known, _)| *known));
                sink.push(
                    Diagnostic::warning(Code::UnknownTemplate, format!("`{name}` replaces no built-in template"))
                        .at(Origin { file, span: Span::new(0, 1) })
                        .help(near.map_or_else(
                            || "a part for `{% include %}` has a name that begins with `_`".to_owned(),
                            |near| format!("did you mean `{near}`?"),
                        )),
                );
            }
            for range in composite::find(&text) {
                let span = Span::new(range.start, range.end);
                sink.push(
                    Diagnostic::error(Code::TemplateComposite, "text is glued to this value")
                        .at(Origin { file, span })
                        .help("build the whole value inside the braces, such as `{{ \"tool-\" ~ name }}`"),
                );
            }
            set.templates.insert(name, (file, text));
        }
        let names = set.templates.keys().map(|name| (name.clone(), set.follow(name).to_owned()));
        set.aliases = names.filter(|(name, followed)| name != followed).collect();
        Ok(set)
    }

    /// The template that a name stands for: one that only includes another one is the other one, at no cost.
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

    /// The source of a template.
    pub(super) fn source(&self, name: &str) -> Option<&str> {
        self.templates.get(name).map(|(_, text)| &**text)
    }

    /// The names of all templates.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.templates.keys().map(String::as_str)
    }

    /// The registered text of a template.
    pub(super) fn file(&self, name: &str) -> Option<FileId> {
        self.templates.get(name).map(|(file, _)| *file)
    }

    /// A part of a template's text.
    pub(super) fn slice(&self, name: &str, span: Span) -> Option<&str> {
        self.source(name)?.get(span.start as usize..span.end as usize)
    }

    /// The bytes of a line, counted from 1, without its indentation.
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
