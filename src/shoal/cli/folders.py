"""Protect a folder of files: check the options, protect, write the folder, and print the measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.delivery import checked_facts, print_findings
from shoal.cli.options import print_json, progress_bar, take_roles
from shoal.errors import PromiseError, Stopped, UsageError, printable

if TYPE_CHECKING:
    from shoal.folders.release import FolderRelease, SavedFolder
    from shoal.protections.protection import Protection
    from shoal.sources.scanning import Files

NAMES = ("on", "workers", "staging")
# What a folder of files cannot have, and what to do instead.
UNSUPPORTED = {
    "external": "A public report shows distributions of the whole table. Remove it; --report writes an internal report",
    "external_report": "A public report shows distributions of the whole table. Use --report, an internal report",
    "round_weight": "Mean weights of classes need all records at once. Drop the weight (--drop), or protect one file",
}
SAVING = ("shuffle", "keep_order", "policy", "previous", "first_release", "accept_k")
ON_ONE_MACHINE = (*UNSUPPORTED, "derived")  # these keep one file in one process


def folder_options(work: str = "protected", *, continues: bool = True) -> list[click.Option]:
    """Return the options of a folder of files. continues: whether a killed run continues from staged results."""
    rest = (
        ", from which a killed run continues. [default: beside the output]" if continues else ". [default: temporary]"
    )
    return [
        click.Option(
            ["--on"],
            metavar="PLACE",
            help=f"Where a folder of files is {work}: processes, dask://HOST:PORT or spark://HOST:PORT. "
            "[default: processes]",
        ),
        click.Option(
            ["--workers"],
            type=click.IntRange(min=1),
            metavar="N",
            help="Units of work at once. [default: one per core]",
        ),
        click.Option(
            ["--staging"],
            type=click.Path(),
            metavar="DIR",
            help=f"Folder of intermediate results{rest}",
        ),
    ]


def is_folder(options: Mapping[str, Any], argument: str = "file") -> bool:
    """Whether a command is for a folder of files."""
    from shoal.sources.scanning import names_folder

    return any(options.get(name) is not None for name in NAMES) or names_folder(options[argument])


def scan_existing(original: str, arguments: dict[str, Any], roles: Mapping[str, Any], **text_options: Any) -> Files:
    """Take the options of a folder out of a command's arguments, and name the files that a release was made from."""
    from shoal.sources.scanning import scan

    place = {name: arguments.pop(name) for name in NAMES}
    return scan(original, on=place["on"], workers=place["workers"], staging=place["staging"], **roles, **text_options)


