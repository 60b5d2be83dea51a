//! Declared names: reads `spec.known`, and checks the names that policies mention.
//!
//! The check is one pass over the linked policies, before anything is compiled. It fills in the variables of targets and
//! accounts itself, so that the way in which objects are made afterwards has no influence on it.

use std::cell::{Cell, OnceCell};
use std::collections::HashSet;
use std::sync::Arc;

use bailiwick_admission::scc::bootstrap;
use bailiwick_codes as codes;
use bailiwick_kubernetes::{default_policy, list};
use bailiwick_policy::kinds::Findings;
use bailiwick_policy::model::{
    Account, Category, DeclaredNames, Fill, KnownEntry, KnownFile, KnownSpec, Mention, MentionedBy, Mentions, NameSet,
    OutputFileKey, Policy, PolicyFacts, Target, always_known_names, deciding_name, is_always_known, is_invisible,
    subjects,
};
use bailiwick_policy::source::{Sources, cell_place, glob, read_names};
use bailiwick_yaml::diag::{Diagnostic, Files, Origin, Sink, nearest};
use bailiwick_yaml::{Spanned, Tree};
use globset::GlobSetBuilder;

/// Characters that make a text a glob, and the escape character.
const GLOB_CHARACTERS: [char; 6] = ['*', '?', '[', ']', '{', '\\'];

/// Reads the declared names into the targets: `common` into each of them, and `own` by their names.
pub(super) fn declare(
    targets: &mut [Target],
    common: &KnownSpec,
    own: &[(String, KnownSpec)],
    sources: &mut Sources,
    sink: &mut Sink,
) {
    let mut known = DeclaredNames::default();
    read(common, &mut known, sources, sink);
    for target in targets {
        target.known = known.clone();
        if let Some((_, own)) = own.iter().find(|(name, _)| *name == target.name) {
            read(own, &mut target.known, sources, sink);
        }
    }
}

fn read(spec: &KnownSpec, known: &mut DeclaredNames, sources: &mut Sources, sink: &mut Sink) {
    for category in Category::ALL {
        if let Some(entries) = spec.entries(category) {
            known.state(category, Arc::new(read_entries(entries, sources, sink)));
        }
    }
}

fn read_entries(entries: &[Spanned<KnownEntry>], sources: &mut Sources, sink: &mut Sink) -> NameSet {
    let mut globs = GlobSetBuilder::new();
    let (mut patterns, mut names) = (Vec::new(), Vec::new());
    let mut written: Vec<(Box<str>, Origin)> = Vec::with_capacity(entries.len());
    for entry in entries {
        let (KnownEntry::Glob(text) | KnownEntry::File(KnownFile { file: text })) = &entry.value;
        written.push((text.as_str().into(), entry.origin));
        match &entry.value {
            KnownEntry::File(file) => read_file(&file.file, entry.origin, sources, &mut names, sink),
            KnownEntry::Glob(text) if !text.contains(GLOB_CHARACTERS) => {
                add_name(text, entry.origin, &mut names, sink);
            }
            KnownEntry::Glob(text) => match glob::compile(text, false) {
                Ok(glob) => {
                    globs.add(glob);
                    patterns.push(text.as_str().into());
                }
                Err(error) => sink.push(
                    Diagnostic::error(codes::INVALID_WORKSPACE, format!("`{text}` is not a glob: {error}"))
                        .at(entry.origin)
                        .help("`*` matches any text; close every `[` and `{`"),
                ),
            },
        }
    }
    NameSet::new(globs.build().unwrap_or_default(), patterns, names, written)
}

