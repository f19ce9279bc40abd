#!/usr/bin/env bash
# The live product on one machine: a coordinator, and two agents that are hosts of the incident in deploy/example.
# Their logs are written line by line while the agents follow; their clocks are 136 s apart. Then the verdict is asked
# for. Where torch is installed, a real job fails under `firstfault run` as well. All traffic stays on loopback.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
clean_up() {
  local running
  running=$(jobs -pr)
  if [[ -n $running ]]; then kill $running; wait; fi
  rm -rf "$work"
}
trap clean_up EXIT

show() { echo; echo "\$ $*"; echo; }
# expect CODE COMMAND...: what a verdict exits with is in README.md.
expect() {
  local wanted=$1 code=0; shift
  "$@" || code=$?
  ((code == wanted)) || { echo "$0: expected exit code $wanted, got $code" >&2; exit 1; }
}

build/bin/firstfault-coordinator --listen 127.0.0.1:0 --data-dir "$work/recordings" >"$work/coordinator.log" 2>&1 &
for ((i = 0; i < 100; ++i)); do
  address=$(sed -n 's/.*listening on //p' "$work/coordinator.log")
  [[ -n $address ]] && break
  sleep 0.1
done
[[ -n $address ]] || { cat "$work/coordinator.log" >&2; exit 1; }

agents=()
writers=()
for host in n02 n03; do
  mkdir "$work/$host"
  build/bin/firstfault-agent --coordinator "$address" --host "$host" --job example --log "$work/$host/*.log" \
    --spool-dir "$work/$host/spool" &
  agents+=($!)
  while IFS= read -r line; do echo "$line"; sleep 0.01; done <"deploy/example/$host.log" >"$work/$host/$host.log" &
  writers+=($!)
done
# The first answer comes while the logs are still written: it may know the place before the cause, or neither.
show "build/bin/firstfault why example --coordinator $address --wait provisional --one-line"
build/bin/firstfault why example --coordinator "$address" --wait provisional --one-line || (($? < 64))
wait "${writers[@]}"
kill "${agents[@]}"
wait "${agents[@]}"
show "build/bin/firstfault why example --coordinator $address --wait final --one-line"
expect 10 build/bin/firstfault why example --coordinator "$address" --wait final --one-line

if ! /usr/bin/python3 -c 'import torch.distributed.run' 2>/dev/null; then exit 0; fi
cat >"$work/train.py" <<'PY'
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
for step in range(5):
    if step == 3 and dist.get_rank() == 2:
        raise ValueError("sample 4711 has no label")
    dist.all_reduce(torch.ones(4))
    print(f"step {step}", flush=True)
PY
# Debian's torch cannot read its own default of --redirects under this Python; the launcher of the tests mends it.
run=(build/bin/firstfault run --exit-verdict -- /usr/bin/python3 tests/e2e/torchrun/launch.py --standalone --nproc_per_node 3 --tee 3)
show "${run[*]} train.py"
expect 14 "${run[@]}" "$work/train.py"
