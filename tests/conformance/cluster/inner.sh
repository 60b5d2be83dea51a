#!/usr/bin/env bash
# Process 1 of the namespaces of a cluster: starts the node, and runs the checks. Started by `run`, with its programs in the environment.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../apiserver/server.sh"
. "$here/node.sh"
# The end of this process ends all others, and `run` removes their files.
trap - EXIT

start_cluster
echo "cluster: ready after $SECONDS seconds"
# The logs of the programs say no more.
cannot() { echo "cluster: $*" >&2; exit 3; }
# The version of the program, which is the tag of its image.
release=$("$binary" --version | cut -d' ' -f2)
# ONLY=access leaves the other parts out.
for part in ${ONLY:-jobs kills access}; do . "$here/$part.sh"; done
if [ "$failures" -gt 0 ]; then
  echo "cluster: $failures checks failed"
  exit 1
fi
echo "cluster: the Jobs, the answers and the policies hold after $SECONDS seconds"
