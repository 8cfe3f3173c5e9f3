"""What a notebook says to its report: scope, results, figures, tables, sentences."""

from __future__ import annotations

import base64
import html
import itertools
import os
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import polars as pl

from axisjudge import workbench
from axisjudge.checks import InputError
from axisjudge.figures.markup import literal, untypeset
from axisjudge.figures.theme import is_empty
from axisjudge.judging.estimate import cost_of
from axisjudge.protocol.standing import standing_of
from axisjudge.ratings import as_ratings
from axisjudge.readers import read_trajectories
from axisjudge.report.digest import file_sha256, portable
from axisjudge.report.drawn import KINDS, drawn_bytes, narrow, reading_of, title_of_figure, width_of
from axisjudge.report.links import NO_LINKS, write_links
from axisjudge.report.paper import ABOUT, MARKDOWN_MIME, lead, slug
from axisjudge.report.room import read_so_far
from axisjudge.report.scope import asked_of, ratings_sha256, scope_of
from axisjudge.report.tables import as_polars, html_table, in_notebook, is_sortable, markdown_table, write_table
from axisjudge.results import columns, dumps, plain, reached
from axisjudge.stats.estimate import many
from axisjudge.studies._shared.pooled import declared_results, declared_sentence
from axisjudge.studies._shared.result import Part
from axisjudge.studies._shared.words import spoken

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from axisjudge.studies._shared.frames import Table
    from axisjudge.studies._shared.result import Study
    from axisjudge.trajectory import Trajectory

#: The runner names its staging folder here; unset, a page only displays.
REPORT_DIR = "AXISJUDGE_REPORT_DIR"
#: The file in which a page leaves its results for the runner.
PAGE_FILE = "page.json"

_BANNER_STYLE = "border-left: 4px solid #b3261e; background-color: #b3261e1a; padding: 8px 14px"

#: Inches of a figure on a phone of 390 pixels.
PHONE = 3.55
_MADE_UP = "Simulated or planted ratings: not measurements"
#: Figures follow JupyterLab's theme, and nothing is wider than its cell.
_THEMED = """<style>.axisjudge-part img { max-width: 100%; height: auto }
.axisjudge-part summary { cursor: pointer; opacity: .75 } .axisjudge-part { max-width: 100%; overflow-x: auto }
body[data-jp-theme-light="false"] .axisjudge-part img { filter: invert(.93) hue-rotate(180deg) }</style>"""
#: What markdown would read as more than bold and code: names of judges and agents hold anything.
_MARKUP = re.compile(
    r"`[^`]*`|[\[\]$~|]|\\(?=[!-/:-@\[-`{-~])|(?<![^\W_])_|_(?![^\W_])|(?<!\*)\*(?!\*)|^[#+-](?=[#\s])|(?<=^\d)[.)](?=\s)"
)
_REST: dict[str, Any] = {ABOUT: {"is": "rest"}}
_ANSWER_STYLE = "border-left: 4px solid #174ea6; padding: 8px 14px"

#: What a page says beside its results, and where each of it stands.
_FACTS = columns(
    "scope=scope.sentence banner=scope.banner conditional_on=scope.conditional_on raters=scope.raters",
    "costs judged_with inputs figures findings finding",
)

Value = TypeVar("Value")


class View(Protocol):
    """What can be shown on a page and in its report."""

    def to_html(self) -> str: ...

    def to_markdown(self) -> str: ...


