"""The workloads of questions: about 100,000 tenants, about 100,000 ClusterRoleBindings, and one decision beside Kubernetes' own authorizer."""

import peers
from authorizer import cluster_objects, compare_worlds, worlds_table, write_yaml
from bench import expect
from growing import GROUP
from measuring import alternate, median, table, wall


def workload_i(bench):
    """Questions at that scale: findings, tests, subjects and permissions, and the labels of every namespace"""
    workspace, labelled = bench.workspace(bench.size.b_tenants), bench.workspace(bench.size.b_tenants, 5)
    tested, questions = bench.with_tests(workspace)
    flat = bench.fresh("flat.yaml")
    write_yaml(flat, cluster_objects(bench.size.k_bindings))

    def ask(command, options, wanted, asked=workspace, code=0):
        def run():
            sample, text = bench.run_bailiwick(command, asked, options, code=code)
            expect(wanted in text, f"{command} printed: {text[:2000]}")
            return sample

        return run

    def who_can_flat():
        sample, text = bench.run_program(["who-can", "get", "pods", "--all-namespaces", "--from", flat, "--jobs", "2"])
        expect(text.count("user-") >= bench.size.k_bindings, f"who-can printed: {text[:2000]}")
        return sample

    programs = {
        "lint": ask("lint", (), "", code=(0, 1)),
        "test": ask("test", (), f"{questions:,} questions asked, 0 failed", tested),
        "who-can": ask("who-can", ("get", "secrets"), "\n"),
        "explain": ask("explain", (f"Group/{GROUP}",), GROUP),
        "who-can, flat": who_can_flat,
    }
    labels = {"lint": "`lint`", "test": f"`test`, {questions:,} questions", "who-can": "`who-can get secrets`",
              "explain": f"`explain Group/{GROUP}`", "who-can, flat": f"`who-can get pods`, {bench.size.k_bindings:,} ClusterRoleBindings"}
    samples = alternate(bench.size.i_runs, {**{labels[key]: program for key, program in programs.items()},
                                            "`check` with labels": lambda: bench.check(labelled)})
    for key in programs:
        runs = samples[labels[key]]
        bench.results.add(key, median(runs, wall), map(wall, runs), f"{median(runs, wall):.2f} s")
    yield (f"{workspace.tenants:,} tenants each: the questions over the {workspace.total:,} objects of B, the check over {labelled.total:,} of a "
           "cluster of OpenShift, of which each namespace gets the labels that follow from what its service accounts may use.")
    yield table(samples)


def workload_k(bench):
    """One decision: against Kubernetes' own RBAC authorizer"""
    program = peers.cargo_bench("access", bench.profile)
    first, second = compare_worlds(bench.bailiwick, program, peers.authorizer_in(bench.tools).resolve(), bench.size.k_bindings,
                                   bench.fresh("authorizer"), bench.size.k_rounds)
    bench.results.add("decision", first["ratio"], first["ratios"],
                      f"{first['ratio']:.1f} times ({first['kubernetes']:,.0f} ns / {first['ours']:.0f} ns)")
    yield worlds_table([first, second])
