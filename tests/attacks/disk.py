# SPDX-License-Identifier: Apache-2.0
"""The states that a folder can be in after a power cut, as POSIX allows them.

What was written to a file is on the disk for certain once an fsync of that file has begun after the write returned, and has
returned itself. Until then each page, and each sector of 512 bytes, may hold any version that it had; the size and the mode
are kept or lost by themselves. A name is on the disk for certain once its folder was synced in the same way. Until then it
may lead to whatever it led to since, each name by itself: a rename may be kept where the file's contents are lost, and the
new name may be lost where the old one is gone. File systems keep more than that: ext4, XFS and btrfs keep names in the order
in which they were given.
"""
import hashlib
import itertools
import math
import os
import stat

PAGE, SECTOR = 4096, 512
FOREVER = 10 ** 12


class Node:
    """A file or a folder. A change is (start, end, what); `start` and `end` are lines of the trace. A state is
    ("file", mode, bytes), ("folder", ((name, state), ...)), or None where there is nothing."""

    def __init__(self):
        self.syncs = []

    def parted(self, changes, cut):
        """The changes that are on the disk for certain, and those that may be."""
        syncs = [start for start, end in self.syncs if end < cut]
        last = max(syncs, default=-1)
        begun = [change for change in changes if change[0] < cut]
        return [c for c in begun if c[1] < last or c[1] < 0], [c for c in begun if c[1] >= last and c[1] >= 0]


def combinations(axes, limit, chance):
    """Tuples of one option of each axis: all of them where they are few, else the oldest, the newest, all that differ in one
    axis from either, and others at random."""
    if math.prod(len(axis) for axis in axes) <= limit:
        yield from itertools.product(*axes)
        return
    for end in (0, -1):
        base = [axis[end] for axis in axes]
        yield tuple(base)
        many = [i for i, axis in enumerate(axes) if len(axis) > 1]
        for i in many if len(many) <= limit else chance.sample(many, limit):
            option = axes[i][-1 - end] if len(axes[i]) == 2 else chance.choice(axes[i])
            yield tuple(base[:i] + [option] + base[i + 1:])
    for _ in range(limit):
        share = chance.random()
        yield tuple(axis[-1] if chance.random() < share else chance.choice(axis) for axis in axes)


class File(Node):
    """The changes are ("write", offset, bytes), ("size", bytes), ("mode", number)."""

    def __init__(self, data=b"", mode=0o600, since=-1):
        super().__init__()
        self.changes = [(since, since, ("mode", mode)), (since, since, ("write", 0, data))]

    def newest(self):
        content, size, mode = bytearray(max([1, *(self.size_after(0, c[2]) for c in self.changes)])), 0, 0
        for _, _, what in self.changes:
            self.apply(content, what, 0, len(content))
            size, mode = self.size_after(size, what), what[1] if what[0] == "mode" else mode
        return ("file", mode, bytes(content[:size]))

    def stamp(self, cut):
        return tuple(map(len, self.parted(self.changes, cut)))

    def size_after(self, size, what):
        return what[1] if what[0] == "size" else max(size, what[1] + len(what[2])) if what[0] == "write" and what[2] else size

    def apply(self, content, what, low, high):
        """Makes one change to the bytes from low to high of the content."""
        if what[0] == "size":
            for at in range(max(low, what[1]), high):
                content[at] = 0
        elif what[0] == "write":
            a, b = max(low, what[1]), min(high, what[1] + len(what[2]))
            if a < b:
                content[a:b] = what[2][a - what[1]:b - what[1]]

    def states(self, cut, limit, chance):
        certain, open_ = self.parted(self.changes, cut)
        sizes, modes = [0], []
        for _, _, what in certain:
            sizes = [self.size_after(sizes[0], what)]
            modes = [what[1]] if what[0] == "mode" else modes
        modes = modes or [0o600]
        for _, _, what in open_:
            sizes.append(self.size_after(sizes[-1], what))
            modes += [what[1]] if what[0] == "mode" else []
        highest = max([*sizes, 1, *(c[2][1] + len(c[2][2]) for c in certain if c[2][0] == "write")])
        base = bytearray(highest)
        for _, _, what in certain:
            self.apply(base, what, 0, highest)
        for unit in (PAGE, SECTOR) if open_ else (PAGE,):
            pieces = [(low, [w for _, _, w in open_ if w[0] == "size" and w[1] < low + unit or
                             w[0] == "write" and w[1] < low + unit and w[1] + len(w[2]) > low])
                      for low in range(0, highest, unit)] if open_ else []
            axes = [list(range(len(whats) + 1)) for _, whats in pieces] + [list(dict.fromkeys(sizes)), list(dict.fromkeys(modes))]
            for *versions, size, mode in combinations(axes, limit, chance):
                content = bytearray(base)
                for (low, whats), version in zip(pieces, versions):
                    for what in whats[:version]:
                        self.apply(content, what, low, min(low + unit, highest))
                yield ("file", mode, bytes(content[:size]).ljust(size, b"\0"))


