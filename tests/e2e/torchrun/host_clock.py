"""Moves this host's wall clock for everything that Python prints or writes, by HOST_CLOCK_OFFSET seconds.

torchrun's reports, its error files and the trainer's log all take their stamps from time.time(). Waits use
the monotonic clock and the rendezvous uses datetime, so both stay true whatever the offset.
"""
import os
import time

_true_time = time.time
_offset = float(os.environ.get("HOST_CLOCK_OFFSET", "0"))
time.time = lambda: _true_time() + _offset
