//! Reviews a change: what it grants, where that leads, and proof when it has no effect.

mod approvals;
mod record;

pub use self::approvals::{ApprovableEffect, GainedPermission, have_rules_changed};
pub use self::record::{
    API_VERSION, AcceptedWarning, AccessChange, AccountChanges, ApplierChange, ApprovalState, Cause, CauseKind,
    ChangeReview, ComparedSection, Direction, EffectChange, EffectSeverity, FailedTest, FindingChanges, GroundChange,
    GroundKind, Hazard, HazardKind, LifetimeChange, Member, NeededApproval, NodeChange, ObjectChanges, ObjectShape,
    PathChange, PathChangeKind, PodChange, PodChangeKind, RemovedExpectation, ReviewedBase, ReviewedFinding,
    ReviewedHead, ReviewedStep, Scope, Side, SmallerChange, SubjectClass, TestChanges, Verdict,
};
