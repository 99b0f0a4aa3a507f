"""No unit test touches the state folder of the user who runs it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devops_bench.core.dirs import STATE_VARIABLE


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(STATE_VARIABLE, str(tmp_path_factory.mktemp("state")))
        yield
