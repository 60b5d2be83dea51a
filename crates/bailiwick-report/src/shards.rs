//! A move of the files of namespaces to another number of folders, in words.

use bailiwick_adopt::{ShardMigration, ShardStep};

use super::human::{grouped, number};
use super::page::Page;
use super::result::CommandResult;

impl CommandResult for ShardMigration {
    const NAME: &'static str = "migrate-shards";
}

/// Describes the steps of a move, and which of them is next.
pub fn text(migration: &ShardMigration) -> String {
    let mut page = Page::new();
    let folders = |count: u32| number(count as usize, "folder");
    for target in &migration.targets {
        let namespaces = number(target.namespaces, "namespace");
        let from = migration.from.map_or_else(|| "one folder without shards".to_owned(), folders);
        let (moving, to) = (grouped(target.moving), folders(migration.to));
        writeln!(page, "{}: {moving} of {namespaces} move from {from} to {to}", target.target);
    }
    if migration.next == ShardStep::Done {
        writeln!(page, "nothing to do: the workspace has {}, and the appliers prune", folders(migration.to));
        return page.finish();
    }
    let steps = [
        (ShardStep::StopPruning, "write `prune: false` under `spec.delivery`".to_owned()),
        (ShardStep::Move, format!("write `layout: {{shards: {}}}` under `spec`", migration.to)),
        (ShardStep::PruneAgain, "remove `prune: false`".to_owned()),
    ];
    for (position, (step, edit)) in steps.iter().enumerate() {
        let state = match step.cmp(&migration.next) {
            std::cmp::Ordering::Less => " (done)",
            std::cmp::Ordering::Equal => " (next)",
            std::cmp::Ordering::Greater => "",
        };
        writeln!(page, "{}. {edit}, run `bailiwick render`, and commit{state}", position + 1);
    }
    page.push_str(
        "before each further step, wait until every Application is Synced, or every Kustomization is Ready\n",
    );
    page.finish()
}
