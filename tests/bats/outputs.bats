#!/usr/bin/env bats
# Outputs that are one file, or one directory: whose name is whose, when two are made at once or one
# is killed.

load helper
load cache

outputs=(a.tar a.tar.gz a.zip a.syr a.jsonl a.bag a.bagz m)
files=(a.tar a.tar.gz a.zip a.syr a.jsonl) # of these that are one file

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    make_npy <<'END'
tree/00000000/x.npy int32 [3] 1 2 3
tree/00000001/x.npy int32 [3] 4 5 6
END
    tar cf in.tar -C tree 00000000 00000001
    mkdir at
    mkfifo pipe
}

# What makes an OUTPUT of in.tar: convert, with these options.
options_of() {
    options=(-q --from=tar)
    case $1 in
    a.jsonl) options+=(--frame=jsonl) ;;
    m) options+=(--to=cache) ;;
    esac
}

# begin OUTPUT [OPTION...]: makes it in `at`; waits for the end of its input, on descriptor 7.
begin() {
    options_of "$1"
    "$SHARDBOX" convert "${options[@]}" "${@:2}" - "at/$1" <pipe 2>stderr 7>&- &
    writer=$!
    exec 7>pipe
    head -c 1024 in.tar >&7
    for _ in {1..200}; do
        compgen -G "at/.$1.shardbox-*" >/dev/null && return
        sleep 0.05
    done
    fail "nothing is made for $1"
}

# The writer gets the rest, and ends with that status.
ends() {
    # One that is refused may be so before it has read all.
    tail -c +1025 in.tar >&7 || (($1 != 0))
    exec 7>&-
    status=0
    wait "$writer" || status=$?
    # shellcheck disable=SC2034 # for stderr_has
    stderr=$(<stderr)
    refuse_crash || return
    ((status == $1)) || fail "exit status is not $1"
}

killed() {
    kill -KILL "$writer"
    wait "$writer" || (($? == 137)) || fail 'not killed'
    exec 7>&-
}

# make OUTPUT [OPTION...]
make() {
    options_of "$1"
    sb convert "${options[@]}" "${@:2}" - "at/$1" <in.tar
}

# whole OUTPUT: it is what one makes alone, and nothing else is there.
whole() {
    [[ -e alone/$1 ]] || {
        mkdir -p alone
        options_of "$1"
        run_ok sb convert "${options[@]}" - "alone/$1" <in.tar
    }
    diff -r "alone/$1" "at/$1" || fail "$1 is another"
    [[ $(ls -A at) == "$1" ]] || fail "left behind: $(ls -A at)"
}

@test "what a killed run leaves is cleared by the next one to the same output, and does not add up" {
    for target in "${outputs[@]}"; do
        for _ in 1 2 3; do
            begin "$target"
            killed
            (($(ls -A at | wc -l) <= 2)) || fail "$(ls -A at)"
        done
        run_ok make "$target"
        whole "$target"
        begin "$target" --force
        killed
        run_ok make "$target" --force
        whole "$target"
        rm -r "at/$target"
    done
}

@test "a second run beside a living one is refused, and the first one ends well" {
    for target in "${outputs[@]}"; do
        begin "$target"
        for force in '' --force; do
            run_fail 2 make "$target" $force
            stderr_is "shardbox convert: at/$target: another process, perhaps on another machine, is \
writing it; wait for it, or give --wait"
        done
        ends 0
        stderr_is ''
        whole "$target"
        rm -r "at/$target"
    done
}

@test "an output that appears while it is made is not replaced" {
    for target in "${outputs[@]}"; do
        begin "$target"
        echo theirs >"at/$target"
        ends 2
        # Its own name is there a moment before it looks for the other.
        [[ $stderr == *"$target: exists already"* ]] ||
            stderr_has "$target: was made by another program meanwhile"
        [[ $(ls -A at) == "$target" && $(<"at/$target") == theirs ]] || fail "$(ls -A at)"
        rm "at/$target"
    done
}

@test "likewise where the file system has no renaming that replaces nothing" {
    need_shim
    local at
    for target in "${outputs[@]}"; do
        # The first one of a cache is that of its schema.json.
        at=1
        [[ $target != m ]] || at=2
        LD_PRELOAD=$FAULT_SHIM FAULT_CALLS=rename FAULT_AT=$at FAULT_HOW=EINVAL begin "$target"
        echo theirs >"at/$target"
        ends 2
        stderr_has "$target: was made by another program meanwhile"
        [[ $(ls -A at) == "$target" && $(<"at/$target") == theirs ]] || fail "$(ls -A at)"
        rm "at/$target"
        run_ok env LD_PRELOAD="$FAULT_SHIM" FAULT_CALLS=rename FAULT_AT=$at FAULT_HOW=EINVAL \
            bash -c '"$SHARDBOX" convert "${@:2}" - "at/$1" <in.tar' - "$target" "${options[@]}"
        whole "$target"
        rm -r "at/$target"
    done
}

