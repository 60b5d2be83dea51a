//! The fields of an event of `audit.k8s.io/v1` (`staging/src/k8s.io/apiserver/pkg/apis/audit/v1/types.go` of Kubernetes 1.37).
//!
//! Texts are borrowed from the line where they have no escapes. Lists and maps of users are read on demand. Other fields, such as the
//! object of a request, are skipped.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The API version of the events.
pub(crate) const API_VERSION: &str = "audit.k8s.io/v1";

/// An event, or a list of events on one line.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Event<'t> {
    #[serde(borrow)]
    pub(crate) kind: Cow<'t, str>,
    #[serde(borrow)]
    pub(crate) api_version: Cow<'t, str>,
    #[serde(borrow, rename = "auditID")]
    pub(crate) audit_id: Cow<'t, str>,
    #[serde(borrow)]
    pub(crate) stage: Cow<'t, str>,
    #[serde(borrow, rename = "requestURI")]
    pub(crate) request_uri: Cow<'t, str>,
    #[serde(borrow)]
    pub(crate) verb: Cow<'t, str>,
    #[serde(borrow)]
    pub(crate) user: Option<EventUser<'t>>,
    #[serde(borrow)]
    pub(crate) impersonated_user: Option<EventUser<'t>>,
    #[serde(borrow)]
    pub(crate) authentication_metadata: Option<AuthenticationMetadata<'t>>,
    #[serde(borrow)]
    pub(crate) object_ref: Option<ObjectReference<'t>>,
    #[serde(borrow)]
    pub(crate) response_status: Option<ResponseStatus<'t>>,
    #[serde(borrow)]
    request_received_timestamp: Option<Cow<'t, str>>,
    #[serde(borrow)]
    stage_timestamp: Option<Cow<'t, str>>,
    #[serde(borrow)]
    pub(crate) annotations: Option<Annotations<'t>>,
    /// The events of an `EventList`.
    #[serde(borrow)]
    pub(crate) items: Option<Vec<&'t RawValue>>,
}

/// The authenticated or the impersonated user.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct EventUser<'t> {
    #[serde(borrow)]
    pub(crate) username: Cow<'t, str>,
    #[serde(borrow)]
    pub(crate) uid: Cow<'t, str>,
    #[serde(borrow)]
    groups: Option<&'t RawValue>,
    #[serde(borrow)]
    extra: Option<&'t RawValue>,
}

impl EventUser<'_> {
    /// Returns the groups.
    ///
    /// # Errors
    /// When the field is not a list of texts.
    pub(crate) fn groups(&self) -> Result<Vec<String>, serde_json::Error> {
        self.groups.map_or_else(|| Ok(Vec::new()), |groups| serde_json::from_str(groups.get()))
    }

    /// Returns the extra fields.
    ///
    /// # Errors
    /// When the field is not a map of lists of texts.
    pub(crate) fn extra(&self) -> Result<BTreeMap<String, Vec<String>>, serde_json::Error> {
        self.extra.map_or_else(|| Ok(BTreeMap::new()), |extra| serde_json::from_str(extra.get()))
    }

    /// Iterates over the texts behind the identity of the user.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        [&*self.username, self.groups.map_or("", RawValue::get)].into_iter()
    }

    /// Iterates over the texts behind the target of an impersonation.
    pub(crate) fn target_texts(&self) -> impl Iterator<Item = &str> {
        self.texts().chain([&*self.uid, self.extra.map_or("", RawValue::get)])
    }
}

/// How the user was authenticated.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct AuthenticationMetadata<'t> {
    /// The verb of the mode of the impersonation, such as `impersonate:user-info`; empty for the verb `impersonate`.
    #[serde(borrow)]
    pub(crate) impersonation_constraint: Cow<'t, str>,
}

/// The resource of an event. The server fills an absent name and namespace from the object in the request.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ObjectReference<'t> {
    #[serde(borrow)]
    pub(crate) api_group: Cow<'t, str>,
    #[serde(borrow)]
    pub(crate) resource: Cow<'t, str>,
    #[serde(borrow)]
    pub(crate) subresource: Cow<'t, str>,
    #[serde(borrow)]
    pub(crate) namespace: Cow<'t, str>,
    #[serde(borrow)]
    pub(crate) name: Cow<'t, str>,
}

/// The outcome of the request.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ResponseStatus<'t> {
    pub(crate) code: Option<u16>,
    #[serde(borrow)]
    pub(crate) message: Cow<'t, str>,
}

/// The annotations of the authorizer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Annotations<'t> {
    #[serde(borrow, rename = "authorization.k8s.io/decision")]
    pub(crate) decision: Cow<'t, str>,
    #[serde(borrow, rename = "authorization.k8s.io/reason")]
    pub(crate) reason: Cow<'t, str>,
}

/// When the server logs an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Before the request is authorized.
    RequestReceived,
    /// After the headers of a response without an end, such as the response of a watch.
    ResponseStarted,
    /// After the response.
    ResponseComplete,
    /// After a panic of the server.
    Panic,
}

impl Stage {
    pub(crate) fn read(word: &str) -> Option<Self> {
        Some(match word {
            "RequestReceived" => Self::RequestReceived,
            "ResponseStarted" => Self::ResponseStarted,
            "ResponseComplete" => Self::ResponseComplete,
            "Panic" => Self::Panic,
            _ => return None,
        })
    }
}

impl Event<'_> {
    /// Returns the status code of the response; 0 without a response.
    pub(crate) fn code(&self) -> u16 {
        self.response_status.as_ref().and_then(|status| status.code).map_or(0, |code| code)
    }

    /// Returns the time of the event: when the request arrived, or else when the stage was reached.
    pub(crate) fn time(&self) -> &str {
        let time = self.request_received_timestamp.as_ref().or(self.stage_timestamp.as_ref());
        time.map_or("", |time| time)
    }
}
