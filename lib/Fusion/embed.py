"""Writes the target descriptions as C++ byte arrays, one `{name, text}` row each: embed.py OUT FILE…"""
import os
import sys

rows = []
with open(sys.argv[1], "w") as out:
    for number, path in enumerate(sys.argv[2:]):
        with open(path, "rb") as file:
            data = file.read()
        out.write("const char description%d[] = {%s, 0};\n" % (number, ", ".join(str(b if b < 128 else b - 256) for b in data)))
        rows.append('    {"%s", llvm::StringRef(description%d, %d)},\n' % (os.path.splitext(os.path.basename(path))[0], number, len(data)))
    out.write("const EmbeddedDescription embeddedDescriptions[] = {\n%s};\n" % "".join(rows))
