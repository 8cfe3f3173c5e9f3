"""The page `/docs`: the operations of the API, from its own schema, without script and without network."""

from __future__ import annotations

from html import escape
from typing import Any

_STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "code{background:#eee;padding:0 .2em}table{border-collapse:collapse}td,th{text-align:left;padding:0 1em 0 0}"
)


def operations_page(schema: dict[str, Any]) -> str:
    """An HTML page of the operations in an OpenAPI schema."""
    info = schema["info"]
    parts = [
        _operation(path, method, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(info['title'])}</title>"
        f"<style>{_STYLE}</style><h1>{escape(info['title'])} {escape(info['version'])}</h1>"
        "<p>Send <code>Authorization: Bearer TOKEN</code> with what is under <code>/v1/</code>. Schemas: "
        " <a href=openapi.json>openapi.json</a>. Errors are <code>application/problem+json</code>.</p>"
        f"{''.join(parts)}</html>"
    )


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    rows = [
        f"<tr><td><code>{escape(each['name'])}</code><td>{escape(each['in'])}"
        f"<td>{'required' if each.get('required') else ''}<td>{escape(each.get('description', ''))}"
        for each in operation.get("parameters", [])
    ]
    table = f"<table><tr><th>parameter<th>in<th><th>{''.join(rows)}</table>" if rows else ""
    answers = ", ".join(f"{code} {answer['description']}" for code, answer in operation["responses"].items())
    return (
        f"<h2><code>{escape(method.upper())} {escape(path)}</code></h2>"
        f"<p>{escape(operation.get('description', ''))}</p>{table}<p>Answers: {escape(answers)}</p>"
    )
