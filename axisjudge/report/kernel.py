"""Running a notebook in a kernel that is this very Python, apart from the user's own settings."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from axisjudge.checks import OneLine, TooLittle
from axisjudge.workbench import MIRROR

# Kernels that run now by their private folder, so that an interrupted process can stop them.
_RUNNING: dict[str, Any] = {}


class ReportError(OneLine, RuntimeError):
    """A notebook failed; its old report stays as it is."""


class WarmKernels:
    """One warm kernel after another: notebooks that run in it find its imports done and nothing else left.

    A lane belongs to one thread. A kernel in which a notebook failed is not used again.
    """

    def __init__(self, workbench: Path) -> None:
        self.workbench = workbench
        self._private: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        from jupyter_core.utils import ensure_event_loop

        ensure_event_loop().close()  # this thread's own

    def execute(self, source: Path, target: Path, parameters: Mapping[str, Any], *, staging: Path) -> Any:
        """Run the notebook at `source`, save it with its outputs at `target`, and return it.

        The kernel stands in the notebook's folder, as JupyterLab's does, and finds the workbench by AXISJUDGE_HOME.

        Raises
        ------
        ReportError
            A cell failed, or the kernel died; the message names notebook, cell and the exception's last line.
        """
        _spare_grammars()
        import papermill
        from nbclient.exceptions import CellExecutionError
        from papermill.exceptions import PapermillExecutionError

        logging.getLogger("papermill").setLevel(logging.CRITICAL)
        whole = False
        try:
            self._prepare(source.parent, staging)
            book = papermill.execute_notebook(
                source,
                target,
                parameters=dict(parameters),
                engine_name=_warm_engine(),
                kernel_name="python3",
                language="python",
                progress_bar=False,
                request_save_on_cell_execute=False,
                manager=self._manager,
                target=target,
            )
            whole = True
            return book
        except PapermillExecutionError as error:
            if error.ename == TooLittle.__name__:
                book = self._unanswered(source.stem, target, error.cell_index)
                whole = True
                return book
            last = [line for line in f"{error.ename}: {error.evalue}".splitlines() if line.strip()][-1]
            number = error.cell_index + 1 - bool(parameters)  # papermill puts a cell of its own after the parameters
            raise ReportError(f"{source.name}, cell {number}: {last}") from None
        except (CellExecutionError, RuntimeError) as error:
            raise ReportError(f"{source.name}: {str(error).splitlines()[-1]}") from error
        finally:
            if not whole:
                self._end()

    def _prepare(self, folder: Path, staging: Path) -> None:
        """A kernel that is as if nothing had run in it, told whose report comes next."""
        if self._private is None:
            self._private = tempfile.TemporaryDirectory(prefix="axisjudge-")
            kind = _this_python(_environment(self.workbench, self._private.name), self._private.name)
            self._manager = kind(kernel_name="python3")
        paths = ", ".join(repr(str(path)) for path in (self.workbench, staging, folder))
        self._run(f"from axisjudge.report.room import enter\nenter({paths})\nget_ipython().reset(new_session=True)")

    def _unanswered(self, name: str, target: Path, at: int) -> Any:
        """The notebook at `target`, whose data held too little at cell `at`, with what its page says to that."""
        import nbformat

        outputs = self._run(CODE.format(name=name))
        book = cut_short(nbformat.read(target, as_version=4), at, outputs)  # type: ignore[no-untyped-call]
        nbformat.write(book, target)  # type: ignore[no-untyped-call]
        return book

    def _run(self, code: str) -> list[Any]:
        """What one cell of `code` puts out in the kernel that runs."""
        import nbformat
        from nbclient import NotebookClient

        cell = nbformat.v4.new_code_cell(code)  # type: ignore[no-untyped-call]
        book = nbformat.v4.new_notebook(cells=[cell])  # type: ignore[no-untyped-call]
        client = NotebookClient(book, km=self._manager, kernel_name="python3")
        client.execute()
        client.kc.stop_channels()  # type: ignore[union-attr]
        return list(book.cells[0].outputs)

    def _end(self) -> None:
        """Stop the kernel, if there is one."""
        if self._private is not None:
            from jupyter_core.utils import ensure_event_loop

            _stop(_RUNNING.pop(self._private.name, None))
            ensure_event_loop().run_until_complete(self._manager.cleanup_resources())
            self._private.cleanup()
            self._private = None


def _spare_grammars() -> None:
    """Import jsonschema without 38 grammars of international addresses: a second of each start, and no notebook's."""
    if "jsonschema" not in sys.modules:
        kept = sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
        import_module("jsonschema")
        if kept is None:
            del sys.modules["rfc3987_syntax"]


