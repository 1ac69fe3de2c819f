"""`shoal warmup`: compile every kernel now."""

from __future__ import annotations

import time

import click


@click.command()
def command() -> None:
    """Compile every kernel for this machine now, so that no later run has to wait."""
    from shoal.engine.kernels.compiling import cache_folder, warm_up
    from shoal.engine.partition.space import search_kernels
    from shoal.protections.microaggregation.kernels.squares import Squares

    started = time.perf_counter()
    kernels = warm_up(search_kernels(Squares()))
    click.echo(f"{kernels} kernels ready in {time.perf_counter() - started:.1f} s, kept in {cache_folder()}")
