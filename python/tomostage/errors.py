# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, as records that programs can read."""
from collections import namedtuple

STATUSES = {1: "run-failed", 2: "bad-chain", 3: "bad-input", 4: "stopped"}

Span = namedtuple("Span", "line column length")
Span.__doc__ = "A place in the chain's text, in bytes, from 1. Line 0: no place."


class Record(namedtuple("Record", "severity code message hint stage span source")):
    """One error, warning or note.

    severity: "error", "warning" or "note". code: its stable name, with a row in docs/errors.md. message: one sentence. hint:
    what can be done, or None. stage: the stage or input that it concerns, or None. span: its place in the chain's text.
    source: the name of that text, or None.
    """

    __slots__ = ()

    def __new__(cls, severity, code, message, hint, stage, span, source):
        return super().__new__(cls, severity, code, message, hint, stage, Span(*span), source)

    def __str__(self):
        where = f"{self.stage}: " if self.stage and not self.message.startswith(self.stage) else ""
        return f"{where}{self.message} [{self.code}]" + (f"\n  hint: {self.hint}" if self.hint else "")


class ChainError(Exception):
    """A chain, its input or its run is wrong. It prints as the program does, with the place in the chain's text.

    records: every error, warning and note, in order. status: "bad-chain", "bad-input", "run-failed" or "stopped".
    """

    def __init__(self, text, records=(), status="bad-chain"):
        super().__init__(text)
        self.records, self.status = list(records), status

    def __reduce__(self):
        return ChainError, (str(self), self.records, self.status)


class ChainWarning(UserWarning):
    """What a stage on an array warned of; a run of a chain has it in `result.warnings`."""


def error_of(status, records, text):
    """Returns the error that the extension raises."""
    return ChainError(text.rstrip(), records, STATUSES.get(status, "run-failed"))


ChainError.__module__ = ChainWarning.__module__ = Record.__module__ = "tomostage"
