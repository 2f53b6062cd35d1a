"""Every kind of bad input gets the contract's answer, and is never echoed in an answer or log."""

import json
from typing import Any

import httpx
import pytest

from .conftest import JSON, exact

pytestmark = pytest.mark.asyncio(loop_scope="module")
CANARY = "canary-5f3a"


async def post(http: httpx.AsyncClient, body: Any, path: str = "/v1/score", **headers: str) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await http.post(path, content=content, headers=JSON | headers)


def one(raw: str) -> bytes:
    return f'{{"items":[{{"verifier":"exact","completion":"{CANARY}",{raw}}}]}}'.encode()


ENVELOPES: dict[str, tuple[bytes, int, str]] = {
    "not JSON": (b'{"items": [', 400, "invalid_json"),
    "nothing": (b"", 400, "invalid_json"),
    "NaN": (one('"scores":{"a":NaN}'), 400, "invalid_json"),
    "infinity": (one('"scores":{"a":Infinity}'), 400, "invalid_json"),
    "10,000 deep defaults": (
        b'{"items":[{}],"defaults":{"reference":' + b"[" * 10_000 + b"]" * 10_000 + b"}}",
        400,
        "too_deep",
    ),
    "duplicate key": (one('"id":"a","id":"b"'), 400, "duplicate_key"),
    "duplicate key in a reference": (one('"reference":{"gold":1,"gold":2}'), 400, "duplicate_key"),
    "invalid UTF-8": (b'{"items":[{"completion":"\xff\xfe"}]}', 400, "invalid_utf8"),
    "10,000 digits in the deadline": (b'{"items":[{}],"deadline_s":' + b"9" * 10_000 + b"}", 400, "number_too_long"),
    "text after it": (b'{"items":[]} x', 400, "invalid_json"),
    "an array": (b"[]", 422, "invalid_envelope"),
    "no items": (b"{}", 422, "invalid_envelope"),
    "empty batch": (b'{"items":[]}', 422, "empty_batch"),
    "unknown field at the top": (b'{"items":[{}],"itms":[]}', 422, "invalid_envelope"),
    "deadline of 0": (b'{"items":[{}],"deadline_s":0}', 422, "invalid_envelope"),
    "unknown default": (b'{"items":[{}],"defaults":{"verifyer":"exact"}}', 422, "invalid_envelope"),
    "id in the defaults": (b'{"items":[{}],"defaults":{"id":"a"}}', 422, "invalid_envelope"),
}


@pytest.mark.parametrize("kind", ENVELOPES)
async def test_a_faulty_envelope_is_a_problem_that_names_the_fault(http: httpx.AsyncClient, kind: str) -> None:
    body, status, code = ENVELOPES[kind]
    response = await post(http, body)
    assert response.headers["content-type"] == "application/problem+json"
    assert (response.status_code, response.json()["type"]) == (status, f"urn:assay:problem:{code}"), response.text
    assert CANARY not in response.text


async def test_duplicate_ids_are_a_problem(http: httpx.AsyncClient) -> None:
    response = await post(http, {"items": [exact(id="1"), exact(id="1")]})
    assert (response.status_code, response.json()["field"]) == (422, "items.id")


async def test_a_completion_of_10_mb_is_the_reward_0_of_its_item(http: httpx.AsyncClient) -> None:
    response = await post(http, {"items": [exact(), exact("a" * 10_000_000), exact()]})
    assert response.status_code == 200
    results = response.json()["results"]
    assert [(r["reward"], r["reason"]) for r in results] == [(1.0, "equal"), (0.0, "too_large"), (1.0, "equal")]


EXCESS = {
    "10,000 deep": "[" * 10_000 + "]" * 10_000,
    "10,000 deep objects": '{"a":' * 10_000 + "1" + "}" * 10_000,
    "10,000 digits": "9" * 10_000,
    "10,000 digits after the point": "0." + "1" * 10_000,
}


