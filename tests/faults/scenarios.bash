# What `run` does under faults. Of each scenario:
#
#   start_NAME         makes the directory start-NAME, the state before
#   run_NAME SHARDBOX  runs the command (SHARDBOX may be several words) in the directory above `at`,
#                      a copy of start-NAME
#   again_NAME         where the command, run again, must be another; else it is run_NAME
#   check_NAME PHASE   looks at what is in `at`, and reports what is wrong
#
# PHASE is failed: the command said so; killed: it may have done anything, up to its end; ended: the
# power failed behind its end, so that what it promised must be there, but not that all is tidy;
# finished: it said 0.

# The trees: old is what an archive holds before, new what it holds afterwards.
make_trees() {
    mkdir -p old/dir/sub old/empty-dir
    printf 'one\n' >old/one
    : >old/empty
    seq 3000 >old/dir/numbers
    printf 'below\n' >old/dir/sub/file
    ln -s one old/link
    cp -a old new
    seq 9000 >new/dir/more
    mkdir new/added
    printf 'added\n' >new/added/file
    ln new/added/file new/added/same
    mkdir additions
    cp -a new/added additions/added
    mkdir additions/dir
    cp -a new/dir/more additions/dir/more
}

# make_old DIRECTORY SIZE: an archive of the old tree, in shards of that size.
make_old() {
    mkdir "$1"
    "$SHARDBOX" pack --shard-size="$2" -C old "$1/a.barecat" .
}

# same ARCHIVE TREE: whether the archive holds exactly the tree.
same() {
    rm -rf out
    "$SHARDBOX" unpack -C out "$1" >log 2>&1 && diff -r --no-dereference out "$2" >>log 2>&1
}

verified() {
    "$SHARDBOX" verify "$1" >log 2>&1
}

# found_at [TEST...]: what `find` finds in `at`, without the strangers.
found_at() {
    local name
    local -a tests=()
    for name in "${strangers[@]}"; do
        tests+=(! -name "$name")
    done
    find at -mindepth 1 "${tests[@]}" "$@"
}

# No file beside the archive but its index and shards, under their final names; and what SQLite made and
# removed at once, which a power failure may bring back; the note, whose removal may have been what
# failed, or what a killed run left of it that changes an archive in place: a lock that says nothing.
tidy() {
    found_at ! -name a.barecat ! -name 'a.barecat-shard-[0-9][0-9][0-9][0-9][0-9]' \
        ! -name 'etilqs_*' ! \( -name a.barecat.new -size 0 \) ! -name a.barecat-before-repair >log
    [ ! -s log ] || { [ "${calls-}" = unlink ] && ! grep -qv '\.new$' log; }
}

# is TREE: all that a run that finished must leave.
is() {
    verified at/a.barecat || report "verify"
    same at/a.barecat "$1" || report "does not hold the tree $1"
    tidy || report "left behind"
}

# nothing_or PHASE TREE: of a command that makes an archive.
nothing_or() {
    case $1 in
    failed) [ ! -e at/a.barecat ] && [ -n "$(found_at)" ] && report "left behind: $(found_at)" ;;
    ended) [ -e at/a.barecat ] || report "lost" ;;
    finished) is "$2" ;;
    esac
    [ ! -e at/a.barecat ] || { verified at/a.barecat && same at/a.barecat "$2"; } ||
        report "neither nothing nor the tree $2"
}

# Right after a kill, what an interrupted writer left may still stand beside the archive. A run that
# failed after its commit may leave shards under their temporary names, to which the index leads, or
# a journal that could not be rolled back.
#
# old_or_new PHASE OLD NEW: of a command that makes of the one tree the other.
old_or_new() {
    if [ "$1" = finished ]; then
        is "$3"
        return
    fi
    verified at/a.barecat || report "verify"
    if [ "$1" != ended ] && same at/a.barecat "$2"; then
        [ "$1" = killed ] || tidy || commit_failed || report "left behind"
    elif ! same at/a.barecat "$3"; then
        report "neither the tree $2 nor $3"
    fi
}

# A commit in place that failed half-way may turn out to have happened, when its journal is lost: the
# note of it stays for the next writer, who can tell.
commit_failed() {
    [[ $scenario == @(append|sync|stream|viewmore|mergemore|rm|mv|reshard|defrag|quick) ]] && ! grep -qv '\.new$' log
}

# What a run of verify remembers: the state before, or a later one. It is of an archive by its path.
start_state() {
    make_old at 4000
    "$SHARDBOX" verify --state=at/state at/a.barecat
    mv at start-state
}

run_state() {
    "$@" verify --state=at/state at/a.barecat
}

# Shards of a copy count as replaced: whatever was known is known again, or not yet.
check_state() {
    local known
    known=$(sqlite3 at/state 'PRAGMA quick_check; SELECT min(checked) > 0 FROM units' 2>&1)
    [[ $known == $'ok\n1' || ($1 != finished && $known == $'ok\n0') ]] || report "state: $known"
    verified at/a.barecat || report "verify"
}

start_pack() {
    mkdir start-pack
}
run_pack() {
    "$@" pack --shard-size=20k -C new at/a.barecat .
}
# A new archive that is there already is rightly not made again.
again_pack() {
    if [ -e at/a.barecat ]; then
        "$@" pack --append --update -C new at/a.barecat .
    else
        run_pack "$@"
    fi
}
check_pack() {
    nothing_or "$1" new
}

start_force() {
    make_old start-force 6k
}
run_force() {
    "$@" pack --force --shard-size=20k -C new at/a.barecat .
}
check_force() {
    old_or_new "$1" old new
}

# One part of three is packed again: the others stay as they are, to the byte and the second.
start_share() {
    mkdir start-share
    pack_share 1 old start-share
    pack_share 2 old start-share
    pack_share 3 old start-share
    if [ ! -d old-share ]; then
        "$SHARDBOX" unpack -C old-share start-share/a-00001-of-00003.barecat
        mkdir shared && pack_share 2 new shared
        "$SHARDBOX" unpack -C new-share shared/a-00001-of-00003.barecat
    fi
}
# pack_share I TREE DIRECTORY
pack_share() {
    "$SHARDBOX" pack --part="$1/3" --shard-size=6k -C "$2" "$3/a.barecat" .
}
run_share() {
    "$@" pack --force --part=2/3 --shard-size=6k -C new at/a.barecat .
}
other_shares() {
    (cd "$1" && stat -c '%n %s %y' a-0000[02]-* && cat a-0000[02]-*)
}
check_share() {
    local part=at/a-00001-of-00003.barecat
    cmp <(other_shares start-share) <(other_shares at) >log 2>&1 || report "other parts are not the same"
    verified $part || report "verify"
    if [[ $1 == @(finished|ended) ]] || ! same $part old-share; then
        same $part new-share || report "neither the old part nor the new"
        [ "$1" = finished ] || return 0
    fi
    [ "$1" != killed ] || return 0
    found_at ! -regex '.*/a-0000[012]-of-00003\.barecat\(-shard-[0-9]*\)?' \
        ! -name 'etilqs_*' ! \( -name '*.new' -size 0 \) >log
    [ ! -s log ] || is_kept_note "$1" || report "left behind"
}