fn read_file(written: &str, asked: Origin, sources: &mut Sources, names: &mut Vec<Box<str>>, sink: &mut Sink) {
    let Some(path) = Sources::resolve(super::WORKSPACE_FILE, written) else {
        sink.push(
            Diagnostic::error(codes::PATH_OUTSIDE, format!("`{written}` leaves the workspace"))
                .at(asked)
                .help("use a file below the root of the workspace"),
        );
        return;
    };
    let before = sink.len();
    let missing = |message: String| {
        Diagnostic::error(codes::MISSING_FILE, message)
            .at(asked)
            .help("write the path relative to the root of the workspace")
    };
    match sources.passing_text(&path, Some(asked), sink) {
        Ok(Some((file, text))) => {
            read_names(file, &text, path.ends_with(".csv"), sink, &mut |name, origin, sink| {
                add_name(name, origin, names, sink);
            });
        }
        Ok(None) if sink.len() > before => {}
        Ok(None) => sink.push(missing(format!("there is no file `{path}`"))),
        Err(error) => sink.push(missing(error.message)),
    }
}

fn add_name(name: &str, origin: Origin, names: &mut Vec<Box<str>>, sink: &mut Sink) {
    if !name.is_empty() && !name.contains(is_invisible) {
        names.push(name.into());
        return;
    }
    let message = if name.is_empty() { "this name is empty" } else { "this name contains an invisible character" };
    sink.push(
        Diagnostic::error(codes::INVALID_WORKSPACE, message).at(origin).help("use only visible characters in the name"),
    );
}

/// The workspace, as far as it decides which names are known.
pub(super) struct Surroundings<'c> {
    /// Every policy.
    pub policies: &'c [Box<dyn Policy>],
    /// The facts of policies, with the names that they mention.
    pub facts: &'c PolicyFacts,
    /// The targets of the workspace file, in its order.
    pub targets: &'c [Target],
    /// The objects of targets beside the output, by target.
    pub baselines: &'c std::collections::BTreeMap<String, Vec<Tree>>,
    /// The texts, for the places of cells.
    pub files: &'c Files,
    /// Whether an account could not be read.
    pub lacks_accounts: bool,
}

/// Checks every name that a policy mentions, on every target of the policy, with the values of every account.
pub(super) fn check(surroundings: &Surroundings<'_>, sink: &mut Sink) {
    let targets: Vec<OnTarget<'_>> =
        surroundings.targets.iter().map(|target| OnTarget::new(target, surroundings)).collect();
    for mentions in surroundings.facts.all::<Mentions>() {
        if !matches!(mentions.by, MentionedBy::Grant | MentionedBy::Test) {
            continue;
        }
        let on: Vec<&OnTarget<'_>> =
            targets.iter().filter(|on| mentions.meta.targets.contains(&on.target.name)).collect();
        let mut findings = Findings::new(on.len());
        for mention in &mentions.names {
            for on in &on {
                each_text(mentions, mention, on.target, &mut |text, account| {
                    let found = on.judge(mention.category, text, mentions.by);
                    if let Some(diagnostic) = found {
                        findings.add(on.target, placed(diagnostic, mention, account, surroundings.files));
                    }
                });
            }
        }
        findings.tell(sink);
    }
}

/// Visits the texts of a mention on a target: for every account of the target whose values the mention needs, or without an account.
fn each_text<'m>(
    mentions: &'m Mentions,
    mention: &Mention,
    target: &Target,
    visit: &mut dyn FnMut(&str, Option<Account<'m>>),
) {
    let accounts = || mentions.accounts.on(&target.name).map(|(_, account)| account);
    if mention.text.needs_account() {
        for account in accounts() {
            mention.each_text(Fill::from_account(target, account), &mut |text| visit(text, Some(account)));
        }
    } else if mention.repeated.is_empty() {
        mention.each_text(Fill::from_target(target), &mut |text| visit(text, None));
    } else {
        // The text is the same for every account with the item.
        let mut found = None;
        for account in accounts() {
            mention.each_text(Fill::from_account(target, account), &mut |text| found = Some(text.to_owned()));
            if let Some(text) = &found {
                return visit(text, None);
            }
        }
    }
}

