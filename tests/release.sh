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


def licence(made):
    """What a distribution states; where it states nothing the first line of its licence file."""
    stated = [made.metadata.get("License-Expression"), made.metadata.get("License")]
    stated[1:1] = [c.split(" :: ")[-1] for c in made.metadata.get_all("Classifier", []) if c.startswith("License ::")][:1]
    texts = [made.locate_file(file) for file in made.files or [] if file.name.upper().startswith("LICEN")]
    lines = [line for each in [*filter(None, stated), *(path.read_text() for path in texts)] for line in each.splitlines()]
    return next((line.strip() for line in lines if line.strip()), "not stated")


for row in sorted({(each.metadata["Name"], each.version, licence(each)) for each in distributions()}):
    print(*row, sep="\t")
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
