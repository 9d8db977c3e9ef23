# Archives that nobody should have to read, each made from a good one by the SQL that is shown.

# tree/ and a.barecat, three files in two directories.
make_good() {
    mkdir -p tree/dir
    printf 'first\n' >tree/dir/file
    printf 'second\n' >tree/dir/other
    printf 'third\n' >tree/top
    sb pack a.barecat -C tree .
    mkdir more
    printf 'more\n' >more/added
}

# alter SQL: changes the index with the triggers off, as a hostile writer would.
alter() {
    sql a.barecat "PRAGMA writable_schema = ON;
        UPDATE config SET value_int = 0 WHERE key = 'use_triggers';
        $1;
        UPDATE config SET value_int = 1 WHERE key = 'use_triggers';"
}

# The same table with other columns: rebuild TABLE COLUMNS SELECT-LIST.
rebuild() {
    sql a.barecat "PRAGMA legacy_alter_table = ON; PRAGMA foreign_keys = OFF;
        $(sql a.barecat "SELECT 'DROP TRIGGER ' || name || ';' FROM sqlite_schema WHERE type = 'trigger'")
        ALTER TABLE $1 RENAME TO before;
        CREATE TABLE $1 ($2);
        INSERT INTO $1 SELECT $3 FROM before;
        DROP TABLE before;"
}

# command_line COMMAND ARCHIVE: a plain use of one command, as the array `command_line`.
command_line() {
    case $1 in
    ls) command_line=(ls -lR "$2") ;;
    find) command_line=(find "$2") ;;
    du) command_line=(du -a "$2") ;;
    cat) command_line=(cat "$2" dir/file) ;;
    verify) command_line=(verify "$2") ;;
    unpack) command_line=(unpack -C out "$2") ;;
    diff) command_line=(diff -C tree "$2") ;;
    append) command_line=(pack --append "$2" -C more .) ;;
    upgrade) command_line=(upgrade "$2") ;;
    esac
    command_line=("$SHARDBOX" "${command_line[@]}")
}

# on COMMAND ARCHIVE: runs it; killed after 10 seconds.
on() {
    rm -rf out
    command_line "$@"
    within 10 "${command_line[@]}"
}

READERS=(ls find du cat verify unpack diff)
WRITERS=(append upgrade)

# each STATUS ARCHIVE COMMAND...: every one of the commands exits with STATUS.
each() {
    local wanted=$1 archive=$2 command
    shift 2
    for command in "$@"; do
        run_fail "$wanted" on "$command" "$archive" || return
        stderr_lacks "no such command" || return
    done
}

# Every command says 2, at once, and leaves the file as it is.
all_refuse() {
    local before
    before=$(cksum <"$1")
    each 2 "$1" "${READERS[@]}" "${WRITERS[@]}" || return
    [[ $(cksum <"$1") == "$before" ]] || fail "a refused index was changed"
    [[ ! -e out || -z $(ls -A out) ]] || fail "something was unpacked: $(ls -A out)"
}