/// Points a diagnostic at the cell of the account that brings the name, or at the policy.
fn placed(diagnostic: Diagnostic, mention: &Mention, account: Option<Account<'_>>, files: &Files) -> Diagnostic {
    let Some(account) = account else { return diagnostic.at(mention.origin) };
    let mut columns = mention.text.account_variables();
    let cell = match (columns.next(), columns.next()) {
        (Some(column), None) => cell_place(files, account.origin(), &column),
        _ => None,
    };
    diagnostic.at(cell.unwrap_or(account.origin())).and(mention.origin, "this name contains the value")
}

/// How many names are compared for near misses on one target: an attacker chooses both lists.
const MAXIMUM_COMPARED: usize = 1_000_000;

/// A target, with the names that are known there.
struct OnTarget<'c> {
    target: &'c Target,
    surroundings: &'c Surroundings<'c>,
    made: OnceCell<Names>,
    named: OnceCell<Names>,
    compared: Cell<usize>,
}

/// Names by category.
#[derive(Default)]
struct Names {
    namespaces: HashSet<Arc<str>>,
    users: HashSet<Arc<str>>,
    groups: HashSet<Arc<str>>,
}

impl Names {
    fn of_category(&self, category: Category) -> Option<&HashSet<Arc<str>>> {
        match category {
            Category::Users => Some(&self.users),
            Category::Groups => Some(&self.groups),
            Category::Namespaces => Some(&self.namespaces),
            Category::ClusterRoles | Category::Roles => None,
        }
    }

    fn has(&self, category: Category, name: &str) -> bool {
        self.of_category(category).is_some_and(|names| names.contains(name))
    }

    /// Adds a subject or a namespace; a service account is its namespace.
    fn add(&mut self, category: Category, name: &str) {
        let (category, name) = deciding_name(category, name);
        let names = match category {
            Category::Users => &mut self.users,
            Category::Groups => &mut self.groups,
            Category::Namespaces => &mut self.namespaces,
            Category::ClusterRoles | Category::Roles => return,
        };
        if !names.contains(name) {
            names.insert(name.into());
        }
    }
}

impl<'c> OnTarget<'c> {
    fn new(target: &'c Target, surroundings: &'c Surroundings<'c>) -> Self {
        Self { target, surroundings, made: OnceCell::new(), named: OnceCell::new(), compared: Cell::new(0) }
    }

