from __future__ import annotations

from tests.integration.watch_run.conftest import arena, own_plane

__all__ = ["arena", "own_plane"]