@test "a file of such a name that no run left is refused, and stays" {
    echo precious >precious
    for target in "${files[@]}"; do
        local name=.$target.shardbox-out
        for make in 'ln precious' 'ln -s ../precious' mkdir mkfifo; do
            $make "at/$name"
            run_fail 2 make "$target"
            stderr_is "shardbox convert: at/$target: cannot be written, for at/$name is in the way, and \
nothing that an interrupted run left; move it away"
            [[ $(ls -A at) == "$name" && $(<precious) == precious ]]
            rm -r "at/$name"
        done
    done
    for name in .a.bag .m; do
        echo precious >"at/$name.shardbox-lock"
        run_fail 2 make "${name#.}"
        stderr_has 'is in the way, and nothing that an interrupted run left'
        [[ $(ls -A at) == "$name.shardbox-lock" && $(<"at/$name.shardbox-lock") == precious ]]
        rm "at/$name.shardbox-lock"
    done
}

@test "files with names that are nearly so stay" {
    local names=(.a.tar.shardbox-out2 .a.tar.shardbox-ou .shardbox-0123456789abcdef .a.tar.shardbox-new
        a.tar.shardbox-out .a.zip.shardbox-out .a.tar.tmp .b-00000.bag.shardbox-new.keep
        .b-0000.bag.shardbox-new .b-00000.bagz.shardbox-new .bb-00000.bag.shardbox-new
        .b-00000.bag.x.shardbox-new .b-00000.bag.shardbox-new.shardbox-new)
    for name in "${names[@]}"; do
        echo "$name" >"at/$name"
    done
    run_ok make a.tar
    rm at/.a.tar.shardbox-new # the bag's own name
    names=("${names[@]/.a.tar.shardbox-new/}")
    run_ok make b@2.bag
    run_ok make b@2.bag --force
    for name in "${names[@]}"; do
        [[ -z $name || $(<"at/$name") == "$name" ]] || fail "$name is gone"
    done
}

@test "nothing of a stranger's in the directory of a cache is removed with it" {
    for name in segments/segment_notes.tmp segments/segment_000000.arrow.notes.tmp index.pkl.mine.tmp \
        .notes.shardbox-out; do
        run_ok make m
        echo mine >"at/m/$name"
        run_fail 2 make m --force
        stderr_has "which is no part of a cache"
        [[ $(<"at/m/$name") == mine ]]
        run_ok sb convert -q --append --from=tar in.tar at/m
        sb verify -q --repair --force at/m || (($? == 1))
        [[ $(<"at/m/$name") == mine ]] || fail "$name"
        rm -r at/m
    done
}

@test "parts that split makes: each has a name of its own, and the next run clears them" {
    need_shim
    run_ok sb pack a.barecat -C tree .
    local n
    for ((n = 1; ; n++)); do
        rm -f mark
        run --separate-stderr env LD_PRELOAD="$FAULT_SHIM" FAULT_CALLS=write,sync,rename,close,create,unlink \
            FAULT_AT=$n FAULT_HOW=kill FAULT_MARK=mark "$SHARDBOX" split -q -f --parts=2 -o 'at/s{}.tar' \
            a.barecat
        [[ -e mark ]] || break
        ((n % 3)) || continue
        run_ok sb split -q -f --parts=2 -o 'at/s{}.tar' a.barecat
        [[ $(cd at && echo *) == 's0.tar s1.tar' && $(ls -A at | wc -l) == 2 ]] || fail "$n: $(ls -A at)"
    done
    ((n > 8 && status == 0))
}

@test "a name may be as long as a name can be" {
    local name
    name=$(printf '%0251d.tar' 0)
    run_ok sb convert -q in.tar "at/$name"
    [[ $(ls -A at) == "$name" ]]
    cmp <(tar tf in.tar --wildcards '*.npy' | sort) <(tar tf "at/$name" --wildcards '*.npy' | sort)
}

@test "a signal removes it" {
    for target in "${outputs[@]}"; do
        begin "$target"
        kill -TERM "$writer"
        wait "$writer" || (($? == 143)) || fail "status $?"
        exec 7>&-
        [[ -z $(ls -A at) ]] || fail "$(ls -A at)"
    done
}

@test "where locks do not work the name is one, as of a bag" {
    need_shim
    local -a unlocked=(env LD_PRELOAD="$FAULT_SHIM" FAULT_CALLS=lock FAULT_AT=1 FAULT_ONWARD=1
        FAULT_HOW=ENOLCK)
    run_ok "${unlocked[@]}" "$SHARDBOX" convert -q in.tar at/a.zip
    [[ $(ls -A at) == a.zip ]]
    echo half >at/.a.zip.shardbox-out
    run_fail 2 "${unlocked[@]}" "$SHARDBOX" convert -q --force in.tar at/a.zip
    stderr_is "shardbox convert: at/a.zip: another process is writing it, or was killed, which look the \
same where locks do not work; if none runs, remove $PWD/at/.a.zip.shardbox-out"
    run_ok sb convert -q --force in.tar at/a.zip
    [[ $(ls -A at) == a.zip ]]
}
