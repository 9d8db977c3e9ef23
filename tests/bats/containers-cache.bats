# Commands that take any container, on torchcachex caches: names as members, and --wrap.

load helper
load cache

# make_latest: dicts c, and the files of its rows that count in latest/.
make_latest() {
    make_dicts c
    cp -r dicts latest
    cp -r again/. latest
}

# same_files DIR OTHER
same_files() {
    diff -r "$1" "$2" || fail "$1 and $2 differ"
}

@test "a cache becomes a directory, an archive and a tar: a directory for each key, its last row" {
    make_latest
    run_ok sb convert c out/
    same_files out latest
    run_ok sb convert c a.barecat
    run_ok sb diff c -C a.barecat
    run_ok sb diff c -C out
    run_ok sb convert c a.tar
    mkdir from-tar
    tar -xf a.tar -C from-tar
    same_files from-tar latest
}

# bats test_tags=threads
@test "any number of threads makes the same" {
    make_latest
    run_ok sb convert -j 1 c one.tar
    run_ok sb convert -j 4 c four.tar
    cmp one.tar four.tar
}

@test "a tensor alone is KEY.npy, a blob alone KEY.pkl" {
    make_tensors t
    run_ok sb convert t out/
    same_files out tensors
    mkdir blobs
    printf pickle >blobs/b:0.pkl
    make_cache blobs b
    run_ok sb find b
    output_is 'b:0.pkl'
}

@test "--array takes these alone, and one that there is not is refused" {
    make_dicts c
    run_ok sb convert --array=emb --array=meta c a.barecat
    run_ok sb find a.barecat k:0
    output_is $'k:0\nk:0/emb.npy\nk:0/meta.pkl'
    run_fail 2 sb convert --array=emb --array=none c b.barecat
    stderr_is "shardbox convert: c: has no array 'none'; ls shows which it has"
    [[ ! -e b.barecat ]]
}

@test "of a key that several inputs have, the last counts if that is wanted" {
    make_dicts c
    make_cache again d
    run_ok sb convert d c a.barecat
    run_ok bash -c '"$SHARDBOX" cat a.barecat k:1/meta.pkl k:0/meta.pkl'
    output_is 'one againzero'
    make_npy <<'END'
other/k:0/emb.npy float32 [1] 7
other/k:0/mask.npy bool [1] 1
END
    printf other >other/k:0/meta.pkl
    make_cache other o
    run_ok sb convert --duplicates=last c o b.barecat
    run_ok sb cat b.barecat k:0/meta.pkl
    output_is other
    run_fail 1 sb convert --force c o b.barecat
    stderr_has 'k:0/meta.pkl: is in c and in o; only the first is taken (see --duplicates)'
}

@test "keys that are no names are named and left out, or lose what cannot stand in front" {
    make_tensors t
    make_cache tensors up --key-prefix=../
    run_fail 1 sb convert up a.barecat
    stderr_has '../t:0.npy'
    run_ok sb find a.barecat
    output_is ''
    make_cache tensors abs --key-prefix=/etc/
    run_ok sb convert abs b.barecat
    run_ok sb find b.barecat
    output_is $'etc\netc/t:0.npy\netc/t:1.npy'
    make_cache tensors esc --key-prefix=$'\e[31m'
    run_ok sb convert esc out/
    run_fail 1 sb diff esc -C tensors
    stderr_lacks $'\e'
}

@test "a damaged segment is named, and the others are converted" {
    make_latest
    truncate -s 200 c/segments/segment_000001.arrow
    run_fail 1 sb convert c out/
    stderr_has 'c/segments/segment_000001.arrow: is an Arrow file without an end; left out'
    same_files out dicts
}

@test "--from=dir: what lies in the directory, as files" {
    make_dicts c
    run_ok sb convert --from=dir c a.barecat
    run_ok sb find a.barecat segments
    output_is $'segments\nsegments/segment_000000.arrow\nsegments/segment_000001.arrow'
    mkdir plain
    run_fail 2 sb find --from=cache plain
    stderr_is 'shardbox find: plain: is no cache of torchcachex: it has no directory segments'
}

