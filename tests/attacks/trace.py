# SPDX-License-Identifier: Apache-2.0
"""The calls of a program that change or sync files, as strace sees them, and the folder that follows from them.

A call is known by two lines of the trace, where it begins and where it has returned: calls of two threads overlap, and a
sync only covers writes that had returned when it began.
"""
import collections
import os
import re
import shutil
import subprocess

from disk import FOREVER, File, Folder, node_of

CALLS = ("open,openat,creat,close,dup,dup2,dup3,fcntl,lseek,read,write,writev,pwrite64,pwritev,pwritev2,ftruncate,truncate,"
         "fallocate,fchmod,chmod,fchmodat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,mkdir,mkdirat,"
         "rmdir,fsync,fdatasync,mmap,clone,clone3,fork,vfork")
HEX = r"((?:\\x[0-9a-f]{2})*)"
STRING, PLACE = re.compile(f'"{HEX}"'), re.compile(rf"(AT_FDCWD|\d+)<{HEX}>")
GIVING = ("open", "openat", "creat", "dup", "dup2", "dup3", "fcntl")
UMASK = 0o022
LINE = re.compile(r"(\d+) +(\w+)\((.*)\) += (-?\d+)")



def text_of(digits):
    return bytes.fromhex(digits.replace("\\x", ""))


class Call(collections.namedtuple("Call", "start end task name text result")):
    def strings(self):
        return [text_of(digits) for digits in STRING.findall(self.text)]

    def arguments(self):
        return self.text.split(", ")

    def places(self):
        """The descriptors among the arguments: (number, path)."""
        return [(-1 if fd == "AT_FDCWD" else int(fd), os.fsdecode(text_of(path))) for fd, path in PLACE.findall(self.text)]

    def paths(self):
        """The paths among the arguments, each joined to the folder that stands before it."""
        found, folder = [], os.getcwd()
        for place in re.finditer(f'{PLACE.pattern}|{STRING.pattern}', self.text):
            if place[1]:
                folder = os.fsdecode(text_of(place[2]))
            else:
                found.append(os.path.join(folder, os.fsdecode(text_of(place[3]))))
        return found


def missing():
    """Why nothing can be traced here, or None."""
    if not shutil.which("strace"):
        return "strace is missing (apt-get install strace)"
    tried = subprocess.run(["strace", "-f", "-o", os.devnull, "true"], stderr=subprocess.PIPE, check=False)
    return None if tried.returncode == 0 else f"strace cannot trace here: {tried.stderr.decode().strip()}"


def record(command, file, **keywords):
    """Runs the command. Returns its exit code, what it printed, and the calls that did not fail, in the order in which they
    began; but calls that give a descriptor where they returned, as its number may have been another file's before."""
    done = subprocess.run(["strace", "-f", "-y", "-xx", "-s", "16777216", "-e", "trace=" + CALLS, "-o", file, *command],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, umask=UMASK, **keywords)
    calls, begun = [], {}
    with open(file, encoding="ascii") as lines:
        for number, line in enumerate(lines):
            task, rest = line.rstrip().split(None, 1)
            start = number
            if rest.endswith("<unfinished ...>"):
                begun[task] = (number, rest[:-len("<unfinished ...>")])
                continue
            if rest.startswith("<... "):
                start, first = begun.pop(task)
                rest = first + rest[rest.index(">") + 1:]
            whole = LINE.match(f"{task} {rest}")
            if whole and int(whole[4]) >= 0:
                calls.append(Call(start, number, int(task), whole[2], whole[3], int(whole[4])))
    return done.returncode, done.stdout.decode(errors="replace"), sorted(calls, key=lambda call: call.end if call.name in GIVING else call.start)


class Opened:
    def __init__(self, node, append):
        self.node, self.append, self.at = node, append, 0


