"""``axisjudge`` and ``python -m axisjudge``: the command line, with Ctrl-C heard from the first import on."""

import sys


def main() -> None:
    """Run a command; stopped while it starts, it ends as it does later: one line and exit code 130."""
    try:
        from axisjudge.cli import main as run

        run()
    except KeyboardInterrupt:
        print("axisjudge: stopped", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