# is_kept_note PHASE: nothing but the note is in the log, which could not be removed, or is for the next
# writer, since it is not known what is on disk.
is_kept_note() {
    [[ $1,${calls-} == @(failed,@(unlink|sync)|finished,unlink) ]] && ! grep -qv '\.new$' log
}

start_append() {
    make_old start-append 20k
}
run_append() {
    "$@" pack --append --update -C additions at/a.barecat .
}
check_append() {
    old_or_new "$1" old new
}

# What sync makes of the old tree: changed bytes, of the same size and of another, a mode, what is new, what
# is gone, and what is of another type.
make_synced() {
    [ ! -d synced ] || return 0
    cp -a new synced
    seq 2 3500 >synced/dir/numbers
    printf 'eno\n' >synced/one
    chmod 600 synced/empty
    rm -r synced/dir/sub synced/empty-dir synced/link
    printf 'a file now\n' >synced/dir/sub
    mkdir synced/link
    printf 'below\n' >synced/link/file
    ln -s one synced/empty-dir
}

start_sync() {
    make_synced
    make_old start-sync 20k
}
run_sync() {
    "$@" sync --delete synced at/a.barecat
}
check_sync() {
    old_or_new "$1" old synced
    [ "$1" != finished ] || has_nothing_to_sync synced at/a.barecat
}

has_nothing_to_sync() {
    if ! "$SHARDBOX" sync -nc --delete "$1" "$2" >log 2>&1 || [ -s log ]; then
        report "there is still something to sync"
    fi
}

# A tree, with a link that leads out of it where a directory is to be.
start_synctree() {
    make_synced
    mkdir start-synctree
    "$SHARDBOX" pack -q -C synced start-synctree/a.barecat .
    [ -d untouched ] || { cp -a old untouched && ln -s ../outside untouched/added; }
    cp -a untouched start-synctree/tree
    mkdir start-synctree/outside
    printf 'outside\n' >start-synctree/outside/file
    cp -a start-synctree/outside outside
}
run_synctree() {
    "$@" sync --delete --sync at/a.barecat at/tree
}
check_synctree() {
    local name
    { verified at/a.barecat && same at/a.barecat synced; } || report "the archive was touched"
    diff -r outside at/outside >log 2>&1 || report "something outside was touched"
    if [[ $1 == @(finished|ended) ]]; then
        diff -r --no-dereference synced at/tree >log 2>&1 || report "the tree is not the new one"
        [ "$1" = ended ] || has_nothing_to_sync at/a.barecat at/tree
        return
    fi
    # Each is the old one, or the new one; a killed run may leave its temporary files.
    (cd at/tree && find . -mindepth 1 ! -name '.*shardbox-*' -printf '%P\n') >names
    while read -r name; do
        is_one_of "$name" untouched synced || report "$name: neither old nor new"
    done <names
    for name in dir dir/numbers one empty; do
        [ -e "at/tree/$name" ] || report "$name: lost"
    done
    [ "$1" = killed ] || [ "${calls-}" = unlink ] || [ -z "$(find at/tree -name '.*shardbox-*')" ] || report "left behind"
}
# is_one_of NAME TREE...: whether the name in at/tree is what it is in one of the trees.
is_one_of() {
    local name=$1 tree
    for tree in "${@:2}"; do
        if [ -L "at/tree/$name" ]; then
            [ "$(readlink "at/tree/$name")" != "$(readlink "$tree/$name")" ] || return 0
        elif [ -d "at/tree/$name" ]; then
            [ ! -d "$tree/$name" ] || [ -L "$tree/$name" ] || return 0
        elif [ -f "$tree/$name" ] && [ ! -L "$tree/$name" ]; then
            ! cmp -s "at/tree/$name" "$tree/$name" || return 0
        fi
    done
    return 1
}

# A tar with a hard link, and with a name that comes twice.
start_stream() {
    make_old start-stream 20k
    mkdir -p stale/dir
    printf 'stale\n' >stale/dir/more
    tar cf additions.tar -C stale dir/more
    tar rf additions.tar -C "$PWD/additions" added dir/more
}
run_stream() {
    "$@" convert -q --append --duplicates=last additions.tar at/a.barecat
}
check_stream() {
    old_or_new "$1" old new
}

start_upgrade() {
    make_old start-upgrade 20k
    (cd start-upgrade && make_schema_02)
}
run_upgrade() {
    "$@" upgrade at/a.barecat
}
check_upgrade() {
    same at/a.barecat old || report "does not hold the tree"
    [ "$1" != finished ] || is old
}

# The old index keeps a name.
start_keepold() {
    make_old start-keepold 20k
    (cd start-keepold && make_schema_02)
    cp start-keepold/a.barecat-sqlite-index kept-index
}
run_keepold() {
    "$@" upgrade --keep-old at/a.barecat
}
check_keepold() {
    local kept=at/a.barecat-sqlite-index.old
    same at/a.barecat old || report "does not hold the tree"
    if [ "$1" = failed ] && [ -e $kept ] && [ ! -e at/a.barecat ]; then
        report "left behind: $kept"
    fi
    [ "$1" = finished ] || [ "$1" = ended ] || return 0
    cmp kept-index $kept >log 2>&1 || report "the old index was not kept"
    [ "$1" = finished ] || return 0
    mv -f $kept kept-aside
    is old
    mv kept-aside $kept
}

# A shard is lost, and of another one a file is damaged between two that are not.
start_repair() {
    make_old copy 6k
    cp -a copy start-repair
    (
        cd start-repair || exit
        rm "$(repair_place dir/numbers | cut -d' ' -f1)"
        read -r shard offset < <(repair_place dir/sub/file)
        printf 'BELOW' | dd of="$shard" bs=1 seek="$offset" conv=notrunc status=none
    )
}
# repair_place NAME: its shard and offset.
repair_place() {
    sqlite3 a.barecat "SELECT printf('a.barecat-shard-%05d %d', shard, offset) FROM files
        WHERE path = '$1'"
}
run_repair() {
    "$@" verify --repair-from=copy/a.barecat at/a.barecat
}
check_repair() {
    if [ "$1" = finished ] || [ "$1" = ended ]; then
        is old
        return
    fi
    "$SHARDBOX" verify at/a.barecat >log 2>&1
    [ $? -lt 2 ] || report "cannot be verified"
    ! grep '^[a-z]*: ' log | grep -Ev '^shard: |^[a-z]*: dir/(numbers|sub/file): ' ||
        report "a neighbour was touched"
}

# A parity file that is made, one that is made anew, and what it repairs.
make_protected() {
    mkdir "$1"
    seq 5000 >"$1/f"
    touch -d 2001-02-03 "$1/f"
}
start_protect() {
    make_protected start-protect
}
run_protect() {
    "$@" protect --update -j1 at/f
}
check_protect() {
    protected "$1" || return
    [ "$1" != failed ] || [ -z "$(found_at -name '.f*')" ] || [ "$calls" = unlink ] || report "left behind"
}

start_reprotect() {
    make_protected start-reprotect
    "$SHARDBOX" protect start-reprotect/f
    seq 6000 >start-reprotect/f
}
run_reprotect() {
    run_protect "$@"
}
check_reprotect() {
    [ -e at/f-parity ] || report "the parity file is lost"
    check_protect "$1"
}

