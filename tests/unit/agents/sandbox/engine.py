"""An engine that answers, and an image for it that is made of this machine's own programs.

The tests with it carry the mark ``docker``: they run where a daemon is (``make test-docker``), real
containers and all. Podman's service will do, with its ``catatonit``: ``DOCKER_HOST=unix:///…``.
"""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from devops_bench.core.containers import DockerClient

NAME = "devops-bench-test:1"

# No file is copied: what the programs need is opened, as with --sandbox-read. /usr/sbin is not, for
# the engine puts its first process there.
OPENED = tuple(
    path
    for path in map(Path, ("/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32"))
    if path.is_dir() and not path.is_symlink()
)


def make_image(client: DockerClient) -> str:
    """Return the name of an image with ``/etc/of-the-image`` and a ``PATH`` of its own."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name in ("etc", "tmp", "run", "usr", "usr/sbin", *(str(p)[1:] for p in OPENED)):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(folder)
        for path in (Path("/bin"), Path("/sbin"), Path("/lib"), Path("/lib64"), Path("/lib32")):
            if path.is_symlink():
                link = tarfile.TarInfo(path.name)
                link.type, link.linkname = tarfile.SYMTYPE, str(path.readlink())
                tar.addfile(link)
        text = tarfile.TarInfo("etc/of-the-image")
        text.size, text.mode = 5, 0o644
        tar.addfile(text, io.BytesIO(b"here\n"))
    changes = ("--change=ENV PATH=/usr/bin:/of/the/image", "--change=ENV FROM_IMAGE=yes")
    client.ask("import", *changes, "-", NAME, stdin=data.getvalue())
    return NAME
