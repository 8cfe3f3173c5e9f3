"""Running a notebook in a kernel that is this very Python, apart from the user's own settings."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from axisjudge.checks import OneLine
from axisjudge.report.page import REPORT_DIR

# Kernels that run now by their private folder, so that an interrupted process can stop them.
_RUNNING: dict[str, Any] = {}


class ReportError(OneLine, RuntimeError):
    """A notebook failed; its old report stays as it is."""


def execute(source: Path, target: Path, parameters: Mapping[str, Any], *, workbench: Path, staging: Path) -> Any:
    """Run the notebook at `source`, save it with its outputs at `target`, and return it.

    The kernel stands in the notebook's folder, as JupyterLab's does, and finds the workbench by AXISJUDGE_HOME.

    Raises
    ------
    ReportError
        A cell failed, or the kernel died; the message names notebook, cell and the exception's last line.
    """
    import papermill
    from jupyter_core.utils import ensure_event_loop
    from nbclient.exceptions import CellExecutionError
    from papermill.exceptions import PapermillExecutionError

    logging.getLogger("papermill").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="axisjudge-") as private:
        environment = _environment(workbench, staging, private)
        try:
            return papermill.execute_notebook(
                source,
                target,
                parameters=dict(parameters),
                kernel_name="python3",
                language="python",
                progress_bar=False,
                kernel_manager_class=_this_python(environment, private),
                resources={"metadata": {"path": str(source.parent)}},
            )
        except PapermillExecutionError as error:
            last = [line for line in f"{error.ename}: {error.evalue}".splitlines() if line.strip()][-1]
            number = error.cell_index + 1 - bool(parameters)  # papermill puts a cell of its own after the parameters
            raise ReportError(f"{source.name}, cell {number}: {last}") from None
        except (CellExecutionError, RuntimeError) as error:
            raise ReportError(f"{source.name}: {str(error).splitlines()[-1]}") from error
        finally:
            _stop(_RUNNING.pop(private, None))
            ensure_event_loop().close()  # this thread's own


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


def _environment(workbench: Path, staging: Path, private: str) -> dict[str, str]:
    """What the kernel sees: the workbench, the staging folder, nobody's personal start-up files or styles."""
    matplotlib = find_spec("matplotlib")
    styles = Path(str(matplotlib.origin)).parent / "mpl-data" / "matplotlibrc" if matplotlib else ""
    return {
        "AXISJUDGE_HOME": str(workbench),
        REPORT_DIR: str(staging),
        "IPYTHONDIR": private,
        "MATPLOTLIBRC": str(styles),
        "PYTHONHASHSEED": "0",
        "TQDM_DISABLE": "1",
    }