    /// Returns what is wrong with a name, without a place.
    fn judge(&self, subject: Category, written: &str, by: MentionedBy) -> Option<Diagnostic> {
        let (category, name) = deciding_name(subject, written);
        let is_closed = self.target.known.is_closed(category);
        // Most of a million accounts have names without a finding.
        let is_open = !is_closed && by == MentionedBy::Grant && category != Category::Namespaces;
        // An empty name is an invalid object, which is reported as one. A service account may be declared as itself.
        let is_known = || self.knows(category, name) || self.target.known.lists(subject, written);
        // The name may be of an account that could not be read.
        let is_uncertain = self.surroundings.lacks_accounts && (!is_closed || category == Category::Namespaces);
        if name.is_empty() || is_open || is_uncertain || is_known() {
            return None;
        }
        let code = if category == Category::Namespaces { codes::UNKNOWN_NAMESPACE } else { codes::UNKNOWN_SUBJECT };
        let noun = category.noun();
        if is_closed {
            let field = format!("`spec.known.{}` of {}", category.field(), super::WORKSPACE_FILE);
            let help = match self.near(category, name) {
                Some(near) => format!("did you mean `{near}`? names are declared in {field}"),
                None => format!("declare it in {field}"),
            };
            return Some(Diagnostic::error(code, format!("the {noun} `{name}` is not declared")).help(help));
        }
        let near = (category == Category::Namespaces).then(|| self.one_edit_away(category, name)).flatten();
        if let Some(near) = near {
            let message = format!("no policy creates the namespace `{name}`, and a namespace `{near}` exists");
            let help = format!("did you mean `{near}`? `spec.known.namespaces` declares namespaces from elsewhere");
            return Some(Diagnostic::warning(code, message).help(help));
        }
        (by == MentionedBy::Test && !self.names(category, name)).then(|| {
            let message = format!("no policy and no manifest names the {noun} `{name}`");
            let help = match self.near(category, name) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("correct the name, or declare it in `spec.known.{}`", category.field()),
            };
            Diagnostic::warning(code, message).note("a `mustNot` with such a name cannot fail").help(help)
        })
    }

    fn knows(&self, category: Category, name: &str) -> bool {
        is_always_known(category, name, self.target.platform)
            || self.target.known.declares(category, name)
            || self.made().has(category, name)
    }

    /// Whether a policy that is no test, or a manifest, names it.
    fn names(&self, category: Category, name: &str) -> bool {
        self.named.get_or_init(|| self.collect_named()).has(category, name)
    }

    /// Returns the names that policies and manifests make.
    fn made(&self) -> &Names {
        self.made.get_or_init(|| {
            let mut made = Names::default();
            for policy in self.policies() {
                policy.namespaces(self.target, &mut |name, _| {
                    made.namespaces.insert(Arc::clone(name));
                });
            }
            self.each_mention(&[MentionedBy::Made], &mut |category, name| made.add(category, name));
            made
        })
    }

    fn collect_named(&self) -> Names {
        let mut named = Names::default();
        for policy in self.policies() {
            policy.contributions(self.target, &mut |output_file, _| {
                if let OutputFileKey::Namespace(name) = output_file {
                    named.namespaces.insert(name);
                }
            });
        }
        let by = [MentionedBy::Grant, MentionedBy::Manifest];
        self.each_mention(&by, &mut |category, name| named.add(category, name));
        if let Some(applier) = &self.target.applied_by {
            named.add(Category::Users, &applier.user);
            applier.groups.iter().for_each(|group| named.add(Category::Groups, group));
        }
        let of_platform = self.target.version.release().into_iter().flat_map(bootstrap::objects);
        for object in default_policy::objects(self.target.version.minor()).chain(of_platform) {
            subjects(object).for_each(|(category, name)| named.add(category, name));
        }
        let baseline = self.surroundings.baselines.get(&self.target.name);
        for object in baseline.into_iter().flatten().flat_map(Tree::documents).flat_map(list::objects) {
            subjects(object).for_each(|(category, name)| named.add(category, name));
        }
        named
    }

    fn policies(&self) -> impl Iterator<Item = &'c dyn Policy> {
        let policies = self.surroundings.policies.iter().map(|policy| &**policy);
        policies.filter(|policy| policy.meta().targets.contains(&self.target.name))
    }

    /// Visits the names that are mentioned on this target, with their variables filled in.
    fn each_mention(&self, by: &[MentionedBy], visit: &mut dyn FnMut(Category, &str)) {
        let is_by = |mentions: &&Mentions| by.contains(&mentions.by);
        for mentions in self.surroundings.facts.on(&self.target.name).filter(is_by) {
            for mention in &mentions.names {
                each_text(mentions, mention, self.target, &mut |text, _| visit(mention.category, text));
            }
        }
    }

    /// Returns the known name that was probably meant; none when that would take too long.
    fn near(&self, category: Category, name: &str) -> Option<String> {
        let candidates = || self.known_names(category);
        if !self.spend(name.len() * EDITS_OF_A_LETTER) {
            return None;
        }
        self.one_edit_away(category, name).or_else(|| {
            let nearest = self.spend(candidates().count()).then(|| nearest(name, candidates()));
            nearest.flatten().map(str::to_owned)
        })
    }

    /// Returns the names of a category that are known one by one, and not by a glob.
    fn known_names(&self, category: Category) -> impl Iterator<Item = &str> {
        let made = self.made().of_category(category).into_iter().flatten().map(|name| -> &str { name });
        let of_platform = always_known_names(category, self.target.platform).map(|name| -> &str { name });
        self.target.known.names(category).chain(made).chain(of_platform)
    }

    /// Whether so many comparisons may still be made; they then count as made.
    fn spend(&self, comparisons: usize) -> bool {
        let compared = self.compared.get().saturating_add(comparisons);
        let may = compared <= MAXIMUM_COMPARED;
        if may {
            self.compared.set(compared);
        }
        may
    }

    /// Returns a known name that one letter more, less, or another one, or two letters swapped, make of a name. The cost has a limit
    /// however many names there are: a few known names are compared one by one, and of many every such name is looked up.
    fn one_edit_away(&self, category: Category, name: &str) -> Option<String> {
        /// The most characters of a name that is looked at: twice as many as a namespace can have.
        const LONGEST: usize = 126;
        let letters: Vec<char> = name.chars().take(LONGEST + 1).collect();
        if letters.len() > LONGEST {
            return None;
        }
        let edits_of_name = letters.len() * EDITS_OF_A_LETTER;
        let are_few = self.known_names(category).nth(edits_of_name).is_none();
        if are_few && !self.known_names(category).any(|known| is_edit(&letters, known)) {
            return None;
        }
        let (known, made) = (&self.target.known, self.made());
        edits(&letters).find(|candidate| {
            made.has(category, candidate)
                || always_known_names(category, self.target.platform).any(|name| name == candidate)
                || known.lists(category, candidate)
        })
    }
}

