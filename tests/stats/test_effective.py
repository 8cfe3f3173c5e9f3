"""Effective number of judges: known correlations, label error, and the refusal without labels."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from axisjudge.checks import InputError
from axisjudge.stats.agreement.effective import effective_judges, leave_out, majority_accuracy


def panel(n, k, rng, *, shared=0.0, accuracy=0.8):
    """Judges that copy one common error draw with probability sqrt(shared), so that errors correlate at `shared`."""
    truth = (rng.random(n) < 0.5).astype(float)
    common = rng.random((n, 1)) < accuracy
    own = rng.random((n, k)) < accuracy
    right = np.where(rng.random((n, k)) < math.sqrt(shared), common, own)
    return np.where(right, truth[:, None], 1 - truth[:, None]), truth


@pytest.mark.parametrize("shared", [0.0, 0.3, 0.7])
def test_known_correlation_of_errors(shared):
    found = effective_judges(*panel(60_000, 5, np.random.default_rng(1), shared=shared))
    assert found.n_effective.estimate == pytest.approx(5 / (1 + 4 * shared), rel=0.05)
    assert found.rho[0, 1] == pytest.approx(shared, abs=0.03)


def test_copies_are_one_judge():
    verdicts, truth = panel(400, 1, np.random.default_rng(2))
    found = effective_judges(np.repeat(verdicts, 4, axis=1), truth)
    assert found.n_effective.estimate == pytest.approx(1)
    assert "identical" in found.n_effective.reason


def test_label_error_makes_independent_judges_look_alike_and_the_band_shows_it():
    """Six independent judges with 10% wrong labels look like about two (spec: 2.03), and the band at .1 mends it."""
    rng = np.random.default_rng(3)
    verdicts, truth = panel(100_000, 6, rng, accuracy=0.9)
    noisy = np.where(rng.random(truth.size) < 0.1, 1 - truth, truth)
    found = effective_judges(verdicts, noisy, label_errors=(0.0, 0.1))
    assert found.n_effective.estimate == pytest.approx(2.03, abs=0.15)
    assert found.by_label_error[1][1] == pytest.approx(6, rel=0.1)


def test_without_labels_it_refuses():
    with pytest.raises(InputError, match="against labels only"):
        effective_judges([[0.0, 1.0]], None)


def test_residuals_from_the_panels_mean_correlate_by_construction():
    """Why it refuses: -1/(k-1) for any judges whatever."""
    verdicts, _ = panel(20_000, 4, np.random.default_rng(4), shared=0.5)
    residual = verdicts - verdicts.mean(axis=1, keepdims=True)
    assert np.corrcoef(residual.T)[np.triu_indices(4, 1)].mean() == pytest.approx(-1 / 3, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("n_clusters", "size"), [(50, 4), (200, 1)])
def test_the_interval_covers(n_clusters, size):
    rng = np.random.default_rng([n_clusters, size])
    clusters = np.repeat(np.arange(n_clusters), size)

    def sample(groups):
        hard = 0.5 * rng.standard_normal(groups.max() + 1)[groups][:, None]
        item = 0.7 * rng.standard_normal((groups.size, 1))
        right = hard + item + rng.standard_normal((groups.size, 4)) > -0.8
        truth = (rng.random(groups.size) < 0.5).astype(float)
        return np.where(right, truth[:, None], 1 - truth[:, None]), truth

    truth = effective_judges(*sample(np.arange(300_000))).n_effective.estimate
    hits = []
    for _ in range(600):
        found = effective_judges(*sample(clusters), clusters=clusters).n_effective
        hits.append(found.ci_low <= truth <= found.ci_high)
    assert np.mean(hits) >= 0.93


def test_majority_and_best_single_judge():
    truth = np.array([1.0, 1.0, 0.0, 0.0])
    verdicts = np.array([[1, 1, 0], [1, 0, 0], [0, 1, math.nan], [0, 0, 0.0]])
    assert majority_accuracy(verdicts, truth) == (1 + 0 + 0.5 + 1) / 4
    found = effective_judges(verdicts, truth)
    assert found.accuracy == pytest.approx([1, 0.5, 1 / 3])
    assert found.best_single == 1
    assert found.n_effective.n_missing == 1


def test_a_judge_of_few_errors_has_no_interval_and_words_that_could_be_said_count():
    labels = np.arange(120) % 2
    wrong = np.array([np.arange(120) < 9, np.arange(120) % 4 < 2]).T
    ratings = np.where(wrong, 1 - labels[:, None], labels[:, None]).astype(float)
    few = effective_judges(ratings, labels, clusters=np.arange(120) // 4)
    assert few.n_effective.reason == "a judge with 9 errors has too few for an interval (10 or more)"
    declared = [
        effective_judges(ratings, labels, categories=c, label_errors=[0.02]).by_label_error
        for c in (None, [0, 1, 2, 3])
    ]
    assert declared[0] != declared[1]


def test_leaving_out_a_judge_or_a_family():
    verdicts, truth = panel(2000, 2, np.random.default_rng(5))
    verdicts = np.column_stack([verdicts, verdicts[:, 1], verdicts[:, 1]])  # the second judge three times
    by_judge = {each.left_out: each for each in leave_out(verdicts, truth, ["a", "b1", "b2", "b3"])}
    assert by_judge["b1"].n_judges == 3
    by_family = {each.left_out: each for each in leave_out(verdicts, truth, ["a", "b", "b", "b"])}
    assert by_family["b"].n_effective == 1
    assert by_family["a"].n_effective == pytest.approx(1)
    assert by_judge["b1"].n_effective > by_family["a"].n_effective


def test_a_perfect_judge_has_no_errors_to_correlate():
    truth = np.array([0.0, 1.0] * 20)
    found = effective_judges(np.column_stack([truth, truth]), truth)
    assert "no two judges" in found.n_effective.reason
    assert math.isnan(found.n_effective.estimate)


def test_agentprocessbench(shared_data):
    """20 judges of 6 families on tau2 are worth about 2.3 independent ones (spec: 2.27)."""
    folder = shared_data / "agentprocessbench"
    people = {
        run["record_id"]: run
        for run in map(json.loads, (folder / "human" / "tau2_final.jsonl").read_text().splitlines())
    }
    steps = [(name, step) for name, run in people.items() for step in run["step_labels"]]
    labels = [people[name]["step_labels"][step] for name, step in steps]
    clusters = [f"{people[name]['data_source']} {people[name]['query_index']}" for name, _ in steps]
    columns = []
    for judge in sorted((folder / "judges").iterdir()):
        lines = (judge / "tau2.jsonl").read_text().splitlines()
        said = {run["record_id"]: run["step_labels"] or {} for run in map(json.loads, lines)}
        columns.append([said.get(name, {}).get(step) for name, step in steps])
    found = effective_judges(np.array(columns, dtype=float).T, labels, clusters=clusters, cluster_unit="query")
    assert found.n_effective.estimate == pytest.approx(2.27, abs=0.01)
    assert found.n_effective.n_clusters == 50
    assert found.majority < found.best_single


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: effective_judges([[1.0]], [1.0]), "two judges or more"),
        (lambda: effective_judges([[1.0, 0.0]], [1.0, 0.0]), "labels: needs one entry for each"),
        (lambda: effective_judges([[1.0, 0.0]], [1.0], label_errors=[0.6]), r"\[0, 0.5\)"),
        (lambda: leave_out([[1.0, 0.0]], [1.0], ["a"]), "names: needs one entry for each"),
    ],
)
def test_messages(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.slow
@pytest.mark.parametrize("q", [2, 3, 5])
def test_label_error_is_taken_back_with_any_number_of_categories(q):
    """Six independent judges with a tenth of the labels wrong are six; with three categories 4.06 came out, with five
    3.62, when the formula for two was used. A word that no label has (an undecided judge) is among the verdicts."""
    rng = np.random.default_rng(q)
    truth = rng.integers(0, q, 200_000)

    def with_errors(words):
        return np.where(rng.random(words.shape) < 0.1, (words + rng.integers(1, q, words.shape)) % q, words)

    verdicts = with_errors(np.repeat(truth[:, None], 6, axis=1)).astype(float)
    verdicts[rng.random(verdicts.shape) < 0.05] = q
    found = effective_judges(verdicts, with_errors(truth).astype(float), label_errors=(0.0, 0.1))
    assert found.n_effective.estimate < 3
    assert found.by_label_error[1][1] == pytest.approx(6, abs=0.4)


def test_errors_that_exclude_each_other_are_no_number_of_judges_and_say_so():
    found = effective_judges(np.array([[0, 1.0], [1, 0]] * 40), np.zeros(80))
    assert math.isnan(found.n_effective.estimate)
    assert "exclude each other" in found.n_effective.reason


def test_every_share_has_its_base_and_ties_are_counted():
    verdicts = np.array([[0, 0, 1], [0, 1, math.nan], [1, 1, 0], [math.nan] * 3, [0, 0, 0]], dtype=float)
    found = effective_judges(verdicts, np.array([0, 0, 0, 0, math.nan]))
    assert (found.n_majority, found.n_tied, found.n_answered) == (3, 1, (3, 3, 2))
    assert found.majority == pytest.approx((1 + 0.5 + 0) / 3)


@pytest.mark.parametrize("k", [2, 3])
def test_the_interval_leaves_whole_clusters_out(k):
    """Jackknife of mean rho on Fisher's z, t on half of the fewest errors (or clusters less one), then k / (1 + ..)."""
    rng, clusters = np.random.default_rng(7), np.repeat(np.arange(25), 4)
    truth = rng.integers(0, 2, 100)
    hard = (rng.random(25) < 0.3)[clusters][:, None]
    verdicts = np.where(rng.random((100, k)) < 0.1 + 0.3 * hard, 1 - truth[:, None], truth[:, None]).astype(float)
    verdicts[3, 1] = math.nan

    def z_of(kept):
        rho = effective_judges(verdicts[kept], truth[kept]).by_label_error[0][2]
        return math.atanh(rho)

    z = np.array([z_of(clusters != one) for one in range(25)])
    error = math.sqrt(24 / 25 * ((z - z.mean()) ** 2).sum())
    n_errors = (verdicts != truth[:, None])[~np.isnan(verdicts).any(axis=1)].sum(axis=0).min()
    for level in (0.95, 0.8):
        found = effective_judges(verdicts, truth, clusters=clusters, ci_level=level).n_effective
        t = stats.t.ppf((1 + level) / 2, min(n_errors, 24) / 2)
        ends = [k / (1 + (k - 1) * math.tanh(z_of(clusters >= 0) + sign * t * error)) for sign in (1, -1)]
        assert (found.ci_low, found.ci_high) == pytest.approx(tuple(ends))
    fewer = effective_judges(verdicts[4:], truth[4:], clusters=clusters[4:]).n_effective
    assert "24 clusters" in fewer.reason


