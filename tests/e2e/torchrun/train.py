#!/usr/bin/env python3
"""A small data-parallel training loop on the CPU in which one rank goes wrong at one step (see record.py).

All ranks but FAULT_RANK are healthy, and what they print is what PyTorch makes of the fault.
"""
import datetime
import json
import os
import random
import signal
import sys
import time

import host_clock  # noqa: F401
import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record
from torch.utils.data import DataLoader, Dataset

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
HOST = os.uname().nodename
FAULT, FAULT_RANK = os.environ["FAULT"], int(os.environ["FAULT_RANK"])
ATTEMPT = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
STEPS, FAULT_STEP = 8, 5
STEP_SECONDS = 0.1
SLOWDOWN = 8  # of a straggler, in steps


def log(level, text):
    now = time.time()
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(now)) + f",{int(now % 1 * 1000):03d}"
    print(f"{stamp} {level} [rank {RANK}/{WORLD}] {text}", file=sys.stderr, flush=True)


class Tokens(Dataset):
    def __init__(self, kill_at=None):
        self.kill_at = kill_at

    def __len__(self):
        return 1000

    def __getitem__(self, index):
        if index == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return torch.ones(16)


def read_batch_from_killed_worker():
    for _ in DataLoader(Tokens(kill_at=6), batch_size=2, num_workers=1):
        pass


def save_checkpoint_on_full_disk():
    with open("/dev/full", "wb", buffering=0) as file:
        torch.save({"weights": torch.zeros(1 << 16)}, file)


def spin():
    while True:
        pass


def raise_error(error):
    raise error


OUT_OF_MEMORY = ("CUDA out of memory. Tried to allocate 3.00 GiB (GPU {0}; 79.15 GiB total capacity; 74.31 GiB "
                 "already allocated; 1.87 GiB free; 76.02 GiB reserved in total by PyTorch)")

# What the rank says a step or two before, and what it then does.
FAULTS = {
    "exception": ("batch 41 has 3 samples of unusual length",
                  lambda: raise_error(ValueError("expected sequence of length 512 at dim 1 (got 509)"))),
    "memoryerror": ("host memory is low: 0.4 GiB available", lambda: bytearray(1 << 62)),
    "cuda_oom": ("allocator is close to its limit: 76.02 GiB reserved",
                 lambda: raise_error(RuntimeError(OUT_OF_MEMORY.format(os.environ["LOCAL_RANK"])))),
    "kill9": ("resident set has grown to 118.2 GiB", lambda: os.kill(os.getpid(), signal.SIGKILL)),
    "segv": ("decoder fell back to the software path", lambda: os.kill(os.getpid(), signal.SIGSEGV)),
    "term": ("received a notice of maintenance", lambda: os.kill(os.getpid(), signal.SIGTERM)),
    "exit3": ("license server did not answer, retrying", lambda: sys.exit(3)),
    "hang": ("reading shard 0041 took 9.3 s", lambda: time.sleep(3600)),
    "busy": ("tokenizer cache misses rose to 97 %", spin),
    "nan": ("loss scale fell to its minimum, local gradients hold inf values", None),
    "early_return": ("shard ends after 5 batches", None),
    "mismatch": ("last batch is smaller than the others", None),
    "disk_full": ("checkpoint volume is 99 % full", save_checkpoint_on_full_disk),
    "loader_killed": ("loader worker uses 41.7 GiB", read_batch_from_killed_worker),
}


def write_truth():
    with open(os.environ["TRUTH"], "w") as file:
        json.dump({"rank": RANK, "host": HOST}, file)


def train_step(step, weights):
    """Returns False when this rank has no more batches."""
    time.sleep(STEP_SECONDS)
    gradient = torch.full_like(weights, 1.0 + RANK / WORLD)
    faulty = FAULT != "none" and RANK == FAULT_RANK and ATTEMPT == 0
    if faulty and FAULT == "slow" and step >= FAULT_STEP:
        time.sleep(SLOWDOWN * STEP_SECONDS)
    elif faulty and FAULT != "slow":
        warning, act = FAULTS["exception" if FAULT == "restart" else FAULT]
        if step == FAULT_STEP - 2:
            log("WARNING", warning)
        if step == FAULT_STEP:
            write_truth()
            if FAULT == "early_return":
                return False
            if FAULT == "nan":
                gradient *= float("nan")
            elif FAULT == "mismatch":
                gradient = gradient[:1000]
            else:
                act()
    dist.all_reduce(gradient)
    loss = 2.5 - 0.1 * step - 1e-3 * float(gradient.mean())
    if loss != loss:
        raise FloatingPointError(f"loss is nan at step {step}")
    weights -= 1e-3 * gradient.mean()
    log("INFO", f"step {step} loss {loss:.4f}")
    return True


@record
def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=float(os.environ["GROUP_TIMEOUT"])))
    log("INFO", f"started on {HOST}, pid {os.getpid()}, local rank {os.environ['LOCAL_RANK']}, torch {torch.__version__}")
    random.seed(RANK)
    weights = torch.zeros(1 << 14)
    for step in range(STEPS):
        if not train_step(step, weights):
            break
    dist.barrier()
    log("INFO", "training finished")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
