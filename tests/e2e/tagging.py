"""What `midden tags` says of a profile.

SPDX-License-Identifier: Apache-2.0
"""

import json
import subprocess
import sys

# Of the reader of JSON: tags nest deeper than it would go.
sys.setrecursionlimit(20000)


class Trees:
    """What `midden tags --json` says of a profile."""

    def __init__(self, whole):
        self.whole = whole
        self.trees = [tree for key, tree in whole.items() if key.startswith("tree_for_TID")]

    def root(self, tree=0):
        (root,) = [scope for key, scope in self.trees[tree].items() if key.startswith("scope_")]
        return root

    def scope(self, *path, tree=0):
        found = self.root(tree)
        for name in path:
            found = found["nestedScopes"]["scope_" + name]
        return found

    def names(self, *path, tree=0):
        return [key.removeprefix("scope_") for key in self.scope(*path, tree=tree)["nestedScopes"]]

    def requested(self, *path, tree=0):
        return self.scope(*path, tree=tree)["nBytesSelfRequested"]


def read_trees(midden, *arguments):
    done = subprocess.run([midden, "tags", "--json", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    sys.setrecursionlimit(20000)  # whatever other tests of this process have set
    return Trees(json.loads(done.stdout))
