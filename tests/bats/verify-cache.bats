#!/usr/bin/env bats
# shardbox verify of torchcachex caches, and --repair

load helper
load cache

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir in
    (cd in && make_dicts k && mv k ..)
    age
}

# Files that were written an hour ago.
age() {
    find "${1:-k}" -type f -exec touch -d '1 hour ago' {} +
}

# put FILE OLD NEW: replaces bytes, given as Python, that stand there once.
put() {
    python3 - "$@" <<'END'
import struct, sys
file, old, new = sys.argv[1], eval(sys.argv[2]), eval(sys.argv[3])
data = open(file, 'rb').read()
assert data.count(old) == 1, data.count(old)
open(file, 'wb').write(data.replace(old, new))
END
}

# write_index DICT: index.pkl of k, as Python writes it.
write_index() {
    python3 -c "import pickle; pickle.dump($1, open('k/index.pkl', 'wb'))"
}

index_is() {
    [[ $(python3 -c 'import pickle; print(pickle.load(open("k/index.pkl", "rb")))') == "$1" ]]
}

sound="{'k/2': (0, 0), 'k:0': (0, 1), 'k:1': (1, 0)}"
unproved='a cache has no checksums: a byte of a value that has changed cannot be seen'

@test "a sound cache: what that does not mean is said once, and -v tells what there is" {
    run_ok sb verify k
    output_is ''
    stderr_is "shardbox verify: k: segments are sound, and all values can be read; $unproved"
    run_ok sb verify -v k
    stderr_has 'k: 3 keys in 2 segments ('
    stderr_has '); 1 row is superseded'
    run_ok sb verify -q k/
    stderr_is ''
}

@test "neither index.pkl nor schema.json must be there; torchcachex needs the latter" {
    rm k/index.pkl k/schema.json
    run_ok sb verify k
    output_is ''
    stderr_has 'k: has no schema.json, without which torchcachex cannot read it'
}

@test "a segment that cannot be read is named, and the others are verified" {
    truncate -s 700 k/segments/segment_000000.arrow
    run_fail 1 sb verify k
    output_has 'damaged: segments/segment_000000.arrow: '
    output_has 'stale: index.pkl: '
    stderr_has "2 defects; --repair puts some of it right, and 'shardbox convert --compact' writes what is sound to a new cache"
    run_fail 1 sb verify --repair --force k
    stderr_has '1 of 2 defects put right'
    stderr_has "1 defect remains; 'shardbox convert --compact' writes what is sound to a new cache"
    index_is "{'k:1': (1, 0)}"
    run_fail 1 sb convert --compact --to=cache k new
    run_ok sb verify new
    [[ $(sb ls --count new) == 1 ]]
}

