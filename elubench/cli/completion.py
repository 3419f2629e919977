"""``elubench completion``: a script that completes commands and options, made from the parsers."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

from elubench.cli import machinery

SUMMARY = "print a script that completes commands and options in a shell"

_BASH = """_elubench() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" place= part words= hidden='-*'
    for part in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$place $part" in {places}) place="$place $part" ;; esac
    done
    case "$place" in
{cases}
    esac
    [[ "$word" == -* ]] && hidden=
    COMPREPLY=($(compgen -W "$words" -X "$hidden" -- "$word"))
}}
complete -o default -F _elubench elubench
"""
_ZSH = """#compdef elubench
_elubench() {{
    local place= part
    local -a shown
    for part in "${{(@)words[2,CURRENT-1]}}"; do
        case "$place $part" in {places}) place="$place $part" ;; esac
    done
    case "$place" in
{cases}
    esac
    [[ "${{words[CURRENT]}}" == -* ]] || shown=(${{shown:#-*}})
    compadd -a shown || _files
}}
compdef _elubench elubench
"""
_FISH = """function __elubench_at
    set -l place ""
    for part in (commandline -opc)[2..-1]
        contains -- "$place $part" {places}; and set place "$place $part"
    end
    test "$place" = "$argv[1]"
end
{cases}
"""
# Options are offered for a word that begins with a dash; for others commands, or else files.
#: Of each shell: the script, what separates places, and the line of a place.
_SHELLS = {
    "bash": (_BASH, "|", "        {place}) words={words} ;;"),
    "zsh": (_ZSH, "|", "        {place}) shown=({plain}) ;;"),
    "fish": (_FISH, " ", "{fish}"),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """The shell."""
    parser.add_argument("shell", choices=list(_SHELLS), help="the shell that is to read the script")


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    print(script(options.shell, options.parser), end="")
    return 0


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """The script for a shell."""
    text, between, case = _SHELLS[shell]
    known = dict(_words(parser, ""))
    cases = [
        case.format(
            place=shlex.quote(place),
            words=shlex.quote(" ".join(words)),
            plain=" ".join(words),
            fish="\n".join(_fish(place, words)),
        )
        for place, words in known.items()
    ]
    places = between.join(shlex.quote(place) for place in known if place)
    return text.format(places=places, cases="\n".join(cases))


def _fish(place: str, words: list[str]) -> Iterator[str]:
    """Words instead of files, if there are any; options, which fish itself keeps for a dash."""
    line = f"complete -c elubench -n {shlex.quote(f'__elubench_at {shlex.quote(place)}')}"
    if plain := [word for word in words if not word.startswith("-")]:
        yield f"{line} -f -a {shlex.quote(' '.join(plain))}"
    if options := [word[2:] for word in words if word.startswith("-")]:
        yield f"{line} -l {' -l '.join(options)}"


def _words(parser: argparse.ArgumentParser, place: str) -> Iterator[tuple[str, list[str]]]:
    """What can follow the commands so far, ' study run' for instance, and what can follow that."""
    machinery.filled(parser)
    words: list[str] = []
    below: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        words += [option for option in action.option_strings if option.startswith("--")]
        if isinstance(action, argparse._SubParsersAction):
            below = action.choices
        if not action.option_strings and action.choices is not None:
            words += action.choices
    yield place, words
    for name, one in below.items():
        yield from _words(one, f"{place} {name}")
