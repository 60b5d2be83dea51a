//! The classes of alike namespaces of one or two states: one namespace of each class stands for its class in a review, and in a
//! search for findings.
//!
//! Two namespaces are alike when their output files have the same shape in each state, on every target: the files differ only
//! in the name of the namespace and in the values of the account (see [`bailiwick_base::alike`]). Alike namespaces have the same effects
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
mod rows;
mod shapes;
mod spread;

use std::sync::Arc;

use bailiwick_compiler::compile;
use bailiwick_policy::model::{NamespaceSample, OutputFileKey, Target};
use bailiwick_workspace::Workspace;
use bailiwick_yaml::diag::RunError;
use bailiwick_yaml::digest::digest_of_run;
use hashbrown::{HashMap, HashSet};

use self::named::{InputTexts, computes_with_names, reads_annotations};
pub use self::output_check::OutputCheck;
use self::rows::{Rows, UsedValue};
pub(crate) use self::shapes::ShapeCollector;
use self::shapes::Shapes;
pub use self::spread::Spread;

/// The fewest namespaces of a target that are divided into classes: fewer are compiled as fast as they are divided.
const FEWEST_NAMESPACES: usize = 200;

/// The fewest members of a class with a representative. Of fewer members, each has a path of its own in a review.
const FEWEST_MEMBERS: usize = 50;

/// The most namespaces that are kept for the sake of shared values. All namespaces are compiled if more are necessary.
const MAXIMUM_KEPT: usize = 4_000;

/// The use of a value by the namespaces of a class in a column.
#[derive(Debug, Clone, Copy)]
struct ValueUse {
    class: u32,
    column: u32,
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
pub fn spread<'w>(
    base: Option<&'w Workspace>,
    head: &'w Workspace,
    check: Option<&OutputCheck<'_>>,
    asked: &[&str],
) -> Result<Spread<'w>, RunError> {
    let states: Vec<&Workspace> = base.into_iter().chain([head]).collect();
    let Some(files) = files_to_divide(&states) else { return Ok(Spread::default()) };
    let reads_annotations = reads_annotations(&states);
    let collector = || ShapeCollector::new(reads_annotations, files);
    // One state after the other: a compilation has all threads, and takes memory for every object of its state.
    let before = base.map(|base| Shapes::of(base, collector(), None)).transpose()?;
    let after = Shapes::of(head, collector(), check)?;
    match (before, after) {
        (None, Some(head)) => divided(vec![head], asked),
        (Some(Some(base)), Some(head)) => divided(vec![base, head], asked),
        _ => Ok(Spread::default()),
    }
}

/// Returns a collector of the shapes of the files of a state; none where every namespace has to be compiled.
pub(crate) fn collector(workspace: &Workspace) -> Option<ShapeCollector> {
    let states = [workspace];
    files_to_divide(&states).map(|files| ShapeCollector::new(reads_annotations(&states), files))
}

/// Returns the classes of the namespaces whose files were collected. The names in `asked` count as names of an input.
///
/// # Errors
/// When an input cannot be read.
pub(crate) fn spread_of<'w>(
    collected: &ShapeCollector,
    workspace: &'w Workspace,
    asked: &[&str],
) -> Result<Spread<'w>, RunError> {
    divided(vec![collected.take(workspace)], asked)
}

/// Returns the number of output files of a target with many namespaces; none if every namespace has to be compiled, because no target
/// has many or an expression computes with names.
fn files_to_divide(states: &[&Workspace]) -> Option<usize> {
    let targets =
        states.iter().flat_map(|state| state.project().workspace.targets.iter().map(move |target| (state, target)));
    let mut sizes = targets.map(|(state, target)| file_count(state, target));
    sizes.find(|size| *size >= FEWEST_NAMESPACES).filter(|_| !computes_with_names(states))
}

/// Returns the number of output files of a target. The digests of names take less room than the names.
fn file_count(workspace: &Workspace, target: &Target) -> usize {
    let mut files: HashSet<u128> = HashSet::new();
    let mut add = |file: OutputFileKey| _ = files.insert(digest_of_run(&file));
    compile::each_output_file(workspace.project(), target, &mut add);
    files.len()
}

