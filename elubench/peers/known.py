"""The peers: elubench, the limits of the hardware, other libraries."""

from __future__ import annotations

from elubench.algorithms.base import Look
from elubench.peers.base import Peer

ELUBENCH = Peer(
    "elubench",
    "elubench.peers.own:Elubench",
    solvers=(
        "fit(auto)",
        "Moments",
        "NewtonAnderson",
        "LBFGS",
        "Newton",
        "SQUAREM",
        "Anderson",
        "ELU",
        "EM",
    ),
    nanoseconds=(1.5, 0.3),
    look=Look("#000000", "P", "-", 2.0),
)
READING = Peer("reading", "elubench.peers.limits:Reading", "limit", nanoseconds=(0.0, 0.5))
TANH = Peer("tanh", "elubench.peers.limits:Tanh", "limit", nanoseconds=(1.2, 0.0))
LIMITS = (READING, TANH)
#: Peers that take part whatever ``only`` says.
ALWAYS = (ELUBENCH, *LIMITS)

_BLUE = Look("#0173b2", "o")

#: All peers, in the order of the tables.
PEERS = (
    *ALWAYS,
    Peer("numpy", "elubench.peers.libraries:NumPy", nanoseconds=(10.0, 3.0), look=_BLUE),
    Peer(
        "scipy",
        "elubench.peers.libraries:SciPy",
        iterates=False,
        solvers=("L-BFGS",),
        look=_BLUE,
    ),
    Peer(
        "scikit-learn",
        "elubench.peers.libraries:ScikitLearn",
        "wider",
        "scikit-learn's 'spherical' has free weights, two means and two variances.",
        "pip install 'elubench[peers]'",
        solvers=("tol=0", "tol=1e-3"),
        nanoseconds=(230.0, 10.0),
        look=Look("#d55e00", "s"),
    ),
    # on the rows and their mirror image, where symmetry does what constraints would do
    Peer(
        "sklearn [X;-X]",
        "elubench.peers.libraries:ScikitLearnMirrored",
        get="pip install 'elubench[peers]'",
        solvers=("tol=0",),
        nanoseconds=(460.0, 20.0),
        look=Look("#8f3d00", "D", (0.0, (5.0, 1.2))),
    ),
    Peer(
        "mclust",
        "elubench.peers.r:Mclust",
        "general",
        "mclust's model EII with equal proportions is elubench's General: free means, one variance.",
        "apt-get install r-cran-mclust",
        solvers=("tol=0", "tol=1e-5"),
        nanoseconds=(60.0, 10.0),
        look=Look("#1b7f4b", "<", (0.0, (2.4, 1.0, 1.0, 1.0))),
    ),
    Peer(
        "R SQUAREM",
        "elubench.peers.r:Squarem",
        get="apt-get install r-cran-squarem",
        iterates=False,
        solvers=("SQUAREM",),
        look=Look("#3b6fb6", ">"),
    ),
    Peer(
        "stepmix",
        "elubench.peers.libraries:StepMix",
        "wider",
        "StepMix's nearest model is 'gaussian_spherical': free weights, two means and two variances. It "
        "starts from k-means.",
        "pip install 'elubench[peers-all]'",
        nanoseconds=(500.0, 50.0),
        look=Look("#5d3a9b", "p", (0.0, (1.0, 1.0))),
    ),
    Peer(
        "mlpack",
        "elubench.peers.libraries:Mlpack",
        "wider",
        "mlpack's nearest model is diagonal: free weights, two means, one variance per component and "
        "coordinate. It starts from k-means.",
        "pip install 'elubench[peers-all]'",
        nanoseconds=(150.0, 40.0),
        look=Look("#029e73", "v", (0.0, (4.0, 1.2))),
    ),
    Peer(
        "gmmx",
        "elubench.peers.libraries:Gmmx",
        "wider, f32",
        "gmmx's nearest model is diagonal: free weights, two means, one variance per component and "
        "coordinate. It computes in float32 only.",
        "pip install 'elubench[peers-all]'",
        nanoseconds=(150.0, 50.0),
        look=Look("#cc78bc", "D", (0.0, (5.0, 1.2, 1.2, 1.2))),
    ),
    Peer(
        "pomegranate",
        "elubench.peers.libraries:Pomegranate",
        "wider",
        "pomegranate's nearest model is a sphere: free weights, two means and two variances. It sums "
        "the weights in float32.",
        "pip install 'elubench[peers-all]'",
        nanoseconds=(500.0, 100.0),
        look=Look("#a0703c", "^", (0.0, (2.4, 1.0))),
    ),
)
