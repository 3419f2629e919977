"""What a paper, a claim, a measurement, a verdict and evidence are, and the one rule. It names no paper.

May import rates and below.
"""

from elubench.verification.deciding import decide as decide
from elubench.verification.evidence import Evidence as Evidence
from elubench.verification.expectations import Expectation as Expectation
from elubench.verification.expectations import at_least as at_least
from elubench.verification.expectations import at_most as at_most
from elubench.verification.expectations import between as between
from elubench.verification.expectations import near as near
from elubench.verification.expectations import nearer as nearer
from elubench.verification.measuring import Measured as Measured
from elubench.verification.paper import Chapter as Chapter
from elubench.verification.paper import Level as Level
from elubench.verification.paper import Paper as Paper
from elubench.verification.paper import Probe as Probe
from elubench.verification.toml_claims import claims_in as claims_in
from elubench.verification.verdicts import Claim as Claim
from elubench.verification.verdicts import Finding as Finding
from elubench.verification.verdicts import Measurement as Measurement