/// Divides the namespaces of the states into classes.
fn divided<'w>(shapes: Vec<Shapes<'w>>, asked: &[&str]) -> Result<Spread<'w>, RunError> {
    let sample = {
        let inputs = InputTexts::read(&shapes, asked)?;
        sample(&Rows::new(&shapes, &inputs))
    };
    Ok(sample.map_or_else(Spread::default, |sample| Spread::new(sample, shapes)))
}

/// Chooses the representatives; none where every namespace has to be compiled.
fn sample(rows: &Rows<'_>) -> Option<NamespaceSample> {
    let uses = uses(rows);
    let colors = uses.iter().map(|(value, uses)| (*value, color_of_value(uses))).collect();
    let mut classes: HashMap<u128, Vec<usize>> = HashMap::new();
    for position in (0..rows.len()).filter(|position| !rows.is_apart(*position)) {
        classes.entry(color(rows, position, &colors)).or_default().push(position);
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
    let name = |position: usize| rows.name(position).map(Arc::clone);
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
fn uses(rows: &Rows<'_>) -> HashMap<u32, Vec<ValueUse>> {
    let mut is_used = vec![false; rows.value_count()];
    let mut is_shared = is_used.clone();
    for used in (0..rows.len()).flat_map(|position| rows.joining(position)) {
        let value = used.value as usize;
        let before = is_used.get(value) == Some(&true);
        set(if before { &mut is_shared } else { &mut is_used }, value, true);
    }
    let mut uses: HashMap<u32, Vec<ValueUse>> = HashMap::new();
    for position in 0..rows.len() {
        let class = rows.class(position);
        for &UsedValue { column, value, .. } in rows.joining(position) {
            if is_shared.get(value as usize) != Some(&true) {
                continue;
            }
            let known = uses.entry(value).or_default();
            match known.iter_mut().find(|known| (known.class, known.column) == (class, column)) {
                Some(known) => known.second = known.second.or(Some(position)),
                None => known.push(ValueUse { class, column, first: position, second: None }),
            }
        }
    }
    uses
}

/// Returns the same for values of the same classes.
fn color_of_value(uses: &[ValueUse]) -> u128 {
    let mut shared: Vec<(u32, u32)> = uses.iter().map(|used| (used.class, used.column)).collect();
    shared.sort_unstable();
    digest_of_run(&shared)
}

/// Returns the same for namespaces that can stand for each other. `colors` has the colors of the values of several namespaces.
fn color(rows: &Rows<'_>, position: usize, colors: &HashMap<u32, u128>) -> u128 {
    let named: Vec<(u32, u32)> = rows.named(position).map(|used| (used.column, used.value)).collect();
    let joined = rows.joining(position).map(|used| (used.column, colors.get(&used.value).copied()));
    digest_of_run(&(rows.class(position), named, joined.collect::<Vec<_>>()))
}

/// Keeps, for each value of a kept namespace, two namespaces of each class with the value, so that the sample joins them, too. Returns none where too many namespaces are necessary.
fn keep_sharers(rows: &Rows<'_>, uses: &HashMap<u32, Vec<ValueUse>>, is_kept: &mut [bool]) -> Option<()> {
    let mut queue: Vec<usize> = (0..rows.len()).filter(|position| is_kept.get(*position) == Some(&true)).collect();
    // How many kept namespaces of each class have each value in each column.
    let mut has: HashMap<(u32, u32, u32), usize> = HashMap::new();
    let joined = |position: usize| {
        let class = rows.class(position);
        rows.joining(position).map(move |used| (used.value, class, used.column))
    };
    queue.iter().flat_map(|position| joined(*position)).for_each(|key| *has.entry(key).or_default() += 1);
    let mut added = 0;
    while let Some(position) = queue.pop() {
        for (value, ..) in joined(position) {
            for used in uses.get(&value).into_iter().flatten() {
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
