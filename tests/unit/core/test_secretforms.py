"""Secrets are taken out of a stream, however it is cut; everything else stays as it is."""

from __future__ import annotations

import base64
import json
import re
import textwrap
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from devops_bench.core.redaction import REDACTED
from devops_bench.core.secretforms import KnownSecrets, RedactedOutput, StreamRedactor

TOKEN = "eyJhbGciOiJSUzI1NiJ9." + "c2VjcmV0LW9mLXRoZS1hZ2VudA" * 9 + "._sig-nature+/?>"
BODY = "\n".join(textwrap.wrap(base64.b64encode(bytes(range(160))).decode(), 64))
PEM = f"-----BEGIN EC PRIVATE KEY-----\n{BODY}\n-----END EC PRIVATE KEY-----\n"
KEY_DATA = base64.b64encode(PEM.encode()).decode()

# Few letters, so that secrets overlap, begin again within themselves, and are broken by \n.
LETTERS = st.sampled_from([b"a", b"b", b"\\", b"n", b"\n", b"\r", b"\xff"])
BYTES = st.lists(LETTERS, max_size=60).map(b"".join)
SECRETS = st.lists(st.text("ab\\n\n", min_size=8, max_size=14), min_size=1, max_size=3)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:stop] for start, stop in pairwise(places)]


def in_pieces(secrets: KnownSecrets, parts: list[bytes]) -> bytes:
    redactor = StreamRedactor(secrets)
    return b"".join([*map(redactor.feed, parts), redactor.close()])


def reference(secrets: KnownSecrets, data: bytes) -> bytes:
    """Return what must come out, by looking at every byte of the whole."""
    places = list(range(len(data)))
    for match in re.finditer(rb"[\r\n]|\\{1,4}[rn]", data):
        places = [place for place in places if not match.start() <= place < match.end()]
    unbroken = bytes(data[place] for place in places)
    secret = [False] * len(data)
    for form in secrets.forms:
        for at in range(len(unbroken) - len(form.text) + 1):
            start, stop = places[at], places[at + len(form.text) - 1] + 1
            if unbroken[at:].startswith(form.text) and stop - start <= form.reach:
                secret[start:stop] = [True] * (stop - start)
    out, before = bytearray(), False
    for byte, hidden in zip(data, secret, strict=True):
        out += b"" if hidden and before else REDACTED.encode() if hidden else bytes([byte])
        before = hidden
    return bytes(out)


class TestStream:
    @given(SECRETS, BYTES, st.data())
    def test_where_it_is_cut_makes_no_difference(
        self, values: list[str], noise: bytes, data: st.DataObject
    ) -> None:
        secrets = KnownSecrets(values)
        shapes = [value.encode() for value in values] + [form.text for form in secrets.forms]
        parts = data.draw(st.lists(BYTES | st.sampled_from(shapes), max_size=6))
        whole = b"".join([noise, *parts])
        cuts = data.draw(st.lists(st.integers(0, 10_000), max_size=20))
        expected = reference(secrets, whole)
        assert in_pieces(secrets, pieces(whole, cuts)) == expected
        assert in_pieces(secrets, [bytes([byte]) for byte in whole]) == expected

    @given(st.binary(max_size=300), st.lists(st.integers(0, 300)))
    @example(b"\\", [])
    @example(TOKEN.encode()[:-1], [7, 30])
    def test_what_is_no_secret_stays_byte_for_byte(self, data: bytes, cuts: list[int]) -> None:
        assert in_pieces(KnownSecrets([TOKEN, PEM]), pieces(data, cuts)) == data

    @given(st.lists(st.integers(0, 5000), max_size=8), st.binary(max_size=40))
    def test_a_secret_in_pieces_is_found(self, cuts: list[int], around: bytes) -> None:
        whole = around + TOKEN.encode() + around
        found = in_pieces(KnownSecrets([TOKEN]), pieces(whole, cuts))
        assert found == around + REDACTED.encode() + around

    @given(SECRETS, st.lists(BYTES, max_size=8))
    def test_no_more_is_held_back_than_may_be_a_secret(
        self, values: list[str], parts: list[bytes]
    ) -> None:
        secrets = KnownSecrets(values)
        redactor = StreamRedactor(secrets)
        for part in parts:
            redactor.feed(part)
            assert len(redactor._held) < max((form.reach for form in secrets.forms), default=5)

    def test_what_begins_no_secret_is_not_held_back(self) -> None:
        redactor = StreamRedactor(KnownSecrets([TOKEN]))
        assert redactor.feed(b"a prompt: ") == b"a prompt: "
        assert redactor.feed(b"now ey") == b"now "
        assert redactor.feed(b"s") == b"eys"

    def test_secrets_that_overlap_leave_nothing_of_either(self) -> None:
        secrets = KnownSecrets(["abcdefgh", "efghijkl"])
        assert secrets.clean("<abcdefghijkl>") == f"<{REDACTED}>"

    def test_one_that_becomes_known_later_is_found_from_then_on(self) -> None:
        secrets = KnownSecrets()
        redactor = StreamRedactor(secrets)
        assert redactor.feed(b"new-token ") == b"new-token "
        secrets.add("new-token")
        assert redactor.feed(b"new-token ") == f"{REDACTED} ".encode()