@test "as records of a bag, arrays are .npy files" {
    make_tensors t
    run_ok sb convert t a.bag
    run_ok bash -c '"$SHARDBOX" cat a.bag 1 | cmp - tensors/t:1.npy'
}

@test "--wrap: each segment is a shard; values and shapes are where they are" {
    make_dicts c
    run_ok sb convert --wrap --exclude='*.bool' c w.barecat
    [[ $(readlink w.barecat-shard-00001) == c/segments/segment_000001.arrow ]]
    run_ok sb verify w.barecat
    run_ok sb find w.barecat k:0 k:1
    output_is $'k:0\nk:0/emb.float32\nk:0/emb.shape\nk:0/mask.shape\nk:0/meta.pkl
k:1\nk:1/emb.float32\nk:1/emb.shape\nk:1/mask.shape\nk:1/meta.pkl'
    sb cat --raw c k:0/emb | cmp - <(sb cat w.barecat k:0/emb.float32)
    [[ $(sb cat w.barecat k:0/emb.shape | od -An -td8 | xargs) == '2 2' ]]
    [[ $(sb cat w.barecat k/2/emb.shape | od -An -td8 | xargs) == '0 3' ]]
    run_ok sb cat w.barecat k:1/meta.pkl
    output_is 'one again'
    printf X | dd of=c/segments/segment_000001.arrow bs=1 conv=notrunc status=none \
        seek="$(grep -abo 'one again' c/segments/segment_000001.arrow | cut -d: -f1)"
    run_fail 1 sb verify w.barecat
    output_has k:1/meta.pkl
}

@test "--wrap: bools are bits, and no bytes to point at" {
    make_dicts c
    run_fail 2 sb convert --wrap c w.barecat
    stderr_is 'shardbox convert: k/2/mask.bool: is stored compressed, in pieces, as bits or with a sum of its own, so that no index can point at its bytes; convert without --wrap, or leave it out with --exclude'
    [[ ! -e w.barecat && ! -e w.barecat-shard-00000 ]]
}

@test "a directory that has segments of its own, and a schema.json, is no cache" {
    mkdir -p project/segments
    echo '{}' >project/schema.json
    echo text >project/segments/readme
    run_ok sb convert -q project a.barecat
    run_ok sb diff -C project a.barecat
    run_fail 2 sb ls project
    stderr_has 'project: is a directory, not a container'
}

@test "a cache without segments yet is one, also with what a killed job left there" {
    mkdir -p new/segments
    echo '{}' >new/schema.json
    run_ok sb ls new
    touch new/segments/segment_000000.arrow.tmp
    run_ok sb ls new
}

@test "keys of 252 and of 1000 bytes leave a cache for any container, and come back" {
    short=$(printf 'k%.0s' {1..252}) long=$(printf 'K%.0s' {1..1000})
    make_npy <<<'v.npy int32 [1] 7'
    python3 - "$short" "$long" <<'END'
import sys, tarfile

with tarfile.open("keys.tar", "w") as tar:
    for key in sys.argv[1:]:
        tar.add("v.npy", key + ".npy")
END
    sb convert -q --to=cache keys.tar cache
    run_ok sb convert -q --keys=keys.bag cache a.bag
    run_ok sb convert --keys=keys.bag a.bag a.barecat
    for kind in barecat tar zip; do
        [[ $kind == barecat ]] || run_ok sb convert -q cache "a.$kind"
        run_ok sb convert -q --to=cache "a.$kind" "back-$kind"
        for key in "$short" "$long"; do
            run_ok sb cat --npy "back-$kind" "$key"
            sb cat --npy "back-$kind" "$key" | cmp - v.npy
        done
    done
    run_fail 1 sb unpack -C out cache
    stderr_has "$long.npy: cannot be created: File name too long"
    stderr_has "shardbox unpack: cache: unpacked in part; problems, named above: 2"
}
