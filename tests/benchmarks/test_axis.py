"""How many transcripts a second can be given an AXIS Result, and where the time goes."""

from benchmarks.axis_speed import main


def test_axis() -> None:
    print()
    main()