class TestForms:
    @pytest.mark.parametrize("width", [16, 64, 76])
    @pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n", "\\\\n"])
    def test_with_line_breaks(self, width: int, newline: str) -> None:
        said = newline.join(textwrap.wrap(TOKEN, width))
        assert KnownSecrets([TOKEN]).clean(f"{said}{newline}end") == f"{REDACTED}{newline}end"

    @pytest.mark.parametrize("before", ["", "u", "u:", "us:", "user:"])
    @pytest.mark.parametrize("after", ["", "\n", ";x"])
    @pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
    def test_in_base64(self, before: str, after: str, encode: object) -> None:
        assert callable(encode)
        text = encode(f"{before}{TOKEN}{after}".encode()).decode()
        for said in (text, "\n".join(textwrap.wrap(text, 76))):
            left = KnownSecrets([TOKEN]).clean(said).replace(REDACTED, "")
            assert len(left.replace("\n", "")) <= len(encode(f"{before}{after}".encode())) + 4

    @given(st.text(min_size=8, max_size=30).filter(lambda text: len(text.strip()) >= 8))
    def test_in_a_json_string(self, value: str) -> None:
        for ascii_only in (True, False):
            said = json.dumps({"k": value.strip()}, ensure_ascii=ascii_only)
            assert json.loads(KnownSecrets([value]).clean(said)) == {"k": REDACTED}

    @pytest.mark.parametrize("known", [PEM, KEY_DATA, json.dumps({"type": "x", "key": PEM})])
    def test_a_private_key(self, known: str) -> None:
        secrets = KnownSecrets([known])
        indented = textwrap.indent(PEM, "    ")
        for said in (PEM, indented, BODY, json.dumps(PEM), BODY.splitlines()[1]):
            cleaned = secrets.clean(f"{said} end")
            assert cleaned.endswith(" end")
            assert not any(line[:40] in cleaned for line in BODY.splitlines() if len(line) > 40)

    def test_armour_is_no_secret_by_itself(self) -> None:
        said = "-----BEGIN EC PRIVATE KEY----- is how one begins"
        assert KnownSecrets([PEM]).clean(said) == said

    @pytest.mark.parametrize("value", ["", "short", "  short    ", "\\n\\n\\n\\n\\n", "\n" * 20])
    def test_what_is_too_short_is_left_alone(self, value: str) -> None:
        said = f"a {value} in short"
        assert KnownSecrets([value]).clean(said) == said

    @given(st.text(st.characters(exclude_categories=[]), max_size=40))
    def test_any_text_can_be_one_and_be_cleaned(self, text: str) -> None:
        assert KnownSecrets(["some secret"]).clean(text) == text
        assert KnownSecrets([text]).clean("other words") in ("other words", REDACTED)


class Room:
    """A sink with so much room."""

    def __init__(self, room: int) -> None:
        self.room, self.data, self.dropped, self.fault, self.closed = room, b"", 0, "", 0

    def write(self, data: bytes) -> None:
        kept = data[: self.room]
        self.data += kept
        self.room -= len(kept)
        self.dropped += len(data) - len(kept)

    def close(self) -> None:
        self.closed += 1


class TestOutput:
    def test_what_is_held_back_is_written_when_nobody_saw_the_end(self) -> None:
        room = Room(100)
        output = RedactedOutput(room, KnownSecrets([TOKEN]))
        output.write(b"and then eyJhb")
        assert room.data == b"and then "
        output.close()
        output.close()
        assert (room.data, room.closed) == (b"and then eyJhb", 2)

    @given(st.lists(st.binary(min_size=1, max_size=9), max_size=9), st.integers(0, 40))
    def test_what_is_not_kept_is_counted(self, parts: list[bytes], size: int) -> None:
        room = Room(size)
        output = RedactedOutput(room, KnownSecrets([TOKEN]))
        for part in [*parts, b""]:
            output.write(part)
        output.close()
        whole = b"".join(parts)
        assert room.data == whole[:size]
        assert output.dropped == max(0, len(whole) - size)
