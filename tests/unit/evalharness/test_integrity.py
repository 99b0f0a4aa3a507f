"""Each rule: what it finds, what it leaves alone, and when it cannot tell."""

from __future__ import annotations

import base64
import datetime as dt
from dataclasses import replace
from pathlib import Path

import pytest

from devops_bench.evalharness.canary import Quoted, find_canaries, new_canary, place_file
from devops_bench.evalharness.integrity import Observed, judge_integrity
from devops_bench.evalharness.requests import Parties
from devops_bench.k8s.audit import AuditEvent
from devops_bench.results.trust import IntegrityFinding

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
OURS = "devops-bench/1f"
AGENT = "system:serviceaccount:devops-bench-1:agent"
PARTIES = Parties("admin", AGENT, START, START + dt.timedelta(seconds=9), OURS)
GOOD = AuditEvent(
    id="a",
    user=AGENT,
    verb="get",
    resource="pods",
    received_at=START + dt.timedelta(seconds=5),
    answered_at=START,
    namespace="shop",
    code=200,
)
SEEN = Observed(
    events=[GOOD],
    why_no_events="",
    parties=PARTIES,
    harness_namespace="devops-bench-1",
    quoted=[],
    opened=[],
    lost=[],
    memory_open="",
)


def finding(observed: Observed, rule: str) -> IntegrityFinding:
    return next(item for item in judge_integrity(observed).findings if item.rule == rule)


def after(**fields: object) -> Observed:
    return replace(SEEN, events=[GOOD, replace(GOOD, **fields)])  # type: ignore[arg-type]


def test_a_run_in_which_everything_was_looked_at_is_clean() -> None:
    assert judge_integrity(SEEN).status == "clean"


def test_where_nothing_could_be_looked_at_there_is_no_data() -> None:
    report = judge_integrity(Observed())
    assert report.status == "no data"
    assert {item.status for item in report.findings} == {"no data"}
    assert all(item.why_no_data for item in report.findings)


def test_where_some_could_not_be_looked_at_it_is_not_clean() -> None:
    assert judge_integrity(replace(SEEN, opened=None)).status == "incomplete"
    assert judge_integrity(replace(SEEN, quoted=None)).status == "incomplete"
    assert judge_integrity(replace(SEEN, why_no_events="a hole")).status == "incomplete"


def test_one_rule_is_enough_whatever_the_others_lack() -> None:
    assert judge_integrity(Observed(opened=["cat opened x"])).status == "contaminated"


def test_reading_the_namespace_of_the_harness() -> None:
    seen = after(namespace="devops-bench-1", resource="secrets", name="answers")
    found = finding(seen, "harness namespace")
    assert found.status == "contaminated"
    assert "get secrets devops-bench-1/answers (200" in found.evidence[0]


def test_being_refused_is_no_contamination() -> None:
    assert judge_integrity(after(namespace="devops-bench-1", code=403)).status == "clean"
    assert judge_integrity(after(resource="secrets", namespace="kube-system", code=403)).status == (
        "clean"
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"verb": "create", "resource": "serviceaccounts", "subresource": "token"},
        {"verb": "create", "resource": "rolebindings", "group": "rbac.authorization.k8s.io"},
        {"verb": "list", "resource": "secrets", "namespace": ""},
        {"verb": "get", "resource": "secrets", "namespace": "kube-system"},
        {"verb": "get", "resource": "nodes", "subresource": "proxy", "namespace": ""},
        {"impersonated": "system:admin"},
    ],
)
def test_doing_what_no_access_grants(fields: dict[str, object]) -> None:
    assert finding(after(**fields), "rights and credentials").status == "contaminated"
    by_other = after(**fields, user="system:serviceaccount:kube-system:x")
    assert finding(by_other, "rights and credentials").status == "clean"


def test_a_secret_of_its_own_namespace_is_its_own_affair() -> None:
    assert judge_integrity(after(resource="secrets", verb="list")).status == "clean"


def test_the_credentials_of_the_harness_in_other_hands() -> None:
    seen = replace(after(user="admin", user_agent="kubectl/v1"), opened=None)
    assert finding(seen, "harness credentials").status == "contaminated"
    assert finding(replace(seen, probes=True), "harness credentials").status == "no data"
    ours = after(user="admin", user_agent=OURS)
    assert finding(ours, "harness credentials").status == "clean"
    # Anybody may leave the name out, or say the part of ours that everybody knows.
    for said in ("devops-bench", ""):
        claimed = replace(after(user="admin", user_agent=said), opened=None)
        (text,) = finding(claimed, "harness credentials").evidence
        assert text.endswith(f"by a client that calls itself {said!r}")
    later = after(user="admin", user_agent="kubectl", received_at=START + dt.timedelta(seconds=20))
    assert finding(later, "harness credentials").status == "clean"


