"""elubench beside what a user would pick instead, and beside what the hardware allows.

``compare(plan())`` is what ``elubench peers`` does; :func:`load` reads what it left in a folder.

To compare with something else, write an adapter (see elubench.peers.base) in a module of your own and
give its :class:`Peer` to the plan: ``plan(peers=(*PEERS, mine))``.
"""

from elubench.peers.adapters import PEERS as PEERS
from elubench.peers.asv import asv_results as asv_results
from elubench.peers.base import Adapter as Adapter
from elubench.peers.base import Judge as Judge
from elubench.peers.base import Mixture as Mixture
from elubench.peers.base import Peer as Peer
from elubench.peers.comparison import Comparison as Comparison
from elubench.peers.comparison import Progress as Progress
from elubench.peers.comparison import compare as compare
from elubench.peers.comparison import load as load
from elubench.peers.plans import Plan as Plan
from elubench.peers.plans import plan as plan
from elubench.peers.printed import as_text as as_text

__all__ = ["asv_results"]
