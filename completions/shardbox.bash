# bash completion for shardbox, printed by: shardbox --completions=bash
# shellcheck shell=bash

_shardbox_commands='help pack unpack convert sync diff cat ls find du mount umount verify rm mv defrag split merge merge-symlink upgrade protect'

# What a command takes: its options, its first operand and the others.
_shardbox_table() {
    options='' first=none others=none
    case $1 in
    pack)
        options='-C --directory= -T --files-from= -0 --null --include= --exclude= -L --dereference -x --one-file-system --prefix= -X --exclude-from= --no-recursion --strip-components= --iconv= --stdin-name= -o --output= --append -u --update --duplicates= -f --force --shard-size= --checksum --protect --wait --order= --compress= --level= --seal --checkpoint= --resume -j --threads= --part= --bwlimit= -n --dry-run --strict --report= -q --quiet -v --verbose -h --help --help-all --progress --no-progress'
        first=archive others=file
        ;;
    unpack)
        options='--include= --exclude= --strip-components= --decompress --decompress-all --no-check -C --directory= --existing= -m --touch -p --preserve --no-same-owner --numeric-owner --sync -n --dry-run --report= -j --threads= --bwlimit= --max-size= --from= --iconv= --ignore-zeros --nested --memlimit= --compression= --dictionary= --limits= --layout= -q --quiet -v --verbose -h --help --help-all --progress --no-progress'
        first=archive others=path
        ;;
    convert)
        options='--from= --to= --wrap -o --output= -f --force --append --existing= --duplicates= --shard-size= --prefix= --strip-components= --include= --exclude= -j --threads= --part= --bwlimit= --iconv= --ignore-zeros --nested --memlimit= --no-checksum --protect --wait --compress= --level= --method= --sparse --format= --checkpoint= --resume --samples --decompress --decompress-all --max-size= --no-check -p --preserve --no-same-owner --numeric-owner --records= -T --files-from= --compression= --dictionary= --limits= --layout= --from-compression= --from-dictionary= --from-limits= --from-layout= --frame= --name-format= --keys= --count= --limits-only --array= --dtype= --segment-size= --compact --key-prefix= --sequence= -n --dry-run --strict --report= -q --quiet -v --verbose -h --help --help-all --progress --no-progress'
        first=file others=file
        ;;
    sync)
        options='--delete --max-delete= -f --force -c --checksum --size-only --include= --exclude= -L --dereference -x --one-file-system -n --dry-run -i --itemize-changes --json -j --threads= --bwlimit= --detect-renamed --shard-size= --seal --protect --wait -p --preserve --no-same-owner --numeric-owner --sync --from= --iconv= --ignore-zeros --nested --memlimit= --compression= --dictionary= --limits= --layout= -q --quiet -v --verbose -h --help --help-all --progress --no-progress'
        first=file others=file
        ;;
    diff)
        options='-C --directory= --prefix= --ignore= --owner -r --recursive -q --brief -Q --quick --json --csv -j --threads= --bwlimit= --from= --iconv= --ignore-zeros --nested --memlimit= --compression= --dictionary= --limits= --layout= --quiet -v --verbose -h --help --help-all --progress --no-progress'
        first=archive others=path
        ;;
    cat)
        options='-T --files-from= -0 --null --range= --order= --part= --frame= --decompress --npy --raw --format= --decompress-all --batch --samples --array= --sample= --shuffle --seed= --find --replace --forever --keys= --compression= --dictionary= --limits= --layout= -j --threads= --keep-case --bwlimit= --from= --iconv= --ignore-zeros --nested --memlimit= --max-size= --no-check -q --quiet -v --verbose -h --help --help-all --progress --no-progress'
        first=archive others=row
        ;;
    ls)
        options='-R --recursive -d --directory --tree -L --max-depth= --records= --samples --array= --shards --rsync-list --count -l --long -F --classify -1 --one-per-line -h --human-readable --sort= -S --by-size -t --by-time -r --reverse --color --json --csv --keep-case -a --all -A --almost-all --at= -0 --null -p --slash -n --numeric-uid-gid -U --unsorted --full-time --find --find-all -T --files-from= --compression= --dictionary= --limits= --layout= --from= --iconv= --ignore-zeros --nested --memlimit= -j --threads= --bwlimit= -q --quiet -v --verbose --help --help-all --progress --no-progress'
        first=archive others=row
        ;;
    find)
        options='--type= --name= --path= --size= --newer-than= --max-depth= --include= --exclude= -T --files-from= --missing -0 --null --sort= --printf= --json --csv -j --threads= --bwlimit= --from= --iconv= --ignore-zeros --nested --memlimit= --compression= --dictionary= --limits= --layout= -q --quiet -v --verbose -h --help --help-all --progress --no-progress -not -a -and -o -or -true -false -name -iname -path -ipath -wholename -iwholename -type -size -empty -newer -newermm -newermt -mtime -mmin -perm -uid -gid -user -group -prune -quit -print -print0 -printf -maxdepth -mindepth'
        first=archive others=path
        ;;
    du)
        options='-s --summarize -a --all -d --max-depth= --count --gaps --samples --array= -c --total -h --human-readable --sort= --json --csv --export= -j --threads= --bwlimit= --keep-case -x --one-file-system -0 --null --apparent-size -b --bytes -k --kib -m --mib --from= --iconv= --ignore-zeros --nested --memlimit= --compression= --dictionary= --limits= --layout= -q --quiet -v --verbose --help --help-all --progress --no-progress'
        first=archive others=row
        ;;
    mount)
        options='--union --at= -f --foreground --idle= --log= --check= --no-check --readahead= --immutable --allow-other --uid= --gid= --keys= -j --threads= --from= --iconv= --ignore-zeros --nested --compression= --dictionary= --limits= --layout= -q --quiet -v --verbose -h --help --help-all --progress --no-progress'
        first=file others=file
        ;;
    umount)
        options='--lazy -q --quiet -v --verbose -h --help --help-all --progress --no-progress'
        first=directory others=directory
        ;;
    verify)
        options='-Q --quick --strict --present --subset= --part= --shards= --max-time= --state= --max-age= --json --report= --prom= --repair --repair-from= --undo-repair -n --dry-run --wait -j --threads= --bwlimit= --parity-dir= --trust-parity --repair-prefix= --max-size= --from= --iconv= --ignore-zeros --nested --memlimit= --compression= --dictionary= --limits= --layout= --records= -T --files-from= --repair-to= --keep-numbers -f --force --min-age= -q --quiet -v --verbose -h --help --help-all --progress --no-progress'
        first=archive others=path
        ;;
    rm)
        options='-r --recursive -d --dir -T --files-from= -0 --null --include= --exclude= -f --force --protect --wait -n --dry-run -j --threads= -q --quiet -v --verbose -h --help --help-all --progress --no-progress'
        first=archive others=path
        ;;
    mv)
        options='-T --no-target-directory -t --target-directory= -p --parents --existing= -f --force --no-clobber --protect --wait -n --dry-run -q --quiet -v --verbose -h --help --help-all --progress --no-progress'
        first=archive others=path
        ;;
    defrag)
        options='--quick --max-time= --keep-through= --shards= -n --dry-run --protect --wait -f --force --follow --bwlimit= -h --human-readable --json -q --quiet -v --verbose --help --help-all --progress --no-progress'
        first=archive others=none
        ;;
    split)
        options='--parts= --size= --count= --ratio= --by-list= --by-dir --rest= --samples --shard-size= -o --output= --to= --format= --symlink -f --force --existing= -n --dry-run --json --seed= -0 --null --protect --wait --absolute --follow --level= --records= -T --files-from= --compression= --dictionary= --limits= --layout= --from-compression= --from-dictionary= --from-limits= --from-layout= -j --threads= --bwlimit= --from= --iconv= --ignore-zeros --nested --memlimit= -q --quiet -v --verbose -h --help --help-all --progress --no-progress'
        first=archive others=none
        ;;
    merge)
        options='-o --output= --append -f --force --prefix= --as-subdirs --duplicates= --shard-size= --include= --exclude= --iconv= --ignore-zeros --nested --memlimit= -n --dry-run --strict --report= --protect --wait -j --threads= --bwlimit= -q --quiet -v --verbose -h --help --help-all --progress --no-progress'
        first=file others=file
        ;;
    merge-symlink)
        options='-o --output= -f --force --append --prefix= --as-subdirs --duplicates= -n --dry-run --protect --wait --absolute --hardlink --reflink -q --quiet -v --verbose -h --help --help-all --progress --no-progress'
        first=file others=file
        ;;
    upgrade)
        options='--accept --checksums --keep-old --protect --wait -n --dry-run -j --threads= --bwlimit= -q --quiet -v --verbose -h --help --help-all --progress --no-progress'
        first=archive others=none
        ;;
    protect)
        options='--redundancy= -u --update --check --repair --remove -n --dry-run --hard-links --trust-parity --parity-dir= -j --threads= --bwlimit= --wait -q --quiet -v --verbose -h --help --help-all --progress --no-progress'
        first=file others=file
        ;;
    help) first="words:$_shardbox_commands" ;;
    esac
}

