"""The driver that runs in the jail: it loads the row's program, calls `verify`, and writes one JSON frame.

{"kind": "broken", "error": class}     the program does not load, or defines no `verify`
{"kind": "raised", "error": class}     `verify` raised
{"kind": "said", "said": value}        `verify` returned that value
"""

DRIVER = """
import json, os, sys
given = json.loads(sys.stdin.buffer.read())
sys.stdin.close()
frame = os.fdopen(3, "w")
sys.stdout = sys.stderr
def tell(kind, **fields):
    frame.write(json.dumps({"kind": kind, **fields}, allow_nan=False, ensure_ascii=True))
    frame.close()
    os._exit(0)
def number(value):
    if isinstance(value, (str, bytes, bytearray, memoryview)):
        raise TypeError("text is no number")
    return float(value)
space = {"__name__": "verifier"}
try:
    exec(compile(given["source"], "verifier.py", "exec"), space)
except BaseException as error:
    tell("broken", error=type(error).__name__)
verify = space.get("verify")
if not callable(verify):
    tell("broken", error="NameError")
call = given["inputs"]
try:
    said = verify(call["completion"], call["data"], call["prompt"])
    if isinstance(said, dict):
        said = {"score": number(said["score"]), "reason": str(said.get("reason", ""))[:2000]}
    else:
        said = number(said)
    text = json.dumps(said, allow_nan=False)
except BaseException as error:
    tell("raised", error=type(error).__name__)
tell("said", said=said)
"""
