# What may come at the end of a tar, and after it: in every compression, from files and pipes, in
# every command that reads tars.

load helper

# packed SUFFIX: standard input, compressed by the tool of the format.
packed() {
    case $1 in
        tar) cat ;;
        gz) gzip -c ;;
        bz2) bzip2 -c ;;
        xz) xz -T1 -c ;;
        lzma) xz --format=lzma -c ;;
        zst) zstd -qc ;;
        lz4) lz4 -qc ;;
    esac
}

# a.tar has the file first, b.tar second: a header, a block and zeros up to 10240 bytes.
make_tars() {
    printf 'one\n' >first
    printf 'two\n' >second
    tar -cf a.tar first
    tar -cf b.tar second
    tar -cf none.tar -T /dev/null
    filters=(gz bz2 xz lzma zst)
    ! command -v lz4 >/dev/null || filters+=(lz4)
}

# each STATUS ARGUMENT...: with $file, by its name and on a pipe, as @.
each() {
    local run=(run_ok)
    (($1 == 0)) || run=(run_fail "$1")
    shift
    "${run[@]}" bash -c 'cat "$0" | "$SHARDBOX" "$@"' "$file" "${@//@/-}"
    "${run[@]}" sb "${@//@/$file}"
}

@test "a tar after the end of a tar is named, with status 1, and --ignore-zeros reads it" {
    make_tars
    for filter in tar "${filters[@]}"; do
        file=one.$filter
        cat a.tar b.tar | packed "$filter" >"$file"
        each 1 find @
        output_is first
        stderr_is "shardbox find: $file: another tar follows its end, at byte 10240, and is not read; --ignore-zeros reads it, too"
        each 0 find --ignore-zeros @
        output_is $'first\nsecond'
        stderr_is ''
        file=two.$filter
        { packed "$filter" <a.tar && packed "$filter" <b.tar; } >"$file"
        each 1 find @
        output_is first
        stderr_has 'another tar follows its end, at byte 10240'
        each 0 find --ignore-zeros @
        output_is $'first\nsecond'
    done
}

@test "an empty tar before another one ends as any other does" {
    make_tars
    for filter in tar gz; do
        file=empty.$filter
        cat none.tar none.tar a.tar none.tar b.tar | packed "$filter" >"$file"
        each 1 find @
        output_is ''
        stderr_has 'another tar follows its end, at byte 20480'
        each 0 find --ignore-zeros @
        output_is $'first\nsecond'
    done
    # zeros, and then no tar
    { cat none.tar && echo text; } >text.tar
    run_fail 2 sb find text.tar
    stderr_has 'is neither a tar nor a cpio'
}

@test "every command that reads tars knows --ignore-zeros" {
    make_tars
    cat a.tar b.tar >ab.tar
    gzip -k ab.tar
    mkdir files
    cp -p first second files
    for file in ab.tar ab.tar.gz; do
        each 1 cat @ first second
        output_is one
        each 0 cat --ignore-zeros @ second
        output_is two
        each 0 ls --ignore-zeros @
        output_is $'first\nsecond'
        each 0 du --ignore-zeros --count @
        each 0 diff --ignore-zeros -C files @
        each 1 verify -q @
        output_has "another tar follows its end"
        each 0 verify -q --ignore-zeros @
        each 0 unpack --ignore-zeros --existing=replace -C "out.$file" @
        [[ $(cat "out.$file/first" "out.$file/second") == $'one\ntwo' ]]
        each 1 convert -f @ part.barecat
        [[ $(sb ls part.barecat) == first ]]
        each 0 convert -f --ignore-zeros @ whole.barecat
        [[ $(sb cat whole.barecat first second) == $'one\ntwo' ]]
        each 0 merge -f --ignore-zeros -o whole.barecat @
        run_ok sb sync --ignore-zeros "$file" synced.barecat
        [[ $(sb ls synced.barecat) == $'first\nsecond' ]]
    done
    run_ok sb split --ignore-zeros --parts=2 -o 'part-{}.tar' ab.tar
    run_ok sb convert --wrap --ignore-zeros ab.tar wrapped.barecat
    [[ $(sb cat wrapped.barecat second first) == $'two\none' ]]
    run_ok sb verify -q wrapped.barecat
}

@test "after the end zeros are silent, and other bytes a remark that --strict refuses" {
    every_third_day
    make_tars
    for filter in tar "${filters[@]}"; do
        file=zeros.$filter
        { packed "$filter" <a.tar && head -c 300000 /dev/zero; } >"$file"
        each 0 convert --strict -f @ out.barecat
        stderr_is ''
        rm out.barecat*
        for junk in $'x' $'junk' "$(seq 20000)"; do
            file=junk.$filter
            { packed "$filter" <a.tar && printf '%s' "$junk"; } >"$file"
            each 0 convert -f @ out.barecat
            stderr_has 'junk follows'
            [[ $(sb cat out.barecat first) == one ]]
            rm out.barecat*
            each 2 convert --strict @ out.barecat
            [[ ! -e out.barecat ]]
            each 0 verify -q @
            each 1 verify -q --strict @
            output_has 'trailing: '
        done
        # in what is compressed, too, and after zeros
        file=inside.$filter
        { cat a.tar none.tar && echo junk; } | packed "$filter" >"$file"
        each 0 find @
        stderr_has "junk follows its end, at byte 20480, and is ignored"
        each 2 convert --strict @ out.barecat
    done
}

