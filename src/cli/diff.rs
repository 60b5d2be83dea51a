//! `bailiwick diff`.

mod alike;
mod base;
mod compiled;
mod earlier;
mod effect;
mod gate;
mod meaning;
mod tree;
mod whole;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use clap::Args;

pub(super) use self::base::Base;
use self::effect::{Effect, Rules, Ways};
use self::meaning::{Known, Meaning, StackNames};
use super::printing::print;
use super::sandbox::{GateArguments, Paths};
use super::session::{Comparison, Found, Session, with_targets};
use super::targets::TargetChanges;
use super::unclaimed::Unclaimed;
use super::{Global, Outcome, removal};
use crate::diag::{RunError, Sink, foreign};
use crate::emit::diff::unified;
use crate::emit::group::Groups;
use crate::emit::objects::{Depth, Way};
use crate::emit::plan::object_digests;
use crate::emit::totals::{Told, Totals};
use crate::model::Target;
use crate::report::groups::folded;
use crate::report::human;
use crate::report::page::Page;

/// How many bytes of differences are kept for printing; the rest is counted.
const MAXIMUM_DIFF: usize = 16 << 20;

/// Options of `diff`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Compare with the compiled policies of a revision in git or of another workspace's folder, or with a folder of output.
    /// Default: the output folder.
    #[arg(long, value_name = "REF-or-DIR")]
    against: Option<String>,
    /// Only these targets.
    #[arg(short, long = "target", value_name = "NAME")]
    targets: Vec<String>,
    /// Print the counts only.
    #[arg(long)]
    summary: bool,
    /// Print every file whole, also files that change in the same way as others.
    #[arg(long)]
    no_group: bool,
    #[command(flatten)]
    pub(super) gate: GateArguments,
}

impl Arguments {
    /// Confines the process, if it is to be.
    pub(super) fn confine(&self, global: &Global) -> Result<Outcome, RunError> {
        let reads = self.against.iter().map(|name| Base::folder(global, name)).collect();
        self.gate.sandbox.apply(global, Paths { reads, ..Paths::default() })
    }
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, RunError> {
    with_targets(global, &arguments.targets, |session, targets| {
        let mut base = Base::open(session, arguments.against.as_deref())?;
        if let Some(problem) = base.missing(session, targets)? {
            print(global, vec![problem], &session.project.files);
            return Ok(Outcome::Invalid);
        }
        let is_whole = arguments.targets.is_empty();
        let mut sink = Sink::new();
        base.compile(session, (!is_whole).then_some(targets), &mut sink)?;
        session.global.terminal().note(&base.kind());
        session.global.terminal().problem(&base.staleness());
        let changes = if is_whole { base.gone(session)? } else { TargetChanges::default() };
        let (summary, every) = (arguments.summary, arguments.no_group);
        let wanted = Wanted { base: &base, summary, every, is_check: false };
        compare_and_print(session, targets, wanted, changes, sink).map(|(outcome, _)| outcome)
    })
}

/// The options of a comparison.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The earlier side of the comparison.
    pub(super) base: &'a Base,
    /// The counts only.
    pub(super) summary: bool,
    /// Every file, whether others change in the same way or not.
    pub(super) every: bool,
    /// Whether it is for `check`, which judges more and leaves out what a change really grants.
    pub(super) is_check: bool,
}

/// A file that differs: its shown path, its way, its difference as text, what it means, and its rules.
type Difference = (String, Option<Way>, String, Meaning, Option<Rules>);

