# SPDX-License-Identifier: Apache-2.0
"""A disk in memory that remembers every write and every flush in order, as dm-log-writes does.

It is one file of a FUSE file system of its own, which a loop device can stand on. The kernel's protocol is spoken directly:
include/uapi/linux/fuse.h of Linux, version 7.31.
"""
import ctypes
import os
import struct
import subprocess
import threading

FORGET, GETATTR, SETATTR, OPEN, READ, WRITE, STATFS, RELEASE, FSYNC, FLUSH, INIT, INTERRUPT, BATCH_FORGET = (
    2, 3, 4, 14, 15, 16, 17, 18, 20, 25, 26, 36, 42)
ENOSYS, BIG_WRITES = 38, 1 << 5
MAX_WRITE = 128 * 1024
libc = ctypes.CDLL(None, use_errno=True)


class BlockLog:
    """`log` holds (offset, bytes) of each write, and None for each flush."""

    def __init__(self, path, size):
        self.path, self.data, self.log = path, bytearray(size), []
        with open(path, "wb"):
            pass
        self.device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self.device},rootmode=100600,user_id=0,group_id=0".encode()
        if libc.mount(b"tomostage-blocks", path.encode(), b"fuse.blocks", 0, options):
            raise OSError(ctypes.get_errno(), "FUSE cannot be mounted")
        threading.Thread(target=self.serve, daemon=True).start()
        self.loop = subprocess.run(["losetup", "--find", "--show", path], stdout=subprocess.PIPE, check=True,
                                   text=True).stdout.strip()

    def close(self):
        subprocess.run(["losetup", "--detach", self.loop], check=False)
        subprocess.run(["umount", "--lazy", self.path], check=False)

    def attributes(self):
        return struct.pack("<QII6Q10I", 3600, 0, 0, 1, len(self.data), len(self.data) // 512, 0, 0, 0, 0, 0, 0, 0o100600, 1, 0, 0,
                           0, 4096, 0)

    def answer(self, opcode, body):
        if opcode == INIT:
            return struct.pack("<IIIIHHIIHHI28x", 7, 31, 65536, BIG_WRITES, 16, 12, MAX_WRITE, 1, 32, 0, 0)
        if opcode in (GETATTR, SETATTR):
            return self.attributes()
        if opcode == OPEN:
            return struct.pack("<QII", 1, 0, 0)
        if opcode == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            return bytes(self.data[offset:offset + size])
        if opcode == WRITE:
            _, offset, size = struct.unpack_from("<QQI", body)
            self.data[offset:offset + size] = body[40:40 + size]
            self.log.append((offset, body[40:40 + size]))
            return struct.pack("<II", size, 0)
        if opcode == STATFS:
            return struct.pack("<5Q4I24x", 0, 0, 0, 0, 0, 4096, 255, 4096, 0)
        if opcode == FSYNC:
            self.log.append(None)
        return b"" if opcode in (FSYNC, FLUSH, RELEASE) else None

    def serve(self):
        while True:
            try:
                request = os.read(self.device, MAX_WRITE + 65536)
            except OSError:
                return
            _, opcode, unique = struct.unpack_from("<IIQ", request)
            if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
                continue
            out = self.answer(opcode, request[40:])
            os.write(self.device, struct.pack("<IiQ", 16 + len(out or b""), -ENOSYS if out is None else 0, unique) + (out or b""))


def write_image(path, start, log, chosen):
    """Writes the disk that has the first bytes `start` and the chosen entries of the log, as a file with holes."""
    with open(path, "wb") as file:
        file.truncate(len(start))
        for at in range(0, len(start), 1 << 20):
            block = start[at:at + (1 << 20)]
            if block.count(0) < len(block):
                file.seek(at)
                file.write(block)
        for i in chosen:
            if log[i]:
                file.seek(log[i][0])
                file.write(log[i][1])
