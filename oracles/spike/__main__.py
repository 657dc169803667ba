"""``python -m oracles.spike faults | coverage | campaign``: the big runs of the instruction differential."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import campaign, coverage, coverage_page, fault_campaign, fault_page


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


def main() -> int:
    """Parse the command line and run; 0 if all is as it should be."""
    parser = argparse.ArgumentParser(prog="python -m oracles.spike", description=__doc__)
    commands = parser.add_subparsers(required=True)
    faults = commands.add_parser("faults", help="seeded faults through the differential; writes the page")
    faults.add_argument("page", type=Path)
    faults.set_defaults(run=_faults)
    table = commands.add_parser("coverage", help="every mnemonic at every SEW and LMUL; writes the page")
    table.add_argument("page", type=Path)
    table.set_defaults(run=_coverage)
    random = commands.add_parser("campaign", help="random instructions, programs and DMA descriptors")
    random.add_argument("--seed", type=int, default=0)
    random.add_argument("--instructions", type=int, default=20_000)
    random.add_argument("--programs", type=int, default=2_000)
    random.add_argument("--dma", type=int, default=5_000, help="DMA descriptors (a program holds one to four)")
    random.set_defaults(run=_campaign)
    options = parser.parse_args()
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
