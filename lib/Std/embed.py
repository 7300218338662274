"""Writes the given files as C++ byte arrays, one `{name, bytes, size}` row each: embed.py OUT FILE…"""
import os
import sys

rows = []
with open(sys.argv[1], "w") as out:
    for path in sys.argv[2:]:
        name = os.path.splitext(os.path.basename(path))[0]
        with open(path, "rb") as file:
            data = file.read()
        out.write("static const char %s_text[] = {%s, 0};\n" % (name, ", ".join(str(b if b < 128 else b - 256) for b in data)))
        rows.append('  {"%s", llvm::StringRef(%s_text, %d)},\n' % (name, name, len(data)))
    out.write("static const StandardModule standardModules[] = {\n%s};\n" % "".join(rows))
