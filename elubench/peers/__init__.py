"""elubench beside other libraries and the hardware's limits; asv's results. May import papers and below.

``compare(lineup())`` is what ``elubench peers`` does; :func:`load` reads the folder that it writes.

To compare with something else, write an adapter (see elubench.peers.base) in a module of your own and
add its :class:`Peer` to the lineup: ``lineup(peers=(*PEERS, mine))``.
"""

from elubench.peers.asv import asv_results as asv_results
from elubench.peers.base import Adapter as Adapter
from elubench.peers.base import Judge as Judge
from elubench.peers.base import Mixture as Mixture
from elubench.peers.base import Peer as Peer
from elubench.peers.comparison import Comparison as Comparison
from elubench.peers.comparison import Headway as Headway
from elubench.peers.comparison import compare as compare
from elubench.peers.comparison import load as load
from elubench.peers.heats import Lineup as Lineup
from elubench.peers.heats import lineup as lineup
from elubench.peers.known import PEERS as PEERS
from elubench.peers.printed import as_text as as_text
from elubench.peers.timings import from_asv as from_asv
from elubench.peers.timings import measured as measured

__all__ = ["asv_results"]
