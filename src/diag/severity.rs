//! Which codes a workspace may give another severity.

use super::Code;

impl Code {
    /// Whether a diagnostic of this code is, or can be, a warning.
    pub fn is_warning(self) -> bool {
        self.is_finding()
            || matches!(
                self,
                Code::UnusedPolicy
                    | Code::UnknownTemplate
                    | Code::UnresolvedReference
                    | Code::SeccompSpelling
                    | Code::CapabilitySpelling
                    | Code::DefaultAddNotCounted
                    | Code::SccPriorityHijack
                    | Code::SccUsersOrGroups
                    | Code::DanglingScc
                    | Code::GrantsEveryScc
                    | Code::UserSubjectInvisible
                    | Code::LabelsNotComputable
                    | Code::DeclaredEnforceStricter
                    | Code::SyncTrueConflict
                    | Code::OptedOutWithoutEnforce
                    | Code::RedundantDeclaredLabel
                    | Code::SccAnnotationsIncomplete
                    | Code::PinnedEnforceVersion
                    | Code::DuplicateUidRange
                    | Code::UidRangeAtZero
                    | Code::ExemptNamespaceLabelled
                    | Code::OpenshiftPrefixNotSynced
                    | Code::RunLevelBypass
                    | Code::RefusedByLevel
                    | Code::RefusedByPolicies
                    | Code::RefusedByConstraints
                    | Code::RefusedByProfile
                    | Code::AllowedHostPathsWithoutVolume
                    | Code::HostPathWithoutPaths
                    | Code::GroupRangeWithRoot
                    | Code::BindsProfileToEveryone
                    | Code::UnservedResource
                    | Code::DeadVerb
                    | Code::DeadUrl
                    | Code::ClusterScopedPath
                    | Code::AggregatesEverything
                    | Code::GrantExpired
                    | Code::SelectsNoNamespace
                    | Code::DeleteCollectionForTenants
                    | Code::DependsOnGroupWildcard
                    | Code::DependsOnNotAPluralResource
                    | Code::DependsOnInstaller
                    | Code::DependsOnSecurityGroup
                    | Code::DependencyNotProvided
                    | Code::CrdMultipleVersions
                    | Code::StackReadsEverySecret
                    | Code::StackReachesOut
                    | Code::StackBesidePrivileged
                    | Code::StackManagerCannotInstall
                    | Code::FamilyOfAnother
                    | Code::ApplierCannotApply
                    | Code::AggregatedRoleWithRules
                    | Code::AggregationRing
                    | Code::MassRecreate
                    | Code::ImmutableRoleRef
                    | Code::AgentRelabelsNode
                    | Code::AgentScopeBypassed
                    | Code::AgentCanBeImpersonated
                    | Code::StaleNodesBinding
                    | Code::SystemNodeDrift
                    | Code::StaticPodRefersToObjects
                    | Code::StaticPodInvalid
                    | Code::SteerableSelector
            )
    }

    /// Whether it is that of a risk rule of `lint`, whose findings have severities of their own.
    pub fn is_finding(self) -> bool {
        matches!(
            self,
            Code::DanglingRole
                | Code::FullAuthority
                | Code::EscalateRoles
                | Code::BindRoles
                | Code::ImpersonateUsers
                | Code::ImpersonateGroups
                | Code::ImpersonateAccounts
                | Code::ImpersonateExtras
                | Code::ConstrainedImpersonation
                | Code::IssueTokens
                | Code::TokenThroughSecret
                | Code::ApproveCertificates
                | Code::SignCertificates
                | Code::WriteRoles
                | Code::WriteBindings
                | Code::DeleteRoles
                | Code::AggregatedIntoDefaultRole
                | Code::UsePrivilegedPolicy
                | Code::WritePodPolicies
                | Code::DriveGitops
                | Code::DriveInstaller
                | Code::ReadSecrets
                | Code::ListSecrets
                | Code::ChangeSecrets
                | Code::ReadConfigMaps
                | Code::WriteConfigMaps
                | Code::ReadLogs
                | Code::ReadEverything
                | Code::DeleteEvents
                | Code::CreatePods
                | Code::ChangeWorkloads
                | Code::ChangePods
                | Code::ExecIntoPods
                | Code::AttachToPods
                | Code::ReachPorts
                | Code::EphemeralContainers
                | Code::EvictPods
                | Code::StealPods
                | Code::ChangePodStatus
                | Code::PlacePods
                | Code::Scale
                | Code::WriteAccounts
                | Code::KubeletApi
                | Code::ChangeNodes
                | Code::ChangeNodeStatus
                | Code::KubeletDetails
                | Code::AdmissionWebhooks
                | Code::AdmissionPolicies
                | Code::PolicyEngines
                | Code::ApiServices
                | Code::CustomResourceDefinitions
                | Code::PersistentVolumes
                | Code::StoragePlumbing
                | Code::RuntimeAndPriorityClasses
                | Code::FlowControl
                | Code::ControlPlaneLeases
                | Code::NamespaceLabels
                | Code::DeleteNamespaces
                | Code::ReviewAccess
                | Code::ReadRbac
                | Code::SensitiveUrls
                | Code::ControlPlaneSnapshots
                | Code::WriteServices
                | Code::ChangeServiceStatus
                | Code::WriteNetworkPolicies
                | Code::WriteIngress
                | Code::AnonymousSubject
                | Code::EverybodySubject
                | Code::AllAccountsSubject
                | Code::MastersSubject
                | Code::ClusterAdminBinding
                | Code::DefaultAccountBound
                | Code::NeedlesslyClusterWide
                | Code::BindingWithoutSubjects
                | Code::ForeignAccount
                | Code::Wildcard
                | Code::SlashStarResource
                | Code::GlobInNames
                | Code::NamedCreate
                | Code::ClusterScopedInNamespace
                | Code::UrlInNamespace
                | Code::BindOnBindings
                | Code::ImpersonateInWrongGroup
                | Code::NamedList
                | Code::EmptyName
                | Code::NamespaceOnGroup
                | Code::ReadOnlyInName
        )
    }
}
