# SPDX-License-Identifier: Apache-2.0
"""How far a run is, as events for a function of yours or as a line that is shown."""
import sys
import warnings
from collections import namedtuple

Event = namedtuple("Event", "kind number passes slices_done slices seconds bytes_per_second seconds_left search stage iteration "
                            "iterations residual")
Event.__doc__ = """How far a run is.

kind: "started", "progress", "finished" or "iteration". number, passes: of the pass over the slices, from 1. slices_done,
slices: of this pass. seconds: since the run began. bytes_per_second, seconds_left: as far as they are known. search: the
stage whose box is looked for by a run of the stages before it, or None. Of "iteration": stage has done `iteration` of at
most `iterations`, and `residual` is what its table holds, or NaN."""


def in_notebook():
    """Returns whether this runs in a notebook, which draws what is printed to it."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return type(shell).__name__ == "ZMQInteractiveShell"


class Bar:
    """Shows a pass as a bar of tqdm."""

    def __init__(self, tqdm):
        self._tqdm, self._bar, self._number = tqdm, None, 0

    def __call__(self, event):
        if event.kind == "iteration":
            if self._bar is not None:
                self._bar.set_postfix_str(f"{event.stage}: iteration {event.iteration} of {event.iterations}")
            return
        if event.slices and (self._bar is None or event.number != self._number or event.slices != self._bar.total):
            self.close()
            name = f"{event.search}: search" if event.search else f"pass {event.number} of {event.passes}"
            self._bar, self._number = self._tqdm(total=event.slices, desc=name, unit="slice"), event.number
        if self._bar is not None:
            self._bar.update(max(0, event.slices_done - self._bar.n))

    def close(self):
        if self._bar is not None:
            self._bar.close()
        self._bar = None


class Line:
    """Shows a run as one line of text, at most ten times a second."""

    def __init__(self, stream):
        self._stream, self._shown, self._width = stream, -1.0, 0

    def __call__(self, event):
        if event.kind == "progress" and event.slices_done < event.slices and event.seconds - self._shown < 0.1 or \
                event.kind == "iteration" and event.seconds - self._shown < 0.1:
            return
        self._shown = event.seconds
        what = f"{event.search}: search" if event.search else f"pass {event.number} of {event.passes}"
        text = f"{what}: slice {event.slices_done} of {event.slices}, {event.seconds:.1f} s"
        if event.kind == "iteration":
            text += f", {event.stage}: iteration {event.iteration} of {event.iterations}"
        self._stream.write("\r" + text.ljust(self._width))
        self._stream.flush()
        self._width = len(text)

    def close(self):
        if self._width:
            self._stream.write("\n")
            self._stream.flush()


def listener_of(progress):
    """Returns what shows a run, and the function that ends it. progress: True: a bar of tqdm if that is installed, else a line
    in a terminal or a notebook, else nothing; or a function, which is called with each Event; or None or False."""
    if progress is None or progress is False:
        return None, lambda: None
    if progress is not True:
        return progress, lambda: None
    if not in_notebook() and not sys.stderr.isatty():
        return None, lambda: None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of widgets that a notebook has not: the bar is then text
            from tqdm.auto import tqdm
    except ImportError:
        shown = Line(sys.stderr)
    else:
        shown = Bar(tqdm)
    return shown, shown.close


Event.__module__ = "tomostage"