# A parity file of several sections, which another one replaces.
start_protectupdate() {
    mkdir start-protectupdate
    seq 1000000 >start-protectupdate/f
    "$SHARDBOX" protect --redundancy=1000% start-protectupdate/f
    seq 1000 >>start-protectupdate/f
    touch -d 2001-02-03 start-protectupdate/f
}
run_protectupdate() {
    run_protect "$@"
}
check_protectupdate() {
    check_reprotect "$1"
}

# A protected archive that is added to, and protected again.
start_packprotect() {
    make_old start-packprotect 20k
    "$SHARDBOX" protect start-packprotect/a.barecat
}
run_packprotect() {
    FAULT_SLEEPLESS=1 LD_PRELOAD=$FAULT_SHIM "$@" pack --append --update --protect -C additions at/a.barecat .
}
check_packprotect() {
    local status
    verified at/a.barecat || report "is damaged"
    "$SHARDBOX" protect --check at/a.barecat >log 2>&1
    status=$?
    if [ "$1" = finished ]; then
        [ "$status" -eq 0 ] || report "is not protected"
        same at/a.barecat new || report "is not what was added"
    elif [ -z "$model" ]; then
        # After a power failure bytes of a change may be there without its time; its journal, too.
        ! grep -Ev 'changed since|has no parity file' log ||
            report "half a parity file"
    fi
}

# protected PHASE: there is no parity file, or that of an older file, or that of this one.
protected() {
    local status
    cmp at/f "start-$scenario/f" >log 2>&1 || report "the file was touched"
    "$SHARDBOX" protect --check at/f >log 2>&1
    status=$?
    if [[ $1 == @(finished|ended) ]]; then
        [ "$status" -eq 0 ] || report "is not protected"
    elif [ "$status" -ne 0 ] && [ -e at/f-parity ] && ! grep -q 'changed since' log; then
        report "half a parity file"
    fi
    [ "$1" != finished ] || [ -z "$(found_at -name '.f*')" ] || [ "${calls-}" = unlink ] || report "left behind"
}

start_protectmend() {
    local at
    make_protected start-protectmend
    "$SHARDBOX" protect --redundancy=50% start-protectmend/f
    cp -p start-protectmend/f whole
    for at in 0 6000 20000; do
        printf 'DAMAGE' | dd of=start-protectmend/f bs=1 seek=$at conv=notrunc status=none
    done
    truncate -s -1000 start-protectmend/f
    touch -r whole start-protectmend/f
    head -c 100 /dev/zero | dd of=start-protectmend/f-parity bs=1 seek=10000 conv=notrunc status=none
}
run_protectmend() {
    "$@" protect --repair at/f
}
# By the word of the user, where a kill after a write has left another time.
again_protectmend() {
    "$@" protect --repair --trust-parity at/f
}
# Whenever it ends, the file can be repaired, and what was replaced put back.
check_protectmend() {
    local status
    "$SHARDBOX" protect --check at/f >log 2>&1
    status=$?
    [ "$status" -lt 2 ] || report "cannot be checked"
    ! grep -E 'beyond repair|cannot be checked' log || report "cannot be repaired"
    cp at/f now
    cp at/f-before-repair kept 2>/dev/null
    "$SHARDBOX" verify --undo-repair at/f >log 2>&1
    [ $? -lt 2 ] || grep -q 'nothing can be put back' log || report "cannot be undone"
    cmp -n 19000 at/f start-protectmend/f >log 2>&1 || report "other bytes than before the repair"
    cp now at/f
    [ ! -e kept ] || mv kept at/f-before-repair
    [[ $1 == @(finished|ended) ]] || return
    [ "$status" -eq 0 ] || report "is damaged"
    cmp at/f whole >log 2>&1 || report "other bytes"
}

# An archive that is damaged in every part that its parity files can mend: index, files, a gap, a cut, the parity
# files themselves. Times are those of a disk, which does not change them.
start_verifyrepair() {
    mkdir -p start-verifyrepair tree-verifyrepair
    local number
    for number in 1 2 3 4 5 6; do
        seq "$number" 1800 >"tree-verifyrepair/f$number"
    done
    "$SHARDBOX" pack -q --shard-size=20K start-verifyrepair/a.barecat tree-verifyrepair
    "$SHARDBOX" rm -q start-verifyrepair/a.barecat tree-verifyrepair/f2
    touch -d '2001-02-03 04:05:06.123456789Z' start-verifyrepair/*
    "$SHARDBOX" protect -q --redundancy=100% start-verifyrepair/a.barecat
    cp -a start-verifyrepair whole-verifyrepair
    cd start-verifyrepair || return
    spoil_at a.barecat 0 5000
    spoil_at a.barecat-shard-00000 100 700
    spoil_at a.barecat-shard-00000 9000 1500
    spoil_at a.barecat-shard-00001 3000 10
    spoil_at a.barecat-shard-00001-parity 6000 100
    truncate -s -700 a.barecat-shard-00001
    rm a.barecat-shard-00002
    local file
    for file in *; do
        touch -r "../whole-verifyrepair/$file" "$file"
    done
    cd ..
}
# spoil_at FILE OFFSET SIZE
spoil_at() {
    head -c "$3" /dev/zero | tr '\0' '#' | dd of="$1" bs=1M seek="$2" oflag=seek_bytes conv=notrunc status=none
}
run_verifyrepair() {
    "$@" verify -q --repair -j1 at/a.barecat >log
}
# A run that ended well has everything as it was; where an earlier one was killed after it had begun to repair the
# index, that may count as one of before.
check_verifyrepair() {
    [[ $1 == @(finished|ended) ]] || return
    verified at/a.barecat || report "is damaged"
    "$SHARDBOX" diff at/a.barecat -C whole-verifyrepair/a.barecat >log 2>&1 || report "other files"
    # Bytes of no file may be left as they are, where a kill has left another time; a stranger has the name of a shard.
    "$SHARDBOX" protect --check at/a.barecat 2>&1 | grep -v 'shard-00099: has no\|knows by the checksums' >log &&
        report "is not as it was protected"
}

# Of a damaged archive, which stays as it is, a state and its reports from an earlier run, when it was sound.
start_rounds() {
    [ -d start-repair ] || start_repair
    mkdir start-rounds at
    cp -a copy/. at
    rounds "$SHARDBOX"
    cp -a at/{state,report,prom} start-rounds
    cp -a start-repair/. start-rounds
    rm -r at
}
rounds() {
    "$@" verify --state=at/state --report=at/report --prom=at/prom at/a.barecat
}
# Damage is what it is to find, so a run that did its work says 1, and no problem with the state.
run_rounds() {
    rounds "$@"
    local status=$?
    [ "$status" -eq 1 ] || return "$status"
    grep -q '"status":1' at/report && ! grep -q '"what":"state"' at/report || return 2
}
check_rounds() {
    local file found
    for file in start-repair/a.barecat*; do
        cmp "$file" "at/${file##*/}" >log 2>&1 || report "the archive is not the same"
    done
    jq -es '.[0].kind == "start" and .[-1].kind == "summary"' at/report >log 2>&1 || report "half a report"
    tail -n 1 at/prom | grep -q '^shardbox_verify_.* [0-9]*$' || report "half the metrics"
    # A journal that a kill left is played back by this.
    found=$(sqlite3 at/state 'SELECT count(*) FROM units WHERE bad; PRAGMA quick_check' 2>&1)
    [[ $found == [0-9]*ok ]] || report "the state: $found"
    [ "$1" != finished ] || [[ $found == [1-9]*ok ]] || report "the state has forgotten the damage"
    [ "$1" = failed ] || return 0
    found_at ! -name 'a.barecat*' ! -name state ! -name report ! -name prom \
        ! -name 'etilqs_*' ! \( -name state-journal -size 0 \) >log
    [ ! -s log ] || report "left behind"
}

