#!/usr/bin/env python3
"""Trains two modules at once on two devices by the C interface: two_devices.py LIBRARY ARTEFACT DATA VARIABLE BYTES

Each must end with the bits of a run alone on the first device with the same seed."""
import ctypes
import sys
import threading

library, artefact, data, variable, size = sys.argv[1:6]
tds = ctypes.CDLL(library)
tds.tds_last_error.restype = ctypes.c_char_p
tds.tds_entry_input_count.restype = ctypes.c_size_t
for release in ("device", "module", "entry", "loader"):
    getattr(tds, "tds_%s_release" % release).restype = None


def check(status):
    assert status == 0, tds.tds_last_error().decode()


class LoaderOptions(ctypes.Structure):
    _fields_ = [("mode", ctypes.c_int), ("seed", ctypes.c_int64), ("keep_order", ctypes.c_int32), ("prefetch", ctypes.c_int32)]


class ModuleOptions(ctypes.Structure):
    _fields_ = [("seed", ctypes.c_int64), ("memory_limit", ctypes.c_uint64)]


def train(spec, seed, steps, out):
    device, module, entry, loader = (ctypes.c_void_p() for _ in range(4))
    check(tds.tds_device_open(spec.encode(), None, ctypes.byref(device)))
    check(tds.tds_module_load(artefact.encode(), device, ctypes.byref(ModuleOptions(seed, 0)), ctypes.byref(module)))
    check(tds.tds_module_entry(module, b"train", ctypes.byref(entry)))
    check(tds.tds_loader_create(entry, data.encode(), ctypes.byref(LoaderOptions(0, seed, 0, 0)), ctypes.byref(loader)))
    count = tds.tds_entry_input_count(entry)
    done = 0
    while done < steps:
        batch = ctypes.c_void_p()
        check(tds.tds_loader_next(loader, ctypes.byref(batch), None))
        if not batch.value:
            continue  # the end of an epoch
        check(tds.tds_entry_call(entry, batch, ctypes.c_size_t(count), None, ctypes.c_size_t(0)))
        done += 1
    buffer = ctypes.create_string_buffer(int(size))
    check(tds.tds_module_read(module, variable.encode(), buffer, ctypes.c_size_t(int(size))))
    out.append(buffer.raw)
    tds.tds_loader_release(loader)
    for kind, handle in (("entry", entry), ("module", module), ("device", device)):
        getattr(tds, "tds_%s_release" % kind)(handle)


alone, together = {}, {}
for seed in (1, 2):
    train("cuda:0", seed, 30, alone.setdefault(seed, []))
threads = [threading.Thread(target=train, args=("cuda:%d" % (seed - 1), seed, 30, together.setdefault(seed, []))) for seed in (1, 2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert alone == together and all(alone.values()), (alone, together)
assert alone[1] != alone[2], "the seeds made no difference"
print("two devices at once: the bits of the runs alone")
