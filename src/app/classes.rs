//! The classes of alike namespaces of one or two states: one namespace of each class stands for its class in a review, and in a
//! search for findings.
//!
//! Two namespaces are alike when their output files have the same shape in each state, on every target: the files differ only
//! in the name of the namespace and in the values of the account (see [`crate::alike`]). Alike namespaces have the same effects
//! with other names, if nothing else distinguishes their names. Four things do, and they divide a class:
//!
//! 1. **Named values**: a value of the account, or the name of the namespace, in an input beside the account lists, such as in
//!    a Grant, a template, a baseline or a manifest. The input can give the value a meaning of its own. A compiled object that
//!    belongs to no account counts as an input, too.
//! 2. **Shared values**: a value of several accounts, at a place with a name for the objects of different namespaces: a subject, or the name of an object in a rule. The other accounts with the value belong to the class.
//! 3. **Expressions about names**: where an admission policy computes with the names of namespaces or users, every namespace is
//!    compiled.
//! 4. **Several accounts** in one file.
//!
//! Of a class with few members all are compiled.

mod known;
mod named;
mod output_check;
mod shapes;
mod spread;

use std::sync::Arc;

use hashbrown::HashMap;

use self::named::{Occurrences, computes_with_names, reads_annotations};
pub(in crate::app) use self::output_check::OutputCheck;
pub(in crate::app) use self::shapes::ShapeCollector;
use self::shapes::{NAME, NamespaceShape, Shapes};
pub(in crate::app) use self::spread::Spread;
use super::workspace::Workspace;
use crate::compile;
use crate::diag::RunError;
use crate::digest::digest_of_run;
use crate::model::NamespaceSample;
use crate::parallel::{both, in_order};

/// The fewest namespaces of a target that are divided into classes: fewer are compiled as fast as they are divided.
const FEWEST_NAMESPACES: usize = 200;

/// The fewest members of a class with a representative. Of fewer members, each has a path of its own in a review.
const FEWEST_MEMBERS: usize = 50;

/// The most namespaces that are kept for the sake of shared values. All namespaces are compiled if more are necessary.
const MAXIMUM_KEPT: usize = 4_000;

/// A namespace in both states.
struct Row<'w> {
    name: &'w Arc<str>,
    /// The shape of its files in both states.
    class: u128,
    /// The named values, each with its column.
    named: Vec<(u128, &'w str)>,
    /// The values that join namespaces, each with its column.
    joining: Vec<(u128, &'w str)>,
    /// Whether no other namespace can stand for this one.
    is_apart: bool,
}

/// The use of a value by the namespaces of a class in a column.
#[derive(Debug, Clone, Copy)]
struct ValueUse {
    class: u128,
    column: u128,
    /// The position of the first such namespace.
    first: usize,
    /// The position of the second one: a subject with rights in one namespace is not like a subject with rights in several.
    second: Option<usize>,
}

/// Returns the classes of alike namespaces of a state, or of two. On the way, `check` compares the committed output of the `head`.
/// The names in `asked` count as names of an input, so that they divide classes.
///
/// # Errors
/// When an input cannot be read.
pub(in crate::app) fn spread<'w>(
    base: Option<&'w Workspace>,
    head: &'w Workspace,
    check: Option<&OutputCheck<'_>>,
    asked: &[&str],
) -> Result<Spread<'w>, RunError> {
    let states: Vec<&Workspace> = base.into_iter().chain([head]).collect();
    let Some(files) = files_to_divide(&states) else { return Ok(Spread::default()) };
    let (jobs, reads_annotations) = (head.options.threads(), reads_annotations(&states));
    let collector = || ShapeCollector::new(reads_annotations, files);
    let of_base = || base.map(|base| Shapes::of(base, collector(), None)).transpose();
    let (before, after) = both(jobs, of_base, || Shapes::of(head, collector(), check));
    match (before?, after?) {
        (None, Some(head)) => divided(vec![head], asked, jobs),
        (Some(Some(base)), Some(head)) => divided(vec![base, head], asked, jobs),
        _ => Ok(Spread::default()),
    }
}

/// Returns a collector of the shapes of the files of a state; none where every namespace has to be compiled.
pub(in crate::app) fn collector(workspace: &Workspace) -> Option<ShapeCollector> {
    let states = [workspace];
    files_to_divide(&states).map(|files| ShapeCollector::new(reads_annotations(&states), files))
}

