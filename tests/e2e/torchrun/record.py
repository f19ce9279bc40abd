#!/usr/bin/python3
"""Records real torchrun jobs (CPU, gloo) in which one rank goes wrong, as golden cases.

    sudo tests/e2e/torchrun/record.py OUT_DIR [SCENARIO...] [--forms untagged,1-host,2-hosts,4-hosts]

Writes OUT_DIR/<scenario>-<form>/ with the logs as a user would have them and expected.json (what is true of
them). Hosts are network namespaces with names and wall clocks of their own; everything lives in private mount
and network namespaces and is gone when this ends. Needs root and: apt-get install python3-torch iproute2 util-linux.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
WORK = pathlib.Path("/srv/train")  # in our own mount namespace: tracebacks show neutral paths
PYTHON = "/usr/bin/python3"
HOSTS = ("node-a", "node-b", "node-c", "node-d")
# What the user has: hosts, ranks on each, and torchrun's flags for the output. Seconds that each wall clock is
# ahead are more than a group time-out, so that stamps alone mislead.
FORMS = {
    "untagged": {"clocks": (0,), "ranks": 4, "output": []},
    "1-host": {"clocks": (0,), "ranks": 4, "output": ["--tee", "3"]},
    "2-hosts": {"clocks": (0, -41), "ranks": 2, "output": ["--tee", "3"]},
    "4-hosts": {"clocks": (0, 95, -41, 3.7), "ranks": 2, "output": ["--redirects", "3"]},
}
GROUP_TIMEOUT_SECONDS = 10
JOB_SECONDS_MAX = 120

# What is true of each scenario: class, others that can be defended, texts of the root line, the first warning
# (what the rank says in train.py), and words of the advice. "{tag}" stands for the rank's own tag: a rank that
# hangs prints no fault, so its last step is the root line.
SCENARIOS = {
    "exception": ("data", ["software"], ["expected sequence of length 512"], "samples of unusual length", ["batch"]),
    "memoryerror": ("capacity", [], ["MemoryError"], "host memory is low", ["memory"]),
    "cuda_oom": ("capacity", [], ["CUDA out of memory"], "close to its limit", ["memory"]),
    "kill9": ("capacity", ["undetermined"], ["exitcode: -9", "Signal 9"], "resident set has grown", ["dmesg", "kernel log"]),
    "segv": ("software", ["undetermined"], ["Segmentation fault", "exitcode: -11"], "fell back to the software path", ["native", "core"]),
    "term": ("scheduler", ["undetermined"], ["exitcode: -15", "Signal 15"], "notice of maintenance", ["SIGTERM"]),
    "exit3": ("software", ["undetermined"], ["exitcode: 3", "exitcode  : 3"], "license server did not answer", ["sys.exit"]),
    "hang": ("software", ["undetermined"], ["{tag} step 4"], "reading shard 0041", ["stack", "py-spy"]),
    "busy": ("software", ["undetermined"], ["{tag} step 4"], "tokenizer cache misses", ["stack", "py-spy"]),
    "nan": ("data", ["software", "undetermined"], ["loss is nan"], "local gradients hold inf", ["gradient", "learning rate"]),
    "early_return": ("data", ["software"], ["Timed out waiting"], "shard ends after 5 batches", ["same number of batches"]),
    "mismatch": ("software", ["data"], ["op.preamble.length"], "last batch is smaller", ["size", "shape"]),
    "disk_full": ("capacity", [], ["No space left on device"], "99 % full", ["space"]),
    "loader_killed": ("capacity", ["undetermined"], ["is killed by signal"], "loader worker uses", ["memory"]),
    "none": ("none", [], [], None, []),
    "slow": ("none", [], [], None, []),
    "restart": ("none", [], [], None, []),
}


# Where no line tells its rank, nothing tells the rank that hung, or left, from those that the launcher stopped
# before they could speak.
UNDECIDED_UNTAGGED = ("hang", "busy", "early_return")


def enter_private_namespaces():
    if "RECORDING" not in os.environ:
        os.environ["RECORDING"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", sys.executable, *sys.argv])


def shell(command):
    subprocess.run(command, shell=True, check=True)


def set_up_hosts():
    shell("mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /srv")
    WORK.mkdir()
    for name in ("host_clock.py", "launch.py", "train.py"):
        shutil.copy(HERE / name, WORK)
    names = pathlib.Path("/srv/hosts")
    names.write_text("127.0.0.1 localhost\n" + "".join(f"10.20.0.{i} {host}\n" for i, host in enumerate(HOSTS, 1)))
    shell(f"mount --bind {names} /etc/hosts && ip link set lo up && ip link add switch type bridge && ip link set switch up")
    for i, host in enumerate(HOSTS, 1):
        shell(f"ip netns add {host} && ip link add port{i} type veth peer name eth0 netns {host} && "
              f"ip link set port{i} master switch up && ip -n {host} link set lo up && "
              f"ip -n {host} addr add 10.20.0.{i}/24 dev eth0 && ip -n {host} link set eth0 up")


def start(scenario, form, index, fault_rank, out):
    host, hosts, clocks = HOSTS[index], len(form["clocks"]), form["clocks"]
    logs = ["--log_dir", str(WORK / "logs" / host)] if "--redirects" in form["output"] else []
    env = {
        "PATH": os.environ["PATH"], "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "eth0", "FAULT": scenario, "FAULT_RANK": str(fault_rank), "TRUTH": str(WORK / "truth.json"),
        "GROUP_TIMEOUT": str(GROUP_TIMEOUT_SECONDS), "HOST_CLOCK_OFFSET": str(clocks[index]),
        "PET_MONITOR_INTERVAL": "0.1",  # as in PyTorch 2.x
    }
    command = ["ip", "netns", "exec", host, "unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', host,
               PYTHON, "launch.py", "--nnodes", str(hosts), "--nproc_per_node", str(form["ranks"]),
               "--max_restarts", "1" if scenario == "restart" else "0", "--rdzv_backend", "c10d", "--rdzv_id", "train41",
               "--rdzv_endpoint", "node-a:29400", *form["output"], *logs, "train.py"]
    terminal = open(out / ("train.log" if hosts == 1 else f"{host}.out"), "wb")
    return subprocess.Popen(command, cwd=WORK, env=env, stdout=terminal, stderr=subprocess.STDOUT, start_new_session=True)


def run(scenario, form, fault_rank, out):
    (WORK / "truth.json").unlink(missing_ok=True)
    shutil.rmtree(WORK / "logs", ignore_errors=True)
    jobs = []
    for index in range(len(form["clocks"])):
        (WORK / "logs" / HOSTS[index]).mkdir(parents=True)
        jobs.append(start(scenario, form, index, fault_rank, out))
    codes = []
    for job in jobs:
        try:
            codes.append(job.wait(JOB_SECONDS_MAX))
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            codes.append("still running")
    if "--redirects" in form["output"]:
        shutil.copytree(WORK / "logs", out / "logs", ignore=lambda folder, names: [
            n for n in names if (pathlib.Path(folder) / n).is_file() and not (pathlib.Path(folder) / n).stat().st_size])
    return codes


def place(scenario, hosts):
    if SCENARIOS[scenario][0] == "none":
        return {"rank": None}
    truth = json.loads((WORK / "truth.json").read_text())
    return truth if hosts > 1 else {"rank": truth["rank"]}  # one host: its name need not be in the log


def expected(scenario, name, place):
    fault_class, accept, root, warning, advice = SCENARIOS[scenario]
    clocks = FORMS[name]["clocks"]
    world = len(clocks) * FORMS[name]["ranks"]
    case = {
        "title": f"torchrun, {world} ranks, {name}: {scenario}",
        "source": "recorded with tests/e2e/torchrun/record.py: PyTorch 1.13, gloo",
        "initiator": place, "class": fault_class, "class_accept": accept,
        "clock_skew_injected_ms": {HOSTS[i]: int(ahead * 1000) for i, ahead in enumerate(clocks) if ahead},
    }
    if fault_class == "none":
        return case
    root = [text.format(tag=f"[rank {place['rank']}/{world}]") for text in root]
    case |= {"root_line": root[0], "root_line_accept": root[1:], "first_warning": warning, "fix_keywords": advice,
             "collateral_ranks": [rank for rank in range(world) if rank != place["rank"]]}
    if name == "untagged" and scenario in UNDECIDED_UNTAGGED:
        case["undetermined_ok"] = True
    return case


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=", ".join(SCENARIOS))
    parser.add_argument("--forms", default=",".join(FORMS))
    args = parser.parse_args()
    enter_private_namespaces()
    set_up_hosts()
    for number, scenario in enumerate(SCENARIOS):
        if args.scenarios and scenario not in args.scenarios:
            continue
        for name in args.forms.split(","):
            form = FORMS[name]
            hosts = len(form["clocks"])
            fault_rank = (5 * number + 2) % (hosts * form["ranks"])  # each place once in a while
            out = args.out / f"{scenario.replace('_', '-')}-{name}"
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir(parents=True)
            codes = run(scenario, form, fault_rank, out)
            case = expected(scenario, name, place(scenario, hosts))
            (out / "expected.json").write_text(json.dumps(case, indent=2) + "\n")
            print(f"{out.name}: exit codes {codes}, true: {case['initiator']}", flush=True)


if __name__ == "__main__":
    main()
