"""What Python programs do to the heap: dicts, lists, strings, JSON. objects.py ROUNDS; measured by bench/run.py.

SPDX-License-Identifier: Apache-2.0
"""

import json
import sys


def make_record(number):
    return {
        "id": number,
        "name": f"record {number}",
        "tags": [f"tag {number % modulus}" for modulus in (3, 7, 31)],
        "place": {"x": number * 0.25, "y": -number, "label": "a label of some length " * (number % 4)},
    }


def run_round(number):
    records = [make_record(number * 1000 + i) for i in range(1000)]
    again = json.loads(json.dumps(records, indent=1))
    groups = {}
    for record in again:
        groups.setdefault(record["tags"][1], []).append(record["place"]["label"])
    lines = sorted("\n".join(f"{key}: {len(labels)}" for key, labels in groups.items()).splitlines())
    return len(lines) + sum(len(record["name"]) for record in again)


def main():
    rounds = int(sys.argv[1])
    print(sum(run_round(number) for number in range(rounds)))


main()
