"""Access checks: Host, Origin, content type, keys."""

import hashlib
import json
from pathlib import Path

import httpx
import pytest

from .conftest import JSON, exact, served

pytestmark = pytest.mark.asyncio(loop_scope="module")
BODY = json.dumps({"items": [exact()]})


async def status(http: httpx.AsyncClient, **headers: str) -> int:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return (await http.post("/v1/score", content=BODY, headers=JSON | named)).status_code


async def test_a_plain_post_is_accepted(http: httpx.AsyncClient) -> None:
    assert await status(http) == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "169.254.169.254", "", "127.0.0.1.nip.io:80"]
)
async def test_an_unknown_host_is_refused(http: httpx.AsyncClient, host: str) -> None:
    assert await status(http, host=host) == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8700", "127.0.0.1:1", "[::1]:8700", "[::1]"])
async def test_all_loopback_names_are_accepted(http: httpx.AsyncClient, host: str) -> None:
    assert await status(http, host=host) == 200


async def test_a_foreign_origin_is_refused(http: httpx.AsyncClient) -> None:
    assert await status(http, origin="https://evil.example") == 403
    assert await status(http, origin="null") == 403
    assert await status(http, sec_fetch_site="cross-site") == 403


async def test_the_services_own_origin_is_accepted(http: httpx.AsyncClient) -> None:
    assert await status(http, origin="http://127.0.0.1") == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
async def test_form_content_types_are_refused(http: httpx.AsyncClient, kind: str) -> None:
    assert await status(http, content_type=kind) == 415


async def test_unknown_paths_and_methods_are_problems(http: httpx.AsyncClient) -> None:
    for response in (await http.get("/nowhere"), await http.get("/v1/score")):
        assert response.headers["content-type"] == "application/problem+json"


async def test_keys_are_required_and_rotated_by_reload(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("# two keys\nfirst-key\nsha256:" + hashlib.sha256(b"second-key").hexdigest() + "\n")
    async with served(key_file=file) as (app, http):
        assert await status(http) == 401
        assert await status(http, authorization="Bearer wrong") == 401
        assert await status(http, authorization="Basic first-key") == 401
        assert [await status(http, authorization=f"Bearer {k}") for k in ("first-key", "second-key")] == [200, 200]
        file.write_text("third-key\n")
        app.state.keys.reload()
        assert [await status(http, authorization=f"Bearer {k}") for k in ("first-key", "third-key")] == [401, 200]
        assert (await http.get("/healthz")).status_code == 200
        assert (await http.get("/v1/verifiers")).status_code == 401


async def test_references_are_seen_by_the_key_that_uploaded_them() -> None:
    body = json.dumps(exact()["reference"]).encode()
    digest = hashlib.sha256(body).hexdigest()
    pointing = json.dumps({"items": [exact(reference={"$ref": f"sha256:{digest}"})]})
    async with served(keys=("key-of-a", "key-of-b")) as (_, http):
        as_a, as_b = ({"authorization": f"Bearer {key}"} | JSON for key in ("key-of-a", "key-of-b"))
        assert (await http.put(f"/v1/references/{digest}", content=body, headers=as_a)).status_code == 204
        mine = (await http.post("/v1/score", content=pointing, headers=as_a)).json()["results"][0]
        theirs = (await http.post("/v1/score", content=pointing, headers=as_b)).json()["results"][0]
    assert (mine["reward"], theirs["reason"]) == (1, "unknown_reference")


async def test_a_store_smaller_than_a_reference_refuses_it() -> None:
    async with served(limits={"uploaded_bytes": 100}) as (_, http):
        body = json.dumps({"gold": "x" * 200}).encode()
        answer = await http.put(f"/v1/references/{hashlib.sha256(body).hexdigest()}", content=body, headers=JSON)
    assert (answer.status_code, answer.json()["limit"]) == (413, 100)


async def test_a_reference_under_a_wrong_digest_is_refused(http: httpx.AsyncClient) -> None:
    response = await http.put("/v1/references/" + "0" * 64, content=b"{}", headers=JSON)
    assert response.status_code == 422


async def test_an_empty_key_file_does_not_disable_keys(tmp_path: Path) -> None:
    from assay.service.auth import KeyRing, NoKeys
    from assay.service.settings import Settings

    file = tmp_path / "keys"
    file.write_text("# none yet\n")
    with pytest.raises(NoKeys):
        KeyRing(Settings(key_file=file))
    file.write_text("first-key\n")
    async with served(key_file=file) as (app, http):
        file.write_text("")
        with pytest.raises(NoKeys):
            app.state.keys.reload()
        assert await status(http) == 401
        assert await status(http, authorization="Bearer first-key") == 200


BAD_KEYS = {
    "blank": ("", "visible ASCII"),
    "spaces": ("   ", "visible ASCII"),
    "one character": ("k", "shorter than 8"),
    "a space inside": ("two words", "visible ASCII"),
    "a byte order mark": ("\ufeffsome-long-key", "visible ASCII"),
    "a short hash": ("sha256:abc", "64 hexadecimal"),
    "no hash": ("sha256:" + "g" * 64, "64 hexadecimal"),
    "another script": ("ключ-длинный", "visible ASCII"),
}


@pytest.mark.parametrize("name", BAD_KEYS)
async def test_what_is_no_key_is_refused_at_the_start_and_never_shown(name: str, tmp_path: Path) -> None:
    from pydantic import ValidationError

    from assay.service.auth import KeyRing, NoKeys
    from assay.service.settings import Settings

    key, message = BAD_KEYS[name]
    with pytest.raises(ValidationError, match=f"key 2: .*{message}") as refused:
        Settings(keys=("a-key-of-length", key))  # type: ignore[arg-type]
    assert not key.strip() or f"key 2: {key}" not in str(refused.value.errors(include_input=False))
    if key.strip():
        (file := tmp_path / "keys").write_text(f"# keys\na-key-of-length\n{key}\n")
        with pytest.raises(NoKeys, match=f"line 3: .*{message}"):
            KeyRing(Settings(key_file=file))


async def test_a_binary_key_file_is_a_message(tmp_path: Path) -> None:
    from assay.service.auth import KeyRing, NoKeys
    from assay.service.settings import Settings

    (file := tmp_path / "keys").write_bytes(bytes(range(256)))
    with pytest.raises(NoKeys, match="not a text file"):
        KeyRing(Settings(key_file=file))