start_repairtar() {
    [ -d start-repair ] || start_repair
    cp -a start-repair start-repairtar
    tar --sort=name -czf copy.tar.gz -C old .
}
# Where libarchive has no memory for a header, that counts as damage of the copy, which may lie.
run_repairtar() {
    local status=0
    "$@" verify --repair-from=copy.tar.gz at/a.barecat || status=$?
    [ "$status" -ne 1 ] || ! grep -q 'Can.t allocate memory' log || status=2
    return "$status"
}
check_repairtar() {
    check_repair "$@"
}

# A report and metrics stand there from an earlier run: either is that one's or this one's.
start_reported() {
    make_old start-reported 6k
    cp -a start-reported at
    run_reported "$SHARDBOX"
    mv at/r.jsonl at/m.prom start-reported
    rm -r at
}
run_reported() {
    "$@" verify --report=at/r.jsonl --prom=at/m.prom at/a.barecat
}
check_reported() {
    verified at/a.barecat || report "the archive was touched"
    [ "$1" = killed ] || [ "$1" = ended ] ||
        only a.barecat 'a.barecat-shard-*' r.jsonl m.prom || report "left behind"
    if ! jq -e . at/r.jsonl >log 2>&1 || ! tail -n 1 at/r.jsonl | grep -q '^{"kind":"summary",'; then
        report "the report is not whole"
    fi
    if ! head -n 1 at/m.prom | grep -q '^# HELP ' ||
        ! tail -n 1 at/m.prom | grep -q '^shardbox_verify_known_bad_units{'; then
        report "the metrics are not whole"
    fi
    if [ "$1" = finished ] && ! cmp -s <(grep exit_status at/m.prom) <(grep exit_status start-reported/m.prom); then
        report "the metrics do not say 0"
    fi
}

start_unpack() {
    mkdir start-unpack
    "$SHARDBOX" pack -C new start-unpack/a.barecat .
}
run_unpack() {
    "$@" unpack --existing=skip -C at/tree at/a.barecat
}
check_unpack() {
    verified at/a.barecat || report "the archive was touched"
    if [ "$1" = finished ]; then
        diff -r --no-dereference at/tree new >log 2>&1 || report "the tree is not whole"
    fi
    if [ "$1" != killed ]; then
        strays=$(cd at/tree 2>/dev/null && find . -mindepth 1 | while read -r name; do
            [ -L "../../new/$name" ] || [ -e "../../new/$name" ] || echo "$name"
        done)
        [ -z "$strays" ] || report "left behind: $strays"
    fi
}

start_wrap() {
    make_old start-wrap 6k
    tar cf new.tar -C new .
}
run_wrap() {
    "$@" convert -q --wrap --force new.tar at/a.barecat
}
check_wrap() {
    old_or_new "$1" old new
}

start_convert() {
    make_old start-convert 6k
    tar cf new.tar -C new .
}
run_convert() {
    "$@" convert -q -j1 --force --shard-size=20k new.tar at/a.barecat
}
check_convert() {
    old_or_new "$1" old new
}

# stream_check PHASE FILE [TREE]: of one that is a stream: nothing but the old one, or the new one.
stream_check() {
    local strays tree=${3-new}
    strays=$(found_at ! -name "$2")
    [[ $1 == @(killed|ended) || -z $strays || $calls == unlink ]] || report "left behind: $strays"
    if [[ $1 == @(finished|ended) ]] || ! cmp -s "at/$2" "start-$scenario/$2"; then
        same "at/$2" "$tree" || report "neither the old one nor the new"
    fi
}

start_tar() {
    mkdir start-tar
    tar czf start-tar/a.tar.gz -C old .
    [ -e new.barecat ] || "$SHARDBOX" pack new.barecat -C new .
}
run_tar() {
    "$@" convert -q -j1 --force new.barecat at/a.tar.gz
}
check_tar() {
    stream_check "$1" a.tar.gz
}

start_zip() {
    mkdir start-zip
    (cd old && zip -qry ../start-zip/a.zip .)
    [ -e new.barecat ] || "$SHARDBOX" pack new.barecat -C new .
}
run_zip() {
    "$@" convert -q -j1 --force new.barecat at/a.zip
}
check_zip() {
    stream_check "$1" a.zip
}

# Items whose arrays are larger than what is written at once.
make_items() {
    local item
    for item in 00000000 00000001 00000002; do
        mkdir -p "$1/$item"
        printf '%s' "$2" >"$1/$item/short.txt"
        seq "${item}1" 40000 >"$1/$item/long.txt"
    done
}
start_syrah() {
    mkdir start-syrah
    make_items items-old old
    make_items items new
    "$SHARDBOX" convert -q items-old start-syrah/a.syr
}
run_syrah() {
    "$@" convert -q -j1 --force items at/a.syr
}
check_syrah() {
    stream_check "$1" a.syr items
}

start_extents() {
    mkdir start-extents
    "$SHARDBOX" pack --shard-size=20k -C new start-extents/a.barecat .
    "$SHARDBOX" find --json start-extents/a.barecat >extents
    rm start-extents/a.barecat
}
run_extents() {
    "$@" convert --force --from=extents extents at/a.barecat
}
check_extents() {
    for shard in start-extents/*; do
        cmp "$shard" "at/${shard#*/}" >log 2>&1 || report "${shard#*/} was touched"
    done
    case $1 in
    failed) [ -e at/a.barecat ] || tidy || report "left behind" ;;
    ended) [ -e at/a.barecat ] || report "lost" ;;
    finished) is new ;;
    esac
    [ ! -e at/a.barecat ] || { verified at/a.barecat && same at/a.barecat new; } ||
        report "neither nothing nor the index"
}

# kept NAME SIZE, litter NAME SIZE: a file of `full`, of which the tree `kept` has only the former.
kept() {
    litter "$1" "$2"
    mkdir -p "kept/$(dirname "$1")"
    cp -p "full/$1" "kept/$1"
}
litter() {
    mkdir -p "full/$(dirname "$1")"
    seq -f "$1 %g" 9999 | head -c "$2" >"full/$1"
}

