#!/usr/bin/env python3
"""Runs a command and fails unless it exits with CODE and says something on standard error: exits.py CODE COMMAND..."""
import subprocess
import sys

run = subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
sys.stdout.write(run.stderr.decode(errors="replace"))
assert run.returncode == int(sys.argv[1]), "exit code %d" % run.returncode
assert run.stderr.strip(), "nothing was said"
