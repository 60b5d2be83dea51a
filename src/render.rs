//! A unit and its template: YAML text.
//!
//! Templates are Jinja as minijinja parses it, with undefined variables as errors, bounds for time and memory, and no
//! files beyond the template folder. Every `{{ value }}` is written as JSON on one line, which is a complete YAML scalar, list or map: no value
//! can open a key or a document of its own. Text glued to a value would end up around its quotes, so a template that
//! does that is refused when it is loaded.

mod budget;
mod builtin;
mod composite;
mod evaluate;
mod expression;
mod filters;
mod templates;
mod value;

use crate::codes;
use hashbrown::HashMap;
use minijinja::syntax::SyntaxConfig;

use self::budget::{Budget, Cause, MAXIMUM_OBJECT, MAXIMUM_STEPS, MAXIMUM_TEXT};
use self::evaluate::{Fault, Parsed, Run};
use crate::diag::{Code, Diagnostic, Origin, Span, nearest};
use crate::model::{Data, Unit};
pub use builtin::BUILTIN;
pub use templates::TemplateSet;

/// A template engine for one thread.
pub struct Renderer<'t> {
    parsed: Parsed<'t>,
    /// How often a template used up its bounds, with the last fault.
    exhausted: HashMap<&'static str, (usize, Box<Fault<'t>>)>,
}

/// How many objects may use up the bounds of one template. Nothing is written after the first; the others of the template
/// are taken to fail as well, so that many objects take no longer than some.
const MOST_EXHAUSTED: usize = 20;

impl<'t> Renderer<'t> {
    /// Returns an engine for a set of templates.
    pub fn new(templates: &'t TemplateSet) -> Self {
        Self { parsed: Parsed::new(templates), exhausted: HashMap::new() }
    }

    /// Whether a template used up its bounds so often that the renderer refuses it for every object.
    pub fn gives_up(&self) -> bool {
        self.exhausted.values().any(|(count, _)| *count >= MOST_EXHAUSTED)
    }

    /// Renders a unit into `out`, which is cleared first.
    ///
    /// # Errors
    /// What went wrong in the template, with the policy that asked.
    pub fn render(&mut self, unit: &Unit, out: &mut String) -> Result<(), Box<Diagnostic>> {
        out.clear();
        let Data::Map(entries) = &unit.data else {
            return Ok(());
        };
        if let Some((count, fault)) = self.exhausted.get(unit.template)
            && *count >= MOST_EXHAUSTED
        {
            return Err(explain(self.parsed.templates, unit, fault));
        }
        let (text, outcome) = Run::render(&mut self.parsed, unit.template, entries, std::mem::take(out), Budget::new());
        *out = text;
        outcome.map_err(|fault| {
            let diagnostic = explain(self.parsed.templates, unit, &fault);
            if matches!(fault.cause, Cause::Steps | Cause::LongText | Cause::LongObject) {
                let count = self.exhausted.get(unit.template).map_or(0, |(count, _)| *count);
                self.exhausted.insert(unit.template, (count + 1, fault));
            }
            diagnostic
        })
    }

    /// Renders a unit with open values ([`Data::Open`]) into `out`. False where its template does anything else with them
    /// than printing them, alone or with text around them, or where it might exceed its bounds with values of `longest`
    /// bytes. Otherwise the text of an account is this text with its values in place of the open ones: whatever the
    /// template decides, it decides without them.
    pub fn prints_open(&mut self, unit: &Unit, longest: usize, out: &mut String) -> bool {
        out.clear();
        let Data::Map(entries) = &unit.data else { return false };
        let budget = Budget::with_open(longest);
        let (text, outcome) = Run::render(&mut self.parsed, unit.template, entries, std::mem::take(out), budget);
        *out = text;
        outcome.is_ok()
    }
}