# make_gaps DIRECTORY: an archive of the tree `kept` in shards of 16,000 bytes or less, but one of
# 30,000: with gaps in front, within and behind, without, without a file in the middle and at the
# end. Some rows have no checksum.
make_gaps() {
    if [ ! -d kept ]; then
        litter 0/a 1000 && kept 0/b 5000 && litter 0/c 300 && kept 0/d 6000
        kept 0/empty 0 && litter 0/e 2000
        litter 1/whole 15000
        kept 2/a 4000 && kept 2/b 5000 && kept 2/c 7000
        litter 3/a 3000 && kept 3/b 40 && litter 3/c 700 && kept 3/d 9000
        kept 4/large 30000
        litter 5/a 100 && kept 5/b 12000 && litter 5/c 3000
        litter 6/whole 16000
        ln -s ../0/b full/3/link && cp -a full/3/link kept/3/link
        find full kept -depth -type d -exec touch -d '2001-02-03 04:05:06Z' {} +
    fi
    mkdir "$1"
    "$SHARDBOX" pack --shard-size=16000 -C full "$1/a.barecat" .
    (cd full && find . -type f ! -exec test -e ../kept/{} ';' -print) | sed 's,^./,,' |
        "$SHARDBOX" rm -T - "$1/a.barecat"
    "$SHARDBOX" rm -r "$1/a.barecat" 1 6
    sqlite3 "$1/a.barecat" "UPDATE files SET crc32c = NULL WHERE path IN ('0/b', '3/b')"
}

# whole PHASE TREE: of a command that only rearranges an archive.
whole() {
    verified at/a.barecat || report "verify"
    same at/a.barecat "$2" || report "does not hold the tree $2"
    case $1 in
    failed) tidy || commit_failed || [[ $calls == @(rename|unlink) ]] || report "left behind" ;;
    finished) tidy || report "left behind" ;;
    esac
}

# Every byte of the shards is a file's.
has_no_gaps() {
    local used stored
    used=$(sqlite3 at/a.barecat 'SELECT sum(size) FROM files')
    stored=$(cat at/a.barecat-shard-000[0-8][0-9] | wc -c)
    [ "$used" -eq "$stored" ] || report "$used bytes in $stored"
}

start_rm() {
    make_gaps start-rm
    [ -d removed ] || { cp -a kept removed && rm -r removed/2 removed/5/b; }
}
run_rm() {
    "$@" rm -rf at/a.barecat 2 5/b
}
check_rm() {
    old_or_new "$1" kept removed
}

# A directory, and a file over another.
start_mv() {
    make_gaps start-mv
    [ -d moved ] || { cp -a kept moved && mv moved/2 moved/0/b moved/5; }
}
run_mv() {
    "$@" mv --force at/a.barecat 2 0/b 5
}
# What was moved cannot be moved again.
again_mv() {
    if "$@" ls at/a.barecat 5/2 >/dev/null 2>&1; then
        "$@" upgrade at/a.barecat
    else
        run_mv "$@"
    fi
}
check_mv() {
    old_or_new "$1" kept moved
}

start_reshard() {
    make_gaps start-reshard
}
run_reshard() {
    "$@" split --shard-size=10000 at/a.barecat
}
check_reshard() {
    whole "$1" kept
    [ "$1" != finished ] || has_no_gaps
}

start_parts() {
    mkdir start-parts
    [ -d gaps ] || make_gaps gaps
}
run_parts() {
    "$@" split -q -j1 --parts=3 --existing=skip -o 'at/part-{}.barecat' gaps/a.barecat
}
check_parts() {
    parts "$1" '.*/part-[012]\.barecat\(-shard-[0-9]*\|-journal\)?'
}

start_linked_parts() {
    mkdir start-linked_parts
    [ -d gaps ] || make_gaps gaps
}
run_linked_parts() {
    rm -f gaps/a.barecat-linked-by
    "$@" split -q --symlink --absolute --parts=3 --existing=skip -o 'at/part-{}.barecat' \
        gaps/a.barecat
}
check_linked_parts() {
    check_parts "$1"
}

# parts PHASE REGEX: each that is there is whole; in the end they are all of the tree `kept`, and
# files of these names.
parts() {
    local part
    rm -rf all && mkdir all
    for part in at/part-?.barecat; do
        [ -e "$part" ] || continue
        verified "$part" || report "verify $part"
        "$SHARDBOX" unpack -C all "$part" >log 2>&1 || report "unpack $part"
    done
    if [[ $1 == @(finished|ended) ]]; then
        diff -r --no-dereference all kept >log 2>&1 || report "not all of it"
    else
        (cd all && find . ! -type d -exec cmp {} ../kept/{} ';') >log 2>&1
        [ ! -s log ] || report "other bytes"
    fi
    [[ $1 != @(killed|ended) ]] || return
    found_at ! -regex "$2" ! -name 'etilqs_*' >log
    [ ! -s log ] || [ "$1,$calls" = failed,unlink ] || is_kept_note "$1" || report "left behind"
}

start_defrag() {
    make_gaps start-defrag
}
run_defrag() {
    "$@" defrag at/a.barecat
}
check_defrag() {
    whole "$1" kept
    [ "$1" != finished ] || has_no_gaps
}

start_quick() {
    make_gaps start-quick
}
run_quick() {
    "$@" defrag --quick at/a.barecat
}
check_quick() {
    whole "$1" kept
}

# Two archives whose shards others are linked to, and which nothing may touch.
make_sources() {
    [ -d sources ] && return
    mkdir sources
    "$SHARDBOX" pack --shard-size=6k -C old sources/one.barecat .
    "$SHARDBOX" pack --shard-size=6k -C additions sources/two.barecat .
    source_sums >sources.sums
}

