# Work cut among processes: convert --part.

load helper

# A bag of the numbers from 0 as lines; further arguments go to convert.
make_numbers() {
    local file=$1 count=$2
    shift 2
    seq 0 $((count - 1)) | sb convert "$@" --frame=line - "$file"
}

# convert_parts N ARGUMENT...: all parts, from the last to the first.
convert_parts() {
    local part
    for ((part = $1; part >= 1; part--)); do
        sb convert --part="$part/$1" "${@:2}" || return
    done
}

lines() {
    sb cat --frame=line "$@"
}

state_of() {
    stat -c '%n %s %y %i' "$@"
    cat "$@" | cksum
}

@test "convert --part: bags become the set that one run would have written, byte for byte" {
    make_numbers n.bagz 43
    for count in 1 3 8 50; do
        run_ok convert_parts $count n.bagz "p@$count.bagz"
        sb convert n.bagz "w@$count.bagz"
        for shard in w-*.bagz; do cmp "$shard" "p${shard#w}"; done
        run_ok cmp <(lines "p@$count.bagz") <(seq 0 42)
        rm p-* w-*
    done
}

@test "convert --part: what the output is called, and a set of another number of shards" {
    make_numbers n.bagz 9
    run_ok convert_parts 2 n.bagz a.bagz
    run_ok convert_parts 2 n.bagz 'b@*.bagz'
    run_ok cmp <(lines a@2.bagz) <(lines 'b@*.bagz')
    run_ok sb convert --part=1/2 n.bagz out.tar.gz
    run_ok sb convert --part=1/2 --to=dir n.bagz out/
    [[ -e out-00000-of-00002.tar.gz && -d out-00000-of-00002 ]]
    run_fail 2 sb convert --part=1/2 n.bagz c@3.bagz
    stderr_is 'shardbox convert: c@3.bagz: is a set of 3 shards, but the work is cut into 2 parts; each part is one shard'
}

@test "convert --part: several bags are cut as if they were one, also what is chosen of them" {
    make_numbers n.bagz 10
    make_numbers m.bag 5
    run_ok convert_parts 4 n.bagz m.bag p.bagz
    run_ok cmp <(lines p@4.bagz) <(seq 0 9; seq 0 4)
    run_ok convert_parts 4 --force --records=::-2 n.bagz m.bag p.bagz
    run_ok cmp <(lines p@4.bagz) <(printf '%s\n' 9 7 5 3 1 4 2 0)
    seq 8 -2 2 >list
    run_ok convert_parts 3 -T list n.bagz q.bagz
    run_ok cmp <(lines q@3.bagz) list
}

@test "convert --part: records that become files have the names that they have in one run" {
    make_numbers n.bagz 10
    make_numbers m.bag 5
    sb convert n.bagz m.bag whole.barecat
    run_ok convert_parts 4 n.bagz m.bag p.barecat
    run_ok sb merge -o merged.barecat p-*-of-00004.barecat
    run_ok sb diff -C whole.barecat merged.barecat
    run_ok sb diff -C merged.barecat whole.barecat
    seq 100 114 | sb convert --frame=line - keys.bagz
    sb convert --keys=keys.bagz n.bagz m.bag k.zip
    run_ok convert_parts 3 --keys=keys.bagz n.bagz m.bag k.zip
    run_ok cmp <(sb ls k.zip) <(for part in k-*.zip; do sb ls "$part"; done)
}

@test "convert --part: other inputs are cut into runs of inputs, and what is of another part is not opened" {
    make_tree tree
    for name in a b c d e; do (cd tree && tar -cf "../$name.tar" --transform "s,^,$name/," one a.txt); done
    run_ok convert_parts 3 a.tar b.tar c.tar d.tar e.tar p.barecat
    run_ok sb find --type=f p-00000-of-00003.barecat
    output_is $'a/a.txt\na/one\nb/a.txt\nb/one'
    run_ok sb find --type=f p-00002-of-00003.barecat
    output_is $'e/a.txt\ne/one'
    echo nonsense | tee d.tar >e.tar
    run_ok sb convert --part=1/2 a.tar b.tar d.tar e.tar q.tar
    run_fail 2 sb convert --part=2/2 a.tar b.tar d.tar e.tar q.tar
    for kind in barecat tar zip bagz; do
        run_ok sb convert --part=9/9 a.tar b.tar "empty.$kind"
        run_ok sb verify "empty-00008-of-00009.$kind"
    done
    run_ok sb convert --part=9/9 --to=dir a.tar b.tar empty
    [ -z "$(ls empty-00008-of-00009)" ]
}

@test "convert --part: one input that cannot be cut is refused" {
    make_archive
    run_fail 2 sb convert --part=1/2 a.barecat out.tar
    stderr_has "a.barecat: a single INPUT that is no bag and no Syrah file cannot be cut into parts; 'shardbox split' divides what it holds, and 'pack --part' packs a part of a directory"
    run_fail 2 sb convert --part=1/2 --frame=line - out.bagz <<<a
    stderr_has 'a single INPUT that is no bag and no Syrah file cannot be cut'
    [ -z "$(compgen -G 'out*')" ]
}

@test "convert --part: a part that is run again replaces only itself, or goes on" {
    make_numbers n.bagz 30
    convert_parts 3 n.bagz p.bagz
    convert_parts 3 n.bagz p.barecat
    state_of p-0000[02]* >before
    run_fail 2 sb convert --part=2/3 n.bagz p.bagz
    run_ok sb convert --part=2/3 --force n.bagz p.bagz
    run_ok sb convert --part=2/3 --force --checkpoint=1 n.bagz p.barecat
    run_ok env PMI_RANK=1 PMI_SIZE=3 "$SHARDBOX" convert --part=auto --resume n.bagz p.barecat
    run_ok sb convert --part=2/3 --append n.bagz p.bagz
    run_ok cmp <(lines p-00001-of-00003.bagz) <(seq 10 19; seq 10 19)
    state_of p-0000[02]* | cmp - before
}

@test "convert --part: each part has its report and its keys" {
    make_tree tree
    for name in a b; do tar -cf $name.tar tree/one tree/a.txt; done
    run_ok convert_parts 2 --report=report --keys=keys.bag a.tar b.tar out.bagz
    run_ok cmp <(lines keys@2.bag) <(printf 'tree/one\ntree/a.txt\n%.0s' 1 2)
    [[ -e report-00000-of-00002 && -e report-00001-of-00002 ]]
}

@test "convert --part: what does not go with it" {
    make_numbers n.bagz 3
    run_fail 2 sb convert --part=1/2 --wrap n.bagz out.barecat
    stderr_has '--part is not for --wrap'
    run_fail 2 sb convert --part=1/2 --count=2 n.bagz 'out@*.bagz'
    stderr_has 'it excludes --count and --shard-size'
    run_fail 2 sb convert --part=1/2 --layout=interleaved n.bagz out@2.bagz
    stderr_has '--part excludes --layout=interleaved'
    run_fail 2 sb convert --part=1/2 --limits-only out.barecat
    stderr_has '--part and --limits-only exclude each other'
}
