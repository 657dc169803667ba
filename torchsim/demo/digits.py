"""The main demonstration: a classifier of handwritten digits, trained on the CPU, inferred on the NPU.

The data are the 1,797 real 8 x 8 digits that scikit-learn ships. The network (linear, layer norm, GELU, linear, softmax) exercises the
systolic array, fused epilogues, reductions and special functions. Every kernel is compared with its CPU golden while it runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import torchsim
from torchsim.runtime.report import KernelRun
from torchsim.runtime.session import Session

HIDDEN = 128
EPOCHS = 120
_WIDE = 130
"""Terminal columns from which the origins have a column of their own."""


@dataclass(frozen=True, slots=True)
class MachineResult:
    """Inference of the test split on one machine."""

    machine: str
    accuracy: float
    predictions_equal: bool
    max_probability_error: float
    cycles: int
    kernels: tuple[KernelRun, ...]
    stalls: dict[str, int]
    timeline: str
    report: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of the demo; ``ok`` when every machine predicts exactly what the CPU predicts."""

    cpu_accuracy: float
    machines: tuple[MachineResult, ...]

    @property
    def ok(self) -> bool:
        """Whether all machines agree with the CPU."""
        return all(result.predictions_equal for result in self.machines)

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "cpu_accuracy": self.cpu_accuracy,
            "ok": self.ok,
            "machines": [
                {
                    "machine": result.machine,
                    "accuracy": result.accuracy,
                    "predictions_equal": result.predictions_equal,
                    "max_probability_error": result.max_probability_error,
                    "cycles": result.cycles,
                    "stalls": result.stalls,
                    "timeline": result.timeline,
                    "report": result.report,
                }
                for result in self.machines
            ],
        }


