# shardbox convert: torchcachex caches as output, of directories of arrays and of caches.

load helper

# make_files FILE...: FILE is PATH=TYPE:SHAPE:VALUES for a .npy, or PATH=BYTES for any other.
make_files() {
    python3 - "$@" <<'END'
import os, struct, sys
for word in sys.argv[1:]:
    path, _, value = word.partition('=')
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    data = value.encode()
    if path.endswith('.npy') and value.count(':') == 2:
        kind, shape, values = value.split(':')
        shape = tuple(int(n) for n in shape.split(',') if n)
        head = "{'descr': '%s', 'fortran_order': False, 'shape': %r, }" % (kind, shape)
        head += ' ' * (-(len(head) + 11) % 64) + '\n'
        code = {'f4': 'f', 'f8': 'd', 'f2': 'e', 'i8': 'q', 'i4': 'i', 'u2': 'H', 'b1': '?'}
        form = code.get(kind[1:])
        numbers = [float(n) if 'f' in kind else int(n) for n in values.split()] if form else []
        data = b'\x93NUMPY\1\0' + struct.pack('<H', len(head)) + head.encode()
        data += struct.pack('<%d%s' % (len(numbers), form), *numbers) if form else values.encode()
    open(path, 'wb').write(data)
END
}

# Leaves tree: dicts of two tensors and a pickle, for the cache m.
make_tree() {
    local files=() i
    for i in 0 1 2 3 4; do
        files+=("tree/m:$i/emb.npy=<f4:2,2:$i 1 2 3" "tree/m:$i/ids.npy=<i8:$i:$(seq -s ' ' "$i")"
            "tree/m:$i/meta.pkl=pickle $i")
    done
    make_files "${files[@]}"
}

# holds CACHE TREE [PREFIX]: whether each array of the tree is the cache's, byte for byte.
holds() {
    local file name
    while read -r -d '' file; do
        name=${file%.*}
        sb cat --npy "$1" "${3-}$name" | cmp - "$2/$file" || return
    done < <(find "$2" -type f -printf '%P\0')
}

# told TEXT: what was said, but that shapes and names are lost.
told() {
    [[ $(grep -v 'are not held by a cache; ' <<<"$stderr") == "$1" ]] || fail "was not told: $1"
}

# there DIRECTORY...: the names in each, sorted, but for what bats itself has there.
there() {
    find "$@" -mindepth 1 -maxdepth 1 ! -name 'separate-stderr-*' -printf '%p ' | tr ' ' '\n' |
        sort | tr '\n' ' ' | sed 's/^ //; s,\./,,g'
}

# keys CACHE: what its index.pkl says, as Python reads it.
keys() {
    python3 -c 'import pickle, sys
for key, (segment, row) in pickle.load(open(sys.argv[1] + "/index.pkl", "rb")).items():
    print(key, segment, row)' "$1"
}

@test "directories of arrays become keys with dicts; index and schema are as the original's" {
    make_tree
    run_ok sb convert --to=cache tree m
    output_is ""
    told ""
    holds m tree
    run_ok keys m
    output_is "$(for i in 0 1 2 3 4; do echo "m:$i 0 $i"; done)"
    [[ $(there .) == 'm tree ' ]]
    [[ $(there m m/segments) == \
        'm/index.pkl m/schema.json m/segments m/segments/segment_000000.arrow ' ]]
    python3 -c 'import json
schema = json.load(open("m/schema.json"))
print([(field["name"], field["type"]) for field in schema["fields"]])
print(schema["metadata"], schema["output_structure"])' >schema
    cat >wanted <<'END'
[('key', 'string'), ('emb_data', 'list<float>'), ('emb_shape', 'list<int64>'), ('ids_data', 'list<int64>'), ('ids_shape', 'list<int64>'), ('meta_blob', 'binary')]
{'tensor_keys': '["emb", "ids"]'} dict
END
    cmp schema wanted
}

# bats test_tags=threads
@test "an archive, a tar and a directory make the same cache, on any number of threads" {
    make_tree
    sb convert tree a.barecat
    sb convert --to=tar tree a.tar
    mkdir 1 2 3
    sb convert -j1 --to=cache tree 1/m
    sb convert -j3 --to=cache a.barecat 2/m
    sb convert --to=cache a.tar 3/m
    diff -r 1/m 2/m
    diff -r 1/m 3/m
}

