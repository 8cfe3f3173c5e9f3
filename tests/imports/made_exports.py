"""Exports of other tools, written by us from their public schemas: small, with the odd cases inside."""


def promptfoo():
    """EvaluateSummaryV3 in an output file: two tests on two providers; code, model, person, a set, a broken grader."""

    def component(passed, form, *, score=None, **fields):
        assertion = {
            "type": form,
            **{name: fields.pop(name) for name in ("metric", "value", "provider") if name in fields},
        }
        score = float(passed) if score is None else score
        return {"pass": passed, "score": score, "reason": f"{form} says so", "assertion": assertion, **fields}

    def result(test, provider, components, *, success, **fields):
        grading = {"pass": success, "score": 0.5, "reason": "sum", "componentResults": components}
        case = {"vars": {"q": f"question {test}"}, "assert": []}
        about = {"testIdx": test, "promptIdx": 0, "provider": {"id": provider, "label": ""}, "testCase": case}
        return {**about, "success": success, "failureReason": 0 if success else 1, "gradingResult": grading, **fields}

    graded = {"provider": "openai:gpt-4.1", "metric": "helpful", "value": "helps the user"}
    inner = [component(True, "contains", value="a"), component(False, "not-contains", value="b")]
    results = [
        result(
            0,
            "anthropic:claude",
            [
                component(True, "llm-rubric", score=0.8, **graded),
                component(True, "icontains", value="refund"),
                {"pass": True, "score": 1, "reason": "set", "componentResults": inner},
            ],
            success=True,
            namedScores={"helpful": 0.8},
        ),
        result(
            0,
            "openai:gpt-5",
            [
                component(False, "llm-rubric", **graded, metadata={"graderError": True}),
                component(False, "human"),
            ],
            success=False,
            namedScores={},
        ),
        result(
            1, "openai:gpt-5", [component(False, "llm-rubric", **graded)], success=False, namedScores={"helpful": 0.1}
        ),
        {
            "testIdx": 1,
            "promptIdx": 0,
            "provider": {"id": "anthropic:claude"},
            "testCase": {"vars": {}},
            "success": False,
            "failureReason": 2,
            "error": "timeout",
            "gradingResult": None,
            "namedScores": {},
        },
    ]
    return {
        "evalId": "eval-1",
        "results": {"version": 3, "timestamp": "t", "prompts": [], "results": results},
        "config": {},
    }


def mlflow():
    """`mlflow traces search --output json`: people, a model, code, an expectation, an error, an overridden one."""

    def assessment(name, source, who, **fields):
        about = {"assessment_name": name, "trace_id": fields.pop("trace", "tr-1"), "assessment_id": f"a-{name}-{who}"}
        times = {"create_time": "2026-01-01T00:00:00Z", "last_update_time": "2026-01-02T00:00:00Z"}
        return {**about, "source": {"source_type": source, "source_id": who}, **times, "valid": True, **fields}

    held = [
        assessment("correct", "HUMAN", "ada@example.org", feedback={"value": True}, rationale="read it"),
        assessment("correct", "HUMAN", "ada@example.org", feedback={"value": False}, valid=False),
        assessment("correct", "LLM_JUDGE", "openai:/gpt-4o-mini", feedback={"value": False}, span_id="sp-1"),
        assessment("length", "CODE", "length.py", feedback={"value": 0.25}),
        assessment("safe", "LLM_JUDGE", "openai:/gpt-4o-mini", feedback={"error": {"error_code": "RATE_LIMIT"}}),
        assessment("answer", "HUMAN", "ada@example.org", expectation={"value": "Paris"}),
        assessment(
            "steps",
            "HUMAN",
            "ada@example.org",
            expectation={"serialized_value": {"serialization_format": "JSON_FORMAT", "value": '{"n": 3}'}},
        ),
    ]
    other = [assessment("correct", "LLM_JUDGE", "openai:/gpt-4o-mini", feedback={"value": True}, trace="tr-2")]
    traces = [
        {"info": {"trace_id": "tr-1", "state": "OK", "assessments": held}, "data": {"spans": []}},
        {"info": {"trace_id": "tr-2", "state": "OK", "assessments": other}, "data": {"spans": []}},
        {"info": {"trace_id": "tr-3", "state": "OK"}, "data": {"spans": []}},
    ]
    return {"traces": traces, "next_page_token": None}


