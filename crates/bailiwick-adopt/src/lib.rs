#![doc = include_str!("../README.md")]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "unit tests read and write files of their own"))]

mod import;
mod least;
mod migrate;
pub mod psp_policies;

pub use import::{AccessComparison, Import, ImportOptions, ImportSource, ImportedTarget, ListedObject, import};
pub use least::{
    LeastGrants, LeastOptions, LeastProof, LeastSet, LeftOutSubject, LostRights, NeededGrant, least_grants,
};
pub use migrate::{
    ConstraintsVerification, KubeletInventory, MovingTarget, PodDump, PodRejection, PodVerification,
    PodVerificationOptions, PspMigration, PspMigrationOptions, RefusedPods, ShardMigration, ShardStep, migrate_psp,
    shard_migration, verify_pods,
};
