from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Outcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OUTCOME_UNSPECIFIED: _ClassVar[Outcome]
    OUTCOME_CORRECT: _ClassVar[Outcome]
    OUTCOME_INCORRECT: _ClassVar[Outcome]
    OUTCOME_PARTIAL: _ClassVar[Outcome]
    OUTCOME_SHAPED: _ClassVar[Outcome]
    OUTCOME_NO_VERDICT: _ClassVar[Outcome]
OUTCOME_UNSPECIFIED: Outcome
OUTCOME_CORRECT: Outcome
OUTCOME_INCORRECT: Outcome
OUTCOME_PARTIAL: Outcome
OUTCOME_SHAPED: Outcome
OUTCOME_NO_VERDICT: Outcome

class ScoreRequest(_message.Message):
    __slots__ = ("items", "defaults", "deadline_s")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    DEFAULTS_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_S_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Item]
    defaults: Item
    deadline_s: float
    def __init__(self, items: _Optional[_Iterable[_Union[Item, _Mapping]]] = ..., defaults: _Optional[_Union[Item, _Mapping]] = ..., deadline_s: _Optional[float] = ...) -> None: ...

class Item(_message.Message):
    __slots__ = ("id", "verifier", "text", "messages_json", "reference_json", "prompt_text", "prompt_messages_json", "prefill", "group", "run", "step", "completion_tokens", "completion_ids", "scores", "final_state_json", "truncated", "options")
    class ScoresEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: GivenScore
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[GivenScore, _Mapping]] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    VERIFIER_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_JSON_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_JSON_FIELD_NUMBER: _ClassVar[int]
    PROMPT_TEXT_FIELD_NUMBER: _ClassVar[int]
    PROMPT_MESSAGES_JSON_FIELD_NUMBER: _ClassVar[int]
    PREFILL_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    COMPLETION_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COMPLETION_IDS_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    FINAL_STATE_JSON_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    id: str
    verifier: str
    text: str
    messages_json: bytes
    reference_json: bytes
    prompt_text: str
    prompt_messages_json: bytes
    prefill: str
    group: str
    run: str
    step: int
    completion_tokens: int
    completion_ids: TokenIds
    scores: _containers.MessageMap[str, GivenScore]
    final_state_json: bytes
    truncated: bool
    options: Options
    def __init__(self, id: _Optional[str] = ..., verifier: _Optional[str] = ..., text: _Optional[str] = ..., messages_json: _Optional[bytes] = ..., reference_json: _Optional[bytes] = ..., prompt_text: _Optional[str] = ..., prompt_messages_json: _Optional[bytes] = ..., prefill: _Optional[str] = ..., group: _Optional[str] = ..., run: _Optional[str] = ..., step: _Optional[int] = ..., completion_tokens: _Optional[int] = ..., completion_ids: _Optional[_Union[TokenIds, _Mapping]] = ..., scores: _Optional[_Mapping[str, GivenScore]] = ..., final_state_json: _Optional[bytes] = ..., truncated: _Optional[bool] = ..., options: _Optional[_Union[Options, _Mapping]] = ...) -> None: ...

class TokenIds(_message.Message):
    __slots__ = ("ids",)
    IDS_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, ids: _Optional[_Iterable[int]] = ...) -> None: ...

class GivenScore(_message.Message):
    __slots__ = ("value",)
    VALUE_FIELD_NUMBER: _ClassVar[int]
    value: float
    def __init__(self, value: _Optional[float] = ...) -> None: ...

class Options(_message.Message):
    __slots__ = ("timeout_s", "cpu_s", "explain")
    TIMEOUT_S_FIELD_NUMBER: _ClassVar[int]
    CPU_S_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    timeout_s: float
    cpu_s: float
    explain: bool
    def __init__(self, timeout_s: _Optional[float] = ..., cpu_s: _Optional[float] = ..., explain: _Optional[bool] = ...) -> None: ...

