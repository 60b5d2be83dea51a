//! A unit and its template: YAML text.
//!
//! Templates are Jinja (minijinja) with undefined variables as errors, a fuel limit and no files beyond the template
//! folder. Every `{{ value }}` is written as JSON on one line, which is a complete YAML scalar, list or map: no value
//! can open a key or a document of its own. Text glued to a value would end up around its quotes, so a template that
//! does that is refused when it is loaded.

mod builtin;
mod composite;
mod proof;
mod templates;
mod value;

use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior};

use crate::diag::{Code, Diagnostic, Origin, Span, nearest};
use crate::model::{Data, Unit};
pub use builtin::BUILTIN;
pub use proof::{Columns, Marked, Refusal};
pub use templates::TemplateSet;

/// How many instructions one object may take: hundreds of times what the largest one needs.
const FUEL: u64 = 2_000_000;

/// How many bytes one object may have: several times what the API server takes.
const MAXIMUM_OBJECT: usize = 16 << 20;

/// Takes the text of one object and no more: a loop of few steps can write without end.
struct Bounded<'o>(&'o mut Vec<u8>);

impl std::io::Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.len() + bytes.len() > MAXIMUM_OBJECT {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A template engine for one thread.
pub struct Renderer {
    environment: Environment<'static>,
    templates: Arc<TemplateSet>,
}

impl Renderer {
    /// An engine for a set of templates.
    pub fn new(templates: Arc<TemplateSet>) -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_syntax(syntax());
        // These names of the engine's would hide a missing value of ours.
        for name in ["namespace", "debug", "dict"] {
            environment.remove_global(name);
        }
        environment.set_fuel(Some(FUEL));
        environment.set_recursion_limit(50);
        environment.set_auto_escape_callback(|_| AutoEscape::Custom("yaml".into()));
        environment.set_formatter(|out, _, value| value::write(out, value));
        let sources = Arc::clone(&templates);
        environment.set_loader(move |name| Ok(sources.source(name).map(str::to_owned)));
        Self { environment, templates }
    }

    /// Renders a unit into `out`, which is cleared first.
    ///
    /// # Errors
    /// What went wrong in the template, with the policy that asked.
    pub fn render(&self, unit: &Unit, out: &mut Vec<u8>) -> Result<(), Box<Diagnostic>> {
        out.clear();
        let template = self
            .environment
            .get_template(self.templates.resolve(unit.template))
            .map_err(|error| self.explain(unit, &error))?;
        let Data::Map(entries) = &unit.data else {
            return Ok(());
        };
        let context = value::map(Arc::clone(entries));
        let bounded = Bounded(out);
        template.render_captured_to(context, bounded).map(|_| ()).map_err(|error| self.explain(unit, &error))
    }

    /// True when an object may have so many bytes.
    pub fn has_room(bytes: usize) -> bool {
        bytes <= MAXIMUM_OBJECT
    }

    /// The error of an engine as a diagnostic: the template's line, and the policy's.
    fn explain(&self, unit: &Unit, error: &Error) -> Box<Diagnostic> {
        let mut innermost = error;
        while let Some(inner) = std::error::Error::source(innermost).and_then(|inner| inner.downcast_ref::<Error>()) {
            innermost = inner;
        }
        let name = innermost.name().unwrap_or(unit.template);
        let origin = self.place(name, innermost);
        let written = origin.and_then(|origin| self.templates.slice(name, origin.span)).unwrap_or_default();
        let (code, message) = match innermost.kind() {
            ErrorKind::UndefinedError => {
                (Code::TemplateFailed, format!("`{}` is not defined for this object", written.trim()))
            }
            ErrorKind::OutOfFuel => (Code::TemplateFailed, "this template does not come to an end".to_owned()),
            ErrorKind::SyntaxError => (
                Code::TemplateSyntax,
                format!("this is not a template: {}", innermost.detail().unwrap_or("syntax error")),
            ),
            ErrorKind::TemplateNotFound => {
                (Code::TemplateFailed, format!("there is no template `{}` to include", quoted(innermost)))
            }
            ErrorKind::WriteFailure => (
                Code::TemplateFailed,
                format!("this template writes more than {} MiB for one object", MAXIMUM_OBJECT >> 20),
            ),
            kind => (Code::TemplateFailed, innermost.detail().map_or_else(|| kind.to_string(), str::to_owned)),
        };
        let mut diagnostic = Diagnostic::error(code, message)
            .at_maybe(origin)
            .and(unit.origin, "asked for here")
            .note(format!("while rendering {}", unit.identity))
            .foldable();
        if let Some(account) = unit.account {
            diagnostic = diagnostic.and(account, "for this account");
        }
        Box::new(diagnostic.help(self.help(unit, innermost, written)))
    }

    /// What to do about an error.
    fn help(&self, unit: &Unit, error: &Error, written: &str) -> String {
        match error.kind() {
            ErrorKind::UndefinedError => {
                let names = fields(&unit.data);
                nearest(written.trim(), names.iter().copied()).map_or_else(
                    || format!("the object has: {}", listed(&names)),
                    |near| format!("did you mean `{near}`?"),
                )
            }
            ErrorKind::WriteFailure => "loop over fewer items, or write shorter values".to_owned(),
            ErrorKind::OutOfFuel => format!("an object may take {FUEL} steps; loop over fewer items"),
            ErrorKind::TemplateNotFound => nearest(quoted(error), self.templates.names()).map_or_else(
                || "a path is relative to the template folder and does not leave it".to_owned(),
                |near| format!("did you mean `{near}`?"),
            ),
            ErrorKind::SyntaxError => {
                "templates are Jinja: `{{ value }}`, `{% if %} {% endif %}`, `{# comment #}`".to_owned()
            }
            ErrorKind::UnknownFilter | ErrorKind::UnknownTest | ErrorKind::UnknownFunction => {
                "the filters, tests and functions are those of minijinja".to_owned()
            }
            _ => format!("change the expression; the object has: {}", listed(&fields(&unit.data))),
        }
    }

    fn place(&self, name: &str, error: &Error) -> Option<Origin> {
        let file = self.templates.file(name)?;
        let span = match (error.range(), error.line()) {
            (Some(range), _) => Span::new(range.start, range.end.max(range.start + 1)),
            (None, Some(line)) => self.templates.line(name, line),
            (None, None) => Span::default(),
        };
        Some(Origin { file, span })
    }
}

/// A statement on a line of its own leaves no blank line behind.
fn syntax() -> SyntaxConfig {
    SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()
        .unwrap_or_default()
}

/// The names that a template may use at its top level.
fn fields(data: &Data) -> Vec<&str> {
    match data {
        Data::Map(entries) => entries.iter().map(|(name, _)| &**name).collect(),
        _ => Vec::new(),
    }
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// What stands between quotes in the engine's words.
fn quoted(error: &Error) -> &str {
    error.detail().and_then(|detail| detail.split('\'').nth(1)).unwrap_or_default()
}
