#!/usr/bin/env python3
"""Checks the simulator's call log of a training run: calls.py LOG STEPS

The training launches nothing but graphs, one a step; from the third on nothing is allocated or made."""
import sys

with open(sys.argv[1]) as file:
    calls = [line.strip() for line in file]
steps = int(sys.argv[2])
launches = [i for i, call in enumerate(calls) if call == "cuGraphLaunch"]
assert len(launches) == steps, "%d graph launches in %d steps" % (len(launches), steps)
training = calls[launches[0] : launches[-1] + 1]
assert "cuLaunchKernel" not in training, "a kernel was launched beside the graphs"
steady = calls[launches[2] : launches[-1] + 1]
making = ("Alloc", "Create", "Instantiate", "ModuleLoad", "Add", "Free", "Destroy")
made = [call for call in steady if any(word in call for word in making)]
assert not made, made
print("one graph launch in each of %d steps; %d calls a step from the third on" % (steps, len(steady) // (steps - 2)))