# But for what says which archives have links to them.
source_sums() {
    (cd sources && sha256sum ./*.barecat ./*-shard-?????)
}

sources_stand() {
    source_sums >log 2>&1
    cmp -s log sources.sums || report "sources were touched"
}

start_view() {
    make_sources
    mkdir start-view
}
run_view() {
    rm -f sources/*-linked-by
    "$@" merge-symlink -o at/a.barecat sources/one.barecat sources/two.barecat
}
again_view() {
    "$@" merge-symlink --force -o at/a.barecat sources/one.barecat sources/two.barecat
}
check_view() {
    nothing_or "$1" new
    sources_stand
}

start_viewmore() {
    make_sources
    mkdir start-viewmore
    "$SHARDBOX" merge-symlink -o start-viewmore/a.barecat sources/one.barecat
}
run_viewmore() {
    "$@" merge-symlink --append --duplicates=first -o at/a.barecat sources/two.barecat
}
check_viewmore() {
    old_or_new "$1" old new
    sources_stand
}

start_merge() {
    make_sources
    mkdir start-merge
    tar cf additions.tar -C additions .
}
run_merge() {
    "$@" merge --shard-size=20k -o at/a.barecat sources/one.barecat additions.tar
}
again_merge() {
    "$@" merge --force --shard-size=20k -o at/a.barecat sources/one.barecat additions.tar
}
check_merge() {
    nothing_or "$1" new
    sources_stand
}

start_mergemore() {
    make_old start-mergemore 20k
    make_sources
}
run_mergemore() {
    "$@" merge --append --duplicates=first -o at/a.barecat sources/two.barecat
}
check_mergemore() {
    old_or_new "$1" old new
    sources_stand
}

# going_on PHASE TREE [OLD]: of a command that commits on its way to a new archive, or to one in
# place of that of the tree OLD.
going_on() {
    local part=at/a.barecat.part
    if [ -e "$part" ]; then
        verified "$part" || report "verify of what was committed"
        rm -rf out
        "$SHARDBOX" unpack -C out "$part" >log 2>&1 || report "unpack of what was committed"
        (cd out && find . ! -type d -exec cmp {} "../$2/{}" ';') >log 2>&1
        [ ! -s log ] || report "other bytes were committed"
    fi
    if [ "$1" = finished ]; then
        verified at/a.barecat || report "verify"
        same at/a.barecat "$2" || report "does not hold the tree $2"
        tidy || [ "$calls" = unlink ] || report "left behind"
    elif [ -e at/a.barecat ]; then
        verified at/a.barecat || report "verify"
        same at/a.barecat "$2" || { [ "$1" != ended ] && same at/a.barecat "${3:-$2}"; } ||
            report "not the tree $2"
    elif [ "$1" = ended ] || [ -n "${3-}" ]; then
        report "lost"
    fi
}

start_resume() {
    mkdir start-resume
}
run_resume() {
    "$@" pack -q --checkpoint=8k --resume --shard-size=20k -C new at/a.barecat .
}
check_resume() {
    going_on "$1" new
}

start_steps() {
    mkdir start-steps
    [ -e new.tar ] || tar cf new.tar -C new .
}
run_steps() {
    "$@" convert -q -j1 --checkpoint=5k --shard-size=20k --resume new.tar at/a.barecat
}
check_steps() {
    going_on "$1" new
}

start_resteps() {
    make_old start-resteps 6k
    [ -e new.tar ] || tar cf new.tar -C new .
}
run_resteps() {
    "$@" convert -q -j1 --force --checkpoint=5k --shard-size=20k --resume new.tar at/a.barecat
}
check_resteps() {
    going_on "$1" new old
}

# bytes_check PHASE FILE WANTED: a file that appears whole, or stays as it was.
bytes_check() {
    local strays
    strays=$(found_at ! -name "$2")
    [[ $1 == @(killed|ended) || -z $strays || $calls == unlink ]] || report "left behind: $strays"
    if [[ $1 == @(finished|ended) ]] || ! cmp -s "at/$2" "start-$scenario/$2"; then
        cmp -s "at/$2" "$3" || report "neither the old one nor the new"
    fi
}

# Framed records, written and read; a long one is spooled.
start_frames() {
    mkdir start-frames
    echo old >start-frames/a.jsonl.gz
    [ -e new.barecat ] || "$SHARDBOX" pack new.barecat -C new .
    [ -e new.jsonl.gz ] || "$SHARDBOX" convert --frame=jsonl new.barecat new.jsonl.gz
}
run_frames() {
    "$@" convert -q -j1 --force --frame=jsonl new.barecat at/a.jsonl.gz
}
check_frames() {
    bytes_check "$1" a.jsonl.gz new.jsonl.gz
}

start_unframed() {
    mkdir start-unframed
    echo old >start-unframed/a.tar
    if [ ! -e long.jsonl.gz ]; then
        mkdir long
        seq 300000 >long/numbers
        echo short >long/short
        "$SHARDBOX" convert --frame=jsonl long long.jsonl.gz
        "$SHARDBOX" convert --frame=jsonl long.jsonl.gz long.tar
    fi
}
run_unframed() {
    "$@" convert -q -j1 --force --frame=jsonl long.jsonl.gz at/a.tar
}
check_unframed() {
    bytes_check "$1" a.tar long.tar
}

# Bags. make_lines: the records of the bag before and afterwards, and those that are appended.
make_lines() {
    seq 1000 | sed 's/$/ a record of the old bag/' >old.lines
    seq 4000 | sed 's/$/ one that comes/' >more.lines
    cat old.lines more.lines >new.lines
    : >no.lines
}

# make_bag OUTPUT OPTION...: of the old lines.
make_bag() {
    mkdir -p "$(dirname "$1")"
    "$SHARDBOX" convert -q --frame=line "${@:2}" old.lines "$1"
}

# records SPEC LINES [OPTION...]: whether these are the bag's.
records() {
    "$SHARDBOX" cat --frame=line "${@:3}" "$1" >out.lines 2>log && cmp out.lines "$2" >log 2>&1
}

# only PATTERN...: whether no other files are there. A run whose unlink fails cannot help it.
only() {
    local name
    local -a names=()
    for name in "$@"; do
        names+=(! -name "$name")
    done
    found_at "${names[@]}" >log
    [ ! -s log ] || [ "$calls" = unlink ]
}

# new_bag PHASE FIRST SPEC FILES [OPTION...]: of a command that makes one of the new lines; FIRST is
# the file by which it is found.
new_bag() {
    case $1 in
    failed) [ -e "$2" ] || only || report "left behind" ;;
    ended) [ -e "$2" ] || report "lost" ;;
    finished) only "$4" || report "left behind" ;;
    esac
    if [ -e "$2" ]; then
        records "$3" new.lines "${@:5}" || report "not the new records"
    elif [ "$1" = finished ]; then
        report "not there"
    fi
}

# old_or_new_bag PHASE SPEC FILES...: of a command that makes a new one of an old one.
old_or_new_bag() {
    if [ "$1" = finished ] || [ "$1" = ended ]; then
        records "$2" new.lines || report "not the new records"
    else
        records "$2" new.lines || records "$2" old.lines || report "neither the old records nor the new"
    fi
    [[ $1 == @(killed|ended) ]] || only "${@:3}" || report "left behind"
}

start_bag() {
    make_lines
    mkdir start-bag
}
run_bag() {
    "$@" convert -q --frame=line new.lines at/a.bagz
}
again_bag() {
    "$@" convert -q --force --frame=line new.lines at/a.bagz
}
check_bag() {
    new_bag "$1" at/a.bagz at/a.bagz a.bagz
}

start_bagset() {
    make_lines
    mkdir start-bagset
}
run_bagset() {
    "$@" convert -q --frame=line --limits=separate new.lines at/a@3.bag
}
again_bagset() {
    "$@" convert -q --force --frame=line --limits=separate new.lines at/a@3.bag 2>/dev/null
}
check_bagset() {
    new_bag "$1" at/a-00000-of-00003.bag 'at/a@*.bag' '*a-0000[0-2]-of-00003.bag'
}

start_bagdeal() {
    make_lines
    mkdir start-bagdeal
}
run_bagdeal() {
    "$@" convert -q --frame=line --layout=interleaved new.lines at/a@3.bagz
}
again_bagdeal() {
    "$@" convert -q --force --frame=line --layout=interleaved new.lines at/a@3.bagz 2>/dev/null
}
check_bagdeal() {
    new_bag "$1" at/a-00000-of-00003.bagz 'at/a@*.bagz' 'a-0000[0-2]-of-00003.bagz' \
        --layout=interleaved
}

# A file is replaced at one moment, also where its limits stand beside it.
start_bagforce() {
    make_lines
    make_bag start-bagforce/a.bag --limits=separate
}
run_bagforce() {
    "$@" convert -q --force --frame=line --limits=separate new.lines at/a.bag
}
check_bagforce() {
    old_or_new_bag "$1" at/a.bag a.bag limits.a.bag
}

start_bagfold() {
    make_lines
    make_bag start-bagfold/a.bag --limits=separate
}
run_bagfold() {
    "$@" convert -q --force --frame=line new.lines at/a.bag
}
check_bagfold() {
    old_or_new_bag "$1" at/a.bag a.bag limits.a.bag
    [ "$1" != finished ] || [ ! -e at/limits.a.bag ] || report "limits of the old bag"
}

# A set that is replaced is not there for a moment; its parts are never taken for it.
start_bagreset() {
    make_lines
    make_bag start-bagreset/a@3.bagz
}
run_bagreset() {
    "$@" convert -q --force --frame=line new.lines at/a@3.bagz 2>/dev/null
}
check_bagreset() {
    local first=at/a-00000-of-00003.bagz
    [ "$1" != finished ] || only 'a-0000[0-2]-of-00003.bagz' || report "left behind"
    if [ -e $first ] || [[ $1 == @(finished|ended) ]]; then
        records 'at/a@*.bagz' new.lines ||
            { [[ $1 != @(finished|ended) ]] && records 'at/a@*.bagz' old.lines; } ||
            report "neither the old records nor the new"
    fi
}

# Where no later call succeeds either, an append cannot be undone: that is left to the next writer.
left_to_next() {
    [ "$1" != failed ] || [ -z "${onward-}" ] || echo '*a.bag*'
}

start_bagappend() {
    make_lines
    make_bag start-bagappend/a.bagz
}
run_bagappend() {
    "$@" convert -q --append --frame=line more.lines at/a.bagz
}
# What was appended is rightly appended once more, but not here.
again_bagappend() {
    local lines=more.lines
    ! records at/a.bagz new.lines || lines=no.lines
    "$@" convert -q --append --frame=line $lines at/a.bagz
}
check_bagappend() {
    old_or_new_bag "$1" at/a.bagz a.bagz "$(left_to_next "$1")"
}

start_bagaside() {
    make_lines
    make_bag start-bagaside/a.bag --limits=separate
}
run_bagaside() {
    "$@" convert -q --append --frame=line more.lines at/a.bag
}
again_bagaside() {
    local lines=more.lines
    ! records at/a.bag new.lines || lines=no.lines
    "$@" convert -q --append --frame=line $lines at/a.bag
}
check_bagaside() {
    old_or_new_bag "$1" at/a.bag a.bag limits.a.bag "$(left_to_next "$1")"
}

# What an append that was killed left: a journal, and new bytes over the limits. It is undone first,
# and where that fails the journal stays.
start_bagundo() {
    local limits=8000 size
    make_lines
    make_bag start-bagundo/a.bagz --force
    size=$(stat -c %s start-bagundo/a.bagz)
    tail -c $limits start-bagundo/a.bagz >start-bagundo/limits.a.bagz
    printf 'shardbox append to tail: records end at %d, limits take %d\n' $((size - limits)) $limits \
        >start-bagundo/.a.bagz.shardbox-lock
    head -c 20000 /dev/zero | put start-bagundo/a.bagz $((size - limits))
}
run_bagundo() {
    run_bagappend "$@"
}
again_bagundo() {
    again_bagappend "$@"
}
check_bagundo() {
    local left=a.bagz
    [ "$1" != failed ] || left='*a.bag*'
    old_or_new_bag "$1" at/a.bagz "$left"
}

# The keys come first: where the bag is, they are.
start_bagkeys() {
    mkdir start-bagkeys
    "$SHARDBOX" pack --shard-size=6k -C new archive.barecat .
    "$SHARDBOX" convert -q --keys=whole.keys.bag archive.barecat whole.bag
}
run_bagkeys() {
    "$@" convert -q --keys=at/k@2.bag archive.barecat at/a.bag
}
again_bagkeys() {
    "$@" convert -q --force --keys=at/k@2.bag archive.barecat at/a.bag 2>/dev/null
}
check_bagkeys() {
    case $1 in
    failed) [ -e at/a.bag ] || only || report "left behind" ;;
    ended) [ -e at/a.bag ] || report "lost" ;;
    finished) only a.bag 'k-0000[01]-of-00002.bag' || report "left behind" ;;
    esac
    if [ -e at/a.bag ]; then
        cmp at/a.bag whole.bag >log 2>&1 || report "not the records"
        "$SHARDBOX" cat --frame=u32 whole.keys.bag >whole.keys
        "$SHARDBOX" cat --frame=u32 'at/k@*.bag' 2>log | cmp - whole.keys >>log 2>&1 ||
            report "not their keys"
    elif [ "$1" = finished ]; then
        report "not there"
    fi
}

# Records and their keys are added together: both, or neither. What a kill leaves of one of them the
# next writer of either puts right.
start_bagpair() {
    make_pairs start-bagpair
}
run_bagpair() {
    "$@" convert -q --append --keys=at/k.bagz pairs-more at/a.bagz
}
again_bagpair() {
    local tree=pairs-more
    case $((faults % 3)) in
    0) "$@" convert -q --append pairs-none at/k.bagz || return ;;
    1) "$@" convert -q --append pairs-none at/a.bagz || return ;;
    esac
    ! pairs_are 60 || tree=pairs-none
    "$@" convert -q --append --keys=at/k.bagz $tree at/a.bagz
}
check_bagpair() {
    local files=(a.bagz k.bagz limits.k.bagz) count
    # With later calls failing too, all that is not done is left to the next writer.
    if [ "$1" = killed ] || { [ "$1" = failed ] && [ -n "${onward-}" ]; }; then
        for count in 20 60; do
            ! lines_of at/a.bagz $count || break
        done
        [ "$lines" = $count ] || report "records: $lines"
        lines_of at/k.bagz 20 || lines_of at/k.bagz 60 || report "keys: $lines"
        return
    fi
    if [ "$1" = failed ]; then
        pairs_are 60 || pairs_are 20 || report "neither the old records and keys nor the new"
    else
        pairs_are 60 || report "not the new records and keys"
    fi
    [ "$1" = ended ] || only "${files[@]}" || report "left behind"
}

# As above, where the keys have their limits beside them.
start_bagpairaside() {
    make_pairs start-bagpairaside
    "$SHARDBOX" convert -q --limits=separate start-bagpairaside/k.bagz k.bagz
    mv k.bagz limits.k.bagz start-bagpairaside
}
run_bagpairaside() {
    run_bagpair "$@"
}
again_bagpairaside() {
    again_bagpair "$@"
}
check_bagpairaside() {
    check_bagpair "$@"
}

# make_pairs DIRECTORY: a bag of 20 records and their keys, in it; and trees of 40 more, and of none.
make_pairs() {
    local i
    mkdir -p "$1" pairs-old pairs-more pairs-none
    for i in {100..119}; do
        printf 'record %s' "$i" >"pairs-old/$i"
    done
    for i in {200..239}; do
        printf 'record %s' "$i" >"pairs-more/$i"
    done
    "$SHARDBOX" convert -q --keys="$1/k.bagz" pairs-old "$1/a.bagz"
}

# lines_of BAG COUNT: whether it has so many records; `lines` is their number.
lines_of() {
    lines=$("$SHARDBOX" cat --frame=line "$1" 2>log | sort -u | wc -l)
    [ "$lines" = "$2" ]
}

# pairs_are COUNT: whether there are so many records, and each has its key.
pairs_are() {
    lines_of at/a.bagz "$1" && cmp <("$SHARDBOX" cat --frame=line at/a.bagz | cut -d' ' -f2) \
        <("$SHARDBOX" cat --frame=line at/k.bagz) >log 2>&1
}

# The limits of the shards of an archive: each file is whole, or not there.
start_limits() {
    make_old start-limits 6k
    cp -a start-limits whole
    "$SHARDBOX" convert --limits-only --keys=whole/keys.bag whole/a.barecat
}
run_limits() {
    "$@" convert --limits-only --keys=at/keys.bag at/a.barecat
}
again_limits() {
    "$@" convert --limits-only --force --keys=at/keys.bag at/a.barecat
}
check_limits() {
    local file
    case $1 in
    failed | finished)
        only a.barecat 'a.barecat-shard-*' 'limits.a.barecat-shard-0000?' keys.bag ||
            report "left behind"
        ;;
    esac
    for file in whole/*; do
        file=${file#whole/}
        if [ -e "at/$file" ]; then
            cmp "at/$file" "whole/$file" >log 2>&1 || report "$file is neither whole nor missing"
        elif [[ $1 == @(finished|ended) || $file == a.barecat* ]]; then
            report "$file is not there"
        fi
    done
}

# Caches. make_keys: trees of arrays, a directory for each key: of the cache before, what is added,
# and both, where of a key in both the added one counts. make_key DIRECTORY TEXT: an array of 100
# bytes, and a pickle.
make_keys() {
    local i
    rm -rf old.keys more.keys new.keys old.caches
    for i in 0 1 2 3 4 5; do
        [ $i -gt 3 ] || make_key "old.keys/m:$i" "old $i"
        [ $i -lt 3 ] || make_key "more.keys/m:$i" "new $i"
    done
    cp -r old.keys new.keys
    cp -r more.keys/. new.keys
}
make_key() {
    mkdir -p "$1"
    printf "\x93NUMPY\1\0v\0%-117s\n%-100s" "{'descr': '|u1', 'fortran_order': False, 'shape': (100,), }" \
        "$2" >"$1/x.npy"
    printf '%s' "$2" >"$1/y.pkl"
}

# make_cache CACHE TREE
make_cache() {
    mkdir -p "$(dirname "$1")"
    "$SHARDBOX" convert -q --to=cache --segment-size=250 "$2" "$1"
}

# same_keys TREE: whether these are the cache's.
same_keys() {
    rm -rf out
    "$SHARDBOX" convert -q --to=dir at/m out >log 2>&1 && diff -r out "$1" >>log 2>&1
}

# finished_cache TREE: found by its index, too, and without anything that is not its own.
finished_cache() {
    local key
    same_keys "$1" || report "not the new keys"
    for key in "$1"/*; do
        "$SHARDBOX" cat at/m "${key##*/}/y" 2>log | cmp - "$key/y.pkl" >>log 2>&1 ||
            report "${key##*/}: not found"
    done
    verified at/m || report "verify"
    only_cache || [[ $fault == allocation* ]] || report "left behind"
}
# What is replaced is removed by the next run where memory does not suffice.
only_cache() {
    only m segments index.pkl schema.json 'segment_00000[0-9].arrow'
}

