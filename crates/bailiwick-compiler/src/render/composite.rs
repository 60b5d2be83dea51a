//! Refuses templates that glue text to a value.
//!
//! A value is written as JSON, which is a scalar, a list or a map of its own wherever one can begin. The text before
//! and behind a value decides whether one can. The text follows from the template: it is the text between the values, as
//! the engine trims it, along every way through conditions, loops and included templates. The walk reduces the text
//! before a place to one of a few states, and continues with every possible state.

use std::collections::{BTreeSet, HashMap};

use minijinja::machinery::ast::{Expr, Stmt};
use minijinja::machinery::{Span, parse};

use super::{TemplateSet, syntax};

/// How deep templates may include each other; the engine does not go deeper, with a step for the statement and one for
/// the template.
const MAXIMUM_DEPTH: usize = 100;

/// How many statements and letters are followed: loops within loops are walked again and again. The built-in templates
/// have some ten thousand letters.
const MAXIMUM_STEPS: usize = 20_000_000;

/// The state of the text before a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Before {
    /// Nothing on this line but blanks and the dashes of lists.
    Start,
    /// Such a dash.
    Dash,
    /// A colon without a blank after it.
    Colon,
    /// A colon and a blank, or what opens or parts a list or a map.
    Open,
    /// Something else.
    Text,
    /// Something else, then a blank.
    TextBlank,
    /// The whole value of a hole.
    Value,
    /// The whole value of a hole, then a blank.
    ValueBlank,
    /// A value that is a key.
    ValueColon,
    /// The beginning of a comment.
    Comment,
    /// A text in single quotes that goes on.
    Single,
    /// Its end, or half of a quote in it.
    SingleEnd,
    /// A text in double quotes that goes on.
    Double,
    /// That, and a backslash.
    DoubleEscape,
}

/// Returns the state behind the next letter; none if the letter is glued to a value.
fn next(before: Before, letter: char) -> Option<Before> {
    use Before::*;
    let of_text = |letter| match letter {
        '\n' => Start,
        ' ' => TextBlank,
        ':' => Colon,
        '[' | '{' | ',' => Open,
        _ => Text,
    };
    let of_scalar = |letter| match letter {
        '\'' => Single,
        '"' => Double,
        '#' => Comment,
        letter => of_text(letter),
    };
    Some(match (before, letter) {
        (Single, '\'') => SingleEnd,
        (SingleEnd, '\'') | (Single, _) => Single,
        (Double, '\\') => DoubleEscape,
        (Double, '"') => Text,
        (Double | DoubleEscape, _) => Double,
        (Comment, '\n') => Start,
        (Comment, _) => Comment,
        (Start | Dash, ' ') => Start,
        (Start | Dash, '-') => Dash,
        (Colon | Open, ' ') => Open,
        (Start | Open, letter) => of_scalar(letter),
        (TextBlank, '#') => Comment,
        (Dash | Colon | Text | TextBlank | SingleEnd, letter) => of_text(letter),
        (Value | ValueBlank, ' ') => ValueBlank,
        (Value, ':') => ValueColon,
        (ValueColon, ' ') => Open,
        (ValueBlank, '#') => Comment,
        (Value | ValueBlank | ValueColon, '\n' | '\r') => Start,
        (Value | ValueBlank, ',') => Open,
        (Value | ValueBlank, ']' | '}') => Text,
        (Value | ValueBlank | ValueColon, _) => return None,
    })
}

/// The possible states before a place.
type States = BTreeSet<Before>;

/// Returns every `{{ value }}` of the templates that does not stand alone where a YAML key or value can stand: the template, and
/// the bytes of it. A template that cannot be read is reported when it is used.
///
/// # Errors
/// The first root that has more ways through it than can be followed.
pub(super) fn find<'t>(
    templates: &'t TemplateSet,
    roots: impl Iterator<Item = &'t str>,
) -> Result<BTreeSet<(String, usize, usize)>, &'t str> {
    let mut walk = Walk { templates, found: BTreeSet::new(), last: None, known: HashMap::new(), depth: 0, steps: 0 };
    for root in roots {
        walk.template(root, States::from([Before::Start]));
        if walk.steps > MAXIMUM_STEPS {
            return Err(root);
        }
    }
    let found = walk.found.into_iter();
    Ok(found.map(|(name, start, end)| (name.to_owned(), start, end)).collect())
}

