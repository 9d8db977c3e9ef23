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
