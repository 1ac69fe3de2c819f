"""Control: work on threads in order, one way to stop it from any thread, and no half result of what was stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.engine.control import Control, control_of, current, shielded
from shoal.engine.partition.set_partition import Pool, SetPartitioning
from shoal.errors import Stopped, UsageError
from shoal.protections.microaggregation.methods.mdav import mdav
from shoal.protections.microaggregation.squared_error import SquaredError
from shoal.protections.recoding import RECODE, protect

GENEROUS = 60.0  # seconds; how fast a stop really is, benchmarks/stopping.py measures


def test_results_come_in_the_order_of_the_pieces_on_any_number_of_threads() -> None:
    for threads in (1, 3):
        assert Control(threads=threads).run([partial(pow, n, 2) for n in range(20)]) == [n * n for n in range(20)]
        assert Control(threads=threads).map(max, [1, 5], [3, 2]) == [3, 5]
    assert Control().run([]) == []


def test_the_body_runs_on_a_worker_thread_that_knows_its_control() -> None:
    control = Control(threads=2)
    assert control.call(lambda: (threading.current_thread() is threading.main_thread(), current() is control)) == (
        False,
        True,
    )
    inside = control.call(lambda: control.run([lambda: current() is control] * 3))
    assert inside == [True] * 3
    assert current() is not control


def test_an_error_of_a_piece_reaches_the_caller() -> None:
    def fail() -> None:
        raise ValueError("the piece")

    for threads in (1, 2):
        with pytest.raises(ValueError, match="the piece"):
            Control(threads=threads).run([fail, fail])
    with pytest.raises(ValueError, match="the piece"):
        Control().call(fail)


def spin(control: Control) -> str:
    until = time.monotonic() + GENEROUS
    while not control.stopped and time.monotonic() < until:
        time.sleep(0.001)
    return "stopped" if control.stopped else "never"


def test_another_thread_stops_the_work_and_all_its_parts() -> None:
    for stop in ("call", "event"):
        event = threading.Event()
        control = Control(threads=2, cancel=event)
        part = control.part()
        threading.Timer(0.05, control.stop if stop == "call" else event.set).start()
        assert control.call(lambda part=part: part.run([partial(spin, part)] * 2)) == ["stopped"] * 2
        assert control.stopped and control.facts == {"stopped": True} and control.part().stopped


def test_a_time_limit_of_a_part_leaves_the_whole_alone_and_that_of_the_whole_ends_its_parts() -> None:
    whole = Control()
    part = whole.part(seconds=0.0)
    assert not part.advance(1.0) and part.stopped and not whole.stopped
    capped = Control(seconds=0.0)
    assert capped.call(lambda: capped.part(seconds=1e9).advance(1.0)) is False


def test_work_that_has_nothing_yet_ends_without_a_result() -> None:
    control = Control()
    control.stop()
    with pytest.raises(Stopped, match="before it had a result"):
        control.call(control.check)
    assert shielded(lambda: current().stopped) is False  # what has to be finished does not see the stop

    def press(*_: object) -> None:
        raise KeyboardInterrupt

    pressed = Control(progress=press)

    def search() -> None:
        assert pressed.show(1, 2) is False
        pressed.check()

    with pytest.raises(KeyboardInterrupt):
        pressed.call(search)


def test_a_control_within_the_body_of_another_stops_with_it() -> None:
    outer, inner = Control(), Control()

    def body() -> bool:
        threading.Timer(0.05, outer.stop).start()
        return inner.call(lambda: spin(inner)) == "stopped"

    assert outer.call(body) and inner.stopped


def test_when_stopped_is_called_once_and_also_if_it_comes_late() -> None:
    control, calls = Control(), []
    with control.when_stopped(lambda: calls.append(1)):
        control.stop()
        control.stop()
    with control.when_stopped(lambda: calls.append(2)):
        pass
    assert calls == [1, 2]


def test_threads_and_progress_belong_to_the_control() -> None:
    rng = np.random.default_rng(5)
    frame = shoal.read(pl.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40)}), quasi=["a", "b"])
    with pytest.raises(UsageError, match="belong to the control"):
        shoal.microaggregate(frame, 3, control=Control(), threads=2)
    shown: list[float] = []
    plain = shoal.microaggregate(frame, 3, effort="quick", seed=1)
    watched = Control(threads=2, progress=lambda done, *_: shown.append(done))
    same = shoal.microaggregate(frame, 3, effort="quick", seed=1, control=watched)
    assert plain.table.equals(same.table) and len(same.trace) == len(shown) > 0
    assert control_of(watched, None, None) is watched


def test_a_kernel_that_is_stopped_gives_no_half_result() -> None:
    values = np.random.default_rng(0).normal(size=(400, 3))
    control = Control()
    control.stop()
    for engine in ("brute", "tree"):
        with pytest.raises(Stopped):
            control.call(lambda engine=engine: mdav(values, 3, engine=engine))


AT_ONCE: dict[str, Callable[..., shoal.Release]] = {
    **{f"recode {name}": partial(shoal.recode, method=name) for name in RECODE.method_names},
    "recode peel": partial(shoal.recode, method="peel", loss="nodes", steps={"a": [4, 8], "b": [4, 8]}),
    "suppress": shoal.suppress,
    "suppress wildcard": partial(shoal.suppress, star="wildcard"),
    "suppress subsets": partial(shoal.suppress, subsets=2),
    "suppress sets": partial(shoal.suppress, sets=[["a"], ["b"]]),
}


def two_columns() -> pl.DataFrame:
    rng = np.random.default_rng(4)
    return pl.DataFrame({"a": rng.integers(0, 40, 300), "b": rng.integers(0, 40, 300)})


@pytest.mark.parametrize("name", AT_ONCE)
def test_a_protection_that_is_stopped_at_once_gives_no_half_result(name: str) -> None:
    control = Control()
    control.stop()
    with pytest.raises(Stopped):
        AT_ONCE[name](two_columns(), 5, control=control)


def test_a_recoding_keeps_its_groups_if_it_is_stopped_before_the_lower_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = two_columns()
    whole = shoal.recode(frame, 5, method="mondrian", bound=True)
    control, kernel = Control(), protect.neighbours_in_order

    def stopped_in_it(*arguments: object) -> None:
        control.stop()
        kernel(*arguments)

    monkeypatch.setattr(protect, "neighbours_in_order", stopped_in_it)
    release = shoal.recode(frame, 5, method="mondrian", bound=True, control=control)
    assert release.frame.equals(whole.frame) and release.facts["stopped"]
    assert whole.facts["lower_bound"] > 0 and "lower_bound" not in release.facts


def test_the_solver_of_linear_programmes_is_interrupted_by_a_stop() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(900, 2))
    pool = Pool(SquaredError(values, 3))
    pool.add_labels(mdav(values, 3).labels)
    pool.add(rng.choice(900, size=3, replace=False) for _ in range(60_000))
    master, control = SetPartitioning(pool, 900), Control()
    master._solver.cbSimplexInterrupt += lambda event: control.stop()  # in its first iteration: no clock decides
    assert master.duals(control=control) is None
    assert SetPartitioning(pool, 900).duals(control=control) is None  # stopped before it begins


PEOPLE: dict[str, Callable[[shoal.Table, Control], shoal.Release]] = {
    "memetic": lambda table, control: shoal.microaggregate(table, 3, effort="thorough", control=control),
    "hybrid": lambda table, control: shoal.microaggregate(
        table, 3, method="hybrid", macro_size=60, generations=10**8, control=control
    ),
    "groups": lambda table, control: shoal.group_attributes(table, 3, evaluations=10**7, control=control),
    "generalize": lambda table, control: shoal.generalize(table, 5, effort="thorough", control=control),
    "recode": lambda table, control: shoal.recode(table, 5, effort="thorough", control=control),
    "suppress": lambda table, control: shoal.suppress(table, 5, effort="thorough", control=control),
}


@pytest.mark.parametrize("name", PEOPLE)
def test_another_thread_cancels_a_protection_which_gives_its_best_so_far(name: str) -> None:
    rng = np.random.default_rng(3)
    table = shoal.read(pl.DataFrame({f"x{j}": rng.integers(0, 60, 500) for j in range(4)}))
    begun, results = threading.Event(), []
    control = Control(threads=2, progress=lambda *_: begun.set())

    def search() -> None:
        with suppress(Stopped):
            results.append(PEOPLE[name](table, control))

    thread = threading.Thread(target=search, daemon=True)
    thread.start()  # as in a notebook's or a server's thread: none of this is the main thread
    if name == "hybrid":  # it shows nothing before its first macro-group is done
        begun.wait(15)
    else:
        assert begun.wait(10 * GENEROUS)  # the kernels may have to be compiled first
    control.stop()
    thread.join(GENEROUS)
    assert not thread.is_alive() and all(release.facts["stopped"] for release in results)


TWICE = """
import os, signal, sys, threading, time
from shoal.engine.control import Control
control = Control()
def deaf():
    for _ in range(2):
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)
    time.sleep(600)
control.call(deaf)
"""


def test_a_second_ctrl_c_ends_the_process_even_if_a_worker_does_not_listen() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", TWICE],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.default_int_handler),
    )
    _, stderr = process.communicate(timeout=GENEROUS)
    assert "KeyboardInterrupt" in stderr and process.returncode != 0


def test_ctrl_c_while_a_worker_starts_does_not_lose_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    start, control = threading.Thread.start, Control()

    def start_and_press(thread: threading.Thread) -> None:
        start(thread)
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", start_and_press)
            assert control.call(lambda: "the best so far") == "the best so far"
        assert control.stopped and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
