"""`shoal warmup`: compile all kernels now."""

from __future__ import annotations

import time

import click

from shoal.cli.help import SectionedCommand


@click.command(cls=SectionedCommand)
def command() -> None:
    """Compile everything for this machine now, so that later runs start at once."""
    from shoal.engine.kernels.compiling import cache_folder, load_library, warm_up
    from shoal.engine.partition.space import search_kernels
    from shoal.protections.microaggregation.kernels.squares import Squares
    from shoal.protections.recoding.shipped import recoding_kernels

    started = time.perf_counter()
    kernels = warm_up([*search_kernels(Squares()), *recoding_kernels()])
    where = "compiled ahead" if load_library() else f"stored in {cache_folder()}"
    click.echo(f"{kernels} kernels ready in {time.perf_counter() - started:.1f} s, {where}")