# What the value of an option is; nothing for options without one.
_shardbox_value() {
    wanted=
    case $1:$2 in
    pack:--directory | pack:-C) wanted='directory' ;;
    pack:--files-from | pack:-T) wanted='file' ;;
    pack:--include) wanted='any' ;;
    pack:--exclude) wanted='any' ;;
    pack:--prefix) wanted='any' ;;
    pack:--exclude-from | pack:-X) wanted='file' ;;
    pack:--strip-components) wanted='any' ;;
    pack:--iconv) wanted='any' ;;
    pack:--stdin-name) wanted='any' ;;
    pack:--output | pack:-o) wanted='file' ;;
    pack:--duplicates) wanted='words:error first last' ;;
    pack:--shard-size) wanted='any' ;;
    pack:--protect=) wanted='any' ;;
    pack:--wait=) wanted='any' ;;
    pack:--order) wanted='words:path input inode' ;;
    pack:--compress) wanted='words:gz bz2 xz zst' ;;
    pack:--level) wanted='any' ;;
    pack:--checkpoint) wanted='any' ;;
    pack:--threads | pack:-j) wanted='any' ;;
    pack:--part) wanted='none' ;;
    pack:--bwlimit) wanted='any' ;;
    pack:--report) wanted='file' ;;
    unpack:--include) wanted='any' ;;
    unpack:--exclude) wanted='any' ;;
    unpack:--strip-components) wanted='any' ;;
    unpack:--directory | unpack:-C) wanted='directory' ;;
    unpack:--existing) wanted='words:fail skip replace newer' ;;
    unpack:--report) wanted='file' ;;
    unpack:--threads | unpack:-j) wanted='any' ;;
    unpack:--bwlimit) wanted='any' ;;
    unpack:--max-size) wanted='any' ;;
    unpack:--from) wanted='words:archive tar cpio zip bag bagz syrah cache' ;;
    unpack:--iconv) wanted='any' ;;
    unpack:--memlimit) wanted='any' ;;
    unpack:--compression) wanted='words:auto none zstd' ;;
    unpack:--dictionary) wanted='file' ;;
    unpack:--limits) wanted='words:auto tail separate' ;;
    unpack:--layout) wanted='words:concatenated interleaved' ;;
    convert:--from) wanted='words:archive dir tar tar.gz tar.bz2 tar.xz tar.lzma tar.zst tar.lz4 tar.lz tar.Z tgz tbz2 txz tzst cpio zip bag bagz syrah syr cache torchcachex extents' ;;
    convert:--to) wanted='words:archive dir tar tar.gz tar.bz2 tar.xz tar.lzma tar.zst tar.lz4 tgz tbz2 txz tzst zip bag bagz syrah syr cache torchcachex' ;;
    convert:--output | convert:-o) wanted='file' ;;
    convert:--existing) wanted='words:fail skip replace newer' ;;
    convert:--duplicates) wanted='words:error first last' ;;
    convert:--shard-size) wanted='any' ;;
    convert:--prefix) wanted='any' ;;
    convert:--strip-components) wanted='any' ;;
    convert:--include) wanted='any' ;;
    convert:--exclude) wanted='any' ;;
    convert:--threads | convert:-j) wanted='any' ;;
    convert:--part) wanted='none' ;;
    convert:--bwlimit) wanted='any' ;;
    convert:--iconv) wanted='any' ;;
    convert:--memlimit) wanted='any' ;;
    convert:--protect=) wanted='any' ;;
    convert:--wait=) wanted='any' ;;
    convert:--compress) wanted='words:gz bz2 xz zst' ;;
    convert:--level) wanted='any' ;;
    convert:--method) wanted='words:store deflate' ;;
    convert:--format) wanted='words:pax ustar gnu' ;;
    convert:--checkpoint) wanted='any' ;;
    convert:--max-size) wanted='any' ;;
    convert:--records) wanted='none' ;;
    convert:--files-from | convert:-T) wanted='file' ;;
    convert:--compression) wanted='words:auto none zstd' ;;
    convert:--dictionary) wanted='file' ;;
    convert:--limits) wanted='words:auto tail separate' ;;
    convert:--layout) wanted='words:concatenated interleaved' ;;
    convert:--from-compression) wanted='words:auto none zstd' ;;
    convert:--from-dictionary) wanted='file' ;;
    convert:--from-limits) wanted='words:auto tail separate' ;;
    convert:--from-layout) wanted='words:concatenated interleaved' ;;
    convert:--frame) wanted='words:none line nul u32 u64 varint tfrecord jsonl batch tar' ;;
    convert:--name-format) wanted='any' ;;
    convert:--keys) wanted='file' ;;
    convert:--count) wanted='any' ;;
    convert:--array) wanted='array' ;;
    convert:--dtype) wanted='words:bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 float128 str' ;;
    convert:--segment-size) wanted='any' ;;
    convert:--key-prefix) wanted='any' ;;
    convert:--sequence) wanted='words:tuple list' ;;
    convert:--report) wanted='file' ;;
    sync:--max-delete) wanted='any' ;;
    sync:--include) wanted='any' ;;
    sync:--exclude) wanted='any' ;;
    sync:--threads | sync:-j) wanted='any' ;;
    sync:--bwlimit) wanted='any' ;;
    sync:--shard-size) wanted='any' ;;
    sync:--protect=) wanted='any' ;;
    sync:--wait=) wanted='any' ;;
    sync:--from) wanted='words:archive tar cpio zip bag bagz syrah cache' ;;
    sync:--iconv) wanted='any' ;;
    sync:--memlimit) wanted='any' ;;
    sync:--compression) wanted='words:auto none zstd' ;;
    sync:--dictionary) wanted='file' ;;
    sync:--limits) wanted='words:auto tail separate' ;;
    sync:--layout) wanted='words:concatenated interleaved' ;;
    diff:--directory | diff:-C) wanted='file' ;;
    diff:--prefix) wanted='any' ;;
    diff:--ignore) wanted='none' ;;
    diff:--threads | diff:-j) wanted='any' ;;
    diff:--bwlimit) wanted='any' ;;
    diff:--from) wanted='words:archive tar cpio zip bag bagz syrah cache' ;;
    diff:--iconv) wanted='any' ;;
    diff:--memlimit) wanted='any' ;;
    diff:--compression) wanted='words:auto none zstd' ;;
    diff:--dictionary) wanted='file' ;;
    diff:--limits) wanted='words:auto tail separate' ;;
    diff:--layout) wanted='words:concatenated interleaved' ;;
    cat:--files-from | cat:-T) wanted='file' ;;
    cat:--range) wanted='none' ;;
    cat:--order) wanted='words:input address' ;;
    cat:--part) wanted='none' ;;
    cat:--frame) wanted='words:none line nul u32 u64 varint tfrecord jsonl batch tar' ;;
    cat:--format) wanted='words:pax ustar gnu' ;;
    cat:--array) wanted='array' ;;
    cat:--sample) wanted='any' ;;
    cat:--seed) wanted='any' ;;
    cat:--find=) wanted='any' ;;
    cat:--keys) wanted='file' ;;
    cat:--compression) wanted='words:auto none zstd' ;;
    cat:--dictionary) wanted='file' ;;
    cat:--limits) wanted='words:auto tail separate' ;;
    cat:--layout) wanted='words:concatenated interleaved' ;;
    cat:--threads | cat:-j) wanted='any' ;;
    cat:--bwlimit) wanted='any' ;;
    cat:--from) wanted='words:archive tar cpio zip bag bagz syrah cache' ;;
    cat:--iconv) wanted='any' ;;
    cat:--memlimit) wanted='any' ;;
    cat:--max-size) wanted='any' ;;
    ls:--max-depth | ls:-L) wanted='any' ;;
    ls:--records) wanted='none' ;;
    ls:--array) wanted='array' ;;
    ls:--sort) wanted='words:name size time address' ;;
    ls:--color=) wanted='words:auto always never' ;;
    ls:--at) wanted='any' ;;
    ls:--find=) wanted='any' ;;
    ls:--find-all=) wanted='any' ;;
    ls:--files-from | ls:-T) wanted='file' ;;
    ls:--compression) wanted='words:auto none zstd' ;;
    ls:--dictionary) wanted='file' ;;
    ls:--limits) wanted='words:auto tail separate' ;;
    ls:--layout) wanted='words:concatenated interleaved' ;;
    ls:--from) wanted='words:archive tar cpio zip bag bagz syrah cache' ;;
    ls:--iconv) wanted='any' ;;
    ls:--memlimit) wanted='any' ;;
    ls:--threads | ls:-j) wanted='any' ;;
    ls:--bwlimit) wanted='any' ;;
    find:--type) wanted='any' ;;
    find:--name) wanted='any' ;;
    find:--path) wanted='any' ;;
    find:--size) wanted='any' ;;
    find:--newer-than) wanted='file' ;;
    find:--max-depth) wanted='any' ;;
    find:--include) wanted='any' ;;
    find:--exclude) wanted='any' ;;
    find:--files-from | find:-T) wanted='file' ;;
    find:--sort) wanted='words:path address size' ;;
    find:--printf) wanted='any' ;;
    find:--threads | find:-j) wanted='any' ;;
    find:--bwlimit) wanted='any' ;;
    find:--from) wanted='words:archive tar cpio zip bag bagz syrah cache' ;;
    find:--iconv) wanted='any' ;;
    find:--memlimit) wanted='any' ;;
    find:--compression) wanted='words:auto none zstd' ;;
    find:--dictionary) wanted='file' ;;
    find:--limits) wanted='words:auto tail separate' ;;
    find:--layout) wanted='words:concatenated interleaved' ;;
    du:--max-depth | du:-d) wanted='any' ;;
    du:--array) wanted='array' ;;
    du:--sort) wanted='words:name size' ;;
    du:--export) wanted='words:ncdu' ;;
    du:--threads | du:-j) wanted='any' ;;
    du:--bwlimit) wanted='any' ;;
    du:--from) wanted='words:archive tar cpio zip bag bagz syrah cache' ;;
    du:--iconv) wanted='any' ;;
    du:--memlimit) wanted='any' ;;
    du:--compression) wanted='words:auto none zstd' ;;
    du:--dictionary) wanted='file' ;;
    du:--limits) wanted='words:auto tail separate' ;;
    du:--layout) wanted='words:concatenated interleaved' ;;
    mount:--at) wanted='directory' ;;
    mount:--idle) wanted='any' ;;
    mount:--log) wanted='file' ;;
    mount:--check) wanted='words:read open' ;;
    mount:--readahead) wanted='any' ;;
    mount:--uid) wanted='any' ;;
    mount:--gid) wanted='any' ;;
    mount:--keys) wanted='file' ;;
    mount:--threads | mount:-j) wanted='any' ;;
    mount:--from) wanted='words:archive tar cpio zip bag bagz syrah cache' ;;
    mount:--iconv) wanted='any' ;;
    mount:--compression) wanted='words:auto none zstd' ;;
    mount:--dictionary) wanted='file' ;;
    mount:--limits) wanted='words:auto tail separate' ;;
    mount:--layout) wanted='words:concatenated interleaved' ;;
    verify:--subset) wanted='none' ;;
    verify:--part) wanted='none' ;;
    verify:--shards) wanted='none' ;;
    verify:--max-time) wanted='none' ;;
    verify:--state) wanted='file' ;;
    verify:--max-age) wanted='none' ;;
    verify:--report) wanted='file' ;;
    verify:--prom) wanted='file' ;;
    verify:--repair-from) wanted='file' ;;
    verify:--wait=) wanted='any' ;;
    verify:--threads | verify:-j) wanted='any' ;;
    verify:--bwlimit) wanted='any' ;;
    verify:--parity-dir) wanted='file' ;;
    verify:--repair-prefix) wanted='any' ;;
    verify:--max-size) wanted='any' ;;
    verify:--from) wanted='words:archive tar cpio zip bag bagz syrah cache' ;;
    verify:--iconv) wanted='any' ;;
    verify:--memlimit) wanted='any' ;;
    verify:--compression) wanted='words:auto none zstd' ;;
    verify:--dictionary) wanted='file' ;;
    verify:--limits) wanted='words:auto tail separate' ;;
    verify:--layout) wanted='words:concatenated interleaved' ;;
    verify:--records) wanted='none' ;;
    verify:--files-from | verify:-T) wanted='file' ;;
    verify:--repair-to) wanted='file' ;;
    verify:--min-age) wanted='none' ;;
    rm:--files-from | rm:-T) wanted='file' ;;
    rm:--include) wanted='any' ;;
    rm:--exclude) wanted='any' ;;
    rm:--protect=) wanted='any' ;;
    rm:--wait=) wanted='any' ;;
    rm:--threads | rm:-j) wanted='any' ;;
    mv:--target-directory | mv:-t) wanted='any' ;;
    mv:--existing) wanted='words:fail skip replace newer' ;;
    mv:--protect=) wanted='any' ;;
    mv:--wait=) wanted='any' ;;
    defrag:--max-time) wanted='none' ;;
    defrag:--keep-through) wanted='any' ;;
    defrag:--shards) wanted='none' ;;
    defrag:--protect=) wanted='any' ;;
    defrag:--wait=) wanted='any' ;;
    defrag:--bwlimit) wanted='any' ;;
    split:--parts) wanted='any' ;;
    split:--size) wanted='any' ;;
    split:--count) wanted='any' ;;
    split:--ratio) wanted='any' ;;
    split:--by-list) wanted='any' ;;
    split:--rest) wanted='any' ;;
    split:--shard-size) wanted='any' ;;
    split:--output | split:-o) wanted='file' ;;
    split:--to) wanted='words:archive dir tar tar.gz tar.bz2 tar.xz tar.lzma tar.zst tar.lz4 tgz tbz2 txz tzst zip bag bagz syrah syr cache torchcachex' ;;
    split:--format) wanted='words:pax ustar gnu' ;;
    split:--existing) wanted='words:fail skip replace newer' ;;
    split:--seed) wanted='any' ;;
    split:--protect=) wanted='any' ;;
    split:--wait=) wanted='any' ;;
    split:--level) wanted='any' ;;
    split:--records) wanted='none' ;;
    split:--files-from | split:-T) wanted='file' ;;
    split:--compression) wanted='words:auto none zstd' ;;
    split:--dictionary) wanted='file' ;;
    split:--limits) wanted='words:auto tail separate' ;;
    split:--layout) wanted='words:concatenated interleaved' ;;
    split:--from-compression) wanted='words:auto none zstd' ;;
    split:--from-dictionary) wanted='file' ;;
    split:--from-limits) wanted='words:auto tail separate' ;;
    split:--from-layout) wanted='words:concatenated interleaved' ;;
    split:--threads | split:-j) wanted='any' ;;
    split:--bwlimit) wanted='any' ;;
    split:--from) wanted='words:archive tar cpio zip bag bagz syrah cache' ;;
    split:--iconv) wanted='any' ;;
    split:--memlimit) wanted='any' ;;
    merge:--output | merge:-o) wanted='file' ;;
    merge:--prefix) wanted='any' ;;
    merge:--duplicates) wanted='words:error first last' ;;
    merge:--shard-size) wanted='any' ;;
    merge:--include) wanted='any' ;;
    merge:--exclude) wanted='any' ;;
    merge:--iconv) wanted='any' ;;
    merge:--memlimit) wanted='any' ;;
    merge:--report) wanted='file' ;;
    merge:--protect=) wanted='any' ;;
    merge:--wait=) wanted='any' ;;
    merge:--threads | merge:-j) wanted='any' ;;
    merge:--bwlimit) wanted='any' ;;
    merge-symlink:--output | merge-symlink:-o) wanted='file' ;;
    merge-symlink:--prefix) wanted='any' ;;
    merge-symlink:--duplicates) wanted='words:error first last' ;;
    merge-symlink:--protect=) wanted='any' ;;
    merge-symlink:--wait=) wanted='any' ;;
    upgrade:--protect=) wanted='any' ;;
    upgrade:--wait=) wanted='any' ;;
    upgrade:--threads | upgrade:-j) wanted='any' ;;
    upgrade:--bwlimit) wanted='any' ;;
    protect:--redundancy) wanted='none' ;;
    protect:--parity-dir) wanted='file' ;;
    protect:--threads | protect:-j) wanted='any' ;;
    protect:--bwlimit) wanted='any' ;;
    protect:--wait=) wanted='any' ;;
    esac
}

