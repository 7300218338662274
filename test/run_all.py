#!/usr/bin/env python3
"""Runs the GoogleTest programs (through CTest) and the lit suites, and closes with one line that counts the tests.

--quick leaves out what is labelled slow: lit files below test/EndToEnd and CTest entries with the label "slow".
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree


def count_cases(report):
    """Counts the cases of one GoogleTest program; None where it left no readable report."""
    try:
        root = ElementTree.parse(report).getroot()
    except (OSError, ElementTree.ParseError):
        return None
    passed = failed = skipped = 0
    for case in root.iter("testcase"):
        if case.find("failure") is not None:
            failed += 1
        elif case.find("skipped") is not None or case.get("result") == "skipped":
            skipped += 1
        elif case.get("status") == "run":
            passed += 1
    return passed, failed, skipped


def run_ctest(build, quick, jobs, folder):
    """Runs CTest; returns (passed, failed, skipped).

    A CTest entry is either a whole GoogleTest program, which has its name and writes <name>.xml, or one case of a program whose
    cases CTest discovered. The cases of the former are counted from the XML; the latter run in parallel as processes of one program,
    whose XML files overwrite each other, and are counted by CTest's own report.
    """
    report = os.path.join(folder, "ctest.xml")
    command = ["ctest", "--test-dir", build, "-j", str(jobs), "--output-on-failure", "--output-junit", report, "--timeout", "900"]
    if quick:
        command += ["-LE", "slow"]
    gtest = os.path.join(folder, "gtest")
    environment = dict(os.environ, GTEST_OUTPUT="xml:" + gtest + os.sep)
    code = subprocess.call(command, env=environment)
    total = [0, 0, 0]
    if os.path.exists(report):
        for test in ElementTree.parse(report).getroot().iter("testcase"):
            bad = test.find("failure") is not None or test.get("status") == "fail"
            cases = count_cases(os.path.join(gtest, test.get("name") + ".xml"))
            if cases is None or (bad and cases[1] == 0):  # one case, or a program that broke off
                cases = (0, 1, 0) if bad else (1, 0, 0) if test.get("status") == "run" else (0, 0, 1)
            total = [a + b for a, b in zip(total, cases)]
    if code != 0 and total[1] == 0:
        total[1] = 1
    return tuple(total)


def run_lit(lit, build, quick, jobs, folder):
    report = os.path.join(folder, "lit.json")
    command = [lit, "-j", str(jobs), "--output", report, os.path.join(build, "test")]
    command.insert(1, "-sv")
    if quick:
        command += ["--filter-out", "EndToEnd"]
    code = subprocess.call(command)
    passed = failed = skipped = 0
    if os.path.exists(report):
        with open(report) as file:
            for test in json.load(file)["tests"]:
                if test["code"] in ("PASS", "XFAIL", "FLAKYPASS"):
                    passed += 1
                elif test["code"] in ("UNSUPPORTED", "EXCLUDED", "SKIPPED"):
                    skipped += 1 if test["code"] != "EXCLUDED" else 0
                else:
                    failed += 1
    if code != 0 and failed == 0:
        failed = 1
    return passed, failed, skipped


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, help="the build tree")
    parser.add_argument("--lit", required=True, help="the lit program")
    parser.add_argument("--quick", action="store_true", help="leave out the slow tests")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        unit = run_ctest(options.build, options.quick, options.jobs, folder)
        lit = run_lit(options.lit, options.build, options.quick, options.jobs, folder)
    print("unit: %d passed, %d failed, %d skipped" % unit)
    print("lit: %d passed, %d failed, %d skipped" % lit)
    total = [a + b for a, b in zip(unit, lit)]
    print("%d passed, %d failed, %d skipped" % tuple(total))
    return 0 if total[1] == 0 and total[0] > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
