"""Compares the launches that --explain or --report shows with the commands of an artefact's manifest.

launches.py SHOWN ARTEFACT: every launch of every entry is shown once, with its kernel's symbol and number, and nothing else is. Whatever a launch
reads of another has a reason why the two are not one kernel.
"""
import html
import json
import re
import sys


def read_manifest(path):
    with open(path, "rb") as file:
        data = file.read()
    footer = data[data.rindex(b"\n", 0, -1) + 1 :].split()
    text = data[int(footer[2]) : int(footer[2]) + int(footer[3])].decode()
    if not text.startswith("{"):
        text = "".join(line[3:] for line in text.split("\n"))
    return json.loads(text)


def read_shown(path):
    with open(path) as file:
        text = file.read()
    shown = []
    if text.startswith("<!DOCTYPE html>"):
        for match in re.finditer(r'data-launch="([^"]*) ([\d.]+) (\w+)"', text):
            shown.append((html.unescape(match[1]), match[2], match[3]))
        return shown
    for match in re.finditer(r"^  (\w+) \[(.*?) ([\d., ]+)\]: ", text, re.M):
        for number in match[3].split(","):
            shown.append((match[2], number.strip(), match[1]))
    return shown


with open(sys.argv[1]) as file:
    reads = re.findall(r"^(?:    |<li>)reads .*", file.read(), re.M)
without = [line for line in reads if not re.search(r"[,;] not joined: \w", line)]
if not reads or without:
    sys.exit("%d reads, without a reason: %s" % (len(reads), without[:5]))

manifest = read_manifest(sys.argv[2])


def collect(entry, commands, prefix=""):
    for number, command in enumerate(commands):
        if command["op"] == "launch":
            yield entry, prefix + str(number), manifest["kernels"][command["kernel"]]["symbol"]
        elif command["op"] == "loop":
            yield from collect(entry, command["commands"], prefix + str(number) + ".")


launches = [launch for entry in manifest["entries"] for launch in collect(entry["name"], entry["commands"])]
shown = read_shown(sys.argv[1])
if len(launches) < 2 or sorted(shown) != sorted(launches):
    sys.exit("missing: %s\ntoo many: %s" % (sorted(set(launches) - set(shown)), sorted(set(shown) - set(launches)) or len(shown)))
