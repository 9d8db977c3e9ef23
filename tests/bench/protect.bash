# Parity files, for tests/bench/run: made by one thread and by two, checked and used, and par2 with
# the same redundancy.

protect_bytes=$((files * 3000))

sb_protect() {
    rm -f p.data-parity
    measure "sb-protect-$1" "$shardbox" protect -q --threads="$1" p.data
}

# One piece that is damaged as a disk does it, which leaves the time of the file.
sb_protect_repair() {
    touch -r p.data p.time
    printf 'damaged' | dd of=p.data bs=1 seek=$((protect_bytes / 2)) conv=notrunc status=none
    touch -r p.time p.data
    measure sb-protect-repair "$shardbox" protect -q --repair p.data
}

par2_create() {
    rm -f p.par2 p.vol*
    measure par2 par2 create -q -q -r5 -t1 p.par2 p.data
}

measure_protect() {
    local run
    head -c "$protect_bytes" /dev/urandom >p.data
    # Of a file that was just written to, the command waits until its time has passed.
    touch -d '1 hour ago' p.data
    for ((run = 1; run <= runs; run++)); do
        say "parity files ($run of $runs)"
        sb_protect 2
        sb_protect 1
        measure sb-protect-check "$shardbox" protect -q --check p.data
        sb_protect_repair
        if command -v par2 >/dev/null; then par2_create; fi
    done
    rm -f p.*
}

print_protect_figures() {
    local one
    one=$(median sb-protect-1)
    figure "parity of 5 %, one thread: MB in a second" at-least 500 "" \
        "$(ratio "$protect_bytes" "$one" 1e-6)"
    figure "the same: time of \`par2 create -r5 -t1\`" at-least 20 " ×" "$(ratio "$(median par2)" "$one")"
    figure "the same, two threads: time of one" at-most 0.59 " ×" "$(ratio "$(median sb-protect-2)" "$one")"
    figure "repair of one bad piece: time of the check" at-most 2 " ×" \
        "$(ratio "$(median sb-protect-repair)" "$(median sb-protect-check)")"
    figure "the most memory of these" at-most 64 " MB" "$(peak 'sb-protect-.*')"
}
