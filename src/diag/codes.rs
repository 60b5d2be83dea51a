//! Every diagnostic code, declared once: its name, its one-line title and its manual page.

macro_rules! codes {
    ($($variant:ident, $id:literal, $title:literal, $page:literal;)*) => {
        /// Which kind of problem a diagnostic tells of. A code names the bad pattern.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $title] $variant,)*
        }

        impl Code {
            /// Every code, in the order of the manual.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// The name used on the command line and in reports.
            pub fn id(self) -> &'static str {
                match self { $(Code::$variant => $id,)* }
            }

            /// One line that says what is wrong.
            pub fn title(self) -> &'static str {
                match self { $(Code::$variant => $title,)* }
            }

            /// Why it matters and what to do, as paragraphs of Markdown.
            pub fn page(self) -> &'static str {
                match self { $(Code::$variant => $page,)* }
            }

            /// The code with this name.
            pub fn from_id(id: &str) -> Option<Code> {
                match id { $($id => Some(Code::$variant),)* _ => None }
            }
        }
    };
}

codes! {
    // Reading text.
    InvalidUtf8, "invalid-utf8", "a file is not UTF-8",
        "Policies, templates and account lists are UTF-8 text. Other encodings would make names mean different things to different readers.\n\nSave the file as UTF-8; a byte order mark is accepted.";
    FileTooLarge, "file-too-large", "a file is larger than this program reads",
        "A file may hold at most 512 MiB. Split an account list into several files.";
    YamlSyntax, "yaml-syntax", "a document is not YAML",
        "The parser could not make sense of the line. The commonest causes are a value that needs quotes (it begins with `{`, `[`, `*`, `&`, `@` or holds `: `) and indentation that differs from the lines around it.";
    TabIndent, "tab-indent", "a tab indents a line",
        "YAML forbids tabs as indentation, since their width is anybody's guess. Use two spaces a level.";
    DuplicateKey, "duplicate-yaml-key", "a key stands twice in one map",
        "kubectl keeps the last of two equal keys in silence. That is how a policy that says `MustRunAsNonRoot` came to mean `RunAsAny` (seed 000): so here it is an error, at both lines.";
    KeyNotString, "key-not-string", "a key reads as something else than a string",
        "An unquoted `y`, `no`, `1` or `null` is not a string to Kubernetes' reader. Put the key in quotes.";
    NumberNotFinite, "number-not-finite", "a number that JSON cannot hold",
        "`.inf` and `.nan` are YAML numbers, but Kubernetes stores JSON, which has neither.";
    YamlTag, "yaml-tag", "a tag that has no meaning here",
        "Tags such as `!Ref` belong to other programs. Kubernetes reads plain data only.";
    YamlAlias, "yaml-alias", "an alias that cannot be resolved or grows too much",
        "Anchors and aliases are resolved as kubectl does, up to 100,000 copied nodes a file. That bound is what stops a file of a few lines from filling the memory.";
    YamlMerge, "yaml-merge", "a merge key whose value is not a map",
        "`<<` takes an alias of a map, or a list of such aliases.";
    TooDeep, "too-deep", "collections nest too deeply",
        "A hundred levels are read. Kubernetes objects need about twelve.";
    // The shape of policies.
    UnknownField, "unknown-field", "a field that the kind does not have",
        "Field names are matched exactly, and an unknown one is never ignored: a mistyped field would otherwise be a rule that is silently not there.\n\n`bailiwick explain KIND` lists the fields.";
    MissingField, "missing-field", "a field that the kind demands",
        "`bailiwick explain KIND` tells which fields are required and what they mean.";
    WrongType, "wrong-type", "a value of another type than the field takes",
        "Values mean what they mean to kubectl: an unquoted `y` is a boolean and `012` is the number ten. Put quotes around what is meant as a string.";
    UnknownValue, "unknown-value", "a word that the field does not take",
        "The field takes one of a few words, spelt and cased exactly so.";
    InvalidValue, "invalid-value", "a value that the field cannot take",
        "The value has the right type and still cannot be used; the message says why.";
    UnknownKind, "unknown-kind", "a document of a kind that is not a policy kind",
        "`bailiwick explain` lists the policy kinds.";
    NotAPolicy, "not-a-policy", "a document in the policy folder that is not a policy",
        "Every document of the policy folder has `apiVersion: bailiwick.dev/v1alpha1`. Plain Kubernetes manifests come in through a `Manifests` policy that names their file.";
    DuplicatePolicy, "duplicate-policy", "two policies of one kind with one name",
        "Kind and name are how policies refer to each other, so each pair stands for one document.";
    UnknownTarget, "unknown-target", "a target pattern that matches no target",
        "Targets are declared in `bailiwick.yaml` under `spec.targets`. A pattern that matches none would leave the policy without effect.";
    UnknownReference, "unknown-reference", "a name that no policy has",
        "A policy names another one that is not there. Names are matched exactly.";
    IncludeCycle, "include-cycle", "policies that include each other",
        "What a policy includes is made before it is, so a ring of them has no first. The places of the ring are shown; take one of them out.";
    InvalidPath, "invalid-path", "an API path that no request has",
        "A path is `/api/v1/...` for the core group or `/apis/GROUP/VERSION/...` for any other, then `namespaces/{namespace}/` where the resource is in one, the resource, a name or `{name}`, and a subresource. The version has to be one that the target serves. Anything else is a URL, such as `/healthz`, and takes HTTP methods as verbs.";
    AmbiguousResource, "ambiguous-resource", "a resource without a group, and several groups that mean different things by it",
        "Two groups may have resources of the same name. Where they share their objects, such as `events`, a rule gets both; otherwise it has to say which is meant.";
    UnknownVariable, "unknown-variable", "a variable that is not declared",
        "Text such as `tool-{name}` takes the place of `{name}` from the account's row, or of `{target.x}` from the target's variables. `{{` and `}}` stand for single braces.";
    InvalidPattern, "invalid-pattern", "a text whose braces do not match",
        "Write `{name}` for a variable and `{{` for a brace.";
    UnusedPolicy, "unused-policy", "a policy that yields nothing",
        "A policy with account variables yields objects only through a `Tenancy` that uses it.";
    // Files beside the policies.
    MissingFile, "missing-file", "a file that a policy names is not there",
        "Paths are relative to the file that names them, and cannot leave the workspace.";
    PathOutside, "path-outside-workspace", "a path that leaves the workspace",
        "Everything that decides the output lies in the workspace, so that a review sees it. Absolute paths and `..` beyond the root are refused.";
    InvalidAccounts, "invalid-accounts", "an account list that cannot be read",
        "An account list is a CSV table with a header, or a JSON or YAML list of maps.";
    InvalidAccount, "invalid-account", "an account whose row breaks the declared schema",
        "Each column is declared under `spec.variables` with its type and bounds; a row that breaks one is refused before anything is compiled.";
    DuplicateAccount, "duplicate-account", "two accounts share a value that must be unique",
        "Two tenants of one name would be one namespace, and two of one uid could read each other's files (seed 000). Both rows are shown.";
    // Templates.
    TemplateSyntax, "template-syntax", "a template that does not parse",
        "Templates are Jinja as minijinja 3 reads it, plus the rule that every `{{ value }}` stands alone where a YAML value or key can stand.";
    TemplateComposite, "template-composite", "a template that glues text to a value",
        "`{{ value }}` writes a complete YAML scalar, list or map with the quotes it needs, so text beside it would end up around the quotes. Build the whole value inside the braces: `{{ \"tool-\" ~ name }}`.";
    TemplateFailed, "template-failed", "a template that failed while rendering",
        "An undefined variable, a wrong operand or an endless loop. The template's line and the policy that asked for the object are shown.";
    TemplateIdentity, "template-identity", "a template that changes what object it renders",
        "apiVersion, kind, namespace and name are decided before a template runs. A template decides how an object looks, never which object it is.";
    TemplateOutput, "template-output", "a template that renders something else than one object",
        "A template renders exactly one YAML document that is a map.";
    UnknownTemplate, "unknown-template", "a file in the template folder that overrides nothing",
        "The workspace's `templates/` replaces a built-in template of the same path; other files there are for `{% include %}` and have names that begin with `_`.";
    // Objects.
    InvalidObject, "invalid-object", "an object that the API server would refuse",
        "The rules are those of the API server's own validation (`docs/` names the section). Nothing is written while one object is invalid.";
    MalformedObject, "malformed-object", "an object that does not have the shape of its kind",
        "A field that the kind does not have, or a value of another type: strict field validation would refuse it.";
    ServerField, "server-field", "a field that only the server may set",
        "`status`, `metadata.uid`, `metadata.resourceVersion`, `metadata.creationTimestamp` and their like are made by the server; committed to Git they would be a difference for ever.";
    DuplicateObject, "duplicate-object", "the same object is there twice",
        "Group, kind, namespace and name make an object; the second of two would overwrite the first when applied. Both origins are shown. In manifests from elsewhere it is a warning, and the last one counts, as for `kubectl apply`.";
    UnresolvedReference, "unresolved-reference", "a binding to a role that is not there",
        "The role is neither compiled here, nor one of the cluster's built-in roles, nor brought in by a `Manifests` policy. Such a binding grants nothing, and grants something unexpected the day somebody creates the role.";
    PodSecurityPolicyRemoved, "podsecuritypolicy-removed", "a PodSecurityPolicy for a cluster that has none",
        "policy/v1beta1 PodSecurityPolicy is not served since Kubernetes 1.25. There the way is Pod Security labels on the namespace plus a validating policy for what they cannot say.";
    KindNotServed, "kind-not-served", "an object of a kind that the target does not serve",
        "The target's Kubernetes version has no such kind at this apiVersion, so applying the output would fail as a whole.";
    AllowedHostPathsWithoutVolume, "allowed-host-paths-without-hostPath-volume", "host paths that no pod can mount",
        "`allowedHostPaths` takes effect only where `volumes` allows `hostPath`. Seed 000 prints such a policy, and it stayed dead for three years.";
    HostPathWithoutPaths, "host-path-volume-without-allowed-paths", "a profile that lets pods mount any path of the host",
        "`hostPath` among the volumes without a list of host paths means every path.";
    GroupRangeWithRoot, "group-range-includes-root", "a group range that includes the root group",
        "A range that begins at 0, or `RunAsAny`, lets a tenant's pods join group 0 (R000-05).";
    BindsProfileToEveryone, "binds-psp-to-all-authenticated", "a pod security policy that everybody may use",
        "Bound to `system:authenticated` or `system:serviceaccounts`, a policy is the floor for the whole cluster, and the stricter ones no longer count.";
    UnservedResource, "unserved-resource", "a resource in a rule that the target does not serve",
        "The server takes any text in a rule, and a rule that names something else than the plural, or another group, grants nothing in silence. A resource is reported where none of the rule's groups serves it: naming a group too many is harmless. Groups of custom resources are known where a Manifests policy brings their definitions.";
    DeadVerb, "dead-verb", "a verb that nothing in its rule takes",
        "Each resource takes some verbs, as `bailiwick table` shows; a verb that none of a rule's resources takes grants nothing. Requests to create and to delete collections carry no name, so that a rule with `resourceNames` never matches them. Verbs of URLs are HTTP methods.";
    DeadUrl, "dead-url", "a URL in a rule that no request has",
        "A URL begins with a slash; a `*` at its end stands for any text, and anywhere else for itself.";
    ClusterScopedPath, "cluster-scoped-path", "a path that looks for a cluster's object in a namespace",
        "Seed 002 writes `/api/v1/namespaces/{namespace}/namespaces`; the server has no such path, since namespaces are in no namespace. The resource is taken to be meant. A binding in a namespace grants nothing of it, except requests for the namespace itself by its name.";
    AggregatesEverything, "aggregates-everything", "a role that gathers the rules of every ClusterRole",
        "The empty selector fits all ClusterRoles, `cluster-admin` among them.";
    GrantExpired, "grant-expired", "a grant whose last day is over",
        "`expires` is the last day on which a grant is meant to hold. Nothing takes it away when the day is over: the bindings are the same until the policy changes, and every command that compiles warns. `--today` or `BAILIWICK_TODAY` says what day it is, so that CI can look ahead.";
    SelectsNoNamespace, "selects-no-namespace", "a grant whose selector fits no namespace",
        "`namespaceSelector` is evaluated when compiling, over the namespaces of NamespaceSet, Tenancy and Manifests policies on that target with the labels they give, and `kubernetes.io/metadata.name`. Namespaces that nobody tells of are not selected: bring them in with a Manifests policy, or name them under `namespaces`.";
    DeleteCollectionForTenants, "deletecollection-for-tenants", "tenants who may delete all of something at once",
        "Deleting every ConfigMap or Secret of a namespace also removes the tenant's own certificates and tokens (seed 000). `except` on the rule takes the verb back.";
    // Judging access.
    NothingToJudge, "nothing-to-judge", "inputs without anything that decides access",
        "A tool that reads nothing and then says no, or says that all is well, is worse than none. The inputs hold no role, binding, namespace, service account or definition of a custom resource.\n\n`kubectl get clusterroles,clusterrolebindings,roles,rolebindings -A -o yaml` prints what decides access in a cluster.";
    InvalidQuestion, "invalid-question", "a question that cannot be asked",
        "A question names somebody (`--as`, `--as-group`) and a request: a verb with a resource or a URL path, or a whole HTTP request.";
    UnusableIndex, "unusable-index", "an index that cannot be asked",
        "A file written by `bailiwick index` holds a world as it was settled: for one version, over one baseline. It ends with a checksum, and begins with the version of its format. What was cut off, changed, or written by another version is refused and not guessed at.";
    UnknownVersion, "unknown-version", "a version without known facts",
        "The default policy, the resources and the switches of the authorizer are known for Kubernetes 1.16 to 1.36.";
    UnknownResource, "unknown-resource", "a resource that nobody serves",
        "Neither the cluster's version nor a CustomResourceDefinition among the inputs serves a resource of that name. A rule may leave out `apiGroups` only where some group serves the resource: name the groups, or bring the definition in with a Manifests policy. Of a question, `--any-resource` takes the name as it stands.";
    DeadExpectation, "dead-expectation", "an AccessTest that cannot fail",
        "A `mustNot` about something that no request can be is always fulfilled: a resource without that verb, a cluster-scoped resource in a namespace, a path that is no URL rule's business. It proves nothing, and hides what was meant.";
    ApplierCannotApply, "applier-cannot-apply", "an object that whoever applies the output may not write",
        "The target says by `appliedBy` which identity applies its output. By plain RBAC it has to hold `create` and `patch` on the kind; for roles and bindings the API server also refuses what would grant more than the identity holds, unless it has `escalate` on the role, or `bind` on the role that is bound (`specs/kubernetes.md` section 8). The sync would stop at this object.\n\nWhat the output grants to that identity itself counts as held: apply such a grant first.";
    DanglingRole, "dangling-role", "a binding whose role is not there",
        "It grants nothing today, and whatever somebody puts under that name tomorrow.";
    AggregatedRoleWithRules, "aggregated-role-with-rules", "an aggregated ClusterRole with rules of its own",
        "The aggregation controller writes what it gathers over the rules of the role, and Argo CD or Flux writes them back: an endless difference. Only while nothing is gathered at all does the controller write nothing, and the stated rules stay in force.\n\nLeave out `rules`.";
    AggregationRing, "aggregation-ring", "aggregated roles that gather each other",
        "The aggregation controller copies the rules of the selected roles. In a ring a rule that was once there keeps itself alive, and nobody can tell from the manifests what the roles grant (`specs/kubernetes.md` 9.1). Here they have only what comes from outside the ring.";
    // The output.
    ForeignFile, "foreign-file", "a file in the output folder that is not ours",
        "The output folder holds nothing but what this program wrote: anything else would be applied to the cluster by whoever applies the folder. Only files with our header are ever overwritten or removed.\n\nMove the file away, or name it under `spec.keep` in `bailiwick.yaml`.";
    EditedByHand, "edited-by-hand", "an output file that was changed by hand",
        "The checksum in the file's second line does not fit its content. Change the policy instead; `bailiwick render --force` overwrites the file.";
    LinkInOutput, "link-in-output", "a symbolic link in the output folder",
        "A link could lead a write out of the output folder. Links are neither followed nor replaced.";
    EmptyOutput, "empty-output", "a run that would delete everything",
        "No object was compiled for a target that has committed output. With pruning, applying that would delete every tenant. `--allow-empty` says that it is meant.";
    MassDelete, "mass-delete", "a run that would delete most namespaces",
        "More than half of a target's namespaces would go. `--allow-mass-delete` says that it is meant.";
    MassRecreate, "mass-recreate", "the same object renamed in many namespaces",
        "Renaming a templated object deletes and creates it everywhere at once. On 2024-06-12 such a rename took Toolforge's API servers down. Roll it out in parts: first add the new name, then remove the old one.";
    ImmutableRoleRef, "immutable-roleRef", "a binding whose role changes under the same name",
        "`roleRef` cannot be changed: the object has to be deleted and created again, and Flux and server-side Argo CD syncs fail until somebody does. Give the binding a new name instead.";
    // The workspace.
    WorkspaceNotFound, "workspace-not-found", "no workspace here",
        "`bailiwick.yaml` is looked for in this folder and every folder above it. `bailiwick init` makes one.";
    InvalidWorkspace, "invalid-workspace", "a workspace file that cannot be used",
        "`bailiwick explain Workspace` describes the file.";
}
