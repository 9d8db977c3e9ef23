# shardbox cat of caches: arrays by their keys, one or many, also for a program that asks as it goes.

load helper
load cache

@test "named as the file that it was made of, a tensor is that file" {
    make_tensors t
    sb cat t t:1.npy | cmp - tensors/t:1.npy
    sb cat t t:1.npy t:0.npy t:1.npy | cmp - <(cat tensors/t:{1,0,1}.npy)
    make_dicts k
    sb cat k k:0/emb.npy k/2/mask.npy | cmp - <(cat dicts/k:0/emb.npy dicts/k/2/mask.npy)
}

@test "named bare, an array is its values; --npy and --raw change that alike for both names" {
    make_tensors t
    sb cat --raw t t:1.npy >values
    (($(stat -c %s values) == 24)) || fail 'three int64'
    sb cat t t:1 | cmp - values
    sb cat --raw t t:1 | cmp - values
    sb cat --npy t t:1 | cmp - tensors/t:1.npy
    sb cat --npy t t:1.npy | cmp - tensors/t:1.npy
    sb cat t t:1 t:1.npy | cmp - <(cat values tensors/t:1.npy)
}

@test "without a KEY all that counts comes, in the order of the cache" {
    make_dicts k
    sb cat --npy k | cmp - <(cat {dicts/k/2,dicts/k:0,again/k:1}/{emb.npy,mask.npy,meta.pkl})
    printf '%s\n' k/2 k:0 k:1 >keys
    sb cat -T keys k | cmp - <(sb cat k)
    sb cat --array=meta k | cmp - <(cat {dicts/k/2,dicts/k:0,again/k:1}/meta.pkl)
    sb cat --part=2/3 --array=meta k | cmp - dicts/k:0/meta.pkl
    sb find --type=f k | sb cat -T - k >found
    sb cat --npy k | sort | cmp - <(sort found)
}

@test "a key without the name of an array is all of its arrays, in the order of the cache" {
    make_dicts k
    sb cat --npy k k:0 k/2 | cmp - <(cat dicts/{k:0,k/2}/{emb.npy,mask.npy,meta.pkl})
    sb cat --npy --array=meta --array=emb k k:0 k/2/mask |
        cmp - <(cat dicts/k:0/{emb.npy,meta.pkl} dicts/k/2/mask.npy)
}

@test "of a key that was written again, the last row counts" {
    make_dicts k
    sb cat --npy k k:1 | cmp - <(cat again/k:1/{emb.npy,mask.npy,meta.pkl})
}

@test "keys are sampled and shuffled, the same for ever, and none that is superseded comes" {
    make_dicts k
    sb cat --array=meta k >all
    for seed in {0..9}; do
        sb cat --shuffle --seed="$seed" --array=meta --frame=jsonl k >"order-$seed"
        jq -r .key "order-$seed" | sort | cmp - <(printf '%s\n' k/2.pkl k:0.pkl k:1.pkl | sed 's:\.pkl:/meta.pkl:' | sort)
        sb cat --shuffle --seed="$seed" --array=meta --frame=jsonl k | cmp - "order-$seed"
    done
    (($(cat order-* | sort -u | wc -l) >= 3 && $(md5sum order-* | cut -d ' ' -f 1 | sort -u | wc -l) > 1)) ||
        fail 'one order'
    (($(sb cat --sample=2 --array=meta --frame=jsonl k | jq -r .key | sort -u | wc -l) == 2)) || fail 'sample'
    (($(sb cat --sample=40 --replace --array=meta --frame=jsonl k | wc -l) == 40)) || fail 'replace'
    sb cat --forever --shuffle --array=meta --frame=jsonl k 2>/dev/null | head -n 9 | jq -r .key | sort | uniq -c | awk '$1 != 3 { exit 1 }'
    for i in 1 2 3; do sb cat --part=$i/3 --array=meta k; done | cmp - all
    run_fail 2 sb cat --array=nothing k
    stderr_is "shardbox cat: k: has no array 'nothing'; ls shows which it has"
}

@test "--forever ends where no key that counts has such an array" {
    make_npy <<<'tree/a/old.npy int8 [1] 1'
    make_npy <<<'more/a/new.npy int8 [1] 2'
    make_cache tree c
    make_cache more later
    cp later/segments/segment_000000.arrow c/segments/segment_000001.arrow
    rm c/index.pkl
    run_fail 2 sb cat --forever --array=old c
    stderr_is 'shardbox cat: c: none of the requested keys has a byte, so that nothing would ever be written'
    run_ok sb cat --array=old c
    output_is ''
}