class Result(_message.Message):
    __slots__ = ("id", "verdict", "no_verdict", "reason", "extracted_json", "span", "message", "parts_json", "tests_json", "flags", "explanation_json", "verifier", "item_key", "timing", "cached")
    ID_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    NO_VERDICT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EXTRACTED_JSON_FIELD_NUMBER: _ClassVar[int]
    SPAN_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    PARTS_JSON_FIELD_NUMBER: _ClassVar[int]
    TESTS_JSON_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_JSON_FIELD_NUMBER: _ClassVar[int]
    VERIFIER_FIELD_NUMBER: _ClassVar[int]
    ITEM_KEY_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    CACHED_FIELD_NUMBER: _ClassVar[int]
    id: str
    verdict: Verdict
    no_verdict: NoVerdict
    reason: str
    extracted_json: bytes
    span: Span
    message: int
    parts_json: bytes
    tests_json: bytes
    flags: _containers.RepeatedScalarFieldContainer[str]
    explanation_json: bytes
    verifier: str
    item_key: str
    timing: Timing
    cached: bool
    def __init__(self, id: _Optional[str] = ..., verdict: _Optional[_Union[Verdict, _Mapping]] = ..., no_verdict: _Optional[_Union[NoVerdict, _Mapping]] = ..., reason: _Optional[str] = ..., extracted_json: _Optional[bytes] = ..., span: _Optional[_Union[Span, _Mapping]] = ..., message: _Optional[int] = ..., parts_json: _Optional[bytes] = ..., tests_json: _Optional[bytes] = ..., flags: _Optional[_Iterable[str]] = ..., explanation_json: _Optional[bytes] = ..., verifier: _Optional[str] = ..., item_key: _Optional[str] = ..., timing: _Optional[_Union[Timing, _Mapping]] = ..., cached: _Optional[bool] = ...) -> None: ...

class Verdict(_message.Message):
    __slots__ = ("reward", "score", "outcome")
    REWARD_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    reward: float
    score: float
    outcome: Outcome
    def __init__(self, reward: _Optional[float] = ..., score: _Optional[float] = ..., outcome: _Optional[_Union[Outcome, str]] = ...) -> None: ...

class NoVerdict(_message.Message):
    __slots__ = ("code", "message", "retryable", "field")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RETRYABLE_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    retryable: bool
    field: str
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ..., retryable: _Optional[bool] = ..., field: _Optional[str] = ...) -> None: ...

class Span(_message.Message):
    __slots__ = ("start", "end")
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    start: int
    end: int
    def __init__(self, start: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class Timing(_message.Message):
    __slots__ = ("queue_ms", "run_ms", "cpu_ms")
    QUEUE_MS_FIELD_NUMBER: _ClassVar[int]
    RUN_MS_FIELD_NUMBER: _ClassVar[int]
    CPU_MS_FIELD_NUMBER: _ClassVar[int]
    queue_ms: float
    run_ms: float
    cpu_ms: float
    def __init__(self, queue_ms: _Optional[float] = ..., run_ms: _Optional[float] = ..., cpu_ms: _Optional[float] = ...) -> None: ...

class Stats(_message.Message):
    __slots__ = ("items", "cached", "no_verdict", "outcomes", "wall_ms")
    class OutcomesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    CACHED_FIELD_NUMBER: _ClassVar[int]
    NO_VERDICT_FIELD_NUMBER: _ClassVar[int]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    WALL_MS_FIELD_NUMBER: _ClassVar[int]
    items: int
    cached: int
    no_verdict: int
    outcomes: _containers.ScalarMap[str, int]
    wall_ms: float
    def __init__(self, items: _Optional[int] = ..., cached: _Optional[int] = ..., no_verdict: _Optional[int] = ..., outcomes: _Optional[_Mapping[str, int]] = ..., wall_ms: _Optional[float] = ...) -> None: ...

class ScoreResponse(_message.Message):
    __slots__ = ("results", "stats")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    STATS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[Result]
    stats: Stats
    def __init__(self, results: _Optional[_Iterable[_Union[Result, _Mapping]]] = ..., stats: _Optional[_Union[Stats, _Mapping]] = ...) -> None: ...

class ScoreChunk(_message.Message):
    __slots__ = ("results", "done", "count")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[Result]
    done: bool
    count: int
    def __init__(self, results: _Optional[_Iterable[_Union[Result, _Mapping]]] = ..., done: _Optional[bool] = ..., count: _Optional[int] = ...) -> None: ...

class VerifiersRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class VerifiersResponse(_message.Message):
    __slots__ = ("verifiers",)
    VERIFIERS_FIELD_NUMBER: _ClassVar[int]
    verifiers: _containers.RepeatedCompositeFieldContainer[VerifierInfo]
    def __init__(self, verifiers: _Optional[_Iterable[_Union[VerifierInfo, _Mapping]]] = ...) -> None: ...

class VerifierInfo(_message.Message):
    __slots__ = ("name", "version", "reads", "sandboxed", "reference_schema_json", "summary")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    READS_FIELD_NUMBER: _ClassVar[int]
    SANDBOXED_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: int
    reads: _containers.RepeatedScalarFieldContainer[str]
    sandboxed: bool
    reference_schema_json: bytes
    summary: str
    def __init__(self, name: _Optional[str] = ..., version: _Optional[int] = ..., reads: _Optional[_Iterable[str]] = ..., sandboxed: _Optional[bool] = ..., reference_schema_json: _Optional[bytes] = ..., summary: _Optional[str] = ...) -> None: ...