@test "lists and shapes that do not agree are named by their key, but not under --quick" {
    make_tensors t
    put t/segments/segment_000000.arrow "struct.pack('<3q', 2, 1, 3)" "struct.pack('<3q', 2, 1, 4)"
    run_fail 1 sb verify t
    [[ $output == 'value: t:1: '* && ${#lines[@]} == 1 ]] || fail 'not one value'
    stderr_is "shardbox verify: t: 1 defect; 'shardbox convert --compact' writes what is sound to a new cache"
    run_ok sb verify --quick t
    [[ -z $output$stderr ]]
    run_ok sb verify -v --quick t
    stderr_has 'shardbox verify: t: keys, schema and index are sound; --quick has read no values'
}

@test "offsets that lead out of a column are named by their key" {
    make_tensors t
    put t/segments/segment_000000.arrow "struct.pack('<3i', 0, 2, 5)" "struct.pack('<3i', 0, 2, 6)"
    run_fail 1 sb verify t
    output_has 'value: t:1: '
    output_lacks t:0
}

@test "schema.json is held against each segment: names, types, structure, tensors" {
    cp k/schema.json schema.json
    sed -i 's/emb_/amb_/' k/schema.json
    run_fail 1 sb verify k
    output_is "schema: segments/segment_000000.arrow: has no column 'amb_data', which schema.json has
schema: segments/segment_000001.arrow: has no column 'amb_data', which schema.json has"
    stderr_has "2 defects; 'shardbox convert --compact' writes"
    sed 's/list<float>/list<double>/' schema.json >k/schema.json
    run_fail 1 sb verify k
    output_has "has the column 'emb_data' as list<float32>, which schema.json has as list<double>"
    sed 's/"dict"/"tuple"/' schema.json >k/schema.json
    run_fail 1 sb verify k
    output_has 'holds values that are a dict, but output_structure of schema.json is tuple'
    jq '.metadata.tensor_keys = "[\"emb\"]"' schema.json >k/schema.json
    run_fail 1 sb verify k
    output_has "'mask' is a tensor, but tensor_keys of schema.json says otherwise"
    jq '.fields += [{"name": "x_blob", "type": "binary"}]' schema.json >k/schema.json
    run_fail 1 sb verify k
    output_has "has no column 'x_blob', which schema.json has"
    jq '.fields |= reverse | .fields[].type |= sub("list<"; "list<item: ")' schema.json >k/schema.json
    run_ok sb verify k
}

@test "a schema.json that is none is a defect of its own, and segments are held against the first" {
    printf '{"fields": [' >k/schema.json
    run_fail 1 sb verify k
    [[ $output == 'schema: schema.json: is no JSON that a cache has'* && ${#lines[@]} == 1 ]] || fail 'not one'
    head -c 2000000 /dev/zero >k/schema.json
    run_fail 1 sb verify k
    output_is 'schema: schema.json: is larger than any that a cache has'
    rm k/schema.json
    mkfifo k/schema.json
    run_fail 1 within 10 "$SHARDBOX" verify k
    output_is 'schema: schema.json: is not a regular file'
    make_tensors t
    rm k/schema.json
    mv t/segments/segment_000000.arrow k/segments/segment_000002.arrow
    run_fail 1 sb verify k
    output_has "schema: segments/segment_000002.arrow: has a column 'data', which segments/segment_000000.arrow has not"
}

@test "an index.pkl that does not lead to each key where it counts is stale" {
    write_index "{'k/2': (0, 0), 'k:0': (0, 1)}"
    run_fail 1 sb verify k
    output_is 'stale: index.pkl: 1 of 3 keys of the segments is not in it, or not where they count'
    stderr_is 'shardbox verify: k: 1 defect; --repair puts this right'
    write_index "{'k/2': (0, 0), 'k:0': (0, 1), 'k:1': (0, 2)}"
    run_fail 1 sb verify k
    output_is "stale: index.pkl: 1 of its keys is not where it says, the first one 'k:1'; 1 of 3 keys of the segments is not in it, or not where they count"
    write_index "{'k/2': (0, 0), 'k:0': (0, 1), 'k:1': (1, 0), 'gone': (7, 2**40)}"
    run_fail 1 sb verify k
    output_is "stale: index.pkl: 1 of its keys is not where it says, the first one 'gone'"
    : >k/index.pkl
    run_fail 1 sb verify k
    output_has 'stale: index.pkl: '
    ln -sf index.pkl k/index.pkl
    run_fail 1 sb verify k
    output_is 'stale: index.pkl: cannot be read: Too many levels of symbolic links'
    rm k/index.pkl
    write_index "{'k:1': (1, 0), 'k/2': (0, 0), 'k:0': (0, 1)}"
    run_ok sb verify k
}

# write_items KEY SEGMENT ROW ...: index.pkl of k, in which a key may stand twice.
write_items() {
    python3 - "$@" <<'END'
import struct, sys
out = b'\x80\x02}'
for key, segment, row in zip(*[iter(sys.argv[1:])] * 3):
    out += b'X' + struct.pack('<I', len(key)) + key.encode() + bytes([75, int(segment), 75, int(row)]) + b'\x86s'
open('k/index.pkl', 'wb').write(out + b'.')
END
}

@test "of a key that stands in index.pkl twice the last place counts, as to Python" {
    write_items k:1 0 2 k:0 0 1 k:1 1 0 k/2 0 0
    index_is "{'k:1': (1, 0), 'k:0': (0, 1), 'k/2': (0, 0)}"
    run_ok sb verify k
    write_items k:1 1 0 k:0 0 1 k:1 0 2 k/2 0 0
    index_is "{'k:1': (0, 2), 'k:0': (0, 1), 'k/2': (0, 0)}"
    run_fail 1 sb verify k
    output_is "stale: index.pkl: 1 of its keys is not where it says, the first one 'k:1'"
}

@test "a pickle that would run a program is not executed, but stale" {
    python3 -c 'import os, pickle
class Evil:
    def __reduce__(self): return (os.system, ("touch executed",))
pickle.dump({"k:0": Evil()}, open("k/index.pkl", "wb"))'
    run_fail 1 sb verify k
    output_has 'stale: index.pkl: '
    run_ok sb verify --repair --force k
    index_is "$sound"
    [[ ! -e executed ]]
}

@test "left-overs are named, and other files that lie there are not" {
    : >k/segments/segment_000099.arrow.tmp
    : >k/index.pkl.tmp
    : >k/.shardbox-0123456789abcdef
    : >k/notes.tmp
    : >k/segments/README
    run_fail 1 sb verify k
    output_is 'leftover: .shardbox-0123456789abcdef: was never finished: its writer was interrupted, or is at work
leftover: index.pkl.tmp: was never finished: its writer was interrupted, or is at work
leftover: segments/segment_000099.arrow.tmp: was never finished: its writer was interrupted, or is at work'
    age
    run_ok sb verify --repair k
    [[ $(find k -type f -printf '%P\n' | sort) == 'index.pkl
notes.tmp
schema.json
segments/README
segments/segment_000000.arrow
segments/segment_000001.arrow' ]]
}

@test "--repair writes the index anew and removes left-overs; one line says so" {
    write_index '{}'
    : >k/segments/segment_000002.arrow.tmp
    chmod 640 k/index.pkl
    age
    run_ok sb verify --repair k
    stderr_is 'shardbox verify: k: 2 defects were put right'
    index_is "$sound"
    [[ $(stat -c %a k/index.pkl) == 640 && ! -e k/segments/segment_000002.arrow.tmp ]]
    run_ok sb verify --repair -v k
    stderr_lacks 'was written'
}

@test "--repair makes no index without the keys of a segment that may not be read" {
    local plainly=()
    ((EUID != 0)) || plainly=(setpriv '--bounding-set=-dac_override,-dac_read_search')
    write_index '{}'
    chmod 000 k/segments/segment_000001.arrow
    run_fail 2 "${plainly[@]}" "$SHARDBOX" verify --repair --force k
    stderr_has "k/segments/segment_000001.arrow: cannot be read, and index.pkl would be without its keys: Permission denied"
    index_is '{}'
    chmod 600 k/segments/segment_000001.arrow
    run_ok sb verify --repair --force k
    index_is "$sound"
}

@test "--repair leaves a cache alone whose newest file is young, or in the future, without --force" {
    write_index '{}'
    run_fail 1 sb verify --repair k
    [[ $stderr == 'shardbox verify: k: index.pkl was written '*' ago, so that its job may be running: nothing was repaired; wait until it is older than --min-age (600 s), or give --force'* ]]
    stderr_has 'k: 1 defect; verify it again when its job has ended'
    index_is '{}'
    age
    run_fail 1 sb verify --repair --min-age=2h k
    stderr_has '(7200 s)'
    touch -d '1 hour' k/segments/segment_000000.arrow
    run_fail 1 sb verify --repair --min-age=1s k
    stderr_has 'segments/segment_000000.arrow has a time in the future'
    index_is '{}'
    run_ok sb verify --repair --force k
    index_is "$sound"
}

@test "--repair writes an index that is not there, but not beside a job" {
    rm k/index.pkl
    touch k/schema.json
    run_ok sb verify --repair k
    [[ ! -e k/index.pkl ]]
    age
    run_ok sb verify --repair -v k
    stderr_has 'index.pkl: written anew'
    index_is "$sound"
}

@test "--dry-run prints what would be repaired" {
    write_index '{}'
    : >k/index.pkl.tmp
    age
    run_fail 1 sb verify --repair -n k
    output_is $'k/index.pkl\nk/index.pkl.tmp'
    stderr_has '2 of 2 defects can be put right; nothing was written (--dry-run)'
    index_is '{}'
    [[ -e k/index.pkl.tmp ]]
}

@test "two repairs at once leave a sound cache, and nothing beside it" {
    local first
    write_index '{}'
    : >k/segments/segment_000002.arrow.tmp
    sb verify -q --repair --force k >/dev/null 2>&1 &
    first=$!
    run sb verify -q --repair --force k
    wait $first || true
    run_ok sb verify -q k
    output_is ''
    [[ $(find k -type f | wc -l) == 4 ]]
}

@test "--repair waits for no other writer: while one has the lock, nothing is repaired" {
    write_index '{}'
    run_fail 1 python3 -c 'import fcntl, subprocess, sys
lock = open(".k.shardbox-lock", "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
sys.exit(subprocess.call(sys.argv[1:]))' "$SHARDBOX" verify --repair --force k
    stderr_has 'k: another process, perhaps on another machine, is writing it; wait for it, or give --wait; nothing was repaired'
    index_is '{}'
    run_ok sb verify --repair --force k
    index_is "$sound"
    [[ ! -e .k.shardbox-lock ]]
}

@test "an index.pkl that is no file is not written to" {
    rm k/index.pkl
    mkfifo k/index.pkl
    run_fail 2 within 10 "$SHARDBOX" verify --repair --force k
    stderr_has 'k/index.pkl: is not a regular file; remove it'
}

@test "of a directory of caches each is verified, and repaired" {
    mkdir caches
    mv k caches/k
    (cd in && make_tensors t)
    mv in/t caches
    run_ok sb verify -v caches
    stderr_has 'caches: 5 keys in 3 segments ('
    : >caches/t/index.pkl.tmp
    truncate -s 700 caches/k/segments/segment_000001.arrow
    age caches
    run_fail 1 sb verify --repair caches
    output_has 'damaged: k/segments/segment_000001.arrow: '
    output_has 'leftover: t/index.pkl.tmp: '
    stderr_has '2 of 3 defects put right'
    [[ ! -e caches/t/index.pkl.tmp ]]
    mkdir empty
    run_fail 2 sb verify --from=cache empty
}

@test "--json, --report and --prom have it as of any container" {
    write_index '{}'
    run_fail 1 sb verify --json k
    [[ $(jq -cr '[.kind, .path, .container, .defects, .segments, .rows, .keys, .repaired]' <<<"$output") == \
        '["stale","index.pkl",null,null,null,null,null,null]
["summary",null,"cache",1,2,4,3,0]' ]]
    age
    run_ok sb verify --repair --report=report --prom=prom k
    output_is ''
    stderr_is 'shardbox verify: k: 1 defect was put right'
    [[ $(jq -cr 'select(.kind == "summary") | [.container, .status, .errors.stale, .keys, .repaired]' report) == \
        '["cache",0,1,3,1]' ]]
    grep -q '^shardbox_verify_errors{archive="'"$PWD"'/k",kind="stale"} 1$' prom
    grep -q '^shardbox_verify_files{archive="'"$PWD"'/k"} 3$' prom
}

@test "--strict: that there are no checksums is a defect" {
    run_fail 1 sb verify --strict k
    output_is "unchecked: $unproved"
    stderr_has "an archive has checksums: 'shardbox convert' makes one of it"
}

@test "options and names that mean nothing for a cache are refused, and those of caches elsewhere" {
    for option in --subset=1/2 --present --repair-from=x --repair-to=x.bag --records=1 --max-time=1h; do
        run_fail 2 sb verify "$option" k
        stderr_is "shardbox verify: k: is a cache, which is verified without ${option%%=*}"
    done
    run_fail 2 sb verify k k:0
    stderr_is 'shardbox verify: k: is a cache, which is verified as a whole'
    run_fail 2 sb verify --min-age=1h k
    stderr_is 'shardbox verify: k: of a cache, --min-age goes with --repair'
    run_fail 2 sb verify --repair --min-age=old k
    stderr_is "shardbox verify: --min-age: 'old' is no time, such as 10m or 2h"
    tar -cf a.tar k
    run_fail 2 sb verify --min-age=1h a.tar
    stderr_is 'shardbox verify: a.tar: --min-age is for caches'
}

@test "what is bad in some caches and good in others is said of each" {
    mkdir caches
    mv k caches/k
    mkdir -p caches/z/segments caches/none
    printf 'no Arrow file' >caches/z/segments/segment_000000.arrow
    run_fail 1 sb verify caches
    [[ $output == 'damaged: z/segments/segment_000000.arrow: '* && ${#lines[@]} == 1 ]] || fail 'not one'
}
