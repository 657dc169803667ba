"""Crossbar and mesh by themselves: exact latencies, back-pressure, what every network must satisfy, and BookSim's figures."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from togsim import ConfigError, _core

Packet = tuple[int, int, int, bool]


def network(topology: str, nodes: int, **changes: int) -> dict[str, Any]:
    """BookSim's reference router: 4 channels of 8 flits, 3 router cycles, 1 link cycle; unbounded source queues."""
    base = {"channels": 4, "buffer_flits": 8, "router_cycles": 3, "link_cycles": 1, "queue_packets": 0, "data_flits": 1, "control_flits": 1}
    return {"topology": topology, "nodes": nodes, **base, **changes}


def run(net: dict[str, Any], packets: list[Packet], *, places: int = 0, hold: int = 0, every_cycle: bool = False) -> list[tuple[int, int]]:
    return _core.noc_packets(net, packets, places, hold, every_cycle)


def hops(net: dict[str, Any], source: int, destination: int) -> int:
    """Routers on the way."""
    if net["topology"] != "mesh":
        return 1
    width = next(w for w in range(1, 100) if w * w >= net["nodes"])
    return abs(source % width - destination % width) + abs(source // width - destination // width) + 1


def zero_load(net: dict[str, Any], packet: Packet) -> int:
    """One cycle into the queue, a link, for each router its cycles and a link, and the flits behind the first."""
    _, source, destination, data = packet
    flits = net["data_flits"] if data else net["control_flits"]
    return 1 + net["link_cycles"] + hops(net, source, destination) * (net["router_cycles"] + net["link_cycles"]) + flits - 1


# ---------------------------------------------------------------------------------------------- delivered at t, not at t - 1


@pytest.mark.req("G-14")
@pytest.mark.parametrize(("topology", "nodes"), [("crossbar", 5), ("mesh", 9), ("mesh", 11)])
@pytest.mark.parametrize(("router", "link", "flits"), [(2, 1, 1), (3, 1, 1), (3, 2, 4), (5, 3, 2)])
def test_latency_of_an_empty_network_is_hop_arithmetic(topology: str, nodes: int, router: int, link: int, flits: int) -> None:
    net = network(topology, nodes, router_cycles=router, link_cycles=link, data_flits=flits)
    for source in range(nodes):
        for destination in range(nodes):
            for data in (False, True):
                packet = (7, source, destination, data)
                assert run(net, [packet]) == [(7, 7 + zero_load(net, packet))]


def test_latencies_by_hand() -> None:
    assert run(network("crossbar", 4), [(0, 1, 3, True)]) == [(0, 6)], "queue 1, link 1, router 3, link 1"
    assert run(network("mesh", 9), [(0, 0, 8, True)]) == [(0, 22)], "five routers: 2 + 5 * 4"


def test_one_output_passes_one_flit_a_cycle() -> None:
    net = network("crossbar", 4)
    assert run(net, [(0, 0, 3, True), (0, 1, 3, True), (0, 2, 3, True)]) == [(0, 6), (0, 7), (0, 8)]
    assert run(net, [(0, 0, 3, True), (0, 1, 2, True)]) == [(0, 6), (0, 6)], "other outputs: no conflict"
    assert run(net, [(0, 0, 3, True), (0, 0, 2, True)]) == [(0, 6), (0, 7)], "one input: one flit a cycle"


def test_round_robin_serves_every_input_in_turn() -> None:
    packets = [(0, source, 3, True) for source in range(3) for _ in range(40)]
    times = run(network("crossbar", 4), packets)
    order = [source for _, source in sorted((delivered, p[1]) for p, (_, delivered) in zip(packets, times))]
    served = [[order[:n].count(source) for source in range(3)] for n in range(1, 121)]
    # the turn goes over the virtual channels, of which an input has four
    assert all(max(count) - min(count) <= 4 for count in served), order
    assert max(d for _, d in times) - min(d for _, d in times) == 119, "and the output is never idle"


def test_a_packet_keeps_its_channel_to_its_tail() -> None:
    """One virtual channel: the second packet's head waits until the first one's tail has passed the switch."""
    both = [(0, 0, 3, True), (0, 1, 3, True)]
    net = network("crossbar", 4, channels=1, data_flits=4)
    # tail of the first wins the switch in cycle 6; then channel (7) and switch (8) for the second head, and four flits
    assert run(net, both) == [(0, 9), (0, 14)]
    interleaved = run(network("crossbar", 4, channels=2, data_flits=4), both)
    assert sorted(delivered for _, delivered in interleaved) == [12, 13], "two channels: the flits alternate on the link"


def test_credits_bound_what_is_on_its_way() -> None:
    """A buffer of one flit: the next one leaves the source when the credit is back, a link and a cycle after the switch."""
    net = network("crossbar", 2, channels=1, buffer_flits=1)
    times = run(net, [(0, 0, 1, True)] * 4)
    # leaves at 1, in the router at 2, switch at 3, credit back at 5: one packet in 4 cycles
    assert [delivered for _, delivered in times] == [6, 10, 14, 18]
    deep = run({**net, "buffer_flits": 2}, [(0, 0, 1, True)] * 4)
    assert [delivered for _, delivered in deep] == [6, 8, 10, 12], "one channel: allocation and switch take two cycles a packet"


def test_a_source_queue_is_back_pressure() -> None:
    net = network("crossbar", 2, queue_packets=1)
    times = run(net, [(0, 0, 1, True)] * 3)
    # in the queue at 0, leaves at 1, its place is free at 2
    assert times == [(0, 6), (2, 8), (4, 10)]


def test_a_destination_takes_no_more_than_it_has_places() -> None:
    net = network("crossbar", 3)
    times = run(net, [(0, 0, 2, True)] * 2 + [(0, 1, 2, True)] * 2, places=1, hold=20)
    delivered = sorted(d for _, d in times)
    # freed in the cycle 6 + 20, the next switch is won in 27, its flit arrives three cycles later
    assert delivered == [6, 30, 54, 78]


# ---------------------------------------------------------------------------------------------- properties

NETWORKS = st.builds(
    network,
    st.sampled_from(["crossbar", "mesh", "one to one"]),
    st.one_of(st.integers(1, 9), st.sampled_from([17, 40])),
    channels=st.one_of(st.integers(1, 4), st.integers(1, 8)),
    buffer_flits=st.integers(1, 4),
    router_cycles=st.integers(2, 4),
    link_cycles=st.integers(1, 3),
    queue_packets=st.integers(0, 3),
    data_flits=st.one_of(st.just(1), st.integers(1, 3)),
    control_flits=st.one_of(st.just(1), st.integers(1, 2)),
)


def draw_packets(data: st.DataObject, net: dict[str, Any]) -> list[Packet]:
    nodes = net["nodes"]
    node = st.integers(0, nodes - 1)
    # Bursts to few destinations from long gaps: buffers fill, credits run out, and idle stretches are jumped over.
    cycle = st.one_of(st.integers(0, 3), st.integers(0, 60), st.sampled_from([0, 500]))
    packets = data.draw(st.lists(st.tuples(cycle, node, st.one_of(node, st.just(0)), st.booleans()), min_size=1, max_size=80))
    if net["topology"] == "one to one":
        destination = data.draw(st.permutations(range(nodes)))
        packets = [(c, s, destination[s], d) for c, s, _, d in packets]
    return sorted(packets, key=lambda p: p[0])


@pytest.mark.req("G-14", "H-7")
@settings(max_examples=300)
@given(NETWORKS, st.integers(0, 2), st.integers(0, 12), st.data())
def test_random_traffic(net: dict[str, Any], places: int, hold: int, data: st.DataObject) -> None:
    packets = draw_packets(data, net)
    times = run(net, packets, places=places, hold=hold)
    assert times == run(net, packets, places=places, hold=hold, every_cycle=True), "one router after another, every cycle"
    by_source: dict[int, list[tuple[int, int]]] = {}
    for packet, (sent, delivered) in zip(packets, times):
        assert sent >= packet[0]
        assert delivered >= sent + zero_load(net, packet), "nothing is faster than an empty network, and everything arrives"
        by_source.setdefault(packet[1], []).append((sent, delivered))
    for order in by_source.values():
        assert [sent for sent, _ in order] == sorted(sent for sent, _ in order)
    for node in range(net["nodes"]):
        flits = [(d, net["data_flits"] if p[3] else net["control_flits"]) for p, (_, d) in zip(packets, times) if p[2] == node]
        ends = sorted(d for d, _ in flits)
        assert len(set(ends)) == len(ends), "one flit a cycle reaches a node, so two tails never arrive together"
        if flits:
            assert max(ends) - min(packets[i][0] for i in range(len(packets))) >= sum(f for _, f in flits)
        if places:
            for first, later in zip(ends, ends[places:]):
                assert later > first + hold, "the place of the first was taken until then"
    if net["channels"] == 1:
        check_order_of_flows(packets, times)


@pytest.mark.req("G-14")
@settings(max_examples=200)
@given(
    st.builds(
        network,
        st.just("one to one"),
        st.integers(1, 3),
        channels=st.one_of(st.just(1), st.integers(1, 3)),
        buffer_flits=st.one_of(st.just(1), st.integers(1, 3)),
        router_cycles=st.integers(2, 4),
        link_cycles=st.integers(1, 3),
        queue_packets=st.integers(1, 3),
    ),
    st.integers(0, 3),
    st.one_of(st.integers(0, 12), st.just(40)),
    st.lists(st.tuples(st.sampled_from([0, 0, 0, 1, 2, 5, 30]), st.integers(0, 2)), min_size=1, max_size=60),
)
def test_flows_that_never_meet(net: dict[str, Any], places: int, hold: int, gaps: list[tuple[int, int]]) -> None:
    """Long bursts into few buffers and places, and pauses in which they drain: the recurrence is what the routers do."""
    cycle, packets = 0, list[Packet]()
    for gap, source in gaps:
        cycle += gap
        packets.append((cycle, source % net["nodes"], source % net["nodes"], True))
    assert run(net, packets, places=places, hold=hold) == run(net, packets, places=places, hold=hold, every_cycle=True)


@pytest.mark.req("G-14")
@settings(max_examples=60)
@given(
    st.builds(
        network,
        st.just("crossbar"),
        st.integers(2, 6),
        channels=st.integers(2, 4),
        buffer_flits=st.integers(1, 3),
        queue_packets=st.integers(0, 3),
        data_flits=st.integers(1, 3),
    ),
    st.integers(0, 2),
    st.integers(0, 2**32),
)
def test_a_crowded_crossbar(net: dict[str, Any], places: int, seed: int) -> None:
    """Everybody sends to everybody at once: inputs are granted several outputs, outputs are asked by all inputs."""
    rng = random.Random(seed)
    nodes = net["nodes"]
    packets = [(rng.randrange(4), rng.randrange(nodes), rng.randrange(nodes), rng.random() < 0.7) for _ in range(40 * nodes)]
    packets.sort(key=lambda p: p[0])
    assert run(net, packets, places=places, hold=3) == run(net, packets, places=places, hold=3, every_cycle=True)


def check_order_of_flows(packets: list[Packet], times: list[tuple[int, int]]) -> None:
    """With one virtual channel, packets of one source to one destination arrive in the order in which they were sent."""
    last: dict[tuple[int, int], int] = {}
    for (_, source, destination, _), (_, delivered) in zip(packets, times):
        assert last.get((source, destination), -1) < delivered
        last[source, destination] = delivered


@pytest.mark.req("G-14")
def test_a_full_mesh_drains() -> None:
    """No deadlock: one channel of one flit, everybody sends to everybody at once."""
    net = network("mesh", 16, channels=1, buffer_flits=1, data_flits=3, queue_packets=1)
    packets = [(0, s, d, True) for s in range(16) for d in range(16)]
    times = run(net, packets)
    assert len({(d, p[2]) for p, (_, d) in zip(packets, times)}) == len(packets)


# ---------------------------------------------------------------------------------------------- BookSim

# BookSim 2 (commit 28f4329): 4 channels of 8 flits, iSLIP for channels and switch, one iteration, routing 0, allocation 1 and 1,
# output stage 1, credit 1; uniform traffic. topology, flits a packet, then rows of: flits offered to a node and cycle, mean packet
# latency (None: past saturation), flits accepted.
BOOKSIM: dict[tuple[str, int, int], list[tuple[float, float | None, float]]] = {
    ("mesh", 64, 1): [
        (0.05, 27.0753, 0.0491042), (0.1, 27.1338, 0.0990417), (0.2, 27.9477, 0.198505), (0.3, 29.4146, 0.29863),
        (0.4, 38.5407, 0.397927), (0.5, None, 0.415156), (0.7, None, 0.378406), (0.9, None, 0.379969),
    ],
    ("mesh", 64, 4): [
        (0.05, 30.8831, 0.0492031), (0.1, 31.1645, 0.0987708), (0.2, 34.2864, 0.196557), (0.3, 40.1457, 0.295682),
        (0.4, 73.023, 0.39802), (0.5, None, 0.408203), (0.7, None, 0.39468), (0.9, None, 0.3935),
    ],
    ("crossbar", 32, 1): [
        (0.05, 6.02602, 0.0489531), (0.1, 6.05833, 0.0980313), (0.2, 6.15305, 0.198104), (0.3, 6.30637, 0.297833),
        (0.4, 6.66001, 0.398677), (0.5, 7.49775, 0.498615), (0.7, None, 0.625969), (0.9, None, 0.624188),
    ],
    ("crossbar", 32, 4): [
        (0.05, 9.37541, 0.0507917), (0.1, 9.67227, 0.0985), (0.2, 10.6035, 0.19582), (0.3, 12.0188, 0.293086),
        (0.4, 14.502, 0.392352), (0.5, 19.3394, 0.4975), (0.7, None, 0.641609), (0.9, None, 0.6465),
    ],
}  # fmt: skip


@pytest.mark.req("G-14", "H-7")
@pytest.mark.parametrize(("topology", "nodes", "flits"), list(BOOKSIM))
def test_latency_and_saturation_are_those_of_booksim(topology: str, nodes: int, flits: int) -> None:
    for rate, latency, accepted in BOOKSIM[topology, nodes, flits]:
        found_latency, found_accepted, _ = _core.noc_traffic(network(topology, nodes, data_flits=flits), rate, 1000, 4000, 42)
        assert found_accepted == pytest.approx(accepted, rel=0.1), f"accepted at {rate}"
        if latency is not None:
            assert found_latency == pytest.approx(latency, rel=0.1), f"latency at {rate}"


@pytest.mark.req("G-14")
def test_a_crossbar_has_at_most_64_ports() -> None:
    with pytest.raises(ConfigError, match="too many nodes"):
        run(network("crossbar", 65), [(0, 0, 1, True)])
