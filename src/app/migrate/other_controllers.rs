//! The policies of other admission controllers beside PodSecurityPolicies.

use crate::admission::others::OtherRule;
use crate::admission::psp::PodSecurityPolicy;

/// The policies of other admission controllers, with the limits that they are compared with.
#[derive(Debug, Clone, Default)]
pub struct OtherControllers {
    /// The rules, by controller, kind, namespace and name.
    pub rules: Vec<OtherRule>,
    /// The PodSecurityPolicies, whose limits the profiles keep.
    pub limits: Vec<PodSecurityPolicy>,
}
