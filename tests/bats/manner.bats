# What is alike in all commands: options that several have, what they replace, print and leave.

load helper

# Two trees: `same`, `link` and `large` are alike, `other` is not, and each has a file of its own.
make_pair() {
    mkdir -p one/d two/d
    seq 500000 >one/large
    cp one/large two/large
    echo same | tee one/same >two/same
    ln -s same one/link
    ln -s same two/link
    ln one/same one/z-again
    ln two/same two/z-again
    echo 1 >one/d/1
    echo 2 >two/d/2
    local name
    for name in one two; do
        [[ -z ${1-} ]] || echo "$name" >$name/other
        tar cf $name.tar -C $name .
        sb pack $name.barecat -C $name .
        (cd $name && zip -qry ../$name.zip .)
    done
}

@test "two files of one name with the same bytes are no conflict, whatever holds them" {
    make_pair
    for inputs in 'one two' 'one.tar two.tar' 'one.barecat two.barecat' 'one.zip two.zip' 'one.tar two.zip' 'one.barecat two'; do
        read -ra inputs <<<"$inputs"
        for target in out.barecat out.tar out.zip out/; do
            run_ok sb convert -n "${inputs[@]}" "$target"
            stderr_is ""
            [[ ! -e $target ]]
            run_ok sb convert "${inputs[@]}" "$target"
            [[ $(grep -c -v 'not held by\|hard link' <<<"$stderr") == 0 || -z $stderr ]] || fail "said"
            [[ $target == */ ]] || [[ $(sb cat "$target" same d/1 d/2) == $'same\n1\n2' ]]
            rm -r "$target"*
        done
        run_ok sb merge -q "${inputs[@]}" out.barecat
        stderr_is ""
        run_ok sb verify --strict out.barecat
        # Nothing is stored twice.
        (($(stat -c %s out.barecat-shard-00000) == $(sql out.barecat "SELECT sum(size) FROM files")))
        rm out.barecat*
        sb pack out.barecat -C one .
        before=$(stat -c %s out.barecat-shard-00000)
        for command in 'convert -q --append' 'merge -q --append'; do
            # shellcheck disable=SC2086 # words
            run_ok sb $command "${inputs[1]}" out.barecat
            stderr_is ""
        done
        (($(stat -c %s out.barecat-shard-00000) == before + 2))
        rm out.barecat*
    done
    sb pack out.barecat -C one .
    run_ok sb pack --append out.barecat -C two .
    stderr_is ""
    run_ok sb pack -f out.barecat -C one . -C ../two .
    run_ok sb verify --strict out.barecat
}

@test "a conflict is named with both places, in every command, and --duplicates is the same in all" {
    make_pair other
    for input in '' .tar .barecat .zip; do
        run_fail 1 sb convert -q one$input two$input out.barecat
        stderr_is "shardbox convert: other: is in one$input and in two$input; only the first is taken (see --duplicates)
shardbox convert: out.barecat: done in part; problems, named above: 1"
        [[ $(sb cat out.barecat other) == one ]]
        rm out.barecat*
        run_fail 2 sb merge -q one$input two$input out.barecat
        stderr_is "shardbox merge: other: is in one$input and in two$input (see --duplicates, --prefix and --as-subdirs)"
        [[ ! -e out.barecat ]]
        for which in first last; do
            for command in convert merge; do
                run_ok sb $command -q --duplicates=$which one$input two$input out.barecat
                [[ $(sb cat out.barecat other) == $([[ $which == first ]] && echo one || echo two) ]]
                rm out.barecat*
            done
        done
    done
    run_fail 1 sb pack out.barecat -C one . -C ../two .
    stderr_has "'other' was already given as ./other; left out (see --duplicates)"
    [[ $(grep -c 'already given' <<<"$stderr") == 1 ]]
    for command in pack convert merge; do
        run_ok sb $command --help-all
        grep -A2 -- ' --duplicates=WHICH' <<<"$output" | tr -d ' \n' | grep -q '{error|first|last}'
    done
}
