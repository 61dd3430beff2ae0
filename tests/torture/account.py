"""The account that the torture program keeps (torture.h), and its comparison with profiles.

SPDX-License-Identifier: Apache-2.0
"""

import json
import re
import struct
import subprocess
import sys

SITES, IMAGES = 48, 32
END_EXEC, END_NOT_PLANNED = 1000, 1001
COUNTS = ("failed", "foreign", "children", "handled")
SITE_COUNTS = ("allocations", "allocated_bytes", "frees", "freed_bytes", "reallocations")
IMAGE_WORDS = 2 + 2 * len(COUNTS) + 4 + SITES * 2 * len(SITE_COUNTS)
SITE_NAME = re.compile(r"^torture_site_(\d\d)\b")


class Image:
    """One program image. Counts are (done, begun): equal unless it was killed in the middle of something."""

    def __init__(self, words):
        words = iter(words)
        self.pid, self.planned_end = next(words), next(words)
        self.counts = {name: self._take(words) for name in COUNTS}
        self.surprises, self.peak_bytes, self.peak_blocks, self.temporary_allocations = (next(words) for _ in range(4))
        self.sites = [{name: self._take(words) for name in SITE_COUNTS} for _ in range(SITES)]

    @staticmethod
    def _take(words):
        begun, done = next(words), next(words)
        return done, begun

    @property
    def is_whole(self):
        """Nothing was under way when it ended."""
        pairs = [*self.counts.values(), *(pair for site in self.sites for pair in site.values())]
        return all(done == begun for done, begun in pairs)


def read_images(path):
    data = path.read_bytes()
    words = struct.unpack(f"<{len(data) // 8}Q", data)
    used = min(words[0], IMAGES)
    images = [Image(words[1 + i * IMAGE_WORDS : 1 + (i + 1) * IMAGE_WORDS]) for i in range(used)]
    return [image for image in images if image.pid]  # 0: its parent ended before the fork


def read_profiles(directory, command):
    """Stats with sites of each profile of the program itself, in the order in which they began."""
    profiles = []
    for path in directory.glob("torture*.mdn"):
        done = subprocess.run([command, "stats", "--json", "--sites", path], capture_output=True, text=True)
        if done.returncode != 0:
            raise ValueError(f"{path.name}: {done.stderr.strip()}")
        profiles.append(json.loads(done.stdout))
    return sorted(profiles, key=lambda stats: stats["start_unix_ns"])


def site_of(stack):
    """The number of the torture_site_NN nearest to the leaf, or None."""
    for frame in stack:
        match = SITE_NAME.match(frame)
        if match:
            return int(match[1])
    return None


def sum_sites(stats):
    """Figures by site number; those of libc and libstdc++ under None."""
    names = (*SITE_COUNTS, "temporary")
    sums = {number: dict.fromkeys(names, 0) for number in (None, *range(SITES))}
    for site in stats["sites"]:
        into = sums[site_of(site["stack"])]
        for name in names:
            into[name] += site[name]
    return sums


# ---- comparing --------------------------------------------------------------------------------------------------


def compare_sites_loosely(image, sums, missed):
    """Where handlers interrupt hooks, at most so many calls are not recorded, each of them counted."""
    for name in SITE_COUNTS:
        done = sum(account[name][0] for account in image.sites)
        seen = sum(sums[number][name] for number in range(SITES))
        if not name.endswith("_bytes") and seen < done - missed:
            yield f"{name} are {seen}, not {done} less at most {missed}"
        for number, account in enumerate(image.sites):
            if sums[number][name] > account[name][1]:
                yield f"site {number}: {name} are {sums[number][name]}, more than {account[name][1]}"


def compare_sites(image, sums):
    for number, account in enumerate(image.sites):
        for name, (done, begun) in account.items():
            seen = sums[number][name]
            if not done <= seen <= begun:
                wanted = done if done == begun else f"{done} to {begun}"
                yield f"site {number}: {name} are {seen}, not {wanted}"


def losses_most(plan, image):
    """How much may be lost: nothing, unless handlers interrupt hooks.

    A handler makes two calls at most, which go unrecorded there. A few places where one can come, vfork's return address
    in a register among them, have no frame to go on from. If it jumps out, what the hook was about to record is lost,
    which is noticed by the next call from no deeper a frame; until then calls go unrecorded too, however many.
    """
    most = 2 * image.counts["handled"][1] if plan.is_entered else 0
    jumping = plan.kind == "jumping"
    return {
        "truncated_stacks": most,
        "unwind_failures": most,
        "reentrant_calls": sys.maxsize if jumping else most,
        "lost_events": most if jumping else 0,
        "trace_lost_events": most if jumping else 0,
    }


