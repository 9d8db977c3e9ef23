#!/usr/bin/env bats
# Samples are those that WebDataset 1.0.2 makes of the same names, and it reads what was split.

load ../bats/helper

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    [[ -e $PEERS/webdataset-1.0.2/ready ]] || skip "no webdataset here"
}

samples() {
    "$PEERS/webdataset-1.0.2/bin/python" "$PROJECT/tests/peers/samples.py" "$@"
}

@test "10,000 hard names are grouped as WebDataset groups them" {
    samples names >list
    (($(wc -l <list) == 10000))
    "$SAMPLE_NAMES" filter <list >ours
    samples check list ours
}

@test "what is split by --samples has each sample whole, as WebDataset reads it" {
    samples tar set.tar 500
    run_ok sb split -q --samples --ratio=train=0.7,val=0.3 -o '{}.tar' set.tar
    samples whole set.tar train.tar val.tar
}

@test "what is converted by --samples has the files of each next to each other, as WebDataset needs them" {
    samples tar set.tar 500
    run_ok sb convert -q --samples set.tar out.tar
    samples neighbours set.tar out.tar
    run_ok sb convert -q set.tar set.barecat
    run_ok sb convert -q --force --samples set.barecat out.tar
    samples neighbours set.tar out.tar
}

@test "50 tars with what belongs to no sample have the samples and extensions that WebDataset makes of them" {
    samples odd 50
    for i in {0..49}; do
        sb ls -q --samples --json "$i.tar" >"$i.json"
    done
    samples same 50
}