@test "item0, item1, ... are a tuple in the order of their numbers, or a list" {
    local files=() i
    for i in {0..11}; do files+=("tree/t:0/item$i.npy=<i8::$i"); done
    make_files "${files[@]}"
    sb convert --to=cache tree t
    holds t tree
    grep -q '"output_structure": "tuple"' t/schema.json
    [[ $(grep -o 'item[0-9]*_data' t/schema.json | tr '\n' ' ') == \
        "$(printf 'item%d_data ' {0..11})" ]]
    sb convert --force --to=cache --sequence=list tree t
    grep -q '"output_structure": "list"' t/schema.json
    mkdir to
    sb convert --to=cache t to/t
    cmp t/schema.json to/t/schema.json
    sb convert --force --to=cache --sequence=tuple t to/t
    grep -q '"output_structure": "tuple"' to/t/schema.json
}

@test "a file outside of a directory is a key alone: a tensor, or a pickled object" {
    make_files 'tensors/x:a.npy=|b1:3:1 0 1' 'tensors/x:b.npy=|b1:0:' 'blobs/x:a.pkl=any bytes'
    sb convert --to=cache tensors x
    grep -q '"torch_dtype": "torch.bool"' x/schema.json
    holds x tensors
    sb convert --force --to=cache blobs x
    grep -q '"output_structure": "blob"' x/schema.json
    holds x blobs
}

@test "keys that the cache of that name would not look for are counted; --key-prefix mends it" {
    make_files 'tree/a/x.npy=<f4:1:1' 'tree/b/x.npy=<f4:1:2'
    run_ok sb convert --to=cache tree m
    told "shardbox convert: m: keys that do not begin with 'm:', and which a cache of that name does not look for: 2; 'convert --key-prefix=m:' puts it before all"
    run_ok sb convert --force --to=cache --key-prefix=m: tree m
    told ""
    holds m tree m:
    run_ok sb convert --force --to=cache --key-prefix=n:/ m n
    told ""
    holds n tree n:/m:
}

@test "the first key sets the schema: one that differs is named, and nothing is written" {
    make_files 'tree/m:0/x.npy=<f4:1:1' 'tree/m:0/y.npy=<f4:1:1' 'tree/m:1/x.npy=<f4:1:2'
    run_fail 2 sb convert --to=cache tree m
    told "shardbox convert: m:1: has no 'y', which the first key has; all keys of a cache have the same arrays, which come one after the other"
    [[ $(there .) == 'tree ' ]]
    make_files 'tree/m:1/y.npy=<f8:1:1'
    run_fail 2 sb convert --to=cache tree m
    told "shardbox convert: m:1: 'y' is float64, where the first key has float32; all keys of a cache have the same types"
    make_files 'tree/m:1/y.npy=<f4:1:1' 'tree/m:1/z.pkl=z'
    run_fail 2 sb convert --to=cache tree m
    stderr_has "m:1: has 'z', which the first key has not"
    run_ok sb convert --to=cache --exclude='**/z.pkl' tree m
    told ""
}

@test "types that the format does not have are refused" {
    make_files "a/m:0/x.npy=<f16:1:0123456789abcdef" "b/m:0/x.npy=<c8:1:01234567" \
        'c/m:0/x.npy=<f4:1:1' 'c/m:0/x.pkl=twice'
    run_fail 2 sb convert --to=cache a m
    told "shardbox convert: m:0: 'x' is of type float128, which a cache cannot hold; leave it out with --exclude, or make it of another type"
    run_fail 2 sb convert --to=cache b m
    stderr_has "m:0/x.npy: "
    stderr_has "c8"
    stderr_has "m: is not written, for no key can be used as a whole"
    run_fail 2 sb convert --to=cache c m
    told "shardbox convert: m:0: has 'x' twice; leave one of them out"
    printf 'x' >$'c/m:0/\xff.pkl'
    run_fail 2 sb convert --to=cache --exclude='**/x.*' c m
    stderr_has "is not UTF-8, which a cache cannot hold"
    [[ ! -e m ]]
}

@test "what is no array is left out, and so is a key of which something cannot be read" {
    make_files 'tree/m:0/x.npy=<f4:1:1' 'tree/m:1/x.npy=<f4:2:1' 'tree/m:2/x.npy=no array' \
        'tree/m:3/x.npy=<f4:1:3' 'tree/m:3/readme=text' 'tree/m:4/x.npy=>f4:1:4'
    run_fail 1 sb convert --to=cache tree m
    stderr_has "m:1/x.npy: has 4 bytes of values, where its shape says 8"
    stderr_has "m:1: is left out, for not all of it can be used"
    stderr_has "m:2: is left out, for not all of it can be used"
    stderr_has "m:4/x.npy: has big-endian values"
    stderr_has "m:4: is left out, for not all of it can be used"
    stderr_has "m:3/readme: is no .npy or .pkl, which is all that a cache can hold; left out"
    [[ $(keys m) == $'m:0 0 0\nm:3 0 1' ]]
    run_fail 2 sb convert --strict --force --to=cache tree m
    [[ $(keys m) == $'m:0 0 0\nm:3 0 1' ]]
    run_fail 2 sb convert --force --to=cache --exclude='m:[03]/**' tree m
    stderr_has "tree: nothing of it could be read; m is left as it is"
    run_fail 2 sb convert --to=cache --exclude='m:[03]/**' tree n
    stderr_has "n: is not written, for no key can be used as a whole"
    [[ ! -e n ]]
    [[ $(keys m) == $'m:0 0 0\nm:3 0 1' ]]
}

