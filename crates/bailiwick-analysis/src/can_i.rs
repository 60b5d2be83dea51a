//! Whether a subject is allowed a request: by the Node authorizer, by RBAC, and by admission.

mod admission;
mod node;
mod written;

use std::collections::BTreeMap;
use std::path::PathBuf;

use bailiwick_access::{Answer, Decision, Identity, Request};
use bailiwick_codes as codes;
use bailiwick_kubernetes::names::path_segment;
use bailiwick_node::authorize::{FieldRequirement, field_selector};
use bailiwick_node::graph::Graph;
use bailiwick_node::identity::NodeIdentity;
use bailiwick_workspace::{Diagnostics, Error};
use bailiwick_yaml::diag::{Diagnostic, Sink};
use serde::Serialize;

use self::admission::{Admission, UserInfo};
pub use self::node::NodeDecision;
use self::written::Written;
use super::loaded_world::LoadedWorld;
use super::question::RequestOptions;

/// A question whether a subject is allowed a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CanIOptions {
    /// The subject, verb, resource and scope, as the command line gives them.
    pub request: RequestOptions,
    /// Whether a role that is not among the objects does not exist.
    pub complete: bool,
    /// The field selector of a list or watch, such as `spec.nodeName=n1` for the Node authorizer, or `metadata.name=one` for RBAC.
    pub field_selector: Option<String>,
    /// The object that is to be written, for admission.
    pub admission: Option<AdmissionOptions>,
}

/// The object of a request, for admission.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AdmissionOptions {
    /// The file of the object.
    pub object: PathBuf,
    /// The file of the object before the change.
    pub old: Option<PathBuf>,
    /// The extra fields of the user, each as `KEY=VALUE`.
    pub user_extra: Vec<String>,
}

/// The answer to a question whether a subject is allowed a request, with its reasons.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CanI {
    /// Yes, no, unknown, or dead for a request that no API server accepts.
    pub answer: Answer,
    /// The verb, resource and scope that were asked for.
    #[serde(serialize_with = "as_text")]
    pub request: Request,
    /// The decision of RBAC, with its proofs.
    #[serde(skip)]
    pub decision: Decision,
    /// The decision of the Node authorizer; none for a subject that is no node.
    pub node: Option<NodeDecision>,
    /// The reason of admission against the request.
    pub objection: Option<String>,
    /// The effect of the authorizers of a policy on the answer; none without an effect.
    pub authorizers: Option<String>,
}

fn as_text<S: serde::Serializer>(request: &Request, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(request)
}

impl CanI {
    /// Whether the Node authorizer allows the request.
    pub fn is_allowed_by_node(&self) -> bool {
        self.node.as_ref().is_some_and(|node| node.answer == Answer::Yes)
    }

    /// Whether the answer depends on where pods are scheduled.
    pub fn depends_on_scheduling(&self) -> bool {
        self.answer == Answer::Unknown && self.node.as_ref().is_some_and(|node| node.answer == Answer::Unknown)
    }
}

