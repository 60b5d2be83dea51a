#![doc = include_str!("../README.md")]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "unit tests read and write files of their own"))]

pub mod delivery;
mod diagnostics;
mod error;
mod expire;
pub mod file_format;
pub mod fingerprint;
pub mod folded;
pub mod identity_key;
pub mod judged_files;
mod judged_tree;
pub mod kept_files;
pub mod left_behind;
mod options;
pub mod output;
mod pack;
pub mod part_files;
pub mod removal;
mod render;
pub mod review_base;
mod revision_source;
pub mod shard;
mod shard_moves;
mod steered;
pub mod target_changes;
mod unchecked;
pub mod unclaimed;
pub mod words;
pub mod workspace;
pub mod workspace_files;
mod workspaces_below;

pub use diagnostics::{Diagnostics, FindingRecord, RelatedRange, SourceRange};
pub use error::Error;
pub use expire::{MovedDay, expire};
pub use judged_files::{JudgedTree, TreeOptions, is_in_repository, is_in_work_tree};
pub use judged_tree::uncommitted_inputs;
pub use left_behind::NotJudged;
pub use options::{Event, Listener, Options};
pub use pack::{PackOptions, Packed, pack};
pub use removal::Consent;
pub use render::{CompiledFile, CompiledFiles, RenderOptions, StagedOutput, WrittenOutput};
pub use review_base::{BaseRevision, ReviewBase, ReviewedBase};
pub use shard::{Command as ShardCommand, Shard};
pub use unchecked::{PartlyChecked, partly_checked};
pub use workspace::{Workspace, target_names};
pub use workspaces_below::FoundWorkspace;
