//! Every diagnostic code, declared once: its name, its severities, its one-line title and its manual page.

use super::severity::DefaultSeverity;

macro_rules! codes {
    ($($variant:ident, $id:literal, [$($severity:ident),+], $title:literal, $page:literal;)*) => {
        /// The kind of problem that a diagnostic reports. A code names the bad pattern.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
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

            /// The severities that diagnostics of the code have by default. Several mean that the severity of a
            /// diagnostic depends on what is wrong.
            pub fn severities(self) -> &'static [DefaultSeverity] {
                match self { $(Code::$variant => &[$(DefaultSeverity::$severity),+],)* }
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
    InvalidUtf8, "invalid-utf8", [Error], "a file is not UTF-8",
        "Policies, templates and account lists are UTF-8 text. Other encodings would make names mean different things to different readers.\n\nSave the file as UTF-8; a byte order mark is accepted.";
    FileTooLarge, "file-too-large", [Error], "a file is larger than this program reads",
        "A YAML or JSON file of a workspace may hold at most 64 MiB; an account list in CSV, a baseline, and a file that the command line names at most 512 MiB. Split an account list into several files, or write it as CSV.";
    UnreadableFile, "unreadable-file", [Error], "a path that is not a regular file",
        "Policies, templates, account lists, manifests and baselines are regular files. A named pipe, a device, a socket or a folder in their place is not read: it may have no end, or hold what is not part of the workspace.";
    HiddenCharacterInName, "hidden-character-in-name", [Error], "a name of an input file with characters that do not show",
        "The name of a policy, template, account list, manifest or folder has a control, format or separator character (Unicode categories Cc, Cf, Zl and Zp), such as a line feed, U+2028, a bidirectional control or a zero-width space. A review shows another name than the one that is read, and some readers of YAML and some terminals take such a character for the end of a line.\n\nRename the file or the folder.";
    YamlSyntax, "yaml-syntax", [Error], "a document is not YAML",
        "The parser could not make sense of the line. The commonest causes are a value that needs quotes (it begins with `{`, `[`, `*`, `&`, `@` or holds `: `) and indentation that differs from the lines around it.";
    TabIndent, "tab-indent", [Error], "a tab indents a line",
        "YAML forbids tabs as indentation, since their width is anybody's guess. Use two spaces a level.";
    DuplicateKey, "duplicate-yaml-key", [Error], "a key stands twice in one map",
        "kubectl keeps the last of two equal keys in silence. That is how a policy that says `MustRunAsNonRoot` came to mean `RunAsAny` (seed 000): so here it is an error, at both lines.";
    KeyNotString, "key-not-string", [Error], "a key reads as something else than a string",
        "An unquoted `y`, `no`, `1` or `null` is not a string to Kubernetes' reader. Put the key in quotes.";
    NumberNotFinite, "number-not-finite", [Error], "a number that JSON cannot hold",
        "`.inf` and `.nan` are YAML numbers, but Kubernetes stores JSON, which has neither.";
    YamlTag, "yaml-tag", [Error], "a tag that has no meaning here",
        "Tags such as `!Ref` belong to other programs. Kubernetes reads plain data only.";
    YamlAlias, "yaml-alias", [Error], "an alias that cannot be resolved or grows too much",
        "Anchors and aliases are resolved as kubectl does, up to 100,000 copied nodes a file. That bound is what stops a file of a few lines from filling the memory.";
    YamlMerge, "yaml-merge", [Error], "a merge key whose value is not a map",
        "`<<` takes an alias of a map, or a list of such aliases.";
    TooDeep, "too-deep", [Error], "collections nest too deeply",
        "A hundred levels are read. Kubernetes objects need about twelve.";
    // The shape of policies.
    UnknownField, "unknown-field", [Error], "a field that the kind does not have",
        "Field names are matched exactly, and an unknown one is never ignored: a mistyped field would otherwise be a rule that is silently not there.\n\n`bailiwick explain KIND` lists the fields.";
    MissingField, "missing-field", [Error], "a field that the kind demands",
        "`bailiwick explain KIND` tells which fields are required and what they mean.";
    WrongType, "wrong-type", [Error], "a value of another type than the field takes",
        "Values mean what they mean to kubectl: an unquoted `y` is a boolean and `012` is the number ten. Put quotes around what is meant as a string.";
    UnknownValue, "unknown-value", [Error], "a word that the field does not take",
        "The field takes one of a few words, spelt and cased exactly so.";
    InvalidValue, "invalid-value", [Error], "a value that the field cannot take",
        "The value has the right type and still cannot be used; the message says why.";
    UnknownKind, "unknown-kind", [Error], "a document of a kind that is not a policy kind",
        "`bailiwick explain` lists the policy kinds.";
    NotAPolicy, "not-a-policy", [Error], "a document in the policy folder that is not a policy",
        "Every document of the policy folder has `apiVersion: bailiwick.dev/v1alpha1`. Plain Kubernetes manifests come in through a `Manifests` policy that names their file.";
    DuplicatePolicy, "duplicate-policy", [Error], "two policies of one kind with one name",
        "Kind and name are how policies refer to each other, so each pair stands for one document.";
    UnknownTarget, "unknown-target", [Error], "a target pattern that matches no target",
        "Targets are declared in `bailiwick.yaml` under `spec.targets`. A pattern that matches none would leave the policy without effect.";
    UnknownReference, "unknown-reference", [Error], "a name that no policy has",
        "A policy names another one that is not there. Names are matched exactly.";
    IncludeCycle, "include-cycle", [Error], "policies that include each other",
        "What a policy includes is made before it is, so a ring of them has no first. The places of the ring are shown; take one of them out.";
    InvalidPath, "invalid-path", [Error, Warning], "an API path that no request has",
        "A path is `/api/v1/...` for the core group or `/apis/GROUP/VERSION/...` for any other, then `namespaces/{namespace}/` where the resource is in one, the resource, a name or `{name}`, and a subresource. The version has to be one that the target serves. Anything else is a URL, such as `/healthz`, and takes HTTP methods as verbs.";
    AmbiguousResource, "ambiguous-resource", [Error], "a resource without a group, and several groups that mean different things by it",
        "Two groups may have resources of the same name. Where they share their objects, such as `events`, a rule gets both; otherwise it has to say which is meant.";
    UnknownVariable, "unknown-variable", [Error], "a variable that is not declared",
        "Text such as `tool-{name}` takes the place of `{name}` from the account's row, or of `{target.x}` from the target's variables. `{{` and `}}` stand for single braces.";
    InvalidPattern, "invalid-pattern", [Error], "a text whose braces do not match",
        "Write `{name}` for a variable and `{{` for a brace.";
    OptionalMayBeEmpty, "optional-may-be-empty", [Warning], "a name that a missing value changes",
        "A variable without a value leaves nothing behind: `oidc:{team}` of an account without a team is the name `oidc:`, a real name that was not meant. The warning stands wherever an optional variable is part of a subject or of the name of an object, and wherever an account or a target has an empty text for such a variable.\n\nGive every account a value and declare the variable without `optional`, or keep the variable out of names.";
    UnknownSubject, "unknown-subject", [Error, Warning], "a user or a group that nothing declares",
        "`spec.known` of `bailiwick.yaml`, and `known` of a target, list the users and groups that exist. A category that is stated is closed: a subject that is not declared is an error, since a grant to a mistyped group takes effect as soon as a group has that name. In a category that is not stated, an AccessTest of a subject that no policy and no manifest names is a warning: such a test cannot fail.\n\nThe groups and users that Kubernetes and OpenShift make themselves are always known: `system:authenticated`, `system:unauthenticated`, `system:masters`, `system:nodes`, `system:serviceaccounts`, `system:node:*`. A service account is known if its namespace is, or if `users` lists it by its whole name.";
    UnknownNamespace, "unknown-namespace", [Error, Warning], "a namespace that nothing declares or makes",
        "With `spec.known.namespaces` in `bailiwick.yaml`, a namespace that is not declared there, that no policy or manifest makes, and that not every cluster has, is an error. Without it, a namespace that is one letter away from a known one is a warning, and so is a namespace of an AccessTest that no policy and no manifest names: such a test cannot fail.";
    UnusedPolicy, "unused-policy", [Warning], "a policy that yields nothing",
        "A policy with account variables yields objects only through a `Tenancy` that uses it.";
    // Files beside the policies.
    MissingFile, "missing-file", [Error], "a file that a policy names is not there",
        "Paths are relative to the file that names them, and cannot leave the workspace.";
    PathOutside, "path-outside-workspace", [Error], "a path that leaves the workspace",
        "Everything that decides the output lies in the workspace, so that a review sees it. Absolute paths and `..` beyond the root are refused.";
    InvalidAccounts, "invalid-accounts", [Error], "an account list that cannot be read",
        "An account list is a CSV table with a header, or a JSON or YAML list of maps.";
    InvalidAccount, "invalid-account", [Error], "an account whose row breaks the declared schema",
        "Each column is declared under `spec.variables` with its type and bounds; a row that breaks one is refused before anything is compiled.";
    DuplicateAccount, "duplicate-account", [Error], "two accounts share a value that must be unique",
        "Two tenants of one name would be one namespace, and two of one uid could read each other's files (seed 000). Both rows are shown.";
    // Templates.
    TemplateSyntax, "template-syntax", [Error], "a template that does not parse",
        "Templates are Jinja as minijinja 3 parses it, plus the rule that every `{{ value }}` stands alone where a YAML value or key can stand. `template-failed` lists the statements, filters and tests.";
    TemplateComposite, "template-composite", [Error], "a template that glues text to a value",
        "`{{ value }}` writes a complete YAML scalar, list or map with the quotes it needs, so text beside it would end up around the quotes. Build the whole value inside the braces: `{{ \"tool-\" ~ name }}`. What counts is the text that comes out, along every way through the template: `{{-` and `{%-` take the line feed before them away, a block takes the one behind it, and what is included belongs to the text around it.";
    TemplateFailed, "template-failed", [Error], "a template that failed while rendering",
        "An undefined variable, a wrong operand, a name that templates do not have, or too much work. The template's line and the policy that asked for the object are shown.\n\nStatements: `if`, `for`, `set`, `with`, `include`, `filter` and comments. Filters: `capitalize`, `count`, `default`, `dictsort`, `first`, `int`, `items`, `join`, `last`, `length`, `list`, `lower`, `map`, `max`, `min`, `reject`, `rejectattr`, `replace`, `reverse`, `safe`, `select`, `selectattr`, `sort`, `split`, `string`, `title`, `tojson`, `trim`, `unique`, `upper`. Tests: `boolean`, `containing`, `defined`, `endingwith`, `eq`, `even`, `false`, `in`, `integer`, `mapping`, `ne`, `none`, `number`, `odd`, `sequence`, `startingwith`, `string`, `true`, `undefined`. Functions: `range` and `loop.cycle`. Operators: `~`, `+`, `-`, `*`, `//`, `%`, comparisons, `in`, `and`, `or`, `not`, and `x if y else z`.\n\nOne object may take 2,000,000 steps. Each statement, expression and item takes steps, and so do the bytes of each value that the template makes, with everything in it. A text has at most 1 MiB, an object at most 16 MiB. No clock is involved: a template that fails does so on every machine.";
    TemplateIdentity, "template-identity", [Error], "a template that changes what object it renders",
        "apiVersion, kind, namespace and name are decided before a template runs. A template decides how an object looks, never which object it is.";
    TemplateMeaning, "template-meaning", [Error], "a template that changes what a policy states",
        "A policy decides what an object means, and a template how it looks. The built-in template prints what the policy states; a template of the workspace may leave none of it out, change nothing, and add only labels and annotations. A label or an annotation that decides something is not among them: keys of `kubernetes.io`, `k8s.io`, `openshift.io` and `bailiwick.dev` (but for `app.kubernetes.io/` and descriptions), and labels that a selector of the policies names. State these in the policy. Two objects are compared in the form that the API server stores; the order of rules, verbs, subjects and the other sets of RBAC is no difference.";
    TemplateOutput, "template-output", [Error], "a template that renders something else than one object",
        "A template renders exactly one YAML document that is a map.";
    UnknownTemplate, "unknown-template", [Warning], "a file in the template folder that overrides nothing",
        "The workspace's `templates/` replaces a built-in template of the same path; other files there are for `{% include %}` and have names that begin with `_`.";
    // Objects.
    InvalidObject, "invalid-object", [Error], "an object that the API server would refuse",
        "The rules are those of the API server's own validation (`docs/` names the section). Nothing is written while one object is invalid.";
    MalformedObject, "malformed-object", [Error, Warning], "an object that does not have the shape of its kind",
        "A field that the kind does not have, or a value of another type: strict field validation would refuse it.";
    ServerField, "server-field", [Error], "a field that only the server may set",
        "`status`, `metadata.uid`, `metadata.resourceVersion`, `metadata.creationTimestamp` and their like are made by the server; committed to Git they would be a difference for ever.";
    DuplicateObject, "duplicate-object", [Error, Warning], "the same object is there twice",
        "Group, kind, namespace and name make an object; the second of two would overwrite the first when applied. Both origins are shown. In manifests from elsewhere it is a warning, and the last one counts, as for `kubectl apply`.";
    UnresolvedReference, "unresolved-reference", [Error, Warning], "a binding to a role that is not there",
        "The role is neither compiled here, nor one of the cluster's built-in roles, nor brought in by a `Manifests` policy, nor declared in `spec.known`. Such a binding grants nothing, and grants something unexpected as soon as the role is created.";
    PodSecurityPolicyRemoved, "podsecuritypolicy-removed", [Error], "a PodSecurityPolicy for a cluster that has none",
        "policy/v1beta1 PodSecurityPolicy is not served since Kubernetes 1.25. There the way is Pod Security labels on the namespace plus a validating policy for what they cannot say. A `PodSecurityProfile` becomes both since 1.30; from 1.25 to 1.29, and where PodSecurityPolicy is switched off, the three levels are all there is: leave such a target out of the profile, and give its namespaces a level by a NamespaceSet.";
    InexpressibleLimit, "inexpressible-limit", [Error], "a limit that the platform has no field for",
        "SecurityContextConstraints know no host paths, no ranges of ports, no primary groups, no CSI drivers, no RuntimeClasses and no AppArmor. Leaving such a limit out would allow everything that it forbids.";
    PlatformConstraints, "platform-scc", [Error], "constraints under a name of the platform's own",
        "OpenShift ships constraints of its own and writes them anew when it is upgraded, so that changes of theirs get lost, or break the cluster.";
    DeadlyConstraints, "deadly-scc", [Error], "constraints that keep every pod of the cluster from being created",
        "Admission prepares all constraints of the cluster before it looks at who may use which. One that cannot be prepared, such as `MustRunAs` without a user or a range with one end, refuses every pod, also of those who have nothing to do with it.";
    UnknownVolumeType, "unknown-volume-type", [Error], "a kind of volume that the platform does not know",
        "The API takes any text here. The controller that labels namespaces does not: it fails for every namespace that may use the constraints, and before 4.20 it crashed.";
    SeccompSpelling, "seccomp-spelling", [Warning], "a seccomp profile that constraints spell differently",
        "Constraints write `runtime/default`, `localhost/FILE` or `*`. Anything else matches no pod, and lifts the Pod Security level to `privileged`.";
    CapabilitySpelling, "capability-spelling", [Warning], "a capability that pods spell differently",
        "Capabilities are compared letter by letter: `NET_BIND_SERVICE`, without `CAP_` and in capitals. Another spelling allows nothing, and counts as one beyond the baseline level.";
    DefaultAddNotCounted, "default-add-not-counted", [Warning], "a capability that every pod gets and no level counts",
        "The level that the cluster computes from constraints leaves `defaultAddCapabilities` out, but pods get them all the same. They can then be refused by the very level that was computed for them.";
    SccPriorityHijack, "scc-priority-hijack", [Warning], "constraints that everybody gets before those of the platform",
        "Pods get the first constraints that accept them: the highest priority, then the most restrictive. A set that everybody may use and that comes before the everyday ones changes what running applications get the next time their pods start.";
    SccUsersOrGroups, "scc-users-or-groups", [Warning], "constraints that list who may use them",
        "The lists `users` and `groups` are part of the object, so that each applier overwrites the entries of the others, and no review of roles shows the grant. A binding to a ClusterRole that allows `use` says the same.";
    DanglingScc, "dangling-scc", [Warning], "a rule for constraints that are not there",
        "The rule grants nothing today, and grants whatever constraints of that name will allow one day.";
    GrantsEveryScc, "grants-every-scc", [Warning], "a rule that lets its holders use all constraints",
        "Without `resourceNames` the right to `use` constraints includes `privileged`: root on the node. A namespace in which one service account has it is labelled `privileged` as a whole.";
    UserSubjectInvisible, "user-subject-invisible", [Warning], "a service account that is bound as a user",
        "The API server lets a User subject named `system:serviceaccount:...` match the service account, and so does the admission by constraints. The controller that labels namespaces does not look at users: the namespace gets a level that refuses the account's pods.";
    LabelsNotComputable, "labels-not-computable", [Warning], "a namespace that the cluster cannot label",
        "The controller fails for this namespace and tries again for ever; its labels stay as they are.";
    DeclaredEnforceStricter, "declared-enforce-stricter-than-scc", [Warning], "a declared level that is stricter than what service accounts may use",
        "The constraints let a pod in, and the level of its namespace refuses it.";
    SyncTrueConflict, "sync-true-conflict", [Warning], "labels that the cluster overwrites",
        "A namespace that opts in to the synchronisation has its labels forced by the cluster. If a repository declares another value, both overwrite each other for ever.";
    OptedOutWithoutEnforce, "opted-out-without-enforce", [Warning], "a namespace that opts out and says no level",
        "Without a label the default of the whole cluster holds, which differs between releases.";
    RedundantDeclaredLabel, "redundant-declared-label", [Warning], "labels that the cluster writes anyway",
        "The namespace opts in, so that the cluster writes its labels. Declared as well, they become a conflict the day a grant changes.";
    SccAnnotationsIncomplete, "scc-annotations-incomplete", [Warning], "a range of user ids without an SELinux level",
        "The cluster gives a namespace its ranges only where the annotation with the user ids is missing. Who declares it alone never gets an SELinux level, and without one every pod is refused.";
    PinnedEnforceVersion, "pinned-enforce-version", [Warning], "a pinned version of the checks that is older than the platform",
        "Constraints take nine kernel parameters for safe. The checks know all of them only since v1.29: an older version refuses pods that the constraints let in.";
    MalformedUidRange, "malformed-uid-range", [Error], "a range of user ids that cannot be read",
        "Admission takes the users of a namespace's pods from the annotation `openshift.io/sa.scc.uid-range`. One that cannot be read keeps every pod out that needs it, and the namespace gets no labels.";
    DuplicateUidRange, "duplicate-uid-range", [Warning], "two namespaces with one range of user ids",
        "Ranges keep namespaces apart on the node. The cluster does not notice that two are the same.";
    UidRangeAtZero, "uid-range-starts-at-zero", [Warning], "a range of user ids that begins at root",
        "A range that begins at 0 makes root the default user of the namespace, and lifts its level to `baseline`.";
    ExemptNamespaceLabelled, "exempt-namespace-labelled", [Warning], "a label on a namespace that is exempt",
        "Namespaces of the platform's payload are never synchronised, whatever their label says.";
    OpenshiftPrefixNotSynced, "openshift-prefix-not-synced", [Warning], "a namespace that is left alone for its name",
        "Names that begin with `openshift-` count as the platform's. Their labels are synchronised only where the namespace opts in.";
    RunLevelBypass, "run-level-bypass", [Warning], "a label that switches the admission by constraints off",
        "`openshift.io/run-level` with 0 or 1 marks namespaces that have to start before the API server of OpenShift. In them no constraints hold.";
    StackControllerOnNode, "stack-controller-on-node", [Warning], "a stack whose controller uses the node",
        "The Stack Manager makes the Deployment of `install.yaml` with the account of the install, and passes the network, the processes and the paths of the node on. Such a pod reaches past its namespace, whatever its account may do. `refused-by-level` and the like report a controller whose pods admission refuses.";
    UserAboveAccounts, "user-above-accounts", [Warning], "a user who may create pods under looser constraints than the service accounts",
        "On OpenShift, constraints admit a pod by what its creator may use, and by what its service account may use. The level that Pod Security enforces follows from the service accounts alone. A pod that its creator's constraints admit, and that the level forbids, is refused. Pods of controllers are not concerned.\n\nSubjects with full authority are left out.";
    RefusedByLevel, "refused-by-level", [Warning], "a workload whose pods the Pod Security level refuses",
        "The API server takes the workload and only warns; its pods are refused when the controller creates them, and the workload stays at zero.";
    RefusedByPolicies, "refused-by-psp", [Warning], "a workload whose pods no PodSecurityPolicy admits",
        "Admission tries the policies that the pod's service account may use. What else its creator may use does not help the pods of a controller.";
    RefusedByConstraints, "refused-by-scc", [Warning], "a workload whose pods no constraints admit",
        "Admission tries the constraints that the pod's service account may use, the most restrictive first, and fills in what they fill in.";
    RefusedByProfile, "refused-by-profile", [Warning], "a workload whose pods the profile of their namespace refuses",
        "The admission policy that is compiled from the profile judges the pod as the API server makes it: with the defaults of the profile where a mutating policy fills them in, with the volume of the service account's token, and with AppArmor annotations as fields. Each note is a validation that the pod fails.";
    RefusedByAdmissionPolicy, "refused-by-admission-policy", [Warning], "a workload that an admission policy of the inputs refuses",
        "A ValidatingAdmissionPolicy among the objects that a Manifests policy brings in, or among the manifests of `lint --from`, has a binding with the action `Deny` and rejects the workload or its pods. Each note is a validation that fails. The policy judges the objects with the common defaults of the API server.\n\nA policy that reads the user of the request, parameters, or other parts that the manifests do not show gives no answer. A note of the run names such policies with the reasons. Violations of a binding that only warns or audits are not reported.";
    KindNotServed, "kind-not-served", [Error, Warning], "an object of a kind that the target does not serve",
        "The target's Kubernetes version has no such kind at this apiVersion, so applying the output would fail as a whole.";
    AllowedHostPathsWithoutVolume, "allowed-host-paths-without-hostPath-volume", [Warning], "host paths that no pod can mount",
        "`allowedHostPaths` takes effect only where `volumes` allows `hostPath`. Seed 000 prints such a policy, and it stayed dead for three years.";
    ReservedName, "reserved-name", [Warning], "a name that the API server reserves from the next version on",
        "Since Kubernetes 1.37 the API server refuses to create an admission policy, a binding of one or a webhook configuration whose name ends in `.static.k8s.io`: these names belong to the policies and webhooks that it reads from files of its own. Kubernetes 1.36 accepts such a name and warns.\n\nChoose another name before the upgrade. For 1.37 and later the diagnostic is `invalid-object`.";
    HostPathWithoutPaths, "host-path-volume-without-allowed-paths", [Warning], "a profile that lets pods mount any path of the host",
        "`hostPath` among the volumes without a list of host paths means every path.";
    GroupRangeWithRoot, "group-range-includes-root", [Warning], "a group range that includes the root group",
        "A range that begins at 0, or `RunAsAny`, lets a tenant's pods join group 0 (R000-05).";
    BindsProfileToEveryone, "binds-psp-to-all-authenticated", [Warning], "a pod security policy that everybody may use",
        "Bound to `system:authenticated` or `system:serviceaccounts`, a policy is the floor for the whole cluster, and the stricter ones no longer count.";
    UnservedResource, "unserved-resource", [FailsCheck, Warning], "a resource in a rule that the target does not serve",
        "The server takes any text in a rule, and a rule that names something else than the plural, or another group, grants nothing in silence. A resource is reported where none of the rule's groups serves it: naming a group too many is harmless. Groups of custom resources are known where a Manifests policy brings their definitions.";
    DeadVerb, "dead-verb", [Warning], "a verb that nothing in its rule takes",
        "Each resource takes some verbs, as `bailiwick table` shows; a verb that none of a rule's resources takes grants nothing. Requests to create and to delete collections carry no name, so that a rule with `resourceNames` never matches them. Verbs of URLs are HTTP methods.";
    DeadUrl, "dead-url", [Warning], "a URL in a rule that no request has",
        "A URL begins with a slash; a `*` at its end stands for any text, and anywhere else for itself.";
    ClusterScopedPath, "cluster-scoped-path", [Warning], "a path that looks for a cluster's object in a namespace",
        "Seed 002 writes `/api/v1/namespaces/{namespace}/namespaces`; the server has no such path, since namespaces are in no namespace. The resource is taken to be meant. A binding in a namespace grants nothing of it, except requests for the namespace itself by its name.";
    AggregatesEverything, "aggregates-everything", [Warning], "a role that gathers the rules of every ClusterRole",
        "The empty selector fits all ClusterRoles, `cluster-admin` among them.";
    GrantExpired, "grant-expired", [FailsCheck], "a grant whose last day is over",
        "`expires` is the last day on which a grant is meant to hold. Nothing takes it away when the day is over: the bindings are the same until the policy changes, and every command that compiles warns. `--today` or `BAILIWICK_TODAY` says what day it is, so that CI can look ahead.";
    SelectsNoNamespace, "selects-no-namespace", [Warning], "a grant whose selector fits no namespace",
        "`namespaceSelector` is evaluated when compiling, over the namespaces of NamespaceSet, Tenancy and Manifests policies on that target with the labels they give, and `kubernetes.io/metadata.name`. Namespaces that no policy lists are not selected: bring them in with a Manifests policy, or name them under `namespaces`.";
    DeleteCollectionForTenants, "deletecollection-for-tenants", [Warning], "tenants who may delete all of something at once",
        "Deleting every ConfigMap or Secret of a namespace also removes the tenant's own certificates and tokens (seed 000). `except` on the rule takes the verb back.";
    // Packages of Crossplane.
    MissingAppYaml, "missing-app-yaml", [Error], "a package without `app.yaml`",
        "`app.yaml` at the top of a package says its version, where it works and what it depends on. Without it nothing can be granted. Packages of Crossplane v1 and later have `crossplane.yaml` instead, and need `revision: rbac-manager`.";
    RbacYamlNotSupported, "rbac-yaml-not-supported", [Error], "a package with `rbac.yaml`",
        "Before the design a package listed its permissions in `rbac.yaml`. Now they follow from what it owns and what it names under `dependsOn` (seed 004, \"Allowed Resource Access\"). A file that is still there would suggest permissions that are not granted: remove it.";
    UnexpectedPackageFile, "unexpected-package-file", [Error], "a file in a package that is not read",
        "The Stack Manager reads `app.yaml`, `install.yaml`, `behavior.yaml`, `group.yaml`, `*resource.yaml`, `*ui-schema.yaml` and `*crd.yaml`. A definition in a file of another name would be left out in silence, with all rights on it.";
    PermissionScopeMissing, "permission-scope-missing", [Error], "a package that does not say where it works",
        "`permissionScope` decides between a Role and a ClusterRole. Releases took an absent one for `Namespaced` in one place and refused it in another; here it has to be said.";
    PermissionScopeInvalid, "permission-scope-invalid", [Error], "a scope that no package has",
        "`permissionScope` is `Cluster` or `Namespaced`, spelt so.";
    ScopeMismatch, "scope-mismatch", [Error], "an install of another scope than its package",
        "Who may request a ClusterStackInstall is decided apart from who may request a StackInstall. Were a cluster package installed by the latter, that would mean nothing: the request is refused (seed 004, \"Stack Install\").";
    DisallowedCoreKind, "disallowed-core-kind", [Error], "a package that asks for kinds of Kubernetes itself",
        "Every stack has ConfigMaps, Secrets and Events, and no stack anything else of Kubernetes: it manages what is outside the cluster. What it owns and depends on is granted without asking.";
    ClusterScopedCrd, "cluster-scoped-crd", [Error], "a definition scoped to the cluster, for a stack that may have none",
        "Revision 1.0 of the design grants no stack a definition whose objects live outside namespaces; revision 1.1 allows them to cluster stacks. A namespaced stack cannot own one under any revision: its rights end at its namespace.";
    DependsOnSyntax, "depends-on-syntax", [Error], "a dependency that names no definition",
        "A dependency is `<plural>.<group>` or `<plural>.<group>/<version>`; the plural may be `*`.";
    DependsOnWithoutGroup, "depends-on-without-group", [Error], "a dependency without a group",
        "Without a group it means the core kinds of Kubernetes: `secrets` is every Secret, `*` everything from pods to nodes. Releases from v0.6 to v0.12 granted that.";
    DependsOnWildcardGroup, "depends-on-wildcard-group", [Error], "a dependency on every group",
        "`*.*` is every kind of the cluster, nodes and roles among them. Name the groups that the package uses.";
    DependsOnEmptyKind, "depends-on-empty-kind", [Error], "a dependency without a kind",
        "Nothing stands before the first dot, so that no definition is named. Write its plural there, or `*` for all of the group.";
    DependsOnKubernetesGroup, "depends-on-kubernetes-group", [Error], "a dependency on a group of Kubernetes itself",
        "Groups without a dot (`apps`) and those that end in `k8s.io` belong to Kubernetes. By these marks `--restrict-core-apigroups` of the Stack Manager goes.";
    OwnsKubernetesGroup, "owns-kubernetes-group", [Error], "a package that brings a definition in a group of Kubernetes itself",
        "Groups without a dot and those that end in `k8s.io` belong to Kubernetes. The Stack Manager lets no stack have rights on them, and the API server takes definitions there only with an approval of the Kubernetes project.";
    DependsOnGroupWildcard, "depends-on-group-wildcard", [Warning], "a dependency on all of a group",
        "`*.group` also grants what other packages add to the group later, and every subresource.";
    DependsOnNotAPluralResource, "depends-on-not-a-plural-resource", [Warning], "a dependency by the kind",
        "Rules name resources by their lower-case plural. A kind matches nothing, in silence; the documentation of Crossplane made the same mistake.";
    DependsOnInstaller, "depends-on-installer", [Warning], "a stack that can install stacks",
        "A stack that may create installs can install any package, and through it hold what that is granted.";
    DependsOnSecurityGroup, "depends-on-security-group", [Warning], "a dependency on a group that decides over access",
        "The group has a dot, so the rule of the Stack Manager lets it pass. But every verb on SecurityContextConstraints includes `use`, which lets pods run as anything.";
    DependencyNotProvided, "dependency-not-provided", [Warning], "a dependency that no stack here brings",
        "The rule is granted and matches nothing until the definition is installed. Bring in what is installed by other means with a `Manifests` policy.";
    CrdSchemaConflict, "crd-schema-conflict", [Error], "one version of a definition with two schemas",
        "A definition belongs to the whole cluster, even where the stacks that bring it live in different namespaces. Two versions of a stack that change the schema and keep its version leave one schema for both controllers (seed 004, \"Multiple Versions\"): the fields that differ are listed.\n\nGive the changed schema a version of its own, such as `v1beta2`, and let the definition serve both.";
    CrdScopeConflict, "crd-scope-conflict", [Error], "one definition with two scopes",
        "The scope of a definition is fixed when it is created. The second stack could not be installed.";
    CrdMultipleVersions, "crd-multiple-versions", [Warning], "stacks that bring different versions of one definition",
        "That is allowed: rules know no versions, so both stacks hold the same. But the cluster has one definition, which has to serve every version that some controller uses; the one that is installed last may drop the other's.";
    ClusterStackSingleVersion, "cluster-stack-single-version", [Error], "two instances of one cluster stack",
        "A cluster stack works in every namespace. Two of them, perhaps of different versions, would both manage the same objects; the design has a single one that all environments share (seed 004, \"Cluster Stack Single Instance Version Limitation\").";
    ClusterRoleNameClash, "cluster-role-name-clash", [Error], "two cluster stacks of one name",
        "ClusterRole and ClusterRoleBinding of a cluster stack carry its name and no namespace, so the second would take over the first one's.";
    StackReadsEverySecret, "stack-reads-every-secret", [Warning], "a cluster stack, or a provider",
        "Every stack holds `*` on Secrets where it works, and a cluster stack works everywhere, as each provider of the RBAC manager does: it reads the credentials of every namespace. The design wants it so; say with `metadata.allow` for which stacks you want it too.";
    StackReachesOut, "stack-reaches-out", [Warning], "a namespace stack that is not isolated",
        "A namespace stack reads and writes nothing outside its namespace (seed 004, \"Namespace Stacks\"). Some grant to its account, or to a group of accounts that it is in, holds elsewhere. `bailiwick explain stacks` shows how far each stack reaches.";
    StackBesidePrivileged, "stack-beside-privileged-account", [Warning], "a namespace stack that can become an account with more rights",
        "A stack holds `*` on the Secrets of its namespace. That is enough to have the token of any other account there: it creates a Secret of type `kubernetes.io/service-account-token` that names the account, and reads it. Beside the controller of a cluster stack, or the Stack Manager, a namespace stack is not isolated. Give those a namespace of their own.";
    StackManagerCannotInstall, "stack-manager-cannot-install", [Warning], "a stack that the Stack Manager cannot install",
        "The Stack Manager lacks a right that the API server asks for: to write the object, or something that the object grants (`specs/kubernetes.md` section 8). A template of the workspace, or a role that is brought in, differs from what the manager's rights were made for.";
    NoCommonDefinition, "no-common-definition", [Error], "a definition of which no copy serves all packages",
        "The stacks bring different versions of a definition, and none of the copies has all of them. Write one that serves them all, put it into each package, and let one version be stored.";
    PermissionRequestRejected, "permission-request-rejected", [Error], "a permission request of a provider that is not allowed",
        "The RBAC manager of Crossplane v1 splits each request into single permissions and looks them up in the ClusterRole `crossplane:allowed-provider-permissions`; without one it rejects everything. After a single rejection the provider gets no role at all. A subresource of any resource (`*/status`) and the beginning of a URL (`/apis/*`) are patterns to Kubernetes, but not to this check.";
    FamilyOfAnother, "family-of-another-organisation", [Warning], "a provider that claims another one's family",
        "Anybody can write the label of a family. Members use each other's definitions only where registry and organisation of their images are the same.";
    // Judging access.
    NothingToJudge, "nothing-to-judge", [Error], "inputs without anything that decides access",
        "A tool that reads nothing and then says no, or says that all is well, is worse than none. The inputs hold no role, binding, namespace, service account or definition of a custom resource.\n\n`kubectl get clusterroles,clusterrolebindings,roles,rolebindings -A -o yaml` prints what decides access in a cluster.";
    InvalidUsage, "invalid-usage", [Error], "a command that cannot be run as it is written",
        "The command line names what is not there, such as an unknown kind, role or namespace, has options that do not go together, or asks for a file that would overwrite another one. The message says what is wrong. `bailiwick COMMAND --help` describes the options. The exit code is 2.";
    RunFailed, "run-failed", [Error], "a run that failed",
        "The input may be right, and the run still cannot end: a file cannot be read or written, the disk is full, git fails, or the program has a defect. The exit code is 3. The code stands in the machine-readable forms of `--diagnostics`; people get the message alone.";
    InvalidQuestion, "invalid-question", [Error], "a question that cannot be asked",
        "A question names a subject (`--as`, `--as-group`) and a request: a verb with a resource or a URL path, or a whole HTTP request.";
    NothingToMigrate, "nothing-to-migrate", [Error], "inputs without anything to migrate",
        "The inputs hold no PodSecurityPolicy. A cluster from 1.25 on has none any more: what it enforced before is in an old dump or in Git.\n\n`kubectl get podsecuritypolicies,clusterroles,clusterrolebindings,roles,rolebindings,namespaces,serviceaccounts,pods,deployments,daemonsets,statefulsets,jobs,cronjobs -A -o yaml` prints all that `bailiwick migrate psp` looks at.";
    UnusableIndex, "unusable-index", [Error], "an index that cannot be asked",
        "A file written by `bailiwick index` holds a world as it was settled: for one version, over one baseline. It ends with a checksum, and begins with the version of its format. What was cut off, changed, or written by another version is refused and not guessed at.";
    UnknownVersion, "unknown-version", [Error], "a version without known facts",
        "The default policy, the resources and the switches of the authorizer are known for Kubernetes 1.16 to 1.37.";
    ExpressionType, "expression-type", [Warning], "an expression that does not fit a kind of the policy",
        "The API server compiles the expressions of a ValidatingAdmissionPolicy without the kinds that the policy matches, and accepts `object.spec.replica > 5`. A controller then compiles `expression` and `messageExpression` of each validation for each kind, and writes what does not fit into `status.typeChecking`: a field that the kind does not have, or a value of another type. The program reports the same before the policy is applied.\n\nA request for an object of the kind fails in the expression when it reaches the field: `failurePolicy: Fail` denies the request, and `Ignore` lets it pass.\n\nBad:\n\n```yaml\nvalidations:\n  - expression: object.spec.replica <= 5\n```\n\nGood:\n\n```yaml\nvalidations:\n  - expression: object.spec.replicas <= 5\n```\n\nThe check covers the rules of `matchConstraints.resourceRules` that name their groups and versions without `*`, and kinds of Kubernetes and of the CustomResourceDefinitions among the inputs. Quantities, such as `resources.limits`, have no type in the API server's definitions and are reported, too; read them through `dyn(object)`.";
    LegacyAddress, "legacy-address", [Warning], "a range of addresses that later versions refuse",
        "Before Kubernetes 1.36 the API server takes `010.0.0.0/8`, `10.0.0.1/8` and `::ffff:10.0.0.0/104` in a NetworkPolicy. Programs read such ranges in different ways: as octal numbers, as the one address, as IPv4 or as IPv6. Since 1.36 the server refuses them (feature gate StrictIPCIDRValidation) when a policy is created or its range is changed.\n\nWrite the range in its one form: no leading zeros, no bits beyond the length, IPv4 as IPv4.";
    UncheckedGroup, "unchecked-group", [Warning], "a built-in kind in a group that does not exist",
        "The apiVersion of an object is like one that Kubernetes has for the kind, and is another: `core/v1` for `v1`, or `app/v1` for `apps/v1`. A custom resource could have that group, so the object is written, checked for its metadata alone. The API server answers that it does not know the kind.\n\nCorrect the apiVersion, or bring in the CustomResourceDefinition of the kind with a Manifests policy.";
    UnknownResource, "unknown-resource", [Error], "a resource that is not served",
        "Neither the cluster's version nor a CustomResourceDefinition among the inputs serves a resource of that name. A rule may leave out `apiGroups` only where some group serves the resource: name the groups, or bring the definition in with a Manifests policy. Of a question, `--any-resource` takes the name as it stands.";
    NewerThanKnown, "newer-than-known", [Warning], "a version that is newer than every known one",
        "A target, `--kubernetes-version` or `--baseline` names a minor of Kubernetes, or a release of OpenShift, that is newer than the newest one whose facts this program has. It is compiled and judged as the newest known one: the output is byte for byte the output for that version, down to the version of the Pod Security checks in labels. What the newer version adds, removes or changes in resources, default roles, feature gates, admission and validation is not judged.\n\nWhat the tables lack may be there in the newer version. So an unknown kind or API version, an unknown field of a kind of Kubernetes and an unknown resource behind a path are warnings for such a target; for a known version they are errors. A resource without `apiGroups` that cannot be looked up stays an error, since no rule can be written for it: name its group.\n\nAnswers of `bailiwick ask` about such a version have `judgedAs`, the version that was judged. Use a version of the program that knows the newer one.";
    DeadExpectation, "dead-expectation", [Error, Warning], "an AccessTest that cannot fail",
        "A `mustNot` about something that no request can be is always fulfilled: a resource without that verb, a cluster-scoped resource in a namespace, a path that is no URL rule's business. It proves nothing, and hides what was meant.";
    ApplierCannotApply, "applier-cannot-apply", [Warning], "an object that the applier of the output may not write",
        "The target says by `appliedBy` which identity applies its output. By plain RBAC it has to hold `create` and `patch` on the kind; for roles and bindings the API server also refuses what would grant more than the identity holds, unless it has `escalate` on the role, or `bind` on the role that is bound (`specs/kubernetes.md` section 8). The sync would stop at this object.\n\nWhat the output grants to that identity itself counts as held: apply such a grant first.";
    DanglingRole, "dangling-role", [Finding], "a binding whose role is not there",
        "It grants nothing today, and takes effect as soon as an object of that name exists.";
    AggregatedRoleWithRules, "aggregated-role-with-rules", [Warning], "an aggregated ClusterRole with rules of its own",
        "The aggregation controller writes what it gathers over the rules of the role, and Argo CD or Flux writes them back: an endless difference. Only while nothing is gathered at all does the controller write nothing, and the stated rules stay in force.\n\nLeave out `rules`.";
    AggregationRing, "aggregation-ring", [Warning], "aggregated roles that gather each other",
        "The aggregation controller copies the rules of the selected roles. In a ring a rule that was once there keeps itself alive, and the manifests do not show what the roles grant (`specs/kubernetes.md` 9.1). Here they have only what comes from outside the ring.";
    UnknownRule, "unknown-rule", [Error], "a rule that `lint` does not have",
        "`--select` and `--ignore` take ids of the catalogue such as `E001`, families such as `E`, and the names of the diagnostics that can be warnings, in a list with commas.";
    // Risks of grants; the conditions are in `access::risk`.
    FullAuthority, "full-authority", [Finding], "a grant of every verb on every resource",
        "A subject with this right has the cluster, or the namespace: it reads every secret, changes every role, and reaches everything that is added later.";
    EscalateRoles, "escalate-roles", [Finding], "a grant to write roles beyond what the writer holds",
        "The API server refuses to let a role grant more than its writer holds. `escalate` on the role lifts that: the writer puts any rule into a role that it, or its accomplice, is bound to.";
    BindRoles, "bind-roles", [Finding], "a grant to bind roles beyond what the writer holds",
        "The API server refuses a binding to a role that grants more than its writer holds. `bind` on the role lifts that, so that together with writing bindings it hands out whatever those roles grant. It is asked for in the binding's namespace, on `roles` and `clusterroles`.";
    ImpersonateUsers, "impersonate-users", [Finding], "a grant to act as any user",
        "`impersonate` on users gives everything that any user may do; audit logs show it only to who looks for it.";
    ImpersonateGroups, "impersonate-groups", [Finding], "a grant to act as a member of any group",
        "`impersonate` on groups, together with some user or account to act as, reaches every group: `system:masters` is allowed everything before any rule is asked.";
    ImpersonateAccounts, "impersonate-accounts", [Finding], "a grant to act as service accounts",
        "Controllers hold more than people do, and `impersonate` on service accounts reaches all of them: cluster-wide those of `kube-system` too.";
    ImpersonateExtras, "impersonate-extras", [Finding], "a grant to set uids or extra fields of whom one acts as",
        "Extra fields carry scopes of tokens and what an authentication proxy says; webhooks and other servers decide by them.";
    ConstrainedImpersonation, "constrained-impersonation", [Finding], "a grant to act as others for some actions",
        "Since 1.36 the verbs `impersonate:MODE` and `impersonate-on:MODE:VERB` give impersonation for single actions. It is less than `impersonate`, and still an action in another's name.";
    IssueTokens, "issue-tokens", [Finding], "a grant to issue tokens of service accounts",
        "`create` on `serviceaccounts/token` is the TokenRequest API: the token acts as the account from anywhere, until it expires.";
    TokenThroughSecret, "token-through-secret", [Finding], "a grant that makes and reads tokens by way of secrets",
        "A secret of type `kubernetes.io/service-account-token` is filled with a token that never expires, of the account that the secret names. Creating secrets and reading them is enough; of the verbs `list` and `watch` return the data as well.";
    ApproveCertificates, "approve-certificates", [Finding], "a grant to ask for a client certificate and approve it",
        "A subject that may create a CertificateSigningRequest, update its approval and `approve` for `kubernetes.io/kube-apiserver-client` gets a certificate of any user and group except `system:masters`, which that signer refuses. The signers for kubelets give identities of nodes. Certificates cannot be revoked.";
    SignCertificates, "sign-certificates", [Finding], "a grant to issue certificates",
        "Updating the status of a CertificateSigningRequest with `sign` on its signer puts a certificate there that others trust.";
    WriteRoles, "write-roles", [Finding], "a grant to write roles",
        "The API server lets such a role grant only what its writer holds. It is a way to hand that on and to stay, not to gain.";
    WriteBindings, "write-bindings", [Finding], "a grant to write bindings",
        "The API server lets such a binding hand out only what its writer holds. It is a way to hand that on and to stay, not to gain.";
    DeleteRoles, "delete-roles", [Finding], "a grant to delete roles or bindings",
        "Without its binding a controller or an administrator is locked out.";
    AggregatedIntoDefaultRole, "aggregated-into-default-role", [Finding], "a role whose label adds to a default role",
        "The label `rbac.authorization.k8s.io/aggregate-to-ROLE` puts the rules of a ClusterRole into `admin`, `edit` or `view`, and so into the hands of everybody who holds one of these, in objects that do not change. The severity is that of what is added.";
    ChangeAwsAuth, "change-aws-auth", [Finding], "a grant to change the ConfigMap `aws-auth`",
        "EKS reads from this ConfigMap of `kube-system` which users and roles of AWS are which users and groups of the cluster, `system:masters` included. The rule asks where the ConfigMap is among the objects or a role names it. A cluster whose authentication mode is `API` alone does not read it.";
    ReachCloudAccount, "reach-cloud-account", [Finding], "a grant that reaches a service account with an identity in a cloud",
        "An annotation of the account (`eks.amazonaws.com/role-arn`, `iam.gke.io/gcp-service-account`, `azure.workload.identity/client-id`) names an identity in a cloud. A subject that may request tokens of the account, or run pods with it, gets a token that the cloud takes for that identity, unless an admission policy refuses these pods. The objects do not show what that identity may do. Grants that are limited by names are not reported.";
    WriteIdentities, "write-identities", [Finding], "a grant to write users, groups or logins of OpenShift",
        "OpenShift keeps its users and groups as objects. A writer of a Group or a User adds users to a group that roles are bound to; a writer of a UserIdentityMapping gives a login to another user; the OAuth configuration names the identity providers, and an OAuthClient receives tokens of the users who log in through it. An Identity is not among these: it gives no login as long as the User does not name it as well.";
    UsePrivilegedPolicy, "use-privileged-policy", [Finding], "a grant to run pods under privileged policies",
        "`use` on a PodSecurityPolicy or SecurityContextConstraints lets pods run as it allows; a privileged one makes every pod root on its node. Without names it is all of them.";
    WritePodPolicies, "write-pod-policies", [Finding], "a grant to write the policies that fence pods in",
        "A subject that may write PodSecurityPolicies or SecurityContextConstraints can allow pods what was refused to them.";
    DriveGitops, "drive-gitops", [Finding], "a grant to drive a GitOps controller",
        "Argo CD and Flux apply what their objects point to, with rights of their own. A subject that may write these objects holds the rights of the controller, unless the controller acts as another account.";
    DriveInstaller, "drive-installer", [Finding], "a grant to drive a package manager",
        "Crossplane, the Operator Lifecycle Manager and Helm controllers install what is asked for, with the roles that the package brings.";
    NearlyFullAuthority, "nearly-full-authority", [Finding], "a grant of some verbs on every resource",
        "A rule with a star for the API groups and a star for the resources opens nearly all that other rules of `lint` are about. The finding stands for all of them, names the worst, and has the severity of the worst; `--select` with the name of one of them reports that one.";
    ReadSecrets, "read-secrets", [Finding], "a grant to read secrets",
        "Secrets hold tokens of service accounts, keys and passwords; cluster-wide those of the control plane too.";
    ListSecrets, "list-secrets", [Finding], "a grant to list secrets that seems not to read them",
        "`list` and `watch` return whole objects. Leaving `get` out hides nothing.";
    ChangeSecrets, "change-secrets", [Finding], "a grant to change secrets",
        "What others trust can be replaced: certificates of servers, passwords, tokens that pull images.";
    ReadConfigMaps, "read-configmaps", [Finding], "a grant to read ConfigMaps",
        "Configuration tells how things are reached, and often holds what should be in a secret.";
    WriteConfigMaps, "write-configmaps", [Finding], "a grant to write ConfigMaps",
        "Configuration decides what programs do. In `kube-system` it is that of DNS, of authentication by cloud identities and of kubeadm.";
    ReadLogs, "read-logs", [Finding], "a grant to read the logs of pods",
        "Logs hold what programs should not have written: tokens, addresses, data of people.";
    ReadEverything, "read-everything", [Finding], "a grant to read every resource",
        "A star among the resources reads secrets as well, and every resource that is added later.";
    DeleteEvents, "delete-events", [Finding], "a grant to delete events",
        "Events tell afterwards what was done. They expire by themselves.";
    CreatePods, "create-pods", [Finding], "a grant to create pods",
        "A pod names any service account of its namespace and mounts any secret, ConfigMap and claim there, whatever its maker may read; and where the Pod Security level allows it, the node. It cannot be limited by names.";
    ChangeWorkloads, "change-workloads", [Finding], "a grant to change what makes pods",
        "A subject that may write a Deployment, a Job or a resource like these writes its pods, with any service account of the namespace.";
    ChangePods, "change-pods", [Finding], "a grant to change pods",
        "The image of a running pod can be changed: the new one runs with the pod's account and volumes.";
    ExecIntoPods, "exec-into-pods", [Finding], "a grant to run commands in pods",
        "A command in a pod has its service account, its secrets and its network. Before 1.35 `get` was enough for it by a web socket.";
    AttachToPods, "attach-to-pods", [Finding], "a grant to attach to pods",
        "Attaching reads and writes the streams of a process in a pod. Before 1.35 `get` was enough for it by a web socket.";
    ReachPorts, "reach-ports", [Finding], "a grant to reach the ports of pods",
        "Forwarded ports and proxies come from the kubelet or the API server, past network policies, to ports that were not meant for clients outside. Before 1.35 `get` on `pods/portforward` was enough.";
    EphemeralContainers, "ephemeral-containers", [Finding], "a grant to put containers into running pods",
        "An ephemeral container is a container of any image in the pod of another user, next to its processes, with its service account.";
    EvictPods, "evict-pods", [Finding], "a grant to stop pods",
        "Stopping pods stops what they serve; deleting them does so past every disruption budget.";
    StealPods, "steal-pods", [Finding], "a grant to move pods to a node of one's choice",
        "A subject that may stop pods and taint nodes can drive the pod of a controller, with its token, onto a node that is already lost.";
    ChangePodStatus, "change-pod-status", [Finding], "a grant to change the status of pods",
        "Services send traffic to the addresses that the status of ready pods tells.";
    PlacePods, "place-pods", [Finding], "a grant to put pods on nodes",
        "A binding puts a pod on a node past every rule of the scheduler.";
    Scale, "scale", [Finding], "a grant to scale anything",
        "Scaling to nothing stops a workload, and scaling up fills the nodes.";
    WriteAccounts, "write-accounts", [Finding], "a grant to write service accounts",
        "Annotations of an account give it an identity in the cloud, and its pull secrets reach every pod that has it.";
    KubeletApi, "kubelet-api", [Finding], "a grant of the kubelets' API",
        "The kubelet has one right for nearly all it does: `get` on `nodes/proxy` opens a web socket that runs commands in any pod of the node, past admission and past the audit log. This is so in 1.36 and 1.37.";
    ChangeNodes, "change-nodes", [Finding], "a grant to change nodes",
        "Labels and taints decide which pods run where; a node that is deleted drops its pods.";
    ChangeNodeStatus, "change-node-status", [Finding], "a grant to change the status of nodes",
        "A status tells how much room a node has, which images it holds, and where its kubelet answers.";
    KubeletDetails, "kubelet-details", [Finding], "a grant to read what kubelets know",
        "These parts of the kubelet's API can be granted one by one, instead of `nodes/proxy`. Logs of a node, and checkpoints of containers, hold what is in the pods. Since 1.37 `nodes/pods` also opens `/allocatedPods`, where the alpha feature gate KubeletAllocatedPodsEndpoint is on.";
    AdmissionWebhooks, "admission-webhooks", [Finding], "a grant to write admission webhooks",
        "A webhook sees every object that is written, secrets included, and may change or refuse it. Until 1.36 that includes the tokens of `tokenreviews` and the questions of access reviews; since 1.37 no webhook is asked about `tokenreviews`, `selfsubjectreviews` and the access reviews of `authorization.k8s.io`, and a rule that names one has no effect.";
    AdmissionPolicies, "admission-policies", [Finding], "a grant to write admission policies",
        "A mutating policy changes any object, and a validating one that is gone refuses nothing any more.";
    PolicyEngines, "policy-engines", [Finding], "a grant to write policies of a policy engine",
        "Kyverno and Gatekeeper refuse, change and make objects as their policies say.";
    ApiServices, "api-services", [Finding], "a grant to write APIServices",
        "An APIService sends the requests for an API group, with what is in them, to a server of the writer's choice.";
    CustomResourceDefinitions, "custom-resource-definitions", [Finding], "a grant to write definitions of custom resources",
        "A conversion webhook in a definition reads and changes its objects; deleting a definition deletes them all.";
    PersistentVolumes, "persistent-volumes", [Finding], "a grant to create persistent volumes",
        "A volume of type `hostPath` is any folder of a node, for pods that could not mount it themselves.";
    StoragePlumbing, "storage-plumbing", [Finding], "a grant to change how volumes are made and attached",
        "Storage classes and drivers decide with which rights volumes are mounted, and attachments which node has them.";
    RuntimeAndPriorityClasses, "runtime-and-priority-classes", [Finding], "a grant to write runtime or priority classes",
        "A runtime class may lead out of the sandbox, and a priority class pushes other pods off their nodes.";
    FlowControl, "flow-control", [Finding], "a grant to change the flow control of the API server",
        "Flow schemas decide whose requests wait: everybody else's can be made to, for ever.";
    ControlPlaneLeases, "control-plane-leases", [Finding], "a grant to write leases of the control plane",
        "A subject that holds the lease of a controller stops the controller, and a node whose lease is not renewed counts as lost.";
    NamespaceLabels, "namespace-labels", [Finding], "a grant to change namespaces",
        "Labels of a namespace choose its Pod Security level, the network policies and the webhooks that it is under. A Namespace can be patched by a RoleBinding in it, which is so for no other resource outside of namespaces.";
    DeleteNamespaces, "delete-namespaces", [Finding], "a grant to delete namespaces",
        "With a namespace everything in it goes. A RoleBinding in the namespace is enough for it.";
    ReviewAccess, "review-access", [Finding], "a grant to review tokens or access",
        "The answers tell whose a token is, and who may do what.";
    ReadRbac, "read-rbac", [Finding], "a grant to read roles and bindings",
        "Roles and bindings tell an attacker whose token is worth the trouble.";
    SensitiveUrls, "sensitive-urls", [Finding], "a grant of URLs beyond the public ones",
        "Profiles, logs and metrics of the API server tell about its objects and its users; other methods than GET change something.";
    ControlPlaneSnapshots, "control-plane-snapshots", [Finding], "a grant of snapshots of the cluster's database",
        "A snapshot of etcd holds every secret there is.";
    WriteServices, "write-services", [Finding], "a grant to write services or endpoints",
        "The addresses of a service decide who gets its traffic, passwords included.";
    ChangeServiceStatus, "change-service-status", [Finding], "a grant to change the status of services",
        "The status of a LoadBalancer service names addresses, and every node then sends their traffic to the service: CVE-2020-8554, which stays open by design.";
    WriteNetworkPolicies, "write-network-policies", [Finding], "a grant to write network policies",
        "Policies only add up, so that one more of them opens what the others keep closed.";
    WriteIngress, "write-ingress", [Finding], "a grant to write ingresses or gateways",
        "An ingress claims host names, takes over paths of others, and often carries configuration of the proxy in its annotations.";
    AnonymousSubject, "anonymous-subject", [Finding], "a binding for requests without credentials",
        "Every client that reaches the API server has this right. Only the server's health and the cluster's address are meant to be known so.";
    EverybodySubject, "everybody-subject", [Finding], "a binding for everybody",
        "`system:authenticated` is every user and every service account; on some clouds every customer of the cloud.";
    AllAccountsSubject, "all-accounts-subject", [Finding], "a binding for all service accounts",
        "`system:serviceaccounts` is every account of every pod, and `system:serviceaccounts:NAMESPACE` every one of another namespace: those of programs that no review has seen, and those to come.";
    MastersSubject, "masters-subject", [Finding], "a binding for `system:masters`",
        "Its members may do everything before any rule is asked, so that the binding gives nothing. It makes the group look like one that can be managed.";
    ClusterAdminBinding, "cluster-admin-binding", [Finding], "a binding to `cluster-admin`",
        "Cluster-wide it is everything; in a namespace everything there, the namespace itself and all accounts included.";
    BaselineRoleBinding, "baseline-role-binding", [Finding], "a binding to a powerful role of the baseline",
        "A role such as `admin` or `edit` comes with the cluster, and a binding to it is one decision. The finding stands for every finding of `lint` about the rules of the role, has the severity of the worst, and counts them; `--select` with the name of one of them reports that one. A role that the inputs define or change is not among the roles of the baseline, and neither is a rule that the inputs add to such a role by aggregation: findings about these are reported one by one. A permission that the subject also holds by another role is reported there as well.";
    RiskyWorkload, "risky-workload", [Finding], "a workload that runs as a powerful service account",
        "A container that is taken over has the token of its service account. The finding names a workload among the inputs whose service account has high or critical findings by its own bindings, with the worst of them; its severity is that of the worst. A pod that names no account has `default`. Workloads are left out whose pods mount no token: by `automountServiceAccountToken` of the pod template, or of the ServiceAccount where the template does not have the field. Where users who lack these permissions can create pods in the namespace, `account-above-users` stands for the finding.";
    AccountAboveUsers, "account-above-users", [Finding], "a service account above the users of its namespace",
        "A user who can create pods in a namespace can run them as any service account of the namespace, and has the permissions of that account. The finding names an account with high or critical findings, and the users and groups who can create pods or workloads in its namespace by a binding there and who are not granted the same by their own bindings. Subjects who can create pods cluster-wide are left out: `create-pods` reports them. Where workloads run as the account, the finding stands for `risky-workload` as well and is as severe.";
    TenantReachesTenant, "tenant-reaches-tenant", [Finding], "a tenant with permissions in the namespace of another tenant",
        "A subject of one tenant holds permissions in a namespace of another tenant, by a binding that is not an object of a Tenancy. The permissions hold without the consent of the other tenant, and what the subject can read or change there ends the isolation of the two.\n\nA tenant is an account of a Tenancy; accounts of the same name in several Tenancies of a target are one tenant, with a namespace from each. The subjects of a tenant are the service accounts of its namespaces, the group of these accounts, and the users and groups that Tenancies bind in the namespaces of this tenant alone. A user or group that Tenancies bind for several tenants is a subject of none, and neither is a name without a variable of the account.\n\nBad:\n\n```yaml\napiVersion: bailiwick.dev/v1alpha1\nkind: Tenancy\nmetadata:\n  name: tools\nspec:\n  accounts:\n    inline:\n    - {name: red}\n    - {name: green}\n  variables:\n    name: {type: string, pattern: \"[a-z]+\", maxLength: 20}\n  class:\n    namespace: {name: \"tool-{name}\"}\n    grants:\n    - name: owners\n      clusterRole: edit\n      to: {users: [\"{name}-owner\"]}\n---\napiVersion: bailiwick.dev/v1alpha1\nkind: Grant\nmetadata:\n  name: help\nspec:\n  to:\n    users: [red-owner]\n  clusterRoles: [edit]\n  namespaces: [tool-green]\n```\n\nGood: the Tenancy binds the subject for each tenant alike.\n\n```yaml\nto:\n  users: [\"{name}-owner\"]\n  groups: [helpers]\n```\n\nThe severity is that of the worst finding about the permissions, and at least medium. Write access to workloads, Secrets, Roles and RoleBindings is critical. The finding stands for the findings of `lint` about the same permissions; `--select` with the name of one of them reports that one. Where a policy accepts this code, or the workspace ignores it, the others are reported instead. `tenant-reaches-cluster` reports cluster-wide permissions.\n\nThe rule looks at the permissions of each subject itself, and does not follow a path through a service account of a namespace without a tenant. It applies to workspaces: with `--from` no Tenancy names the tenants.";
    TenantUnlikeOthers, "tenant-unlike-others", [Finding], "a tenant with other bindings than most tenants of its Tenancy",
        "At least three quarters of the namespaces of a Tenancy have the same bindings beside the objects of the Tenancy, and the namespace of this tenant has others: it has a binding more, or lacks one. An exception that was made by hand stays when its reason is gone, and a forgotten binding shows when a team needs it.\n\nA binding counts by its role and its subjects, a Role by its rules. Names that contain the name of the tenant or of its namespace as a word are alike. The rule looks at Tenancies with at least four namespaces. Objects of the Tenancy itself are left out, because the policy states their differences, and so are bindings that `tenant-reaches-tenant` reports.\n\nBad: of the tenants red, green, blue and black, red alone has the grant.\n\n```yaml\napiVersion: bailiwick.dev/v1alpha1\nkind: Grant\nmetadata:\n  name: auditors\nspec:\n  to:\n    groups: [auditors]\n  clusterRoles: [view]\n  namespaces: [tool-red]\n```\n\nGood: the Tenancy grants it to all.\n\n```yaml\nclass:\n  grants:\n  - name: auditors\n    clusterRole: view\n    to: {groups: [auditors]}\n```\n\nIt applies to workspaces: with `--from` no Tenancy names the tenants.";
    TenantReachesCluster, "tenant-reaches-cluster", [Finding], "a tenant with permissions in the whole cluster",
        "A subject of a tenant holds cluster-wide permissions beyond those of every authenticated user in the default policy. Cluster-wide permissions on objects in namespaces hold in the namespaces of every other tenant, too.\n\nA tenant is an account of a Tenancy; accounts of the same name in several Tenancies of a target are one tenant, with a namespace from each. The subjects of a tenant are the service accounts of its namespaces, the group of these accounts, and the users and groups that Tenancies bind in the namespaces of this tenant alone. A user or group that Tenancies bind for several tenants is a subject of none, and neither is a name without a variable of the account.\n\nBad:\n\n```yaml\napiVersion: bailiwick.dev/v1alpha1\nkind: Tenancy\nmetadata:\n  name: tools\nspec:\n  accounts:\n    inline:\n    - {name: red}\n    - {name: green}\n  variables:\n    name: {type: string, pattern: \"[a-z]+\", maxLength: 20}\n  class:\n    namespace: {name: \"tool-{name}\"}\n    grants:\n    - name: owners\n      clusterRole: edit\n      to: {users: [\"{name}-owner\"]}\n---\napiVersion: bailiwick.dev/v1alpha1\nkind: Grant\nmetadata:\n  name: viewer\nspec:\n  to:\n    users: [red-owner]\n  clusterRoles: [view]\n  clusterWide: true\n```\n\nGood: the grant names the namespaces of the tenant.\n\n```yaml\nspec:\n  to:\n    users: [red-owner]\n  clusterRoles: [view]\n  namespaces: [tool-red]\n```\n\nThe severity is that of the worst finding about the permissions. It is at least high for objects that live in namespaces, medium for changes of cluster-scoped objects, and low where the permissions only read cluster-scoped objects such as nodes, namespaces and storage classes. The finding stands for the findings of `lint` about the same permissions; `--select` with the name of one of them reports that one. Where a policy accepts this code, or the workspace ignores it, the others are reported instead.\n\nIt applies to workspaces: with `--from` no Tenancy names the tenants.";
    DefaultAccountBound, "default-account-bound", [Finding], "a binding for the default service account",
        "The account `default` is what pods get that ask for none: each of them holds what is bound to it.";
    NeedlesslyClusterWide, "needlessly-cluster-wide", [Finding], "a ClusterRoleBinding for what lives in namespaces",
        "Everything that the role grants lives in namespaces, and the account does so as well. A RoleBinding in each namespace that is meant says the same for fewer.";
    BindingWithoutSubjects, "binding-without-subjects", [Finding], "a binding without subjects",
        "It grants nothing, and is often left behind when a subject was removed.";
    UnusedRole, "unused-role", [Finding], "a role that nothing uses",
        "No binding among the objects names the role, no aggregated role gathers it, and no rule allows to bind it by name. A binding elsewhere may still use it: the finding holds for the objects that were read.";
    RepeatedUsers, "repeated-users", [Finding], "the same users in several bindings",
        "At least three bindings from different places list the same users, two or more. A change of the team has to reach every list; a user who leaves stays where one is forgotten.";
    ShadowedBinding, "shadowed-binding", [Finding], "a binding that adds nothing",
        "Every subject of the binding holds all its rules by other bindings, in the same namespace or cluster-wide. All bindings that are reported so can be removed together, and nobody loses a permission. Groups that a user may be a member of do not count.";
    RepeatedRole, "repeated-role", [Finding], "several roles with the same rules",
        "At least three roles from different places have the same rules, whatever the order. Copies drift apart: a correction has to reach every one.";
    ForeignAccount, "foreign-account", [Finding], "a binding for an account of another namespace",
        "A subject that may run pods in the other namespace holds the rights of this binding.";
    ManyRoles, "many-roles", [Finding], "a subject with many roles",
        "The subject is bound to more than four roles with different rules (the threshold of krane). Roles with the same rules in several namespaces count once. Its permissions are the union of all of them, which no single object shows; `bailiwick explain` prints it.";
    Wildcard, "wildcard", [Finding], "a role with a star",
        "A star means what there is and what there will be: verbs such as `escalate` and `impersonate`, subresources such as `pods/exec`, and every custom resource that is installed later.";
    SlashStarResource, "slash-star-resource", [Finding], "a resource that ends in `/*`",
        "Only `*` and `*/SUBRESOURCE` are more than letters. `pods/*` is the name of nothing, so that the rule grants less than it says.";
    GlobInNames, "glob-in-names", [Finding], "a star in resourceNames",
        "Names are compared letter by letter, and no object has a star in its name. There is no prefix either: this was refused upstream, as a namespace is the boundary that is meant.";
    NamedCreate, "named-create", [Finding], "a create or deletecollection limited by names",
        "Requests to create carry no name, so that the rule never matches. Server-side apply asks for `create` with a name, after `patch` of that name, and so does an update of a Lease, a Service and the few other kinds that an update creates. Requests to delete collections never carry a name.";
    NamedCreateByApply, "named-create-by-apply", [Finding], "a create limited by names, for server-side apply alone",
        "Server-side apply is a patch, which carries the name, and the server then asks for `create` with that name. A request to create carries none. An update creates an object of a few kinds only, such as Lease and Service.";
    ClusterScopedInNamespace, "cluster-scoped-in-namespace", [Finding], "a resource outside of namespaces, granted in one",
        "A request for such a resource carries no namespace, and no RoleBinding applies to it. Exceptions are a Namespace by its own name, `bind` on ClusterRoles, and `use` on pod security policies.";
    UrlInNamespace, "url-in-namespace", [Finding], "a URL, granted in a namespace",
        "A request for a URL carries no namespace, and no RoleBinding applies to it.";
    BindOnBindings, "bind-on-bindings", [Finding], "the verb `bind` or `escalate` on bindings",
        "The API server asks for these verbs on the role that is bound or written. On bindings they mean nothing.";
    ImpersonateInWrongGroup, "impersonate-in-wrong-group", [Finding], "the verb `impersonate` in a group where it means nothing",
        "Users, groups and service accounts are in the core group for it, and extra fields and uids in `authentication.k8s.io`.";
    NamedList, "named-list", [Finding], "a list or watch limited by names",
        "A request carries a name only with a field selector that is exactly `metadata.name=NAME`. Clients that list without one are refused.";
    EmptyName, "empty-name", [Finding], "an empty name in resourceNames",
        "Requests without a name match it: all that create, list, watch and delete collections. A list of names that was meant to limit opens everything.";
    NamespaceOnGroup, "namespace-on-group", [Finding], "a namespace on a user or group",
        "Users and groups belong to no namespace, and the field is ignored: `system:serviceaccounts` with a namespace is every account of the cluster, as in the example of seed 002.";
    EditedDefaultObject, "edited-default-object", [Finding], "a default role or binding without a part that comes back",
        "At every start the API server brings the roles and bindings of its default policy up to date: it adds the rules, subjects and aggregation rules that are missing, and replaces a binding to another role. What was taken away comes back without a trace in the manifests. The annotation `rbac.authorization.kubernetes.io/autoupdate: \"false\"` on the object prevents it. Rules and subjects that were added stay. The default policy is that of the given version.";
    ReadOnlyInName, "read-only-in-name", [Finding], "a role that calls itself read-only and is not",
        "Some verbs that look like reading are not: `get` on `nodes/proxy` and, before 1.35, on `pods/exec` runs commands, and listing secrets reads them.";
    // The output.
    ForeignFile, "foreign-file", [Error], "a file in the output folder that is not ours",
        "The output folder holds only files of this program: an applier of the folder would apply other files to the cluster as well. A file is ours if the layout has a place for it and its first line is our header, of this version or an earlier one. The header may stand below the marker of a conflict of git, and a crash of the machine may have left only its beginning, zero bytes or nothing. `render` overwrites and removes no other file.\n\nMove the file away, or name it under `spec.keep` in `bailiwick.yaml`. What stands where the output goes, or has a name that is not UTF-8, cannot be kept.";
    EditedByHand, "edited-by-hand", [Error], "an output file that was changed by hand",
        "No version after 0.1.0 reports this. A file of ours that was changed by hand is a difference: `check` and `diff` show it, and `render` writes the file anew. Change the policies instead.\n\nThe header had a checksum, which conflicted in every merge and proved nothing: the editor of a file can compute it. `render --force` is accepted and has no effect.";
    LinkInOutput, "link-in-output", [Error], "a symbolic link in the output folder, or what is no file",
        "A link could lead a write out of the output folder, and a pipe or a socket has no content to compare. Links are neither followed nor replaced, and nothing but files is read.";
    KeptManifest, "kept-manifest", [Error], "a kept file in the output folder that could be applied",
        "`spec.keep` keeps files that are not ours, such as a README. Argo CD, Flux and kubectl know nothing of it: they apply every manifest of the folder. `check` rejects a kept file that bears our header, that holds an object (a document with `apiVersion` and `kind`), that cannot be read as YAML although its name says so, or whose name steers an applier (`Chart.yaml`, `.argocd-source.yaml`, `*.jsonnet`, `.sourceignore`). A Kustomization may be kept if it has no field but `resources`, and these are files and folders below the output folder.\n\nRemove the file, or bring its objects in with a Manifests policy that has `emit: false`: they are judged with everything else then. Nothing is kept in the folders `cluster` and `namespaces` of a target, and no link.";
    FolderInOutput, "folder-in-output", [Error], "a folder in the output folder that holds nothing of ours",
        "Git keeps no empty folder, but a submodule that is not populated looks like one, and Argo CD and Flux populate it and apply what it holds. `check` reads the index of git and reports submodules, folders that are not checked out, files whose changes git was told to overlook, empty folders, and the folder of new contents that a killed run left.\n\nRemove the folder.";
    LeftBehind, "left-behind", [Error], "an output file outside the output folder",
        "After `spec.output` changes, the files in the former folder stay, and an applier still reads them there. `check` finds them by their header in the YAML and JSON files of the workspace. Two kinds of files are left out, and a note counts them. Files that another workspace below this one can have written, in its output folder and of its targets, are for `check` of that workspace. Files that `spec.fixtures` names are applied by nobody.\n\nRemove the files.";
    EmptyOutput, "empty-output", [Error], "a run that would delete everything",
        "No object was compiled for a target that has committed output. With pruning, applying that would delete every tenant. `--allow-empty` says that it is meant.";
    MassDelete, "mass-delete", [Error], "a run that would delete most namespaces",
        "More than half of a target's namespaces would go. `--allow-mass-delete` says that it is meant.";
    NamespaceDelete, "namespace-delete", [Error], "a run that would delete a namespace",
        "A cluster that loses a Namespace object deletes everything in the namespace with it: workloads, Secrets and volumes, also those that other tools made. A rename is a deletion and a creation. `--delete-namespace NAME` says that it is meant.";
    TargetDelete, "target-delete", [Error], "a run that would delete the output of a target",
        "The workspace no longer has a target whose output is there. An applier of that folder would delete every object of it. A renamed target is a removed one and a new one. `--remove-target NAME` says that it is meant.";
    MassRecreate, "mass-recreate", [Warning], "the same object renamed in many namespaces",
        "Renaming a templated object deletes and creates it everywhere at once. On 2024-06-12 such a rename took Toolforge's API servers down. Roll it out in parts: first add the new name, then remove the old one.";
    ImmutableRoleRef, "immutable-roleRef", [Warning], "a binding whose role changes under the same name",
        "`roleRef` cannot be changed: the object has to be deleted and created again, and Flux and server-side Argo CD syncs fail until that is done. Give the binding a new name instead.";
    BrokenBase, "broken-base", [Warning], "a base of a comparison whose policies do not compile",
        "`diff --against` compiles the policies of the other side, with the workspace file, the templates and the account lists of that side. If they do not compile, the committed output of the other side takes the place of the compiled output. That output may be stale, and may be absent.\n\nThe notes show the first errors of the other side. Compare with a revision whose policies compile.";
    // Parts of a run.
    UnusableSummary, "unusable-summary", [Error], "a summary that `merge` cannot use",
        "`render` and `check` write a summary with `--shard K/N --summary-to FILE`, and `merge` takes those of all N parts. Each has to be as it was written (a checksum tells), by this version of the program, from this very input: other policies, templates or account lists mean other objects.\n\nRun the part again, on the commit that `merge` runs on.";
    IncompleteParts, "incomplete-parts", [Error], "parts that do not make a whole",
        "Every part from 1 to N has to be there once, each made by the same command with the same options. A problem that the missing part would have found is otherwise not found.";
    // The workspace.
    WorkspaceNotFound, "workspace-not-found", [Error], "no workspace here",
        "`bailiwick.yaml` is looked for in this folder and every folder above it. `bailiwick init` makes one.";
    InvalidWorkspace, "invalid-workspace", [Error], "a workspace file that cannot be used",
        "`bailiwick explain Workspace` describes the file.";
    // Nodes.
    AgentNeedsNewerKubernetes, "needs-kubernetes-1.30", [Error], "an agent by node, before Kubernetes 1.30",
        "Since 1.30 the token of a pod names the node that the pod is bound to, and admission policies are there for good. On an older target nothing can tell on which node a request was made: leave the target out, or give the agent an identity of its own on every node.";
    AgentReadsCannotBeScoped, "reads-cannot-be-scoped-by-admission", [Error], "reads that are to be limited to the own node",
        "Admission is asked about writes only (seed 003, \"Can this just be enforced by admission?\"). What an agent may read it may read of every node: put it under `reads`, where that is said.";
    AgentWildcard, "wildcard-resource-with-per-node-scope", [Error], "a wildcard in what an agent may write of its own node",
        "The role would grant every resource, subresources among them, and the policy has to list each by name: what comes later would be granted and not looked at. Name the groups and resources.";
    AgentNotExpressible, "not-expressible-in-admission", [Error], "a write whose object says nothing of its node",
        "The object of an eviction, an exec, a binding or a token request names no node, and an expression cannot look at the pod. The kubelet has the Node authorizer and NodeRestriction for that; an agent has nothing like it.";
    AgentRelabelsNode, "agent-relabels-node", [Warning], "an agent that may change any label and taint of its node",
        "Labels and taints decide which pods come to a node. An attacker with the agent of a node can then draw pods there, with their Secrets. Say `labels:` with a prefix: only labels below it may change, and neither taints nor owners.";
    AgentScopeBypassed, "agent-scope-bypassed", [Warning], "an agent that holds more than its policy looks at",
        "The policy of an agent looks at the resources and subresources that it lists. What the agent's account holds beside them by another grant it may write on every node.";
    AgentCanBeImpersonated, "agent-can-be-defeated", [Warning], "a subject that can act as an agent of any node",
        "The policy believes what the token says. A subject that can make tokens of the account, create pods that run as the account on a chosen node, or impersonate it with its extra fields, acts as the agent of any node (`specs/systems.md` C5). Take the right away, or grant it only to subjects that hold more anyway.";
    StaleNodesBinding, "stale-system-nodes-binding", [Warning], "all nodes are bound to the role `system:node`",
        "Kubernetes 1.6 bound the group `system:nodes` to `system:node`. A later API server adds subjects that are missing and takes none away, so that the binding survives every upgrade until its subject is deleted (seed 003, \"Upgrades from previous versions\", step 4). With it the Node authorizer restricts nothing: what it does not allow, RBAC allows. From 1.11 on any node lists every Secret, from 1.12 on it makes tokens of any service account.";
    SystemNodeDrift, "system-node-drift", [Warning], "a role `system:node` that is not that of its version",
        "The API server adds rules that are missing when it starts, and leaves others there: a rule that was added by hand, or that an older version had, stays in force for every subject of the role.";
    NodesGroupInUse, "system-nodes-subject-in-use", [Error], "kubelets that depend on the binding of `system:nodes`",
        "These kubelets are in the group and do not say which node they are. The Node authorizer has no opinion on them: without the subject of the binding they stop working. Reissue their certificates as `system:node:NAME` in the group first, or keep the subject with `binding: kept`.";
    IsolationBroken, "isolation-broken", [Error], "a node pool that reaches Secrets which must be kept from it",
        "An attacker on a node has everything that its kubelet may read, the tokens of the service accounts of its pods, and so the rights of these accounts. The finding lists the steps that lead from the pool to the Secrets; it is enough to take one of them away. An answer that says `may be` depends on where pods are scheduled.";
    StaticPodRefersToObjects, "static-pod-refers-to-objects", [Warning], "a static pod that refers to objects of the API",
        "A kubelet reads static pods from files and writes mirror pods for them. NodeRestriction refuses mirror pods that refer to Secrets, ConfigMaps, service accounts, claims and the like, and since 1.34 the kubelet does not start such pods at all.";
    StaticPodInvalid, "static-pod-invalid", [Warning], "a file in the folder of static pods that is no static pod",
        "A kubelet reads Pods there, and nothing else. The annotation `kubernetes.io/config.mirror` is the kubelet's own: in a file it makes the mirror pod invalid.";
    SteerableSelector, "steerable-node-selector", [Warning], "pods that are kept to nodes by a label that a kubelet can set itself",
        "Who takes over a node can give it any label but those of Kubernetes that are not meant for kubelets, and so draw these pods there with their Secrets. Labels below `node-restriction.kubernetes.io/` are there to isolate: NodeRestriction lets no kubelet touch them. A taint keeps pods away from a node and does not keep a node from pods.";
}
