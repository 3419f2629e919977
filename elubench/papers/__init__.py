"""Papers whose claims can be verified, one folder each. May import report and below."""

from elubench.papers.beyond_em import lemmas as lemmas
from elubench.papers.beyond_em import population as population
from elubench.papers.beyond_em import theory as theory
from elubench.papers.beyond_em.theory import step_size_conditions as step_size_conditions
from elubench.papers.verifying import Verification as Verification
from elubench.papers.verifying import load_verification as load_verification
from elubench.papers.verifying import named as named
from elubench.papers.verifying import verify as verify

__all__ = [
    "Verification",
    "lemmas",
    "load_verification",
    "population",
    "step_size_conditions",
    "theory",
    "verify",
]
