# A slow file system: each call that opens, looks at, lists or reads takes a millisecond
# (tests/faults/slow.c), as over a network. Sourced by run, whose functions it uses. Each is run
# once: what is measured is waiting, and that of one thread takes most of the time.

slow_shim=$(dirname -- "$shardbox")/tests/faults/slow.so

# slow ROOT COMMAND...: what is below ROOT is slow.
slow() {
    SLOW_ROOT=$1 LD_PRELOAD=$slow_shim "${@:2}"
}

# slow_measure KEY ROOT COMMAND...
slow_measure() {
    echo "$1 $(slow "$2" "$tools/measure" "${@:3}")" >>"$results"
}

# slow_list KEY LIST COMMAND...: the same for files below shards, with 1 and 16 threads, and a list.
slow_list() {
    local threads
    for threads in 1 16; do
        slow_measure "$1-$threads" "$work/shards" "$shardbox" "$3" --threads="$threads" -T "$2" "${@:4}"
    done
}

# slow_remove KEY: the same for what changes the archive, so that each run gets one of its own. A page
# is waited for once, as the system keeps it.
slow_remove() {
    local threads
    for threads in 1 16; do
        cp shards/m.barecat shards/r.barecat
        cp shards/m.barecat-shard-00000 shards/r.barecat-shard-00000
        SLOW_CACHED=1 slow_measure "$1-$threads" "$work/shards" "$shardbox" rm --threads="$threads" -T names shards/r.barecat
        rm shards/r.barecat*
    done
}

# slow_calls KEY KIND PATTERN ROOT COMMAND...: the most calls for any one path.
slow_calls() {
    rm -f calls
    SLOW_MICROSECONDS=0 SLOW_LOG=$work/calls slow "${@:4}" >/dev/null
    echo "$1 $(grep -E "^$2 .*$3\$" calls | sort | uniq -c | sort -rn | awk 'NR == 1 { print $1 }') 0" >>"$results"
    rm -f calls
}

