#!/usr/bin/env python3
"""torchrun on a host with its own clock. PyTorch 1.13 on Python 3.11 cannot parse "--tee 3" or the default
"--redirects 0" (composite and zero flags are no longer listed by an IntFlag), so the parser is replaced."""
import host_clock  # noqa: F401  (first: it replaces the clock)

from torch.distributed import run
from torch.distributed.elastic.multiprocessing.api import Std

Std.from_str = classmethod(lambda cls, text: cls(int(text)))

if __name__ == "__main__":
    run.main()
