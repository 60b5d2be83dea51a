//! Runs a template: statements, and the names that they bind.
//!
//! minijinja parses; its syntax tree is run here, because its own engine counts instructions and not what they make, and
//! so has no bound for memory. Templates have what they need to lay out an object: no macros, no inheritance.

use std::borrow::Cow;
use std::sync::Arc;

use bailiwick_policy::model::Data;
use hashbrown::HashMap;
use minijinja::machinery::ast::{Expr, ForLoop, IfCond, Include, SetBlock, Stmt};
use minijinja::machinery::{Span, parse};

use super::budget::{Budget, Cause};
use super::recording::{Recorder, Recording, Use};
use super::value::{self, Value, is_true, type_of};
use super::{TemplateInput, TemplateSet, filters, syntax};

/// A problem and its place.
#[derive(Debug)]
pub(super) struct Fault<'t> {
    pub(super) cause: Cause,
    pub(super) template: &'t str,
    /// None for the line below.
    pub(super) span: Option<Span>,
    pub(super) line: usize,
}

type Outcome<'t, R> = Result<R, Box<Fault<'t>>>;

/// The syntax trees of templates, each parsed once.
pub(super) struct Parsed<'t> {
    pub(super) templates: &'t TemplateSet,
    trees: HashMap<&'t str, Arc<Stmt<'t>>>,
}

impl<'t> Parsed<'t> {
    /// Returns templates without parsed trees.
    pub(super) fn new(templates: &'t TemplateSet) -> Self {
        Self { templates, trees: HashMap::new() }
    }

    /// Returns the tree of a template; none where there is no such template.
    fn tree(&mut self, name: &str) -> Outcome<'t, Option<(&'t str, Arc<Stmt<'t>>)>> {
        let Some((name, source)) = self.templates.named(name) else { return Ok(None) };
        if let Some(tree) = self.trees.get(name) {
            return Ok(Some((name, Arc::clone(tree))));
        }
        let tree = parse(source, name, syntax()).map_err(|error| {
            let cause = Cause::Syntax(error.detail().unwrap_or("syntax error").to_owned());
            let span = error.range().map(|range| Span {
                start_offset: u32::try_from(range.start).unwrap_or_default(),
                end_offset: u32::try_from(range.end).unwrap_or_default(),
                ..Span::default()
            });
            Box::new(Fault { cause, template: name, span, line: error.line().unwrap_or(1) })
        })?;
        let tree = Arc::new(tree);
        self.trees.insert(name, Arc::clone(&tree));
        Ok(Some((name, tree)))
    }
}

/// The meaning of a name.
#[derive(Debug, Clone)]
pub(super) enum Binding {
    Value(Data),
    Loop(Loop),
}

/// A loop that runs.
#[derive(Debug, Clone)]
pub(super) struct Loop {
    pub(super) items: Arc<[Data]>,
    pub(super) index: usize,
    depth: usize,
}

impl Loop {
    const FIELDS: [&'static str; 11] = [
        "depth",
        "depth0",
        "first",
        "index",
        "index0",
        "last",
        "length",
        "nextitem",
        "previtem",
        "revindex",
        "revindex0",
    ];

    /// Returns a field of `loop`.
    pub(super) fn field(&self, name: &str) -> Value {
        let (index, length) = (self.index, self.items.len());
        let number = |number: usize| Some(Data::Int(i64::try_from(number).unwrap_or(i64::MAX)));
        match name {
            "depth" => number(self.depth + 1),
            "depth0" => number(self.depth),
            "first" => Some(Data::Bool(index == 0)),
            "index" => number(index + 1),
            "index0" => number(index),
            "last" => Some(Data::Bool(index + 1 == length)),
            "length" => number(length),
            "nextitem" => self.items.get(index + 1).cloned(),
            "previtem" => self.items.get(index.checked_sub(1)?).cloned(),
            "revindex" => number(length.saturating_sub(index)),
            "revindex0" => number(length.saturating_sub(index + 1)),
            _ => None,
        }
    }

    /// Returns a loop as a value.
    pub(super) fn as_data(&self) -> Data {
        Data::map(Self::FIELDS.iter().filter_map(|name| Some((*name, self.field(name)?))))
    }
}

/// How the body of a loop calls the loop.
pub(super) const LOOP: &str = "loop";

