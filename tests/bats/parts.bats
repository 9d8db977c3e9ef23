# Work cut among processes: pack --part.

load helper

# Packs tree/ in N parts, as p-*; further arguments go to pack.
pack_parts() {
    local count=$1 i
    shift
    for ((i = 1; i <= count; i++)); do
        sb pack "$@" --part="$i/$count" p.barecat -C tree . || return
    done
}

# The names of files and links in archives, sorted; with no archive, of the tree.
files_of() {
    local archive
    for archive; do
        sb find -0 --type=f,l "$archive" || return
    done | LC_ALL=C sort -z
}

state_of() {
    stat -c '%n %s %y %i' "$@"
    cat "$@" | cksum
}

@test "pack --part: the parts are disjoint, and together the whole, with every directory's metadata" {
    local count
    make_archive
    make_raw_names tree
    sb pack --force a.barecat -C tree .
    for count in 1 2 3 7 50; do
        run_ok pack_parts "$count"
        run_ok cmp <(files_of a.barecat) <(files_of p-*-of-*.barecat)
        run_ok sb merge -o merged.barecat p-?????-of-000*.barecat
        run_ok sb diff -C a.barecat merged.barecat
        run_ok sb diff -C merged.barecat a.barecat
        run_ok cmp <(sql a.barecat 'SELECT * FROM dirs ORDER BY path') \
            <(sql merged.barecat 'SELECT * FROM dirs ORDER BY path')
        rm p-* merged.barecat*
    done
}

@test "pack --part: a file is where split --ratio puts it, in any order of the bytes and from a list" {
    local order n
    make_archive
    sb split --ratio=0=0.25,1=0.25,2=0.25,3=0.25 -o s{} a.barecat
    (cd tree && find . -depth -print0) >list
    for order in path input inode; do
        run_ok pack_parts 4 --force --order=$order
        for n in 0 1 2 3; do
            run_ok cmp <(files_of s$n) <(files_of p-0000$n-of-00004.barecat)
        done
    done
    for n in 0 1 2 3; do
        run_ok sb pack --part=$((n + 1))/4 -C tree -0 -T list --no-recursion l.barecat
        run_ok sb diff -C p-0000$n-of-00004.barecat l-0000$n-of-00004.barecat
        run_ok sb diff -C l-0000$n-of-00004.barecat p-0000$n-of-00004.barecat
    done
}

@test "pack --part: a directory is in the parts that have something below it, an empty one in one part" {
    mkdir -p tree/{empty,full/below}
    chmod 711 tree/full
    touch tree/full/below/{1..30}
    run_ok pack_parts 3
    for part in p-*.barecat; do
        run_ok sb find --path=full --printf='%m' "$part"
        output_is 711
        run_ok sb verify "$part"
    done
    [ "$(for part in p-*.barecat; do sb find --path=empty "$part"; done)" = empty ]
}

@test "pack --part: one without files is a valid archive" {
    mkdir tree
    echo 1 >tree/one
    run_ok pack_parts 7
    [ "$(files_of p-*.barecat | tr '\0' ' ')" = 'one ' ]
    for part in p-*.barecat; do
        run_ok sb verify "$part"
    done
}

@test "pack --part: a part that is packed again replaces only itself" {
    make_tree tree
    run_ok pack_parts 3
    state_of p-0000[02]* >before
    run_fail 2 sb pack --part=2/3 p.barecat -C tree .
    stderr_has 'p-00001-of-00003.barecat: there is an archive already'
    run_ok sb pack --part=2/3 --force p.barecat -C tree .
    state_of p-0000[02]* | cmp - before
    run_ok sb merge-symlink -o joined.barecat p-*-of-00003.barecat
    run_ok sb diff -C tree joined.barecat
    run_ok sb verify joined.barecat
}

@test "pack --part --append: what is new goes to its own part" {
    local n
    make_tree tree
    run_ok pack_parts 3
    mkdir tree/new
    for n in {1..20}; do echo "$n" >"tree/new/$n"; done
    run_ok pack_parts 3 --append --update
    sb pack a.barecat -C tree .
    run_ok cmp <(files_of a.barecat) <(files_of p-*.barecat)
    for n in 0 1 2; do
        run_ok sb pack --part=$((n + 1))/3 fresh.barecat -C tree .
        run_ok sb diff -C p-0000$n-of-00003.barecat fresh-0000$n-of-00003.barecat
    done
}

@test "pack --part: files of other parts are not looked up" {
    need_strace
    mkdir -p tree/{a,b}
    touch tree/{a,b}/file{1..40}
    # Leaks cannot be looked for under strace.
    ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 timeout 60 strace -f -o trace \
        -e trace=newfstatat,statx,stat,lstat,openat,readlinkat \
        "$SHARDBOX" pack --part=2/4 p.barecat -C tree .
    sed -n 's/.*"\(file[0-9]*\)".*/\1/p' trace | sort >touched
    sb find --type=f --printf='%f\n' p-00001-of-00004.barecat | sort | cmp - touched
}

@test "pack --part: what cannot be stored is told by the part that it is of" {
    local n told=0
    mkdir tree
    mkfifo tree/pipe
    touch tree/{1..9}
    for n in 1 2 3; do
        run sb pack --part="$n/3" p.barecat -C tree .
        ((status == 0 || status == 1))
        told=$((told + status))
    done
    [ "$told" -eq 1 ]
}

@test "pack --part: the archives of all parts are left out where they are in the tree" {
    mkdir tree
    for n in {1..9}; do echo "$n" >"tree/$n"; done
    cd tree
    sb pack ../a.barecat .
    for n in 1 2 3 4; do run_ok sb pack -q --part=$n/4 p.barecat .; done
    for n in 1 2 3 4; do run_ok sb pack -q --force --part=$n/4 p.barecat .; done
    run_ok cmp <(files_of ../a.barecat) <(files_of p-*-of-00004.barecat)
}

@test "pack --part: where an input is missing nothing is replaced" {
    make_tree tree
    run_ok pack_parts 2
    state_of p-* >before
    run_fail 2 sb pack --part=1/2 --force p.barecat -C tree typo
    stderr_has 'nothing could be stored, so nothing was written'
    state_of p-* | cmp - before
}

@test "pack --part=auto: the scheduler says which; --dry-run names what would be stored" {
    make_tree tree
    run_ok pack_parts 3
    run_ok env SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=3 "$SHARDBOX" pack --part=auto q.barecat -C tree .
    run_ok sb diff -C p-00002-of-00003.barecat q-00002-of-00003.barecat
    run_ok sb pack -n -v --part=3/3 r.barecat -C tree .
    stderr_has 'r-00002-of-00003.barecat: would store'
    grep -qx numbers <<<"$output"
    output_lacks a.txt
    [ ! -e r-00002-of-00003.barecat ]
    run_fail 2 env -i "$SHARDBOX" pack --part=auto q.barecat -C tree .
    stderr_is 'shardbox pack: --part: nothing in the environment says which part this is: neither srun nor mpirun, an array of jobs or GNU parallel has started it; say it as I/N'
}

@test "pack --part: what is no part is refused" {
    run_fail 2 sb pack --part=0/4 p.barecat .
    stderr_is "shardbox pack: --part: '0/4' is not I/N with I from 1 to N, such as 2/4, and not 'auto'"
    run_fail 2 sb pack --part=1/4 --stdin-name=x p.barecat -
    stderr_has '--part excludes --stdin-name'
    run_fail 2 sb pack --part=1/4 nowhere/.. .
    stderr_is 'shardbox pack: nowhere/..: ends in no name to which the number of a part could be added'
}
