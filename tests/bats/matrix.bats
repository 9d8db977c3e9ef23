#!/usr/bin/env bats
# Which command reads which container: each cell of scripts/matrix.table, with real containers. All
# hold the files of tree/, but for bags: these hold those of records/.

load helper
load cache

setup_file() {
    mkdir "$BATS_FILE_TMPDIR/made" && cd "$BATS_FILE_TMPDIR/made" || return
    make_npy <<'END'
tree/00000000/n.npy int32 [2] 0 2
tree/00000000/x.npy float32 [3] 1 2 3
tree/00000001/n.npy int32 [2] 1 2
tree/00000001/x.npy float32 [3] 4 5 6
END
    mkdir records
    for i in 0 1 2; do printf 'record %d' $i >records/0000000$i; done
    sb pack -q a.barecat -C tree .
    tar cf t.tar -C tree .
    gzip -k t.tar
    (cd tree && find . | cpio -o -H newc --quiet) >c.cpio
    (cd tree && zip -qr ../z.zip .)
    sb convert -q records b.bagz
    sb convert -q records s@2.bagz
    sb convert -q tree y.syr
    mkdir first second
    cp -a tree/00000000 first
    cp -a tree/00000001 second
    sb convert -q first s-00000-of-00002.syr
    sb convert -q second s-00001-of-00002.syr
    sb convert -q --to=bagz y.syr side
    sb convert -q --to=cache tree k
}

setup() {
    cp -a "$BATS_FILE_TMPDIR/made/." "$BATS_TEST_TMPDIR" && cd "$BATS_TEST_TMPDIR" || return
}

# The specs of a kind, as the table calls it.
specs_of() {
    case $1 in
    archive) echo a.barecat ;;
    directory) echo tree ;;
    tar) echo t.tar ;;
    'compressed tar') echo t.tar.gz ;;
    'tar on a pipe') echo - ;;
    cpio) echo c.cpio ;;
    zip) echo z.zip ;;
    bag) echo b.bagz ;;
    'set of bags') printf '%s\n' s@2.bagz 's@*.bagz' s-0000{0,1}-of-00002.bagz | paste -sd '\n\n,\n' ;;
    'bags side by side') echo side/n.int32.bagz+side/x.float32.bagz ;;
    'Syrah file') echo y.syr ;;
    'set of Syrah files') printf '%s\n' s@2.syr 's@*.syr' s-0000{0,1}-of-00002.syr | paste -sd '\n\n,\n' ;;
    cache) echo k ;;
    *) fail "no container is made for '$1'" ;;
    esac
}

# What a spec holds, as files.
holds() {
    if [[ $1 == *.bagz && $1 != *+* ]]; then echo records; else echo tree; fi
}

files_of() {
    (cd "$1" && find . -type f -printf '%P\n' | sort)
}

# The bytes of `cat SPEC`: what is read by number or key gives values.
bytes_of() {
    local file
    for file in $(files_of "$(holds "$1")"); do
        case $1 in
        *.syr | *+* | k) tail -c +129 tree/"$file" ;;
        *) cat "$(holds "$1")/$file" ;;
        esac
    done
}

# on_a_pipe COMMAND...: with a tar on standard input.
on_a_pipe() {
    tar cf - -C tree . | "$@"
}

check_ls() {
    on_a_pipe sb ls "$1" >out
    [[ -s out ]] || fail "ls $1"
}

check_cat() {
    # An archive and what is read in sequence have an order of their own.
    on_a_pipe sb cat "$1" | od -An -tx1 -v -w1 | sort >out
    bytes_of "$1" | od -An -tx1 -v -w1 | sort | cmp - out
    files_of "$(holds "$1")" >names
    on_a_pipe sb cat --frame=tar -T names "$1" | tar tf - | sort >out
    cmp names out
}

check_find() {
    on_a_pipe sb find --type=f "$1" | sort >out
    files_of "$(holds "$1")" | cmp - out
}

