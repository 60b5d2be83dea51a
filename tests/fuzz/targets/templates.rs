//! Templates made of pieces of the template language: rendering ends, within bounds, without a panic, and gives the same
//! bytes in every way.

#![no_main]

use arbitrary::Unstructured;
use fuzzing::workspace;
use libfuzzer_sys::fuzz_target;

/// Pieces that templates are put together from, and expressions that grow.
const PIECES: &[&str] = &[
    "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\n",
    "{% include \"_metadata.yaml.j2\" %}\n",
    "roleRef: {{ role_ref }}\n",
    "subjects: {{ subjects }}\n",
    "metadata: {{ metadata }}\n",
    "{% for x in range(9) %}",
    "{% for x in subjects %}",
    "{% endfor %}",
    "{% if x %}",
    "{% else %}",
    "{% endif %}",
    "{% set x = x ~ x %}",
    "{% set x = \"aaaaaaaaaaaaaaaa\" %}",
    "{% set x = [x, x, x] %}",
    "{% set x = x * 9 %}",
    "{% set x = x + x %}",
    "{{ x }}",
    "{{ x | tojson }}",
    "{{ x | indent(9) }}",
    "{{ x | join(x) }}",
    "{{ x | replace(\"a\", x) }}",
    "{{ x | batch(2) | list }}",
    "{{ x | length }}",
    "{% macro m(x) %}",
    "{% endmacro %}",
    "{{ m(x) }}",
    "{% set ns = namespace(v=\"a\") %}",
    "{% set ns.v = ns.v ~ ns.v %}",
    "{{ ns.v }}",
    "{% include self %}",
    "{% set x %}",
    "{% endset %}",
    "{{ 2 ** 60 }}",
    "{{ 10 ** 10 ** 3 }}",
    "{{ x in x }}",
    "{{ x == x }}",
    "{{ x | sort }}",
    "{{ x | unique | list }}",
    "{{ x[0] }}",
    "{{ x.a.b }}",
    "{{ x | format(1) }}",
    "{{ x | upper }}",
    "{{ x | map(\"upper\") | list }}",
    "---\n",
    "kind: ClusterRoleBinding\n",
    "\u{2028}kind: X",
    "\n",
    " ",
    "a: &a b\n",
    "b: *a\n",
    "\"",
    "'",
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
];

const GRANT: &str = "\
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata: {name: g}
spec:
  to: {groups: [a], users: [b]}
  clusterRoles: [view]
  namespaces: [default]
";

fuzz_target!(|bytes: &[u8]| {
    let mut input = Unstructured::new(bytes);
    let _ = run(&mut input);
});

fn run(input: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let mut template = String::new();
    for _ in 0..input.int_in_range(0..=40)? {
        if input.ratio(1_u8, 32)? {
            template.push_str(input.arbitrary::<&str>()?);
        } else {
            template.push_str(input.choose(PIECES)?);
        }
    }
    let name = *input.choose(&["grant/rolebinding.yaml.j2", "_metadata.yaml.j2"])?;
    let texts = [
        ("bailiwick.yaml", workspace::WORKSPACE.to_owned()),
        ("policies/g.yaml", GRANT.to_owned()),
        (&*format!("templates/{name}"), template),
    ];
    workspace::check(&texts.map(|(path, text)| (path.to_owned(), text)));
    Ok(())
}
