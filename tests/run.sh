#!/usr/bin/env bash
# Every test, from a bare Debian 12: installs what is missing, then release build and tests, the same under
# AddressSanitizer and UndefinedBehaviorSanitizer, the shared parts under ThreadSanitizer, the fuzz targets,
# and small benches. Prints what each stage took.
#
# Usage: tests/run.sh [--full]
#   --full: an hour of fuzzing, more seeds, clang-tidy, 1 GiB benches; the figures go to tests/RESULTS.md
# FUZZ_SECONDS=N and ROUNDS=N override the time for each fuzz target and the seeds of --full.
set -euo pipefail
cd "$(dirname "$0")/.."

full=false
case "${1:-}" in
  "") ;;
  --full) full=true ;;
  *) echo "usage: tests/run.sh [--full]" >&2; exit 64 ;;
esac
jobs=$(nproc)
results=build/run; mkdir -p $results
rm -f $results/*
# Objects are the same wherever the tree lies; only ccache needs to be told.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=1

# stage NAME COMMAND...: runs it, keeps its output as $results/NAME.log, stops everything where it fails.
stage() {
  local name=$1 start=$SECONDS; shift
  echo; echo "=== $name"
  if ! "$@" 2>&1 | tee "$results/$name.log"; then
    echo "=== $name FAILED after $((SECONDS - start)) s" >&2
    exit 1
  fi
  printf '%-14s %5d s\n' "$name" $((SECONDS - start)) >>"$results/times"
  echo "=== $name took $((SECONDS - start)) s"
}

# build PRESET [TARGET...]
build() {
  local preset=$1; shift
  cmake --preset "$preset" && cmake --build --preset "$preset" --parallel "$jobs" ${1:+--target "$@"}
}

run_ctest() {
  local preset=$1; shift
  ctest --preset "$preset" --timeout 1200 --parallel "$jobs" "$@"
}

# What threads share: the engine, the event log, the cores of agent and coordinator. Not what talks gRPC: Debian's
# gRPC and Abseil are built without ThreadSanitizer, which reports races in them that are none.
# Of the engine, which starts no thread, only what several threads call at once; the agent's choice of evidence has one
# thread as well, and takes minutes here.
tsan_tests=(concurrency_test event_log_test agent_test coordinator_test planted_race)
run_tsan_tests() {
  GTEST_FILTER='-EvidenceTest.*' run_ctest tsan -R "^($(IFS='|'; echo "${tsan_tests[*]}"))\$"
}

# Names in the sanitizers' reports.
ASAN_SYMBOLIZER_PATH=$(command -v llvm-symbolizer-16 llvm-symbolizer | head -1 || true)
export ASAN_SYMBOLIZER_PATH UBSAN_OPTIONS=print_stacktrace=1

# fuzz_one SECONDS TARGET: new inputs go to a folder of their own; a crash leaves its input in artifacts/.
fuzz_one() {
  local seconds=$1 target=$2 found=build-fuzz/found/$2
  mkdir -p "$found" build-fuzz/artifacts
  if ! "build-fuzz/tests/fuzz/$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -max_len=16384 \
    -dict=tests/fuzz/log.dict -artifact_prefix="build-fuzz/artifacts/$target-" -print_final_stats=1 \
    "$found" "tests/fuzz/corpus/$target" >"$found.log" 2>&1; then
    tail -60 "$found.log"
    echo "$target FAILED; its input is in build-fuzz/artifacts"
    return 1
  fi
  echo "$target $(grep -o 'stat::number_of_executed_units: *[0-9]*' "$found.log" | tr -s ' ' | cut -d' ' -f2) runs"
}
export -f fuzz_one

fuzz() {
  local seconds=${FUZZ_SECONDS:-20}
  if $full; then seconds=${FUZZ_SECONDS:-360}; fi
  basename -s .cc tests/fuzz/*_fuzz.cc | xargs -P "$jobs" -I{} bash -c "fuzz_one $seconds {}"
}

benches() {
  if $full; then
    build/tests/scan_bench 1024 && build/tests/diagnose_bench
  else
    build/tests/scan_bench 32 && build/tests/diagnose_bench 64
  fi
}

# The golden incidents changed at random, with many seeds.
properties() {
  FIRSTFAULT_ROUNDS=${ROUNDS:-25} build/tests/property_test
}

write_results() {
  {
    echo "# Results of tests/run.sh --full"
    echo
    echo "Commit $(git rev-parse --short HEAD), $jobs cores of $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)."
    local name
    for name in times fuzz.log benches.log; do
      printf '\n## %s\n\n```\n' "${name%.log}"
      cat "$results/$name"
      echo '```'
    done
  } >tests/RESULTS.md
}

stage packages deploy/install_packages.sh test
stage build build release
stage test run_ctest release
stage asan-build build fuzz
stage asan-test run_ctest fuzz
stage tsan-build build tsan "${tsan_tests[@]}"
stage tsan-test run_tsan_tests
stage fuzz fuzz
stage benches benches
if $full; then
  stage properties properties
  stage tidy tests/tidy.sh
  write_results
fi

echo; echo "=== all stages"
cat "$results/times"
printf '%-14s %5d s\n' total $SECONDS
for name in test asan-test tsan-test; do
  echo "$name:"
  grep 'tests passed' "$results/$name.log"
done