/// Returns the problem of a template as a diagnostic: the template's line, and the policy's.
fn explain(templates: &TemplateSet, unit: &Unit, fault: &Fault<'_>) -> Box<Diagnostic> {
    let mut diagnostic = Diagnostic::error(code(&fault.cause), message(&fault.cause))
        .at_maybe(place(templates, fault))
        .and(unit.origin, "requested here")
        .note(format!("while rendering {}", unit.identity))
        .foldable();
    if let Some(account) = unit.account {
        diagnostic = diagnostic.and(account, "for this account");
    }
    Box::new(diagnostic.help(help(templates, unit, &fault.cause)))
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
fn help(templates: &TemplateSet, unit: &Unit, cause: &Cause) -> String {
    match cause {
        Cause::Undefined(written) => {
            let names = fields(&unit.data);
            nearest(written, names.iter().copied())
                .map_or_else(|| format!("the object has: {}", listed(&names)), |near| format!("did you mean `{near}`?"))
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

/// Returns the names that a template may use at its top level.
fn fields(data: &Data) -> Vec<&str> {
    match data {
        Data::Map(entries) => entries.iter().map(|(name, _)| &**name).collect(),
        _ => Vec::new(),
    }
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::diag::{Files, Sink};
    use crate::source::{MemoryWorld, Sources};

    /// The values of two accounts that differ in everything a template might ask about them, and such as stand nowhere else.
    const TEXTS: [&str; 3] = ["q00zwk", "Uu v,X-1.b\u{e9}", "yyyyyyyy"];
    const NUMBERS: [i64; 3] = [28_657, -4, 987_654_321];

    /// The data of an account.
    fn data(account: usize, open: bool) -> Vec<(Arc<str>, Data)> {
        let opened = |data: Data| if open { Data::Open(Arc::new(data)) } else { data };
        let (name, uid) = (opened(Data::text(TEXTS[account])), opened(Data::Int(NUMBERS[account])));
        let rule = Data::map([
            ("verbs", Data::List([Data::text("get")].into())),
            ("names", Data::List([name.clone()].into())),
        ]);
        let rules =
            Data::List([Data::map([("verbs", Data::text("x")), ("names", Data::List([].into()))]), rule].into());
        vec![
            ("name".into(), name),
            ("uid".into(), uid),
            ("same".into(), Data::text("q00zwk")),
            ("numbers".into(), Data::List([Data::Int(28_657), Data::Int(3)].into())),
            ("rules".into(), rules),
        ]
    }

    /// Whether each template only prints open values. Where one does, its text for the second account has to be the text of
    /// the first with the other values in it.
    fn verdicts(texts: &[String]) -> Vec<bool> {
        let path = |index: usize| format!("templates/x/{index}.yaml.j2");
        let part = ("templates/_part.yaml.j2".to_owned(), "a: {{ name }}\n".to_owned());
        let files = texts.iter().enumerate().map(|(index, text)| (path(index), text.clone()));
        let world = MemoryWorld::new(files.chain([part]));
        let mut sources = Sources::new(Box::new(world), Arc::new(Files::new()));
        let templates = TemplateSet::load("templates", &mut sources, &mut Sink::new()).expect("memory can be read");
        let names: Vec<String> = (0..texts.len()).map(|index| format!("x/{index}.yaml.j2")).collect();
        let mut parsed = Parsed::new(&templates);
        let mut render = |name: &'static str, data: &[(Arc<str>, Data)], budget| {
            let (text, outcome) = Run::render(&mut parsed, name, data, String::new(), budget);
            outcome.map(|()| text).map_err(|fault| fault.cause)
        };
        let judged = names.into_iter().zip(texts).map(|(name, text)| {
            let name: &'static str = Box::leak(name.into_boxed_str());
            let Ok(open) = render(name, &data(2, true), Budget::with_open(6144)) else { return false };
            for account in [0, 1] {
                let own = open.replace(TEXTS[2], TEXTS[account]).replace("987654321", &NUMBERS[account].to_string());
                assert_eq!(render(name, &data(account, false), Budget::new()), Ok(own), "{text}");
            }
            true
        });
        judged.collect()
    }

    fn all(texts: &[&str]) -> Vec<bool> {
        verdicts(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn printing_is_proven() {
        let texts = [
            "a: {{ name }}\n",
            "a: {{ uid }}\n",
            "a: {{ rules }}\n",
            "a: {{ rules[1].names[0] }}\n",
            "a: {{ rules[1][\"names\"] }}\n",
            "a: {{ \"x-\" ~ name ~ \"-y\" ~ uid }}\n",
            "a: {{ [name] }}\n",
            "a: {{ rules|length }}\n",
            "{% if name %}\na: {{ name }}\n{% endif %}\n",
            "{% if rules and not name is defined %}\na: b\n{% endif %}\n",
            "{% for rule in rules %}\n- {{ rule.names is defined }}\n{% endfor %}\n",
            "{% for rule in rules if rule.names %}\n- {{ rule }}\n{% endfor %}\n",
            "{% for key, value in rules[1]|items %}\n{{ key }}: {{ value }}\n{% endfor %}\n",
            "{% for rule in rules %}\n- {{ loop.index }}\n{% endfor %}\n",
            "a: {{ same|upper }}\n",
            "{% with own = name %}\na: {{ own }}\n{% endwith %}\n",
            "{% set own = name %}\na: {{ own }}\n",
            "{% include \"_part.yaml.j2\" %}\n",
        ];
        assert_eq!(all(&texts), [true; 18]);
    }

    #[test]
    fn every_other_use_is_noticed() {
        let texts = [
            "a: {{ name|upper }}\n",
            "a: {{ name == \"x\" }}\n",
            "a: {{ {name: 1} }}\n",
            "a: {{ \"x\" if name > \"m\" else \"y\" }}\n",
            "a: {{ uid + 1 }}\n",
            "a: {{ -uid }}\n",
            "a: {{ same in rules[1].names }}\n",
            "a: {{ rules == rules }}\n",
            "a: {{ rules[1][name] is defined }}\n",
            "a: {{ numbers[uid] is defined }}\n",
            "a: {{ name in rules[1] }}\n",
            "a: {{ name is string }}\n",
            "a: {{ uid is odd }}\n",
            "{% for letter in name %}\n- {{ letter }}\n{% endfor %}\n",
            "{% for rule in rules if \"x\" in rule.names|default([]) %}\n- {{ rule }}\n{% endfor %}\n",
            "{% set own %}{{ name }}{% endset %}\na: {{ own }}\n",
            "{% filter upper %}{{ name }}{% endfilter %}\n",
            "a: {{ rules|tojson|length }}\n",
            "{% include name ignore missing %}\n",
            "{% include [name, \"_part.yaml.j2\"] %}\n",
            "a: {{ name[:2] }}\n",
            "a: {{ \"x\" ~ rules }}\n",
            "{% for rule in rules %}\n- {{ (loop.previtem|default({})).names[0] == \"x\" }}\n{% endfor %}\n",
            "a: {{ range(uid) }}\n",
            "a: {{ [name]|join(\",\") }}\n",
            "a: {{ [name, same]|sort }}\n",
            "a: {{ [name, same]|unique }}\n",
            "a: {{ [name]|map(\"upper\") }}\n",
            "a: {{ [name]|select(\"string\") }}\n",
        ];
        assert_eq!(all(&texts), [false; 29]);
    }

    #[test]
    fn no_filter_and_no_test_sees_a_value() {
        let mut texts = Vec::new();
        let values = ["name", "uid", "rules[1].names", "rules[1]", "[name, uid]", "(\"x\" ~ name)"];
        for filter in filters::FILTERS {
            for value in values {
                texts.push(format!("a: {{{{ {value}|{filter} }}}}\n"));
                texts.push(format!("a: {{{{ {value}|{filter}({value}) }}}}\n"));
                texts.push(format!("a: {{{{ same|{filter}({value}) }}}}\n"));
                texts.push(format!("a: {{{{ [same, same]|{filter}({value}) }}}}\n"));
                texts.push(format!("a: {{{{ [{value}]|map(\"{filter}\") }}}}\n"));
                for other in filters::FILTERS {
                    texts.push(format!("a: {{{{ {value}|{filter}|{other} }}}}\n"));
                    texts.push(format!("{{% if {value}|{filter}|{other} %}}a: b{{% endif %}}\n"));
                }
            }
        }
        for test in filters::TESTS {
            for value in values {
                for (left, right) in
                    [(value, "same"), ("same", value), ("numbers", value), (value, "rules[0]"), (value, value)]
                {
                    texts.push(format!("a: {{{{ {left} is {test}({right}) }}}}\n"));
                    texts.push(format!("a: {{{{ [{left}]|select(\"{test}\", {right}) }}}}\n"));
                    texts.push(format!("a: {{{{ [{left}]|reject(\"{test}\") }}}}\n"));
                    texts.push(format!("a: {{{{ {left} is not {test} }}}}\n"));
                }
            }
        }
        for operator in
            ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]
        {
            for value in values {
                for other in ["same", "numbers", "\"a\"", "2", "rules", value] {
                    texts.push(format!("a: {{{{ {value} {operator} {other} }}}}\n"));
                    texts.push(format!("a: {{{{ {other} {operator} {value} }}}}\n"));
                }
            }
        }
        let proven = verdicts(&texts).into_iter().filter(|proven| *proven).count();
        assert!(proven > 100 && proven < texts.len() / 2, "{proven} of {}", texts.len());
    }

    #[test]
    fn bounds_hold_for_the_longest_values() {
        let many = |count: usize| format!("{{% for a in range({count}) %}}\n- {{{{ name }}}}\n{{% endfor %}}\n");
        assert_eq!(verdicts(&[many(100), many(3_000)]), [true, false]);
        let joined = "{% with a = name ~ name %}{% with b = a ~ a ~ a ~ a %}{% with c = b ~ b ~ b ~ b ~ b ~ b %}a: {{ name }}{% endwith %}{% endwith %}{% endwith %}\n";
        assert_eq!(all(&[joined]), [false]);
    }
}
