"""The proof that `benches/compare` notices slower programs, and no others: with values, and with programs that use more than their original."""

import contextlib
import io
import sys

from comparing import FIGURES, Sizes, compare, is_slower

SIZES = Sizes(tenants=1_000, runs=7, start_runs=7)
# Runs a program, and uses further CPU time, time and memory: parts of what was used until then.
WRAPPER = """\
#!{python} -IS
import resource, subprocess, sys, time
begin = time.perf_counter()
code = subprocess.run([{program!r}, *sys.argv[1:]]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
cpu = {cpu} * (used.ru_utime + used.ru_stime + time.process_time())
sleep = {wall} * (time.perf_counter() - begin)
until = time.process_time() + cpu
while time.process_time() < until:
    pass
time.sleep(sleep)
memory = b"x" * int({memory} * used.ru_maxrss * 1024)
sys.exit(code)
"""
# The values of two programs, and whether the second is slower.
VALUES = [
    ("equal", [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], False),
    ("8 % more", [1.0, 1.0, 1.0, 1.0], [1.08, 1.08, 1.08, 1.08], False),
    ("12 % more", [1.0, 1.0, 1.0, 1.0], [1.12, 1.12, 1.12, 1.12], True),
    ("less", [1.0, 1.0, 1.0, 1.0], [0.5, 0.5, 0.5, 0.5], False),
    ("a minority of slow runs", [1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.9, 1.0, 1.9, 1.01], False),
    ("a majority of slow runs beside a run as fast", [1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.9, 1.9, 1.9, 1.9], False),
    ("slow beside a program with a slow run", [1.0, 1.0, 1.0, 1.0, 1.9], [1.2, 1.2, 1.2, 1.2, 1.2], True),
    ("slow, beside few slow runs of each", [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.9], [1.9, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2], True),
    ("as fast as the other at times", [1.0, 1.0, 1.5, 1.5, 1.5], [1.06, 1.0, 1.7, 1.7, 1.7], False),
    ("both slow in the same runs", [1.0, 1.0, 2.0, 2.0, 2.0], [1.06, 1.04, 2.1, 2.3, 2.04], False),
]


def run(program, scratch):
    """Prints a line for each case; the exit code."""
    wrong = [name for name, old, new, expected in VALUES if is_slower(old, new) != expected]
    for name in wrong:
        print(f"values, {name}: wrong")
    check = [figure for figure in FIGURES if figure.name == "check"]
    plain = wrapper(scratch / "plain", program)
    fails = scratch / "fails"
    fails.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    fails.chmod(0o755)
    cases = [
        ("the same program", plain, plain, 0, []),
        ("20 % more CPU time", plain, wrapper(scratch / "burns", program, cpu=0.2), 1, ["check, CPU s"]),
        ("twice the time", plain, wrapper(scratch / "sleeps", program, wall=1.0), 1, ["check, wall s"]),
        ("50 % more memory", plain, wrapper(scratch / "hoards", program, memory=1.5), 1, ["check, peak MB"]),
        ("a new program that fails", plain, fails, 1, ["slower or larger: check"]),
        ("an old program that fails", fails, plain, 3, ["0 of 1 figures are compared"]),
    ]
    for number, (name, old, new, code, texts) in enumerate(cases):
        folder = scratch / str(number)
        folder.mkdir()
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            found = compare([old, new], check, SIZES, folder)
        is_right = found == code and all(text in printed.getvalue() for text in texts)
        print(f"{name}: {'as expected' if is_right else 'wrong'}", flush=True)
        if not is_right:
            print(printed.getvalue())
            wrong.append(name)
    return 1 if wrong else 0


def wrapper(path, program, cpu=0.0, wall=0.0, memory=0.0):
    path.write_text(WRAPPER.format(python=sys.executable, program=str(program), cpu=cpu, wall=wall, memory=memory), encoding="utf-8")
    path.chmod(0o755)
    return path
