# Bags for tests, made byte by byte. To be loaded after helper.
#
#   le64 NUMBER...              as limits are stored
#   make_bag FILE RECORD...     an uncompressed bag, limits at its tail
#   make_bagz FILE RECORD...    a compressed one, whose frames have checksums
#   separate FILE COUNT         moves the limits of its COUNT records to limits.FILE
#   put FILE OFFSET             writes standard input over what is there

le64() {
    local number shift
    for number; do
        for shift in 0 8 16 24 32 40 48 56; do
            # shellcheck disable=SC2059 # the format is the escape of one byte
            printf "\\x$(printf %02x $((number >> shift & 255)))"
        done
    done
}

# Frames as Bagz writes them lack the checksum that the zstd program adds: --no-check in ZSTD_FLAGS.
frame() {
    if [[ -n $1 ]]; then
        printf %s "$1" | zstd -q -c --stream-size="$(printf %s "$1" | wc -c)" ${ZSTD_FLAGS:+"$ZSTD_FLAGS"}
    fi
}

make_bag() {
    local file=$1 end=0 limits=() record
    shift
    : >"$file"
    for record; do
        printf %s "$record" >>"$file"
        end=$(stat -c %s "$file")
        limits+=("$end")
    done
    le64 "${limits[@]}" >>"$file"
}

make_bagz() {
    local file=$1 limits=() record
    shift
    : >"$file"
    for record; do
        frame "$record" >>"$file"
        limits+=("$(stat -c %s "$file")")
    done
    le64 "${limits[@]}" >>"$file"
}

separate() {
    tail -c $((8 * $2)) "$1" >"limits.$1"
    truncate -s -$((8 * $2)) "$1"
}

put() {
    dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