@pytest.mark.parametrize("kind", EXCESS)
@pytest.mark.parametrize("field", ["reference", "prompt", "scores", "final_state", "completion"])
async def test_an_oversized_field_affects_only_its_own_item(http: httpx.AsyncClient, field: str, kind: str) -> None:
    value = f'[{{"role":"assistant","content":"4","tool_calls":[{{"a":{EXCESS[kind]}}}]}}]'
    others = {"verifier": '"exact"', "completion": '"4"', "reference": '{"mode":"string","gold":"4","extract":"whole"}'}
    guilty = others | {field: value if field == "completion" else f'{{"a":{EXCESS[kind]}}}'}
    items = ["{" + ",".join(f'"{k}":{v}' for k, v in item.items()) + "}" for item in (others, guilty, others)]
    response = await http.post("/v1/score", content=f'{{"items":[{",".join(items)}]}}', headers=JSON)
    assert response.status_code == 200, response.text
    first, middle, last = response.json()["results"]
    assert first["reward"] == last["reward"] == 1.0
    if field == "completion" and kind != "10,000 digits after the point":
        assert (middle["reward"], middle["reason"]) == (0.0, "too_large")
    elif middle["reward"] is None:
        assert middle["error"]["code"] == ("invalid_reference" if field == "reference" else "invalid_item")
        assert middle["error"]["field"].split(".")[0] == field


async def test_a_body_over_the_limit_is_refused_while_it_is_read(http: httpx.AsyncClient) -> None:
    async def endless() -> Any:
        for _ in range(70):
            yield b" " * (1 << 20)

    response = await http.post("/v1/score", content=endless(), headers=JSON)
    assert (response.status_code, response.json()["field"]) == (413, "body")


ITEMS: dict[str, tuple[dict[str, Any], str, str]] = {
    "near-miss of a field": ({"compltion": CANARY}, "invalid_item", "compltion"),
    "unknown field": ({"temperature": 1}, "invalid_item", "temperature"),
    "wrong type": ({"prefill": 5}, "invalid_item", "prefill"),
    "completion a number": ({"completion": 5}, "invalid_item", "completion"),
    "completion null": ({"completion": None}, "invalid_item", "completion"),
    "messages without role": ({"completion": [{"content": CANARY}]}, "invalid_item", "completion[0]"),
    "content a number": (
        {"completion": [{"role": "assistant", "content": 5}]},
        "invalid_item",
        "completion[0].content",
    ),
    "unknown verifier": ({"verifier": "exakt"}, "invalid_item", "verifier"),
    "another version": ({"verifier": "exact@99"}, "invalid_item", "verifier"),
    "reference a string": ({"reference": CANARY}, "invalid_reference", "reference"),
    "unknown key in the reference": ({"reference": {"goldd": CANARY}}, "invalid_reference", "reference"),
    "negative tokens": ({"completion_tokens": -1}, "invalid_item", "completion_tokens"),
    "limit above the ceiling": ({"options": {"cpu_s": 1e9}}, "invalid_item", "options.cpu_s"),
    "limit of 0": ({"options": {"timeout_s": 0}}, "invalid_item", "options.timeout_s"),
    "unknown option": ({"options": {"timeout": 1}}, "invalid_item", "options.timeout"),
    "reference not uploaded": ({"reference": {"$ref": "sha256:" + "0" * 64}}, "unknown_reference", "reference"),
}


