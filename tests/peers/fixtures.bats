#!/usr/bin/env bats
# Archives that Barecat, and bags that Bagz wrote elsewhere, with a manifest of what each must read
# back as.

load ../bats/helper

setup() {
    cd "$PROJECT" || return
    [[ -e $FIXTURES/barecat.jsonl ]] || skip "no fixtures at $FIXTURES"
    cp -a "$(realpath "$FIXTURES")"/barecat "$BATS_TEST_TMPDIR"/archives
    cp -a "$(realpath "$FIXTURES")"/bagz "$BATS_TEST_TMPDIR"/bags
    cp "$FIXTURES"/{barecat,bagz}.jsonl "$BATS_TEST_TMPDIR"
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

# The manifest of the bags against what a command gives of them, framed: compare_bags COMMAND... is
# called with the options that a bag needs, and its spec. Prints each record that differs.
compare_bags() {
    python3 - "$@" <<'EOF_PYTHON'
import hashlib, json, struct, subprocess, sys
failed = count = 0
for line in open("bagz.jsonl"):
    row = json.loads(line)
    options = [f"--{name}={row[name]}" for name in ("limits", "layout", "compression") if name in row]
    if "dictionary" in row:
        options.append("--dictionary=bags/" + row["dictionary"])
    if not row["spec"].endswith((".bag", ".bagz")):
        options.append("--from=bag")
    run = subprocess.run(sys.argv[1:] + options + ["bags/" + row["spec"]], stdout=subprocess.PIPE)
    sums, at = [], 0
    while at + 4 <= len(run.stdout):
        (size,) = struct.unpack_from("<I", run.stdout, at)
        sums.append(hashlib.sha256(run.stdout[at + 4:at + 4 + size]).hexdigest())
        at += 4 + size
    good = run.returncode == 0 and sums == row["sha256"] and len(sums) == row["count"]
    count += 1
    if not good:
        failed += 1
        print(row["spec"], run.returncode, [i for i, (a, b) in enumerate(zip(sums, row["sha256"])) if a != b])
sys.exit(failed != 0 or count == 0)
EOF_PYTHON
}

@test "every record of every bag of the manifest reads back" {
    run_ok compare_bags "$SHARDBOX" cat --frame=u32
}

# of_inputs WORD...: options of a bag that is read as those that convert has for its inputs.
of_inputs() {
    words=("${@/#--/--from-}")
    words=("${words[@]/#--from-from=/--from=}")
}

through_a_bag() {
    local words
    of_inputs "$@"
    rm -f copy.bagz
    "$SHARDBOX" convert "${words[@]}" copy.bagz && "$SHARDBOX" cat --frame=u32 copy.bagz
}

through_an_archive() {
    local words
    of_inputs "$@"
    rm -f copy.*
    "$SHARDBOX" convert "${words[@]}" copy.barecat && "$SHARDBOX" convert copy.barecat copy.bag &&
        "$SHARDBOX" cat --frame=u32 copy.bag
}

@test "every bag of the manifest is verified, and reads back by way of another bag and an archive" {
    run_ok compare_bags bash -c '"$0" verify "$@" && exec "$0" cat --frame=u32 "$@"' "$SHARDBOX"
    export -f of_inputs through_a_bag through_an_archive
    run_ok compare_bags bash -c 'through_a_bag "$@"' through
    run_ok compare_bags bash -c 'through_an_archive "$@"' through
}
