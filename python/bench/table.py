# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks share: rows of a table, times, and peers that may be missing."""
import platform
import statistics
import time


class Table:
    """Rows that are printed as a table when all are there, and peers that were left out with the reason."""

    def __init__(self, title, *columns):
        self.title, self.columns, self.rows, self.missing = title, columns, [], []

    def row(self, *cells):
        self.rows.append([f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in cells])

    def peer(self, name, measure):
        """Calls measure(), which adds rows. A peer that is not installed, or fails, is named below the table."""
        try:
            measure()
        except ImportError as error:
            self.missing.append(f"{name}: not installed ({error})")
        except Exception as error:  # a peer that fails is a result too
            self.missing.append(f"{name}: failed: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")

    def print(self):
        widths = [max(map(len, column)) for column in zip(self.columns, *self.rows)]
        print(f"\n{self.title}\n({platform.processor() or platform.machine()}, Python {platform.python_version()})\n")
        for row in (self.columns, ["-" * width for width in widths], *self.rows):
            print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")
        for line in self.missing:
            print(f"left out: {line}")


def median_seconds(call, n=5):
    """Returns the median of n calls after one that is not counted, and what the last one returned."""
    made, seconds = call(), []
    for _ in range(n):
        begin = time.perf_counter()
        made = call()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds), made


def host_microseconds(call, n=2000, series=7):
    """Returns the processor time that a call takes of the thread, the least of several series, in microseconds."""
    call()
    best = float("inf")
    for _ in range(series):
        begin = time.thread_time()
        for _ in range(n):
            call()
        best = min(best, (time.thread_time() - begin) / n)
    return best * 1e6