check_du() {
    on_a_pipe sb du "$1" >out
    [[ -s out ]] || fail "du $1"
}

check_diff() {
    local same different
    case $1 in
    tree) same=a.barecat different=b.bagz ;;
    *+*) same=tree different=records ;;
    *.bagz) same=records different=tree ;;
    *) same=tree different=records ;;
    esac
    on_a_pipe sb diff -C $same "$1"
    run_fail 1 on_a_pipe sb diff -C $different "$1"
}

check_verify() {
    on_a_pipe sb verify -q "$1"
}

check_convert() {
    mkdir out
    on_a_pipe sb convert -q --to=tar "$1" - | tar xf - -C out
    diff -r "$(holds "$1")" out
    rm -r out
}

check_unpack() {
    mkdir out
    on_a_pipe sb unpack -q -C out "$1"
    diff -r "$(holds "$1")" out
    rm -r out
}

check_split() {
    on_a_pipe sb split -q --ratio=a=0.5,b=0.5 --output='part-{}.barecat' "$1"
    for part in part-{a,b}.barecat; do sb find --type=f "$part"; done | sort >out
    files_of "$(holds "$1")" | cmp - out
    rm part-{a,b}.barecat*
}

check_mount() {
    mkdir mounted
    timeout 20 "$SHARDBOX" mount --at=mounted "$1" -- diff -r "$(holds "$1")" mounted
    rmdir mounted
}

# What is said in place of an answer, by the number of the reason.
refusals=('' "and 'shardbox pack' makes an archive of it"
    "'shardbox convert' makes an archive of it, which can be split"
    'makes an archive of it, which can be mounted')

check_refused() {
    mkdir none
    case $1 in
    split) run_fail 2 on_a_pipe sb split --ratio=a=0.5,b=0.5 --output='part-{}.barecat' "$2" ;;
    unpack) run_fail 2 on_a_pipe sb unpack -C none "$2" ;;
    mount) run_fail 2 on_a_pipe sb mount "$2" none ;;
    *) run_fail 2 on_a_pipe sb "$1" "$2" ;;
    esac
    output_is ''
    stderr_has "${refusals[$3]}"
    rmdir none
}

# cells COMMAND: tries its column.
cells() {
    local command=$1 kind cell spec tried=0
    while IFS=: read -r kind cell; do
        while read -r spec; do
            echo "$command of a $kind: $spec"
            if [[ $cell == yes ]]; then
                "check_$command" "$spec"
            else
                check_refused "$command" "$spec" "$cell"
            fi
            ((tried += 1))
        done < <(specs_of "$kind")
    done < <(awk -v command="$command" '
        /^#|^[0-9]/ { next }
        /^container / { for (i = 1; i <= NF; i++) if ($i == command) behind = NF - i; next }
        { cell = $(NF - behind); sub(/( +(yes|[0-9]+))+$/, ""); print $0 ":" cell }
    ' "$PROJECT/scripts/matrix.table")
    ((tried >= 12)) || fail "only $tried cells"
}

@test "the table is that of shardbox(1)" {
    "$PROJECT/scripts/matrix" >section
    sed -n '/^\.Ss What reads what$/,$p' "$PROJECT/man/shardbox.1" | head -n "$(wc -l <section)" | cmp - section
}

@test "ls: every cell" { cells ls; }
@test "cat: every cell" { cells cat; }
@test "find: every cell" { cells find; }
@test "du: every cell" { cells du; }
@test "diff: every cell" { cells diff; }
@test "verify: every cell" { cells verify; }
@test "convert: every cell" { cells convert; }
@test "unpack: every cell" { cells unpack; }
@test "split: every cell" { cells split; }
@test "mount: every cell" {
    { : <>/dev/fuse; } 2>/dev/null || skip '/dev/fuse cannot be opened'
    cells mount
}
