r"""Secrets that are known literally, and taking them out of output while it is written.

A secret is found whole, however the output comes in pieces, and also

* with line breaks in it, as ``base64`` and terminals put them, also as ``\n`` in a JSON string;
* as a JSON string holds it;
* in base64, also as a part of what was encoded;
* of several lines: each longer line; of a private key also its body, and what a kubeconfig's
  ``client-key-data`` decodes to.

Everything else stays as it is, byte for byte. What only looks like a credential is the business of
:func:`devops_bench.core.redaction.redact`: guessing would spoil what programs read again, such as
``"output_tokens": 1234``.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from devops_bench.core.boundedfile import OutputSink
from devops_bench.core.redaction import LEAST_SECRET_LENGTH, REDACTED

LEAST_LINE_LENGTH: Final = 16
"""A shorter line of a secret of several lines is not looked for by itself."""

# JSON in JSON in JSON doubles the backslashes each time.
_MOST_BACKSLASHES: Final = 4
_BREAK: Final = re.compile(rb"[\r\n]|\\{1,%d}[rn]" % _MOST_BACKSLASHES)
_BEGUN_BREAK: Final = re.compile(rb"\\{1,%d}\Z" % _MOST_BACKSLASHES)
_PRIVATE_KEY: Final = re.compile(
    rb"-----BEGIN [A-Z ]*PRIVATE KEY-----(.+?)-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL
)
_ARMOUR: Final = b"-----"


@dataclass(frozen=True, slots=True)
class Form:
    """One way in which a secret may stand in an output.

    Attributes:
        text: Its bytes, without line breaks; not empty.
        reach: Over how many bytes of output it may spread, line breaks included, ≥ its length.
    """

    text: bytes
    reach: int


class KnownSecrets:
    """Secrets that must not appear in what is written; grows, thread-safe.

    Args:
        values: The secrets; one of fewer than
            :data:`~devops_bench.core.redaction.LEAST_SECRET_LENGTH` characters is left alone, since
            it would be found in words that are no secret.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._lock = threading.Lock()
        self._forms: dict[bytes, Form] = {}
        self._all: tuple[Form, ...] = ()
        self.add(*values)

    def add(self, *values: str) -> None:
        """Make secrets known; they are looked for in what is written from now on."""
        with self._lock:
            for value in values:
                if len(value.strip()) >= LEAST_SECRET_LENGTH:
                    self._add(_bytes(value.strip()))
            self._all = tuple(self._forms.values())

    def _add(self, value: bytes) -> None:
        for form in map(_form, _shapes(value)):
            if len(form.text) >= LEAST_SECRET_LENGTH:
                known = self._forms.get(form.text, form)
                self._forms[form.text] = max(form, known, key=lambda one: one.reach)

    @property
    def forms(self) -> tuple[Form, ...]:
        """All that is looked for."""
        return self._all

    def clean(self, text: str) -> str:
        """Return a text without the secrets."""
        redactor = StreamRedactor(self)
        # What was read from JSON may hold halves of surrogate pairs.
        data = text.encode("utf-8", errors="surrogatepass")
        cleaned = redactor.feed(data) + redactor.close()
        return text if cleaned == data else cleaned.decode("utf-8", errors="replace")


