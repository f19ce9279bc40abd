#!/usr/bin/env bash
# From a bare Debian 12 to a first verdict: installs what the build needs (with sudo where not root), builds
# firstfault, lets it read the logs of an example incident in deploy/example, and then shows the same incident live.
#
# The incident: 8 ranks on 4 hosts. Rank 5 on n03 runs out of GPU memory; ten minutes later six others time
# out, each host's torchrun blames another rank, and n02's clock is 95 s ahead, n03's 41 s behind.
set -euo pipefail
cd "$(dirname "$0")/.."

deploy/install_packages.sh build
configured=$(cmake --preset release 2>&1) || { echo "$configured" >&2; exit 1; }
cmake --build build --target firstfault

echo
echo "\$ build/bin/firstfault diagnose deploy/example"
echo
code=0
build/bin/firstfault diagnose deploy/example || code=$?
# 10: the example's fault is one of capacity. See "Exit codes" in README.md.
((code == 10)) || { echo "quickstart: expected exit code 10, got $code" >&2; exit 1; }

echo
echo "The same while it happens: a coordinator, and agents that follow the logs of two of the hosts."
cmake --build build --target firstfault-live firstfault-agent firstfault-coordinator
deploy/live_example.sh
