"""Conversations as model APIs and frameworks write them: recognised from content.

Each is a `ValueFormat`, or a module of the same three names. A value is a conversation, a list of
conversations or a list of messages; a file with one message a line is read as the list of its lines.

What they agree on:

- System instructions that stand beside the messages are the run's `policy`; system messages are steps.
- A run of content between two results is one step of the agent: its text and its calls. Thinking is a step of its own.
- A tool that the provider runs itself (web search, code, MCP) is called like any other. Its result is a step where the
  source holds it or says how the call ended.
- A part of unknown kind that may carry a call or a result refuses the file; any other leaves its kind in brackets.
- Calls and results that stand in plain text (`in_text`) are read where a run has no calls of its own kind, and beside
  those where they were answered; what stays text there is named in a warning.
- `Step.agent` names the speaker where a source names its speakers.
"""

from typing import Any

from axisjudge.readers.chats import gemini_contents
from axisjudge.readers.chats.agents import AGENTS
from axisjudge.readers.chats.apis import APIS, RESPONSES
from axisjudge.readers.chats.exported import FIRST, LAST

#: Asked in this order, before the plain OpenAI chat that several of them resemble.
CHATS = (*FIRST, RESPONSES, gemini_contents, *AGENTS, *APIS, *LAST)

__all__ = ["CHATS", "is_message"]


def is_message(value: Any, formats: tuple[Any, ...]) -> bool:
    """Whether a value is one message, whose conversation stands on the lines that follow, and nothing of `formats`."""
    return (
        isinstance(value, dict)
        and not any(form.recognise(value) for form in formats)
        and any(form.recognise([value]) for form in formats)
    )
