//! The world of a question about one request. Most Roles of a workspace with many namespaces do not allow the request; they and their
//! bindings are left out.

use bailiwick_access::Builder;
use bailiwick_access::request_filter::RequestFilter;
use bailiwick_compiler::compile::CompiledObject;
use bailiwick_policy::model::Target;
use bailiwick_workspace::{Error, Workspace};
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::Sink;

use super::{LoadedWorld, WorldContent, WorldOptions, WorldParts, load_target_seen};
use crate::question::RequestOptions;

impl LoadedWorld {
    /// Returns the world of a target for [`Self::who_can`] with the same options. The world has no Roles of namespaces that do not
    /// allow the request, and none of their bindings.
    ///
    /// # Errors
    /// As with [`LoadedWorld::from_target`].
    ///
    /// # Examples
    /// ```
    /// # use bailiwick_workspace::{Error, Options, Workspace};
    /// # use bailiwick_analysis::{LoadedWorld, RequestOptions, WorldOptions};
    /// # let options = Options::in_folder("../..");
    /// # let workspace = Workspace::open(&options)?;
    /// let request = RequestOptions::new("get", "secrets");
    /// for target in workspace.targets(&[])? {
    ///     let whole = LoadedWorld::from_target(&workspace, target, &WorldOptions::default())?;
    ///     let asked = LoadedWorld::about_request(&workspace, target, &WorldOptions::default(), &request)?;
    ///     assert_eq!(asked.who_can(&request)?.subjects, whole.who_can(&request)?.subjects);
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    pub fn about_request(
        workspace: &Workspace,
        target: &Target,
        options: &WorldOptions,
        question: &RequestOptions,
    ) -> Result<Self, Error> {
        // The resources that the objects define are among the resources of the policies. If not, the request is another one.
        let mut served = Builder::new(target.version.minor());
        workspace.project().api(target).custom().for_each(|resource| served.know(resource.clone()));
        let Ok(request) = question.request(&served.build()) else {
            return Self::from_target(workspace, target, options);
        };
        let mut sink = Sink::new();
        let see = &mut |_: NodeRef<'_>, _| {};
        let parts = WorldParts { content: WorldContent::Asked(&request), ..WorldParts::seen_by(see) };
        let loaded = load_target_seen(workspace, target, options, parts, &mut sink)?;
        let loaded = Self::checked(loaded, workspace.diagnostics(sink))?;
        match question.request(&loaded.world) {
            Ok(same) if same == request => Ok(loaded),
            _ => Self::from_target(workspace, target, options),
        }
    }
}

/// Returns the filter of the objects of a world; none for all of them.
pub(super) fn filter<'r>(content: WorldContent<'r>, builder: &Builder) -> Option<RequestFilter<'r>> {
    match content {
        WorldContent::Asked(request) => builder.filter_for(request),
        WorldContent::Whole | WorldContent::ClusterRoles => None,
    }
}

/// Returns the objects of a file that pass a filter. A file has all objects of its namespace.
pub(super) fn needed(filter: Option<&RequestFilter<'_>>, objects: Vec<CompiledObject>) -> Vec<CompiledObject> {
    let Some(filter) = filter else { return objects };
    let nodes: Vec<NodeRef<'_>> = objects.iter().map(CompiledObject::object).collect();
    let needed = filter.needed(&nodes);
    let pairs = objects.into_iter().zip(needed);
    pairs.filter(|(_, is_needed)| *is_needed).map(|(object, _)| object).collect()
}
