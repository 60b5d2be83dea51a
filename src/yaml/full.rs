//! The full reader: everything that people write, by way of granit-parser's events.
//!
//! It resolves anchors, aliases and merge keys as kubectl does, within bounds, and reports what kubectl lets
//! pass in silence: doubled keys and keys that are not strings.

use std::collections::{HashMap, HashSet};

use granit_parser::{Event, Options, Parser, ScalarStyle, ScanError, Tag};

use super::scalar::{self, Plain};
use super::tree::{Chain, NodeId, Tree, Value};
use crate::diag::{Code, Diagnostic, Origin, Sink, Span};

/// How deep collections may nest. Kubernetes objects need about twelve levels.
pub const MAXIMUM_DEPTH: usize = 100;

/// How many nodes the aliases of one file may add in total: what stops "billion laughs".
pub const MAXIMUM_ALIASED_NODES: usize = 100_000;

/// Reads every document of `text`; a broken document does not hide the next one.
pub(super) fn read(text: &str, tree: &mut Tree, sink: &mut Sink) {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader =
        Reader { text: body, shift: text.len() - body.len(), tree, sink, anchors: HashMap::new(), aliased: 0 };
    let mut options = Options::default();
    options.set_emit_comments(false);
    options.block_nesting_limit = MAXIMUM_DEPTH;
    options.flow_nesting_limit = MAXIMUM_DEPTH;
    let mut parser = Parser::new_from_str_with_options(body, options);
    loop {
        match reader.documents(&mut parser) {
            Ok(()) => return,
            Err(Stop::Reported) => {}
            Err(Stop::Syntax(error)) => reader.report_syntax(&error),
        }
        if !matches!(parser.proceed_next_document(), Ok(true)) {
            return;
        }
    }
}

type Events<'i> = Parser<'i, granit_parser::StrInput<'i>>;

/// Why a document was given up.
enum Stop {
    /// The parser cannot go on.
    Syntax(Box<ScanError>),
    /// A bound was crossed, and the diagnostic is already in the sink.
    Reported,
}

struct Reader<'r> {
    text: &'r str,
    shift: usize,
    tree: &'r mut Tree,
    sink: &'r mut Sink,
    anchors: HashMap<usize, Option<NodeId>>,
    aliased: usize,
}

impl<'r> Reader<'r> {
    fn documents(&mut self, parser: &mut Events<'r>) -> Result<(), Stop> {
        while let Some((event, span)) = next(parser)? {
            if event.is_node() || matches!(event, Event::Alias(_)) {
                self.anchors.clear();
                let root = self.node(parser, event, span, 0)?;
                if !self.tree.at(root).is_null() {
                    self.tree.add_document(root);
                }
            }
        }
        Ok(())
    }

    fn node(
        &mut self,
        parser: &mut Events<'r>,
        event: Event<'r>,
        at: granit_parser::Span,
        depth: usize,
    ) -> Result<NodeId, Stop> {
        let span = self.span(&at);
        if depth > MAXIMUM_DEPTH {
            self.report_depth(span);
            return Err(Stop::Reported);
        }
        let anchor = event.anchor_id().filter(|&id| id != 0);
        if let Some(id) = anchor {
            self.anchors.insert(id, None);
        }
        let node = match event {
            Event::Scalar(text, style, _, tag) => self.scalar(&text, style, tag.as_deref(), span),
            Event::SequenceStart(_, _, tag) => {
                self.collection_tag(tag.as_deref(), "seq", span);
                let id = self.tree.add_seq(span);
                self.sequence(parser, id, depth)?;
                id
            }
            Event::MappingStart(_, _, tag) => {
                self.collection_tag(tag.as_deref(), "map", span);
                let id = self.tree.add_map(span);
                self.mapping(parser, id, depth)?;
                id
            }
            Event::Alias(id) => self.alias(id, span)?,
            _ => self.tree.add(Value::Null, span),
        };
        if let Some(id) = anchor {
            self.anchors.insert(id, Some(node));
        }
        Ok(node)
    }

