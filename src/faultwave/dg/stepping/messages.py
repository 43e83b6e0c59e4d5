"""Messages of a run with the other processes that share its mesh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from faultwave.base.spans import phase
from faultwave.comm import World
from faultwave.comm.exchange import ChannelExchange, ClusterExchange, Kind, StageExchange
from faultwave.comm.gpu_aware import HaloPath
from faultwave.comm.packing import StoreRows
from faultwave.dg.operators.conservation import Conservation
from faultwave.dg.operators.method_of_lines import MethodOfLines
from faultwave.dg.operators.operator import Operator
from faultwave.dg.stepping.local_time_stepping import LocalTimeStepping
from faultwave.engine.capability import Capability
from faultwave.engine.halo import halo_path


@dataclass(frozen=True)
class Messages:
    """Messages of a process; all attributes are None in a run of one process.

    Attributes
    ----------
    path : HaloPath or None
        Path of messages between devices.
    exchange : ChannelExchange or None
        Channels to the other processes.
    conservation : Conservation or None
        Corrections for the rounding of messages.
    """

    path: HaloPath | None = None
    exchange: ChannelExchange | None = None
    conservation: Conservation | None = None

    @property
    def clusters(self) -> ClusterExchange | None:
        """The exchange, if clusters exchange waves."""
        return self.exchange if isinstance(self.exchange, ClusterExchange) else None


@phase("open messages")
def open_channels(
    world: World,
    operator: Operator,
    march: LocalTimeStepping,
    capabilities: Mapping[str, Capability],
    halo: str,
    rounding: str,
) -> Messages:
    """Open the channels to the other processes.

    Parameters
    ----------
    world : World
        Processes of the run.
    operator : Operator
        Buffers that messages are read from and written to.
    march : LocalTimeStepping
        Clocks of the clusters.
    capabilities : mapping of str to Capability
        Capabilities, which may have channels of their own.
    halo : str
        Requested path of messages (``numerics.halo``).
    rounding : str
        Compression of waves (``numerics.halo_compression``).
    """
    backend, of_waves = operator.backend, operator.layout.channels
    of_fault = tuple(c for part in capabilities.values() for c in part.channels)
    ranks = [c.rank for c in (*of_waves, *of_fault)]
    path = halo_path(world, halo, backend.device, ranks, backend.name)
    gpu_aware = path is not None and path.gpu_aware
    if isinstance(operator, MethodOfLines):
        return Messages(path, StageExchange(world, of_waves, {"wave": StoreRows(operator.traces, gpu_aware)}))
    stores: dict[Kind, StoreRows] = {"wave": StoreRows(operator.waves, gpu_aware)}
    channels = of_waves
    if operator.penalty:
        stores["shown"] = StoreRows(operator.penalty.shown, gpu_aware)
        channels = (*channels, *operator.penalty.places.channels)
    if of_fault:
        stores["fault"] = StoreRows(operator.friction, gpu_aware)
        channels = (*channels, *of_fault)
    conservation = None if rounding == "exact" else Conservation(operator, of_waves)
    exchange = ClusterExchange(
        world, channels, stores, [c.rate for c in march.clocks], lambda: march.clocks[0].limit, operator.sums, rounding,
        conservation.place if conservation else None,
    )  # fmt: skip
    return Messages(path, exchange, conservation)
