# Writes the bytes of INPUT as a comma-separated list of numbers to OUTPUT.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
string(REGEX REPLACE "('[^']*','[^']*','[^']*','[^']*','[^']*','[^']*','[^']*','[^']*',)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE ",[\n]*$" "" bytes "${bytes}")
file(WRITE ${OUTPUT} "${bytes}\n")