def compare_counts(plan, image, stats, is_forked):
    done, begun = image.counts["failed"]
    if not done <= stats["failed_allocations"] <= begun:
        yield f"failed_allocations are {stats['failed_allocations']}, not {done} to {begun}"
    done, begun = image.counts["foreign"]
    missed = missed_by(plan, stats, is_forked)
    # libc may give back what it held before a fork.
    if not done - missed <= stats["foreign_frees"] or (not is_forked and stats["foreign_frees"] > begun + missed):
        yield f"foreign_frees are {stats['foreign_frees']}, not {done} to {begun}"
    done, begun = image.counts["children"]
    if not plan.follow and not done <= stats["children_not_recorded"] <= begun:
        yield f"children_not_recorded are {stats['children_not_recorded']}, not {done} to {begun}"
    for name, most in losses_most(plan, image).items():
        if stats[name] > most:
            yield f"{name} are {stats[name]}, {image.counts['handled'][1]} handlers allocated"


def compare_whole(stats):
    """What holds between the figures of any profile."""
    if stats["leaked_blocks"] != stats["allocations"] - stats["frees"]:
        yield "leaked blocks are not allocations less frees"
    if stats["leaked_bytes"] != stats["allocated_bytes"] - stats["freed_bytes"]:
        yield "leaked bytes are not allocated less freed"
    if not stats["leaked_bytes"] <= stats["peak_bytes"] <= stats["allocated_bytes"]:
        yield "the peak is not between what leaked and what was allocated"
    for name in SITE_COUNTS:
        if sum(site[name] for site in stats["sites"]) != stats[name]:
            yield f"sites do not add up to {name}"
        missing = stats[name] - sum(thread[name] for thread in stats["thread_list"])
        # A free that was never seen, of a block whose address was given out again, is no thread's.
        if missing < 0 or (missing and not (name.startswith("free") and stats["lost_events"])):
            yield f"threads do not add up to {name}"
        if name == "frees" and missing > stats["lost_events"]:
            yield f"{missing} frees are no thread's, {stats['lost_events']} events are lost"


def compare_calm(image, stats, others):
    """One thread, and all that libc, libstdc++ and the allocator do for themselves was done before main."""
    for name, extra in (
        ("peak_bytes", others["allocated_bytes"] - others["freed_bytes"]),
        ("peak_blocks", others["allocations"] - others["frees"]),
        ("temporary_allocations", others["temporary"]),
    ):
        if stats[name] != getattr(image, name) + extra:
            yield f"{name} are {stats[name]}, not {getattr(image, name)} and {extra} of others"


def missed_by(plan, stats, is_forked):
    """How many calls may be missing.

    A child of a thread that a handler has jumped out of a hook of is recorded once that shows, and has nowhere to count
    its calls before.
    """
    if plan.kind == "jumping" and is_forked:
        return sys.maxsize
    return stats["reentrant_calls"] + stats["lost_events"]


def compare_image(plan, image, stats, is_forked):
    sums = sum_sites(stats)
    if plan.is_entered:
        # Events of blocks that are not known are foreign frees.
        yield from compare_sites_loosely(image, sums, missed_by(plan, stats, is_forked) + stats["foreign_frees"])
    else:
        yield from compare_sites(image, sums)
    yield from compare_counts(plan, image, stats, is_forked)
    yield from compare_whole(stats)
    if plan.kind == "calm" and image.is_whole:
        yield from compare_calm(image, stats, sums[None])


def compare_end(image, status):
    planned = image.planned_end - 256 if image.planned_end > 255 else -image.planned_end
    if image.planned_end == END_NOT_PLANNED or -status != planned:
        yield f"ended with {status}, the plan was {image.planned_end}"


def compare(plan, status, images, profiles):
    """All that is not as the account says."""
    main = images[0].pid
    faults = list(compare_end([image for image in images if image.pid == main][-1], status))
    for image in images:
        if image.surprises:
            faults.append(f"process {image.pid}: {image.surprises} children did not end as planned")
    recorded = [image for image in images if plan.follow or image.pid == main]
    for pid in dict.fromkeys(image.pid for image in recorded):
        own = [image for image in recorded if image.pid == pid]
        found = [stats for stats in profiles if stats["pid"] == pid]
        if plan.kind == "jumping" and pid != main and len(found) == len(own) - 1:
            own = own[1:]  # in the child that was forked it never showed (see missed_by), after an exec it need not
        if len(own) != len(found):
            faults.append(f"process {pid}: {len(found)} profiles for {len(own)} images")
            continue
        first = recorded[[image.pid for image in recorded].index(pid)]
        for image, stats in zip(own, found):
            forked = image is first and pid != main
            faults += [f"process {pid}: {text}" for text in compare_image(plan, image, stats, forked)]
    return faults
