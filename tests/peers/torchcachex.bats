#!/usr/bin/env bats
# Caches of torchcachex: what the original wrote elsewhere, with a manifest of what each must read back
# as; and what pyarrow writes by its rules, and makes by them of what we write.

load ../bats/helper

setup() {
    cd "$BATS_TEST_TMPDIR" || return
}

need_fixtures() {
    cd "$PROJECT" || return
    [[ -e $FIXTURES/torchcachex.jsonl ]] || skip "no fixtures at $FIXTURES"
    cp -a "$(realpath "$FIXTURES")"/torchcachex "$BATS_TEST_TMPDIR"/caches
    cp "$FIXTURES"/torchcachex.jsonl "$BATS_TEST_TMPDIR"
    cd "$BATS_TEST_TMPDIR" || return
    chmod -R u+w .
    rows theirs >wanted
    [[ -s wanted ]]
}

need_pyarrow() {
    [[ -e $PEERS/pyarrow-26.0.1/ready ]] || skip "no pyarrow here"
}

peer() {
    "$PEERS/pyarrow-26.0.1/bin/python" "$PROJECT/tests/peers/torchcachex.py" "$@"
}

# A line for each value, sorted: `rows theirs`, of the manifest, or `rows ours CACHE...`, as ls and cat
# give them. BLOBS=no: without the bytes of blobs, of which the manifest says nothing.
rows() {
    python3 - "$SHARDBOX" "$@" <<'EOF_PYTHON' | LC_ALL=C sort
import hashlib, json, os, struct, subprocess, sys
program, whose, caches = sys.argv[1], sys.argv[2], sys.argv[3:]
def run(*words, **options):
    return subprocess.run([program, *words], stdout=subprocess.PIPE, check=True, **options).stdout
def tell(cache, key, name, dtype, shape, sha256):
    print(json.dumps(dict(cache=cache, key=key, name=name, dtype=dtype, shape=shape, sha256=sha256), sort_keys=True))
def ours(cache):
    listed = [json.loads(line) for line in run("ls", "--json", cache).splitlines()]
    keys = "".join(row["key"] + "\0" for row in listed).encode()
    frames, at = run("cat", "--raw", "--frame=u32", "-0", "-T", "-", cache, input=keys), 0
    for row in listed:
        for array in row["arrays"]:
            (size,) = struct.unpack_from("<I", frames, at)
            data, at = frames[at + 4:at + 4 + size], at + 4 + size
            blob = array["dtype"] == "blob" and os.environ.get("BLOBS") == "no"
            tell(os.path.basename(cache), row["key"], array.get("name", ""), array["dtype"], array.get("shape"),
                 None if blob else hashlib.sha256(data).hexdigest())
    assert at == len(frames)
for cache in caches:
    ours(cache)
for line in open("torchcachex.jsonl") if whose == "theirs" else []:
    row = json.loads(line)
    name = "" if row["cache"].startswith("t_") else row["name"]
    tell(row["cache"], row["key"], name, row.get("dtype", "blob"), row.get("shape"), row.get("sha256"))
EOF_PYTHON
}

@test "every value of the manifest reads back, also by way of an archive and of other caches" {
    need_fixtures
    export BLOBS=no
    rows ours caches/* | diff wanted -
    mkdir by-archive compact
    for cache in caches/*; do
        name=${cache##*/}
        run_ok sb convert -q "$cache" "$name.barecat"
        run_ok sb convert -q --to=cache "$name.barecat" "by-archive/$name"
        run_ok sb convert -q --compact "$cache" "compact/$name"
    done
    rows ours by-archive/* | diff wanted -
    rows ours compact/* | diff wanted -
}

@test "each of them is found by its keys, one by one" {
    need_fixtures
    run_ok python3 -c 'import hashlib, json, subprocess, sys
for line in open("torchcachex.jsonl"):
    row = json.loads(line)
    if "sha256" not in row: continue
    key = row["key"] if row["cache"].startswith("t_") else row["key"] + "/" + row["name"]
    data = subprocess.run([sys.argv[1], "cat", "--raw", "caches/" + row["cache"], key], stdout=subprocess.PIPE, check=True).stdout
    assert hashlib.sha256(data).hexdigest() == row["sha256"] and len(data) == row["size"], row' "$SHARDBOX"
}

@test "verify finds the one left-over of them, and --repair puts it right, and an index that is missing" {
    need_fixtures
    run_fail 1 sb verify -q caches
    output_is 'leftover: dicts/segments/segment_000099.arrow.tmp: was never finished: its writer was interrupted, or is at work'
    run_ok sb verify --repair --force caches
    run_ok sb verify -q caches
    output_is ''
    run_ok python3 -c 'import pickle
assert pickle.load(open("caches/tuples/index.pkl", "rb")) == {f"tuples:{i}": (0, i) for i in range(4)}'
}

@test "what pyarrow writes by the rules of the original reads back: types, structures, keys written again" {
    need_pyarrow
    peer write caches | LC_ALL=C sort >wanted
    (($(wc -l <wanted) > 100))
    rows ours caches/* | diff wanted -
    run_ok sb verify -q caches
    output_is ''
}

@test "its indexes, spoiled and repaired, are what the segments say to pyarrow" {
    need_pyarrow
    peer write caches | LC_ALL=C sort >wanted
    for cache in caches/*; do
        head -c 20 "$cache/index.pkl" >cut && mv cut "$cache/index.pkl"
    done
    rows ours caches/* | diff wanted -
    run_ok sb verify -q --repair --force caches
    run_ok sb verify -q caches
    peer read caches/* | LC_ALL=C sort | diff wanted -
}

@test "what we write is read by those rules: made of files, compacted, added to" {
    need_pyarrow
    peer write caches | LC_ALL=C sort >wanted
    mkdir compact by-archive
    for cache in caches/*; do
        name=${cache##*/} sequence=--sequence=tuple
        [[ $name != list ]] || sequence=--sequence=list
        run_ok sb convert -q --compact "$cache" "compact/$name"
        [[ $name != names ]] || continue # ../x is no name for an archive
        run_ok sb convert -q "$cache" "$name.barecat"
        run_ok sb convert -q --to=cache "$sequence" "$name.barecat" "by-archive/$name"
    done
    peer read compact/* | LC_ALL=C sort | diff wanted -
    peer read by-archive/* | LC_ALL=C sort | diff <(grep -v '"cache": "names"' wanted) -
    run_ok sb convert -q --append caches/again compact/again
    peer read compact/again | LC_ALL=C sort | diff <(grep '"cache": "again"' wanted) -
}
