#!/usr/bin/env python3
"""Gives hostile programs to tdslc, in each of its ways: hostile.py FOLDER GROUP

Each must end by itself within 10 seconds of processor time, with exit code 0 or 1 (1 where the program is marked as wrong, 0 where it is fine),
never by a signal, and with a sentence on standard error where the code is 1."""
import os
import random
import resource
import shutil
import signal
import subprocess
import sys

FINE, WRONG, ANY = 0, 1, None
DEPTH = 100000


def regression():
    with open(os.path.join(os.path.dirname(__file__), "../../../examples/01-regression/regression.tds"), "rb") as file:
        return file.read()


def empty():
    yield "empty", b"", FINE
    yield "one newline", b"\n", FINE
    yield "comment", b"// only a comment\n", FINE
    yield "comment without a line end", b"// only a comment", FINE


def nested():
    for opening, closing in ((b"(", b")"), (b"[", b"]"), (b"{", b"}")):
        name = opening.decode()
        yield "open " + name, opening * DEPTH, WRONG
        yield "closed " + name, opening * DEPTH + closing * DEPTH, WRONG
        yield "closing alone " + name, closing * DEPTH, WRONG
        yield "open in a body " + name, b"fn f(x: f32) -> f32 { " + opening * DEPTH, WRONG
        yield "closed in a body " + name, b"fn f(x: f32) -> f32 { " + opening * DEPTH + b"x" + closing * DEPTH + b" }", WRONG
        yield "closed in a let " + name, b"fn f(x: f32) -> f32 { let y = " + opening * DEPTH + b"x" + closing * DEPTH + b"\n y }", WRONG
        yield "in a type " + name, b"fn f(x: f32" + opening * DEPTH + b"3" + closing * DEPTH + b") -> f32 { x }", WRONG
    for token in b": , ) ] => = . .. -> <- with as else then to".split():
        yield "line of " + token.decode(), b"fn f(x: f32) -> f32 {\n  " + token + b" x\n  x\n}\n", ANY
    yield "minus", b"export fn f(x: f32[2]) -> f32[2] { " + b"-" * DEPTH + b"x }", WRONG
    yield "not", b"export fn f(x: bool[2]) -> bool[2] { " + b"not " * DEPTH + b"x }", WRONG
    yield "calls", b"export fn f(x: f32[2]) -> f32[2] { " + b"exp(" * DEPTH + b"x" + b")" * DEPTH + b" }", WRONG
    yield "if", b"export fn f(x: f32[2]) -> f32[2] { " + b"if x > 0 then x else " * DEPTH + b"x }", WRONG
    yield "less", b"<" * DEPTH, WRONG
    yield "quotes", b'"' * (DEPTH + 1), WRONG


def bytes_():
    source = regression()
    yield "CRLF", source.replace(b"\n", b"\r\n"), FINE
    yield "byte order mark", b"\xef\xbb\xbf" + source, FINE
    yield "UTF-8", source.replace(b"/// Linear", "/// Línear 漢字 \U0001f600".encode()), FINE
    yield "NUL in a word", source.replace(b"dim", b"d\0im"), WRONG
    yield "NUL at the end", source + b"\0", WRONG
    yield "NULs", b"\0" * DEPTH, WRONG
    yield "bad UTF-8 in a name", source.replace(b"let e", b"let \xff\xfe"), WRONG
    yield "bad UTF-8 in a comment", source.replace(b"/// Linear", b"/// \xc3\x28 \xf0\x28\x8c\x28 Linear"), WRONG
    yield "UTF-8 cut short", source + b"// \xe6\xbc", WRONG
    for seed in range(6):
        generator = random.Random(seed)
        yield "random bytes %d" % seed, bytes(generator.randrange(256) for _ in range(50000)), WRONG
        yield "random letters %d" % seed, bytes(generator.randrange(32, 127) for _ in range(50000)), WRONG
        words = source.split()
        yield "random words %d" % seed, b" ".join(generator.choice(words) for _ in range(3000)), WRONG
        # A few bytes of a good program changed, or a piece of it left out or repeated.
        for turn in range(4):
            text = bytearray(source)
            for _ in range(3):
                text[generator.randrange(len(text))] = generator.choice(b"()[]{}<>=+-*/.,:;@ \n0x_\x00\xff")
            yield "changed %d.%d" % (seed, turn), bytes(text), ANY
            begin, end = sorted(generator.randrange(len(source)) for _ in range(2))
            yield "left out %d.%d" % (seed, turn), source[:begin] + source[end:], ANY
            yield "repeated %d.%d" % (seed, turn), source[:end] + source[begin:], ANY
    for cut in range(0, len(source), 29):
        yield "cut at %d" % cut, source[:cut], ANY


