//! Values with which an applier makes another object of the output than was compiled: each is refused at its place, wherever
//! it comes from. The folders of `tests/hostile/one_reading` have one case for each kind of value, and
//! `tests/conformance/readers` compares with the code of the appliers.

use std::fs;

use super::gate::{assert_status, commit, edit, example, stdout};
use crate::runs::{bailiwick, stderr};
use crate::support::{Compiled, World};

/// Texts that readers change, refuse, or skip a file for.
const TEXTS: [&str; 7] =
    ["x +argocd:skip-file-rendering y", "x\u{7f}", "x\u{85}\u{85}y", "\u{9f}", "\u{fffe}", "\u{ffff}", "\u{e0041}"];

/// Texts that look like those and mean the same to all readers.
const PLAIN_TEXTS: [&str; 6] = ["+argocd:skip-file", "\u{a0}", "\u{2028}", "\u{200b}", "\u{1f980}", "${x}__y"];

/// A place of a workspace where the author writes a text.
struct Place {
    name: &'static str,
    /// The file that the diagnostic names.
    file: &'static str,
    /// The workspace with a text there.
    world: fn(&str) -> World,
}

const NAMESPACES: &str = "apiVersion: bailiwick.dev/v1alpha1\nkind: NamespaceSet\nmetadata: {name: teams}\nspec: {namespaces: [{name: team-a}]}\n";

fn world() -> World {
    World::with_targets(&["t"], "1.36").file("policies/teams.yaml", NAMESPACES)
}

/// Returns a text as a YAML scalar without raw characters.
fn quoted(text: &str) -> String {
    let show = |letter: char| match letter {
        '"' | '\\' => format!("\\{letter}"),
        ' '..='~' => letter.to_string(),
        _ => format!("\\U{:08X}", u32::from(letter)),
    };
    format!("\"{}\"", text.chars().map(show).collect::<String>())
}

fn config_map(rest: &str) -> World {
    let object = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: team-a}}\n{rest}\n");
    world().file("policies/m/x.yaml", &object).file(
        "policies/m.yaml",
        "apiVersion: bailiwick.dev/v1alpha1\nkind: Manifests\nmetadata: {name: m}\nspec: {files: [m/*.yaml]}\n",
    )
}

const PLACES: [Place; 6] = [
    Place {
        name: "an annotation of a namespace",
        file: "policies/teams.yaml",
        world: |text| {
            let with = format!("{{name: team-a, annotations: {{note: {}}}}}", quoted(text));
            world().edit("policies/teams.yaml", "{name: team-a}", &with)
        },
    },
    Place {
        name: "the common metadata",
        file: "bailiwick.yaml",
        world: |text| {
            let with = format!("spec:\n  commonMetadata: {{annotations: {{note: {}}}}}\n", quoted(text));
            world().edit("bailiwick.yaml", "spec:\n", &with)
        },
    },
    Place {
        name: "data of a manifest",
        file: "policies/m/x.yaml",
        world: |text| config_map(&format!("data: {{a: {}}}", quoted(text))),
    },
    Place {
        name: "a template",
        file: "templates/namespace-set/namespace.yaml.j2",
        world: |text| {
            let template = include_str!("../../templates/namespace-set/namespace.yaml.j2");
            let with = format!("{}\n  annotations: {{note: {}}}\n", template.trim_end(), quoted(text));
            world().file("templates/namespace-set/namespace.yaml.j2", &with)
        },
    },
    Place {
        name: "a cell of a table",
        file: "policies/tenants.csv",
        world: |text| {
            let policy = "apiVersion: bailiwick.dev/v1alpha1\nkind: Tenancy\nmetadata: {name: tenants}\nspec:\n  accounts: {file: tenants.csv}\n  variables: {name: {type: string}, note: {type: string}}\n  class:\n    namespaces: [{name: \"{name}\", annotations: {note: \"{note}\"}}]\n";
            World::with_targets(&["t"], "1.36")
                .file("policies/tenants.yaml", policy)
                .file("policies/tenants.csv", &format!("name,note\none,plain\ntwo,\"{text}\"\n"))
        },
    },
    Place {
        name: "an expression",
        file: "policies/m/x.yaml",
        world: |text| {
            let policy = format!(
                "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {{name: a}}\nspec:\n  matchConstraints:\n    resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]\n  validations: [{{expression: 'true', message: {}}}]\n",
                quoted(text)
            );
            config_map("").file("policies/m/x.yaml", &policy)
        },
    },
];

