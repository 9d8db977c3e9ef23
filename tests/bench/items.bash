# Syrah files and torchcachex caches. Sourced by run, whose functions it uses. The originals are not
# on PyPI: pyarrow does what the cache's own get_batch does.

find_pyarrow() {
    local venv=$project/build/bench/pyarrow
    pyarrow=$venv/bin/python3
    if [ ! -x "$pyarrow" ] || ! "$pyarrow" -c 'import numpy, pyarrow' 2>/dev/null; then
        { python3 -m venv "$venv" && "$venv/bin/pip" install -q pyarrow==26.0.1 numpy; } >&2 || pyarrow=
    fi
    [ -n "$pyarrow" ] || say "no pyarrow: its rows are left out"
}

# A cache of many keys, with its index.pkl and without.

sb_cache_list() {
    measure sb-cache-list "$shardbox" ls cache
}
sb_cache_keys() {
    measure sb-cache-keys -n 10 "$shardbox" cat -T keys cache
    measure sb-cache-keys-scan -n 10 "$shardbox" cat -T keys plain
}
# Only what it times is counted, not the start of Python.
pyarrow_keys() {
    local index read
    read -r index read < <("$pyarrow" "$project/tests/bench/items_peer.py" get cache keys)
    echo "pyarrow-index $index 0" >>"$results"
    echo "pyarrow-keys $read 0" >>"$results"
}

measure_cache() {
    "$tools/make_items" cache cache "$items" 64
    mkdir plain
    ln -s ../cache/segments plain/segments
    shuf -n 100 --random-source=cache/index.pkl -i 0-$((items - 1)) | sed 's/^/cache:/' >keys
    turns sb_cache_list
    turns sb_cache_keys pyarrow_keys
    rm -rf cache plain keys
}

# Syrah files: one of many items, and one of large arrays.

sb_one_item() {
    measure sb-one-item -n 20 "$shardbox" cat many.syr $((items * 2 / 3))/x
}
cp_syrah() {
    rm -f out.*
    measure cp-syrah cp large.syr out.syr
}
sb_syrah_to_archive() {
    rm -f out.*
    measure sb-syrah-to-archive "$shardbox" convert -q --threads=2 large.syr out.barecat
}
sb_archive_to_syrah() {
    rm -f out.syr
    measure sb-archive-to-syrah "$shardbox" convert -q --threads=2 out.barecat out.syr
}

measure_syrah() {
    "$tools/make_items" syrah many.syr "$items" 16
    turns sb_one_item
    rm -f many.syr
    "$tools/make_items" syrah large.syr $((items / 100 > 0 ? items / 100 : 1)) 16384
    turns cp_syrah sb_syrah_to_archive sb_archive_to_syrah
    rm -f large.syr out.*
}

measure_items() {
    items=$((files * 5))
    measure_cache
    measure_syrah
}

print_item_figures() {
    figure "ls of a cache of $items keys" at-most 1 " s" "$(median sb-cache-list)"
    figure "memory for that" at-most 150 " MB" "$(peak sb-cache-list)"
    figure "cat of 100 keys of it" at-most 30 " ms" "$(ratio "$(median sb-cache-keys)" 1 1e3)"
    figure "the same, without its index.pkl" at-most 30 " ms" \
        "$(ratio "$(median sb-cache-keys-scan)" 1 1e3)"
    figure "pyarrow, as the original reads them: time of cat" at-least 1.5 " ×" \
        "$(ratio "$(median pyarrow-keys)" "$(median sb-cache-keys)")"
    figure "the same, with the time that it takes to load index.pkl" at-least 15 " ×" \
        "$(ratio "$(sum "$(median pyarrow-index)" "$(median pyarrow-keys)")" "$(median sb-cache-keys)")"
    figure "cat of one item of a Syrah file of $items" at-most 5 " ms" \
        "$(ratio "$(median sb-one-item)" 1 1e3)"
    figure "Syrah to archive, arrays of 64 KiB: speed of \`cp\`" at-least 0.5 " ×" \
        "$(ratio "$(median cp-syrah)" "$(median sb-syrah-to-archive)")"
    figure "archive to Syrah, the same: speed of \`cp\`" at-least 0.5 " ×" \
        "$(ratio "$(median cp-syrah)" "$(median sb-archive-to-syrah)")"
}
