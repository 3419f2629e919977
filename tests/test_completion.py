"""``elubench completion``: the scripts have all commands and options, and shells complete with them."""

import os
import shutil
import subprocess

import pytest

from elubench import cli
from elubench.cli import completion, machinery

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture(scope="module")
def scripts():
    return {shell: completion.script(shell, machinery.parser_of(cli.COMMANDS)) for shell in SHELLS}


@pytest.mark.parametrize("shell", SHELLS)
def test_all_commands_and_options_are_there(shell, scripts, capsys):
    assert cli.main(["completion", shell]) == 0
    assert capsys.readouterr().out == scripts[shell]
    for name in (*cli.COMMANDS, "--p-value", "merge", "--shard", "--first-seed", "new"):
        assert (f"-l {name[2:]}" if (shell, name[:2]) == ("fish", "--") else name) in scripts[shell]


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_accept_them(shell, scripts):
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    done = subprocess.run([shell, "-n"], input=scripts[shell], text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")


# Code that completes the last of the words and prints what it found; in zsh, without its line editor.
_COMPLETE = {
    "bash": """COMP_WORDS=(elubench {words}); COMP_CWORD={place}
_elubench; printf "%s\\n" "${{COMPREPLY[@]}}\"""",
    "zsh": """words=(elubench {words}); CURRENT={place}+1
compadd() {{ print -l -- ${{(M)shown:#$words[CURRENT]*}} }}; _files() {{}}; _elubench""",
    "fish": """complete -C "elubench {line}\"""",
}


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
@pytest.mark.parametrize("shell", SHELLS)
def test_shells_complete(shell, scripts, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    cases = {
        ("st",): ["study"],
        ("--v",): ["--version"],
        ("study", "m"): ["merge"],
        ("study", "run", "quick", "--sh"): ["--shard"],
        ("completion", ""): list(SHELLS),
        ("fit", "data.csv", "--p"): ["--p-value", "--plot", "--predict"],
        ("fit", ""): [],  # then the shell offers files; there are none here
    }
    code = ["compdef() { }" if shell == "zsh" else "", scripts[shell]]
    for words in cases:
        quoted = " ".join(f"'{word}'" for word in words)
        code += [_COMPLETE[shell].format(words=quoted, line=" ".join(words), place=len(words))]
        code += ["echo ---"]
    done = subprocess.run(
        [shell, "-c", "\n".join(code)], text=True, capture_output=True, cwd=tmp_path
    )
    assert done.stderr == ""
    found = [sorted(part.split()) for part in done.stdout.split("---\n")[:-1]]
    assert found == [sorted(words) for words in cases.values()]


def test_an_unknown_shell_is_an_error(capsys):
    assert cli.main(["completion", "tcsh"]) == 2
    assert "tcsh" in capsys.readouterr().err