# shorten_shapes FILE: where shapes are 2, 3 and 5, that of the second is made wrong.
shorten_shapes() {
    python3 - "$1" <<'END'
import struct, sys
data = open(sys.argv[1], 'rb').read()
shapes = struct.pack('<3q', 2, 3, 5)
assert data.count(shapes) == 1
open(sys.argv[1], 'wb').write(data.replace(shapes, struct.pack('<3q', 2, 4, 5)))
END
}

@test "a key of a cache with a damaged value is left out of what wants all arrays, and nothing else is" {
    make_files 'tree/m:0/x.npy=<f4:2:1 2' 'tree/m:1/x.npy=<f4:3:1 2 3' 'tree/m:2/x.npy=<f4:5:1 2 3 4 5' \
        'tree/m:0/y.npy=<f4:1:1' 'tree/m:1/y.npy=<f4:1:1' 'tree/m:2/y.npy=<f4:1:1'
    sb convert --to=cache tree m
    shorten_shapes m/segments/segment_000000.arrow
    run_fail 1 sb convert --to=cache --exclude=none m new
    stderr_has "m: key 'm:1': "
    [[ $(keys new) == $'m:0 0 0\nm:2 0 1' ]]
    run_fail 1 sb convert m new.syr
    [[ $(sb ls --count new.syr) == 2 ]]
    run_fail 1 sb convert --to=dir m out
    [[ ! -e out/m:1/x.npy ]]
    cmp out/m:1/y.npy tree/m:1/y.npy
}

@test "--segment-size ends a segment before it passes SIZE; a row alone may be larger" {
    make_tree
    sb convert --to=cache --segment-size=120 tree m
    [[ $(keys m | cut -d' ' -f2 | uniq -c | awk '{print $1}' | tr '\n' ' ') == "3 2 " ]]
    sb convert --force --to=cache --segment-size=1 tree m
    [[ $(ls m/segments | wc -l) == 5 ]]
    holds m tree
}