def langfuse():
    """Scores of the public API: annotation, evaluator, API; numbers, words, true and false, text, a span, a session."""
    base = {"traceId": "t1", "observationId": None, "authorUserId": None, "comment": None, "metadata": {}}
    rows = [
        {"name": "quality", "source": "ANNOTATION", "dataType": "NUMERIC", "value": 4, "authorUserId": "u1"},
        {"name": "quality", "source": "EVAL", "dataType": "NUMERIC", "value": 2, "comment": "meh"},
        {"name": "quality", "source": "EVAL", "dataType": "NUMERIC", "value": 5, "observationId": "o1"},
        {"name": "safe", "source": "EVAL", "dataType": "BOOLEAN", "value": 1, "stringValue": "True"},
        {"name": "tone", "source": "API", "dataType": "CATEGORICAL", "value": 0, "stringValue": "warm"},
        {"name": "remark", "source": "ANNOTATION", "dataType": "TEXT", "value": 0, "stringValue": "nice"},
        {
            "name": "quality",
            "source": "ANNOTATION",
            "dataType": "NUMERIC",
            "value": 1,
            "traceId": None,
            "sessionId": "s1",
        },
    ]
    return [{"id": f"score-{n}", "timestamp": "2026-01-01T00:00:00Z", **base, **row} for n, row in enumerate(rows)]


def langfuse_v3():
    """The same of the third API: values are of their type, and a subject says what was scored."""
    subjects = [{"kind": "trace", "id": "t1"}, {"kind": "observation", "id": "o1", "traceId": "t1"}]
    values = [("BOOLEAN", True), ("CATEGORICAL", "warm")]
    return {
        "data": [
            {"id": str(n), "name": kind.lower(), "source": "EVAL", "dataType": kind, "value": value, "subject": subject}
            for n, (subject, (kind, value)) in enumerate(zip(subjects, values, strict=True))
        ],
        "meta": {"limit": 50},
    }


def langsmith():
    """Feedback as `Client.list_feedback` gives it: model, person in the app, program, remark alone."""
    sources = {
        "model": {"type": "model", "metadata": {"model": "gpt-4o"}, "user_id": None},
        "app": {"type": "app", "metadata": {}, "user_name": "ada"},
        "api": {"type": "api", "metadata": None},
    }
    rows = [
        {"key": "correct", "score": 1, "value": None, "feedback_source": sources["model"], "comment": "fine"},
        {"key": "correct", "score": 0, "value": None, "feedback_source": sources["app"]},
        {"key": "tone", "score": 0.5, "value": "warm", "feedback_source": sources["app"]},
        {"key": "exact", "score": True, "value": None, "feedback_source": sources["api"]},
        {"key": "remark", "score": None, "value": None, "comment": "hm", "feedback_source": sources["app"]},
    ]
    ids = {
        "run_id": "r1",
        "trace_id": "r1",
        "correction": None,
        "created_at": "2026-01-01",
        "modified_at": "2026-01-02",
    }
    return [{"id": f"f{n}", **ids, **row} for n, row in enumerate(rows)]


def inspect_log():
    """A log with a model grader, letters, a number, a value of parts, NaN, and a score that a person edited."""
    reply = {"role": "assistant", "model": "openai/gpt-4.1", "content": "GRADE: C"}
    edited = {
        "value": "I",
        "history": [
            {"value": "C"},
            {"value": "I", "provenance": {"author": "ada", "timestamp": "2026-01-01T00:00:00Z"}},
        ],
    }
    scores = [
        {"model_graded_qa": {"value": "C", "explanation": "fits", "metadata": {"grading": [reply]}}, "match": edited},
        {"model_graded_qa": {"value": float("nan"), "metadata": {"grading": [reply]}}, "match": {"value": "P"}},
        {"house": {"value": {"tone": 3, "facts": "NaN"}}, "match": {"value": "I"}},
    ]
    head = {"task": "made", "model": "openai/gpt-4o", "run_id": "r", "scorers": [{"name": "match", "options": {}}]}
    messages = [{"role": "user", "content": "hello"}]
    samples = [
        {"id": f"q{n}", "epoch": 1, "uuid": f"u{n}", "messages": messages, "scores": of_sample}
        for n, of_sample in enumerate(scores)
    ]
    return {"version": 2, "status": "success", "eval": head, "samples": samples}