class Page:
    """One notebook's voice in its report.

    Parameters
    ----------
    name : str
        The notebook's name, such as ``05_failures``.
    ratings : table
        The ratings behind the page (polars, pandas, arrow): they give the scope sentence, the banner and a hash.
    runs : iterable of Trajectory, or path, optional
        The runs that were rated: tables lead to them, and the explorer stands on the page. Scope and banners are shown
        with it; nothing is shown where it is None.
    inputs : iterable of path, optional
        Other files the page is made from; their hashes go into results.json. Relative to the workbench.

    Notes
    -----
    In JupyterLab a page only displays. When `axisjudge.report.run_report` runs the notebook, results, figures and
    text are also written to its staging folder; then each name may be used once.
    """

    def __init__(
        self,
        name: str,
        ratings: Any,
        runs: Iterable[Trajectory] | str | None = None,
        *,
        inputs: Iterable[str | Path] = (),
    ) -> None:
        self.name = name
        ratings = as_ratings(ratings)
        self.scope = scope_of(ratings)
        self.standing = standing_of(ratings)
        of = self.standing
        self.declared = declared_results(ratings, of.plan) if of.confirmatory and of.plan else ()
        self.results: dict[str, Any] = {}
        self._results_json: dict[str, str] = {}  # what has been recorded is encoded once, and saved many times
        self.figures: list[str] = []
        self.findings: list[str] = []
        self.finding = ""
        self.tables: list[str] = []
        self._sorted = ""  # the first table that is sorted: in a notebook it brings what sorts them all
        self.answer_text = self.next_step = ""
        self.links, self.secrets = NO_LINKS, Counter[str]()
        self.judged_with = asked_of(ratings)
        self.costs = [cost.row() for cost in cost_of(ratings) if cost.input_tokens or cost.usd]
        self.inputs = {"ratings": ratings_sha256(ratings)}
        for path in inputs:
            full = workbench.home() / path
            self.inputs[portable(full, workbench.home())] = file_sha256(full)
        self._outputs: list[tuple[dict[str, str], dict[str, Any]]] | None = None  # of one part, while it is added
        self._made_up = ""  # the warning of a part whose ratings are made up on a page whose own are not
        self._shows = self._leads = ""  # what a figure is of that shows none of the page's ratings; of the first one
        self._folded = False  # whether the table that is shown next stands under a fold
        self._folder = _staging(name)
        self._save()
        _plain_frames()
        if runs is not None:
            self.banner()
            if runs := runs if isinstance(runs, str) else list(runs):
                self.explorer(ratings, runs)

    def banner(self) -> None:
        """Show the scope sentence, which judges are shut down, what held-out ratings may claim, and the banners.

        There is a banner when ratings are simulated or planted, and one that says EXPLORATORY and why. On held-out data
        that may be confirmed the declared results follow.
        """
        facts = {
            "Scope": self.scope.sentence,
            "Retirement": self.scope.retirement,
            "Injection": self.scope.injection,
            "Standing": self.standing.sentence,
            "Result": declared_sentence(self.declared) if self.declared else "",
        }
        for banner in self.banners:
            markup = f'<p class="banner" style="{_BANNER_STYLE}">{html.escape(banner)}</p>'
            bundle = {"text/html": markup, "text/plain": banner, MARKDOWN_MIME: f"> **{literal(banner)}**"}
            _show(bundle, {ABOUT: {"is": "banner", "of_ratings": banner == self.scope.banner}})
        shown, text, plain = "", [], []
        for head, fact in facts.items():
            if sentence := spoken(fact):
                shown += f'<p class="scope"><strong>{head}.</strong> {html.escape(sentence)}</p>'
                text.append(f"**{head}.** {literal(sentence)}")
                plain.append(sentence)
        _show(
            {"text/html": shown, "text/plain": " ".join(plain), MARKDOWN_MIME: "\n\n".join(text)},
            {ABOUT: {"is": "scope"}},
        )

    @property
    def banners(self) -> list[str]:
        """The warnings that stand at the top of the page."""
        return [banner for banner in (self.standing.banner, self.scope.banner) if banner]

    def answer(self, result: Study | Part | str, next_step: str = "") -> None:
        """Say what the page answers: its report opens with it, under title and banners, and so does its card.

        Parameters
        ----------
        result : Study, Part or str
            A study or a part whose `answer` it is, or the answer itself: at most three sentences that stand alone. What
            three lines do not hold follows the figure, so that the first one is the answer by itself.
        next_step : str
            What to do now, with how many more of what: one or two sentences under the answer.
        """
        texts = (result if isinstance(result, str) else result.answer, next_step)
        self.answer_text, self.next_step = (spoken(" ".join(text.split())) for text in texts)
        self._save()
        first, rest = lead(self.answer_text)
        box = {head: text for head, text in {"Answer": first, "Next": self.next_step}.items() if text}
        lines = "".join(f"<p><strong>{head}.</strong> {html.escape(text)}</p>" for head, text in box.items())
        markdown = "\n\n".join(f"**{head}.** {literal(text)}" for head, text in box.items())
        shown = f'<div class="answer" style="{_ANSWER_STYLE}">{lines}</div>'
        bundle = {"text/html": shown, "text/plain": " ".join(box.values()), MARKDOWN_MIME: markdown}
        _show(bundle, {ABOUT: {"is": "answer"}})
        if rest:
            _show(dict.fromkeys(("text/markdown", MARKDOWN_MIME), literal(rest)) | {"text/plain": rest}, _REST)

    def explorer(self, ratings: Any, trajectories: Iterable[Trajectory] | str = ()) -> None:
        """Let the page's tables lead to the runs, in an explorer.html beside the report: `Links.of_row` says how.

        `trajectories` are the runs, or a path to them, empty if there are none: then a sentence says how to get there.
        In JupyterLab the explorer itself stands in the cell, under a fold.
        """
        if isinstance(trajectories, str):
            trajectories = read_trajectories(trajectories).trajectories if trajectories else ()
        if self._folder is None and (runs := list(trajectories)) and _in_notebook():
            self._explorer_in_notebook(ratings, runs)
            return
        self.links, sentence = write_links(ratings, trajectories, self._folder, self.secrets)
        kept = re.sub(r"\[(.+)\]\((.+?)\)", r"\1 (`\2`, built with the page)", sentence)  # git keeps no explorer
        bundle = {"text/markdown": sentence, "text/plain": kept, MARKDOWN_MIME: kept}
        _show(bundle, {ABOUT: {"is": "way"}})

    def add(
        self,
        what: Part | Axes | Table | None,
        table: Any = None,
        caption: str = "",
        *,
        name: str = "",
        sentence: str = "",
        fold: bool = False,
        **shown: Any,
    ) -> None:
        """Put a part on the page: its figure if it has one of its own, its sentence, and its table under a fold.

        Parameters
        ----------
        what : Part or matplotlib Axes
            A part of a study; or axes that the researcher drew, with the `table` and the `sentence` that go with them.
            Or a frame by itself; None for a part that these ratings do not allow, of which nothing is shown.
        table : polars or pandas frame, or str, optional
            In place of the part's own; of the same items. A name shows a further table of the part by itself.
        caption : str
            Heading of the table; by default the part's.
        name : str
            Under which values and figure are kept; by default the part's, and one made of the caption.
        fold : bool
            Let all of it stand under a fold that bears the caption.
        **shown
            What the part's `plot` takes, such as ``measure="consensus"``.

        Raises
        ------
        InputError
            The name is taken, or is none.
        """
        if what is None:
            return
        part = what if isinstance(what, Part) else None
        behind = None if part is None else part.behind if table is None or not isinstance(part.behind, Sequence) else ()
        formats = part.formats if part is not None else {}
        of_ratings, made_up = part is None or part.of_ratings, part is not None and part.made_up
        if isinstance(table, str):  # shown as a frame, but it is known what its rows are of
            what, table, part = getattr(what, table), None, None
        alone = part is None and not hasattr(what, "get_figure")
        frame: Any = what if alone else part.table if part is not None and table is None else table
        caption = caption or (part.caption if part is not None else "")
        name = name or (part.name if part is not None else self._made_name(caption))
        if part is None and frame is not None:
            frame = as_polars(frame)
        if part is not None or frame is not None:
            self.record(name, part if part is not None else frame)
        if alone and fold and not len(frame):
            return  # a fold of nothing
        statistic, axis = part.declared if part is not None else ("", None)
        known: Any = {"of_ratings": of_ratings, "statistic": statistic, "axis": axis}
        self._shows = getattr(part, "_shows", "")
        self._made_up = _MADE_UP if made_up and not self.scope.short_banner else ""
        with self._gathered(caption or name.replace("_", " ").capitalize(), fold):
            if not alone and (part is None or type(part).plot is not Part.plot):  # rows with intervals are the table's
                drawn: Any = part.plot(**shown) if part is not None else what
                alt = "" if part is not None else caption
                self.figure(name, drawn, alt=alt, behind=behind if isinstance(behind, Mapping) else None, **known)
            self.say(sentence or (part.answer if part is not None else ""))
            if frame is not None and len(frame):
                formats = {column: how for column, how in formats.items() if column in frame.columns}
                self._folded = not fold
                self.table(frame, caption=caption, formats=formats, behind=behind, **known)
                self._folded = False
            elif alone:
                self._show_nothing(f"No table here, as it would have no rows: {literal(caption)}.")

    @contextmanager
    def _gathered(self, head: str, fold: bool) -> Iterator[None]:
        """What is shown meanwhile as outputs of one fold; in a notebook as one output."""
        self._outputs = []
        try:
            yield
        finally:
            outputs, self._outputs = self._outputs, None
        if self._folder is None:
            whole = "".join(_as_html(bundle, about) for bundle, about in outputs)
            markup = f"<details><summary>{html.escape(head)}</summary>{whole}</details>" if fold else whole
            text = "\n".join(bundle["text/plain"] for bundle, _ in outputs)
            _show({"text/html": f"{_THEMED}<div class=axisjudge-part>{markup}</div>", "text/plain": text})
            return
        if fold:
            opened = f"<details>\n<summary>{html.escape(head)}</summary>"
            _show({"text/html": "", "text/plain": head, MARKDOWN_MIME: opened}, {ABOUT: {"opens": head}})
        for bundle, about in outputs:
            _show(bundle, about)
        if fold:
            _show({"text/html": "", "text/plain": "", MARKDOWN_MIME: "</details>"}, {ABOUT: {"closes": True}})

    def _explorer_in_notebook(self, ratings: Any, runs: list[Trajectory]) -> None:
        from IPython.display import display

        from axisjudge.explorer.grid_widget import explorer_in_a_fold

        bundle: dict[str, Any] = explorer_in_a_fold(ratings, runs)._repr_mimebundle_() or {}
        display(bundle | {"text/plain": "Explorer: run this cell again to open it."}, raw=True)  # type: ignore[no-untyped-call]

    def note(self, statistic: str = "", axis: str | None = None) -> str | None:
        """The warnings in short, for figures and tables.

        On held-out data whatever does not show the declared `statistic` (on a declared `axis`) is exploratory.
        """
        made_up = self.scope.short_banner or self._made_up
        warnings = [each for each in (self.standing.label(statistic, axis), made_up) if each]
        return "; ".join(warnings).capitalize() or None

    def record(self, name: str, value: Value) -> Value:
        """Keep `value` in results.json under `name` and return it.

        NaN and infinities become null; a result that knows why says so in a field of its own.
        """
        self._claim(name, self.results)
        self.results[name] = plain(value, name)
        self._results_json[name] = dumps(self.results[name])
        self._save()
        return value

    def figure(
        self,
        name: str,
        drawn: Axes | Figure,
        *,
        alt: str = "",
        of_ratings: bool = True,
        statistic: str = "",
        axis: str | None = None,
        behind: Mapping[str, str] | None = None,
    ) -> None:
        """Save a figure as figures/`name`.png, .svg and .pdf, with the banner drawn on it if there is one, and show it.

        `alt` says what it shows; by default the title of the first axes. With the first sentence that the cell says of
        it, and with how it is read (`axisjudge.figures.theme.describe`), it is the caption in a report, and the text
        for those who cannot see the figure. `of_ratings` is False for a figure that shows none of the page's ratings
        (published counts, say), which the banner does not concern.
        `statistic`, `axis` and `behind` are as in `table`: what it shows, and which items it draws.
        """
        import matplotlib.pyplot as plt

        figure: Any = drawn.get_figure(root=True)
        self._claim(name, self.figures)
        caption = alt or title_of_figure(figure) or name.replace("_", " ").capitalize()
        if is_empty(figure):
            plt.close(figure)
            self._show_nothing(f"No figure here, as nothing can be computed of these ratings: {literal(caption)}.")
            return
        note = self.note(statistic, axis) if of_ratings else None
        kinds = KINDS if self._folder else ("png",)
        pictures = dict(zip(kinds, drawn_bytes(figure, note, *kinds), strict=True))
        if self._folder:
            folder = self._folder / "figures"
            folder.mkdir(exist_ok=True)
            for kind, picture in pictures.items():
                (folder / f"{name}.{kind}").write_bytes(picture)
        reading = spoken(reading_of(figure))
        phone = narrow(figure, note, "png", PHONE) if self._folder and width_of(pictures["png"]) > 96 * PHONE else None
        plt.close(figure)
        if not self.figures and not of_ratings:
            self._leads = self._shows
        if name not in self.figures:
            self.figures.append(name)
        self._save()
        about = {"is": "figure", "name": name, "number": self.figures.index(name) + 1, "caption": caption}
        about["reading"], about["of_ratings"] = reading, of_ratings
        about["shows"] = "" if of_ratings else self._shows
        about["phone"] = base64.b64encode(phone).decode() if phone else None
        about["items"] = self.links.of_figure(behind or {}) if of_ratings else None
        self._display(
            {
                "image/png": base64.b64encode(pictures["png"]).decode(),
                "text/plain": f"Figure {about['number']}. {caption}",
                MARKDOWN_MIME: f"![{literal(caption)}](figures/{name}.png)",
            },
            {"image/png": {"width": width_of(pictures["png"]), "alt": caption}, ABOUT: about},
        )

    def table(
        self,
        frame: Any,
        *,
        caption: str = "",
        formats: Mapping[str, str] | None = None,
        of_ratings: bool = True,
        statistic: str = "",
        axis: str | None = None,
        behind: Mapping[str, str] | Sequence[Mapping[str, str]] | None = (),
    ) -> None:
        """Show a table.

        Parameters
        ----------
        frame : polars or pandas frame, or list of dict
            What to show; text in it is escaped.
        caption : str
            Its heading.
        formats : mapping of column to format, optional
            Python format specifications such as ``.2f`` or ``.0%``; floats have two digits by default.
        of_ratings : bool
            False for a table that shows none of the page's ratings, which the banner does not concern.
        statistic, axis : str, optional
            What the table shows and nothing else. On held-out data a table bears the word exploratory unless the
            analysis plan declares this.
        behind : filters of the explorer, or such for each row, optional
            The items of the table's rows beyond what their columns say: `Links.of_row`. None where it is not known what
            rows count: they lead to runs that they name.
        """
        table, formats = as_polars(frame), formats or {}
        if table.is_empty():
            self._show_nothing(f"No table here, as it would have no rows: {literal(caption or self.name)}.")
            return
        if unknown := set(formats) - set(table.columns):
            raise InputError("formats", f"columns are {', '.join(table.columns)}", sorted(unknown))
        note = self.note(statistic, axis) if of_ratings else None
        name, number = self._table_name(caption)
        head = f"Table {number}. {caption}" if caption else f"Table {number}."
        if self._folder:
            write_table(self._folder / "tables", name, table, caption or self.name)
        whole = f"tables/{name}.csv" if self._folder else None
        links = self.links if of_ratings or behind else NO_LINKS
        shown = html_table(table, formats, head, note, links=links, behind=behind, whole=whole)
        markdown = markdown_table(table, formats, head, note, whole=whole)
        if is_sortable(table):
            self._sorted = self._sorted or name
            shown = shown if self._folder else in_notebook(shown, f"Table {number}", first=name == self._sorted)
        about: dict[str, Any] = {
            "is": "table",
            "name": name,
            "number": number,
            "caption": caption,
            "rows": table.height,
        }
        if self._folded:
            about["folded"] = f"{head} ({many(table.height, 'row')})"
            shown = (
                shown
                if self._folder
                else f"<details><summary>{html.escape(about['folded'])}</summary>{shown}</details>"
            )
            markdown = f"<details>\n<summary>{html.escape(about['folded'])}</summary>\n\n{markdown}\n\n</details>"
        self._display(
            {
                "text/html": shown,
                "text/plain": f"{head} ({table.height} rows x {table.width} columns)",
                MARKDOWN_MIME: markdown,
            },
            {ABOUT: about},
        )

    def _table_name(self, caption: str) -> tuple[str, int]:
        """The name of a table's files and its number; in JupyterLab a cell that runs again keeps both."""
        name = slug(caption)[:60].strip("-") or "table"
        if self._folder:
            taken = len([each for each in self.tables if re.fullmatch(rf"{name}(-\d+)?", each)])
            name = f"{name}-{taken + 1}" if taken else name
        if name not in self.tables:
            self.tables.append(name)
        return name, self.tables.index(name) + 1

    def show(self, view: View) -> None:
        """Show something that is neither a figure nor a table, such as a `TracePage`: HTML here, markdown in report.md.

        What it holds must be escaped by the view; a report takes out of the HTML whatever could act.
        """
        _show({"text/html": view.to_html(), "text/plain": type(view).__name__, MARKDOWN_MIME: view.to_markdown()})

    def say(self, sentence: str) -> None:
        """Show a computed sentence as prose; ``**bold**`` and `code` work, HTML and all other markdown do not.

        The first one after a figure stands for the report on the front page of all reports.
        """
        if not (sentence := spoken(sentence)).strip():
            return
        flat = " ".join(sentence.split())
        text = html.escape(flat, quote=False)
        text = _MARKUP.sub(lambda match: match[0] if match[0][0] == "`" else f"\\{match[0]}", text)
        self.findings.append(re.sub(r"\*\*|`", "", flat))
        if self.figures and not self.finding:
            self.finding = self.findings[-1]
        self._save()
        self._display({"text/markdown": text, "text/plain": sentence, MARKDOWN_MIME: text}, {ABOUT: {"is": "sentence"}})

    def _display(self, bundle: dict[str, str], metadata: dict[str, Any] | None = None) -> None:
        """Show an output, or keep it for the part that is being added."""
        if self._outputs is None:
            _show(bundle, metadata)
        else:
            self._outputs.append((bundle, metadata or {}))

    def _show_nothing(self, why: str) -> None:
        """A line in place of a figure or a table that would be empty."""
        bundle = {"text/markdown": why, "text/plain": why, MARKDOWN_MIME: why}
        self._display(bundle, {ABOUT: {"is": "sentence", "missing": True}})

    def _made_name(self, caption: str) -> str:
        """A name made of a caption, in plain letters; in a report run one that nothing has yet."""
        letters = unicodedata.normalize("NFKD", caption).encode("ascii", "ignore").decode()
        name = made = slug(letters).replace("-", "_")[:60].strip("_") or "figure"
        for number in itertools.count(2):
            if not self._folder or (name not in self.results and name not in self.figures):
                break
            name = f"{made}_{number}"
        return name

    def _claim(self, name: str, taken: Iterable[str]) -> None:
        """Check a name; in a report run each is used once, in JupyterLab a cell may run again."""
        if not re.fullmatch(r"[a-z0-9][a-z0-9_]*", name):
            raise InputError("name", "must be lower-case letters, digits and underscores", name)
        if self._folder and name in taken:
            raise InputError(f"page {self.name}", "each name is used once", name, "choose another name")

    def _save(self) -> None:
        if self._folder is None:
            return
        facts = {key: reached(self, path) for key, path in _FACTS.items()}
        facts |= {"read": read_so_far(), "secrets": dict(self.secrets)}
        notes = {"answer": self.answer_text, "next_step": self.next_step, "leads": self._leads}
        notes |= {"retirement": self.scope.retirement, "injection": self.scope.injection}
        facts |= {name: note for name, note in notes.items() if note}
        if self.standing.matters:
            facts["standing"] = self.standing.to_dict()
            facts["declared"] = [each.to_dict() for each in self.declared]
        results = ",".join(f"{dumps(name)}:{text}" for name, text in self._results_json.items())
        text = f'{{"results": {{{results}}},{dumps(facts).removeprefix("{")}'
        (self._folder / PAGE_FILE).write_text(text, encoding="utf-8")