@cache
def _warm_engine() -> str:
    """Papermill's own way of running a notebook, in a kernel that is there already."""
    import nbformat
    from papermill.clientwrap import PapermillNotebookClient
    from papermill.engines import NBClientEngine, papermill_engines

    class Warm(NBClientEngine):  # type: ignore[misc]
        @classmethod
        def execute_managed_notebook(
            cls, nb_man: Any, kernel_name: str, *, manager: Any, target: Path, **_: Any
        ) -> Any:
            client = PapermillNotebookClient(nb_man, km=manager, kernel_name=kernel_name)
            try:
                return client.execute()
            except BaseException:
                nbformat.write(nb_man.nb, target)  # type: ignore[no-untyped-call]
                raise
            finally:
                if client.kc is not None:
                    client.kc.stop_channels()

    papermill_engines.register("axisjudge-warm", Warm)
    return "axisjudge-warm"


def stop_kernels() -> None:
    """Kill the kernels of this process; the notebooks that they ran fail."""
    for manager in list(_RUNNING.values()):
        _stop(manager)


def _stop(manager: Any) -> None:
    process = getattr(manager and manager.provisioner, "process", None)
    if process is not None:
        process.kill()
        process.wait()


def _this_python(environment: Mapping[str, str], private: str) -> type[Any]:
    """A kernel manager that starts this Python, whatever kernels are installed, and talks to it without the network."""
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager

    # the kernel's own log says no more than that it was told to stop; what goes wrong in it comes back as a reply
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=CRITICAL"]

    class ThisPython(AsyncKernelManager):
        @property
        def kernel_spec(self) -> KernelSpec:
            return KernelSpec(argv=command, display_name="Python 3", language="python", env=dict(environment))

        def __init__(self, **options: Any) -> None:
            transport = "ipc" if os.name == "posix" else "tcp"
            super().__init__(transport=transport, connection_file=str(Path(private) / "k.json"), **options)
            _RUNNING[private] = self

    return ThisPython


def _environment(workbench: Path, private: str) -> dict[str, str]:
    """What the kernel sees: the workbench, nobody's personal start-up files or styles."""
    matplotlib = find_spec("matplotlib")
    styles = Path(str(matplotlib.origin)).parent / "mpl-data" / "matplotlibrc" if matplotlib else ""
    mirror = os.environ.get(MIRROR)
    return {
        **({MIRROR: str(Path(mirror).resolve())} if mirror else {}),  # the kernel stands in another folder
        "AXISJUDGE_HOME": str(workbench),
        "IPYTHONDIR": private,
        "MATPLOTLIBRC": str(styles),
        "OPENBLAS_NUM_THREADS": os.environ.get("OPENBLAS_NUM_THREADS", "1"),  # kernels run side by side
        "PYTHONHASHSEED": "0",
        "TMPDIR": private,  # a kernel is killed in the end: what it had meant to tidy up goes with its folder
        "TQDM_DISABLE": "1",
    }


# A page that says what cannot be said: what becomes of a notebook whose data hold too little for its question.


#: The code that a kernel runs after a cell that ended in `TooLittle`.
CODE = "from axisjudge.report.kernel import answer_why\nanswer_why(globals(), {name!r})"

#: How papermill marks the cells that it adds around a cell that failed.
_MARK = "papermill-error-cell-tag"

#: What of a notebook holds whatever its data say.
_KEPT = ("## Limits", "## Things to try next")


def answer_why(names: dict[str, Any], name: str) -> None:
    """Let the page in a notebook's `names` answer why it has no answer; one that is not begun yet begins with this.

    Where the page has answered already, the sentences end what it could say. results.json has them as `unanswered`.
    """
    from axisjudge.report.page import Page

    why = sys.last_value
    page = names.get("page")
    if not isinstance(why, TooLittle):
        raise TypeError(f"the last cell ended in {type(why).__name__}")
    if not isinstance(page, Page):
        page = Page(name, _rated(names))
        page.banner()
    page.record("unanswered", why.sentences)
    if page.answer_text:
        page.say(f"Here the page ends. {why.sentences}")
    else:
        page.answer(f"These data hold too little to answer the question of this page. {why.sentences}")


def cut_short(book: Any, at: int, outputs: list[Any]) -> Any:
    """The notebook as far as it ran: cell `at` ended it and has `outputs` in place of the error.

    Of the cells after it stay those that hold whatever the data say, so that no heading stands over nothing.
    """
    cells = [cell for cell in book.cells if _MARK not in cell.metadata.get("tags", [])]
    kept = [output for output in cells[at].outputs if output.output_type != "error"]
    cells[at].outputs = [*kept, *outputs]
    if not kept and cells[at - 1].cell_type == "markdown" and at > 1:
        cells[at - 1].source = ""
    book.cells = [*cells[: at + 1], *(cell for cell in cells[at + 1 :] if cell.source.startswith(_KEPT))]
    return book


def _rated(names: dict[str, Any]) -> Any:
    """The ratings among what a notebook has named so far, the last ones; none if there are none."""
    import polars as pl

    from axisjudge.ratings.table import ratings_frame

    given = [getattr(value, "ratings", value) for name, value in names.items() if not name.startswith("_")]
    tables = [each for each in given if isinstance(each, pl.DataFrame) and {"rater", "rater_kind"} <= set(each.columns)]
    return tables[-1] if tables else ratings_frame([])
