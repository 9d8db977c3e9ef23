#!/usr/bin/env bats
# Names in Unicode NFC and NFD, which macOS makes: two names to every command, and a message says so.

load helper

nfc=$'caf\xc3\xa9' nfd=$'cafe\xcc\x81'

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir -p nfc/"$nfc" nfd/"$nfd"
    for form in nfc nfd; do
        echo one >"$form/${!form}.txt"
        echo two >"$form/${!form}/x"
        echo plain >"$form/plain"
        find "$form" -exec touch -d '2024-05-06 07:08:09' {} +
        sb pack "$form.barecat" -C "$form" .
        tar -cf "$form.tar" -C "$form" .
        tar -czf "$form.tgz" -C "$form" .
        python3 - "$form" <<'PYTHON'
import pathlib, sys, zipfile
with zipfile.ZipFile(sys.argv[1] + ".zip", "w") as out:
    for path in sorted(pathlib.Path(sys.argv[1]).rglob("*")):
        out.write(path, path.relative_to(sys.argv[1]))
PYTHON
    done
}

hint='; it is there in Unicode form'

# Each command, of a file and of what is below a directory; both ways.
asks() {
    run_fail 1 sb "$@"
    stderr_has "$hint ${form^^}"
}

@test "a name that is there in the other form is said to be there, in every container" {
    for form in nfc nfd; do
        [[ $form == nfc ]] && other=$nfd || other=$nfc
        for container in $form.barecat $form.tar $form.zip $form.tgz; do
            for name in "$other.txt" "$other/x"; do
                for command in cat ls find du verify 'unpack -C out'; do
                    # shellcheck disable=SC2086 # an option and its value
                    asks $command "$container" "$name"
                done
            done
        done
    done
}

@test "from a pipe; only the names that are not there" {
    form=nfc
    for command in cat ls find du 'unpack -C out'; do
        # shellcheck disable=SC2086 # an option and its value
        asks $command - "$nfd.txt" <nfc.tgz
    done
    run_fail 1 sb cat - "$nfd.txt" no "$nfc.txt" nö <nfc.tgz
    output_is one
    stderr_is "shardbox cat: $nfd.txt: no such file in the archive$hint NFC: copy the name from 'shardbox find'
shardbox cat: no: no such file in the archive
shardbox cat: nö: no such file in the archive"
    # In a container both may be, and each is one.
    cp -r nfd/. nfc
    tar -cz --sort=name -f both.tgz -C nfc .
    run_ok sb cat - "$nfd.txt" "$nfc.txt" <both.tgz
    output_is $'one\none'
}

@test "rm, mv, diff, split, sync ARCHIVE:PATH, and names from a list" {
    form=nfc
    asks rm nfc.barecat "$nfd.txt"
    echo "$nfd.txt" >list
    for command in rm find cat; do
        asks $command -T list nfc.barecat
    done
    for options in '' -n; do
        run_fail 2 sb mv $options nfc.barecat "$nfd.txt" new
        stderr_has "$hint NFC"
    done
    asks diff -C nfc nfc.barecat "$nfd.txt"
    run_fail 2 sb sync "nfc.barecat:$nfd" out/
    stderr_has "$hint NFC"
    asks ls nfc.barecat "$nfd*"
    asks split -o '{}.barecat' --by-list=a=list --rest=b nfc.barecat
}

@test "names that are no UTF-8, or have one form, are only not there" {
    for name in $'caf\xe9.txt' $'cafe\xcc' $'\xed\xa0\x80' æ 日本 plainer; do
        for container in nfc.barecat nfc.tar nfc.tgz; do
            run_fail 1 sb cat "$container" "$name"
            output_is ''
            stderr_has 'no such file in the archive'
            stderr_lacks 'Unicode'
        done
    done
}

warning='the other side has this name in another Unicode form'

@test "diff names those that differ by their form alone" {
    for pair in 'nfc nfd.barecat' 'nfd nfc.tar' 'nfd.zip nfc.barecat'; do
        read -r one other <<<"$pair"
        run_fail 1 sb diff --ignore=time,mode -C "$one" "$other"
        [[ $(grep -c "$warning" <<<"$stderr") == 3 ]] || fail "$pair: $stderr"
        run_fail 1 sb diff --brief -C "$one" "$other"
        [[ $(grep -c "$warning" <<<"$stderr") == 2 ]] || fail "$pair: $stderr"
    done
    run_ok sb diff -C nfc nfc.barecat
    stderr_is ''
}

@test "sync --delete warns of those that it removes and writes in another form, and does it" {
    for dry in -n ''; do
        run_ok sb sync $dry --delete nfd nfc.barecat
        [[ $(grep -c "$warning" <<<"$stderr") == 3 ]] || fail "$stderr"
        run_ok sb sync $dry --delete nfd.tar nfc
        [[ $(grep -c "$warning" <<<"$stderr") == 3 ]] || fail "$stderr"
    done
    run_ok sb diff -C nfd nfc.barecat
    run_ok diff -r nfd nfc
    # What only adds says nothing.
    run_ok sb sync nfc nfc.barecat
    run_ok sb sync nfc.tgz nfc.barecat
    stderr_is ''
}

@test "many of them: ten are named, and how many more" {
    mkdir one other
    for i in {10..40}; do
        : >one/"$nfc$i"
        : >other/"$nfd$i"
    done
    sb pack one.barecat -C one .
    run_ok sb sync --delete other one.barecat
    [[ $(grep -c "$warning" <<<"$stderr") == 10 ]] || fail "$stderr"
    stderr_has "21 more of the kind 'unicode'"
}