def _staging(name: str) -> Path | None:
    named = os.environ.get(REPORT_DIR)
    if not named:
        return None
    folder = Path(named)
    if not folder.is_dir():
        raise InputError(REPORT_DIR, "must be the staging folder of a report run", cure="unset it in JupyterLab")
    if folder.name != name:
        raise InputError("Page", f"must bear the notebook's name, {folder.name}", name)
    return folder


def _as_html(bundle: dict[str, str], about: dict[str, Any]) -> str:
    """An output of a part as HTML, for the one output that a notebook shows of it."""
    if picture := bundle.get("image/png"):
        known = about["image/png"]
        alt = html.escape(known["alt"])
        return f'<img width="{known["width"]}" alt="{alt}" src="data:image/png;base64,{picture}">'
    if markup := bundle.get("text/html"):
        return markup
    text = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", bundle["text/markdown"])
    text = re.sub(r"(?<!\\)`([^`]+)`", r"<code>\1</code>", text)
    text = re.sub(r"\\([^\w\s]|_)", r"\1", text)  # as `literal` and `Page.say` write them
    return f"<p>{text}</p>"


def _plain_frames() -> None:
    """In a notebook let frames at the end of a cell show three digits, no types and no shape."""
    if _in_notebook():
        pl.Config.set_tbl_hide_dataframe_shape(True)
        pl.Config.set_tbl_hide_column_data_types(True)
        pl.Config.set_float_precision(3)
        if pandas := sys.modules.get("pandas"):
            pandas.set_option("display.html.use_mathjax", False)
            pandas.set_option("display.precision", 3)
            pandas.set_option("display.show_dimensions", False)


def _in_notebook() -> bool:
    """Whether a kernel runs this, whose front end can show a widget."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and hasattr(shell, "kernel")


def _show(bundle: dict[str, str], metadata: dict[str, Any] | None = None) -> None:
    from IPython.display import display

    is_way = (metadata or {}).get(ABOUT, {}).get("is") == "way"  # whose links are markdown
    if REPORT_DIR not in os.environ and bundle.keys() & {"text/html", "text/markdown"} and not is_way:
        bundle = {"text/html": untypeset(_as_html(bundle, metadata or {})), "text/plain": bundle["text/plain"]}
    display(bundle, metadata=metadata or {}, raw=True)  # type: ignore[no-untyped-call]