def is_large(protection: Protection, arguments: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
    """Whether a single file has so many cells that it is protected as a folder is; this never depends on the machine.

    A run that names something which only one machine can do stays on one.
    """
    from shoal.sources.roles_file import read_roles
    from shoal.sources.scanning import cells_of

    if "leaves_above" not in protection.parameters or options["output"] is None:
        return False
    parameter = protection.parameters["leaves_above"]
    others = [name for name in arguments if name not in protection.on_files_options]
    unlike = [name for name in ("method", "missing") if name in arguments]
    saved = [name for name in ON_ONE_MACHINE if options.get(name)]
    if others or unlike or saved:
        return False
    limit = int(arguments.get("leaves_above", parameter.default))
    cells = cells_of(options["file"], limit)
    if cells <= limit or (options.get("roles") and read_roles(options["roles"]).derived):
        return False
    click.echo(
        f"The file has {cells:,} cells, more than {limit:,} ({parameter.flag}), so processes search it in leaves. A "
        f"larger {parameter.flag} keeps it in one process.",
        err=True,
    )
    return True


def run_on_folder(
    protection: Protection, arguments: dict[str, Any], options: dict[str, Any], also: Mapping[str, str | None]
) -> None:
    """Protect a folder of files and write the release as a folder, and `also` further files by their options."""
    from shoal.folders.writing import check_new_folder
    from shoal.sources.files import check_place
    from shoal.sources.scanning import is_one_file, scan

    further = {method: check_place(path) for name, method, _ in protection.files if (path := also.get(name))}
    recipe = _checked(protection, options)
    report = options["report"] and check_place(options["report"])
    target = Path(options["output"]).expanduser()
    if not is_one_file(options["file"], target):
        check_new_folder(target)
    place = {name: options.pop(name, None) for name in NAMES}
    staging = Path(place["staging"] or default_staging(target))
    if options.get("seed") is not None:
        arguments["seed"] = options["seed"]
    saving = {name: options[name] for name in SAVING}
    as_json, data = options["as_json"], options["file"]
    text_options = {name: options.pop(name) for name in ("delimiter", "encoding", "decimal")}
    on, workers = place["on"] or "processes", place["workers"]
    files = scan(data, on=on, workers=workers, staging=staging, **take_roles(options), **text_options)

    def protect(progress: Any) -> FolderRelease:
        release: FolderRelease = protection.function(files, progress=progress, **arguments)
        return release

    save_folder(
        protect, protection.title.lower(), target, staging, saving, recipe, further, report=report, as_json=as_json
    )


def save_folder(
    protect: Callable[[Any], FolderRelease],
    label: str,
    target: Path,
    staging: Path,
    saving: Mapping[str, Any],
    recipe: str | None,
    also: Mapping[str, Path] | None = None,
    *,
    report: Path | None = None,
    as_json: bool,
) -> None:
    """Protect and save; remove the staged results unless the run can continue from them."""
    release: FolderRelease | None = None
    try:
        with progress_bar(label) as progress:
            release = protect(progress)
            saved: SavedFolder = release.save(target, **saving)
    except PromiseError as error:
        if release is not None:
            release.discard()
            _print(release, error.findings, as_json=as_json, written=False)
        raise
    except (Exception, KeyboardInterrupt) as error:
        if release is not None:
            release.close()
        if not isinstance(error, UsageError) and (staging / "plan.json").exists():
            click.echo(
                f"The results so far are in {printable(str(staging))}. Run the same command to continue from them. "
                "They hold original values: delete the folder if you do not continue.",
                err=True,
            )
        if isinstance(error, Stopped):
            raise KeyboardInterrupt from None
        raise
    release.discard()
    for method, path in (also or {}).items():
        release.save_also(method, path)
        click.echo(f"Written: {printable(str(path))}", err=True)
    if recipe is not None:
        saved.recipe.save(recipe)
        click.echo(f"Written: {printable(recipe)}", err=True)
    if report is not None:
        saved.report(report)
        click.echo(f"Written: {printable(str(report))}", err=True)
    _print(release, saved.findings, as_json=as_json, written=True)
    if not as_json:
        click.echo(f"Written: {printable(str(target))}")


def default_staging(target: Path) -> Path:
    """Return the folder of staged results beside the output."""
    target = target.absolute()
    return target.with_name(f".{target.name}.staging")


def _checked(protection: Protection, options: Mapping[str, Any]) -> str | None:
    """Raise an error for an option that a folder of files cannot have; return the file of the recipe."""
    from shoal.folders.release import refuse_on_files
    from shoal.recipe import check_recipe_place

    if not protection.on_files:
        raise refuse_on_files(protection)
    for name, instead in UNSUPPORTED.items():
        if options.get(name):
            raise UsageError(f"A folder of files does not support --{name.replace('_', '-')}. {instead}.")
    if options["output"] is None:
        raise UsageError("A folder of files needs an output folder. Add -o FOLDER.")
    recipe: str | None = options["save_recipe"]
    if recipe is not None:
        check_recipe_place(recipe)
    return recipe


def _print(release: FolderRelease, findings: Any, *, as_json: bool, written: bool) -> None:
    """Print the measures and the findings."""
    if as_json:
        print_json({**release.facts, **({} if findings is None else checked_facts(findings, written=written))})
        return
    from shoal.cli.tables import print_blocks
    from shoal.report.printed import printed_files

    print_blocks(printed_files(release))
    if findings is not None:
        print_findings(findings)
