#!/usr/bin/env python3
"""Trains ARTEFACT on DATA in one piece, and again with kills and interruptions at random times: interrupt.py ARTEFACT FOLDER DATA"""
import filecmp
import os
import random
import signal
import subprocess
import sys
import time

artefact, folder, data = sys.argv[1:]
STEPS = "600"


def start(checkpoint, threads, *more):
    return subprocess.Popen(["tds-run", "train", artefact, "--device", "cpu", "--seed", "5", "--steps", STEPS, "--data", data, "--threads", str(threads),
                             "--checkpoint", checkpoint, "--checkpoint-every", "7", *more], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


whole = os.path.join(folder, "whole.safetensors")
said = start(whole, 2).communicate()[0]
assert "trained 600 steps" in said, said


def stamp(path):
    return os.stat(path).st_mtime_ns if os.path.exists(path) else 0


# Whoever reads standard output goes away at once, as in `| head`: the run goes on, saves, and says that something was lost.
unread = os.path.join(folder, "unread.safetensors")
process = subprocess.Popen(["tds-run", "train", artefact, "--device", "cpu", "--seed", "5", "--steps", STEPS, "--data", data, "--threads", "2",
                            "--checkpoint", unread, "--checkpoint-every", "7"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
process.stdout.close()
said = process.stderr.read()
assert process.wait() == 1 and "standard output could not be written" in said, (process.returncode, said)
assert filecmp.cmp(whole, unread, shallow=False), "the file of a run whose output nobody reads differs"

generator = random.Random(11)
for number in (signal.SIGINT, signal.SIGKILL):
    parts = os.path.join(folder, "parts-%d.safetensors" % number)
    ended = 0
    for attempt in range(8):
        before = stamp(parts)
        process = start(parts, 1 + attempt % 2, "--resume")
        while stamp(parts) == before and process.poll() is None:
            time.sleep(0.001)
        time.sleep(generator.uniform(0, 0.02))
        process.send_signal(number)
        said = process.communicate()[0]
        if process.returncode == 0:
            break
        ended += 1
        if number == signal.SIGKILL:
            assert process.returncode == -signal.SIGKILL, (process.returncode, said)
        else:
            assert process.returncode == 130 and "interrupted at step" in said and "go on with --resume" in said, (process.returncode, said)
    said = start(parts, 2, "--resume").communicate()[0]
    assert "trained" in said or "nothing to do" in said, said
    assert filecmp.cmp(whole, parts, shallow=False), "the file after signal %d differs" % number
    assert ended, "no run was ended by signal %d" % number
    print("signal %d: ended %d times" % (number, ended))
