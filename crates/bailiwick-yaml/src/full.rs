//! The full reader: all YAML, from the events of granit-parser.
//!
//! It resolves anchors, aliases and merge keys as kubectl does, within bounds, and reports problems without an error
//! in kubectl: doubled keys and keys that are not strings.

mod indented;
mod json_values;

use crate::diag::codes;
use crate::internal;
use std::collections::{HashMap, HashSet};

use granit_parser::{ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, StructureStyle, Tag};

use self::indented::Indented;
use self::json_values::json_values;
use super::foreign;
use super::limits::{MAXIMUM_ALIASED_NODES, MAXIMUM_DEPTH, MAXIMUM_REPORTED};
use super::scalar::{self, Plain};
use super::tree::{Chain, NodeId, NodeValue, Tree};
use crate::diag::{Diagnostic, Origin, Sink, Span};

/// How long a string an alias copies for the price of one node.
const BYTES_PER_NODE: usize = 256;

/// Reads every document of `text`; a broken document does not hide the next one.
pub(super) fn read(text: &str, tree: &mut Tree, sink: &mut Sink) {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let shift = text.len() - body.len();
    let values = json_values(body);
    if values.len() < 2 {
        return read_indented(body, shift, tree, sink);
    }
    let before = sink.len();
    for value in values {
        if sink.len() > before + MAXIMUM_REPORTED {
            return;
        }
        let part = internal::slice(body, value.clone());
        read_yaml(&Indented::new(part), part, shift + value.start, tree, sink);
    }
}

/// Reads a text, and again with deeper lines where a quoted scalar has lines that YAML 1.2 forbids. The first reading counts if
/// that is no use: its problem is the problem of the text.
fn read_indented(body: &str, shift: usize, tree: &mut Tree, sink: &mut Sink) {
    let mut found = Sink::new();
    let mut indented = Indented::new(body);
    let mut line = read_yaml(&indented, body, shift, tree, &mut found);
    while let Some(position) = line
        && indented.deepen(position)
    {
        let (mut other, mut left) = (Tree::new(tree.file()), Sink::new());
        line = read_yaml(&indented, &indented.text(), shift, &mut other, &mut left);
        if line.is_none() && !left.diagnostics().iter().any(|problem| problem.code == codes::YAML_SYNTAX) {
            (*tree, found) = (other, left);
        }
    }
    sink.absorb(found);
}

