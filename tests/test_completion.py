"""``elubench completion``: the scripts have all commands and options, and bash's completes."""

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
        assert name in scripts[shell]


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_accept_them(shell, scripts):
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    done = subprocess.run([shell, "-n"], input=scripts[shell], text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(
    os.name != "posix" or shutil.which("bash") is None, reason="needs POSIX and bash"
)
@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["st"], ["study"]),
        (["--v"], ["--version"]),
        (["study", "m"], ["merge"]),
        (["study", "run", "quick", "--sh"], ["--shard"]),
        (["completion", ""], list(SHELLS)),
        (["fit", "data.csv", "--p"], ["--p-value", "--plot", "--predict"]),
        (["fit", ""], []),  # then bash offers files
    ],
)
def test_bash_completes(words, found, scripts):
    given = " ".join(f"'{word}'" for word in ["elubench", *words])
    code = f"{scripts['bash']}\nCOMP_WORDS=({given}); COMP_CWORD={len(words)}\n_elubench\n"
    code += 'printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", code], text=True, capture_output=True, check=True)
    assert sorted(done.stdout.split()) == sorted(found)


def test_an_unknown_shell_is_an_error(capsys):
    assert cli.main(["completion", "tcsh"]) == 2
    assert "tcsh" in capsys.readouterr().err
