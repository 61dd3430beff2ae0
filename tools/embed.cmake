# Makes a C source of a file's bytes: cmake -DIN=FILE -DOUT=FILE.c -DNAME=identifier -P embed.cmake
# SPDX-License-Identifier: Apache-2.0
file(READ ${IN} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)"
  "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "/* Made from ${NAME} by embed.cmake. */\n"
  "extern const char ${NAME}[];\nconst char ${NAME}[] = {\n${bytes}0};\n")