fn is_refused(compiled: &Compiled) -> bool {
    compiled.codes().contains(&"several-readings")
}

#[test]
fn a_text_with_several_readings_is_refused_wherever_it_comes_from() {
    for Place { name, file, world } in PLACES {
        for text in TEXTS {
            let compiled = world(text).compile();
            assert!(is_refused(&compiled), "{name}, {text:?}: {}", compiled.told);
            assert!(compiled.told.contains(&format!("{file}:")), "{name}, {text:?}: {}", compiled.told);
        }
        for text in PLAIN_TEXTS {
            let compiled = world(text).compile();
            assert!(!is_refused(&compiled), "{name}, {text:?}: {}", compiled.told);
        }
    }
}

#[test]
fn a_key_with_several_readings_is_refused() {
    let of_build = [
        "config.kubernetes.io/local-config",
        "config.kubernetes.io/path",
        "config.kubernetes.io/index",
        "config.kubernetes.io/origin",
        "config.kubernetes.io/function",
        "config.k8s.io/id",
        "config.k8s.io/function",
        "internal.config.kubernetes.io/needsHashSuffix",
        "internal.config.kubernetes.io/anything",
        "alpha.config.kubernetes.io/transformations",
        "kustomize.config.k8s.io/needs-hash",
        "2024-01-01",
        "1e3",
        "0x1f",
        "no",
        "null",
        "1.5",
        "y",
    ];
    for key in of_build {
        let with = format!("{{name: team-a, annotations: {{\"{key}\": \"false\"}}}}");
        let compiled = world().edit("policies/teams.yaml", "{name: team-a}", &with).compile();
        assert!(is_refused(&compiled), "{key}: {}", compiled.told);
    }
    for key in ["config.kubernetes.io/depends-on", "example.com/2024-01-01", "no-x"] {
        let with = format!("{{name: team-a, annotations: {{\"{key}\": x}}}}");
        let compiled = world().edit("policies/teams.yaml", "{name: team-a}", &with).compile();
        assert!(!is_refused(&compiled), "{key}: {}", compiled.told);
    }
    for (rest, refused) in [
        (format!("data: {{{}: x}}", "k".repeat(253)), false),
        ("items: [{apiVersion: v1, kind: Namespace, metadata: {name: hidden}}]".to_owned(), true),
        ("items: {}".to_owned(), true),
        ("items: a".to_owned(), true),
    ] {
        let compiled = config_map(&rest).compile();
        assert_eq!(is_refused(&compiled), refused, "{rest}: {}", compiled.told);
    }
    let custom = |spec: &str| {
        let object = format!(
            "apiVersion: example.com/v1\nkind: Widget\nmetadata: {{name: a, namespace: team-a}}\nspec: {{{spec}}}\n"
        );
        config_map("").file("policies/m/x.yaml", &object).compile()
    };
    for (spec, refused) in [
        (format!("{}: x", "k".repeat(1000)), false),
        (format!("{}: x", "k".repeat(1001)), true),
        (format!("\"{}\": x", "<".repeat(167)), true),
        ("\"<<\": {a: b}".to_owned(), true),
        ("a: [{\"<<\": b}]".to_owned(), true),
        ("items: []".to_owned(), false),
    ] {
        let compiled = custom(&spec);
        assert_eq!(is_refused(&compiled), refused, "{spec}: {}", compiled.told);
    }
}

