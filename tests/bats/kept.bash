# What the tests of commands that rearrange an archive share: a.barecat, and the tree t that it holds.

# Directories keep the time that the archive has of them.
settle() {
    find t -type d -exec touch -d '2001-02-03 04:05:06Z' {} +
}

# make_files FILES SIZE [OPTION...]: both, of f/1, f/2 ... of SIZE to SIZE + 6 bytes, in order of
# address 1, 10, 100, 101 ...; OPTIONs are those of pack.
make_files() {
    mkdir -p t/f
    awk -v count="$1" -v size="$2" 'BEGIN {
        for (i = 1; i <= count; i++) {
            printf "%" size + i % 7 "d", i >"t/f/" i
            close("t/f/" i)
        }
    }'
    settle
    sb pack "${@:3}" a.barecat -C t .
}

# remove_where CONDITION: files go out of the index and the tree.
remove_where() {
    sql a.barecat "SELECT path FROM files WHERE $1" >names
    sb rm -T names a.barecat
    (cd t && xargs -r rm <../names)
    settle
}

# The archive is sound, and holds what the tree does.
is_whole() {
    run_ok sb verify --strict a.barecat
    stderr_is ""
    sb diff -C t a.barecat
    [[ ! -e a.barecat.new ]]
}

sizes() {
    stat -c %s a.barecat-shard-*
}
