# Parts are joined: merge and merge-symlink name those that are missing.

load helper

# Three of four parts, in two directories.
setup() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir p q
    for i in 0 1 3; do
        echo "$i" >"f$i"
        sb pack "p/x-0000$i-of-00004.barecat" "f$i"
    done
    mv p/x-00003* q
}

parts=(p/x-00000-of-00004.barecat p/x-00001-of-00004.barecat q/x-00003-of-00004.barecat)
missing="x-*-of-00004.barecat: parts are missing: 3 of 4; make them with --part=I/4, then join all"

@test "a part that is missing is named, and the others are joined" {
    for command in merge merge-symlink; do
        run_fail 1 sb $command -o $command.barecat "${parts[@]}"
        stderr_is "shardbox $command: $missing
shardbox $command: $command.barecat: done in part; problems, named above: 1"
        [[ $(sb find $command.barecat | paste -sd ' ') == 'f0 f1 f3' ]]
        run_fail 1 sb $command -n -o other.barecat "${parts[@]}"
        stderr_has "$missing"
    done
}

@test "all of them, in any order, are joined in silence" {
    sb pack x-00002-of-00004.barecat -T /dev/null
    for command in merge merge-symlink; do
        run_ok sb $command -o $command.barecat x-*.barecat q/x-*.barecat p/x-*.barecat
        stderr_is ""
    done
}

@test "--strict makes nothing of a set that is not whole" {
    run_fail 2 sb merge --strict -o out.barecat "${parts[@]}"
    stderr_has "$missing"
    [[ ! -e out.barecat ]]
}

@test "what is added to an archive is no set" {
    sb pack out.barecat -T /dev/null
    for command in merge merge-symlink; do
        run_ok sb $command --append --duplicates=last -o out.barecat "${parts[0]}"
        stderr_is ""
    done
}

@test "the number stands for {}; names that have a number of their own are one set" {
    mkdir in
    for i in {1..9}; do echo "$i" >"in/$i"; done
    for i in 1 2 3; do
        sb pack --part=$i/3 "x.{}.barecat" in
        sb pack --part=$i/3 "p$i.barecat" in
    done
    [[ $(echo x.*.barecat) == 'x.00000-of-00003.barecat x.00001-of-00003.barecat x.00002-of-00003.barecat' ]]
    run_ok sb merge-symlink -o one.barecat p?-*.barecat
    stderr_is ''
    [[ $(sb find --type=f one.barecat | wc -l) == 9 ]]
    run_fail 1 sb merge-symlink -o two.barecat p1-*.barecat p2-*.barecat
    stderr_has 'p1-*-of-00003.barecat: parts are missing: 2-3 of 3'
}