# What the next run removes or puts back.
left_of_cache=('.m.shardbox-*' '*.shardbox.tmp')

start_cache() {
    make_keys
    mkdir start-cache
}
run_cache() {
    "$@" convert -q --to=cache --segment-size=250 new.keys at/m
}
again_cache() {
    "$@" convert -q --force --to=cache --segment-size=250 new.keys at/m
}
check_cache() {
    case $1 in
    failed) [ -e at/m ] || only "${left_of_cache[0]}" || report "left behind" ;;
    ended) [ -e at/m ] || report "lost" ;;
    finished) finished_cache new.keys ;;
    esac
    [ ! -e at/m ] || same_keys new.keys || report "not the new keys"
}

start_cacheforce() {
    make_keys
    make_cache start-cacheforce/m old.keys
}
run_cacheforce() {
    "$@" convert -q --force --to=cache --segment-size=250 new.keys at/m
}
check_cacheforce() {
    case $1 in
    ended) same_keys new.keys || report "not the new keys" ;;
    finished) finished_cache new.keys ;;
    *) same_keys new.keys || same_keys old.keys || report "neither the old keys nor the new" ;;
    esac
}

# Segments come one after the other: of the added keys some may be there.
start_cacheappend() {
    make_keys
    make_cache start-cacheappend/m old.keys
}
run_cacheappend() {
    "$@" convert -q --append --segment-size=250 more.keys at/m
}
check_cacheappend() {
    local key
    case $1 in
    ended) same_keys new.keys || report "not the new keys" ;;
    finished) finished_cache new.keys ;;
    *)
        same_keys old.keys || same_keys new.keys || {
            for key in out/*; do
                diff -r "$key" "old.keys/${key##*/}" >log 2>&1 ||
                    diff -r "$key" "new.keys/${key##*/}" >>log 2>&1 || report "${key##*/}: neither"
            done
            [ -z "$(cd old.keys && find . ! -exec test -e ../out/{} \; -print)" ] || report "keys are lost"
        }
        # Its index knows no segment that was taken back.
        [ "$1" != failed ] || [ -n "${onward-}" ] || verified at/m || report "verify"
        ;;
    esac
}