class StreamRedactor:
    """Takes secrets out of a stream that comes in pieces; where it is cut makes no difference.

    Bytes that may be the beginning of a secret are held back until the next ones tell: never more
    than the longest secret can spread over, and nothing when the stream's last bytes begin none.

    Args:
        secrets: The secrets.
    """

    def __init__(self, secrets: KnownSecrets) -> None:
        self._secrets = secrets
        self._held = b""
        # How many of the held bytes belong to a secret that began before them.
        self._covered = 0
        self._last_was_secret = False

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes, and return what can be written."""
        return self._advance(data, final=False)

    def close(self) -> bytes:
        """Return what was held back: the stream has ended."""
        return self._advance(b"", final=True)

    def _advance(self, data: bytes, *, final: bool) -> bytes:
        forms = self._secrets.forms
        if not (forms or self._held):
            return data
        data = self._held + data
        begun = None if final else _BEGUN_BREAK.search(data)
        unbroken = _Unbroken(data, len(data) if begun is None else begun.start())
        spans = [(0, self._covered)] if self._covered else []
        spans += (span for form in forms for span in unbroken.find(form))
        cut = len(data) if final else unbroken.undecided_from(forms)
        written = self._replaced(data[:cut], _merged(spans))
        self._held = data[cut:]
        self._covered = max([0, *(stop - cut for _, stop in spans)])
        return written

    def _replaced(self, data: bytes, spans: Iterable[tuple[int, int]]) -> bytes:
        if not data:
            return b""
        pieces, at = [], 0
        for start, stop in spans:
            if start >= len(data):
                break
            pieces.append(data[at:start])
            if start or not self._last_was_secret:
                pieces.append(REDACTED.encode())
            at = min(stop, len(data))
            if at == len(data):
                self._last_was_secret = True
                return b"".join(pieces)
        self._last_was_secret = False
        return b"".join([*pieces, data[at:]])


class RedactedOutput:
    """An :class:`~devops_bench.core.boundedfile.OutputSink` that keeps secrets from another one.

    Attributes:
        dropped: Bytes that are not kept.
        fault: Why some could not be kept; empty when all could.

    Args:
        sink: What takes the rest, and is closed with this.
        secrets: The secrets.
    """

    def __init__(self, sink: OutputSink, secrets: KnownSecrets) -> None:
        self._sink = sink
        self._redactor = StreamRedactor(secrets)
        self._unread = 0
        self.dropped = 0
        self.fault = ""

    def write(self, data: bytes) -> None:
        """Take the next bytes; with none, what is held back is written: the stream has ended."""
        if not data:
            self._sink.write(self._redactor.close())
        elif self._sink.dropped:
            self._unread += len(data)  # nothing more is kept, so nothing is looked at
        else:
            self._sink.write(self._redactor.feed(data))
        self._look()

    def close(self) -> None:
        """Write what is held back, also of a stream whose end nobody saw; safe to call twice."""
        rest = self._redactor.close()
        if rest:
            self._sink.write(rest)
        self._sink.close()
        self._look()

    def _look(self) -> None:
        self.dropped = self._sink.dropped + self._unread
        self.fault = self._sink.fault


class _Unbroken:
    """Output without its line breaks, and where in the output each of its bytes is.

    Args:
        data: The output.
        size: How much of it is looked at: what comes after may be half a line break.
    """

    def __init__(self, data: bytes, size: int) -> None:
        self._size = size
        self._whole_size = len(data)
        pieces: list[bytes] = []
        # For each break: from where in the text on it is passed, and bytes of breaks up to it.
        self._from: list[int] = []
        self._passed = [0]
        at = kept = 0
        for match in _BREAK.finditer(data, 0, size):
            pieces.append(data[at : match.start()])
            kept += match.start() - at
            at = match.end()
            self._from.append(kept)
            self._passed.append(at - kept)
        pieces.append(data[at:size])
        self._text = b"".join(pieces)

    def find(self, form: Form) -> Iterator[tuple[int, int]]:
        """Yield where a form stands in the output, also where it overlaps itself."""
        at = self._text.find(form.text)
        while at != -1:
            start, stop = self._place(at), self._place(at + len(form.text) - 1) + 1
            if stop - start <= form.reach:
                yield start, stop
            at = self._text.find(form.text, at + 1)

    def undecided_from(self, forms: Iterable[Form]) -> int:
        """Return from where on the output may be the beginning of a form, or of a break."""
        first = self._size
        text = self._text
        for form in forms:
            at = text.find(form.text[:1], max(0, len(text) - len(form.text) + 1))
            while at != -1:
                if form.text.startswith(text[at:]):
                    place = self._place(at)
                    if self._whole_size - place < form.reach:
                        first = min(first, place)
                        break
                at = text.find(form.text[:1], at + 1)
        return first

    def _place(self, at: int) -> int:
        return at + self._passed[bisect_right(self._from, at)]


def _merged(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans in order, as one where they overlap or touch."""
    first = last = -1
    for start, stop in sorted(spans):
        if start > last:
            if last > first:
                yield first, last
            first, last = start, stop
        last = max(last, stop)
    if last > first:
        yield first, last


def _bytes(value: str) -> bytes:
    try:
        # A variable of the environment may hold bytes that are no UTF-8.
        return value.encode("utf-8", errors="surrogateescape")
    except UnicodeEncodeError:
        return value.encode("utf-8", errors="replace")


def _form(shape: bytes) -> Form:
    text = _BREAK.sub(b"", shape)
    # A break after every eighth byte is more than any tool makes.
    return Form(text, len(shape) + len(text) // 8 + 16)


def _shapes(value: bytes) -> Iterator[bytes]:
    """Yield how a secret may stand in an output, line breaks included."""
    for part in {value, *_parts(value)}:
        yield part
        text = part.decode("utf-8", errors="replace")
        for ascii_only in (True, False):
            yield json.dumps(text, ensure_ascii=ascii_only)[1:-1].encode()
        yield from _encoded(part)


def _parts(value: bytes) -> Iterator[bytes]:
    """Yield what of a secret is one by itself."""
    texts = [value]
    try:
        decoded = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        pass  # it is no base64
    else:
        if _PRIVATE_KEY.search(decoded):
            yield decoded.strip()
            texts.append(decoded)
    # A file of JSON may hold a private key as one line of its own.
    texts += [match[1] for text in texts for match in _PRIVATE_KEY.finditer(text)]
    yield from texts[1:]
    for text in texts:
        for line in map(bytes.strip, _BREAK.split(text)):
            if len(line) >= LEAST_LINE_LENGTH and not line.startswith(_ARMOUR):
                yield line


def _encoded(value: bytes) -> Iterator[bytes]:
    """Yield of the secret's base64 what does not depend on what stands before and after it."""
    for before in range(3):
        first = -(-before * 8 // 6)
        size = (before + len(value)) * 8 // 6
        text = base64.b64encode(bytes(before) + value)[first:size]
        yield text
        yield text.replace(b"+", b"-").replace(b"/", b"_")