/// Returns the text of a literal: the parser would compute with constants as long as it takes.
pub(super) fn literal<'e>(expression: &'e Expr<'_>) -> Option<&'e str> {
    match expression {
        Expr::Const(constant) => constant.value.as_str(),
        _ => None,
    }
}

/// A template with its name.
#[derive(Clone, Copy)]
struct NamedTemplate<'t> {
    name: &'t str,
    source: &'t str,
}

/// A walk over templates.
struct Walk<'t> {
    templates: &'t TemplateSet,
    found: BTreeSet<(&'t str, usize, usize)>,
    /// The value that was printed last.
    last: Option<(&'t str, usize, usize)>,
    /// The states behind a template by the states before it; no states for a template in progress.
    known: HashMap<(&'t str, States), States>,
    depth: usize,
    steps: usize,
}

impl<'t> Walk<'t> {
    /// Returns the possible states behind a template.
    fn template(&mut self, name: &str, before: States) -> States {
        let Some((name, source)) = self.templates.named(name) else { return before };
        let place = (name, before);
        if let Some(behind) = self.known.get(&place) {
            return behind.clone();
        }
        if self.depth >= MAXIMUM_DEPTH {
            return place.1;
        }
        self.known.insert(place.clone(), States::new());
        self.depth += 1;
        let behind = match parse(source, name, syntax()) {
            Ok(Stmt::Template(template)) => self.body(NamedTemplate { name, source }, &template.children, &place.1),
            _ => place.1.clone(),
        };
        self.depth -= 1;
        self.known.insert(place, behind.clone());
        behind
    }

    fn body(&mut self, template: NamedTemplate<'t>, statements: &[Stmt<'_>], before: &States) -> States {
        statements.iter().fold(before.clone(), |before, statement| self.statement(template, statement, before))
    }

    fn statement(&mut self, template: NamedTemplate<'t>, statement: &Stmt<'_>, before: States) -> States {
        self.steps += 1;
        if self.steps > MAXIMUM_STEPS {
            return before;
        }
        match statement {
            Stmt::EmitRaw(text) => self.text(text.raw, &before),
            Stmt::EmitExpr(value) => self.value(template, value.span(), before),
            Stmt::IfCond(condition) => {
                let mut behind = self.body(template, &condition.true_body, &before);
                behind.append(&mut self.body(template, &condition.false_body, &before));
                behind
            }
            Stmt::ForLoop(each) => {
                let mut around = before.clone();
                // Until another time around finds nothing new.
                loop {
                    let known = around.len();
                    around.append(&mut self.body(template, &each.body, &around));
                    if around.len() == known {
                        break;
                    }
                }
                around.append(&mut self.body(template, &each.else_body, &before));
                around
            }
            Stmt::WithBlock(with) => self.body(template, &with.body, &before),
            Stmt::AutoEscape(escape) => self.body(template, &escape.body, &before),
            Stmt::Include(include) => match literal(&include.name) {
                Some(name) => self.template(name, before),
                // Every template is made of lines.
                None => before.into_iter().chain([Before::Start]).collect(),
            },
            // The captured text is printed like any other value.
            Stmt::FilterBlock(block) => self.value(template, block.span(), before),
            _ => before,
        }
    }

    fn text(&mut self, text: &str, before: &States) -> States {
        self.steps += text.len() * before.len();
        let through = |state: &Before| {
            text.chars().fold(*state, |state, letter| {
                next(state, letter).unwrap_or_else(|| {
                    self.found.extend(self.last);
                    Before::Text
                })
            })
        };
        before.iter().map(through).collect()
    }

    fn value(&mut self, template: NamedTemplate<'t>, span: Span, before: States) -> States {
        let NamedTemplate { name, source } = template;
        let (start, end) = (span.start_offset as usize, span.end_offset as usize);
        // The engine leaves out the closing braces.
        let end = source.get(end..).and_then(|rest| rest.find("}}")).map_or(end, |at| end + at + 2);
        if before.iter().any(|state| !matches!(state, Before::Start | Before::Open)) {
            self.found.insert((name, start, end));
        }
        self.last = Some((name, start, end));
        before.iter().map(|_| Before::Value).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use bailiwick_policy::source::{MemorySource, Sources};
    use bailiwick_yaml::diag::{Files, Sink};

    /// Returns the glued values of a template that may include two others.
    fn glued(text: &str) -> Vec<String> {
        let world = MemorySource::new([
            ("templates/tenancy/role.yaml.j2", text),
            ("templates/_value.j2", "{{ part }}"),
            ("templates/_key.j2", "{% if x %}key: {% endif %}"),
        ]);
        let mut sources = Sources::new(Box::new(world), Arc::new(Files::new()));
        let templates = TemplateSet::load("templates", &mut sources, &mut Sink::new()).expect("memory can be read");
        let found = find(&templates, std::iter::once("tenancy/role.yaml.j2")).expect("few ways");
        let slice = |(name, start, end): (String, usize, usize)| {
            templates.source(&name).and_then(|source| source.get(start..end)).unwrap_or_default().to_owned()
        };
        found.into_iter().map(slice).collect()
    }

    #[test]
    fn a_value_stands_alone_or_is_refused() {
        for fine in [
            "a: {{ b }}\n",
            "- {{ b }}\n",
            "{{ k }}: {{ v }}\n",
            "a: [{{ b }}, {{ c }}]\n",
            "a: {% if x %}{{ y }}{% endif %}\n",
            "a: {{ b }} # c\n",
            "- - {{ b }}\n",
            "{{ object }}\n",
            "a: {x: {{ b }}, {{ c }}: d}\n",
            "a:\n{% for b in c -%}\n- {{ b }}\n{% endfor %}\n",
            "# it's a comment\na: 'one' # it's another\nb: {{ b }}\n",
            "a: 'it''s' \nb: \"\\\"\"\nc: it's\nd: {{ b }}\n",
            "{% for b in c %}\n{{ b }}: {% include \"_value.j2\" %}\n\n{% endfor %}\n",
            "{% set a %}x{{ b }}{% endset %}\na: {{ a }}\n",
        ] {
            assert_eq!(glued(fine), [""; 0], "{fine}");
        }
        for text in [
            "a: tool-{{ b }}\n",
            "a: {{ b }}-psp\n",
            "a: \"{{ b }}\"\n",
            "a: x {{ b }}\n",
            "a:{{ b }}\n",
            "# {{ b }}\n",
            "a: x{% if c %}{{ b }}{% endif %}\n",
            "a: x\n{{- b }}\n",
            "a:\n{%- for b in c %}\n- {{ b }}\n{% endfor %}\n",
            "a: {{ b -}}\n c\n",
            "a: 0b{% if true %}\n{{ b }}{% endif %}\n",
            "a: '\n  {{- b -}}\n'\n",
            "a: '\n  {{ b }}\n  '\n",
            "a: \"\n  {{ b }}\n  \"\n",
            "a: x{% if c %}\n\n{% endif %}{{ b }}\n",
            "a: [{% for c in d %}{{ b }}x{% endfor %}]\n",
            "a: {% for c in d %}{{ b }}{% endfor %}\n",
            "a: 1e{% filter trim %}{{ b }}{% endfilter %}\n",
        ] {
            assert_eq!(glued(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn what_is_included_belongs_to_the_text_around_it() {
        assert_eq!(glued("a: x{% include \"_value.j2\" %}\n"), ["{{ part }}"]);
        assert_eq!(glued("a: {% include \"_value.j2\" %}x\n"), ["{{ part }}"]);
        assert_eq!(glued("x{% include \"_key.j2\" %}{{ b }}\n"), ["{{ b }}"]);
        assert_eq!(glued("{% include \"_key.j2\" %}{{ b }}\n"), [""; 0]);
    }

    #[test]
    fn the_built_in_templates_glue_nothing() {
        let mut sources = Sources::new(Box::new(MemorySource::default()), Arc::new(Files::new()));
        let templates = TemplateSet::load("templates", &mut sources, &mut Sink::new()).expect("memory can be read");
        assert_eq!(find(&templates, templates.names()), Ok(BTreeSet::new()));
    }
}
