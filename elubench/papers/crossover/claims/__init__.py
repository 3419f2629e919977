"""What is claimed of two Gaussians at theta* = h n^(-a); derivations are in :mod:`..theory`."""

from elubench.papers.crossover.claims import meeting, rates, speed, weights

CHAPTERS = (rates.chapter, meeting.chapter, speed.chapter, weights.chapter)
