# Tars that are compressed in independent parts, for tests/bench/run: to an archive by one thread and
# by two, and the tool of the format alone. They hold files of this machine, as real bytes decide
# how long decompression takes.

compressed_bytes=$((files * 1500))

# The tools that make them; one that is not there leaves its rows out.
make_compressed() {
    find /usr/include /usr/lib /usr/share -type f -printf '%s %p\n' | sort -k 2 |
        awk -v most="$compressed_bytes" '(sum += $1) <= most { sub(/^[0-9]+ /, ""); print }' |
        tar cPf r.tar -T -
    xz -T2 -1 --block-size=8MiB -c r.tar >xz.tar.xz
    gzip -c r.tar >single.tar.gz
    "$shardbox" convert -q r.tar own.tar.gz
    if command -v bgzip; then bgzip -c r.tar >bgzip.tar.gz; fi
    if command -v pigz; then pigz -ic r.tar >pigz.tar.gz; fi
    if command -v pzstd; then pzstd -q -3 -p 2 r.tar -o pzstd.tar.zst; fi
} >/dev/null

# sb_decompress NAME THREADS FILE
sb_decompress() {
    rm -f c.barecat*
    measure "sb-compressed-$1-$2" "$shardbox" convert -q --threads="$2" "$3" c.barecat
}

measure_compressed() {
    local name file filter run
    make_compressed
    for ((run = 1; run <= runs; run++)); do
        say "compressed tars ($run of $runs)"
        for file in {xz,single,own,bgzip,pigz,pzstd}.tar.*; do
            [ -e "$file" ] || continue
            name=${file%%.*}
            case $file in
            *.xz) filter=(xz -dc) ;;
            *.gz) filter=(gzip -dc) ;;
            *) filter=(zstd -qdc) ;;
            esac
            sb_decompress "$name" 1 "$file"
            sb_decompress "$name" 2 "$file"
            measure "tool-$name" "${filter[@]}" "$file"
        done
        measure tool-gzip gzip -c r.tar
        measure sb-compressed-write-1 "$shardbox" convert -qf --threads=1 r.tar w.tar.gz
        measure sb-compressed-write-2 "$shardbox" convert -qf --threads=2 r.tar w.tar.gz
    done
    rm -f ./*.tar.* r.tar c.*
}

# compressed_figures WHAT NAME TOOL
compressed_figures() {
    figure "$1 to archive, two threads: time of one" at-most 0.6 " ×" \
        "$(ratio "$(median "sb-compressed-$2-2")" "$(median "sb-compressed-$2-1")")"
    figure "the same: time of \`$3\`" at-most 0.6 " ×" \
        "$(ratio "$(median "sb-compressed-$2-2")" "$(median "tool-$2")")"
}

print_compressed_figures() {
    compressed_figures "tar.xz of \`xz -T2\`" xz "xz -dc"
    compressed_figures "tar.gz of bgzip" bgzip "gzip -dc"
    compressed_figures "tar.gz of \`pigz -i\`" pigz "gzip -dc"
    compressed_figures "tar.gz of convert" own "gzip -dc"
    compressed_figures "tar.zst of pzstd" pzstd "zstd -dc"
    figure "tar.gz in one piece to archive: time of \`gzip -dc\`" at-most 0.6 " ×" \
        "$(ratio "$(median sb-compressed-single-2)" "$(median tool-single)")"
    figure "tar to tar.gz, two threads: time of one" at-most 0.6 " ×" \
        "$(ratio "$(median sb-compressed-write-2)" "$(median sb-compressed-write-1)")"
    figure "the same: time of \`gzip -c\`" at-most 0.6 " ×" \
        "$(ratio "$(median sb-compressed-write-2)" "$(median tool-gzip)")"
    figure "most memory of these, but for xz" at-most 96 " MB" "$(peak 'sb-compressed-[^x].*')"
}
