"""Draws a page with Chromium at the width of a desk and of a telephone, light and dark, and fails where a picture is missing or
blank: PAGE FOLDER"""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib


def read_rows(path):
    """Width and rows of a PNG with 8-bit RGB or RGBA."""
    with open(path, "rb") as file:
        data = file.read()
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        at += size + 12
        if kind == b"IHDR":
            width, height, _, color = struct.unpack(">IIBB", body[:10])
        if kind == b"IDAT":
            packed += body
    raw = zlib.decompress(packed)
    return width, height, len(set(raw[:: 1009])), len(packed)


def run(profile, *arguments):
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--user-data-dir=" + profile]
    return subprocess.run(command + list(arguments), capture_output=True, text=True, timeout=120)


page, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
with tempfile.TemporaryDirectory() as profile:
    for name, size, scheme in (
        ("desk-light", "1280,4200", 0),
        ("desk-dark", "1280,4200", 1),
        ("phone-light", "390,5200", 0),
        ("phone-dark", "390,5200", 1),
    ):
        path = os.path.join(folder, name + ".png")
        dark = ["--blink-settings=preferredColorScheme=%d" % (0 if scheme else 1)]
        result = run(profile, "--window-size=" + size, "--screenshot=" + path, *dark, "file://" + page)
        if not os.path.exists(path):
            sys.exit("no picture %s: %s" % (name, result.stderr[-2000:]))
        width, height, shades, packed = read_rows(path)
        assert "%d,%d" % (width, height) == size, (name, width, height)
        assert shades > 8 and packed > 20000, "%s is blank" % name
        print(name, width, height, packed)