def long():
    size = 10 * 1000 * 1000
    yield "long comment", b"// " + b"x" * size + b"\n", FINE
    yield "long name", b"const " + b"x" * size + b" = 1\n", ANY
    yield "long number", b"const x = " + b"1" * size + b"\n", WRONG
    yield "long fraction", b"const x = 0." + b"1" * size + b"\n", WRONG
    yield "long string", b'const x = "' + b"x" * size + b'"\n', WRONG
    yield "many words", b"x " * (size // 2), WRONG
    yield "many semicolons", b";" * size, ANY
    yield "many constants", b"const a = 1; " * (size // 13), WRONG
    yield "many newlines", b"\n" * size, FINE


def large():
    """Programs that are small to write and large to carry out."""
    yield "itself", b"fn h(x: f32) -> f32 { h(x) }\nexport fn g(x: f32) -> f32 { h(x) }\n", WRONG
    chain = b"".join(b"fn h%d(x: f32) -> f32 { h%d(x) }\n" % (i, i + 1) for i in range(2000))
    yield "chain of functions", chain + b"fn h2000(x: f32) -> f32 { x }\nexport fn g(x: f32) -> f32 { h0(x) }\n", ANY
    double = b"".join(b"fn h%d(x: f32) -> f32 { h%d(x) + h%d(x * 2) }\n" % (i, i - 1, i - 1) for i in range(1, 41))
    yield "doubling functions", b"fn h0(x: f32) -> f32 { x }\n" + double + b"export fn g(x: f32) -> f32 { h40(x) }\n", ANY
    yield "long loop", b"export fn g(x: f32) -> f32 { let a = x\n for i in 0..1000000000 { a = a + 1 }\n a }\n", WRONG
    yield "huge size", b"export fn g(x: f32[9223372036854775807]) -> f32[9223372036854775807] { x }\n", WRONG
    yield "overflowing size", b"export fn g(x: f32[4294967296, 4294967296]) -> f32[4294967296, 4294967296] { x + 1 }\n", WRONG
    yield "no elements", b"export fn g(x: f32[0]) -> f32[0] { x + 1 }\n", ANY
    yield "negative size", b"dim N = -3\nexport fn g(x: f32[N]) -> f32[N] { x + 1 }\n", WRONG
    yield "division by zero", b"const a = 1 / 0\nexport fn g(x: f32[a]) -> f32[a] { x }\n", WRONG
    yield "overflow", b"const a = 9223372036854775807 + 1\nexport fn g(x: f32[a]) -> f32[a] { x }\n", WRONG
    yield "many axes", b"export fn g(x: f32[" + b"1, " * 20000 + b"1]) -> f32 { sum(x) }\n", ANY
    yield "many inputs", b"export fn g(" + b", ".join(b"x%d: f32" % i for i in range(5000)) + b") -> f32 { x0 }\n", ANY
    yield "long sum", b"export fn g(x: f32) -> f32 { x" + b" + x" * 20000 + b" }\n", ANY
    yield "many variables", b"\n".join(b"param w%d: f32 = 0" % i for i in range(1000)) + b"\nexport fn g(x: f32) -> f32 { x }\n", FINE


groups = {"empty": empty, "nested": nested, "bytes": bytes_, "long": long, "large": large}


def run(command, limit):
    """(exit code, standard error, processor seconds); the code is a string where there was none."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1)))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Processor time is what counts on a machine that does other things too; a process that sleeps for ever is ended by the clock.
    try:
        _, said = process.communicate(timeout=20 * limit)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return "still waiting", b"", 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = process.returncode
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        code = "still running"
    return code, said, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    folder = sys.argv[1]
    # A program built with sanitizers is given ten times as long.
    with open(shutil.which("tdslc"), "rb") as program:
        limit = 100 if b"__asan_init" in program.read() else 10
    path, artefact = os.path.join(folder, "program.tds"), os.path.join(folder, "program.so")
    ways = (["check", path], ["check", "--grad", path], [path, "-o", artefact], [path, "--emit=ast", "-o", artefact + ".ast"])
    failures = count = 0
    for name, text, expected in groups[sys.argv[2]]():
        with open(path, "wb") as file:
            file.write(text)
        for way in ways:
            code, said, seconds = run(["tdslc"] + way, limit)
            count += 1
            wrong = None
            if code not in (0, 1):
                wrong = "ended with %s" % code
            elif expected is not None and code != expected and "--emit=ast" not in way:
                wrong = "ended with %d, not %d" % (code, expected)
            elif code == 1 and not said.strip():
                wrong = "failed without a word"
            if wrong:
                failures += 1
                shown = [word.replace(folder, "…") for word in way]
                print("%s: `tdslc %s` %s after %.1f s: %s" % (name, " ".join(shown), wrong, seconds, said[:300].decode(errors="replace")))
                sys.stdout.flush()
    print("%d runs, %d failed" % (count, failures))
    return 1 if failures or not count else 0


sys.exit(main())