/// Returns the classes of the namespaces whose files were collected. The names in `asked` count as names of an input.
///
/// # Errors
/// When an input cannot be read.
pub(in crate::app) fn spread_of<'w>(
    collected: &ShapeCollector,
    workspace: &'w Workspace,
    asked: &[&str],
) -> Result<Spread<'w>, RunError> {
    divided(vec![collected.take(workspace)], asked, workspace.options.threads())
}

/// Returns the number of output files of a target with many namespaces; none if every namespace has to be compiled, because no target
/// has many or an expression computes with names.
fn files_to_divide(states: &[&Workspace]) -> Option<usize> {
    let targets =
        states.iter().flat_map(|state| state.project.workspace.targets.iter().map(move |target| (state, target)));
    let mut sizes = targets.map(|(state, target)| compile::output_files(&state.project, target).len());
    sizes.find(|size| *size >= FEWEST_NAMESPACES).filter(|_| !computes_with_names(states))
}

/// Divides the namespaces of the states into classes.
fn divided<'w>(shapes: Vec<Shapes<'w>>, asked: &[&str], jobs: usize) -> Result<Spread<'w>, RunError> {
    let sample = {
        let occurrences = Occurrences::find(&shapes, asked)?;
        sample(&rows(&shapes, &occurrences, jobs))
    };
    Ok(sample.map_or_else(Spread::default, |sample| Spread::new(sample, shapes)))
}

/// The columns of account lists, each with the digest of its name.
type KnownColumns<'w> = Vec<(&'w str, u128)>;

/// A namespace of a state: its name, the position of the state, and its shape.
type Found<'w> = (&'w Arc<str>, usize, &'w NamespaceShape);

/// Joins the states of each namespace, in the order of names.
fn rows<'w>(shapes: &'w [Shapes<'_>], occurrences: &Occurrences<'_>, jobs: usize) -> Vec<Row<'w>> {
    let of_state = |(state, shapes): (usize, &'w Shapes<'_>)| {
        shapes.namespaces.iter().map(move |(name, shape)| (name, state, shape))
    };
    let mut found: Vec<Found<'_>> = shapes.iter().enumerate().flat_map(of_state).collect();
    found.sort_unstable_by_key(|(name, state, _)| (*name, *state));
    let namespaces: Vec<&[Found<'_>]> = found.chunk_by(|(left, ..), (right, ..)| left == right).collect();
    let mut rows = Vec::with_capacity(namespaces.len());
    let work = |columns: &mut KnownColumns<'w>, position: usize| {
        namespaces.get(position).and_then(|found| row(found, shapes, occurrences, columns))
    };
    in_order(namespaces.len(), jobs, KnownColumns::new, work, |_, row: Option<Row<'w>>| {
        rows.extend(row);
        true
    });
    rows
}

/// Joins the states of one namespace.
fn row<'w>(
    found: &[Found<'w>],
    shapes: &'w [Shapes<'_>],
    occurrences: &Occurrences<'_>,
    columns: &mut KnownColumns<'w>,
) -> Option<Row<'w>> {
    let mut digest_of_column = |column: &'w str| match columns.iter().find(|(known, _)| *known == column) {
        Some((_, digest)) => *digest,
        None => {
            columns.push((column, digest_of_run(column)));
            digest_of_run(column)
        }
    };
    let name = found.first()?.0;
    let mut digests: Vec<Option<u128>> = vec![None; shapes.len()];
    let (mut named, mut joining) = (Vec::new(), vec![(NAME, &**name)]);
    for (_, position, shape) in found {
        let state = shapes.get(*position)?;
        digests.get_mut(*position).into_iter().for_each(|digest| *digest = Some(shape.digest));
        let names = state.joining_columns(shape);
        for (column, value) in state.columns_of(shape) {
            let column = digest_of_column(column);
            if occurrences.has(value) {
                named.push((column, value));
            }
            if names.contains(&column) {
                joining.push((column, value));
            }
        }
    }
    named.sort_unstable();
    named.dedup();
    joining.sort_unstable();
    joining.dedup();
    let is_apart = occurrences.has(name) || found.iter().any(|(.., shape)| shape.is_apart);
    Some(Row { name, class: digest_of_run(&digests), named, joining, is_apart })
}

