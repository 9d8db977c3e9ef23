#!/usr/bin/env bats
# Archives that Barecat wrote elsewhere, with a manifest of what each must read back as.

load ../bats/helper

setup() {
    cd "$PROJECT" || return
    [[ -e $FIXTURES/barecat.jsonl ]] || skip "no fixtures at $FIXTURES"
    cp -a "$(realpath "$FIXTURES")"/barecat "$BATS_TEST_TMPDIR"/archives
    cp "$FIXTURES/barecat.jsonl" "$BATS_TEST_TMPDIR"
    cd "$BATS_TEST_TMPDIR" || return
    chmod -R u+w .
}

# The manifest against what cat gives; prints each path that differs.
compare() {
    python3 - "$SHARDBOX" <<'EOF_PYTHON'
import hashlib, json, subprocess, sys
failed = count = 0
for line in open("barecat.jsonl"):
    row = json.loads(line)
    run = subprocess.run([sys.argv[1], "cat", "archives/" + row["archive"], "--", row["path"]],
                         stdout=subprocess.PIPE)
    good = (run.returncode == 0 and len(run.stdout) == row["size"]
            and hashlib.sha256(run.stdout).hexdigest() == row["sha256"])
    count += 1
    if not good:
        failed += 1
        print(row["archive"], row["path"], run.returncode)
sys.exit(failed != 0 or count == 0)
EOF_PYTHON
}

each_archive() {
    python3 -c 'import json; print("\n".join(sorted({json.loads(line)["archive"] for line in open("barecat.jsonl")})))'
}

@test "every file of the manifest reads back" {
    run_ok compare
}

@test "every archive verifies, and lists exactly the files of the manifest" {
    for archive in $(each_archive); do
        run_ok sb verify "archives/$archive"
        sb find --type=f "archives/$archive" | sort >ours
        python3 -c 'import json, sys
for line in open("barecat.jsonl"):
    row = json.loads(line)
    if row["archive"] == sys.argv[1]: print(row["path"])' "$archive" | sort >theirs
        diff ours theirs
    done
}

@test "every archive is upgraded, added to, and reads back" {
    mkdir more
    printf 'more\n' >more/added-by-us
    for archive in $(each_archive); do
        run_ok sb upgrade --checksums "archives/$archive"
        run_ok sb pack --append "archives/$archive" -C more .
        run_ok sb verify --strict "archives/$archive"
    done
    run_ok compare
}
