"""A yes from somebody who can be asked: at a terminal, or in a notebook whose front end takes input."""

import sys


def asked_yes(question: str) -> bool:
    """Whether somebody said yes; no where nobody can be asked (a pipeline, a notebook run by a program)."""
    terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    prompt = f"axisjudge: {question} [y/N] "
    if terminal:
        print(prompt, end="", file=sys.stderr, flush=True)
        return _is_yes(sys.stdin.readline())
    try:
        return "ipykernel" in sys.modules and _is_yes(input(prompt))
    except (EOFError, NotImplementedError):  # the latter is what a kernel raises that takes no input
        return False


def _is_yes(answer: str) -> bool:
    return answer.strip().lower() in ("y", "yes")