@pytest.mark.parametrize("kind", ITEMS)
async def test_a_faulty_item_is_its_own_result_and_its_neighbours_are_scored(
    http: httpx.AsyncClient, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    change, code, field = ITEMS[kind]
    response = await post(http, {"items": [exact(), exact(CANARY) | change, exact("5")]})
    first, faulty, last = response.json()["results"]
    assert (first["reward"], last["reward"]) == (1, 0)
    assert (faulty["id"], faulty["reward"], faulty["outcome"]) == ("1", None, "no_verdict")
    assert faulty["error"]["code"] == code and faulty["error"]["field"].startswith(field), faulty
    assert CANARY not in response.text and CANARY not in "".join(capfd.readouterr())


@pytest.mark.parametrize("kind", ITEMS)
async def test_with_strict_a_faulty_item_fails_the_request(http: httpx.AsyncClient, kind: str) -> None:
    change, code, _ = ITEMS[kind]
    response = await post(http, {"items": [exact(), exact() | change]}, "/v1/score?strict=1")
    if code == "unknown_reference":  # not the item's fault: upload it and come again
        assert response.status_code == 200
        return
    assert response.status_code == 422
    assert response.json()["items"][0]["id"] == "1"


async def test_a_required_field_is_named(http: httpx.AsyncClient) -> None:
    results = (await post(http, {"items": [{}, {"verifier": "exact"}]})).json()["results"]
    assert [r["error"]["field"] for r in results] == ["verifier", "completion"]


async def test_a_lone_surrogate_in_a_completion_is_replaced_and_flagged(http: httpx.AsyncClient) -> None:
    reference = {"mode": "string", "gold": "a\ufffdb", "extract": "whole"}
    body = json.dumps({"items": [exact("a\ud800b", reference=reference), exact("a😀b")]}).encode()
    first, second = (await post(http, body)).json()["results"]
    assert (first["reward"], first["flags"]) == (1, ["lone_surrogates"])
    assert second["flags"] == []


async def test_a_lone_surrogate_in_a_reference_refuses_the_row(http: httpx.AsyncClient) -> None:
    bad = {"mode": "string", "gold": "a\udfffb", "extract": "whole"}
    first, second = (await post(http, {"items": [exact(reference=bad), exact()]})).json()["results"]
    assert (first["error"]["code"], second["reward"]) == ("invalid_reference", 1)


async def test_large_integers_stay_exact(http: httpx.AsyncClient) -> None:
    reference = {"mode": "number", "gold": 2**84, "extract": "whole"}
    near = str(2**84 + 1)
    results = (
        await post(http, {"items": [exact(str(2**84), reference=reference), exact(near, reference=reference)]})
    ).json()
    assert [r["reward"] for r in results["results"]] == [1, 0]


async def test_defaults_fill_missing_fields_of_an_item(http: httpx.AsyncClient) -> None:
    whole = exact()
    defaults = {"verifier": whole["verifier"], "reference": whole["reference"], "run": "r"}
    other = {"mode": "string", "gold": "7", "extract": "whole"}
    items = [{"completion": "4"}, {"completion": "7", "reference": other}]
    results = (await post(http, {"items": items, "defaults": defaults})).json()["results"]
    assert [r["reward"] for r in results] == [1, 1]


@pytest.mark.parametrize("raw", ["sha256:XYZ", 5, {"a": 1}, "md5:0"])
async def test_a_malformed_pointer_is_named(http: httpx.AsyncClient, raw: Any) -> None:
    (result,) = (await post(http, {"items": [exact(reference={"$ref": raw})]})).json()["results"]
    assert (result["reason"], result["error"]["field"]) == ("invalid_reference", "reference.$ref")


@pytest.mark.parametrize(
    ("field", "value"), [("scores", {"a": "1"}), ("completion_ids", ["a"]), ("prompt", 5), ("step", "5")]
)
async def test_an_ill_typed_field_is_a_fault_for_every_verifier(
    http: httpx.AsyncClient, field: str, value: Any
) -> None:
    (result,) = (await post(http, {"items": [exact() | {field: value}]})).json()["results"]
    assert (result["reason"], result["error"]["field"]) == ("invalid_item", field)


@pytest.mark.parametrize(("said", "status"), [("1", 422), ("True", 422), ("yes", 422), ("0", 200), ("banana", 422)])
async def test_invalid_values_of_strict_are_refused(http: httpx.AsyncClient, said: str, status: int) -> None:
    response = await post(http, {"items": [exact() | {"x": 1}]}, f"/v1/score?strict={said}")
    assert response.status_code == status


async def test_strict_is_refused_for_streams(http: httpx.AsyncClient) -> None:
    response = await post(http, {"items": [exact()]}, "/v1/score/stream?strict=1")
    assert (response.status_code, response.json()["field"]) == (422, "strict")


async def test_a_decimal_gold_is_compared_exactly(http: httpx.AsyncClient) -> None:
    pi = "3.14159265358979323846264338327950288"
    rows = [
        json.dumps(exact(text, reference={"mode": "number", "gold": "GOLD", "extract": "whole"})).replace(
            '"GOLD"', gold
        )
        for text, gold in [(pi, pi), ("3.141592653589793", pi), ("0", "1e-400"), ("0.1", "0.1")]
    ]
    results = (await post(http, f'{{"items":[{",".join(rows)}]}}'.encode())).json()["results"]
    assert [r["reward"] for r in results] == [1, 0, 0, 1]