@test "after the end a tar or another compression is named, with status 1" {
    make_tars
    for filter in "${filters[@]}"; do
        for other in tar "${filters[@]}"; do
            [[ $filter != "$other" ]] || continue
            for zeros in 0 10240; do
                file=other.$filter
                { packed "$filter" <a.tar && head -c $zeros /dev/zero && packed "$other" <b.tar; } >"$file"
                each 1 find @
                output_is first
                word=${other/tar/a tar}
                word=${word/#gz/gzip}
                word=${word/bz2/bzip2}
                word=${word/zst/zstd}
                [[ $other == tar ]] || word+=' data'
                stderr_has "$word follows the compressed data, and is not read; give each in an input of its own"
            done
        done
        file=plain.tar
        { cat a.tar && packed "$filter" <b.tar; } >"$file"
        each 1 find @
        output_is first
        stderr_has "data follows its end, at byte 10240, and is not read; give each in an input of its own"
    done
    # after junk
    { cat a.tar && head -c 1000 /dev/urandom && head -c 24 /dev/zero && cat b.tar; } >far.tar
    file=far.tar
    each 1 find @
    stderr_has 'another tar follows its end, at byte 11264'
    each 0 find --ignore-zeros @
    output_is $'first\nsecond'
    stderr_has 'junk comes before the tar at byte 11264, and is ignored'
    each 2 convert --strict --ignore-zeros @ out.barecat
    (ls first second | cpio --quiet -o -H newc) >c.cpio
    cat c.cpio c.cpio >cc.cpio
    file=cc.cpio
    each 1 find @
    output_is $'first\nsecond'
    stderr_has 'a cpio follows its end'
}

@test "what libarchive looks at together with the next bytes is seen as well" {
    make_tars
    for filter in "${filters[@]}"; do
        packed "$filter" <a.tar >whole
        size=$(stat -c %s whole)
        { cat whole && printf 'more'; } >more
        for at in $((size - 1)) "$size" $((size + 1)) $((size + 3)); do
            run_ok bash -c '{ head -c "$0" more && sleep 0.05 && tail -c +"$(($0 + 1))" more; } | "$SHARDBOX" find -' "$at"
            output_is first
            stderr_is 'shardbox find: standard input: junk follows the compressed data, and is ignored'
        done
    done
}

@test "a tar that has half of its mark, or none, is read: status 1, or 0 where its compression is whole" {
    make_tars
    for size in 1024 1025 1500 1536 1540; do
        head -c $size a.tar >cut.tar
        file=cut.tar
        each 1 find @
        output_is first
        if ((size < 1536)); then
            stderr_is 'shardbox find: cut.tar: there is no mark at its end; it may be cut short'
        else
            stderr_is 'shardbox find: cut.tar: only half of the mark at its end is there; it may be cut short'
        fi
        each 1 convert -f @ out.barecat
        [[ $(sb cat out.barecat first) == one ]]
        run_fail 1 sb cat cut.tar first
        output_is one
        for filter in "${filters[@]}"; do
            file=cut.$filter
            packed "$filter" <cut.tar >"$file"
            each 0 convert --strict -f @ out.barecat
            stderr_has 'at its end'
            stderr_has '; its compression shows that nothing else is missing'
            # of two streams the third may be missing
            { head -c 512 cut.tar | packed "$filter" && tail -c +513 cut.tar | packed "$filter"; } >"$file"
            each 1 find @
            output_is first
            stderr_has 'it may be cut short'
        done
    done
    head -c 1023 a.tar >cut.tar
    run_fail 2 sb find cut.tar
    stderr_has 'cut short at byte'
}

# The sum of the first header, with bytes as signed numbers.
@test "the sum of a header may be that of signed bytes" {
    python3 - <<'END'
import io, tarfile
out = io.BytesIO()
with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
    for name in "f\u00fcrst\u00e4", "second":
        tar.addfile(tarfile.TarInfo(name), io.BytesIO())
data = bytearray(out.getvalue())
head = data[:148] + b" " * 8 + data[156:512]
total = sum(byte - 256 if byte > 127 else byte for byte in head)
data[148:156] = b"%06o\0 " % total
open("signed.tar", "wb").write(data)
END
    gzip -k signed.tar
    for file in signed.tar signed.tar.gz; do
        each 0 find @
        output_is $'fürstä\nsecond'
        each 0 cat @ fürstä
        each 0 convert --strict -f @ out.barecat
        each 0 unpack --existing=replace -C out @
        each 0 verify -q @
    done
}
