"""Prints the script of a step of a workflow: step.py WORKFLOW JOB STEP"""

import sys

import yaml

path, job, name = sys.argv[1:]
with open(path) as file:
    steps = yaml.safe_load(file)["jobs"][job]["steps"]
print(next(step["run"] for step in steps if step.get("name") == name))