# Its index knows nothing of the second segment, and killed jobs have left something.
start_cacherepair() {
    make_keys
    make_cache start-cacherepair/m old.keys
    cp start-cacherepair/m/index.pkl stale.pkl
    "$SHARDBOX" convert -q --append more.keys start-cacherepair/m
    cp stale.pkl start-cacherepair/m/index.pkl
    printf half >start-cacherepair/m/index.pkl.tmp
    printf half >start-cacherepair/m/segments/segment_000009.arrow.tmp
}
run_cacherepair() {
    "$@" verify -q --repair --force at/m
}
# The index is the old one or the new one, and left-overs are there or not.
check_cacherepair() {
    # Where its removal was what failed there is nothing left to be repaired, and to take it over for.
    [ -s at/.m.shardbox-lock ] || rm -f at/.m.shardbox-lock
    if [ "$1" = finished ]; then
        finished_cache new.keys
        "$SHARDBOX" verify -q at/m >log 2>&1 || report "verify"
        return
    fi
    same_keys new.keys || report "not the keys"
    "$SHARDBOX" verify -q at/m >log 2>&1
    [ $? -lt 2 ] || report "cannot be verified"
    ! grep '^[a-z]*: ' log | grep -Ev '^leftover: |^stale: index.pkl: [0-9]* of' || report "damaged"
    [ "$1" = ended ] || cmp -s stale.pkl at/m/index.pkl || ! grep -q '^stale: ' log || report "neither index"
}

start_recache() {
    make_keys
    mkdir start-recache
    make_cache old.caches/1 old.keys
    make_cache old.caches/2 more.keys
}
run_recache() {
    "$@" convert -q --compact --segment-size=250 old.caches/1 old.caches/2 at/m
}
again_recache() {
    "$@" convert -q --compact --force --segment-size=250 old.caches/1 old.caches/2 at/m
}
check_recache() {
    check_cache "$1"
}