# Keeps an option that says how the archive is read.
_shardbox_pass() {
    case $1 in
    --keys | --samples | --from | --iconv | --ignore-zeros | --nested | --compression | --dictionary | --limits | --layout)
        _shardbox_unquote "$2"
        passed+=("$1${REPLY:+=$REPLY}")
        ;;
    esac
}


# Sets REPLY to a word as the shell will pass it on.
_shardbox_unquote() {
    case $1 in
    \'*) REPLY=${1:1} REPLY=${REPLY%\'} ;;
    \"*) REPLY=${1:1} REPLY=${REPLY%\"} ;;
    *)
        # shellcheck disable=SC2162 # the backslashes are what is to go
        IFS= read REPLY <<<"$1"
        ;;
    esac
    case $REPLY in
    \~/*) REPLY=$HOME/${REPLY:2} ;;
    esac
}

# Sets words to the given ones, with those joined that bash split at '=' and ':'.
_shardbox_join_words() {
    local before=$1 word
    words=("$1")
    for word in "${@:2}"; do
        case $before/$word in
        [=:]/* | */[=:]) words[${#words[@]} - 1]+=$word ;;
        *) words+=("$word") ;;
        esac
        before=$word
    done
}

# One candidate for the word that begins with lead and typed. Bash replaces all but `strip` of it.
_shardbox_add() {
    local word=$lead$1
    [[ $1 == "$typed"* ]] && COMPREPLY+=("${word:strip}")
}