    fn sequence(&mut self, parser: &mut Events<'r>, id: NodeId, depth: usize) -> Result<(), Stop> {
        let mut items = Chain::new();
        while let Some((event, span)) = next(parser)? {
            if event == Event::SequenceEnd {
                let end = self.span(&span).end;
                self.close(id, end);
                break;
            }
            let item = self.node(parser, event, span, depth + 1)?;
            items.push(self.tree, item);
        }
        self.tree.set(id, items.items());
        Ok(())
    }

    fn mapping(&mut self, parser: &mut Events<'r>, id: NodeId, depth: usize) -> Result<(), Stop> {
        let mut entries: Vec<(NodeId, NodeId)> = Vec::new();
        let mut merged: Vec<NodeId> = Vec::new();
        let mut seen: HashMap<String, Span> = HashMap::new();
        while let Some((event, span)) = next(parser)? {
            if event == Event::MappingEnd {
                let end = self.span(&span).end;
                self.close(id, end);
                break;
            }
            let is_merge = matches!(&event, Event::Scalar(text, ScalarStyle::Plain, _, None) if text == "<<");
            let key = self.node(parser, event, span, depth + 1)?;
            let Some((event, span)) = next(parser)? else {
                break;
            };
            let value = self.node(parser, event, span, depth + 1)?;
            if is_merge {
                merged.push(value);
                continue;
            }
            let key_span = self.tree.at(key).span();
            let Some(name) = self.key(key) else {
                continue;
            };
            if let Some(&first) = seen.get(&name) {
                self.report_duplicate(&name, first, key_span);
                continue;
            }
            seen.insert(name, key_span);
            entries.push((key, value));
        }
        let names: HashSet<String> = seen.into_keys().collect();
        self.merge(&merged, names, &mut entries);
        self.tree.set_entries(id, &entries);
        Ok(())
    }

    /// Makes sure that a key is a string, as the name of a field has to be.
    fn key(&mut self, key: NodeId) -> Option<String> {
        let node = self.tree.at(key);
        if let Some(name) = node.as_str() {
            return Some(name.to_owned());
        }
        let origin = node.origin();
        let written = self.written(origin.span);
        let what = node.describe();
        let collection = node.is_map() || node.is_seq();
        let diagnostic = Diagnostic::error(Code::KeyNotString, format!("this key is not a string but {what}"))
            .at(origin)
            .labelled("a key has to be a string");
        self.sink.push(if collection {
            diagnostic.help("a mapping in a policy or a manifest has names as its keys")
        } else {
            diagnostic.help(format!("write it in quotes: \"{written}\""))
        });
        None
    }

    /// Adds the entries of merged maps whose keys are not there yet; the first map wins, as in kubectl.
    fn merge(&mut self, merged: &[NodeId], mut names: HashSet<String>, entries: &mut Vec<(NodeId, NodeId)>) {
        for &source in merged {
            let node = self.tree.at(source);
            let maps: Vec<NodeId> =
                if node.is_seq() { node.items().map(|item| item.id()).collect() } else { vec![source] };
            for map in maps {
                let node = self.tree.at(map);
                if !node.is_map() {
                    let diagnostic = Diagnostic::error(
                        Code::YamlMerge,
                        format!("`<<` merges maps, and this is {}", node.describe()),
                    )
                    .at(node.origin())
                    .help("merge an alias of a map (`<<: *name`) or a list of such aliases");
                    self.sink.push(diagnostic);
                    continue;
                }
                let found: Vec<(String, NodeId, NodeId)> = node
                    .entries()
                    .filter_map(|(key, value)| Some((key.as_str()?.to_owned(), key.id(), value.id())))
                    .collect();
                for (name, key, value) in found {
                    if names.insert(name) {
                        // A merged map may be shared by several keys of a list; its nodes must not change chains.
                        let (key, value) = (self.copy(key, &mut 0), self.copy(value, &mut 0));
                        entries.push((key, value));
                    }
                }
            }
        }
    }

