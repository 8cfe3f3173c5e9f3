#!/bin/sh
# make release: builds wheel and sdist, and tries both in an empty environment of each Python that is on this machine.
set -eu
uv=$1
root=$PWD
out=$root/build/release
rm -rf "$out" && mkdir -p "$out"
.venv/bin/python -m hatchling build -d "$out" >/dev/null 2>&1
.venv/bin/python - >"$out/licences.tsv" <<'PY'
from importlib.metadata import distributions
for name, version, licence in sorted({
    (d.metadata["Name"], d.version, d.metadata.get("License-Expression") or next(
        (c.split(" :: ")[-1] for c in d.metadata.get_all("Classifier", []) if c.startswith("License ::")),
        (d.metadata.get("License") or "not stated").splitlines()[0]))
    for d in distributions()
}):
    print(name, version, licence, sep="\t")
PY
for version in 3.11 3.12 3.13 3.14; do
    python=$("$uv" python find --no-python-downloads --system "$version" 2>/dev/null) || { echo "$version: not here"; continue; }
    for built in "$out"/*.whl "$out"/*.tar.gz; do
        place=$(mktemp -d)
        "$uv" --quiet venv --python "$python" "$place/env"
        VIRTUAL_ENV=$place/env "$uv" --quiet pip sync --require-hashes "$root/requirements.lock"
        VIRTUAL_ENV=$place/env "$uv" --quiet pip install --no-deps --no-build-isolation "$built"
        (
            cd "$place"
            PATH=$place/env/bin:$PATH
            unset PYTHONPATH AXISJUDGE_HOME VIRTUAL_ENV
            axisjudge demo >demo.txt
            axisjudge init bench --demo >init.txt
            cd bench
            axisjudge judge data/demo/results --judge rules >/dev/null
            axisjudge judge data/demo/results --judge simulated:wren >/dev/null
            axisjudge report failures -p ratings=data/ratings/ratings.jsonl -p trajectories=data/demo/results >/dev/null
            test -s reports/05_failures/report.html
            printf 'id,judge,person\n' >t.csv
            for n in $(seq 40); do echo "$n,$([ $((n % 4)) = 0 ] && echo fail || echo pass),$([ $((n % 5)) = 0 ] && echo fail || echo pass)"; done >>t.csv
            axisjudge check t.csv --judge judge --human person >/dev/null
        )
        echo "$version: $(basename "$built"): demo, init, judge, report, check"
        rm -rf "$place"
    done
done
