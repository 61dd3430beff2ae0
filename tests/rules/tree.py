"""Reading the source tree for the rules.

SPDX-License-Identifier: Apache-2.0
"""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

BLOCK_COMMENT = re.compile(r"/\*.*?\*/", re.S)
LINE_COMMENT = re.compile(r"//[^\n]*")
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')


def files(*patterns):
    """All files under the root that match one of the patterns, relative to it."""
    found = set()
    for pattern in patterns:
        found.update(path.relative_to(ROOT) for path in ROOT.glob(pattern) if path.is_file())
    return sorted(found)


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def includes(path):
    """The quoted #include lines of a file."""
    return re.findall(r'^\s*#\s*include\s+"([^"]+)"', read(path), re.M)


def blank(match):
    """What a comment or string leaves behind: its line breaks alone, so that line numbers stay."""
    return re.sub(r"[^\n]", " ", match.group())


def code_only(text):
    """The text without comments, strings and preprocessor lines."""
    both = re.compile(f"{STRING.pattern}|{BLOCK_COMMENT.pattern}|{LINE_COMMENT.pattern}", re.S)
    bare = both.sub(blank, text)
    lines, continued = [], False
    for line in bare.split("\n"):
        directive = continued or line.lstrip().startswith("#")
        continued = directive and line.endswith("\\")
        lines.append("" if directive else line)
    return "\n".join(lines)


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=ROOT)