/// Reads `deeper`, the text of `indented`, which begins behind `shift` bytes. Returns the first line of a quoted scalar that has
/// to be deeper.
fn read_yaml(indented: &Indented<'_>, deeper: &str, shift: usize, tree: &mut Tree, sink: &mut Sink) -> Option<usize> {
    let body = indented.body();
    let mut reader = Reader {
        text: body,
        indented,
        shift,
        tree,
        sink,
        reported: 0,
        anchors: HashMap::new(),
        aliased: 0,
        end: Span::new(0, shift).end,
        begun: false,
        brackets: 0,
    };
    foreign::check(body, shift, reader.tree.file(), reader.sink);
    let mut options = Options::default();
    options.set_emit_comments(false);
    options.emit_anchor_events = true;
    options.block_nesting_limit = MAXIMUM_DEPTH;
    options.flow_nesting_limit = MAXIMUM_DEPTH;
    let mut parser = Parser::new_from_str_with_options(deeper, options);
    let mut line = None;
    loop {
        match reader.documents(&mut parser) {
            Ok(()) => return line,
            Err(Stop::Reported) => {}
            Err(Stop::Syntax(error)) => {
                if matches!(error.kind(), ErrorKind::InvalidQuotedScalarIndent) {
                    let position = error.marker().byte_offset();
                    line = line.or(position.map(|position| indented.written(position)));
                }
                reader.report_syntax(&error);
            }
        }
        if reader.is_full() || !matches!(parser.proceed_next_document(), Ok(true)) {
            return line;
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
    /// The lines of the text that are deeper for the parser.
    indented: &'r Indented<'r>,
    shift: usize,
    tree: &'r mut Tree,
    sink: &'r mut Sink,
    /// How many problems were found.
    reported: usize,
    anchors: HashMap<usize, Option<NodeId>>,
    aliased: usize,
    /// The end of the last written text.
    end: u32,
    /// True once a document has begun.
    begun: bool,
    /// The number of open collections in brackets.
    brackets: usize,
}

impl<'r> Reader<'r> {
    fn documents(&mut self, parser: &mut Events<'r>) -> Result<(), Stop> {
        while let Some((event, span)) = self.next(parser)? {
            if let Event::DocumentStart(explicit, _) = event {
                if self.begun && !explicit {
                    self.report_hidden_document(&span);
                }
                self.begun = true;
                self.brackets = 0;
            }
            if event.is_node() {
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
        let opens = matches!(event, Event::SequenceStart(..) | Event::MappingStart(..));
        let brackets = self.brackets;
        self.brackets += usize::from(is_flow(&event));
        if opens && depth >= MAXIMUM_DEPTH {
            self.report_depth(span);
            return Err(Stop::Reported);
        }
        let anchor = event.anchor_id().filter(|&id| id != 0);
        if let Some(id) = anchor {
            self.anchors.insert(id, None);
        }
        let node = match event {
            Event::Scalar(text, style, _, tag) => {
                // The parser reports the place of an absent value somewhere behind it, mostly on a later line.
                let absent = span.end == span.start;
                let span = if absent { Span { start: self.end, end: self.end } } else { span };
                self.end = span.end;
                let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                if block && depth == 0 {
                    self.report_root_block(span);
                }
                let text = if block && self.invents_line_feed(&text, span) {
                    text.strip_suffix('\n').unwrap_or(&text)
                } else {
                    &text
                };
                self.scalar(text, style, tag.as_deref(), span)
            }
            Event::SequenceStart(style, _, tag) => {
                self.collection_tag(tag.as_deref(), "seq", span);
                let start = if style == StructureStyle::Block { self.first_dash(span) } else { span.start };
                let id = self.tree.add_seq(Span { start, end: span.end });
                self.sequence(parser, id, style, depth)?;
                id
            }
            Event::MappingStart(style, _, tag) => {
                self.collection_tag(tag.as_deref(), "map", span);
                let id = self.tree.add_map(span);
                self.mapping(parser, id, style, depth)?;
                id
            }
            Event::Alias(id) => self.alias(id, span, depth)?,
            _ => self.tree.add(NodeValue::Null, span),
        };
        self.brackets = brackets;
        if let Some(id) = anchor {
            self.anchors.insert(id, Some(node));
        }
        Ok(node)
    }

    /// Reports a block scalar as the document itself: in YAML 1.2 its lines may be at the margin, and kubectl reads
    /// none of them.
    fn report_root_block(&mut self, span: Span) {
        let diagnostic =
            Diagnostic::error(codes::YAML_SYNTAX, "kubectl reads a document that is a block scalar as empty")
                .at(self.origin(span))
                .help("write the text behind a key");
        self.report(diagnostic);
    }

    fn sequence(
        &mut self,
        parser: &mut Events<'r>,
        id: NodeId,
        style: StructureStyle,
        depth: usize,
    ) -> Result<(), Stop> {
        let mut items = Chain::new();
        while let Some((event, span)) = self.next(parser)? {
            if event == Event::SequenceEnd {
                self.close(id, style, &span);
                break;
            }
            let item = self.node(parser, event, span, depth + 1)?;
            items.push(self.tree, item);
        }
        self.tree.set(id, items.items());
        Ok(())
    }

    fn mapping(
        &mut self,
        parser: &mut Events<'r>,
        id: NodeId,
        style: StructureStyle,
        depth: usize,
    ) -> Result<(), Stop> {
        let mut entries: Vec<(NodeId, NodeId)> = Vec::new();
        let mut merged: Vec<NodeId> = Vec::new();
        let (mut merge_key, mut before_merge) = (None, 0);
        let mut seen: HashMap<String, Span> = HashMap::new();
        while let Some((event, span)) = self.next(parser)? {
            if event == Event::MappingEnd {
                self.close(id, style, &span);
                break;
            }
            let is_merge = matches!(&event, Event::Scalar(text, ScalarStyle::Plain, _, None) if text == "<<");
            let key = self.node(parser, event, span, depth + 1)?;
            if style == StructureStyle::Flow {
                self.check_flow_key(key);
            }
            let Some((event, span)) = self.next(parser)? else {
                break;
            };
            let value = self.node(parser, event, span, depth + 1)?;
            let key_span = self.tree.at(key).span();
            if is_merge {
                match merge_key {
                    Some(first) => self.report_duplicate("<<", first, key_span),
                    None => (merge_key, before_merge, merged) = (Some(key_span), entries.len(), vec![value]),
                }
                continue;
            }
            let Some(name) = self.key(key) else {
                continue;
            };
            if let Some(&first) = seen.get(&name) {
                self.report_duplicate(&name, first, key_span);
                // The last value counts in kubectl, and so in further checks.
                if let Some(entry) = entries.iter_mut().find(|(known, _)| self.tree.at(*known).as_str() == Some(&name))
                {
                    *entry = (key, value);
                }
                continue;
            }
            seen.insert(name, key_span);
            entries.push((key, value));
        }
        if !merged.is_empty() {
            let early = entries.iter().take(before_merge);
            let early: HashSet<String> =
                early.filter_map(|&(key, _)| self.tree.at(key).as_str().map(str::to_owned)).collect();
            let names: HashSet<String> = seen.keys().cloned().collect();
            let names_before: HashMap<String, Span> =
                seen.into_iter().filter(|(name, _)| early.contains(name)).collect();
            self.merge(&merged, names, &names_before, &mut entries);
        }
        self.tree.set_entries(id, &entries);
        Ok(())
    }

    /// Checks that a key is a string, like every name of a field.
    fn key(&mut self, key: NodeId) -> Option<String> {
        let node = self.tree.at(key);
        if let Some(name) = node.as_str() {
            return Some(name.to_owned());
        }
        let origin = node.origin();
        let written = self.written(origin.span);
        let what = node.describe();
        let collection = node.is_map() || node.is_seq();
        let diagnostic = Diagnostic::error(codes::KEY_NOT_STRING, format!("this key is not a string but {what}"))
            .at(origin)
            .labelled("a key has to be a string");
        self.report(if collection {
            diagnostic.help("a mapping in a policy or a manifest has names as its keys")
        } else {
            diagnostic.help(format!("write it in quotes: \"{written}\""))
        });
        None
    }

    /// Adds the entries of merged maps with new keys; of several maps the first wins. A key written before the merge
    /// key is refused if it would lose to it: kubectl takes the merged value and kustomize the written one.
    fn merge(
        &mut self,
        merged: &[NodeId],
        mut names: HashSet<String>,
        written_before: &HashMap<String, Span>,
        entries: &mut Vec<(NodeId, NodeId)>,
    ) {
        for &source in merged {
            let node = self.tree.at(source);
            let maps: Vec<NodeId> =
                if node.is_seq() { node.items().map(|item| item.id()).collect() } else { vec![source] };
            for map in maps {
                let node = self.tree.at(map);
                if !node.is_map() {
                    let diagnostic = Diagnostic::error(
                        codes::YAML_MERGE,
                        format!("`<<` merges maps, and this is {}", node.describe()),
                    )
                    .at(node.origin())
                    .help("merge an alias of a map (`<<: *name`) or a list of such aliases");
                    self.report(diagnostic);
                    continue;
                }
                let found: Vec<(String, NodeId, NodeId)> = node
                    .entries()
                    .filter_map(|(key, value)| Some((key.as_str()?.to_owned(), key.id(), value.id())))
                    .collect();
                for (name, key, value) in found {
                    if let Some(&span) = written_before.get(&name) {
                        let message = format!("`<<` below would overwrite `{name}` for kubectl, and not for kustomize");
                        let diagnostic = Diagnostic::error(codes::YAML_MERGE, message)
                            .at(self.origin(span))
                            .help("put `<<` before the keys that are to win over it");
                        self.report(diagnostic);
                    }
                    if names.insert(name) {
                        // A merged map may be shared by several keys of a list; its nodes must not change chains.
                        let mut copier = Copier { tree: self.tree, left: usize::MAX };
                        let (Ok(key), Ok(value)) = (copier.copy(key, 0), copier.copy(value, 0)) else {
                            continue;
                        };
                        entries.push((key, value));
                    }
                }
            }
        }
    }

    fn alias(&mut self, id: usize, span: Span, depth: usize) -> Result<NodeId, Stop> {
        self.end = span.end;
        let Some(Some(target)) = self.anchors.get(&id).copied() else {
            let diagnostic = Diagnostic::error(codes::YAML_ALIAS, "this alias stands inside the node it names")
                .at(self.origin(span))
                .help("write the value out");
            self.report(diagnostic);
            return Err(Stop::Reported);
        };
        self.tree.note_alias();
        let left = MAXIMUM_ALIASED_NODES.saturating_sub(self.aliased);
        let mut copier = Copier { tree: self.tree, left };
        let copied = copier.copy(target, depth);
        self.aliased += left - copier.left;
        match copied {
            Ok(node) => Ok(node),
            Err(Bound::Depth) => {
                self.report_depth(span);
                Err(Stop::Reported)
            }
            Err(Bound::Nodes) => {
                let diagnostic = Diagnostic::error(
                    codes::YAML_ALIAS,
                    format!("the aliases of this file expand to more than {MAXIMUM_ALIASED_NODES} nodes"),
                )
                .at(self.origin(span))
                .labelled("the bound is crossed here")
                .help("write the values out, or split the file");
                self.report(diagnostic);
                Err(Stop::Reported)
            }
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>, span: Span) -> NodeId {
        if style == ScalarStyle::Plain && text.starts_with('?') && self.brackets > 0 {
            let diagnostic = Diagnostic::error(codes::YAML_SYNTAX, "between brackets kubectl reads this `?` as a mark")
                .at(self.origin(span))
                .help("put the text that begins with `?` in quotes");
            self.report(diagnostic);
        }
        let resolved = scalar::resolve(text);
        let plain = match tag.map(|tag| (tag, tag.core_suffix())) {
            None if style == ScalarStyle::Plain => resolved,
            None | Some((_, Some("str"))) => Plain::Str,
            Some((_, Some("null"))) if resolved == Plain::Null => resolved,
            Some((_, Some("bool"))) if matches!(resolved, Plain::Bool(_)) => resolved,
            Some((_, Some("int"))) if matches!(resolved, Plain::Int(_)) => resolved,
            Some((_, Some("float"))) if matches!(resolved, Plain::Int(_) | Plain::Float(_) | Plain::NotFinite) => {
                resolved
            }
            Some((tag, core)) => {
                self.report_tag(&tag.original(), core.is_some(), span);
                Plain::Str
            }
        };
        let value = match plain {
            Plain::Null => NodeValue::Null,
            Plain::Bool(truth) => NodeValue::Bool(truth),
            Plain::Int(number) => NodeValue::Int(number),
            Plain::Float(number) => NodeValue::Float(number),
            Plain::NotFinite => {
                let diagnostic =
                    Diagnostic::error(codes::NUMBER_NOT_FINITE, format!("`{text}` is a number that JSON cannot hold"))
                        .at(self.origin(span))
                        .help(format!("write it in quotes if a string is meant: \"{text}\""));
                self.report(diagnostic);
                NodeValue::Null
            }
            Plain::Str => self.tree.intern(text),
        };
        self.tree.add(value, span)
    }

    fn collection_tag(&mut self, tag: Option<&Tag>, own: &str, span: Span) {
        if let Some(tag) = tag
            && tag.core_suffix() != Some(own)
        {
            self.report_tag(&tag.original(), tag.core_suffix().is_some(), span);
        }
    }

    fn report_tag(&mut self, tag: &str, core: bool, value: Span) {
        let before = self.part(self.shift, value.start as usize).trim_end();
        let span = match before.strip_suffix(tag) {
            Some(head) => self.byte_span(head.len(), before.len()),
            None => value,
        };
        let message = match core {
            true => format!("the tag `{tag}` does not fit its value"),
            false => format!("the tag `{tag}` has no meaning here"),
        };
        let diagnostic = Diagnostic::error(codes::YAML_TAG, message)
            .at(self.origin(span))
            .help("leave it out: Kubernetes reads plain YAML data only");
        self.report(diagnostic);
    }

    fn report_duplicate(&mut self, name: &str, first: Span, second: Span) {
        let diagnostic = Diagnostic::error(codes::DUPLICATE_KEY, format!("the key `{name}` occurs twice"))
            .at(self.origin(second))
            .labelled("again here")
            .and(self.origin(first), "first written here")
            .help("keep one of them; most readers silently use the last");
        self.report(diagnostic);
    }

    fn report_depth(&mut self, span: Span) {
        let diagnostic =
            Diagnostic::error(codes::TOO_DEEP, format!("this nests more than {MAXIMUM_DEPTH} levels deep"))
                .at(self.origin(span))
                .help("no Kubernetes object needs that; look for a missing or doubled bracket");
        self.report(diagnostic);
    }

    fn report_syntax(&mut self, error: &ScanError) {
        let byte = self.indented.written(error.marker().byte_offset().unwrap_or_default()).min(self.text.len());
        let line_start = self.text.get(..byte).and_then(|head| head.rfind('\n')).map_or(0, |position| position + 1);
        let rest = internal::slice(self.text, line_start..);
        let line = rest.split_once('\n').map_or(rest, |(line, _)| line.trim_end_matches('\r'));
        let here = self.byte_span(byte, byte + 1);
        // `foreign::check` has reported it.
        if byte == line_start && line.starts_with('\u{feff}') {
            return;
        }
        let diagnostic = match error.kind() {
            ErrorKind::RecursionLimitExceeded => return self.report_depth(here),
            ErrorKind::UnknownAnchor => {
                Diagnostic::error(codes::YAML_ALIAS, "this alias names no anchor of this document")
                    .at(self.origin(here))
                    .help("put the value in quotes if a string that begins with `*` is meant")
            }
            _ => match tab_indent(rest) {
                Some(tab) => Diagnostic::error(codes::TAB_INDENT, "a tab indents this line")
                    .at(self.origin(self.byte_span(line_start + tab, line_start + tab + 1)))
                    .labelled("a tab")
                    .help("indent with spaces: YAML forbids tabs there"),
                None => Diagnostic::error(codes::YAML_SYNTAX, format!("this is not YAML: {}", error.info()))
                    .at(self.origin(here))
                    .help(syntax_help(&error.info(), line)),
            },
        };
        self.report(diagnostic);
    }

    /// Ends the span of a collection: at its bracket, or with the last thing written in it.
    fn close(&mut self, id: NodeId, style: StructureStyle, at: &granit_parser::Span) {
        if style == StructureStyle::Flow {
            self.end = self.span(at).end;
        }
        // An empty collection begins behind the last thing written.
        let start = self.tree.at(id).span().start;
        self.tree.set_span_end(id, self.end.max(start));
    }

    /// Returns the beginning of a block sequence. For a sequence at its key's own indent the parser reports a later
    /// position, so the first dash is searched for from the end of the key.
    fn first_dash(&self, span: Span) -> u32 {
        let is_dash = |rest: &str| rest == "-" || rest.starts_with("- ") || rest.starts_with("-\n");
        if is_dash(self.written_from(span.start)) {
            return span.start;
        }
        let mut position = self.end.min(span.start);
        loop {
            let rest = self.written_from(position);
            let skipped = match rest.chars().next() {
                Some(' ' | '\t' | '\r' | '\n' | ':') => 1,
                Some('#') => length_before(rest, &['\n']),
                Some('&' | '!') => length_before(rest, &[' ', '\t', '\r', '\n']),
                Some('-') => return position,
                _ => return span.start,
            };
            position += internal::number(skipped);
        }
    }

    fn written_from(&self, position: u32) -> &str {
        self.part(position as usize, self.text.len() + self.shift)
    }

    /// Reports a problem. After many of them the rest of the text is not read.
    fn report(&mut self, diagnostic: Diagnostic) {
        self.reported += 1;
        if self.reported <= MAXIMUM_REPORTED {
            return self.sink.push(diagnostic);
        }
        if self.reported == MAXIMUM_REPORTED + 1 {
            let message = format!("this file has more than {MAXIMUM_REPORTED} problems, and the rest is not read");
            let last = Diagnostic::error(codes::YAML_SYNTAX, message).help("begin with the first problems of the file");
            self.sink.push(diagnostic.origin.map_or(last.clone(), |origin| last.at(origin)));
        }
    }

    fn is_full(&self) -> bool {
        self.reported > MAXIMUM_REPORTED
    }

    /// Returns the next event with a meaning.
    fn next(&mut self, parser: &mut Events<'r>) -> Result<Option<(Event<'r>, granit_parser::Span)>, Stop> {
        if self.is_full() {
            return Err(Stop::Reported);
        }
        loop {
            match parser.next_event() {
                None | Some(Ok((Event::StreamEnd, _))) => return Ok(None),
                Some(Ok((Event::Anchor(_, name), at))) => self.check_anchor(&name, &at),
                Some(Ok(pair)) => return Ok(Some(pair)),
                Some(Err(error)) => return Err(Stop::Syntax(Box::new(error))),
            }
        }
    }

    /// Reports `[a:]` and `{a:}`: a key for YAML 1.2, and a word with a colon at its end for kubectl.
    fn check_flow_key(&mut self, key: NodeId) {
        let span = self.tree.at(key).span();
        let is_plain = !self.written(span).is_empty() && !self.written(span).starts_with(['"', '\'', '[', '{']);
        let behind = self.written_from(span.end);
        let from_colon = behind.trim_start_matches([' ', '\t', '\r', '\n']);
        if is_plain && from_colon.strip_prefix(':').is_some_and(|rest| rest.starts_with([',', ']', '}'])) {
            let colon = span.end + internal::number(behind.len() - from_colon.len());
            let diagnostic =
                Diagnostic::error(codes::YAML_SYNTAX, "kubectl reads this colon as part of the word before it")
                    .at(self.origin(Span { start: colon, end: colon + 1 }))
                    .help("write a blank behind the colon, or the word in quotes");
            self.report(diagnostic);
        }
    }

    /// Reports the name of an anchor that kubectl reads in another way: in YAML 1.2 `&a: b` has a key, in kubectl it
    /// has not.
    fn check_anchor(&mut self, name: &str, at: &granit_parser::Span) {
        if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
            return;
        }
        let diagnostic = Diagnostic::error(codes::YAML_ALIAS, format!("kubectl would not read the anchor `{name}` so"))
            .at(self.origin(self.span(at)))
            .help("name anchors with letters, digits, `-` and `_` only");
        self.report(diagnostic);
    }

    /// Reports a document behind `...` without a `---`: kubectl does not read it.
    fn report_hidden_document(&mut self, at: &granit_parser::Span) {
        let start = self.span(at).start as usize - self.shift;
        let diagnostic = Diagnostic::error(codes::YAML_SYNTAX, "kubectl does not read what follows `...`")
            .at(self.origin(self.byte_span(start, start + 1)))
            .help("begin the document with `---`");
        self.report(diagnostic);
    }

    /// Whether the parser adds a line feed at the end of a block scalar that the text does not have. kubectl does not
    /// add it.
    fn invents_line_feed(&self, value: &str, span: Span) -> bool {
        if !self.written_from(span.end).is_empty() || self.text.ends_with(['\n', '\r']) {
            return false;
        }
        let last_line = self.text.rsplit_once('\n').map_or(self.text, |(_, last)| last);
        let below = self.written_from(span.start).split_once('\n').map_or("", |(_, below)| below);
        // Of a scalar of empty lines alone, each line feed is in the text.
        if !value.is_empty() && value.bytes().all(|byte| byte == b'\n') && last_line.trim().is_empty() {
            return value.len() > below.matches('\n').count();
        }
        // A last line of blanks counts if it is content itself, deeper than the rest: the span begins with the content.
        let before = self.part(self.shift, span.start as usize);
        let first_line = before.rfind('\n').map_or(0, |line_feed| line_feed + 1);
        let leading = |text: &str| {
            let line = text.lines().find(|line| !line.trim().is_empty())?;
            Some(line.len() - line.trim_start_matches(' ').len())
        };
        let written = leading(internal::slice(self.text, first_line..));
        let indent = written.zip(leading(value)).and_then(|(written, own)| written.checked_sub(own));
        !last_line.trim().is_empty() || indent.is_some_and(|indent| last_line.len() > indent)
    }

    fn span(&self, at: &granit_parser::Span) -> Span {
        let range = internal::value(at.byte_range(), "the parser of a text counts no bytes");
        let written = |position| self.indented.written(position) + self.shift;
        Span::new(written(range.start), written(range.end))
    }

    fn byte_span(&self, start: usize, end: usize) -> Span {
        let last = self.text.len();
        let mut end = end.min(last);
        while end < last && !self.text.is_char_boundary(end) {
            end += 1;
        }
        Span::new(start.min(last) + self.shift, end + self.shift)
    }

    /// Returns the text between two positions that the parser reported, counted from the start of the file.
    ///
    /// The parser reports a collection that ends before it starts for some texts, such as `a:\n  {b: c}\n d:`. Nothing is written
    /// between such positions.
    fn part(&self, start: usize, end: usize) -> &str {
        let inside = |position: usize| position.checked_sub(self.shift);
        let range = inside(start).zip(inside(end));
        let Some(part) = range.and_then(|(start, end)| self.text.get(start..end)) else { return "" };
        part
    }

    fn written(&self, span: Span) -> &str {
        self.part(span.start as usize, span.end as usize)
    }

    fn origin(&self, span: Span) -> Origin {
        Origin { file: self.tree.file(), span }
    }
}

/// Whether an event opens brackets.
fn is_flow(event: &Event<'_>) -> bool {
    matches!(event, Event::SequenceStart(StructureStyle::Flow, ..) | Event::MappingStart(StructureStyle::Flow, ..))
}

/// Returns the length of a text before the first of some characters.
fn length_before(text: &str, ends: &[char]) -> usize {
    text.len() - text.trim_start_matches(|letter| !ends.contains(&letter)).len()
}

/// A bound against copies.
enum Bound {
    Depth,
    Nodes,
}

/// A copier of subtrees, since a node is in one chain only.
struct Copier<'t> {
    tree: &'t mut Tree,
    /// How many more nodes may be copied.
    left: usize,
}

impl Copier<'_> {
    /// Copies a node to a place `depth` collections deep.
    fn copy(&mut self, id: NodeId, depth: usize) -> Result<NodeId, Bound> {
        let node = self.tree.at(id);
        let (value, span) = (node.value(), node.span());
        let price = 1 + node.as_str().map_or(0, |text| text.len() / BYTES_PER_NODE);
        self.left = self.left.checked_sub(price).ok_or(Bound::Nodes)?;
        if matches!(value, NodeValue::Seq(_) | NodeValue::Map(_)) && depth >= MAXIMUM_DEPTH {
            return Err(Bound::Depth);
        }
        match value {
            NodeValue::Seq(_) => {
                let items: Vec<NodeId> = node.items().map(|item| item.id()).collect();
                let copies: Vec<NodeId> =
                    items.into_iter().map(|item| self.copy(item, depth + 1)).collect::<Result<_, _>>()?;
                let copy = self.tree.add_seq(span);
                self.tree.set_items(copy, &copies);
                Ok(copy)
            }
            NodeValue::Map(_) => {
                let entries: Vec<(NodeId, NodeId)> =
                    node.entries().map(|(key, value)| (key.id(), value.id())).collect();
                let copies: Vec<(NodeId, NodeId)> = entries
                    .into_iter()
                    .map(|(key, value)| Ok((self.copy(key, depth + 1)?, self.copy(value, depth + 1)?)))
                    .collect::<Result<_, _>>()?;
                let copy = self.tree.add_map(span);
                self.tree.set_entries(copy, &copies);
                Ok(copy)
            }
            scalar => Ok(self.tree.add(scalar, span)),
        }
    }
}

/// Returns a remedy for the commonest slips.
fn syntax_help(problem: &str, line: &str) -> String {
    if problem.contains("anchor or alias") {
        return "a value that begins with `*` or `&` needs quotes, such as `\"*\"`".to_owned();
    }
    if problem.contains("bracket") || problem.contains("flow") {
        return "close every bracket, and put a text that begins with `{` or `[` in quotes".to_owned();
    }
    if problem.contains("unexpected character") {
        return "remove the character: YAML is printable text".to_owned();
    }
    let value = line.split_once(": ").map_or(line.trim(), |(_, value)| value.trim());
    if let Some(first) = value.chars().next().filter(|first| matches!(first, '%' | '@' | '`')) {
        return format!("a value that begins with `{first}` needs quotes");
    }
    let closed = value.ends_with([']', '}']);
    if !closed && (value.contains(": ") || value.ends_with(':')) {
        return "a value with `: ` in it needs quotes".to_owned();
    }
    "look at the indentation and the quotes of this line and the one before".to_owned()
}

/// Returns the tab in the indentation of the first line or the line behind it, possibly the parser's position.
fn tab_indent(text: &str) -> Option<usize> {
    let mut start = 0;
    for line in text.split_inclusive('\n').take(2) {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        if let Some(tab) = line.get(..indent).and_then(|blank| blank.find('\t')) {
            return Some(start + tab);
        }
        start += line.len();
    }
    None
}
