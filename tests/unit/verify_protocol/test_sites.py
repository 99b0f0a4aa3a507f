"""The table of applications, and the variables that it makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.core.errors import InvalidInputError
from devops_bench.verify_protocol.sites import (
    Site,
    load_sites,
    read_port_map,
    site_environment,
)


def environment(*names: str, **ports: int) -> dict[str, str]:
    return site_environment(names, load_sites(), prefix="rollout", slot=3, ports=ports)


def test_an_application_without_suffix_whose_database_is_in_its_own_container() -> None:
    assert environment("baserow", baserow=39003) == {
        "BASEROW_PORT": "39003",
        "BASEROW_CONTAINER": "rollout_3_baserow",
        "BASEROW_DB_CONTAINER": "rollout_3_baserow",
    }


def test_suffixes() -> None:
    assert environment("onlyoffice", "mattermost", "owncloud") == {
        "ONLYOFFICE_CONTAINER": "rollout_3_onlyoffice-community",
        "ONLYOFFICE_DB_CONTAINER": "rollout_3_onlyoffice-mysql",
        "MATTERMOST_CONTAINER": "rollout_3_mattermost",
        "MATTERMOST_DB_CONTAINER": "rollout_3_mattermost-postgres",
        "OWNCLOUD_CONTAINER": "rollout_3_owncloud",
        "OWNCLOUD_DB_CONTAINER": "rollout_3_owncloud-mariadb",
    }


def test_a_hyphen_becomes_an_underscore_and_no_database_is_no_variable() -> None:
    assert environment("code-server") == {"CODE_SERVER_CONTAINER": "rollout_3_code-server"}
    assert environment("e-label")["E_LABEL_DB_CONTAINER"] == "rollout_3_e-label"


def test_which_applications_have_a_database() -> None:
    with_database = {name for name, site in load_sites().items() if site.database is not None}
    assert with_database == {
        "baserow", "bigcapital", "e-label", "hrms", "mattermost", "metabase", "onlyoffice",
        "openemr", "openproject", "owncloud", "pretix", "roundcubemail", "twenty",
    }  # fmt: skip
    assert set(load_sites()) - with_database == {
        "booklore", "code-server", "farmos", "grocy", "mediacms", "opnform", "photoprism",
        "recipya", "siyuan", "watcharr",
    }  # fmt: skip


def test_an_unknown_application_still_has_a_container() -> None:
    assert environment("new-app") == {"NEW_APP_CONTAINER": "rollout_3_new-app"}


def test_a_file_adds_and_replaces(tmp_path: Path) -> None:
    file = tmp_path / "sites.json"
    file.write_text('{"new": {"database": "-db"}, "baserow": {"container": "-x"}}')
    sites = load_sites(file)
    assert sites["new"] == Site("", "-db")
    assert sites["baserow"] == Site("-x", None)
    assert sites["metabase"] == load_sites()["metabase"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no JSON"),
        ("[]", "should be a JSON object"),
        ('{"a b": {}}', "'a b' is no name"),
        ('{"a": {"db": ""}}', '"container" and "database"'),
        ('{"a": {"container": null}}', "should be a suffix"),
        ('{"a": {"database": "/x y"}}', "should be a suffix"),
        ("[" * 100_000, "is no JSON"),
    ],
)
def test_a_wrong_file_is_bad_input(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "sites.json"
    file.write_text(text)
    with pytest.raises(InvalidInputError, match=said):
        load_sites(file)


@pytest.mark.parametrize("port", ["0", "65536", '"80"', "true", "1.5", "null"])
def test_a_wrong_port_is_bad_input(tmp_path: Path, port: str) -> None:
    file = tmp_path / "ports.json"
    file.write_text(f'{{"baserow": {port}}}')
    with pytest.raises(InvalidInputError, match="1 to 65535"):
        read_port_map(file)


def test_a_port_map(tmp_path: Path) -> None:
    file = tmp_path / "ports.json"
    file.write_text('{"baserow": 39003}')
    assert read_port_map(file) == {"baserow": 39003}
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_port_map(tmp_path / "none.json")
