"""Runs the ```mlir examples of TableGen files through tds-opt.

Usage: check-doc-examples.py TDS_OPT FILE...

Examples are snippets: values that one uses without defining them become arguments of a function
around it. Their types come from tds-opt's own messages: an argument of an unlikely type is corrected until
the example parses.
"""

import re
import subprocess
import sys

# What a snippet of a terminator stands in.
TERMINATOR_WRAPPERS = {
    "tds.yield": "%w = tds.generic (%i) in (4) : tensor<4xf32> {{\n%p = tds.constant 0.0 : f32\n{}}}\n",
    "tds.scatter_yield": "%w = tds.scatter (%i, %k) in (4, 4) : tensor<4x4xf32> {{\n%v = tds.constant 0.0 : f32\n{}}}\n",
}


def examples(text):
    """The fenced examples of a TableGen file, with the line each begins at."""
    # Classes build descriptions from strings: "\n\n```mlir\n...\n```\n".
    for match in re.finditer(r"```mlir(\\n|\n)(.*?)```", text, re.S):
        body = match.group(2)
        if match.group(1) == "\\n":
            body = body.replace("\\n", "\n")
            if '" # mnemonic # "' in body:
                for name in re.findall(r'TDS_SimpleUnary<"(\w+)"', text):
                    yield match.start(), body.replace('" # mnemonic # "', name)
                continue
        yield match.start(), body


def run(tds_opt, module):
    # --verify-roundtrip prints the module and reads it back.
    return subprocess.run(
        [tds_opt, "--verify-roundtrip"], input=module, capture_output=True, text=True
    )


def wrap(body, types):
    arguments = ", ".join(f"%{name}: {type}" for name, type in types.items())
    return f"func.func private @example({arguments}) {{\n{body}\nreturn\n}}\n"


def check(tds_opt, body):
    """None where the example is good, else the message of the last attempt."""
    first = re.match(r"\s*(tds\.\w+)", body)
    if first and first.group(1) == "tds.variable":
        result = run(tds_opt, body)
        return None if result.returncode == 0 else result.stderr
    if first and first.group(1) in TERMINATOR_WRAPPERS:
        body = TERMINATOR_WRAPPERS[first.group(1)].format(body)
    types = {}
    for _ in range(20):
        result = run(tds_opt, wrap(body, types))
        if result.returncode == 0:
            return None
        undeclared = re.search(r"use of undeclared SSA value name", result.stderr)
        mismatch = re.search(
            r"use of value '%(\w+)' expects different type than prior uses: '(.*?)' vs '.*?'\n",
            result.stderr,
        )
        if mismatch:
            types[mismatch.group(1)] = mismatch.group(2)
        elif undeclared:
            place = re.search(r"<stdin>:(\d+):(\d+)", result.stderr)
            line = wrap(body, types).split("\n")[int(place.group(1)) - 1]
            name = re.match(r"%(\w+)", line[int(place.group(2)) - 1 :]).group(1)
            types[name] = "none"
        else:
            break
    return result.stderr


def main():
    tds_opt, files = sys.argv[1], sys.argv[2:]
    count = failures = 0
    for path in files:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for offset, body in examples(text):
            count += 1
            message = check(tds_opt, body)
            if message is not None:
                failures += 1
                line = text.count("\n", 0, offset) + 1
                print(f"{path}:{line}: this example is wrong:\n{body}\n{message}")
    print(f"{count} examples, {failures} wrong")
    # The dialect has about sixty operations; far fewer examples mean that none were found.
    sys.exit(1 if failures or count < 50 else 0)


main()
