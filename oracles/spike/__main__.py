"""``python -m oracles.spike lockstep | campaign | faults | coverage``: first wrong instruction, big runs of the differential."""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

from torchsim.errors import InvalidInputError
from torchsim.iss.fault import Fault, seeded
from torchsim.target.isa.table import BY_NAME

from . import campaign, coverage, coverage_page, fault_campaign, fault_page, recording
from .both import Both
from .cases import SPAD_BYTES, Case, draw_case, draw_program
from .lockstep import MOST, first_difference, kernel_of
from .shrink import shrink


def _faults(options: argparse.Namespace) -> int:
    verdicts = fault_campaign.run(fault_campaign.sample())
    options.page.write_text(fault_page.render(verdicts, fault_campaign.try_longer(verdicts)))
    print(f"{len(verdicts)} faults, {100 * fault_campaign.share(verdicts):.1f} % noticed")
    return 0 if fault_campaign.share(verdicts) >= 0.98 else 1


def _coverage(options: argparse.Namespace) -> int:
    result = coverage.complete()
    for case, difference in result.found:
        print(f"{case}\n{difference}")
    for one in coverage.missing(result):
        print("never ran to its end:", *one)
    for one in coverage.surplus(result):
        print("ran, but should be illegal:", *one)
    if result.found or coverage.missing(result) or coverage.surplus(result):
        return 1
    options.page.write_text(coverage_page.render(result))
    print(f"{result.cases} cases, {len(result.ran)} combinations, no difference")
    return 0


def _campaign(options: argparse.Namespace) -> int:
    result = campaign.run(options.seed, instructions=options.instructions, programs=options.programs, dma=options.dma)
    for text in result.differences:
        print(text)
    print(f"{result}; {len(result.differences)} differences")
    return 1 if result.differences else 0


def _lockstep(options: argparse.Namespace) -> int:
    if options.kernel is not None:
        kernel, lanes, spad_bytes, queue_rows = recording.load(options.kernel)
        with Both(lanes, spad_bytes, queue_rows) as both:
            found = first_difference(both, kernel, options.most)
        print(found or "no difference")
        return 1 if found else 0
    case = _drawn(options)
    with Both(campaign.LANES, SPAD_BYTES) as both:

        def differs(one: Case) -> bool:
            if options.fault is None:
                return first_difference(both, kernel_of(one, campaign.LANES)) is not None
            with seeded(both.iss, options.fault):
                return first_difference(both, kernel_of(one, campaign.LANES)) is not None

        if not differs(case):
            print("no difference")
            return 0
        small = shrink(case, differs)
        print(f"shortest program:\n{small}")
        if options.fault is None:
            print(first_difference(both, kernel_of(small, campaign.LANES)))
        else:
            with seeded(both.iss, options.fault):
                print(first_difference(both, kernel_of(small, campaign.LANES)))
    return 1


def _drawn(options: argparse.Namespace) -> Case:
    rng = random.Random(options.seed)
    if options.row is None:
        return draw_program(rng, campaign.SEQUENCES, options.length)
    if options.row not in BY_NAME:
        raise InvalidInputError("no such row of the instruction table", expected="a name of docs/isa.md section 7", found=options.row)
    return draw_case(rng, options.row)


def _fault(text: str) -> Fault:
    """NAME:KIND[:SIBLING[:AMOUNT[:TARGET]]]"""
    name, kind, *rest = text.split(":")
    sibling, amount, target = (*rest, "", "", "")[:3]
    return Fault(name, kind, sibling, int(amount or 0), target or "none")


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and run; 0 if all is as it should be, 1 if not, 2 for wrong usage."""
    parser = argparse.ArgumentParser(prog="python -m oracles.spike", description=__doc__)
    commands = parser.add_subparsers(required=True)
    faults = commands.add_parser("faults", help="seeded faults through the differential; writes the page")
    faults.add_argument("page", type=Path)
    faults.set_defaults(run=_faults)
    table = commands.add_parser("coverage", help="every mnemonic at every SEW and LMUL; writes the page")
    table.add_argument("page", type=Path)
    table.set_defaults(run=_coverage)
    fresh = commands.add_parser("campaign", help="random instructions, programs and DMA descriptors")
    fresh.add_argument("--seed", type=int, default=0)
    fresh.add_argument("--instructions", type=int, default=20_000)
    fresh.add_argument("--programs", type=int, default=2_000)
    fresh.add_argument("--dma", type=int, default=5_000, help="DMA descriptors (a program holds one to four)")
    fresh.set_defaults(run=_campaign)
    step = commands.add_parser("lockstep", help="the first instruction after which simulator and Spike differ")
    step.add_argument("kernel", type=Path, nargs="?", help="a kernel that the stock Spike oracle recorded; without it a random program")
    step.add_argument("--most", type=int, default=MOST, help="instructions to compare")
    step.add_argument("--seed", type=int, default=0, help="of the random program")
    step.add_argument("--length", type=int, default=12, help="of the random program, in instructions")
    step.add_argument("--row", help="a random case of this row instead of a program")
    step.add_argument("--fault", type=_fault, help="seed a fault, NAME:KIND[:SIBLING[:AMOUNT[:TARGET]]], to see the tool at work")
    step.set_defaults(run=_lockstep)
    options = parser.parse_args(arguments)
    try:
        return options.run(options)
    except InvalidInputError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
