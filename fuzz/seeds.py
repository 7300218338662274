#!/usr/bin/env python3
"""Small sound files for the fuzzers to begin with: seeds.py FUZZER FOLDER [tdslc].

With a tdslc, the manifests and containers are those of a program of the tree.
"""
import gzip
import io
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import zipfile


def npy(kind, shape, fortran=False, version=1):
    text = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (kind, fortran, shape)
    size = 2 if version == 1 else 4
    text += " " * (-(8 + size + len(text) + 1) % 64) + "\n"
    count = 1
    for extent in shape:
        count *= extent
    head = b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text))
    width = int(re.sub(r"\D", "", kind))
    return head + text.encode() + bytes(i % 251 for i in range(count * width))


def npz(compression):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", compression) as archive:
        archive.writestr("a.npy", npy("<f4", (3, 2)))
        if compression == zipfile.ZIP_DEFLATED:
            archive.writestr("b.npy", npy("<i8", (5,)))
    return data.getvalue()


def idx(kind, shape, width):
    count = width
    for extent in shape:
        count *= extent
    head = bytes([0, 0, kind, len(shape)]) + b"".join(struct.pack(">I", extent) for extent in shape)
    return head + bytes(i % 251 for i in range(count))


def safetensors(tensors):
    header, at = {"__metadata__": {"tds.step": "3"}}, 0
    for name, kind, shape, size in tensors:
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(i % 251 for i in range(at))


PROGRAM = """use nn, optim
dim B = 4
layer net = nn.Linear(3, 2)
state ids: i32[B] = 0
export fn predict(x: f32[B, 3], scale: f32 = 2) -> (y: f32[B, 2]) { scale * net(x) }
step train(x: f32[B, 3], t: i32[B], lr: f32 = 0.1) -> (loss: f32) {
  let e[i] = net(x)[i, t[i]]
  let loss = mean(e)
  minimize loss with optim.adam(lr = lr)
  ids <- t
  (loss)
}
"""


def artefacts(tdslc):
    """The bytes of the PTX file, and of the CPU's object."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "p.tds")
        with open(source, "w") as file:
            file.write(PROGRAM)
        for name, options in (("p.ptx", ["--arch=sm_80"]), ("p.so", []), ("p.tdsx", ["--targets=sm_80,x86-64-v3"])):
            path = os.path.join(folder, name)
            subprocess.run([tdslc, source, *options, "-o", path], check=True)
            with open(path, "rb") as file:
                found[name] = file.read()
    return found


def manifest(ptx):
    """The manifest lies in comment lines of the PTX file."""
    lines = [line[2:].strip() for line in ptx.decode().splitlines() if line.startswith("//")]
    text = "".join(lines)
    return text[text.index("{"):text.rindex("}") + 1].encode()


def main():
    fuzzer, folder = sys.argv[1:3]
    seeds = {}
    if fuzzer == "fuzz-npy":
        for i, (kind, shape) in enumerate((("<f4", (3, 2)), ("<i8", (5,)), ("|u1", (2, 2, 2)), ("<f2", ()), ("<f8", (0, 4)))):
            seeds["%d" % i] = npy(kind, shape, fortran=i == 2, version=1 + i % 2)
    elif fuzzer == "fuzz-npz":
        seeds = {"stored": npz(zipfile.ZIP_STORED), "deflated": npz(zipfile.ZIP_DEFLATED)}
    elif fuzzer in ("fuzz-idx", "fuzz-idx-gz"):
        for i, (kind, width) in enumerate(((8, 1), (9, 1), (0xB, 2), (0xC, 4), (0xD, 4), (0xE, 8))):
            seeds["%d" % i] = idx(kind, (2, 3, 4)[:1 + i % 3], width)
        if fuzzer == "fuzz-idx-gz":
            seeds = {name: gzip.compress(data, mtime=0) for name, data in seeds.items()}
    elif fuzzer == "fuzz-safetensors":
        seeds["two"] = safetensors([("w", "F32", [2, 3], 24), ("n", "I64", [], 8)])
        seeds["odd"] = safetensors([("b", "BOOL", [3], 3), ("h", "BF16", [0], 0), ("q", "F8_E4M3", [2], 2)])
    elif len(sys.argv) > 3 and fuzzer in ("fuzz-manifest", "fuzz-container"):
        found = artefacts(sys.argv[3])
        seeds = {"m": manifest(found["p.ptx"])} if fuzzer == "fuzz-manifest" else found
    for name, data in seeds.items():
        with open(os.path.join(folder, "seed-" + name), "wb") as file:
            file.write(data)


main()
