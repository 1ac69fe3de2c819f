"""`shoal warmup`: compile every kernel now."""

from __future__ import annotations

import time

import click


@click.command()
def command() -> None:
    """Compile every kernel for this machine now, so that no later run has to wait."""
    from shoal.kernels.compiling import cache_folder, warm_up

    started = time.perf_counter()
    modules = warm_up()
    click.echo(f"{modules} kernel modules ready in {time.perf_counter() - started:.1f} s, kept in {cache_folder()}")