impl LoadedWorld {
    /// Decides whether a subject is allowed a request. Questions about nodes and admission need a world with its
    /// surroundings.
    ///
    /// # Errors
    /// When the options name no request, or the object for admission cannot be read.
    ///
    /// # Examples
    /// ```
    /// use bailiwick_analysis::{CanIOptions, LoadedWorld, RequestOptions, WorldOptions};
    /// use bailiwick_workspace::{Error, Options};
    /// use bailiwick_access::{Answer, Identity};
    ///
    /// let options = Options::in_folder("../..");
    /// let world = WorldOptions { from: vec!["out/modern".into()], ..WorldOptions::default() };
    /// let loaded = LoadedWorld::from_manifests(&options, &world)?;
    /// let question = CanIOptions { request: RequestOptions::new("get", "secrets"), ..CanIOptions::default() };
    /// let answer = loaded.can_i(&Identity::from_user("nobody@example.com"), &question)?;
    /// assert_eq!(answer.answer, Answer::No);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn can_i(&self, who: &Identity, options: &CanIOptions) -> Result<CanI, Error> {
        let mut written = options.admission.as_ref().map(|admission| self.read_written(admission)).transpose()?;
        let mut request = match written.as_ref().and_then(Written::namespace) {
            // As `kubectl create -f` does, which sends the object to its own namespace.
            Some(own) if options.request.names_no_place() => {
                RequestOptions { namespace: Some(own.to_owned()), ..options.request.clone() }.request(&self.world)?
            }
            _ => options.request.request(&self.world)?,
        };
        let selector = field_selector(options.field_selector.as_deref().unwrap_or_default())
            .map_err(|error| invalid(error.to_string()))?;
        take_selected_name(&mut request, &selector)?;
        let decision = self.world.decide(who, &request);
        let graph = self.cluster().map(Graph::from_cluster);
        let asked = self.cluster().zip(graph.as_ref()).filter(|_| self.asks("Node"));
        let node = asked.and_then(|(cluster, graph)| node::ask(cluster, graph, who, &request, &selector));
        let by_rbac = if self.asks("RBAC") { decision.answer(options.complete) } else { Answer::No };
        // The first authorizer that allows decides; one that has no opinion leaves it to the next.
        let by_node = node.as_ref().map_or(Answer::No, |node| node.answer);
        let mut answer = match (by_node, by_rbac) {
            (Answer::Yes, _) | (_, Answer::Yes) => Answer::Yes,
            (Answer::Unknown, _) => Answer::Unknown,
            (_, by_rbac) => by_rbac,
        };
        if answer == Answer::No && !self.unknown_authorizers().is_empty() {
            answer = Answer::Unknown;
        }
        let authorizers = self.stated_authorizers(NodeIdentity::from_identity(who) != NodeIdentity::None, answer);
        let written = options.admission.as_ref().zip(written.as_mut());
        let objection = match self.admission(graph.as_ref(), written, who, &request)? {
            _ if answer == Answer::No => None,
            Admission::Passes => None,
            Admission::Refuses(why) => {
                answer = Answer::No;
                Some(why)
            }
            Admission::Unknown(why) => {
                answer = Answer::Unknown;
                Some(why)
            }
        };
        Ok(CanI { answer, request, decision, node, objection, authorizers })
    }

    fn stated_authorizers(&self, is_node: bool, answer: Answer) -> Option<String> {
        let modes = self.authorization_modes.join(",");
        let unknown = self.unknown_authorizers();
        if !self.asks("RBAC") {
            Some(format!("the API server does not ask RBAC: its authorization mode is {modes}"))
        } else if is_node && !self.asks("Node") {
            Some(format!("the API server does not ask the Node authorizer: its authorization mode is {modes}"))
        } else if answer == Answer::Unknown && !unknown.is_empty() {
            Some(format!("the API server asks {} too, and the answer of that is not known here", unknown.join(" and ")))
        } else {
            None
        }
    }

    /// Reads the objects of a write.
    fn read_written(&self, options: &AdmissionOptions) -> Result<Written, Error> {
        let mut sink = Sink::new();
        let written = Written::read(&options.object, options.old.as_deref(), &self.files, &mut sink)
            .map_err(|error| invalid(error.to_string()))?;
        if sink.has_errors() {
            let mut list = sink.into_sorted(&self.files);
            list.push(not_understood("the object cannot be read".to_owned()));
            return Err(Error::Invalid(Diagnostics::new(list, &self.files)));
        }
        Ok(written)
    }

    fn admission(
        &self,
        graph: Option<&Graph>,
        written: Option<(&AdmissionOptions, &mut Written)>,
        who: &Identity,
        request: &Request,
    ) -> Result<Admission, Error> {
        let Some((options, written)) = written else { return Ok(Admission::Passes) };
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for written in &options.user_extra {
            let (key, value) =
                written.split_once('=').ok_or_else(|| invalid(format!("`{written}` is no `KEY=VALUE`")))?;
            extra.entry(key.to_lowercase()).or_default().push(value.to_owned());
        }
        if let Request::Resource(request) = request {
            written.fill_namespace(&request.namespace);
        }
        let user = UserInfo { identity: who, extra };
        admission::admission(self, graph, &user, request, written).map_err(|error| invalid(error.to_string()))
    }
}

/// Gives a list or a watch the name that its field selector requires, as the API server does before it asks the authorizers
/// (`pkg/endpoints/request/requestinfo.go` of k8s.io/apiserver 1.37).
fn take_selected_name(request: &mut Request, selector: &[FieldRequirement]) -> Result<(), Error> {
    let Request::Resource(request) = request else { return Ok(()) };
    if selector.is_empty() {
        return Ok(());
    }
    if !matches!(request.verb.as_str(), "list" | "watch" | "deletecollection") {
        return Err(invalid(format!("a field selector belongs to `list` and `watch`, not to `{}`", request.verb)));
    }
    let named = selector.iter().find(|one| one.is_equal && one.field == "metadata.name");
    let is_read = request.verb != "deletecollection";
    if let Some(named) = named.filter(|named| is_read && request.name.is_empty() && path_segment(&named.value).is_ok())
    {
        request.name.clone_from(&named.value);
    }
    Ok(())
}

fn invalid(why: String) -> Error {
    Error::invalid(not_understood(why))
}

fn not_understood(why: String) -> Diagnostic {
    Diagnostic::error(codes::INVALID_QUESTION, why).help("run `bailiwick can-i --help` for the arguments")
}
