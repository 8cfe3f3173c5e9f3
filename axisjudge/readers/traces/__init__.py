"""Traces: records of model calls and tool runs with their times, from which the conversation is put together.

`spans` reads exports of OpenTelemetry into spans, `phoenix` those of Phoenix; `gen_ai` and `openinference` know the
attributes by which spans tell messages. `langsmith`, `langfuse` and `mlflow` read the records of these services, which
`runs` takes apart alike. All of them end in model calls and tool runs, which `conversation` puts in order.
"""
