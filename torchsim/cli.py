"""Command line: ``torchsim run | demo | doctor``; ``python -m torchsim`` is the same.

Exit codes: 0 success, 1 the work failed or a check did not hold, 2 wrong usage (unknown option, machine or file).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from torchsim.errors import ConfigError, InvalidInputError, TorchsimError

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Compile PyTorch models for an NPU, execute the machine code, simulate its time."
)
_console = Console(stderr=True)

MachineOption = Annotated[
    str | None, typer.Option("--machine", "-m", help="Name in configs/ or path of a YAML file; several for demo, comma separated.")
]
JsonOption = Annotated[Path | None, typer.Option("--json", help="Write the results as JSON to this file.")]


@app.command()
def run(
    script: Annotated[Path, typer.Argument(help="Python script to run inside a session.")],
    machine: MachineOption = None,
    json_path: JsonOption = None,
    traces: Annotated[Path | None, typer.Option("--traces", help="Save every kernel call as a trace for `python -m togsim run`.")] = None,
) -> None:
    """Run a Python script inside a session and print its kernel table."""
    import runpy

    import torchsim

    if not script.is_file():
        raise InvalidInputError(f"no script {str(script)!r}", expected="a readable Python file", hint="check the path")
    if machine is not None:
        torchsim.set_machine(machine)
    sys.argv = [str(script)]
    sys.path.insert(0, str(script.resolve().parent))
    with torchsim.session() as session:
        runpy.run_path(str(script), run_name="__main__")
    print(session.table())
    print(
        f"total: {session.cycles:,} cycles on {session.machine.name}, {len(session.kernels)} kernel calls, "
        f"{len(session.fallbacks)} ops on the host"
    )
    for item in session.fallbacks:
        print(f"  host: {item.op} ({item.node}) x{item.count}")
    if json_path is not None:
        session.to_json(json_path)
    if traces is not None:
        print(f"{len(session.save_traces(traces))} traces in {traces}")


@app.command()
def demo(
    machine: MachineOption = None,
    json_path: JsonOption = None,
    out: Annotated[Path, typer.Option("--out", help="Folder for timelines and reports.")] = Path("demo-results"),
) -> None:
    """Train a small network on real digits, then run its inference on the NPU, checked kernel by kernel."""
    from torchsim.demo.digits import run_demo

    machines = machine.split(",") if machine else ["8x8", "32x32", "128x128"]
    outcome = run_demo(machines, out)
    if json_path is not None:
        json_path.write_text(json.dumps(outcome.to_dict(), indent=1) + "\n")
    if not outcome.ok:
        raise typer.Exit(1)


@app.command()
def doctor(json_path: JsonOption = None) -> None:
    """Check the installation: versions, native modules, compiler tools, cache folder, Spike."""
    from torchsim.doctor import checks

    results = checks()
    for item in results:
        print(f"{'ok  ' if item.ok else 'FAIL' if item.required else 'warn'} {item.name}: {item.detail}")
    if json_path is not None:
        json_path.write_text(
            json.dumps([{"name": item.name, "ok": item.ok, "required": item.required, "detail": item.detail} for item in results], indent=1)
            + "\n"
        )
    if any(item.required and not item.ok for item in results):
        raise typer.Exit(1)


def main() -> None:
    """Console entry point."""
    try:
        app()
    except (ConfigError, InvalidInputError) as error:
        _console.print(str(error), style="red", markup=False, highlight=False)
        sys.exit(2)
    except TorchsimError as error:
        _console.print(f"{type(error).__name__}: {error}", style="red", markup=False, highlight=False)
        sys.exit(1)
