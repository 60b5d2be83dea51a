//! Types of policies: their texts, their links and the objects that they produce.
//!
//! [`Target`] is a cluster to compile for, [`Pattern`] a text with variables, [`Blueprint`] data with patterns in it,
//! [`Data`] plain data, and [`Unit`] the identity and data of one object before rendering. A policy kind implements
//! [`Kind`]; the kinds themselves are in `kinds`.

mod access_check;
mod approval_rule;
mod blueprint;
mod cluster_pod_security;
mod common_metadata;
mod condition;
mod data;
mod delivery;
mod drift;
mod effect;
mod expiry;
mod facts;
mod guard;
mod kind;
mod known;
mod linked;
mod linker;
mod made;
mod node_access;
mod part;
mod pattern;
mod pod_security_stage;
mod power;
mod profile_accounts;
mod repetition;
mod requirements;
mod sample;
mod severities;
mod target;
mod template_inputs;
mod template_name;
mod texts;
mod unit;
mod variables;
mod workspace;

pub use access_check::{AccessCheck, Expectation, PathCheck, Tested};
pub use approval_rule::{ApprovalCondition, ApprovalRule, Approver, GainedPermissions, ResourcePattern};
pub use bailiwick_kubernetes::date::{Date, DateError};
pub use blueprint::{Blueprint, NumberOrVariable};
pub use cluster_pod_security::{ClusterPodSecurity, DefaultLevels, PodSecurityExemptions};
pub use common_metadata::{COMMON_METADATA, CommonMetadata, CommonMetadataSpec, MadeFor};
pub use condition::{Condition, ConditionFailure, ConditionScope, targets_of_item};
pub use data::Data;
pub use delivery::{
    ArgocdDelivery, ArgocdForm, DeliverySpec, Destination, FluxDelivery, FluxSourceKind, MOST_OBJECTS, OnRemoval,
    TargetDelivery, TargetDeliverySpec, WorkspaceDelivery,
};
pub use drift::{AcceptedObject, AcceptedObjectSpec, AcceptedRole, DifferingObject, DriftSpec};
pub use effect::{EffectSeverity, HazardKind};
pub use expiry::{ExpirySettings, ExpirySpec, Validity};
pub use facts::{
    AnalyzedManifest, DeclaredProfile, ExistingObjects, ExpandedSet, Expiry, Fact, ForeignDocuments, GroupMembers,
    InstalledManager, InstalledProvider, InstalledStack, NamespaceProfile, PolicyFacts, TenancyGrant, TenancyGrants,
    TermLimit, UnreadAccounts, WrittenManifests, WrittenNamespaces, grant_words,
};
pub use guard::{GuardedKind, GuardedTarget, PlatformWriter};
pub use kind::{
    Contribution, DependentPolicy, Kind, KnownNamespace, LabelMap, Namespaces, Patterns, Policy, PolicyMeta,
    PolicyNamespace, RawDocument, Surroundings, TenancyPolicy, TenantPart, account_variables, check_pattern,
    check_patterns,
};
pub use known::{
    Category, DeclaredNames, KnownEntry, KnownFile, KnownSpec, Mention, MentionedBy, Mentions, NameSet,
    always_known_names, deciding_name, is_always_known, is_invisible, subjects,
};
pub use linked::{
    PermissionSet, PermissionSetParts, PodSecurityProfile, PodSecurityProfileParts, ProfileDefaults, RoleObjectKind,
};
pub use linker::{Linker, Offer, Offers, Shared};
pub use made::MadeForAccounts;
pub use node_access::{ApiServerSettings, Isolation, NodePool, PlacedAgent};
pub use part::Part;
pub use pattern::{BoundValue, Fill, NAMESPACE_MAPS, NAMESPACE_NAME, OWN_NAMESPACE, Pattern, PatternError, Piece};
pub use pod_security_stage::PodSecurityStage;
pub use power::{PowerError, PowerPattern};
pub use profile_accounts::ProfileAccounts;
pub use repetition::{Loop, Repetition};
pub use requirements::{GrantRequirement, GrantTerms, RequiredField, RequirementSpec, SelectingKey};
pub use sample::NamespaceSample;
pub use severities::{DiagnosticSetting, DiagnosticSettings};
pub use target::{AppliedBy, Enforcement, Features, LabelSync, Platform, Target, TargetVariables, Version};
pub use template_inputs::{TEMPLATE_INPUTS, UnitSource};
pub use template_name::{TemplateName, WorkspaceTemplates};
pub use texts::shared_text;
pub use unit::{ObjectBlueprint, ObjectId, OutputFileKey, TypeMeta, Unit};
pub use variables::{
    Account, AccountTargets, AccountValue, Accounts, NamespaceVariables, POLICY_VARIABLES, Variable, VariableScope,
    VariableType, Variables, declared,
};
pub use workspace::{OutputForm, RawTarget, RawWorkspace, WorkspaceSettings, WorkspaceSpec};