class Replay:
    """A folder that was in the state `before` when the calls were made. `top` is the folder, `cuts` are the moments
    between which nothing changes, and `nodes` are the files and folders that were made."""

    def __init__(self, root, before, calls):
        self.root, self.top, self.cuts, self.nodes = root, node_of(before), {0, FOREVER}, []
        self.tables = {}  # the descriptors of each task; threads share those of their process
        for call in calls:
            table = self.tables.setdefault(call.task, {})
            if call.name in ("clone", "clone3", "fork", "vfork"):
                self.tables[call.result] = table if "CLONE_THREAD" in call.text else dict(table)
            elif call.name in ("open", "openat", "creat"):
                self.open(call, table)
            elif call.name in ("close", "dup", "dup2", "dup3", "fcntl"):
                self.descriptor(call, table)
            elif call.name in ("read", "write", "writev", "pwrite64", "pwritev", "pwritev2", "lseek", "ftruncate", "fallocate",
                               "fchmod", "fsync", "fdatasync", "mmap"):
                fd, path = (call.places() or [(-1, "")])[0]
                if self.inside(path) and fd in table:
                    self.by_descriptor(call, table[fd])
            elif any(self.inside(path) for path in call.paths()):
                self.by_path(call, table)

    def inside(self, path):
        return path == self.root or path.startswith(self.root + "/")

    def find(self, path):
        """The folder that a path is in, as it is now, and the name there."""
        folder = self.top
        *parts, name = os.path.relpath(path, self.root).split("/")
        for part in parts:
            folder = folder.now[part]
        return folder, name

    def node(self, path):
        folder, name = self.find(path)
        return self.top if name == "." else folder.now.get(name)

    def new(self, node):
        self.nodes.append(node)
        return node

    def span(self, call):
        self.cuts |= {call.start + 1, call.end + 1}
        return call.start, call.end

    def open(self, call, table):
        path = call.paths()[0]
        table.pop(call.result, None)
        if not self.inside(path):
            return
        node = self.node(path)
        if "O_TMPFILE" in call.text:
            node = self.new(File(b"", int(call.arguments()[-1], 8) & ~UMASK, call.start))
        elif node is None:
            node = self.new(File(b"", int(call.arguments()[-1], 8) & ~UMASK, call.start))
            folder, name = self.find(path)
            folder.put(name, node, *self.span(call))
        elif "O_TRUNC" in call.text:
            node.changes.append((*self.span(call), ("size", 0)))
        table[call.result] = Opened(node, "O_APPEND" in call.text)

    def descriptor(self, call, table):
        fd = call.places()[0][0] if call.places() else int(call.arguments()[0])
        if call.name == "close":
            table.pop(fd, None)
        elif call.name != "fcntl" or "F_DUPFD" in call.text:
            table.pop(call.result, None)
            if fd in table:
                table[call.result] = table[fd]

    def by_descriptor(self, call, opened):
        node = opened.node
        if call.name in ("fsync", "fdatasync"):
            node.syncs.append(self.span(call))
        elif call.name in ("read", "lseek"):
            opened.at = call.result if call.name == "lseek" else opened.at + call.result
        elif call.name == "ftruncate":
            node.changes.append((*self.span(call), ("size", int(call.arguments()[1]))))
        elif call.name == "fchmod":
            node.changes.append((*self.span(call), ("mode", int(call.arguments()[1], 8))))
        elif "write" in call.name:
            data = b"".join(call.strings())[:call.result]
            at = opened.at
            if call.name.startswith("pwrite"):
                at = int(call.arguments()[3 if call.name != "pwrite64" else -1])
            elif opened.append:
                at = len(node.newest()[2])
            if not call.name.startswith("pwrite"):
                opened.at = at + len(data)
            node.changes.append((*self.span(call), ("write", at, data)))
        elif call.name == "fallocate" or "PROT_WRITE" in call.text and "MAP_SHARED" in call.text:
            raise NotImplementedError(f"{call.name} of an output is not in the model")

    def by_path(self, call, table):
        paths = call.paths()
        span = self.span(call)
        folder, name = self.find(paths[-1])
        if call.name.startswith(("unlink", "rmdir")):
            folder.put(name, None, *span)
        elif call.name.startswith("mkdir"):
            folder.put(name, self.new(Folder()), *span)
        elif call.name.startswith("link"):
            own = re.fullmatch(r"/proc/self/fd/(\d+)", paths[0])
            folder.put(name, table[int(own[1])].node if own else self.node(paths[0]), *span)
        elif call.name.startswith("rename"):
            old_folder, old_name = self.find(paths[0])
            node, other = old_folder.now[old_name], folder.now.get(name)
            folder.put(name, node, *span)
            old_folder.put(old_name, other if "RENAME_EXCHANGE" in call.text else None, *span)
        else:
            raise NotImplementedError(f"{call.name} of an output is not in the model")
