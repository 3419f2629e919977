"""What GitHub is told to do: every step is an action or a make target that is also called here."""

import re

import pytest
import yaml
from conftest import ROOT
from documents import TARGETS
from test_packaging import PROJECT, SUPPORTED

import elubench
from elubench.papers.verifying import named, shipped

WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
}
JOBS = [(name, job) for name, flow in WORKFLOWS.items() for job in flow["jobs"]]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
LOCAL = "".join((ROOT / ".ci" / name).read_text(encoding="utf-8") for name in ("run", "weekly"))
LOCAL_TARGETS = set(re.findall(r"^make ([a-z-]+)", LOCAL, re.MULTILINE))


def targets(job, run):
    """The make targets that a command of a job calls, with the values of its matrix."""
    (name,) = re.fullmatch(r"make (\$\{\{.*?\}\}|\S+)(?: .*)?", run).groups()
    if found := re.fullmatch(r"\$\{\{ matrix\.(\w+) \}\}", name):
        return job["strategy"]["matrix"][found[1]]
    return [name]


@pytest.mark.parametrize(("flow", "name"), JOBS)
def test_steps_are_actions_or_targets(flow, name):
    job = WORKFLOWS[flow]["jobs"][name]
    for step in job["steps"]:
        assert ("uses" in step) != ("run" in step)
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w.-]+@(v\d+|release/v1)", step["uses"])
        elif job["runs-on"].startswith("windows"):
            line = step["run"].replace("python -m pip install", "python $(PIP_INSTALL)")
            assert f"\t{line.replace('python', '$(PY)', 1)}" in MAKEFILE
        else:
            assert set(targets(job, step["run"])) <= TARGETS & LOCAL_TARGETS
    assert job.get("needs", name) in WORKFLOWS[flow]["jobs"]


@pytest.mark.parametrize("flow", WORKFLOWS)
def test_nothing_may_write_that_need_not(flow):
    rights = [WORKFLOWS[flow]["permissions"]]
    rights += [job.get("permissions", {}) for job in WORKFLOWS[flow]["jobs"].values()]
    write = {right for one in rights for right, value in one.items() if value == "write"}
    assert write == {"pages": {"pages", "id-token"}, "release": {"id-token"}}.get(flow, set())
    # no text that a stranger wrote is put into a shell's command
    runs = [
        step.get("run", "") for job in WORKFLOWS[flow]["jobs"].values() for step in job["steps"]
    ]
    assert not any(re.search(r"\$\{\{ *github", run) for run in runs)


def test_every_supported_python_on_every_system():
    jobs = WORKFLOWS["tests"]["jobs"]
    assert jobs["unix"]["strategy"]["matrix"]["python"] == SUPPORTED
    assert jobs["windows"]["strategy"]["matrix"]["python"] == SUPPORTED
    assert jobs["unix"]["strategy"]["matrix"]["os"] == ["ubuntu-latest", "macos-latest"]


def test_every_paper_is_verified_at_night():
    runs = [step.get("run", "") for step in WORKFLOWS["nightly"]["jobs"]["verify"]["steps"]]
    verified = [run for run in runs if run.startswith("make verify")]
    assert len(verified) == len(shipped())
    assert all(any(name in run for run in verified) for name in shipped() if name != "beyond-em")


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml")))
def test_issue_forms_have_what_github_needs(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert form["name"]
    assert form["description"]
    names = [part["id"] for part in form["body"]]
    assert len(set(names)) == len(names) > 0
    assert all(part["attributes"]["label"] for part in form["body"])


def test_citation_is_of_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (cited["title"], cited["version"]) == (PROJECT["name"], elubench.__version__)
    assert cited["license"] == PROJECT["license"]
    assert [one["name"] for one in cited["authors"]] == [one["name"] for one in PROJECT["authors"]]
    papers = [named(one) for one in shipped()]
    others = {one.title for one in papers if one.authors != PROJECT["authors"][0]["name"]}
    assert {one["title"] for one in cited["references"]} == others
