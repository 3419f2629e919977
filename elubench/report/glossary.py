"""The words of a report that a reader may not know; a paper adds its own."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: dict[str, str] = {
    "radius": "The statistical radius: how far the best estimate from n rows is from the truth. Nearer "
    "is noise, so an algorithm has done its work when its iterate is within the radius.",
    "constant": "The radius is known up to a factor, for example c n^(-1/4). The radius constant is "
    "the c of a study.",
    "pass": "One read of all the data. Iterations of different algorithms need different numbers "
    "of passes.",
    "plain pass": "A pass that brings EM's step from one point: the unit of cost. A pass that also "
    "brings the loss and the curvature takes longer; how much longer is measured on the machine.",
    "lattice": "Samples drawn as counts on a grid of points, which makes n = 10^12 as cheap as "
    "n = 10^3. Direct samples are rows of random numbers as usual.",
    "equal start": "A start whose coordinates are all the same.",
    "generic start": "A start in a random direction, no coordinate of which is special.",
    "validated": "Part of the data is held out, and of all iterates the one with the smallest loss "
    "on that part is kept.",
    "gap": "The loss less its minimum.",
    "censored": "A run that had not reached the radius when its budget was spent. It counts as slower "
    "than its budget and is not left out.",
    "exponent": "The slope of the logarithm of one quantity against that of another. What falls like "
    "n^(-1/4) has an exponent of a quarter, with a minus sign.",
    "interval": "The range that a measured value may lie in given the number of samples, at a level of "
    "95 % unless the claim says otherwise.",
}


def glossary(of_the_paper: Mapping[str, str]) -> list[tuple[str, str]]:
    """All words with their meanings, in the order of the alphabet; the paper's meaning comes first."""
    return sorted({**WORDS, **of_the_paper}.items(), key=lambda item: item[0].lower())
