"""elubench beside what a user would pick instead, and beside what the hardware allows.

``compare(plan())`` is what ``elubench peers`` does; :func:`load` reads what it left in a folder.

To compare with something else, write an adapter (see elubench.peers.base) in a module of your own and
give its :class:`Peer` to the plan: ``plan(peers=(*PEERS, mine))``.
"""

from elubench.peers.adapters import PEERS
from elubench.peers.base import Adapter, Judge, Mixture, Peer
from elubench.peers.comparison import Comparison, Progress, compare, load
from elubench.peers.plans import Plan, plan
from elubench.peers.printed import as_text

__all__ = [
    "PEERS",
    "Adapter",
    "Comparison",
    "Judge",
    "Mixture",
    "Peer",
    "Plan",
    "Progress",
    "as_text",
    "compare",
    "load",
    "plan",
]