#[test]
fn a_type_that_no_server_has_is_refused() {
    let types = [
        ("example.com/v1", "../../../x", true),
        ("example.com/v1", "a b", true),
        ("example.com/v1", "a\\nb", true),
        ("example.com/v1", "\\u202ea", true),
        ("example.com/v1", "\\u212austomization", true),
        ("../x/v1", "Widget", true),
        ("example.com/v 1", "Widget", true),
        ("kustomize.config.k8s.io/v1alpha1", "Component", true),
        ("config.kubernetes.io/v1", "ResourceList", true),
        ("example.com/v1", "ResourceList", true),
        ("builtin", "PatchTransformer", true),
        ("example.com/v1", "Widget", false),
    ];
    for (api_version, kind, refused) in types {
        // In a list, because a file of kustomize alone holds no objects.
        let object = format!(
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: \"{api_version}\"\n  kind: \"{kind}\"\n  metadata: {{name: a}}\n"
        );
        let compiled = config_map("").file("policies/m/x.yaml", &object).compile();
        // Other rules come first for some types.
        let codes = ["several-readings", "invalid-object", "kind-not-served"];
        let is_refused = compiled.codes().iter().any(|code| codes.contains(code));
        assert_eq!(is_refused, refused, "{api_version} {kind}: {}", compiled.told);
    }
}

/// Versions and aliases of a group, and no namespace beside `default`, are one object.
#[test]
fn one_object_of_the_cluster_is_written_once() {
    let role = |api_version: &str, metadata: &str, kind: &str| {
        format!("---\napiVersion: {api_version}\nkind: {kind}\nmetadata: {{{metadata}}}\n")
    };
    let rbac = "rbac.authorization.k8s.io";
    for (first, second, is_one) in [
        (
            role(&format!("{rbac}/v1"), "name: a", "ClusterRole"),
            role(&format!("{rbac}/v1beta1"), "name: a", "ClusterRole"),
            true,
        ),
        (
            role(&format!("{rbac}/v1"), "name: a", "ClusterRole"),
            role("authorization.openshift.io/v1", "name: a", "ClusterRole"),
            true,
        ),
        (role("example.com/v1", "name: a", "Widget"), role("example.com/v2", "name: a", "Widget"), true),
        (
            role("example.com/v1", "name: a", "Widget"),
            role("example.com/v1", "name: a, namespace: default", "Widget"),
            true,
        ),
        (
            role("example.com/v1", "name: a", "Widget"),
            role("example.com/v1", "name: a, namespace: other", "Widget"),
            false,
        ),
        (role("example.com/v1", "name: a", "Widget"), role("example.org/v1", "name: a", "Widget"), false),
        (
            role("extensions/v1beta1", "name: a, namespace: team-a", "Ingress"),
            role("networking.k8s.io/v1beta1", "name: a, namespace: team-a", "Ingress"),
            true,
        ),
    ] {
        let compiled = config_map("").file("policies/m/x.yaml", &format!("{first}{second}")).compile();
        let is_found = compiled.codes().contains(&"duplicate-object");
        assert_eq!(is_found, is_one, "{first}{second}{}", compiled.told);
    }
}

/// Names that the inventory of Flux gives back changed, for each applier.
#[test]
fn a_name_that_is_never_pruned_is_refused_where_flux_may_apply() {
    let delivery = |applier: &str| {
        format!("spec:\n  delivery:\n    repoURL: https://example.com/x.git\n    revision: main\n{applier}")
    };
    let argocd = delivery("    argocd: {destination: {name: t}}\n");
    let flux = delivery("    flux: {sourceRef: {name: x}}\n");
    let grant = |name: &str| {
        format!(
            "apiVersion: bailiwick.dev/v1alpha1\nkind: Grant\nmetadata: {{name: g}}\nspec: {{to: {{groups: [g]}}, bindingName: '{name}', clusterRoles: [view], namespaces: [team-a]}}\n"
        )
    };
    for (settings, name, refused) in [
        ("spec:\n", "dev__view", true),
        (&*flux, "dev__view", true),
        (&*argocd, "dev__view", false),
        (&*flux, "dev:view", false),
        (&*flux, "dev_view", false),
        (&*flux, "dev_:view", true),
    ] {
        let world = world().edit("bailiwick.yaml", "spec:\n", settings).file("policies/g.yaml", &grant(name));
        let compiled = world.compile();
        assert_eq!(is_refused(&compiled), refused, "{settings}{name}: {}", compiled.told);
    }
}