/// Chooses the representatives; none where every namespace has to be compiled.
fn sample(rows: &[Row<'_>]) -> Option<NamespaceSample> {
    let uses = uses(rows);
    let colors = uses.iter().map(|(value, uses)| (*value, color_of_value(uses))).collect();
    let mut classes: HashMap<u128, Vec<usize>> = HashMap::new();
    for (position, row) in rows.iter().enumerate().filter(|(_, row)| !row.is_apart) {
        classes.entry(color(row, &colors)).or_default().push(position);
    }
    let mut is_kept = vec![true; rows.len()];
    let mut folded: Vec<(usize, Vec<usize>)> = Vec::new();
    for members in classes.into_values().filter(|members| members.len() >= FEWEST_MEMBERS) {
        let mut members = members.into_iter();
        let Some(first) = members.next() else { continue };
        let further: Vec<usize> = members.collect();
        further.iter().for_each(|position| set(&mut is_kept, *position, false));
        folded.push((first, further));
    }
    keep_sharers(rows, &uses, &mut is_kept)?;
    let mut sample = NamespaceSample::default();
    let name = |position: usize| rows.get(position).map(|row| Arc::clone(row.name));
    let is_left_out = |position: &usize| is_kept.get(*position) == Some(&false);
    for (first, further) in folded {
        let further: Vec<Arc<str>> = further.into_iter().filter(is_left_out).filter_map(name).collect();
        if let Some(first) = name(first).filter(|_| !further.is_empty()) {
            sample.add(first, further);
        }
    }
    Some(sample)
}

fn set(flags: &mut [bool], position: usize, value: bool) {
    if let Some(flag) = flags.get_mut(position) {
        *flag = value;
    }
}

/// Returns the uses of the values that several namespaces have.
fn uses<'w>(rows: &[Row<'w>]) -> HashMap<&'w str, Vec<ValueUse>> {
    let mut counts: HashMap<&str, usize> = HashMap::with_capacity(2 * rows.len());
    for (_, value) in rows.iter().flat_map(|row| &row.joining) {
        *counts.entry(value).or_default() += 1;
    }
    let mut uses: HashMap<&str, Vec<ValueUse>> = HashMap::new();
    for (position, row) in rows.iter().enumerate() {
        for &(column, value) in &row.joining {
            if counts.get(value).is_none_or(|count| *count < 2) {
                continue;
            }
            let known = uses.entry(value).or_default();
            match known.iter_mut().find(|known| (known.class, known.column) == (row.class, column)) {
                Some(known) => known.second = known.second.or(Some(position)),
                None => known.push(ValueUse { class: row.class, column, first: position, second: None }),
            }
        }
    }
    uses
}

/// Returns the same for values of the same classes.
fn color_of_value(uses: &[ValueUse]) -> u128 {
    let mut shared: Vec<(u128, u128)> = uses.iter().map(|used| (used.class, used.column)).collect();
    shared.sort_unstable();
    digest_of_run(&shared)
}

/// Returns the same for namespaces that can stand for each other. `colors` has the colors of the values of several namespaces.
fn color(row: &Row<'_>, colors: &HashMap<&str, u128>) -> u128 {
    let joined = row.joining.iter().map(|(column, value)| (*column, colors.get(value).copied()));
    digest_of_run(&(row.class, &row.named, joined.collect::<Vec<_>>()))
}

/// Keeps, for each value of a kept namespace, two namespaces of each class with the value, so that the sample joins them, too. Returns none where too many namespaces are necessary.
fn keep_sharers(rows: &[Row<'_>], uses: &HashMap<&str, Vec<ValueUse>>, is_kept: &mut [bool]) -> Option<()> {
    let mut queue: Vec<usize> = (0..rows.len()).filter(|position| is_kept.get(*position) == Some(&true)).collect();
    // How many kept namespaces of each class have each value in each column.
    let mut has: HashMap<(&str, u128, u128), usize> = HashMap::new();
    let joined = |position: usize| {
        let row = rows.get(position);
        row.into_iter().flat_map(|row| row.joining.iter().map(|(column, value)| (*value, row.class, *column)))
    };
    queue.iter().flat_map(|position| joined(*position)).for_each(|key| *has.entry(key).or_default() += 1);
    let mut added = 0;
    while let Some(position) = queue.pop() {
        for (value, ..) in joined(position) {
            for used in uses.get(value).into_iter().flatten() {
                let key = (value, used.class, used.column);
                for candidate in std::iter::once(used.first).chain(used.second) {
                    let is_enough = has.get(&key).is_some_and(|kept| *kept >= 2);
                    if is_enough || is_kept.get(candidate) == Some(&true) {
                        continue;
                    }
                    set(is_kept, candidate, true);
                    joined(candidate).for_each(|key| *has.entry(key).or_default() += 1);
                    queue.push(candidate);
                    added += 1;
                }
            }
        }
    }
    (added <= MAXIMUM_KEPT).then_some(())
}
