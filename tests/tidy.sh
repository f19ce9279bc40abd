#!/usr/bin/env bash
# clang-tidy with the checks of .clang-tidy on all our sources; any finding fails.
#
# Usage: tests/tidy.sh [FILE...]     default: every source file that the build lists
set -euo pipefail
cd "$(dirname "$0")/.."
[[ -f build/compile_commands.json ]] || cmake --preset release >/dev/null
cmake --build build --target firstfault_proto >/dev/null  # generated headers
files=("$@")
((${#files[@]})) || mapfile -t files < <(find correlate agent coordinator tests -name '*.cc' ! -name planted_race.cc 2>/dev/null | sort)
printf '%s\0' "${files[@]}" |
  xargs -0 -P "$(nproc)" -n 1 clang-tidy-16 -p build --quiet 2> >(grep -v 'warnings generated' >&2 || true)
