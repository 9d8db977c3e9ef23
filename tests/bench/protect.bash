# Parity files, for tests/bench/run: made by one thread and by two, checked and used, and par2 with
# the same redundancy; verify of an archive that has them.

protect_bytes=$((files * 3000))

sb_protect() {
    rm -f p.data-parity
    measure "sb-protect-$1" "$shardbox" protect -q --threads="$1" p.data
}

# As a disk does it, which leaves the time of the file.
damage_piece() {
    touch -r "$1" p.time
    printf 'damaged' | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
    touch -r p.time "$1"
}

sb_protect_repair() {
    damage_piece p.data $((protect_bytes / 2))
    measure sb-protect-repair "$shardbox" protect -q --repair p.data
}

par2_create() {
    rm -f p.par2 p.vol*
    measure par2 par2 create -q -q -r5 -t1 p.par2 p.data
}

# Of a file that was just written to, protect waits until its time has passed.
make_protected_archive() {
    mkdir p.tree
    split -b 1000000 -a 4 p.data p.tree/
    "$shardbox" pack -q --shard-size=200M p.plain p.tree
    rm -r p.tree
    touch -d '1 hour ago' p.plain*
    cp -p p.plain p.safe
    for shard in p.plain-shard-*; do cp -p "$shard" "p.safe${shard#p.plain}"; done
    "$shardbox" protect -q p.safe
}

sb_verify_safe() {
    measure sb-verify-plain "$shardbox" verify -q --threads=2 p.plain
    measure sb-verify-safe "$shardbox" verify -q --threads=2 p.safe
    measure sb-verify-repair-sound "$shardbox" verify -q --threads=2 --repair p.safe
    damage_piece p.safe-shard-00000 5000000
    measure sb-verify-repair "$shardbox" verify -q --threads=2 --repair p.safe >/dev/null
}

measure_protect() {
    local run shard
    head -c "$protect_bytes" /dev/urandom >p.data
    touch -d '1 hour ago' p.data
    for ((run = 1; run <= runs; run++)); do
        say "parity files ($run of $runs)"
        sb_protect 2
        sb_protect 1
        measure sb-protect-check "$shardbox" protect -q --check p.data
        sb_protect_repair
        if command -v par2 >/dev/null; then par2_create; fi
    done
    make_protected_archive
    rm -f p.data* p.par2 p.vol*
    for ((run = 1; run <= runs; run++)); do
        say "verify by parity files ($run of $runs)"
        sb_verify_safe
    done
    rm -f p.*
}

# difference A B: in seconds, 0 where A is less; empty when one of them is missing.
difference() {
    awk -v a="$1" -v b="$2" 'BEGIN { if (a != "" && b != "") printf "%.6g", (a > b ? a - b : 0) }'
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
    figure "verify of a protected archive: time without parity files" at-most 1.05 " ×" \
        "$(ratio "$(median sb-verify-safe)" "$(median sb-verify-plain)")"
    figure "verify --repair of it, all sound: time of verify" at-most 1.2 " ×" \
        "$(ratio "$(median sb-verify-repair-sound)" "$(median sb-verify-plain)")"
    figure "verify --repair of one bad piece: beyond verify --repair of none" at-most 2 " s" \
        "$(difference "$(median sb-verify-repair)" "$(median sb-verify-repair-sound)")"
    figure "the most memory of these" at-most 64 " MB" \
        "$(peak 'sb-(protect-.*|verify-safe|verify-repair.*)')"
}
