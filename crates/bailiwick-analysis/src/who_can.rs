//! The subjects that are allowed a request.

use bailiwick_access::decide::also_asked;
use bailiwick_access::who_can::{Where, WhoCan};
use bailiwick_access::{Liveness, Request};
use bailiwick_workspace::Error;
use schemars::JsonSchema;
use serde::Serialize;

use super::loaded_world::LoadedWorld;
use super::question::RequestOptions;

/// The subjects that are allowed a request.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllowedSubjects {
    /// The target; none for manifests.
    pub target: Option<String>,
    /// The request in words.
    pub request: String,
    /// The subjects, sorted by namespace.
    pub subjects: Vec<AllowedSubject>,
    /// Roles that are bound and not among the objects: their subjects may be allowed the request too.
    pub missing: Vec<String>,
    /// Bindings that the cluster may have: their subjects may be allowed the request too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub possible: Vec<String>,
    /// The reason why no server receives the request, if none does.
    pub dead: Option<String>,
}

/// The subjects that are allowed a request, by the numbers of the world.
#[derive(Debug, Clone)]
pub struct RequestHolders {
    /// The verb with its resource or URL.
    pub asked: Request,
    /// The reason why no server receives the request, if none does.
    pub dead: Option<String>,
    /// The subjects with the bindings of the world.
    pub found: WhoCan,
}

/// A subject that is allowed a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AllowedSubject {
    /// The subject, as `User/name`, `Group/name` or `ServiceAccount/namespace/name`.
    pub subject: String,
    /// The namespace in which it is allowed; none for all of them.
    pub namespace: Option<String>,
}

impl LoadedWorld {
    /// Finds the subjects that are allowed a request. Without a namespace, every namespace is searched.
    ///
    /// # Errors
    /// When the options name no request, or a resource that is not served.
    ///
    /// # Examples
    /// ```
    /// use bailiwick_workspace::{Error, Options};
    /// use bailiwick_analysis::{LoadedWorld, RequestOptions, WorldOptions};
    /// let options = Options::in_folder("../..");
    /// let world = WorldOptions { from: vec!["out/modern".into()], ..WorldOptions::default() };
    /// let loaded = LoadedWorld::from_manifests(&options, &world)?;
    /// let allowed = loaded.who_can(&RequestOptions::new("get", "secrets"))?;
    /// assert!(allowed.subjects.iter().any(|allowed| allowed.subject == "Group/system:masters"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn who_can(&self, options: &RequestOptions) -> Result<AllowedSubjects, Error> {
        let RequestHolders { asked, dead, found } = self.holders_of(options)?;
        let subjects = found.capable(&self.world).map(|capable| AllowedSubject {
            namespace: capable.scope.namespace().map(str::to_owned),
            subject: capable.subject,
        });
        Ok(AllowedSubjects {
            target: self.target.clone(),
            request: asked.to_string(),
            subjects: subjects.collect(),
            missing: found.missing.iter().map(ToString::to_string).collect(),
            possible: found.possible.iter().map(ToString::to_string).collect(),
            dead,
        })
    }

    /// Finds the subjects that are allowed a request as [`Self::who_can`] does, without their names.
    ///
    /// # Errors
    /// When the options name no request, or a resource that is not served.
    pub fn holders_of(&self, options: &RequestOptions) -> Result<RequestHolders, Error> {
        let asked = options.request(&self.world)?;
        let place = match (&options.namespace, options.all_namespaces) {
            // Only objects in namespaces are searched in each of them; and an HTTP request names its namespace.
            (None, false) if options.is_open_to_namespaces(&self.world, &asked) => Where::Everywhere,
            _ => Where::AsRequested,
        };
        let mut found = self.world.who_can(&asked, place);
        if let Some(also) = also_asked(self.world.minor(), &asked) {
            found.retain_allowed(&self.world, &also);
        }
        let dead = match self.world.liveness(&asked) {
            Liveness::Dead(reason) => Some(reason),
            Liveness::Live | Liveness::Unknown(_) => None,
        };
        Ok(RequestHolders { asked, dead, found })
    }
}