# Quotes the candidates as the word that is typed is. Bash would leave a $ or ` of a name as
# it is if no file has that name, and run what it says. A bash that cannot leave the quoting
# to us gets no such names.
_shardbox_quote() {
    local i word
    if ! compopt -o noquote 2>/dev/null && ((BASH_VERSINFO[0] >= 4)); then
        for i in "${!COMPREPLY[@]}"; do
            [[ ${COMPREPLY[i]} != *[\$\`]* ]] || unset "COMPREPLY[$i]"
        done
        return
    fi
    for i in "${!COMPREPLY[@]}"; do
        word=${COMPREPLY[i]}
        case ${COMP_WORDS[COMP_CWORD]} in
        \'*) word=${word//\'/\'\\\'\'} ;;
        \"*)
            word=${word//\\/\\\\}
            word=${word//\"/\\\"}
            word=${word//\$/\\\$}
            word=${word//\`/\\\`}
            ;;
        *) printf -v word %q "$word" ;;
        esac
        COMPREPLY[i]=$word
    done
}

_shardbox_add_files() {
    local found
    while IFS= read -r found; do
        [[ $found == *-shard-[0-9][0-9][0-9][0-9][0-9] ]] || _shardbox_add "$found"
    done < <(compgen "$1" -- "$typed")
    compopt -o filenames 2>/dev/null
    _shardbox_quote
}

# Names in the container: path, row or array. Of an option's value it may follow.
_shardbox_add_names() {
    local found what=$1
    if [[ ! $archive ]]; then
        wanted=
        _shardbox_join_words "${COMP_WORDS[@]:COMP_CWORD + 1}"
        _shardbox_scan "${words[@]}"
    fi
    while IFS= read -r -d '' found; do
        _shardbox_add "$found"
    done < <("$program" --complete "${passed[@]}" -- "$what" "$archive" "$typed" 2>/dev/null)
    compopt -o filenames 2>/dev/null
    [[ ${COMPREPLY[0]} == */ ]] && compopt -o nospace 2>/dev/null
    _shardbox_quote
}

_shardbox_add_words() {
    local word
    for word in $1; do
        _shardbox_add "$word"
    done
    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
}

# Candidates for one word, by what it is.
_shardbox_add_all() {
    case $1 in
    file | archive) _shardbox_add_files -f ;;
    directory) _shardbox_add_files -d ;;
    path | row | array) _shardbox_add_names "$1" ;;
    words:*) _shardbox_add_words "${1#words:}" ;;
    esac
}

# Goes through words of the line: sets count to the number of operands, archive to the
# first of them, wanted to what an option's value should be, ended after a "--", passed to
# the options that say how the archive is read.
_shardbox_scan() {
    local word option='' i
    for word in "$@"; do
        if [[ $wanted ]]; then
            wanted=
            _shardbox_pass "$option" "$word"
        elif [[ $ended || $word != -?* ]]; then
            ((count++)) || { _shardbox_unquote "$word" && archive=$REPLY; }
        elif [[ $word == -- ]]; then
            ended=1
        elif [[ $word == --*=* ]]; then
            _shardbox_pass "${word%%=*}" "${word#*=}"
        elif [[ $word == --* ]]; then
            option=$word
            _shardbox_value "$command" "$word"
            [[ $wanted ]] || _shardbox_pass "$word" ''
        else
            option=
            for ((i = 1; i < ${#word}; i++)); do
                _shardbox_value "$command" "-${word:i:1}"
                [[ ! $wanted ]] || break
            done
            ((i + 1 >= ${#word})) || wanted=
        fi
    done
}

_shardbox() {
    local program typed command REPLY lead='' wanted='' archive='' ended='' count=0 strip=0
    local words options first others passed=()
    COMPREPLY=()
    _shardbox_join_words "${COMP_WORDS[@]:1:COMP_CWORD}"
    _shardbox_unquote "${COMP_WORDS[COMP_CWORD]}"
    case $REPLY in
    [=:]) strip=0 ;;
    *) strip=${#REPLY} ;;
    esac
    _shardbox_unquote "${words[-1]}"
    typed=$REPLY
    strip=$((${#typed} - strip))
    _shardbox_unquote "${COMP_WORDS[0]}"
    program=$REPLY

    case $program in
    shardbox-* | */shardbox-*)
        command=${program##*shardbox-}
        program=${program%"-$command"}
        ;;
    *)
        if ((${#words[@]} == 1)); then
            _shardbox_add_words "$_shardbox_commands --help --list --version"
            return
        fi
        command=${words[0]}
        words=("${words[@]:1}")
        ;;
    esac

    _shardbox_scan "${words[@]:0:${#words[@]}-1}"
    _shardbox_table "$command"
    if [[ $wanted ]]; then
        _shardbox_add_all "$wanted"
    elif [[ ! $ended && $typed == --*=* ]]; then
        lead=${typed%%=*}=
        typed=${typed#*=}
        _shardbox_value "$command" "${lead%=}"
        [[ $wanted ]] || _shardbox_value "$command" "$lead"
        _shardbox_add_all "$wanted"
    elif [[ ! $ended && $typed == -* ]]; then
        _shardbox_add_words "$options"
    elif ((count == 0)); then
        _shardbox_add_all "$first"
    else
        _shardbox_add_all "$others"
    fi
}

complete -F _shardbox shardbox shardbox-pack shardbox-unpack shardbox-convert shardbox-sync shardbox-diff shardbox-cat shardbox-ls shardbox-find shardbox-du shardbox-mount shardbox-umount shardbox-verify shardbox-rm shardbox-mv shardbox-defrag shardbox-split shardbox-merge shardbox-merge-symlink shardbox-upgrade shardbox-protect