class Folder(Node):
    def __init__(self):
        super().__init__()
        self.names = {}  # name -> its changes: a node or None each
        self.now = {}

    def put(self, name, node, start, end):
        self.names.setdefault(name, []).append((start, end, node))
        self.now[name] = node

    def newest(self):
        return ("folder", tuple((name, self.now[name].newest()) for name in sorted(self.now) if self.now[name]))

    def stamp(self, cut):
        """Equal where the states at two cuts are."""
        return tuple((name, *map(len, self.parted(changes, cut)), *(c[2].stamp(cut) for c in changes if c[2] and c[0] < cut))
                     for name, changes in self.names.items())

    def nodes(self, name, cut):
        """What the name may lead to, from the oldest to the newest."""
        certain, open_ = self.parted(self.names.get(name, []), cut)
        nodes = [certain[-1][2] if certain else None]
        for _, _, node in open_:
            nodes += [node] if node not in nodes else []
        return nodes

    def options(self, name, cut, limit, chance):
        return [state for node in self.nodes(name, cut)
                for state in ([None] if node is None else node.states(cut, limit, chance))]

    def states(self, cut, limit, chance):
        names = sorted(self.names)
        axes = [self.options(name, cut, max(4, limit // 16), chance) for name in names]
        for chosen in combinations(axes, limit, chance):
            yield ("folder", tuple((name, state) for name, state in zip(names, chosen) if state is not None))

    def at(self, path, cut, limit, chance):
        """The states of a path below this folder."""
        name, _, rest = path.partition("/")
        if not rest:
            yield from self.options(name, cut, limit, chance)
            return
        for node in self.nodes(name, cut):
            if isinstance(node, Folder):
                yield from node.at(rest, cut, limit, chance)
            else:
                yield None


def part_of(state, path):
    """The state of a path in the state of a folder."""
    for name in path.split("/"):
        state = dict(state[1]).get(name) if state and state[0] == "folder" else None
    return state


def read(path):
    """The state of a path on this machine's disk, or None."""
    if not os.path.lexists(path):
        return None
    if os.path.isdir(path):
        return ("folder", tuple((name, read(os.path.join(path, name))) for name in sorted(os.listdir(path))))
    with open(path, "rb") as file:
        return ("file", stat.S_IMODE(os.stat(path).st_mode), file.read())


def write(path, state):
    """Makes a path be in a state."""
    if state and state[0] == "folder":
        os.makedirs(path)
        for name, inner in state[1]:
            write(os.path.join(path, name), inner)
    elif state:
        with open(path, "wb") as file:
            file.write(state[2])
        os.chmod(path, state[1])


def node_of(state):
    """A node that is in this state for certain."""
    if state[0] == "file":
        return File(state[2], state[1])
    folder = Folder()
    for name, inner in state[1]:
        folder.put(name, node_of(inner), -1, -1)
    return folder


def short(state):
    """A state in a few words."""
    if state is None:
        return "nothing"
    if state[0] == "file":
        return f"{len(state[2])} bytes of mode {state[1]:o}, {hashlib.sha256(state[2]).hexdigest()[:8]}"
    return f"a folder of {len(state[1])}: " + "; ".join(f"{name}: {short(inner)}" for name, inner in state[1][:3])
