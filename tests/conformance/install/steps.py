"""Runs the commands of a section of a page in another root, and compares what they print with the page.

steps.py PAGE SECTION ROOT USER FOLDER PATH: USER is UID:GID, FOLDER is the folder in ROOT to begin in, and PATH the variable. The lines are
read as tests/readme.rs reads them. Ends with 0 when every command prints what the page has, 1 otherwise.
"""

import os
import shutil
import subprocess
import sys


def steps(text, section):
    """Returns the commands of the `console` blocks of a section, each with its output."""
    found, block, inside = [], False, False
    for line in text.splitlines():
        if line.startswith("## ") and not block:
            inside = line == f"## {section}"
        elif inside and line == "```console":
            block = True
        elif block and line == "```":
            block = False
        elif block and line.startswith("$ "):
            found.append((line[2:], []))
        elif block and line.startswith("> ") and not found[-1][1]:
            found[-1] = (found[-1][0] + "\n" + line[2:], [])
        elif block:
            found[-1][1].append(line)
    return found


def main():
    page, section, root, user, folder, path = sys.argv[1:]
    with open(page) as file:
        listed = steps(file.read(), section)
    if len(listed) < 8:
        sys.exit(f"{page} has {len(listed)} commands in the section {section}")
    environment = {"PATH": path, "NO_COLOR": "1", "HOME": "/nonexistent"}
    wrong = 0
    for command, output in listed:
        if command.startswith("cd "):
            folder = os.path.join(folder, command[3:])
            continue
        script = f'cd "$1" && {{ {command}\n}} 2>&1'
        inner = [shutil.which("chroot"), f"--userspec={user}", root, "/bin/sh", "-c", script, "sh", folder]
        run = subprocess.run(inner, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        printed = (run.stdout + run.stderr).splitlines()
        if printed != output:
            wrong += 1
            print(f"$ {command}", *(f"- {line}" for line in output), *(f"+ {line}" for line in printed), sep="\n")
    print(f"{len(listed)} commands, {wrong} with another output")
    sys.exit(1 if wrong else 0)


main()