@test "a value that is larger than memory holds goes through temporary files" {
    python3 - <<'END'
import os, struct
os.makedirs('tree/m:0')
count = 3 << 20
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % count
head += ' ' * (-(len(head) + 11) % 64) + '\n'
with open('tree/m:0/x.npy', 'wb') as f:
    f.write(b'\x93NUMPY\1\0' + struct.pack('<H', len(head)) + head.encode() + bytes(range(256)) * (count // 64))
END
    sb convert --to=cache tree m
    holds m tree
    sb convert --to=tar tree - | sb convert --to=cache --force - m
    holds m tree
}

@test "caches are joined: of a key that several have the last counts" {
    make_tree
    make_files 'late/m:1/emb.npy=<f4:1:9' 'late/m:1/ids.npy=<i8:0:' 'late/m:1/meta.pkl=late'
    sb convert --to=cache tree m
    mkdir rank joined
    sb convert --to=cache late rank/m
    run_ok sb convert --to=cache m rank/m joined/m
    told ""
    holds joined/m late
    [[ $(sb ls joined/m | wc -l) == 5 ]]
    [[ $(sb ls -a joined/m 2>/dev/null | wc -l) != 4 ]]
    run_ok sb convert -v --force --compact m rank/m joined/m
    stderr_has "joined/m: stored 5 keys ("
    holds joined/m late
    [[ $(keys joined/m | sort) == $'m:0 0 0\nm:1 0 4\nm:2 0 1\nm:3 0 2\nm:4 0 3' ]]
    sb convert --to=cache --array=emb --array=meta m part
    [[ $(sb cat part m:2/meta) == "pickle 2" ]]
    run_fail 2 sb convert --to=cache --force --array=none m part
    stderr_has "has no array 'none'"
}

@test "--append adds segments and leaves what stands; the index knows both" {
    make_tree
    mkdir first
    mv tree/m:[01] first
    make_files 'again/m:0/meta.pkl=new' 'again/m:0/emb.npy=<f4:1:7' 'again/m:0/ids.npy=<i8:0:'
    sb convert --to=cache first m
    cp -r m old
    run_ok sb convert --append tree m
    told ""
    cmp m/segments/segment_000000.arrow old/segments/segment_000000.arrow
    holds m first
    holds m tree
    [[ $(keys m) == $'m:0 0 0\nm:1 0 1\nm:2 1 0\nm:3 1 1\nm:4 1 2' ]]
    run_ok sb convert --append again m
    holds m again
    [[ $(keys m | grep m:0) == 'm:0 2 0' ]]
    make_files 'other/m:9/x.npy=<f4:1:1'
    run_fail 2 sb convert --append other m
    stderr_has "m:9: has no 'emb', which the first key has"
    [[ $(ls m/segments | wc -l) == 3 ]]
    run_ok sb convert --to=cache --append other new
    [[ $(there .) == 'again first m new old other tree ' ]]
}

@test "--append to a cache whose index does not know every segment makes it anew" {
    make_tree
    sb convert --to=cache --segment-size=1 tree m
    cp m/index.pkl stale
    make_files 'a/m:a/emb.npy=<f4:1:1' 'a/m:a/ids.npy=<i8:0:' 'a/m:a/meta.pkl=a' \
        'b/m:b/emb.npy=<f4:1:1' 'b/m:b/ids.npy=<i8:0:' 'b/m:b/meta.pkl=b'
    sb convert --append a m
    for spoil in 'cp stale m/index.pkl' 'rm m/index.pkl' 'echo x >m/index.pkl'; do
        eval "$spoil"
        run_ok sb convert --append b m
        [[ $(keys m | cut -d' ' -f1 | tr '\n' ' ') == 'm:0 m:1 m:2 m:3 m:4 m:a m:b ' ]]
    done
}

@test "an empty cache, as a job makes it before its first segment, can be added to" {
    make_tree
    mkdir -p m/segments
    run_ok sb convert --to=cache --append tree m
    holds m tree
    [[ -e m/schema.json ]]
}

@test "--force replaces a cache and nothing else" {
    make_tree
    sb convert --to=cache tree m
    run_fail 2 sb convert --to=cache tree m
    told "shardbox convert: m: exists already; use --force to replace it, or --append to add to it"
    touch m/segments/segment_000007.arrow.tmp
    run_ok sb convert --to=cache --force tree m
    [[ $(there . m/segments) == 'm tree m/segments/segment_000000.arrow ' ]]
    mkdir dir
    touch dir/file m/notes
    run_fail 2 sb convert --to=cache --force tree m
    told "shardbox convert: m: holds notes, which is no part of a cache; move it away, or choose another name"
    run_fail 2 sb convert --to=cache --force tree dir
    told "shardbox convert: dir: is there, and no cache; choose another name"
    run_fail 2 sb convert --to=cache --append tree dir/file
    told "shardbox convert: dir/file: is there, and no cache; choose another name"
    [[ -e dir/file && -e m/notes ]]
    run_fail 2 sb convert --compact --force m m
    told "shardbox convert: m: is input and output at once; choose another output"
}

@test "--force removes no directories in a cache, and nothing that a link leads to" {
    make_tree
    sb convert --to=cache tree m
    mkdir m/index.pkl.tmp
    run_fail 2 sb convert --to=cache --force tree m
    told "shardbox convert: m: holds index.pkl.tmp, which is a directory; move it away, or choose another name"
    rmdir m/index.pkl.tmp
    mv m/segments elsewhere
    ln -s ../elsewhere m/segments
    run_fail 2 sb convert --to=cache --force tree m
    told "shardbox convert: m: holds segments, which is no directory; move it away, or choose another name"
    [[ -e elsewhere/segment_000000.arrow ]]
    run_ok sb convert --to=cache --append tree m
    holds m tree
    mkdir -p mine/segments
    touch mine/notes mine/segments/notes
    ln -s mine .n.shardbox-new
    run_fail 2 sb convert --to=cache tree n
    told "shardbox convert: $PWD/.n.shardbox-new: is in the way, and no directory; move it away"
    [[ -e mine/notes && -e mine/segments/notes && ! -e n ]]
}

@test "--append leaves index.pkl to whom it belongs" {
    make_tree
    sb convert --to=cache tree m
    chmod 664 m/index.pkl
    ((EUID != 0)) || chown 65534:65534 m/index.pkl
    (umask 077 && run_ok sb convert --to=cache --append tree m)
    [[ $(stat -c %a m/index.pkl) == 664 ]]
    ((EUID != 0)) || [[ $(stat -c %u:%g m/index.pkl) == 65534:65534 ]]
}

@test "where names cannot be exchanged, the old cache is renamed and the new one takes its place" {
    need_shim
    make_tree
    make_files 'other/m:9/x.npy=<f4:1:1'
    sb convert --to=cache tree m
    FAULT_CALLS=rename FAULT_AT=2 FAULT_HOW=EINVAL FAULT_MARK=$PWD/mark LD_PRELOAD=$FAULT_SHIM \
        run_ok sb convert --to=cache --force other m
    [[ -s mark || -e mark ]]
    holds m other
    [[ $(there .) == 'm mark other tree ' ]]
}

@test "what a killed run left is put back or removed, and another run is waited for" {
    make_tree
    sb convert --to=cache tree m
    mkdir -p .m.shardbox-new/segments
    touch .m.shardbox-new/index.pkl .m.shardbox-new/segments/segment_000000.arrow
    mv m .m.shardbox-old
    run_ok sb convert --append --to=cache tree m
    [[ $(there . m/segments) == \
        'm tree m/segments/segment_000000.arrow m/segments/segment_000001.arrow ' ]]
    touch m/segments/segment_000002.arrow.shardbox.tmp m/segments/segment_000002.arrow.tmp \
        m/.index.pkl.shardbox-out m/.schema.json.shardbox-out m/index.pkl.shardbox.tmp m/index.pkl.tmp
    run_ok sb convert --append tree m
    [[ -z $(find m -name '*.shardbox*') ]]
    [[ -e m/segments/segment_000002.arrow.tmp && -e m/index.pkl.tmp ]]
    mkfifo pipe
    sb convert --append --from=tar pipe m &
    exec 9>pipe
    until [[ -e .m.shardbox-lock ]]; do :; done
    run_fail 2 sb convert --append tree m
    stderr_has "m: another process, perhaps on another machine, is writing it"
    exec 9>&-
    wait || true
}

@test "a damaged segment is named and the rest is converted; where nothing can be read, nothing is" {
    make_tree
    sb convert --to=cache --segment-size=1 tree m
    echo spoiled >m/segments/segment_000002.arrow
    LC_ALL=C sed -i 's/m:3/\xff:3/' m/segments/segment_000003.arrow
    mkdir to
    run_fail 1 sb convert --to=cache m to/m
    stderr_has "m/segments/segment_000002.arrow: "
    stderr_has "\377:3: is a key that is not UTF-8; left out"
    stderr_has "to/m: done in part; problems, named above: 2"
    [[ $(keys to/m | cut -d' ' -f1 | tr '\n' ' ') == 'm:0 m:1 m:4 ' ]]
    for segment in m/segments/*; do echo spoiled >"$segment"; done
    run_fail 2 sb convert --to=cache --force m to/m
    stderr_has "nothing of it could be read; to/m is not written"
    [[ $(keys to/m | wc -l) == 3 ]]
}

@test "--dry-run writes nothing" {
    make_tree
    run_ok sb convert -nv --to=cache tree m
    sb convert --to=cache tree m
    run_ok sb convert -nv --compact m n
    output_is n
    [[ $(there .) == 'm tree ' ]]
}

@test "options of caches make sense only for caches" {
    make_tree
    run_fail 2 sb convert --key-prefix=m: tree a.tar
    stderr_has "--compact, --segment-size, --key-prefix and --sequence are for a cache that is written"
    run_fail 2 sb convert --compact tree m
    stderr_has "--compact is for caches that become one"
    run_fail 2 sb convert --to=cache --shard-size=1M tree m
    stderr_has "--shard-size is for an archive or a bag"
    run_fail 2 sb convert --to=cache tree -
    stderr_has "cannot be written to a pipe"
    run_fail 2 sb convert --to=cache --append --force tree m
    stderr_has "--append and --force exclude each other"
    run_fail 2 sb convert --to=cache --compress=gz tree m
    stderr_has "--compress makes files that are no arrays any longer"
}

@test "--array is refused for what has no arrays" {
    make_tree
    sb convert -q tree a.barecat
    run_fail 2 sb convert --array=x a.barecat a.tar
    stderr_is 'shardbox convert: a.barecat: has no arrays: --array is for Syrah files and caches'
    sb convert -q a.barecat a.bag
    for output in b.bag b.syr b.barecat; do
        run_fail 2 sb convert --array=x a.bag $output
        stderr_is "shardbox convert: --array is for Syrah files and caches; try 'shardbox convert --help'"
    done
    sb find --json a.barecat >list
    run_fail 2 sb convert --array=x --from=extents list b.barecat
    stderr_has '--array is for Syrah files and caches'
    [[ ! -e b.barecat ]]
}