measure_slow() {
    local threads
    say "a slow file system"
    "$tools/make_archive" --per-directory=20 --fanout=10 --bytes=4K slow.barecat 2000 >/dev/null
    mkdir tree shards
    "$shardbox" unpack -C tree slow.barecat
    for threads in 1 16; do
        mkdir out
        slow_measure "slow-pack-$threads" "$work/tree" "$shardbox" pack --force --threads="$threads" slow.barecat tree
        slow_measure "slow-unpack-$threads" "$work/out" "$shardbox" unpack --threads="$threads" -C out slow.barecat
        rm -rf out
        slow_measure "slow-sync-$threads" "$work/tree" "$shardbox" sync --threads="$threads" --delete tree slow.barecat
    done
    "$tools/make_archive" shards/m.barecat 1000000 >/dev/null
    "$shardbox" convert shards/m.barecat shards/a.bagz
    awk 'BEGIN { srand(1); while (n++ < 10000) print int(rand() * 1000000) }' >numbers
    xargs "$tools/make_archive" --list <numbers >names
    slow_measure slow-all-names-16 "$work/shards" "$shardbox" cat --threads=16 -T names shards/m.barecat
    sed -i -s 2001,\$d numbers names
    seq 0 999999 | xargs "$tools/make_archive" --list >keys
    "$shardbox" convert --frame=line keys shards/k.bagz
    rm keys
    for threads in 1 16; do
        slow_measure "slow-records-$threads" "$work/shards" "$shardbox" cat --threads="$threads" -T numbers shards/a.bagz
        slow_measure "slow-names-$threads" "$work/shards" "$shardbox" cat --threads="$threads" -T names shards/m.barecat
    done
    slow_list slow-find names find shards/m.barecat
    slow_list slow-rm-dry names rm -n shards/m.barecat
    slow_remove slow-rm
    slow_list slow-ls numbers ls shards/a.bagz
    slow_list slow-verify numbers verify shards/a.bagz
    slow_list slow-convert numbers convert --force shards/a.bagz out.bagz
    slow_list slow-ls-find names ls --find shards/k.bagz
    slow_list slow-keys names cat --keys=shards/k.bagz shards/a.bagz
    slow_list slow-split numbers split --force --parts=2 -o 'out-{}.bagz' shards/a.bagz
    rm out*.bagz
    rm shards/*
    "$tools/make_archive" --shard-size=1M shards/a.barecat 100000 >/dev/null
    shuf -i 0-99999 -n 10000 --random-source=shards/a.barecat | xargs "$tools/make_archive" --list >names
    slow_calls slow-cat-opens open '-shard-[0-9]+' "$work/shards" "$shardbox" cat --threads=16 -T names shards/a.barecat
    slow_calls slow-cat-stats stat '' "$work/shards" "$shardbox" cat --threads=16 -T names shards/a.barecat
    slow_calls slow-verify-opens open '-shard-[0-9]+' "$work/shards" "$shardbox" verify --threads=16 shards/a.barecat
    slow_calls slow-verify-stats stat '' "$work/shards" "$shardbox" verify --threads=16 shards/a.barecat
    rm -rf tree shards slow.barecat*
}

print_slow_figures() {
    figure "calls of 1 ms: pack, 16 threads against one" at-least 10 " ×" \
        "$(ratio "$(median slow-pack-1)" "$(median slow-pack-16)")"
    figure "the same: unpack" at-least 10 " ×" "$(ratio "$(median slow-unpack-1)" "$(median slow-unpack-16)")"
    figure "the same: sync without changes" at-least 10 " ×" "$(ratio "$(median slow-sync-1)" "$(median slow-sync-16)")"
    figure "the same: cat of 2000 random records of a bag" at-least 10 " ×" \
        "$(ratio "$(median slow-records-1)" "$(median slow-records-16)")"
    figure "the same: cat of 2000 random names of 1 million" at-least 10 " ×" \
        "$(ratio "$(median slow-names-1)" "$(median slow-names-16)")"
    figure "the same: find -T of these" at-least 10 " ×" "$(ratio "$(median slow-find-1)" "$(median slow-find-16)")"
    figure "the same: rm -n -T of these" at-least 10 " ×" "$(ratio "$(median slow-rm-dry-1)" "$(median slow-rm-dry-16)")"
    figure "the same: rm -T of these, where a page is waited for once" at-least 7 " ×" \
        "$(ratio "$(median slow-rm-1)" "$(median slow-rm-16)")"
    figure "the same: ls -T of 2000 random records of a bag" at-least 10 " ×" \
        "$(ratio "$(median slow-ls-1)" "$(median slow-ls-16)")"
    figure "the same: verify -T of these" at-least 8 " ×" "$(ratio "$(median slow-verify-1)" "$(median slow-verify-16)")"
    figure "the same: convert -T of these to a bag" at-least 10 " ×" \
        "$(ratio "$(median slow-convert-1)" "$(median slow-convert-16)")"
    figure "the same: cat -T of these by their names in another bag" at-least 10 " ×" \
        "$(ratio "$(median slow-keys-1)" "$(median slow-keys-16)")"
    figure "the same: ls --find -T of these names in that bag" at-least 10 " ×" \
        "$(ratio "$(median slow-ls-find-1)" "$(median slow-ls-find-16)")"
    figure "the same: split -T of these" at-least 10 " ×" "$(ratio "$(median slow-split-1)" "$(median slow-split-16)")"
    figure "the same, 16 threads: cat of 10000 random names of 1 million" at-most 2 " s" "$(median slow-all-names-16)"
    figure "cat of 10000 random names: opens of a shard" at-most 1 "" "$(median slow-cat-opens)"
    figure "the same: looks at any one file, for each name" at-most 0.1 "" "$(ratio "$(median slow-cat-stats)" 10000)"
    figure "verify of 100000 files: opens of a shard" at-most 1 "" "$(median slow-verify-opens)"
    figure "the same: looks at any one file, for each file" at-most 0.1 "" "$(ratio "$(median slow-verify-stats)" 100000)"
}
