#!/usr/bin/env bats
# Apache Beam reads bags that we write, and we read what it writes: by the connector of Bagz.

load ../bats/helper

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    [[ -e $PEERS/beam-2.77.0/ready ]] || skip "no Apache Beam here"
}

beam() {
    "$PEERS/beam-2.77.0/bin/python" "$PROJECT/tests/peers/beam.py" "$@" 2>beam-errors ||
        { cat beam-errors >&2 && return 1; }
}

# digest_of SPEC: of the records that we read there, sorted, as beam.py has it.
digest_of() {
    sb cat --frame=u64 "$1" | beam frames
}

@test "we read what Beam writes: one shard, a number of shards, as many as it likes" {
    beam digest 500 >wanted
    for spec in one@0.bagz two@2.bagz three@3.bag 'any@*.bagz' 'any@*.bag'; do
        beam write "$PWD/$spec" 500
        run_ok sb verify "${spec/@0/}"
        digest_of "${spec/@0/}" | cmp - wanted || fail "$spec"
    done
}

@test "Beam reads what we write: shards by count and by size, one file, limits beside it" {
    beam digest 500 >wanted
    beam write "$PWD/whole@0.bagz" 500
    sb convert --count=90 whole.bagz 'count@*.bagz'
    sb convert --shard-size=10K whole.bagz 'size@*.bag'
    sb convert whole.bagz 'even@7.bagz'
    sb convert whole.bagz one.bag
    for spec in 'count@*.bagz' 'size@*.bag' even@7.bagz one.bag; do
        beam read "$PWD/$spec" | cmp - wanted || fail "$spec"
    done
}

@test "Beam reads what was written in parts, one of which is empty" {
    beam digest 5 >wanted
    beam write "$PWD/whole@0.bagz" 5
    for part in 6 2 1 3 5 4; do
        sb convert --part=$part/6 whole.bagz 'parts@*.bagz'
    done
    beam read "$PWD/parts@*.bagz" | cmp - wanted
    beam read "$PWD/parts@6.bagz" | cmp - wanted
}

@test "parts of what Beam has written are the whole" {
    beam digest 500 >wanted
    beam write "$PWD/many@5.bagz" 500
    for part in 1 2 3; do
        sb convert --part=$part/3 many@5.bagz three.bag
    done
    digest_of three@3.bag | cmp - wanted
    for part in 1 2 3 4; do
        sb cat --part=$part/4 --frame=u64 many@5.bagz
    done | beam frames | cmp - wanted
}

@test "what Beam has written goes into an archive, and comes back as its records" {
    beam write "$PWD/a@3.bagz" 200
    sb convert a@3.bagz a.barecat
    sb convert a.barecat 'b@*.bagz' --count=50
    beam read "$PWD/b@*.bagz" | cmp - <(beam digest 200)
}
