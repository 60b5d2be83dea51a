"""Prints the median times of starts: starts.py PROGRAM FOLDER, where FOLDER is a workspace."""

import os
import statistics
import subprocess
import sys
import time

program, folder = sys.argv[1:]
environment = {"PATH": "/usr/bin:/bin"}
for arguments in (["--version"], ["check"]):
    times = []
    for _ in range(21):
        start = time.perf_counter()
        subprocess.run([program, *arguments], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    print(f"{os.path.basename(program)} {' '.join(arguments)}: {statistics.median(times) * 1000:.1f} ms, the median of {len(times)} runs")
