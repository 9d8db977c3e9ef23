# Keeping an archive equal to a tree, and a tree to an archive, for tests/bench/run: nights without
# changes, and with some. "changed" is how many files differ.

changed=$((files < 10000 ? files / 10 : 1000))

sb_sync_first() {
    rm -f n.barecat*
    measure sb-sync-first "$shardbox" sync --threads=2 tree n.barecat
}
sb_pack_small() {
    rm -f p.barecat*
    measure sb-pack-small "$shardbox" pack --threads=2 p.barecat -C tree .
}
sb_sync_night() {
    measure sb-sync-night "$shardbox" sync --threads=2 --delete tree n.barecat
}
find_night() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    measure find-night sh -c 'find tree -printf "%s %T@ %p\n" >/dev/null &&
        sqlite3 n.barecat "SELECT path, size, mtime_ns FROM files" >/dev/null'
}
rsync_night() {
    measure rsync-night rsync -a tree/ tree/
}
# Other bytes each time, and another size.
change_tree() {
    while read -r name; do
        echo "$RANDOM$RANDOM" >>"tree/$name"
    done <some
}
sb_sync_changed() {
    change_tree
    measure sb-sync-changed "$shardbox" sync --threads=2 --delete tree n.barecat
}
sb_pack_some() {
    rm -f p.barecat*
    measure sb-pack-some "$shardbox" pack --threads=2 p.barecat -C tree -T some
}
# Both trees differ from the archive in the same files.
sb_sync_tree() {
    measure sb-sync-tree "$shardbox" sync --threads=2 --delete n.barecat ours
}
rsync_tree() {
    measure rsync-tree rsync -a --delete tree/ theirs/
}
both_trees() {
    change_tree
    "$shardbox" sync tree n.barecat
    rsync_tree
    sb_sync_tree
}

measure_sync() {
    "$tools/make_tree" tree "$files" 500
    turns sb_sync_first sb_pack_small
    "$shardbox" find --type=f n.barecat | shuf -n "$changed" --random-source=n.barecat-shard-00000 >some
    turns find_night rsync_night sb_sync_night
    turns sb_sync_changed sb_pack_some
    "$shardbox" sync n.barecat ours/
    rsync -a tree/ theirs/
    turns both_trees
    rm -rf tree ours theirs some ./[np].barecat*
}

print_sync_figures() {
    figure "sync, a night without changes: time of \`find -printf\` and a scan of the index" at-most 1.3 " ×" \
        "$(ratio "$(median sb-sync-night)" "$(median find-night)")"
    figure "sync, the same: time of \`rsync -a\` of the tree to itself" at-most 0.5 " ×" \
        "$(ratio "$(median sb-sync-night)" "$(median rsync-night)")"
    figure "sync, $changed files changed: time of that night, and 1.2 × packing these" at-most 1 " ×" \
        "$(ratio "$(median sb-sync-changed)" \
            "$(sum "$(median sb-sync-night)" "$(ratio "$(median sb-pack-some)" 1 1.2)")")"
    figure "sync to a tree, $changed files changed: time of \`rsync -a --delete\`" at-most 0.7 " ×" \
        "$(ratio "$(median sb-sync-tree)" "$(median rsync-tree)")"
    figure "first sync: time of pack" at-most 1.1 " ×" "$(ratio "$(median sb-sync-first)" "$(median sb-pack-small)")"
    figure "most memory of sync" at-most 64 " MB" "$(peak 'sb-sync-.*')"
}
