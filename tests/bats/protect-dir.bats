#!/usr/bin/env bats
# shardbox protect --parity-dir: parity files that are elsewhere.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR" || exit
    mkdir here there par
    seq 5000 >here/f
    cp here/f there/
    seq 3 >>there/f
    touch -d 2001-02-03 here/f there/f
}

# damage FILE: the time stays.
damage() {
    touch -r "$1" time
    printf XXXX | dd of="$1" bs=1 seek=100 conv=notrunc status=none
    touch -r time "$1"
}

@test "a parity file is made, checked, used, brought up to date and removed in DIR" {
    run_ok sb protect --parity-dir=par here/f
    [[ $(echo here/* par/*) == 'here/f par/f-parity' ]]
    run_ok sb protect --parity-dir=par/ --check -v here/f
    stderr_has 'here/f: is sound'
    cp -p here/f good
    damage here/f
    run_fail 1 sb protect --parity-dir=par --check here/f
    run_ok sb protect --parity-dir=par --repair here/f
    cmp here/f good
    echo more >>here/f
    run_fail 1 sb protect --parity-dir=par --check here/f
    stderr_has 'here/f: changed since'
    run_ok sb protect --parity-dir=par --update here/f
    # Another way to the same file.
    (cd here && run_ok sb protect --parity-dir=../par --check f)
    ln -s here way
    run_ok sb protect --parity-dir=par --check way/f
    run_ok sb protect --parity-dir=par --remove here/f
    [[ $(ls -A par) == f-before-repair && $(echo here/*) == here/f ]]
}

@test "two files of one name are not taken for each other" {
    run_ok sb protect --parity-dir=par here/f
    cp -p par/f-parity before
    for act in --redundancy=5% --update --check --repair --remove; do
        run_fail 2 sb protect --parity-dir=par $act there/f
        stderr_is "shardbox protect: par/f-parity: is of another file than $PWD/there/f, or of its former place; give another --parity-dir, or move it beside its file"
        cmp par/f-parity before
    done
    # Nor one that is made beside its file, and has no path.
    run_ok sb protect there/f
    mv there/f-parity par/
    run_fail 2 sb protect --parity-dir=par --update there/f
    stderr_has 'par/f-parity: is of another file than'
}

@test "a file that was moved is protected by its parity file beside it" {
    run_ok sb protect --parity-dir=par here/f
    mv here elsewhere
    run_fail 2 sb protect --parity-dir=par --check elsewhere/f
    stderr_has 'or of its former place'
    mv par/f-parity elsewhere
    run_ok sb protect --check -v elsewhere/f
    stderr_has 'elsewhere/f: is sound'
}

@test "an archive with all its shards; a missing one is known by its parity file in DIR" {
    for i in 1 2 3 4; do seq "$i" 6000 >"there/$i"; done
    run_ok sb pack --shard-size=60K here/a -C there .
    run_ok sb protect --parity-dir=par here/a
    [[ $(cd par && echo *) == 'a-parity a-shard-00000-parity a-shard-00001-parity a-shard-00002-parity' ]]
    run_ok sb protect --parity-dir=par --check here/a
    damage here/a-shard-00001
    run_ok sb protect --parity-dir=par --repair here/a
    run_ok sb verify here/a
    rm here/a-shard-00001
    run_fail 2 sb protect --parity-dir=par --check here/a
    stderr_has 'here/a-shard-00001: is missing'
}

@test "a DIR that is missing, or none, is named" {
    run_fail 2 sb protect --parity-dir=nowhere here/f
    stderr_has 'nowhere/'
    stderr_has 'No such file or directory'
    run_fail 2 sb protect --parity-dir=here/f here/f
    stderr_has 'Not a directory'
}