class Classifier(torch.nn.Module):
    """64 pixels to 10 class probabilities."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = torch.nn.Linear(64, HIDDEN)
        self.norm = torch.nn.LayerNorm(HIDDEN)
        self.output = torch.nn.Linear(HIDDEN, 10)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """[batch, 64] float pixels in 0..1 to [batch, 10] probabilities."""
        return torch.softmax(self.output(torch.nn.functional.gelu(self.norm(self.hidden(pixels)))), -1)


def load_digits() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """(train pixels, train labels, test pixels, test labels); every fifth digit is in the test split."""
    try:
        from sklearn.datasets import load_digits as sklearn_digits
    except ImportError as error:
        raise torchsim.InvalidInputError(
            "the demo needs scikit-learn's digits", expected="scikit-learn installed", found=str(error), hint="pip install 'torchsim[demo]'"
        ) from error
    data: Any = sklearn_digits()
    pixels = torch.from_numpy(data.data).float() / 16
    labels = torch.from_numpy(data.target).long()
    test = torch.arange(len(labels)) % 5 == 0
    return pixels[~test], labels[~test], pixels[test], labels[test]


def train(pixels: torch.Tensor, labels: torch.Tensor, progress: Progress) -> Classifier:
    """Full-batch Adam on the CPU, seeded; about two seconds."""
    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    task = progress.add_task("train on the CPU", total=EPOCHS)
    for _ in range(EPOCHS):
        optimizer.zero_grad()
        torch.nn.functional.nll_loss((model(pixels) + 1e-9).log(), labels).backward()
        optimizer.step()
        progress.advance(task)
    return model.eval()


def infer(model: Classifier, name: str, pixels: torch.Tensor, labels: torch.Tensor, out: Path) -> MachineResult:
    """Compile and run the test split on one machine inside a session."""
    expected = model(pixels)
    torch._dynamo.reset()
    with torchsim.machine(name), torchsim.options(functional=True, timing=True, verify=True), torchsim.session() as session:
        found = torch.compile(model, backend="torchsim")(pixels)
    timeline, report = out / f"digits-{name}.timeline.json", out / f"digits-{name}.json"
    session.timeline(timeline)
    session.to_json(report)
    predicted = found.argmax(-1)
    return MachineResult(
        name,
        float((predicted == labels).float().mean()),
        bool((predicted == expected.argmax(-1)).all()),
        float((found - expected).abs().max()),
        session.cycles,
        tuple(session.kernels),
        session.stalls,
        str(timeline),
        str(report),
    )


def timed_inference(machine: str) -> Session:
    """The inference in timing mode alone, untrained: cycles depend neither on the weights nor on the pixels."""
    pixels = load_digits()[2]
    torch._dynamo.reset()
    with torch.no_grad(), torchsim.machine(machine), torchsim.options(functional=False, timing=True), torchsim.session() as session:
        torch.compile(Classifier().eval(), backend="torchsim")(pixels)
    return session


def run_demo(machines: list[str], out: Path) -> Outcome:
    """Train, infer on each machine, print the tables; timelines and reports go to ``out``."""
    console = Console()
    out.mkdir(parents=True, exist_ok=True)
    train_pixels, train_labels, pixels, labels = load_digits()
    results: list[MachineResult] = []
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"), TimeElapsedColumn(), console=console
    ) as progress:
        model = train(train_pixels, train_labels, progress)
        task = progress.add_task("infer on the NPU", total=len(machines))
        with torch.no_grad():
            cpu_accuracy = float((model(pixels).argmax(-1) == labels).float().mean())
            for name in machines:
                progress.update(task, description=f"infer on the NPU ({name})")
                results.append(infer(model, name, pixels, labels, out))
                progress.advance(task)
    console.print(f"\n{len(labels)} test digits, CPU accuracy {cpu_accuracy:.2%}")
    for result in results:
        _print(console, result)
    console.print(
        "max ulp is against CPU eager, over all elements; it is large where values near zero come out of a cancellation. "
        "Every element is within the derived tolerance, or the demo would have stopped.",
        highlight=False,
    )
    return Outcome(cpu_accuracy, tuple(results))


def _print(console: Console, result: MachineResult) -> None:
    equal = "equal to the CPU's" if result.predictions_equal else "DIFFERENT from the CPU's"
    console.print(
        f"{result.machine}: accuracy {result.accuracy:.2%}, predictions {equal}, "
        f"largest probability error {result.max_probability_error:.2g}",
        highlight=False,
        soft_wrap=True,
    )
    wide = console.width >= _WIDE
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1 if wide else 0, 0, 0 if wide else 1))
    for column in ("kernel", *(("origins",) if wide else ()), "tile"):
        table.add_column(column, no_wrap=column != "origins")
    for column in ("spad B/lane", "DMA bytes", "cycles", "SA util", "max ulp"):
        table.add_column(column, justify="right", no_wrap=True)
    for run in result.kernels:
        name = run.name.removeprefix("torchsim_")
        table.add_row(
            name,
            *((", ".join(run.origins),) if wide else ()),
            " ".join(f"{axis}={extent}" for axis, extent in run.tile.items()),
            f"{run.spad_bytes_per_lane}/{run.budget_bytes_per_lane}",
            f"{run.dma_bytes:,}",
            f"{run.cycles:,}",
            f"{run.sa_utilization:.1%}",
            "-" if run.max_ulp is None else f"{run.max_ulp:.3g}",
        )
    console.print(table)
    if not wide:
        for run in result.kernels:
            console.print(f"  {run.name.removeprefix('torchsim_')}: {', '.join(run.origins)}", highlight=False)
    stalls = ", ".join(f"{cause} {cycles:,}" for cause, cycles in sorted(result.stalls.items()) if cycles) or "none"
    console.print(f"  total {result.cycles:,} cycles; stalls: {stalls}", highlight=False, soft_wrap=True)
    console.print(f"  timeline {result.timeline} (open in ui.perfetto.dev)\n  report   {result.report}\n", highlight=False, soft_wrap=True)