/// Whether one edit of [`edits`], with letters of any alphabet, makes another text of a text.
fn is_edit(letters: &[char], other: &str) -> bool {
    // A character has at most four bytes.
    if other.len() + 1 < letters.len() || other.len() > 4 * (letters.len() + 1) {
        return false;
    }
    let other: Vec<char> = other.chars().collect();
    let same = letters.iter().zip(&other).take_while(|(own, other)| own == other).count();
    let (own, other) = (letters.get(same..), other.get(same..));
    let (own, other) = (own.map_or(&[][..], |own| own), other.map_or(&[][..], |other| other));
    match (own, other) {
        ([_, own @ ..], _) if own == other => true,
        (_, [_, other @ ..]) if own == other => true,
        ([_, own @ ..], [_, other @ ..]) if own == other => true,
        ([first, second, own @ ..], [third, fourth, other @ ..]) => first == fourth && second == third && own == other,
        _ => false,
    }
}

/// About how many edits [`edits`] makes for each letter.
const EDITS_OF_A_LETTER: usize = 2 * 37 + 2;

/// Returns every text that is one edit away from another one, in letters that namespaces have.
fn edits(letters: &[char]) -> impl Iterator<Item = String> {
    let alphabet = || ('a'..='z').chain('0'..='9').chain(['-']);
    let join = |before: &[char], between: &[char], after: &[char]| -> String {
        before.iter().chain(between).chain(after).collect()
    };
    (0..=letters.len()).filter_map(|at| letters.split_at_checked(at)).flat_map(move |(before, after)| {
        let rest = after.get(1..);
        let deleted = rest.map(|rest| join(before, &[], rest));
        let swapped = match after {
            [first, second, rest @ ..] => Some(join(before, &[*second, *first], rest)),
            _ => None,
        };
        let replaced =
            rest.into_iter().flat_map(move |rest| alphabet().map(move |letter| join(before, &[letter], rest)));
        let inserted = alphabet().map(move |letter| join(before, &[letter], after));
        deleted.into_iter().chain(swapped).chain(replaced).chain(inserted)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_single_edit_is_tried() {
        let letters: Vec<char> = "team-aa".chars().collect();
        let found: HashSet<String> = edits(&letters).collect();
        for near in ["team-a", "tema-aa", "team-ab", "team-aab", "xteam-aa", "eam-aa"] {
            assert!(found.contains(near), "{near}");
        }
        assert!(!found.contains("team-") && !found.contains("team-bb"));
        assert!(found.iter().all(|near| is_edit(&letters, near) || near == "team-aa"));
        for far in ["team-", "team-bb", "", "aa", "team-aaaa", "maet-aa", "team-aa-team-aa"] {
            assert!(!is_edit(&letters, far), "{far}");
        }
        assert!(found.len() <= 1 + 7 + 6 + 7 * 37 + 8 * 37);
    }
}
