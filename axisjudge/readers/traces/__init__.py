"""Traces: records of model calls and tool runs with their times, from which the conversation is put together.

`opentelemetry` reads exports of spans, Phoenix's too; `gen_ai`, `openinference` and `chat_forms` know how they tell
messages. `services` reads the records of LangSmith, Langfuse and MLflow, which `runs` takes apart alike. All of them
end in model calls and tool runs, which `axisjudge.readers.trace_spans` puts in order.
"""