/// An application of a folder around the workspace reads the parameters of the folder.
#[test]
fn a_file_of_argo_cd_around_the_workspace_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("infra/access");
    fs::create_dir_all(&root).expect("a folder");
    for command in ["init", "render"] {
        assert_status(&bailiwick(&root, &[command]), 0);
    }
    let place = "infra/.argocd-source-access.yaml";
    fs::write(folder.path().join(place), "kustomize: {namePrefix: x}\n").expect("a file");
    fs::write(folder.path().join("infra/argocd-source.yaml"), "a: b\n").expect("a file");
    commit(folder.path());
    let assert_found = |status: i32| {
        for arguments in [&["check"][..], &["check", "--tree", "HEAD"]] {
            let run = bailiwick(&root, arguments);
            assert_status(&run, status);
            let is_named = stderr(&run).contains(&format!("`{place}` changes the parameters of an application"));
            assert_eq!(is_named, status != 0, "{}", stderr(&run));
        }
    };
    assert_found(1);
    edit(&root, "bailiwick.yaml", "spec:\n", &format!("spec:\n  fixtures: [{place}]\n"));
    commit(folder.path());
    assert_found(0);
}

/// Flux writes the names of kept files into a Kustomization, and reads it.
#[test]
fn a_kept_file_with_a_name_of_several_readings_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    assert_status(&bailiwick(root, &["init"]), 0);
    edit(root, "bailiwick.yaml", "spec:\n", "spec:\n  keep: ['production/x*']\n");
    assert_status(&bailiwick(root, &["render"]), 0);
    for (name, status) in [("x\u{85}.yaml", 1), ("x\u{e9}.yaml", 0), ("x\u{85}.txt", 0)] {
        let path = root.join("out/production").join(name);
        fs::write(&path, "").expect("a file");
        let run = bailiwick(root, &["check"]);
        assert_status(&run, status);
        let is_named = stderr(&run).contains("has a name with several readings: kustomize and Flux change");
        assert_eq!(is_named, status != 0, "{}", stderr(&run));
        fs::remove_file(path).expect("the file goes");
    }
}

/// Flux reads the delivery objects from the same source as the output.
#[test]
fn a_pattern_that_leaves_out_a_delivery_object_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("infra/access");
    fs::create_dir_all(&root).expect("a folder");
    assert_status(&bailiwick(&root, &["init"]), 0);
    let delivery = "spec:\n  delivery: {folder: ops/delivery, path: infra/access, flux: {sourceRef: {name: x}}}\n";
    edit(&root, "bailiwick.yaml", "spec:\n", delivery);
    assert_status(&bailiwick(&root, &["render"]), 0);
    for (place, patterns, status) in [
        (".sourceignore", "*\n!/infra/access/out\n", 1),
        (".sourceignore", "*\n!/infra/access/out\n!/infra/access/ops\n", 0),
        ("infra/access/ops/.sourceignore", "delivery\n", 1),
        ("infra/access/ops/.sourceignore", "docs\n", 0),
    ] {
        fs::write(folder.path().join(place), patterns).expect("a file");
        commit(folder.path());
        for arguments in [&["check"][..], &["check", "--tree", "HEAD"]] {
            let run = bailiwick(&root, arguments);
            assert_status(&run, status);
            let is_named = stderr(&run).contains("Flux leaves out `ops/delivery/");
            assert_eq!(is_named, status != 0, "{patterns}{}", stderr(&run));
        }
        fs::remove_file(folder.path().join(place)).expect("the file goes");
    }
}

