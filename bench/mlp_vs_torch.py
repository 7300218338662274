#!/usr/bin/env python3
"""Images a second of the Fashion-MNIST perceptron (784-256-10, batch 64, Adam): compiled by tdslc, and in PyTorch eager mode, on the same CPU
threads in the same run.

    pip install torch==2.15.0 && bench/mlp_vs_torch.py [--threads 2] [--epochs 2]

PyTorch holds the images as float32 in memory and takes each batch by one index operation, which is the fastest plain way; tds-run
reads the compressed bytes and converts in the compiled step. Both are timed from the second epoch on.
"""
import argparse
import gzip
import json
import os
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATA = "/usr/share/datasets/fashion-mnist"


def read_idx(path):
    with gzip.open(path) as file:
        _, _, rank = struct.unpack(">HBB", file.read(4))
        shape = struct.unpack(">%dI" % rank, file.read(4 * rank))
        return shape, file.read()


def run_tds(options, folder):
    artefact = os.path.join(folder, "mlp.so")
    metrics = os.path.join(folder, "run.jsonl")
    subprocess.run([os.path.join(options.bin, "tdslc"), os.path.join(ROOT, "examples/02-mlp-fashion/mlp.tds"), "-o", artefact,
                    "--cpu=" + options.cpu], check=True)
    subprocess.run([os.path.join(options.bin, "tds-run"), "train", artefact, "--epochs", str(options.epochs), "--threads", str(options.threads),
                    "--metrics", metrics, "--device", "cpu",
                    "--data", "x=%s/train-images-idx3-ubyte.gz,y=%s/train-labels-idx1-ubyte.gz" % (DATA, DATA)],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(metrics) as file:
        rows = [row for row in map(json.loads, file) if "step" in row and "loss" in row]
    first = max(i for i, row in enumerate(rows) if row["epoch"] == rows[0]["epoch"])
    steps = rows[-1]["step"] - rows[first]["step"]
    return steps * 64 / (rows[-1]["seconds"] - rows[first]["seconds"])


def run_torch(options):
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    shape, images = read_idx(DATA + "/train-images-idx3-ubyte.gz")
    _, labels = read_idx(DATA + "/train-labels-idx1-ubyte.gz")
    x = torch.frombuffer(bytearray(images), dtype=torch.uint8).reshape(shape[0], 784).float() / 255
    y = torch.frombuffer(bytearray(labels), dtype=torch.uint8).long()
    model = torch.nn.Sequential(torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimiser = torch.optim.Adam(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 4685)
    for epoch in range(options.epochs):
        if epoch == 1:
            start, count = time.perf_counter(), 0
        order = torch.randperm(shape[0])
        for first in range(0, shape[0] - 63, 64):
            rows = order[first:first + 64]
            loss = F.cross_entropy(model(x[rows]), y[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            if epoch >= 1:
                count += 64
    return count / (time.perf_counter() - start), torch.__version__


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--cpu", default="x86-64-v3")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build/bin"))
    options = parser.parse_args()
    if options.epochs < 2:
        parser.error("the first epoch is not timed: --epochs must be at least 2")
    with tempfile.TemporaryDirectory() as folder:
        ours = run_tds(options, folder)
    theirs, version = run_torch(options)
    print("tdsl: %.0f images/s   PyTorch %s eager: %.0f images/s   threads: %d   ratio: %.2f"
          % (ours, version, theirs, options.threads, ours / theirs))
    return 0 if ours >= theirs else 1


if __name__ == "__main__":
    sys.exit(main())
