//! A unit and its template: YAML text.
//!
//! Templates are Jinja as minijinja parses it, with undefined variables as errors, bounds for time and memory, and no
//! files beyond the template folder. Every `{{ value }}` is written as JSON on one line, which is a complete YAML scalar, list or map: no value
//! can open a key or a document of its own. Text glued to a value would end up around its quotes, so a template that
//! does that is refused when it is loaded.

mod budget;
mod composite;
mod evaluate;
mod expression;
mod filters;
mod page;
mod recording;
mod templates;
mod value;

use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_policy::model::{Data, TEMPLATE_INPUTS, TemplateName, Unit};
use bailiwick_yaml::diag::{Code, Diagnostic, Origin, Span, nearest};
use hashbrown::HashMap;
use minijinja::syntax::SyntaxConfig;

use self::budget::{Cause, MAXIMUM_OBJECT, MAXIMUM_STEPS, MAXIMUM_TEXT};
use self::evaluate::{Fault, Parsed, Rendered, RootNames, Run};
use self::recording::{Recorder, Recording};
pub use page::page;
pub use templates::TemplateSet;

/// The built-in templates, the repository's own `templates/`: path and source of each, in the order of the paths. `build.rs`
/// finds them.
pub const BUILTIN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/templates.rs"));

/// How many names a help lists.
const MOST_LISTED: usize = 20;

/// Returns a value of [`TEMPLATE_INPUTS`] by its name.
pub type TemplateInput<'i> = dyn Fn(&str) -> Option<Data> + 'i;

/// A template engine for one thread.
pub struct Renderer<'t> {
    parsed: Parsed<'t>,
    /// How often a template used up its bounds, with the last fault.
    exhausted: HashMap<TemplateName, (usize, Box<Fault<'t>>)>,
    recorded: HashMap<Source, Recorded>,
    /// The length of the recorded texts.
    recorded_bytes: usize,
}

/// The origin of an object: the template, and the two places in policies.
type Source = (TemplateName, Origin, Origin);

/// How many objects of an origin are rendered before one is recorded: a recording of what comes once or twice is not worth it.
const FIRST_RECORDED: u8 = 2;

/// How many objects of an origin are recorded.
const MOST_RECORDED: u8 = 4;

/// How many bytes the text of a recorded object may have, and the texts of all of them: more than the objects of tenants have.
const LONGEST_RECORDED: usize = 64 << 10;
const MOST_RECORDED_BYTES: usize = 4 << 20;

/// How many more objects than the repeated ones may be rendered before the recordings of an origin are no longer tried.
const MOST_TRIED: u32 = 32;

/// The recorded objects of an origin.
#[derive(Default)]
struct Recorded {
    recordings: Vec<Recording>,
    /// How many objects came, up to the last one that is recorded.
    seen: u8,
    /// How many more objects were rendered than repeated since the first recording.
    misses: u32,
}

impl Recorded {
    /// Renders data like a recorded object. Returns false if none is like it.
    fn repeat(&mut self, data: &Data, out: &mut String) -> bool {
        for recording in &self.recordings {
            if recording.repeat(data, out) {
                self.misses = self.misses.saturating_sub(1);
                return true;
            }
            out.clear();
        }
        self.misses += u32::from(!self.recordings.is_empty());
        if self.misses > MOST_TRIED {
            self.recordings = Vec::new();
        }
        false
    }

    /// Returns whether the next object is to be recorded.
    fn is_recording(&mut self) -> bool {
        self.seen = self.seen.saturating_add(1);
        self.seen > FIRST_RECORDED && self.seen <= FIRST_RECORDED + MOST_RECORDED
    }
}

/// How many objects may use up the bounds of one template. Nothing is written after the first; the others of the template
/// are taken to fail as well, so that many objects take no longer than some.
const MOST_EXHAUSTED: usize = 20;

impl<'t> Renderer<'t> {
    /// Returns an engine for a set of templates.
    pub fn new(templates: &'t TemplateSet) -> Self {
        Self { parsed: Parsed::new(templates), exhausted: HashMap::new(), recorded: HashMap::new(), recorded_bytes: 0 }
    }

    /// Renders a unit into `out`, which is cleared first. `input` returns the values of [`TEMPLATE_INPUTS`].
    ///
    /// # Errors
    /// The problem of the template, with the policy that requested the object.
    pub fn render(&mut self, unit: &Unit, input: &TemplateInput<'_>, out: &mut String) -> Result<(), Box<Diagnostic>> {
        out.clear();
        let Data::Map(_) = &unit.data else {
            return Ok(());
        };
        if let Some((count, fault)) = self.exhausted.get(&unit.template)
            && *count >= MOST_EXHAUSTED
        {
            return Err(explain(self.parsed.templates, unit, input, fault));
        }
        let recorded = self.recorded.entry((unit.template.clone(), unit.origin, unit.content)).or_default();
        if recorded.repeat(&unit.data, out) {
            return Ok(());
        }
        let recorder = recorded.is_recording().then(|| Recorder::new(&unit.data));
        let root = RootNames { data: &unit.data, input };
        let rendered = Run::render(&mut self.parsed, &unit.template, root, std::mem::take(out), recorder);
        let Rendered { text, outcome, recording } = rendered;
        if let Some(recording) = recording.filter(|_| text.len() <= LONGEST_RECORDED) {
            recorded.recordings.push(recording);
            self.recorded_bytes += text.len();
        }
        if self.recorded_bytes > MOST_RECORDED_BYTES {
            (self.recorded, self.recorded_bytes) = (HashMap::new(), 0);
        }
        *out = text;
        outcome.map_err(|fault| {
            let diagnostic = explain(self.parsed.templates, unit, input, &fault);
            if matches!(fault.cause, Cause::Steps | Cause::LongText | Cause::LongObject) {
                let count = self.exhausted.get(&unit.template).map_or(0, |(count, _)| *count);
                self.exhausted.insert(unit.template.clone(), (count + 1, fault));
            }
            diagnostic
        })
    }
}