/// Compiles, compares, and prints the differences. Returns [`Outcome::No`] when there are any, and the entries of the
/// earlier output that no policy accounts for.
pub(super) fn compare_and_print(
    session: &Session<'_>,
    targets: &[&Target],
    wanted: Wanted<'_>,
    mut changes: TargetChanges,
    mut sink: Sink,
) -> Result<(Outcome, Unclaimed), RunError> {
    let Wanted { base, summary, every, is_check } = wanted;
    let with_access = !is_check;
    let form = Form::of(session.global, summary);
    let terminal = session.global.terminal();
    let output = session.project.workspace.output.clone();
    let mut text = String::new();
    let mut left_out = 0;
    let mut lines = String::new();
    let mut drift = false;
    let mut renewals = Renewals::default();
    let mut unclaimed = Unclaimed::default();
    for target in targets {
        let committed = base.output(session, Some(target));
        let shown = |path: &str| format!("{output}/{}/{path}", target.name);
        let stacks = StackNames::of(session, target);
        let (known, ways) = (Known::default(), Ways::default());
        let created = Mutex::new(BTreeSet::new());
        let difference = |found: &Found<'_>| {
            if let (Some(file), None, true) = (found.file, found.old, changes.asks_for_objects()) {
                created.lock().unwrap_or_else(PoisonError::into_inner).extend(object_digests(&file.text));
            }
            if found.change.plan.is_renewal {
                return Ok(None);
            }
            let meaning = if with_access { Meaning::of(found, &stacks, &known) } else { Meaning::default() };
            let way = found.change.way.clone().filter(|_| !every);
            let path = shown(&found.change.plan.path);
            let text = if summary || !Groups::needs_text(way.as_ref()) {
                String::new()
            } else {
                let old = found.old.map(String::from_utf8_lossy);
                unified(&path, old.as_deref(), found.file.map(|file| &*file.text))
            };
            let rules = if with_access { Rules::of(found, &ways) } else { None };
            Ok(Some((path, way, text, meaning, rules)))
        };
        let mut groups = Groups::new(MAXIMUM_DIFF.saturating_sub(text.len()));
        let mut changed = Meaning::default();
        let mut effect = Effect::new(session, target);
        let mut each = |difference: Option<Difference>| {
            let Some((path, way, text, meaning, rules)) = difference else { return };
            groups.add(&path, way, text);
            changed.add(meaning);
            if let Some(rules) = rules {
                effect.add(rules);
            }
        };
        let compared = session.compare(target, &*committed, Depth::Objects, &difference, &mut each, &mut sink)?;
        let Comparison { plan, unclaimed: of_target, .. } = compared;
        unclaimed.absorb(of_target);
        let totals = Totals::of(&plan);
        if base.is_new(target, &totals) {
            changes.add_new(session, &target.name, created.into_inner().unwrap_or_else(PoisonError::into_inner));
        }
        session.warn_of_recreation(target, &totals, &mut sink);
        if !summary {
            let (of_target, without_room) = groups.finish(folded);
            text.push_str(&of_target);
            left_out += without_room;
        }
        drift |= plan.is_drift();
        renewals.add(&format!("{output}/{}", target.name), &totals.renewals);
        let effects = if !with_access || sink.has_errors() {
            String::new()
        } else if let Some(whole) = base.whole_effect(session, target)? {
            whole
        } else if plan.is_drift() {
            effect.told(&*committed)?
        } else {
            String::new()
        };
        let further = format!("{effects}{}", changed.told(session, target, &*committed)?);
        lines.push_str(&told(&session.title(target), &totals, &further, form));
    }
    let findings = session.findings(sink);
    let judged = if is_check { session.tell_checked(findings) } else { session.tell_outcome(findings) };
    if judged == Outcome::Invalid {
        return Ok((judged, unclaimed));
    }
    let gate = base.changes(session)?;
    drift |= changes.has_gone() || !gate.is_empty();
    lines.insert_str(0, &gate.iter().map(|line| format!("{}\n", foreign::line(line))).collect::<String>());
    lines.insert_str(0, &changes.lines(&output, session.shard.is_none()));
    terminal.result(&text);
    if left_out > 0 {
        terminal.problem(&format!("{} left out of the difference\n", human::number(left_out, "further file")));
    }
    if summary {
        terminal.result(&lines)
    } else {
        terminal.problem(&lines)
    }
    terminal.note(&renewals.note());
    if is_check && drift {
        terminal.note(NOTE_OF_DRIFT);
    }
    Ok((judged.worse(if drift { Outcome::No } else { Outcome::Fine }), unclaimed))
}

/// The note of `check` where the output differs.
pub(super) const NOTE_OF_DRIFT: &str = "the output differs from what the policies say; `bailiwick render` writes it\n";

/// How many files are named that differ in nothing but the header of an earlier version.
const NAMED_RENEWALS: usize = 10;

/// Files that differ in nothing but the header of an earlier version.
#[derive(Debug, Default)]
pub(super) struct Renewals {
    first: Vec<String>,
    count: usize,
}

impl Renewals {
    /// Adds the files of a target, whose folder is given.
    pub(super) fn add(&mut self, folder: &str, files: &Told) {
        let room = NAMED_RENEWALS.saturating_sub(self.first.len());
        self.first.extend(files.lines().take(room).map(|path| format!("  {folder}/{path}\n")));
        self.count += files.count;
    }

    /// Returns the note about the files; empty without such files.
    pub(super) fn note(&self) -> String {
        let (have, them) = if self.count == 1 { ("has", "it") } else { ("have", "them") };
        let files = human::number(self.count, "file");
        let more = self.count - self.first.len();
        let more = if more > 0 { format!("  and {more} more\n") } else { String::new() };
        match self.count {
            0 => String::new(),
            _ => format!(
                "{files} {have} the header of an earlier version; `bailiwick render` renews {them}\n{}{more}",
                self.first.concat()
            ),
        }
    }
}

/// How the lines about a target are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// With the counts.
    Counted,
    /// As `--quiet` asks: without the counts, and without a heading where no other line is left.
    Quiet,
}

impl Form {
    /// Returns the form for the options of a run. A summary is a result, and has its counts.
    pub(super) fn of(global: &Global, is_summary: bool) -> Self {
        if global.quiet && !is_summary { Self::Quiet } else { Self::Counted }
    }

    /// Puts the name of a target before the lines about it.
    pub(super) fn headed(self, title: &str, counts: &str, lines: &str) -> String {
        let mut page = Page::new();
        match self {
            Self::Counted => writeln!(page, "{title}: {counts}"),
            Self::Quiet if lines.is_empty() => {}
            Self::Quiet => writeln!(page, "{title}:"),
        }
        page.append(lines);
        page.finish()
    }
}

/// Describes how much of a target differs, and how its roles do; `further` lines follow.
pub(super) fn told(title: &str, totals: &Totals, further: &str, form: Form) -> String {
    let mut lines = Page::new();
    lines.append(&removal::namespaces(totals));
    if form == Form::Counted {
        lines.append(&human::counts_by_kind(&totals.by_kind));
    }
    let kinds = [
        (&totals.changed_roles, "further changed role", ""),
        (&totals.changed_pods, "further object", " with a change for pods"),
    ];
    for (changes, further, change) in kinds {
        changes.lines().for_each(|line| writeln!(lines, "  {line}"));
        let rest = changes.count - changes.lines().count();
        if rest > 0 {
            writeln!(lines, "  and {}{change}", human::number(rest, further));
        }
    }
    for binding in totals.changed_role_refs.lines() {
        writeln!(lines, "  {binding} is deleted and created anew: its role changes");
    }
    lines.append(further);
    let objects = human::number(totals.counts.total(), "object");
    form.headed(title, &format!("{objects}: {}", human::counts(totals.counts)), lines.as_str())
}