    fn alias(&mut self, id: usize, span: Span) -> Result<NodeId, Stop> {
        let Some(Some(target)) = self.anchors.get(&id).copied() else {
            let diagnostic = Diagnostic::error(Code::YamlAlias, "this alias stands inside the node it names")
                .at(self.origin(span))
                .help("write the value out");
            self.sink.push(diagnostic);
            return Err(Stop::Reported);
        };
        let mut copied = 0;
        let budget = MAXIMUM_ALIASED_NODES.saturating_sub(self.aliased);
        let node = self.copy_within(target, &mut copied, budget);
        self.aliased += copied;
        let Some(node) = node else {
            let diagnostic = Diagnostic::error(
                Code::YamlAlias,
                format!("the aliases of this file expand to more than {MAXIMUM_ALIASED_NODES} nodes"),
            )
            .at(self.origin(span))
            .labelled("the bound is crossed here")
            .help("write the values out, or split the file");
            self.sink.push(diagnostic);
            return Err(Stop::Reported);
        };
        Ok(node)
    }

    fn copy(&mut self, id: NodeId, copied: &mut usize) -> NodeId {
        self.copy_within(id, copied, usize::MAX).unwrap_or(id)
    }

    /// Copies a subtree, or gives up once more than `budget` nodes were copied.
    fn copy_within(&mut self, id: NodeId, copied: &mut usize, budget: usize) -> Option<NodeId> {
        *copied += 1;
        if *copied > budget {
            return None;
        }
        let node = self.tree.at(id);
        let (value, span) = (node.value(), node.span());
        match value {
            Value::Seq(_) => {
                let items: Vec<NodeId> = node.items().map(|item| item.id()).collect();
                let mut copies = Vec::with_capacity(items.len());
                for item in items {
                    copies.push(self.copy_within(item, copied, budget)?);
                }
                let copy = self.tree.add_seq(span);
                self.tree.set_items(copy, &copies);
                Some(copy)
            }
            Value::Map(_) => {
                let entries: Vec<(NodeId, NodeId)> =
                    node.entries().map(|(key, value)| (key.id(), value.id())).collect();
                let mut copies = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    copies.push((self.copy_within(key, copied, budget)?, self.copy_within(value, copied, budget)?));
                }
                let copy = self.tree.add_map(span);
                self.tree.set_entries(copy, &copies);
                Some(copy)
            }
            scalar => Some(self.tree.add(scalar, span)),
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>, span: Span) -> NodeId {
        let plain = match tag.map(|tag| (tag, tag.core_suffix())) {
            Some((_, Some("str"))) => Plain::Str,
            Some((_, Some("null" | "bool" | "int" | "float"))) => scalar::resolve(text),
            Some((tag, _)) if tag.original() != "!" => {
                self.report_tag(&tag.original(), span);
                Plain::Str
            }
            Some(_) => Plain::Str,
            None if style == ScalarStyle::Plain => scalar::resolve(text),
            None => Plain::Str,
        };
        let value = match plain {
            Plain::Null => Value::Null,
            Plain::Bool(truth) => Value::Bool(truth),
            Plain::Int(number) => Value::Int(number),
            Plain::Float(number) => Value::Float(number),
            Plain::NotFinite => {
                let diagnostic =
                    Diagnostic::error(Code::NumberNotFinite, format!("`{text}` is a number that JSON cannot hold"))
                        .at(self.origin(span))
                        .help(format!("write it in quotes if a string is meant: \"{text}\""));
                self.sink.push(diagnostic);
                Value::Null
            }
            Plain::Str => self.tree.intern(text),
        };
        self.tree.add(value, span)
    }

    fn collection_tag(&mut self, tag: Option<&Tag>, own: &str, span: Span) {
        if let Some(tag) = tag
            && tag.core_suffix() != Some(own)
            && tag.original() != "!"
        {
            self.report_tag(&tag.original(), span);
        }
    }

    fn report_tag(&mut self, tag: &str, span: Span) {
        let diagnostic = Diagnostic::error(Code::YamlTag, format!("the tag `{tag}` has no meaning here"))
            .at(self.origin(span))
            .help("leave it out: Kubernetes reads plain YAML data only");
        self.sink.push(diagnostic);
    }

