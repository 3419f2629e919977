"""What is in a document: examples in Python, which run, and commands, which parse."""

import re
import shlex

from conftest import ROOT, python

from elubench.cli import COMMANDS, machinery

TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def blocks(text, *languages):
    """The blocks of code in these languages."""
    return re.findall(rf"^```(?:{'|'.join(languages)})\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def run_examples(text, folder):
    """Run the blocks in Python one after the other, in one process and in this folder."""
    code = "\n".join(["import os", f"os.chdir({str(folder)!r})", *blocks(text, "python")])
    assert python(f"{code}\nprint(0)") == 0


def commands(text):
    """Every command line in the blocks for a shell, split, without comments."""
    for block in blocks(text, "sh", "bash"):
        for line in block.replace("\\\n", " ").splitlines():
            if words := shlex.split(line, comments=True):
                yield words


def wrong_commands(text):
    """Commands that ``elubench`` does not understand, or targets that ``make`` does not have."""
    wrong = []
    for words in commands(text):
        if words[0] == "elubench":
            try:
                machinery.parser_of(COMMANDS).parse_args(words[1:])
            except SystemExit:
                wrong.append(shlex.join(words))
        made = next((at for at, word in enumerate(words) if word == "make"), None)
        if made is not None and words[made + 1] not in TARGETS:
            wrong.append(shlex.join(words))
    named = re.findall(r"`make ([a-z-]+)", text)
    return wrong + [f"make {name}" for name in named if name not in TARGETS]
