#!/usr/bin/env bats
# Syrah files: what the original wrote elsewhere, with a manifest of what each must read back as; and
# what NumPy and bson 0.5.10 write, and make of what we write.

load ../bats/helper

setup() {
    cd "$BATS_TEST_TMPDIR" || return
}

need_bson() {
    [[ -e $PEERS/bson-0.5.10/ready ]] || skip "no bson and NumPy here"
}

need_fixtures() {
    cd "$PROJECT" || return
    [[ -e $FIXTURES/syrah.jsonl ]] || skip "no fixtures at $FIXTURES"
    cp -a "$(realpath "$FIXTURES")"/syrah "$FIXTURES"/syrah.jsonl "$BATS_TEST_TMPDIR"
    cd "$BATS_TEST_TMPDIR" || return
    chmod -R u+w .
}

peer() {
    "$PEERS/bson-0.5.10/bin/python" "$PROJECT/tests/peers/syrah.py" "$@"
}

# The manifest of a file as ls and cat give it: ours FILE [OPTION of cat]...
ours() {
    python3 - "$SHARDBOX" "$@" <<'EOF_PYTHON'
import hashlib, json, struct, subprocess, sys
program, path, options = sys.argv[1], sys.argv[2], sys.argv[3:]
def run(*words):
    return subprocess.run([program, *words], stdout=subprocess.PIPE, check=True).stdout
rows = [json.loads(line) for line in run("ls", "--json", path).splitlines()]
frames, at = run("cat", "--frame=u32", *options, path), 0
for row in rows:
    (size,) = struct.unpack_from("<I", frames, at)
    print(json.dumps({"item": row["item"], "array": row["array"], "dtype": row["dtype"], "size": row["bytes"],
                      "sha256": hashlib.sha256(frames[at + 4:at + 4 + size]).hexdigest()}))
    at += 4 + size
assert at == len(frames)
EOF_PYTHON
}

# The manifest of the fixtures, of one of their files.
theirs() {
    python3 -c 'import json, sys
for line in open("syrah.jsonl"):
    row = json.loads(line)
    if row.pop("file") == sys.argv[1] and "error" not in row: print(json.dumps(row))' "$1"
}

fixture_files() {
    python3 -c 'import json
print("\n".join(sorted({row["file"] for row in map(json.loads, open("syrah.jsonl")) if "error" not in row})))'
}

@test "every array of the manifest reads back, through every form" {
    need_fixtures
    for file in $(fixture_files); do
        theirs "$file" >wanted
        [[ -s wanted ]]
        ours "syrah/$file" | diff wanted -
        run_ok sb verify "syrah/$file"
        run_ok sb convert -q "syrah/$file" "$file.barecat"
        run_ok sb convert -q "$file.barecat" copy.syr --force
        ours copy.syr | sort | diff <(sort wanted) -
    done
}

@test "a file of the manifest that was never closed is named for what it is" {
    need_fixtures
    for command in ls cat du verify; do
        run_fail 2 sb $command syrah/unclosed.syr
        stderr_has 'never closed'
    done
}

@test "what NumPy and bson write reads back: all types, empty arrays, texts" {
    need_bson
    peer write a.syr >wanted
    (($(wc -l <wanted) == 30 * 15)) || fail 'as many arrays'
    ours a.syr | diff wanted -
    ours a.syr -j4 | diff wanted -
    run_ok sb verify a.syr
    run_ok sb ls --count a.syr
    output_is 30
}

@test "arrays as .npy are byte for byte what NumPy saves" {
    need_bson
    peer write a.syr >/dev/null
    mkdir by-cat
    sb cat --npy --frame=tar a.syr | tar xC by-cat
    run_ok peer npy a.syr by-cat
    run_ok sb convert -q a.syr by-convert/
    run_ok peer npy a.syr by-convert
}

@test "what we write is read by NumPy and bson: copied, from an archive, from files that NumPy saved" {
    need_bson
    peer write a.syr >wanted
    run_ok sb convert -q a.syr copy.syr
    peer read copy.syr | diff wanted -
    run_ok sb convert -q a.syr a.barecat
    run_ok sb convert -q a.barecat from-archive.syr
    peer read from-archive.syr | sort | diff <(sort wanted) -
    peer save a.syr saved
    run_ok sb convert -q saved from-files.syr
    peer read from-files.syr | sort | diff <(sort wanted) -
    run_ok sb verify from-files.syr
}

@test "an archive over the arrays in place has their values" {
    need_bson
    peer write a.syr >wanted
    run_ok sb convert -q --wrap a.syr a.barecat
    run_ok sb cat a.barecat 00000007/float32s.float32
    sb cat a.barecat 00000007/float32s.float32 | cmp - <(sb cat a.syr 7/float32s)
    run_ok sb verify a.barecat
}
