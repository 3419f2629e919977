"""The claims, a chapter per file."""

from elubench.papers.singularity.claims import beside, equal, unequal

CHAPTERS = (equal.chapter, unequal.chapter, beside.chapter)