@pytest.mark.parametrize(("q", "undecided"), [(2, 0), (3, 0), (3, 0.1)])
def test_label_error_is_taken_back_without_a_rest_from_a_whole_population(q, undecided):
    """All combinations of truth, label and two independent verdicts, as often as their probability: rho is 0 then."""
    wrong = (0.2 - undecided / 2) / (q - 1)
    said = np.full((q, q + 1), wrong) + (1 - undecided - wrong * q) * np.eye(q, q + 1)
    said[:, q] = undecided
    label = np.full((q, q), 0.1 / (q - 1)) + (0.9 - 0.1 / (q - 1)) * np.eye(q)
    times = np.einsum("tl,ta,tb->tlab", label, said, said)
    counts = np.round(times / times[times > 0].min() * 2).astype(int).ravel()
    _, labels, first, second = np.indices(times.shape).reshape(4, -1)
    rows = np.repeat(np.arange(counts.size), counts)
    verdicts = np.stack([first, second], axis=1)[rows].astype(float)
    found = effective_judges(verdicts, labels[rows], label_errors=(0.0, 0.1))
    (_, apparent, rho), (_, judges, none) = found.by_label_error
    assert (apparent < 1.9, rho > 0.05) == (True, True)
    assert (judges, none) == (pytest.approx(2, abs=0.01), pytest.approx(0, abs=0.005))