@test "--raw writes values alone: a bool is a byte, and a blob is as it is" {
    make_dicts k
    run_ok sb cat --raw k k:0/meta
    output_is zero
    [[ $(sb cat --raw k k:0/emb k:0/mask | od -An -tx1 | tr -d '\n') == \
        ' 00 00 80 3f 00 00 00 40 00 00 40 40 00 00 80 40 01 00 01' ]] || fail 'values'
}

@test "a blob is bytes of a pickle, which is never executed" {
    mkdir tree
    printf 'cos\nsystem\n(S"touch executed"\ntR.' >tree/x.pkl
    make_cache tree c
    cp tree/x.pkl c/index.pkl
    sb cat c x | cmp - tree/x.pkl
    [[ ! -e executed ]] || fail 'it was executed'
}

@test "a key is looked for as it stands, before it is cut at its last /" {
    make_npy <<'END'
tree/a/emb.npy int8 [1] 1
tree/a/emb/emb.npy int8 [1] 2
END
    make_cache tree c
    sb cat --npy c a/emb | cmp - tree/a/emb/emb.npy
    sb cat --npy c a/emb/emb a | cmp - <(cat tree/a/emb/emb.npy tree/a/emb.npy)
}

@test "the names that arrays have as files will do as well" {
    make_dicts k
    sb find --type=f k >names
    grep -qx k:0/meta.pkl names
    sb cat -T names k | cmp - <(sed 's/\.[a-z]*$//' names | sb cat --npy -T - k)
    run_fail 1 sb cat --raw k k:0/meta.npy k:0/emb.pkl k:0.npy k:0/meta.pkl
    output_is zero
    ((${#stderr_lines[@]} == 3)) || fail 'what is not there'
    make_tensors t
    run_fail 1 sb cat t t:1.pkl
    make_npy <<<'tree/a.npy int8 [1] 1'
    make_npy <<<'more/b.npy int8 [1] 2'
    make_cache tree u
    make_cache more u --append --key-prefix=a/
    sb cat u a/b.npy | cmp - more/b.npy
    sb cat --npy u a/b a.npy | cmp - <(cat more/b.npy tree/a.npy)
    run_fail 1 sb cat u a/c.npy
    stderr_is 'shardbox cat: u: a/c.npy: the key has no such array; ls shows which it has'
}

@test "keys come from a list, too, whose lines end in a newline or in NUL" {
    make_tensors t
    printf 't:1\nt:0' >keys
    sb cat --npy -T keys t t:0 | cmp - <(cat tensors/t:{0,1,0}.npy)
    tr '\n' '\0' <keys | sb cat --npy -0 -T - t | cmp - <(cat tensors/t:{1,0}.npy)
    sb cat --npy --part=2/2 -T keys t t:0 | cmp - tensors/t:1.npy
}

@test "what is not there is named, and the rest is written" {
    make_dicts k
    run_fail 1 sb cat --raw k k:0/meta nobody k:0/nothing k:0/ k:0/meta
    output_is zerozero
    stderr_is 'shardbox cat: k: nobody: no such key in the cache
shardbox cat: k: k:0/nothing: the key has no such array; ls shows which it has
shardbox cat: k: k:0/: no such key in the cache'
    run_fail 1 sb cat --array=nothing k k:0
    stderr_is 'shardbox cat: k: k:0: the key has no such array; ls shows which it has'
}

# bats test_tags=threads
@test "--batch answers each key as it comes, by the names of files" {
    make_dicts k
    for threads in 1 3; do
        coproc CAT { exec "$SHARDBOX" cat --batch --raw -j $threads -T - k 2>said; }
        pid=$CAT_PID
        exec 8<&"${CAT[0]}" 9>&"${CAT[1]}"
        # So many that places are kept in memory meanwhile.
        for _ in {1..8}; do
            printf 'k:1/meta\n' >&9
            IFS= read -r -t 20 line <&8 && [[ $line == 'k:1/meta.pkl 9' ]] || fail "said: $line"
            IFS= read -r -t 20 line <&8 && [[ $line == 'one again' ]] || fail "said: $line"
            printf 'no body\n' >&9
            IFS= read -r -t 20 line <&8 && [[ $line == 'no body missing' ]] || fail "said: $line"
            printf 'k:0/emb\n' >&9
            IFS= read -r -t 20 line <&8 && [[ $line == 'k:0/emb.float32 16' ]] || fail "said: $line"
            head -c 17 <&8 >answer
            cmp answer <(tail -c 16 dicts/k:0/emb.npy && echo)
        done
        exec 9>&-
        eval "exec ${CAT[1]}>&-" 2>/dev/null || true
        status=0
        wait "$pid" || status=$?
        exec 8<&-
        ((status == 1)) || fail "status $status"
        [[ $(cat said) == 'shardbox cat: 8 of the requested keys are not there' ]] || fail 'said'
    done
}

# bats test_tags=threads
@test "a segment that is lost while its places are kept in memory counts as damaged, as ever" {
    make_dicts k
    coproc CAT { exec "$SHARDBOX" cat --batch --raw -j 1 -T - k 2>said; }
    pid=$CAT_PID
    exec 8<&"${CAT[0]}" 9>&"${CAT[1]}"
    for _ in {1..20}; do
        printf 'k:1/meta\n' >&9
        IFS= read -r -t 20 line <&8 && [[ $line == 'k:1/meta.pkl 9' ]] || fail "said: $line"
        IFS= read -r -t 20 line <&8 && [[ $line == 'one again' ]] || fail "said: $line"
    done
    : >k/segments/segment_000001.arrow
    printf 'k:1/meta\n' >&9
    IFS= read -r -t 20 line <&8 && [[ $line == 'k:1/meta.pkl 3' ]] || fail "said: $line"
    exec 9>&-
    eval "exec ${CAT[1]}>&-" 2>/dev/null || true
    status=0
    wait "$pid" || status=$?
    exec 8<&-
    ((status == 1)) || fail "status $status"
    [[ $(cat said) == *'segment_000001.arrow: '*'; left out' ]] || fail 'said'
}

@test "--frame: each array is a record, with the name that it has as a file" {
    make_dicts k
    sb cat --npy --frame=tar k k:0 k/2/meta | tar xf - --one-top-level=out
    cmp out/k:0/emb.npy dicts/k:0/emb.npy
    cmp out/k:0/meta.pkl dicts/k:0/meta.pkl
    [[ -e out/k/2/meta.pkl && ! -e out/k/2/emb.npy ]] || fail 'which'
    run_ok sb cat --frame=jsonl --raw k k:0/meta k/2/meta
    output_is '{"index":0,"key":"k:0/meta.pkl","data":"emVybw=="}
{"index":1,"key":"k/2/meta.pkl","data":""}'
    run_ok sb cat --frame=line --array=meta k k:0 k:1
    output_is 'zero
one again'
    make_tensors t
    run_ok sb cat --frame=jsonl --raw t t:0
    output_has '"key":"t:0.int64"'
    sb cat --npy --frame=batch k k:0 k:1 | sb convert -q --frame=batch - a.barecat
    sb cat a.barecat k:1/emb.npy | cmp - again/k:1/emb.npy
}

@test "a key that no file may be called is none of a tar, and any other is brought in order" {
    make_npy <<<'tree/a/emb.npy int8 [1] 1'
    make_cache tree up --key-prefix=../
    make_cache tree root --key-prefix=/
    run_ok sb cat --frame=jsonl --raw up ../a
    output_is '{"index":0,"key":"../a/emb.int8","data":"AQ=="}'
    run_fail 2 sb cat --npy --frame=tar up ../a
    output_is ''
    stderr_is 'shardbox cat: up: key '\''../a'\'', array '\''emb'\'': its name has a .. component, which no file may have; choose jsonl'
    sb cat --npy --frame=tar root /a | tar tf - >names
    [[ $(cat names) == a/emb.npy ]] || fail 'names'
}

@test "what a framing cannot hold ends the run, behind what came before" {
    mkdir tree
    printf 'a\nb' >tree/two.pkl
    printf 'one' >tree/one.pkl
    make_cache tree c
    run_fail 2 sb cat --frame=line c one two one
    output_is one
    stderr_has "shardbox cat: c: key 'two': holds a newline"
}

@test "an array larger than the memory for it comes whole, in a frame as well" {
    mkdir tree
    head -c 5000000 /dev/urandom >tree/large.pkl
    printf small >tree/small.pkl
    make_cache tree c
    sb cat c small large small | cmp - <(cat tree/{small,large,small}.pkl)
    sb cat --frame=u64 c large small >framed
    (($(od -An -tu8 -N 8 framed) == 5000000 && $(stat -c %s framed) == 5000021)) || fail 'frame'
    tail -c +9 framed | head -c 5000000 | cmp - tree/large.pkl
}

# bats test_tags=threads
@test "any number of threads writes the same, in the order asked for" {
    mkdir tree
    for i in {0..299}; do
        printf '%06000d' "$i" >tree/k"$i".pkl
    done
    make_cache tree c --segment-size=100K
    (($(find c/segments -type f | wc -l) > 10)) || fail 'few segments'
    seq 0 299 | sort --random-source=/dev/zero -R | sed 's/^/k/' >keys
    while read -r key; do
        cat tree/"$key".pkl
    done <keys >wanted
    for threads in 1 2 5; do
        sb cat -j $threads -T keys c | cmp - wanted
    done
}

@test "an index.pkl that is missing, old, lies, or is none changes nothing" {
    make_dicts k
    sb cat k k:1 k:0 k/2 >wanted
    cp k/index.pkl new
    rm k/index.pkl
    sb cat k k:1 k:0 k/2 | cmp - wanted
    make_cache dicts first
    for bad in first/index.pkl new; do
        cp $bad k/index.pkl
        sb cat k k:1 k:0 k/2 | cmp - wanted
    done
    head -c 20 new >k/index.pkl
    sb cat k k:1 k:0 k/2 | cmp - wanted
    make_cache again other
    cp other/index.pkl k/index.pkl
    sb cat k k:1 k:0 k/2 | cmp - wanted
}

@test "a damaged segment is named, once, and what is sound is written" {
    make_dicts k
    truncate -s 100 k/segments/segment_000001.arrow
    run_fail 1 sb cat --raw k k:0/meta k:1/meta k/2/meta
    output_is zeroone
    stderr_has 'shardbox cat: k/segments/segment_000001.arrow: '
    ((${#stderr_lines[@]} == 1)) || fail 'more than one message'
    truncate -s 100 k/segments/segment_000000.arrow
    run_fail 2 sb cat --raw k k:0/meta
}

@test "a segment that shrinks while it is mapped is damage" {
    make_dicts k
    coproc CAT { exec "$SHARDBOX" cat --batch --raw -T - k 2>said; }
    pid=$CAT_PID
    exec 8<&"${CAT[0]}" 9>&"${CAT[1]}"
    eval "exec ${CAT[1]}>&-"
    printf 'k:0/meta\n' >&9
    IFS= read -r -t 20 line <&8 && [[ $line == 'k:0/meta.pkl 4' ]] || fail "said: $line"
    IFS= read -r -t 20 line <&8
    truncate -s 100 k/segments/segment_000000.arrow
    printf 'k:0/emb\nk:1/meta\n' >&9
    IFS= read -r -t 20 line <&8 && [[ $line == 'k:0/emb missing' ]] || fail "said: $line"
    IFS= read -r -t 20 line <&8 && [[ $line == 'k:1/meta.pkl 9' ]] || fail "said: $line"
    exec 9>&-
    status=0
    wait "$pid" || status=$?
    exec 8<&-
    ((status == 1)) || fail "status $status"
    grep -q '^shardbox cat: k/segments/segment_000000.arrow: has become shorter' said
}

@test "a shape that does not fit the values is damage of that array alone" {
    make_tensors t
    # The shape of t:1 is 1, 3; it becomes 1, 4.
    at=$(grep -obUaP '\x01\0{7}\x03\0{7}' t/segments/segment_000000.arrow | tail -1 | cut -d: -f1)
    printf '\4' | dd of=t/segments/segment_000000.arrow bs=1 seek=$((at + 8)) conv=notrunc status=none
    run_fail 1 sb cat --raw --batch t t:1 t:0
    [[ ${lines[0]} == 't:1.int64 damaged' ]] || fail 'the answer'
    stderr_is "shardbox cat: t: key 't:1': t/segments/segment_000000.arrow: a shape does not fit the number of values"
}

@test "what does not go with a cache is refused, and a directory of caches" {
    mkdir all
    make_tensors all/t
    run_fail 2 sb cat --shuffle all/t t:0
    stderr_is "shardbox cat: keys that are named cannot be sampled, shuffled or repeated; without any, all are; try 'shardbox cat --help'"
    run_fail 2 sb cat --find=x all/t t:0
    stderr_is "shardbox cat: all/t: is a cache, and --find is for bags; try 'shardbox cat --help'"
    run_fail 2 sb cat --range=0:1 all/t t:0
    run_fail 2 sb cat --raw --npy all/t t:0
    run_fail 2 sb cat all t:0
    stderr_is "shardbox cat: all: holds caches, and keys are those of one of them: 'shardbox ls all' shows which there are; try 'shardbox cat --help'"
    : >x.bag
    run_fail 2 sb cat --raw x.bag 0
    stderr_is "shardbox cat: x.bag: is no Syrah file and no cache, and --raw is for these; try 'shardbox cat --help'"
}