/// Returns the problem of a template as a diagnostic: the template's line, and the policy's.
fn explain(templates: &TemplateSet, unit: &Unit, input: &TemplateInput<'_>, fault: &Fault<'_>) -> Box<Diagnostic> {
    let mut diagnostic = Diagnostic::error(code(&fault.cause), message(&fault.cause))
        .at_maybe(place(templates, fault))
        .and(unit.origin, "requested here")
        .note(format!("while rendering {}", unit.identity))
        .foldable();
    if let Some(account) = unit.account {
        diagnostic = diagnostic.and(account, "for this account");
    }
    Box::new(diagnostic.help(help(templates, unit, input, &fault.cause)))
}

fn code(cause: &Cause) -> Code {
    match cause {
        Cause::Syntax(_) => codes::TEMPLATE_SYNTAX,
        _ => codes::TEMPLATE_FAILED,
    }
}

fn message(cause: &Cause) -> String {
    match cause {
        Cause::Undefined(written) => format!("`{written}` is not defined for this object"),
        Cause::Steps => "this template does not end".to_owned(),
        Cause::LongText => format!("this text has more than {} MiB", MAXIMUM_TEXT >> 20),
        Cause::LongObject => format!("this template writes more than {} MiB for one object", MAXIMUM_OBJECT >> 20),
        Cause::Nesting => "this nests too deeply".to_owned(),
        Cause::NoTemplate(name) => format!("there is no template `{}` to include", shortened(name)),
        Cause::Syntax(problem) => format!("this is not a template: {problem}"),
        Cause::Wrong(problem, _) => problem.clone(),
    }
}

/// Returns the remedy of a problem.
fn help(templates: &TemplateSet, unit: &Unit, input: &TemplateInput<'_>, cause: &Cause) -> String {
    match cause {
        Cause::Undefined(written) => {
            let (within, name, names) = known_names(written, &unit.data, input);
            let whole = if within.is_empty() { "the object".to_owned() } else { format!("`{within}`") };
            let path = |near: &str| if within.is_empty() { near.to_owned() } else { format!("{within}.{near}") };
            nearest(name, names.iter().map(|name| &**name)).map_or_else(
                || format!("{whole} has: {}", listed(&names)),
                |near| format!("did you mean `{}`?", path(near)),
            )
        }
        Cause::Steps => {
            format!("loop over fewer items, or write shorter values: an object can take {MAXIMUM_STEPS} steps")
        }
        Cause::LongText | Cause::LongObject => "loop over fewer items, or write shorter values".to_owned(),
        Cause::Nesting => "write fewer nested expressions, statements and templates".to_owned(),
        Cause::NoTemplate(name) => nearest(name, templates.names()).map_or_else(
            || "write a path relative to the template folder and inside it".to_owned(),
            |near| format!("did you mean `{near}`?"),
        ),
        Cause::Syntax(_) => "write Jinja: `{{ value }}`, `{% if %} {% endif %}`, `{# comment #}`".to_owned(),
        Cause::Wrong(_, help) => help.clone(),
    }
}

fn place(templates: &TemplateSet, fault: &Fault<'_>) -> Option<Origin> {
    let file = templates.file(fault.template)?;
    let span = match fault.span {
        Some(span) => {
            let (start, end) = (span.start_offset as usize, span.end_offset as usize);
            Span::new(start, end.max(start + 1))
        }
        None => templates.line(fault.template, fault.line),
    };
    Some(Origin { file, span })
}

/// Returns the beginning of a name that a template computed.
fn shortened(name: &str) -> String {
    name.chars().take(100).collect()
}

/// Returns the syntax of templates: a statement on a line of its own leaves no blank line.
fn syntax() -> SyntaxConfig {
    SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()
        .unwrap_or_default()
}

/// Returns the last name of a path, the path before it, and the names beside the last one. A path into no map of the template counts as
/// a name at the top level.
fn known_names<'w>(written: &'w str, data: &Data, input: &TemplateInput<'_>) -> (&'w str, &'w str, Vec<Arc<str>>) {
    let keys = |map: &Data| match map {
        Data::Map(entries) => entries.iter().map(|(name, _)| Arc::clone(name)).collect(),
        _ => Vec::new(),
    };
    if let Some((within, name)) = written.rsplit_once('.') {
        let mut steps = within.split('.');
        let first = steps.next().and_then(|first| data.get(first).cloned().or_else(|| input(first)));
        let found = steps.try_fold(first, |whole, step| Some(whole?.get(step).cloned()));
        let names = found.flatten().map_or_else(Vec::new, |map| keys(&map));
        if !names.is_empty() {
            return (within, name, names);
        }
    }
    let mut names = keys(data);
    let further: Vec<Arc<str>> =
        TEMPLATE_INPUTS.into_iter().map(Arc::from).filter(|name| !names.contains(name)).collect();
    names.extend(further);
    ("", written, names)
}

/// Returns the first names of a list as a text.
fn listed(names: &[Arc<str>]) -> String {
    let more = names.len().saturating_sub(MOST_LISTED);
    let more = (more > 0).then(|| format!("{more} more"));
    let first = names.iter().take(MOST_LISTED).map(|name| format!("`{name}`"));
    first.chain(more).collect::<Vec<_>>().join(", ")
}
