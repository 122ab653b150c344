"""Progress of long calls: a function of yours, or tqdm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[str, int, int], object]
Progress = bool | Listener
"""False, a function of what is done, how much of it and of how much, or True for a tqdm bar."""


@contextmanager
def listening(progress: Progress) -> Iterator[Listener | None]:
    """The function that is told of progress."""
    if progress is not True:
        yield progress or None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError("progress=True needs tqdm; install it, or give a function of what, done and total") from None
    with tqdm() as bar:

        def show(what: str, done: int, total: int) -> None:
            if bar.desc != f"{what}: ":
                bar.reset(total)
                bar.set_description(what)
            bar.n = done
            bar.refresh()

        yield show
        # It ended well, so nothing is left to do.
        bar.n = bar.total or bar.n
        bar.refresh()