def test_another_run_at_the_same_time_accuses_nobody_and_clears_nobody() -> None:
    other = replace(after(user="admin", user_agent="devops-bench/2e"), memory_open="as root")
    found = finding(other, "harness credentials")
    assert (found.status, found.evidence) == ("no data", [])
    assert "another run, or who calls itself so, used them" in found.why_no_data
    assert "devops-bench/2e" in found.why_no_data


def test_somebody_else_with_the_credentials_of_the_harness_is_not_the_agent() -> None:
    seen = after(user="admin", user_agent="kubectl/v1")
    found = finding(seen, "harness credentials")
    assert found.status == "no data"
    assert "no process of the agent opened them" in found.why_no_data
    assert judge_integrity(seen).status == "incomplete"
    taken = replace(seen, opened=["cat opened /plane/kubeconfig"])
    assert finding(taken, "harness credentials").status == "contaminated"
    half = replace(seen, why_not_opened="more was opened than could be looked at")
    assert finding(half, "harness credentials").status == "contaminated"
    # What it could take from memory it need not open.
    assert finding(replace(seen, memory_open="as root"), "harness credentials").status == (
        "contaminated"
    )


def test_where_memory_could_be_read_nothing_is_called_clean() -> None:
    found = finding(replace(SEEN, memory_open="it runs as root"), "memory")
    assert (found.status, found.why_no_data) == ("no data", "it runs as root")
    assert judge_integrity(replace(SEEN, memory_open="it runs as root")).status == "incomplete"
    assert judge_integrity(replace(SEEN, memory_open=None)).status == "incomplete"


@pytest.mark.parametrize(
    ("user", "client", "status"),
    [
        ("system:kube-controller-manager", "kubectl/v1.36.3", "contaminated"),
        ("system:serviceaccount:kube-system:job-controller", "curl/8", "contaminated"),
        ("devops-bench:kwok", "curl/8", "contaminated"),
        ("evil", "curl/8", "contaminated"),
        ("system:serviceaccount:shop:default", "curl/8", "no data"),
        ("system:kube-controller-manager", "kube-controller-manager/v1.36.3 (x)", "clean"),
        ("system:apiserver", "kube-apiserver/v1.36.3 (x)", "clean"),
        ("system:anonymous", "curl/8", "clean"),
    ],
)
def test_whoever_is_none_that_must_be_there(user: str, client: str, status: str) -> None:
    assert finding(after(user=user, user_agent=client), "identities").status == status
    refused = after(user=user, user_agent=client, code=401)
    assert finding(refused, "identities").status == "clean"
    late = START + dt.timedelta(seconds=20)
    later = after(user=user, user_agent=client, received_at=late)
    assert finding(later, "identities").status == "clean"


def test_a_record_that_was_taken_away_is_never_clean() -> None:
    report = judge_integrity(replace(SEEN, lost=["journal.jsonl was deleted"]))
    assert report.status == "contaminated"
    assert report.findings[-1].evidence == ["journal.jsonl was deleted"]


def test_an_agent_with_all_rights_can_break_no_rule_of_the_cluster() -> None:
    shared = replace(PARTIES, agent="")
    report = judge_integrity(replace(after(resource="secrets", namespace=""), parties=shared))
    assert report.status == "incomplete"
    assert "the harness's own credentials" in report.findings[0].why_no_data


def test_a_canary_in_the_agents_words(tmp_path: Path) -> None:
    canary = new_canary("the Secret")
    seen = replace(SEEN, quoted=[Quoted(canary, tmp_path / "transcript.jsonl")])
    found = finding(seen, "canaries")
    assert found.evidence == ["transcript.jsonl quotes the canary of the Secret"]
    assert canary.value not in repr(seen)


def test_a_file_that_the_agent_opened() -> None:
    assert finding(replace(SEEN, opened=["cat opened /x"]), "files").status == "contaminated"
    half = replace(SEEN, why_not_opened="more was opened than could be looked at")
    assert finding(half, "files").status == "no data"


def test_canaries_are_found_plain_and_as_the_data_of_a_secret(tmp_path: Path) -> None:
    one, other = new_canary("one"), place_file(tmp_path)
    assert one.value != other.value
    words = tmp_path / "agent.stdout"
    work = tmp_path / "workspace"
    work.mkdir()
    words.write_bytes(b"x" * ((1 << 20) - 20) + one.value.encode() + b"tail")
    (work / "note").write_bytes(b"data: " + base64.b64encode(other.value.encode()))
    (work / "link").symlink_to(tmp_path / "harness-only.txt")

    found, searched = find_canaries([one, other], [words, work, tmp_path / "missing"])

    assert [(item.canary.where, item.file) for item in found] == [
        ("one", words),
        (other.where, work / "note"),
    ]
    assert searched == 2
    assert find_canaries([new_canary("new")], [words, work]) == ([], 2)