/// A new version of this program rejects a name that an earlier one wrote, and the object stays when the name goes.
#[test]
fn an_object_that_is_never_pruned_keeps_its_access_in_a_review() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    assert_status(&bailiwick(root, &["init"]), 0);
    let grant = |name: &str, delivery: &str| {
        let policy = format!(
            "apiVersion: bailiwick.dev/v1alpha1\nkind: Grant\nmetadata: {{name: g}}\nspec: {{to: {{groups: [team-a]}}, bindingName: '{name}', clusterRoles: [admin], namespaces: [team-a]}}\n"
        );
        fs::write(root.join("policies/g.yaml"), policy).expect("a file");
        if !delivery.is_empty() {
            edit(root, "bailiwick.yaml", "spec:\n", delivery);
        }
    };
    let review = || {
        let run = bailiwick(root, &["review", "--base", "HEAD"]);
        (run.status.code(), stdout(&run))
    };
    grant("dev__admin", "");
    commit(root);
    grant("dev-admin", "");
    let (status, renamed) = review();
    assert_eq!(status, Some(1), "{renamed}");
    assert!(renamed.contains("1 object removed from the output stays in the cluster"), "{renamed}");
    fs::remove_file(root.join("policies/g.yaml")).expect("a file");
    let (status, removed) = review();
    assert_eq!(status, Some(1), "{removed}");
    assert!(removed.contains("1 object removed from the output stays in the cluster"), "{removed}");
    assert!(removed.contains("RoleBinding/team-a/dev__admin"), "{removed}");
    assert!(!removed.contains("loses"), "{removed}");
    // An object goes with its namespace.
    let namespace = "apiVersion: bailiwick.dev/v1alpha1\nkind: NamespaceSet\nmetadata: {name: z}\nspec: {namespaces: [{name: team-z}]}\n---\napiVersion: bailiwick.dev/v1alpha1\nkind: Grant\nmetadata: {name: z}\nspec: {to: {groups: [team-a]}, bindingName: dev__z, clusterRoles: [admin], namespaces: [team-z]}\n";
    fs::write(root.join("policies/z.yaml"), namespace).expect("a file");
    commit(root);
    fs::remove_file(root.join("policies/z.yaml")).expect("a file");
    let (_, removed) = review();
    assert!(removed.contains("1 namespace deleted") && !removed.contains("stays in the cluster"), "{removed}");
    // Argo CD has no inventory of names.
    let argocd = "spec:\n  delivery:\n    repoURL: https://example.com/x.git\n    revision: main\n    argocd: {destination: {name: t}}\n";
    grant("dev__admin", argocd);
    commit(root);
    fs::remove_file(root.join("policies/g.yaml")).expect("a file");
    let (_, removed) = review();
    assert!(removed.contains("loses") && !removed.contains("stays in the cluster"), "{removed}");
}

/// Files that no section of a review is about are in its first block.
#[test]
fn a_review_begins_with_what_it_is_not_about() {
    let folder = example();
    let root = folder.path();
    commit(root);
    fs::create_dir(root.join("sub")).expect("a folder");
    for command in ["init", "render"] {
        assert_status(&bailiwick(&root.join("sub"), &[command]), 0);
    }
    fs::create_dir(root.join("old")).expect("a folder");
    fs::copy(root.join("out/production/namespaces/team-a.yaml"), root.join("old/x.yaml")).expect("a file");
    edit(root, "bailiwick.yaml", "spec:\n", "spec:\n  fixtures: [old/**]\n");
    let run = bailiwick(root, &["review", "--base", "HEAD"]);
    let line = "not reviewed here: 2 output files of the workspace sub; 1 output file, by spec.fixtures";
    assert_eq!(stdout(&run).lines().nth(2), Some(line), "{}", stdout(&run));
    assert_status(&bailiwick(root, &["review", "--base", "HEAD", "--report", "markdown=review.md"]), 1);
    let comment = fs::read_to_string(root.join("review.md")).expect("a file");
    assert!(
        comment.lines().nth(3).is_some_and(|shown| shown.starts_with("not reviewed here: 2 output files")),
        "{comment}"
    );
}