    fn report_duplicate(&mut self, name: &str, first: Span, second: Span) {
        let diagnostic = Diagnostic::error(Code::DuplicateKey, format!("the key `{name}` is there twice"))
            .at(self.origin(second))
            .labelled("again here")
            .and(self.origin(first), "first written here")
            .help("keep one of them; most readers would silently take the last");
        self.sink.push(diagnostic);
    }

    fn report_depth(&mut self, span: Span) {
        let diagnostic = Diagnostic::error(Code::TooDeep, format!("this nests more than {MAXIMUM_DEPTH} levels deep"))
            .at(self.origin(span))
            .help("no Kubernetes object needs that; look for a missing or doubled bracket");
        self.sink.push(diagnostic);
    }

    fn report_syntax(&mut self, error: &ScanError) {
        let byte = error.marker().byte_offset().unwrap_or_default().min(self.text.len());
        let line_start = self.text.get(..byte).and_then(|head| head.rfind('\n')).map_or(0, |position| position + 1);
        let line = self.text.get(line_start..).unwrap_or_default().lines().next().unwrap_or_default();
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        let reason = error.info();
        if reason.contains("nesting") || reason.contains("recursion") {
            let span = self.byte_span(byte, byte + 1);
            self.report_depth(span);
            return;
        }
        let diagnostic = match line.get(..indent).and_then(|blank| blank.find('\t')) {
            Some(tab) => Diagnostic::error(Code::TabIndent, "a tab indents this line")
                .at(self.origin(self.byte_span(line_start + tab, line_start + tab + 1)))
                .labelled("a tab")
                .help("indent with spaces: YAML forbids tabs there"),
            None => Diagnostic::error(Code::YamlSyntax, format!("this is not YAML: {reason}"))
                .at(self.origin(self.byte_span(byte, byte + 1)))
                .help_maybe(syntax_help(line)),
        };
        self.sink.push(diagnostic);
    }

    /// Ends the span of a collection, trimmed to its last character.
    fn close(&mut self, id: NodeId, end: u32) {
        let start = self.tree.at(id).span().start;
        let shift = self.shift;
        let inner = self.text.get(start as usize - shift..(end as usize).saturating_sub(shift)).unwrap_or_default();
        let trimmed = inner.trim_end().len();
        self.tree.set_span_end(id, Span::new(0, start as usize + trimmed).end);
    }

    fn span(&self, at: &granit_parser::Span) -> Span {
        let range = at.byte_range().unwrap_or(0..0);
        Span::new(range.start + self.shift, range.end + self.shift)
    }

    fn byte_span(&self, start: usize, end: usize) -> Span {
        let last = self.text.len();
        let mut end = end.min(last);
        while end < last && !self.text.is_char_boundary(end) {
            end += 1;
        }
        Span::new(start.min(last) + self.shift, end + self.shift)
    }

    fn written(&self, span: Span) -> &str {
        self.text.get(span.start as usize - self.shift..span.end as usize - self.shift).unwrap_or_default()
    }

    fn origin(&self, span: Span) -> Origin {
        Origin { file: self.tree.file(), span }
    }
}

/// The next event that means something.
fn next<'i>(parser: &mut Events<'i>) -> Result<Option<(Event<'i>, granit_parser::Span)>, Stop> {
    match parser.next_event() {
        None => Ok(None),
        Some(Ok((Event::StreamEnd, _))) => Ok(None),
        Some(Ok(pair)) => Ok(Some(pair)),
        Some(Err(error)) => Err(Stop::Syntax(Box::new(error))),
    }
}

/// What to do about the commonest slips.
fn syntax_help(line: &str) -> Option<String> {
    let value = line.split_once(": ").map_or(line.trim(), |(_, value)| value.trim());
    if value.starts_with(['*', '&', '%', '@', '`', '{', '[']) {
        return Some(format!("a value that begins with `{}` needs quotes", value.chars().next().unwrap_or_default()));
    }
    if value.contains(": ") || value.ends_with(':') {
        return Some("a value with `: ` in it needs quotes".to_owned());
    }
    Some("look at the indentation and the quotes of this line and the one before".to_owned())
}