/// The names outside of all statements of a template.
#[derive(Clone, Copy)]
pub(super) struct RootNames<'r> {
    /// The data of the object: a map.
    pub(super) data: &'r Data,
    /// The other names.
    pub(super) input: &'r TemplateInput<'r>,
}

/// The rendering of one object.
pub(super) struct Run<'r, 't> {
    parsed: &'r mut Parsed<'t>,
    root: RootNames<'r>,
    /// The values of `root.input`, each from its first use.
    inputs: Vec<(String, Data)>,
    scope: Vec<(&'t str, Binding)>,
    pub(super) budget: Budget,
    out: String,
    template: &'t str,
    loops: usize,
    recorder: Option<Recorder>,
}

/// A rendering that ended.
pub(super) struct Rendered<'t> {
    pub(super) text: String,
    pub(super) outcome: Outcome<'t, ()>,
    /// The recording of a rendering without a fault, if it was to be recorded and can be repeated.
    pub(super) recording: Option<Recording>,
}

impl<'r, 't> Run<'r, 't> {
    /// Renders a template with these names into a text.
    pub(super) fn render(
        parsed: &'r mut Parsed<'t>,
        name: &str,
        root: RootNames<'r>,
        out: String,
        recorder: Option<Recorder>,
    ) -> Rendered<'t> {
        let template = parsed.templates.named(name).map_or("", |(name, _)| name);
        let mut run = Self {
            parsed,
            root,
            inputs: Vec::new(),
            scope: Vec::new(),
            budget: Budget::new(),
            out,
            template,
            loops: 0,
            recorder,
        };
        let outcome = run.included(name, None).and_then(|is_there| {
            let missing = || run.fault(Cause::NoTemplate(name.to_owned()), Span::default());
            if is_there { Ok(()) } else { Err(missing()) }
        });
        let recorder = run.recorder.filter(|_| outcome.is_ok());
        let recording = recorder.and_then(|recorder| recorder.finish(&run.out, &run.budget));
        Rendered { text: run.out, outcome, recording }
    }

    /// Evaluates an expression, and notes the use of its value.
    pub(super) fn noting(
        &mut self,
        expression: &Expr<'t>,
        used: Use,
        evaluate: impl FnOnce(&mut Self) -> Outcome<'t, Value>,
    ) -> Outcome<'t, Value> {
        let is_bound = |name: &str| self.scope.iter().any(|(known, _)| *known == name);
        let is_noted = self.recorder.as_mut().is_some_and(|recorder| recorder.note(expression, used, &is_bound));
        let value = evaluate(self)?;
        if let Some(recorder) = self.recorder.as_mut().filter(|_| is_noted) {
            recorder.resume();
        }
        Ok(value)
    }

    /// Returns a problem at a place of the template that runs.
    pub(super) fn fault(&self, cause: Cause, span: Span) -> Box<Fault<'t>> {
        Box::new(Fault { cause, template: self.template, span: Some(span), line: 1 })
    }

    /// Gives the outcome of an operation its place.
    pub(super) fn at<R>(&self, outcome: Result<R, Cause>, span: Span) -> Outcome<'t, R> {
        outcome.map_err(|cause| self.fault(cause, span))
    }

    /// Returns the meaning of a name; none if it is undefined.
    pub(super) fn lookup(&mut self, name: &str) -> Result<Option<Cow<'_, Binding>>, Cause> {
        let position = self.scope.iter().rposition(|(known, _)| *known == name);
        self.budget.search(self.scope.len() - position.unwrap_or_default())?;
        if let Some(position) = position {
            return Ok(self.scope.get(position).map(|(_, binding)| Cow::Borrowed(binding)));
        }
        let data = self.root.data.get(name).cloned().or_else(|| self.input(name));
        Ok(data.map(|data| Cow::Owned(Binding::Value(data))))
    }

    /// Returns a value beside the fields of the object.
    fn input(&mut self, name: &str) -> Option<Data> {
        self.recorder.as_mut().into_iter().for_each(Recorder::ask_elsewhere);
        if let Some((_, data)) = self.inputs.iter().find(|(known, _)| known == name) {
            return Some(data.clone());
        }
        let data = (self.root.input)(name)?;
        self.inputs.push((name.to_owned(), data.clone()));
        Some(data)
    }

    /// Runs a template in a scope of its own; false where there is none of the name.
    fn included(&mut self, name: &str, span: Option<Span>) -> Outcome<'t, bool> {
        let Some((name, tree)) = self.parsed.tree(name)? else { return Ok(false) };
        let entered = self.budget.enter();
        self.at(entered, span.unwrap_or_default())?;
        let (outside, around) = (self.scope.len(), std::mem::replace(&mut self.template, name));
        if let Stmt::Template(template) = &*tree {
            self.body(&template.children)?;
        }
        self.scope.truncate(outside);
        self.template = around;
        self.budget.leave();
        Ok(true)
    }

    fn body(&mut self, statements: &[Stmt<'t>]) -> Outcome<'t, ()> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    /// Statements that see the names around them, and bind none for those behind.
    fn inner_body(&mut self, statements: &[Stmt<'t>]) -> Outcome<'t, ()> {
        let outside = self.scope.len();
        self.body(statements)?;
        self.scope.truncate(outside);
        Ok(())
    }

    fn statement(&mut self, statement: &Stmt<'t>) -> Outcome<'t, ()> {
        let span = span_of(statement);
        let entered = self.budget.enter();
        self.at(entered, span)?;
        match statement {
            Stmt::EmitRaw(text) => self.print(span, |out| out.push_str(text.raw)),
            Stmt::EmitExpr(emit) => self.print_value(&emit.expr),
            Stmt::IfCond(condition) => self.condition(condition),
            Stmt::ForLoop(each) => self.each(each),
            Stmt::WithBlock(with) => {
                let outside = self.scope.len();
                for (target, value) in &with.assignments {
                    let data = self.defined(value)?;
                    self.bind(target, data)?;
                }
                self.body(&with.body)?;
                self.scope.truncate(outside);
                Ok(())
            }
            Stmt::Set(set) => {
                let data = self.defined(&set.expr)?;
                self.bind(&set.target, data)
            }
            Stmt::SetBlock(block) => self.captured(block),
            // Values are written as JSON in every mode of escaping.
            Stmt::AutoEscape(block) => self.inner_body(&block.body),
            Stmt::FilterBlock(block) => {
                let text = self.capture(&block.body, span)?;
                let data = self.filtered(&block.filter, text)?;
                self.print(span, |out| data.write_json(out))
            }
            Stmt::Include(include) => self.include(include, span),
            _ => {
                let help = "use `if`, `for`, `set`, `with` or `include`".to_owned();
                Err(self.fault(Cause::Wrong("templates do not have this statement".to_owned(), help), span))
            }
        }?;
        self.budget.leave();
        Ok(())
    }

    /// Appends a value to the text of the object.
    fn print_value(&mut self, expression: &Expr<'t>) -> Outcome<'t, ()> {
        let is_bound = |name: &str| self.scope.iter().any(|(known, _)| *known == name);
        let place = self.recorder.as_ref().and_then(|recorder| recorder.place(expression, &is_bound));
        let data = self.used(expression, if place.is_some() { Use::Print } else { Use::Whole })?;
        let start = self.out.len();
        let written = value::write(&data, &mut self.out, &mut self.budget);
        self.at(written, expression.span())?;
        if let Some((recorder, place)) = self.recorder.as_mut().zip(place) {
            recorder.print(start..self.out.len(), place, data);
        }
        Ok(())
    }

    /// Appends to the text of the object.
    fn print(&mut self, span: Span, write: impl FnOnce(&mut String)) -> Outcome<'t, ()> {
        let start = self.out.len();
        write(&mut self.out);
        let written = value::written(start, &self.out, &mut self.budget);
        self.at(written, span)
    }

    fn condition(&mut self, condition: &IfCond<'t>) -> Outcome<'t, ()> {
        let holds = is_true(&self.used(&condition.expr, Use::Truth)?);
        self.body(if holds { &condition.true_body } else { &condition.false_body })
    }

    fn each(&mut self, each: &ForLoop<'t>) -> Outcome<'t, ()> {
        if each.recursive {
            let cause = Cause::Wrong("templates have no recursive loops".to_owned(), "remove `recursive`".to_owned());
            return Err(self.fault(cause, each.iter.span()));
        }
        let over = self.defined(&each.iter)?;
        let items = filters::items(&over, &mut self.budget);
        let mut items = self.at(items, each.iter.span())?;
        let outside = self.scope.len();
        if let Some(filter) = &each.filter_expr {
            let mut kept = Vec::new();
            for item in items.iter() {
                self.bind(&each.target, item.clone())?;
                if is_true(&self.defined(filter)?) {
                    kept.push(item.clone());
                }
                self.scope.truncate(outside);
            }
            let paid = self.budget.items(kept.len());
            self.at(paid, filter.span())?;
            items = kept.into();
        }
        if items.is_empty() {
            return self.inner_body(&each.else_body);
        }
        let depth = self.loops;
        self.loops += 1;
        for (index, item) in items.iter().enumerate() {
            let paid = self.budget.spend(1);
            self.at(paid, each.iter.span())?;
            self.scope.push((LOOP, Binding::Loop(Loop { items: Arc::clone(&items), index, depth })));
            self.bind(&each.target, item.clone())?;
            self.body(&each.body)?;
            self.scope.truncate(outside);
        }
        self.loops = depth;
        Ok(())
    }

    /// Binds a name, or several names to the items of a list.
    fn bind(&mut self, target: &Expr<'t>, data: Data) -> Outcome<'t, ()> {
        let targets = match target {
            Expr::Var(name) => {
                self.scope.push((name.id, Binding::Value(data)));
                return Ok(());
            }
            Expr::Tuple(tuple) => &tuple.items,
            Expr::List(list) => &list.items,
            other => {
                let help = "bind a name, or several in parentheses".to_owned();
                return Err(self.fault(Cause::Wrong("this cannot be bound".to_owned(), help), other.span()));
            }
        };
        match &data {
            Data::List(items) if items.len() == targets.len() => {
                targets.iter().zip(items.iter()).try_for_each(|(target, item)| self.bind(target, item.clone()))
            }
            other => {
                let message = format!("{} cannot be bound to {} names", type_of(other), targets.len());
                let help = "use a list with as many items".to_owned();
                Err(self.fault(Cause::Wrong(message, help), target.span()))
            }
        }
    }

    fn captured(&mut self, block: &SetBlock<'t>) -> Outcome<'t, ()> {
        let mut data = self.capture(&block.body, block.target.span())?;
        if let Some(filter) = &block.filter {
            data = self.filtered(filter, data)?;
        }
        self.bind(&block.target, data)
    }

    /// Returns the output of statements as a string.
    fn capture(&mut self, statements: &[Stmt<'t>], span: Span) -> Outcome<'t, Data> {
        let around = std::mem::take(&mut self.out);
        self.recorder.as_mut().into_iter().for_each(Recorder::enter_capture);
        self.inner_body(statements)?;
        self.recorder.as_mut().into_iter().for_each(Recorder::leave_capture);
        let text = std::mem::replace(&mut self.out, around);
        let paid = self.budget.text(text.len());
        self.at(paid, span)?;
        Ok(Data::text(text))
    }

    fn include(&mut self, include: &Include<'t>, span: Span) -> Outcome<'t, ()> {
        let names = match self.defined(&include.name)? {
            Data::List(names) => names,
            name => [name].into(),
        };
        for name in names.iter() {
            let paid = self.budget.bytes(name.as_str().map_or(0, str::len));
            self.at(paid, span)?;
            if self.included(name.as_str().unwrap_or_default(), Some(span))? {
                return Ok(());
            }
        }
        if include.ignore_missing {
            return Ok(());
        }
        let wanted = names.first().and_then(Data::as_str).unwrap_or_default().to_owned();
        Err(self.fault(Cause::NoTemplate(wanted), span))
    }
}

fn span_of(statement: &Stmt<'_>) -> Span {
    match statement {
        Stmt::Template(statement) => statement.span(),
        Stmt::EmitExpr(statement) => statement.span(),
        Stmt::EmitRaw(statement) => statement.span(),
        Stmt::ForLoop(statement) => statement.span(),
        Stmt::IfCond(statement) => statement.span(),
        Stmt::WithBlock(statement) => statement.span(),
        Stmt::Set(statement) => statement.span(),
        Stmt::SetBlock(statement) => statement.span(),
        Stmt::AutoEscape(statement) => statement.span(),
        Stmt::FilterBlock(statement) => statement.span(),
        Stmt::Block(statement) => statement.span(),
        Stmt::Import(statement) => statement.span(),
        Stmt::FromImport(statement) => statement.span(),
        Stmt::Extends(statement) => statement.span(),
        Stmt::Include(statement) => statement.span(),
        Stmt::Do(statement) => statement.span(),
    }
}
