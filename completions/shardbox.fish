# fish completion for shardbox, printed by: shardbox --completions=fish

function __shardbox_commands
    printf '%s\t%s\n' help 'show the options of a command' \
        pack 'pack files into an archive, or add them to one' \
        unpack 'write the files of an archive, tar or zip to a directory' \
        convert 'turn tars, zips, bags, arrays, directories and archives into one another' \
        sync 'make an archive equal to a directory or container, or a directory to one' \
        diff 'compare an archive with a directory or another archive' \
        cat 'write files of an archive, records of a bag, or arrays to standard output' \
        ls 'list a directory of an archive, the records of a bag, or arrays' \
        find 'print paths of an archive that pass tests, one a line' \
        du 'show how much is below each directory of an archive, or in another container' \
        mount 'show containers as a directory of files that any program reads' \
        umount 'end a mount' \
        verify 'check an archive: its index, its shards and every byte' \
        rm 'remove files from an archive\'s index' \
        mv 'rename files and directories of an archive' \
        defrag 'give back the space of files that were removed' \
        split 'cut a container into several, or an archive into smaller shards' \
        merge 'make one archive of several archives, tars, zips, bags and directories' \
        merge-symlink 'join archives under one index, over links to their shards' \
        upgrade 'bring an archive\'s index to the present schema, and repair it' \
        protect 'make parity files, by which damaged files are repaired'
end

# What the first operand of a command is, and the others.
function __shardbox_kinds
    switch $argv[1]
        case pack
            printf '%s\n' archive file
        case unpack
            printf '%s\n' archive path
        case convert
            printf '%s\n' file file
        case sync
            printf '%s\n' file file
        case diff
            printf '%s\n' archive path
        case cat
            printf '%s\n' archive row
        case ls
            printf '%s\n' archive row
        case find
            printf '%s\n' archive path
        case du
            printf '%s\n' archive row
        case mount
            printf '%s\n' file file
        case umount
            printf '%s\n' directory directory
        case verify
            printf '%s\n' archive path
        case rm
            printf '%s\n' archive path
        case mv
            printf '%s\n' archive path
        case defrag
            printf '%s\n' archive none
        case split
            printf '%s\n' archive none
        case merge
            printf '%s\n' file file
        case merge-symlink
            printf '%s\n' file file
        case upgrade
            printf '%s\n' archive none
        case protect
            printf '%s\n' file file
        case help
            printf '%s\n' command none
    end
end

function __shardbox_takes_value
    switch "$argv[1]:$argv[2]"
        case pack:-C pack:--directory pack:-T pack:--files-from pack:--include pack:--exclude pack:--prefix pack:-X pack:--exclude-from pack:--strip-components pack:--iconv pack:--stdin-name pack:-o pack:--output pack:--duplicates pack:--shard-size pack:--order pack:--compress pack:--level pack:--checkpoint pack:-j pack:--threads pack:--part pack:--bwlimit pack:--report
            return 0
        case unpack:--include unpack:--exclude unpack:--strip-components unpack:-C unpack:--directory unpack:--existing unpack:--report unpack:-j unpack:--threads unpack:--bwlimit unpack:--max-size unpack:--from unpack:--iconv unpack:--memlimit unpack:--compression unpack:--dictionary unpack:--limits unpack:--layout
            return 0
        case convert:--from convert:--to convert:-o convert:--output convert:--existing convert:--duplicates convert:--shard-size convert:--prefix convert:--strip-components convert:--include convert:--exclude convert:-j convert:--threads convert:--part convert:--bwlimit convert:--iconv convert:--memlimit convert:--compress convert:--level convert:--method convert:--format convert:--checkpoint convert:--max-size convert:--records convert:-T convert:--files-from convert:--compression convert:--dictionary convert:--limits convert:--layout convert:--from-compression convert:--from-dictionary convert:--from-limits convert:--from-layout convert:--frame convert:--name-format convert:--keys convert:--count convert:--array convert:--dtype convert:--segment-size convert:--key-prefix convert:--sequence convert:--report
            return 0
        case sync:--max-delete sync:--include sync:--exclude sync:-j sync:--threads sync:--bwlimit sync:--shard-size sync:--from sync:--iconv sync:--memlimit sync:--compression sync:--dictionary sync:--limits sync:--layout
            return 0
        case diff:-C diff:--directory diff:--prefix diff:--ignore diff:-j diff:--threads diff:--bwlimit diff:--from diff:--iconv diff:--memlimit diff:--compression diff:--dictionary diff:--limits diff:--layout
            return 0
        case cat:-T cat:--files-from cat:--range cat:--order cat:--part cat:--frame cat:--format cat:--array cat:--sample cat:--seed cat:--keys cat:--compression cat:--dictionary cat:--limits cat:--layout cat:-j cat:--threads cat:--bwlimit cat:--from cat:--iconv cat:--memlimit cat:--max-size
            return 0
        case ls:-L ls:--max-depth ls:--records ls:--array ls:--sort ls:--at ls:-T ls:--files-from ls:--compression ls:--dictionary ls:--limits ls:--layout ls:--from ls:--iconv ls:--memlimit ls:-j ls:--threads ls:--bwlimit
            return 0
        case find:--type find:--name find:--path find:--size find:--newer-than find:--max-depth find:--include find:--exclude find:-T find:--files-from find:--sort find:--printf find:-j find:--threads find:--bwlimit find:--from find:--iconv find:--memlimit find:--compression find:--dictionary find:--limits find:--layout
            return 0
        case du:-d du:--max-depth du:--array du:--sort du:--export du:-j du:--threads du:--bwlimit du:--from du:--iconv du:--memlimit du:--compression du:--dictionary du:--limits du:--layout
            return 0
        case mount:--at mount:--idle mount:--log mount:--check mount:--readahead mount:--uid mount:--gid mount:--keys mount:-j mount:--threads mount:--from mount:--iconv mount:--compression mount:--dictionary mount:--limits mount:--layout
            return 0
        case
            return 0
        case verify:--subset verify:--part verify:--shards verify:--max-time verify:--state verify:--max-age verify:--report verify:--prom verify:--repair-from verify:-j verify:--threads verify:--bwlimit verify:--parity-dir verify:--repair-prefix verify:--max-size verify:--from verify:--iconv verify:--memlimit verify:--compression verify:--dictionary verify:--limits verify:--layout verify:--records verify:-T verify:--files-from verify:--repair-to verify:--min-age
            return 0
        case rm:-T rm:--files-from rm:--include rm:--exclude rm:-j rm:--threads
            return 0
        case mv:-t mv:--target-directory mv:--existing
            return 0
        case defrag:--max-time defrag:--keep-through defrag:--shards defrag:--bwlimit
            return 0
        case split:--parts split:--size split:--count split:--ratio split:--by-list split:--rest split:--shard-size split:-o split:--output split:--to split:--format split:--existing split:--seed split:--level split:--records split:-T split:--files-from split:--compression split:--dictionary split:--limits split:--layout split:--from-compression split:--from-dictionary split:--from-limits split:--from-layout split:-j split:--threads split:--bwlimit split:--from split:--iconv split:--memlimit
            return 0
        case merge:-o merge:--output merge:--prefix merge:--duplicates merge:--shard-size merge:--include merge:--exclude merge:--iconv merge:--memlimit merge:--report merge:-j merge:--threads merge:--bwlimit
            return 0
        case merge-symlink:-o merge-symlink:--output merge-symlink:--prefix merge-symlink:--duplicates
            return 0
        case upgrade:-j upgrade:--threads upgrade:--bwlimit
            return 0
        case protect:--redundancy protect:--parity-dir protect:-j protect:--threads protect:--bwlimit
            return 0
    end
    return 1
end

# The options before the cursor that say how the container is read.
function __shardbox_passed
    set -l words (commandline -opc)
    set -l options --keys --samples --from --iconv --ignore-zeros --nested --compression --dictionary --limits --layout
    for i in (seq 2 (count $words))
        contains -- (string replace -r '=.*' '' -- $words[$i]) $options; or continue
        printf '%s\n' $words[$i]
        __shardbox_takes_value cat $words[$i]; and printf '%s\n' $words[(math $i + 1)]
    end
end

# The command and then the operands before the cursor, a line each.
function __shardbox_words
    set -l words
    set -l wanted
    set -l ended
    for word in (commandline -opc)[2..]
        if test -n "$wanted"
            set wanted
        else if test -n "$ended"; or not string match -q -- '-?*' $word
            set -a words $word
        else if test "$word" = --
            set ended 1
        else if __shardbox_takes_value $words[1] (string replace -r -- '^-[^-]*([^-])$' '-$1' $word)
            set wanted 1
        end
    end
    set -q words[1]; and printf '%s\n' $words
end

function __shardbox_is
    set -l words (__shardbox_words)
    test "$words[1]" = $argv[1]
end

function __shardbox_files
    __fish_complete_path (commandline -ct) | string match -v -r -- '-shard-\d{5}(\t|$)'
end

# Names in the container: path, row or array.
function __shardbox_names
    set -l program (commandline -opc)[1]
    set -l archive (string replace -r -- '^~/' $HOME/ $argv[2])
    set -l typed (commandline -ct | string replace -r -- '^--[^=]*=' '' | string unescape)
    $program --complete (__shardbox_passed) -- $argv[1] "$archive" "$typed" 2>/dev/null |
        string split0
end

function __shardbox_operands
    set -l words (__shardbox_words)
    set -l kind
    switch (count $words)
        case 0
            set kind command
        case 1
            set kind (__shardbox_kinds $words[1])[1]
        case '*'
            set kind (__shardbox_kinds $words[1])[2]
    end
    switch "$kind"
        case command
            __shardbox_commands
        case archive file
            __shardbox_files
        case directory
            __fish_complete_directories (commandline -ct)
        case path row
            __shardbox_names $kind $words[2]
    end
end

complete -c shardbox -f -a '(__shardbox_operands)'

complete -c shardbox -n '__shardbox_is pack' -s C -l directory -x -a '(__fish_complete_directories (commandline -ct))' -d 'PATHs that follow are in DIR'
complete -c shardbox -n '__shardbox_is pack' -s T -l files-from -r -F -d 'the paths in FILE too, one a line; - is stdin'
complete -c shardbox -n '__shardbox_is pack' -s 0 -l null -d 'names in lists end with NUL, not newline'
complete -c shardbox -n '__shardbox_is pack' -l include -x -d 'store what matches; the first match decides'
complete -c shardbox -n '__shardbox_is pack' -l exclude -x -d 'leave out what matches'
complete -c shardbox -n '__shardbox_is pack' -s L -l dereference -d 'store what symbolic links point to'
complete -c shardbox -n '__shardbox_is pack' -s x -l one-file-system -d 'do not descend into other file systems'
complete -c shardbox -n '__shardbox_is pack' -l prefix -x -d 'put everything below DIR'
complete -c shardbox -n '__shardbox_is pack' -s X -l exclude-from -r -F -d 'leave out what matches a line of FILE'
complete -c shardbox -n '__shardbox_is pack' -l no-recursion -d 'directories without what is below them'
complete -c shardbox -n '__shardbox_is pack' -l strip-components -x -d 'take N leading components off each name'
complete -c shardbox -n '__shardbox_is pack' -l iconv -x -d 'names are in CHARSET; store them as UTF-8'
complete -c shardbox -n '__shardbox_is pack' -l stdin-name -x -d 'the name of standard input, when PATH is -'
complete -c shardbox -n '__shardbox_is pack' -s o -l output -r -F -d 'the ARCHIVE, in place of the first operand'
complete -c shardbox -n '__shardbox_is pack' -l append -d 'add to OUTPUT, or make it'
complete -c shardbox -n '__shardbox_is pack' -s u -l update -d 'with --append: what changed here replaces what is there'
complete -c shardbox -n '__shardbox_is pack' -l duplicates -x -a 'error first last' -d 'which file of a name is kept'
complete -c shardbox -n '__shardbox_is pack' -s f -l force -d 'replace OUTPUT if it exists'
complete -c shardbox -n '__shardbox_is pack' -l shard-size -x -d 'begin a new shard before one passes SIZE'
complete -c shardbox -n '__shardbox_is pack' -l checksum -d 'with --update: compare bytes of all files, whatever their times'
complete -c shardbox -n '__shardbox_is pack' -l protect -x -d 'bring its parity files up to date at the end, or make them'
complete -c shardbox -n '__shardbox_is pack' -l wait -x -d 'while another process writes it, wait (TIME: 90s, 5m)'
complete -c shardbox -n '__shardbox_is pack' -l order -x -a 'path input inode' -d 'order of the bytes in shards (default: path)'
complete -c shardbox -n '__shardbox_is pack' -l compress -x -a 'gz bz2 xz zst' -d 'store each file compressed, its suffix added'
complete -c shardbox -n '__shardbox_is pack' -l level -x -d 'how hard to compress'
complete -c shardbox -n '__shardbox_is pack' -l seal -d 'with --append: leave existing shards as they are'
complete -c shardbox -n '__shardbox_is pack' -l checkpoint -x -d 'of an archive: commit after each SIZE'
complete -c shardbox -n '__shardbox_is pack' -l resume -d 'go on where a run with --checkpoint ended'
complete -c shardbox -n '__shardbox_is pack' -s j -l threads -x -d 'read with N threads (default: cores, at most 4)'
complete -c shardbox -n '__shardbox_is pack' -l part -x -d 'part I of N, from 1, into an archive of its own, or \'auto\''
complete -c shardbox -n '__shardbox_is pack' -l bwlimit -x -d 'read, and write, at most RATE bytes a second (50M)'
complete -c shardbox -n '__shardbox_is pack' -s n -l dry-run -d 'print what would change, a line each; change nothing'
complete -c shardbox -n '__shardbox_is pack' -l strict -d 'look first; make nothing if anything would be lost'
complete -c shardbox -n '__shardbox_is pack' -l report -r -F -d 'list in FILE what was lost or left out, as JSON'
complete -c shardbox -n '__shardbox_is pack' -s q -l quiet -d 'give no warnings'
complete -c shardbox -n '__shardbox_is pack' -s v -l verbose -d 'say more about what is done'
complete -c shardbox -n '__shardbox_is pack' -s h -l help -d 'show this help; --help-all shows every option'
complete -c shardbox -n '__shardbox_is pack' -l help-all -d 'show every option'
complete -c shardbox -n '__shardbox_is pack' -l progress -d 'show progress, also when not on a terminal'
complete -c shardbox -n '__shardbox_is pack' -l no-progress -d 'show no progress'

complete -c shardbox -n '__shardbox_is unpack' -l include -x -d 'take what matches; the first match decides'
complete -c shardbox -n '__shardbox_is unpack' -l exclude -x -d 'leave out what matches'
complete -c shardbox -n '__shardbox_is unpack' -l strip-components -x -d 'take N leading components off each name'
complete -c shardbox -n '__shardbox_is unpack' -l decompress -d 'take .gz, .bz2, .xz or .zst off files and names'
complete -c shardbox -n '__shardbox_is unpack' -l decompress-all -d 'the same, also where several are stacked'
complete -c shardbox -n '__shardbox_is unpack' -l no-check -d 'do not check checksums'
complete -c shardbox -n '__shardbox_is unpack' -s C -l directory -x -a '(__fish_complete_directories (commandline -ct))' -d 'unpack into DIR, which is made when it is missing'
complete -c shardbox -n '__shardbox_is unpack' -l existing -x -a 'fail skip replace newer' -d 'files that exist already (default: fail)'
complete -c shardbox -n '__shardbox_is unpack' -s m -l touch -d 'set no times: files are as new as they are'
complete -c shardbox -n '__shardbox_is unpack' -s p -l preserve -d 'set owners, set-id and sticky bits (root: always)'
complete -c shardbox -n '__shardbox_is unpack' -l no-same-owner -d 'set none of these, also as root'
complete -c shardbox -n '__shardbox_is unpack' -l numeric-owner -d 'set owners by number, not by name'
complete -c shardbox -n '__shardbox_is unpack' -l sync -d 'have everything on disk before the end'
complete -c shardbox -n '__shardbox_is unpack' -s n -l dry-run -d 'print what would change, a line each; change nothing'
complete -c shardbox -n '__shardbox_is unpack' -l report -r -F -d 'list in FILE what was lost or left out, as JSON'
complete -c shardbox -n '__shardbox_is unpack' -s j -l threads -x -d 'threads that write (default: cores, at most 4)'
complete -c shardbox -n '__shardbox_is unpack' -l bwlimit -x -d 'read, and write, at most RATE bytes a second (50M)'
complete -c shardbox -n '__shardbox_is unpack' -l max-size -x -d 'give up when more than SIZE bytes come out'
complete -c shardbox -n '__shardbox_is unpack' -l from -x -a 'archive tar cpio zip bag bagz syrah cache' -d 'what it is, if its content does not show it'
complete -c shardbox -n '__shardbox_is unpack' -l iconv -x -d 'charset of names in a tar, cpio or zip, if not UTF-8'
complete -c shardbox -n '__shardbox_is unpack' -l ignore-zeros -d 'read the tars that follow the end of a tar, too'
complete -c shardbox -n '__shardbox_is unpack' -l nested -d 'look into the tars in a tar, as directories'
complete -c shardbox -n '__shardbox_is unpack' -l memlimit -x -d 'memory that decompressing xz and zstd may take'
complete -c shardbox -n '__shardbox_is unpack' -l compression -x -a 'auto none zstd' -d 'how records are stored (default: by the suffix)'
complete -c shardbox -n '__shardbox_is unpack' -l dictionary -r -F -d 'the zstd dictionary of the records'
complete -c shardbox -n '__shardbox_is unpack' -l limits -x -a 'auto tail separate' -d 'where the limits are (default: seen)'
complete -c shardbox -n '__shardbox_is unpack' -l layout -x -a 'concatenated interleaved' -d 'how records lie in several shards'
complete -c shardbox -n '__shardbox_is unpack' -s q -l quiet -d 'give no warnings'
complete -c shardbox -n '__shardbox_is unpack' -s v -l verbose -d 'say more about what is done'
complete -c shardbox -n '__shardbox_is unpack' -s h -l help -d 'show this help; --help-all shows every option'
complete -c shardbox -n '__shardbox_is unpack' -l help-all -d 'show every option'
complete -c shardbox -n '__shardbox_is unpack' -l progress -d 'show progress, also when not on a terminal'
complete -c shardbox -n '__shardbox_is unpack' -l no-progress -d 'show no progress'

complete -c shardbox -n '__shardbox_is convert' -l from -x -a 'archive dir tar tar.gz tar.bz2 tar.xz tar.lzma tar.zst tar.lz4 tar.lz tar.Z tgz tbz2 txz tzst cpio zip bag bagz syrah syr cache torchcachex extents' -d 'what INPUTs are (default: seen by their content)'
complete -c shardbox -n '__shardbox_is convert' -l to -x -a 'archive dir tar tar.gz tar.bz2 tar.xz tar.lzma tar.zst tar.lz4 tgz tbz2 txz tzst zip bag bagz syrah syr cache torchcachex' -d 'what OUTPUT becomes (default: by its suffix)'
complete -c shardbox -n '__shardbox_is convert' -l wrap -d 'copy nothing: an archive over the INPUTs\' own bytes'
complete -c shardbox -n '__shardbox_is convert' -s o -l output -r -F -d 'the OUTPUT, in place of the last operand'
complete -c shardbox -n '__shardbox_is convert' -s f -l force -d 'replace OUTPUT if it exists'
complete -c shardbox -n '__shardbox_is convert' -l append -d 'add to OUTPUT, or make it'
complete -c shardbox -n '__shardbox_is convert' -l existing -x -a 'fail skip replace newer' -d 'files that a directory has already (default: fail)'
complete -c shardbox -n '__shardbox_is convert' -l duplicates -x -a 'error first last' -d 'which file of a name is kept'
complete -c shardbox -n '__shardbox_is convert' -l shard-size -x -d 'begin a new shard before one passes SIZE'
complete -c shardbox -n '__shardbox_is convert' -l prefix -x -d 'put everything below DIR'
complete -c shardbox -n '__shardbox_is convert' -l strip-components -x -d 'take N leading components off each name'
complete -c shardbox -n '__shardbox_is convert' -l include -x -d 'take what matches; the first match decides'
complete -c shardbox -n '__shardbox_is convert' -l exclude -x -d 'leave out what matches'
complete -c shardbox -n '__shardbox_is convert' -s j -l threads -x -d 'threads to use (default: cores, at most 4)'
complete -c shardbox -n '__shardbox_is convert' -l part -x -d 'part I of N, from 1, into an output of its own, or \'auto\''
complete -c shardbox -n '__shardbox_is convert' -l bwlimit -x -d 'read, and write, at most RATE bytes a second (50M)'
complete -c shardbox -n '__shardbox_is convert' -l iconv -x -d 'charset of names in a tar, cpio or zip, if not UTF-8'
complete -c shardbox -n '__shardbox_is convert' -l ignore-zeros -d 'read the tars that follow the end of a tar, too'
complete -c shardbox -n '__shardbox_is convert' -l nested -d 'look into the tars in a tar, as directories'
complete -c shardbox -n '__shardbox_is convert' -l memlimit -x -d 'memory that decompressing xz and zstd may take'
complete -c shardbox -n '__shardbox_is convert' -l no-checksum -d 'with --wrap, --from=extents: compute no CRC32C'
complete -c shardbox -n '__shardbox_is convert' -l protect -x -d 'bring its parity files up to date at the end, or make them'
complete -c shardbox -n '__shardbox_is convert' -l wait -x -d 'while another process writes it, wait (TIME: 90s, 5m)'
complete -c shardbox -n '__shardbox_is convert' -l compress -x -a 'gz bz2 xz zst' -d 'store each file compressed, its suffix added'
complete -c shardbox -n '__shardbox_is convert' -l level -x -d 'how hard to compress'
complete -c shardbox -n '__shardbox_is convert' -l method -x -a 'store deflate' -d 'how members of a zip are stored (default: deflate)'
complete -c shardbox -n '__shardbox_is convert' -l sparse -d 'in a tar, files with holes keep them, as GNU tar\'s'
complete -c shardbox -n '__shardbox_is convert' -l format -x -a 'pax ustar gnu' -d 'of a tar that is written (default: pax)'
complete -c shardbox -n '__shardbox_is convert' -l checkpoint -x -d 'of an archive: commit after each SIZE'
complete -c shardbox -n '__shardbox_is convert' -l resume -d 'go on where a run with --checkpoint ended'
complete -c shardbox -n '__shardbox_is convert' -l samples -d 'files of one name up to its first dot become neighbours'
complete -c shardbox -n '__shardbox_is convert' -l decompress -d 'take .gz, .bz2, .xz or .zst off files and names'
complete -c shardbox -n '__shardbox_is convert' -l decompress-all -d 'the same, also where several are stacked'
complete -c shardbox -n '__shardbox_is convert' -l max-size -x -d 'give up when more than SIZE bytes come out'
complete -c shardbox -n '__shardbox_is convert' -l no-check -d 'do not check checksums'
complete -c shardbox -n '__shardbox_is convert' -s p -l preserve -d 'set owners, set-id and sticky bits (root: always)'
complete -c shardbox -n '__shardbox_is convert' -l no-same-owner -d 'set none of these, also as root'
complete -c shardbox -n '__shardbox_is convert' -l numeric-owner -d 'set owners by number, not by name'
complete -c shardbox -n '__shardbox_is convert' -l records -x -d 'only these records or items, like 7,-1,10:20:2'
complete -c shardbox -n '__shardbox_is convert' -s T -l files-from -r -F -d 'records by numbers in FILE, a line each; - is stdin'
complete -c shardbox -n '__shardbox_is convert' -l compression -x -a 'auto none zstd' -d 'how records are stored (default: by the suffix)'
complete -c shardbox -n '__shardbox_is convert' -l dictionary -r -F -d 'the zstd dictionary of the records'
complete -c shardbox -n '__shardbox_is convert' -l limits -x -a 'auto tail separate' -d 'where the limits are (default: seen)'
complete -c shardbox -n '__shardbox_is convert' -l layout -x -a 'concatenated interleaved' -d 'how records lie in several shards'
complete -c shardbox -n '__shardbox_is convert' -l from-compression -x -a 'auto none zstd' -d 'how their records are stored'
complete -c shardbox -n '__shardbox_is convert' -l from-dictionary -r -F -d 'the zstd dictionary of their records'
complete -c shardbox -n '__shardbox_is convert' -l from-limits -x -a 'auto tail separate' -d 'where their limits are'
complete -c shardbox -n '__shardbox_is convert' -l from-layout -x -a 'concatenated interleaved' -d 'how records lie in their shards'
complete -c shardbox -n '__shardbox_is convert' -l frame -x -a 'none line nul u32 u64 varint tfrecord jsonl batch tar' -d 'how records in a file or pipe are split: line, u32'
complete -c shardbox -n '__shardbox_is convert' -l name-format -x -d 'names of records that become files (default: %08d)'
complete -c shardbox -n '__shardbox_is convert' -l keys -r -F -d 'names of records: read from BAG, or written there'
complete -c shardbox -n '__shardbox_is convert' -l count -x -d 'of a bag of several shards: N records a shard'
complete -c shardbox -n '__shardbox_is convert' -l limits-only -d 'make a bag of each shard of ARCHIVE, by its limits'
complete -c shardbox -n '__shardbox_is convert' -l array -x -a '(__shardbox_names array (__shardbox_words)[2])' -d 'only this array, column or suffix; may be repeated'
complete -c shardbox -n '__shardbox_is convert' -l dtype -x -a 'bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 float128 str' -d 'of bags that become arrays: what their records are'
complete -c shardbox -n '__shardbox_is convert' -l segment-size -x -d 'end a segment before its values pass SIZE (64 MiB)'
complete -c shardbox -n '__shardbox_is convert' -l compact -d 'leave out what a later one of them supersedes'
complete -c shardbox -n '__shardbox_is convert' -l key-prefix -x -d 'put TEXT before every key'
complete -c shardbox -n '__shardbox_is convert' -l sequence -x -a 'tuple list' -d 'what item0, item1, ... are (default: tuple)'
complete -c shardbox -n '__shardbox_is convert' -s n -l dry-run -d 'print what would change, a line each; change nothing'
complete -c shardbox -n '__shardbox_is convert' -l strict -d 'make nothing if anything would be lost or left out'
complete -c shardbox -n '__shardbox_is convert' -l report -r -F -d 'list in FILE what was lost or left out, as JSON'
complete -c shardbox -n '__shardbox_is convert' -s q -l quiet -d 'give no warnings'
complete -c shardbox -n '__shardbox_is convert' -s v -l verbose -d 'say more about what is done'
complete -c shardbox -n '__shardbox_is convert' -s h -l help -d 'show this help; --help-all shows every option'
complete -c shardbox -n '__shardbox_is convert' -l help-all -d 'show every option'
complete -c shardbox -n '__shardbox_is convert' -l progress -d 'show progress, also when not on a terminal'
complete -c shardbox -n '__shardbox_is convert' -l no-progress -d 'show no progress'

complete -c shardbox -n '__shardbox_is sync' -l delete -d 'remove what SOURCE does not have'
complete -c shardbox -n '__shardbox_is sync' -l max-delete -x -d 'change nothing if more than N would be removed'
complete -c shardbox -n '__shardbox_is sync' -s f -l force -d 'an empty SOURCE may remove everything'
complete -c shardbox -n '__shardbox_is sync' -s c -l checksum -d 'compare bytes, not only sizes and times'
complete -c shardbox -n '__shardbox_is sync' -l size-only -d 'another time alone is no change'
complete -c shardbox -n '__shardbox_is sync' -l include -x -d 'compare what matches; the first match decides'
complete -c shardbox -n '__shardbox_is sync' -l exclude -x -d 'leave out what matches'
complete -c shardbox -n '__shardbox_is sync' -s L -l dereference -d 'of a DIR: what symbolic links point to'
complete -c shardbox -n '__shardbox_is sync' -s x -l one-file-system -d 'of a DIR: do not descend into, or remove from, other file systems'
complete -c shardbox -n '__shardbox_is sync' -s n -l dry-run -d 'print what would change, a line each; change nothing'
complete -c shardbox -n '__shardbox_is sync' -s i -l itemize-changes -d 'print each change, with what differs as rsync has it'
complete -c shardbox -n '__shardbox_is sync' -l json -d 'an object a line for each change, and for all'
complete -c shardbox -n '__shardbox_is sync' -s j -l threads -x -d 'threads to use (default: cores, at most 4)'
complete -c shardbox -n '__shardbox_is sync' -l bwlimit -x -d 'read, and write, at most RATE bytes a second (50M)'
complete -c shardbox -n '__shardbox_is sync' -l detect-renamed -d 'with --delete: also of a tar or zip, which is read twice'
complete -c shardbox -n '__shardbox_is sync' -l shard-size -x -d 'begin a new shard before one passes SIZE'
complete -c shardbox -n '__shardbox_is sync' -l seal -d 'put new bytes into a new shard'
complete -c shardbox -n '__shardbox_is sync' -l protect -x -d 'bring its parity files up to date at the end, or make them'
complete -c shardbox -n '__shardbox_is sync' -l wait -x -d 'while another process writes it, wait (TIME: 90s, 5m)'
complete -c shardbox -n '__shardbox_is sync' -s p -l preserve -d 'set owners, set-id and sticky bits (root: always)'
complete -c shardbox -n '__shardbox_is sync' -l no-same-owner -d 'set none of these, also as root'
complete -c shardbox -n '__shardbox_is sync' -l numeric-owner -d 'set owners by number, not by name'
complete -c shardbox -n '__shardbox_is sync' -l sync -d 'have everything on disk before the end'
complete -c shardbox -n '__shardbox_is sync' -l from -x -a 'archive tar cpio zip bag bagz syrah cache' -d 'what it is, if its content does not show it'
complete -c shardbox -n '__shardbox_is sync' -l iconv -x -d 'charset of names in a tar, cpio or zip, if not UTF-8'
complete -c shardbox -n '__shardbox_is sync' -l ignore-zeros -d 'read the tars that follow the end of a tar, too'
complete -c shardbox -n '__shardbox_is sync' -l nested -d 'look into the tars in a tar, as directories'
complete -c shardbox -n '__shardbox_is sync' -l memlimit -x -d 'memory that decompressing xz and zstd may take'
complete -c shardbox -n '__shardbox_is sync' -l compression -x -a 'auto none zstd' -d 'how records are stored (default: by the suffix)'
complete -c shardbox -n '__shardbox_is sync' -l dictionary -r -F -d 'the zstd dictionary of the records'
complete -c shardbox -n '__shardbox_is sync' -l limits -x -a 'auto tail separate' -d 'where the limits are (default: seen)'
complete -c shardbox -n '__shardbox_is sync' -l layout -x -a 'concatenated interleaved' -d 'how records lie in several shards'
complete -c shardbox -n '__shardbox_is sync' -s q -l quiet -d 'give no warnings'
complete -c shardbox -n '__shardbox_is sync' -s v -l verbose -d 'say more about what is done'
complete -c shardbox -n '__shardbox_is sync' -s h -l help -d 'show this help; --help-all shows every option'
complete -c shardbox -n '__shardbox_is sync' -l help-all -d 'show every option'
complete -c shardbox -n '__shardbox_is sync' -l progress -d 'show progress, also when not on a terminal'
complete -c shardbox -n '__shardbox_is sync' -l no-progress -d 'show no progress'

complete -c shardbox -n '__shardbox_is diff' -s C -l directory -r -F -d 'compare with DIR or another container (default: .)'
complete -c shardbox -n '__shardbox_is diff' -l prefix -x -d 'compare what ARCHIVE holds below DIR'
complete -c shardbox -n '__shardbox_is diff' -l ignore -x -d 'do not report these, such as time,mode'
complete -c shardbox -n '__shardbox_is diff' -l owner -d 'compare numbers of users and groups too'
complete -c shardbox -n '__shardbox_is diff' -s r -l recursive -d 'no effect: directories are always entered'
complete -c shardbox -n '__shardbox_is diff' -s q -l brief -d 'only report which names differ'
complete -c shardbox -n '__shardbox_is diff' -s Q -l quick -d 'do not read bytes or targets of links'
complete -c shardbox -n '__shardbox_is diff' -l json -d 'print each difference as a line of JSON'
complete -c shardbox -n '__shardbox_is diff' -l csv -d 'the same as CSV, below a line of names'
complete -c shardbox -n '__shardbox_is diff' -s j -l threads -x -d 'threads that read (default: cores, at most 4)'
complete -c shardbox -n '__shardbox_is diff' -l bwlimit -x -d 'read, and write, at most RATE bytes a second (50M)'
complete -c shardbox -n '__shardbox_is diff' -l from -x -a 'archive tar cpio zip bag bagz syrah cache' -d 'what it is, if its content does not show it'
complete -c shardbox -n '__shardbox_is diff' -l iconv -x -d 'charset of names in a tar, cpio or zip, if not UTF-8'
complete -c shardbox -n '__shardbox_is diff' -l ignore-zeros -d 'read the tars that follow the end of a tar, too'
complete -c shardbox -n '__shardbox_is diff' -l nested -d 'look into the tars in a tar, as directories'
complete -c shardbox -n '__shardbox_is diff' -l memlimit -x -d 'memory that decompressing xz and zstd may take'
complete -c shardbox -n '__shardbox_is diff' -l compression -x -a 'auto none zstd' -d 'how records are stored (default: by the suffix)'
complete -c shardbox -n '__shardbox_is diff' -l dictionary -r -F -d 'the zstd dictionary of the records'
complete -c shardbox -n '__shardbox_is diff' -l limits -x -a 'auto tail separate' -d 'where the limits are (default: seen)'
complete -c shardbox -n '__shardbox_is diff' -l layout -x -a 'concatenated interleaved' -d 'how records lie in several shards'
complete -c shardbox -n '__shardbox_is diff' -l quiet -d 'give no warnings'
complete -c shardbox -n '__shardbox_is diff' -s v -l verbose -d 'say more about what is done'
complete -c shardbox -n '__shardbox_is diff' -s h -l help -d 'show this help; --help-all shows every option'
complete -c shardbox -n '__shardbox_is diff' -l help-all -d 'show every option'
complete -c shardbox -n '__shardbox_is diff' -l progress -d 'show progress, also when not on a terminal'
complete -c shardbox -n '__shardbox_is diff' -l no-progress -d 'show no progress'

complete -c shardbox -n '__shardbox_is cat' -s T -l files-from -r -F -d 'names or numbers too, one a line; - is stdin'
complete -c shardbox -n '__shardbox_is cat' -s 0 -l null -d 'names in FILE end in NUL, not newline'
complete -c shardbox -n '__shardbox_is cat' -l range -x -d 'only these bytes of each file, unchecked'
complete -c shardbox -n '__shardbox_is cat' -l order -x -a 'input address' -d '\'address\' reads in the order on disk'
complete -c shardbox -n '__shardbox_is cat' -l part -x -d 'part I of N, from 1, of the names or rows, or \'auto\''
complete -c shardbox -n '__shardbox_is cat' -l frame -x -a 'none line nul u32 u64 varint tfrecord jsonl batch tar' -d 'how files or records are set apart: line, u32, tar'
complete -c shardbox -n '__shardbox_is cat' -l decompress -d 'files called .gz, .bz2, .xz or .zst decompressed'
complete -c shardbox -n '__shardbox_is cat' -l npy -d 'arrays as .npy files, with their type and shape'
complete -c shardbox -n '__shardbox_is cat' -l raw -d 'arrays as values alone, not as .npy files'
complete -c shardbox -n '__shardbox_is cat' -l format -x -a 'pax ustar gnu' -d 'of a tar that is written (default: pax)'
complete -c shardbox -n '__shardbox_is cat' -l decompress-all -d 'the same, also where several are stacked'
complete -c shardbox -n '__shardbox_is cat' -l batch -d 'frame answers: a line \'PATH SIZE\' (-0: to NUL), bytes, newline'
complete -c shardbox -n '__shardbox_is cat' -l samples -d 'files of one name up to its first dot, numbered'
complete -c shardbox -n '__shardbox_is cat' -l array -x -a '(__shardbox_names array (__shardbox_words)[2])' -d 'only this array, column or suffix; may be repeated'
complete -c shardbox -n '__shardbox_is cat' -l sample -x -d 'N records, items or keys, at random'
complete -c shardbox -n '__shardbox_is cat' -l shuffle -d 'all of them, in a random order'
complete -c shardbox -n '__shardbox_is cat' -l seed -x -d 'which order that is (default: 0)'
complete -c shardbox -n '__shardbox_is cat' -l find -x -d 'the first record that is KEY, or is each line of -T'
complete -c shardbox -n '__shardbox_is cat' -l replace -d '--sample may draw one more than once'
complete -c shardbox -n '__shardbox_is cat' -l forever -d 'again and again, without end; --shuffle each time anew'
complete -c shardbox -n '__shardbox_is cat' -l keys -r -F -d 'records by names, which are the records of BAG'
complete -c shardbox -n '__shardbox_is cat' -l compression -x -a 'auto none zstd' -d 'how records are stored (default: by the suffix)'
complete -c shardbox -n '__shardbox_is cat' -l dictionary -r -F -d 'the zstd dictionary of the records'
complete -c shardbox -n '__shardbox_is cat' -l limits -x -a 'auto tail separate' -d 'where the limits are (default: seen)'
complete -c shardbox -n '__shardbox_is cat' -l layout -x -a 'concatenated interleaved' -d 'how records lie in several shards'
complete -c shardbox -n '__shardbox_is cat' -s j -l threads -x -d 'threads that read ahead (default: cores, at most 4)'
complete -c shardbox -n '__shardbox_is cat' -l keep-case -d 'extensions of samples as they are, not in lower case'
complete -c shardbox -n '__shardbox_is cat' -l bwlimit -x -d 'read, and write, at most RATE bytes a second (50M)'
complete -c shardbox -n '__shardbox_is cat' -l from -x -a 'archive tar cpio zip bag bagz syrah cache' -d 'what it is, if its content does not show it'
complete -c shardbox -n '__shardbox_is cat' -l iconv -x -d 'charset of names in a tar, cpio or zip, if not UTF-8'
complete -c shardbox -n '__shardbox_is cat' -l ignore-zeros -d 'read the tars that follow the end of a tar, too'
complete -c shardbox -n '__shardbox_is cat' -l nested -d 'look into the tars in a tar, as directories'
complete -c shardbox -n '__shardbox_is cat' -l memlimit -x -d 'memory that decompressing xz and zstd may take'
complete -c shardbox -n '__shardbox_is cat' -l max-size -x -d 'give up when more than SIZE bytes come out'
complete -c shardbox -n '__shardbox_is cat' -l no-check -d 'do not check the bytes\' CRC32C'
complete -c shardbox -n '__shardbox_is cat' -s q -l quiet -d 'give no warnings'
complete -c shardbox -n '__shardbox_is cat' -s v -l verbose -d 'say more about what is done'
complete -c shardbox -n '__shardbox_is cat' -s h -l help -d 'show this help; --help-all shows every option'
complete -c shardbox -n '__shardbox_is cat' -l help-all -d 'show every option'
complete -c shardbox -n '__shardbox_is cat' -l progress -d 'show progress, also when not on a terminal'
complete -c shardbox -n '__shardbox_is cat' -l no-progress -d 'show no progress'

complete -c shardbox -n '__shardbox_is ls' -s R -l recursive -d 'directories below too'
complete -c shardbox -n '__shardbox_is ls' -s d -l directory -d 'directories themselves, not what they hold'
complete -c shardbox -n '__shardbox_is ls' -l tree -d 'the whole tree below, drawn; -d: only directories'
complete -c shardbox -n '__shardbox_is ls' -s L -l max-depth -x -d 'with --tree or -R: at most N levels'
complete -c shardbox -n '__shardbox_is ls' -l records -x -d 'only these records or items, like 7,-1,10:20:2'
complete -c shardbox -n '__shardbox_is ls' -l samples -d 'files of one name up to its first dot, numbered'
complete -c shardbox -n '__shardbox_is ls' -l array -x -a '(__shardbox_names array (__shardbox_words)[2])' -d 'only this array, column or suffix; may be repeated'
complete -c shardbox -n '__shardbox_is ls' -l shards -d 'a row per shard: size, bytes in use, gaps, files'
complete -c shardbox -n '__shardbox_is ls' -l rsync-list -d 'the archive\'s own files, for rsync: index last'
complete -c shardbox -n '__shardbox_is ls' -l count -d 'just how many records, items, keys or samples'
complete -c shardbox -n '__shardbox_is ls' -s l -l long -d 'mode, links, owner, group, size, time and name'
complete -c shardbox -n '__shardbox_is ls' -s F -l classify -d 'append / to directories, @ to links, * to programs'
complete -c shardbox -n '__shardbox_is ls' -s 1 -l one-per-line -d 'a name a line, also on a terminal'
complete -c shardbox -n '__shardbox_is ls' -s h -l human-readable -d 'sizes like 1.2M, not in bytes'
complete -c shardbox -n '__shardbox_is ls' -l sort -x -a 'name size time address' -d 'largest or newest first'
complete -c shardbox -n '__shardbox_is ls' -s S -l by-size -d 'as --sort=size'
complete -c shardbox -n '__shardbox_is ls' -s t -l by-time -d 'as --sort=time'
complete -c shardbox -n '__shardbox_is ls' -s r -l reverse -d 'the other way round'
complete -c shardbox -n '__shardbox_is ls' -l color -f -a 'auto always never' -d 'colour names by LS_COLORS'
complete -c shardbox -n '__shardbox_is ls' -l json -d 'an object a line, with all that is known'
complete -c shardbox -n '__shardbox_is ls' -l csv -d 'the same as CSV, below a line of names'
complete -c shardbox -n '__shardbox_is ls' -l keep-case -d 'extensions of samples as they are, not in lower case'
complete -c shardbox -n '__shardbox_is ls' -s a -l all -d 'of a cache: superseded rows too; else no effect'
complete -c shardbox -n '__shardbox_is ls' -s A -l almost-all -d 'no effect: nothing is hidden'
complete -c shardbox -n '__shardbox_is ls' -l at -x -d 'the files that own these bytes'
complete -c shardbox -n '__shardbox_is ls' -s 0 -l null -d 'names, and those of -T, end in NUL, not newline'
complete -c shardbox -n '__shardbox_is ls' -s p -l slash -d 'append / to directories'
complete -c shardbox -n '__shardbox_is ls' -s n -l numeric-uid-gid -d 'as -l, with numbers of users and groups'
complete -c shardbox -n '__shardbox_is ls' -s U -l unsorted -d 'no effect: the order by name costs nothing'
complete -c shardbox -n '__shardbox_is ls' -l full-time -d 'as -l, with nanoseconds and the zone'
complete -c shardbox -n '__shardbox_is ls' -l find -x -d 'the first record that is KEY, or is each line of -T'
complete -c shardbox -n '__shardbox_is ls' -l find-all -x -d 'all records that are KEY, or are a line of -T'
complete -c shardbox -n '__shardbox_is ls' -s T -l files-from -r -F -d 'numbers in FILE, a line each; keys with --find'
complete -c shardbox -n '__shardbox_is ls' -l compression -x -a 'auto none zstd' -d 'how records are stored (default: by the suffix)'
complete -c shardbox -n '__shardbox_is ls' -l dictionary -r -F -d 'the zstd dictionary of the records'
complete -c shardbox -n '__shardbox_is ls' -l limits -x -a 'auto tail separate' -d 'where the limits are (default: seen)'
complete -c shardbox -n '__shardbox_is ls' -l layout -x -a 'concatenated interleaved' -d 'how records lie in several shards'
complete -c shardbox -n '__shardbox_is ls' -l from -x -a 'archive tar cpio zip bag bagz syrah cache' -d 'what it is, if its content does not show it'
complete -c shardbox -n '__shardbox_is ls' -l iconv -x -d 'charset of names in a tar, cpio or zip, if not UTF-8'
complete -c shardbox -n '__shardbox_is ls' -l ignore-zeros -d 'read the tars that follow the end of a tar, too'
complete -c shardbox -n '__shardbox_is ls' -l nested -d 'look into the tars in a tar, as directories'
complete -c shardbox -n '__shardbox_is ls' -l memlimit -x -d 'memory that decompressing xz and zstd may take'
complete -c shardbox -n '__shardbox_is ls' -s j -l threads -x -d 'threads that read a bag (default: cores, at most 4)'
complete -c shardbox -n '__shardbox_is ls' -l bwlimit -x -d 'read, and write, at most RATE bytes a second (50M)'
complete -c shardbox -n '__shardbox_is ls' -s q -l quiet -d 'give no warnings'
complete -c shardbox -n '__shardbox_is ls' -s v -l verbose -d 'say more about what is done'
complete -c shardbox -n '__shardbox_is ls' -l help -d 'show this help; --help-all shows every option'
complete -c shardbox -n '__shardbox_is ls' -l help-all -d 'show every option'
complete -c shardbox -n '__shardbox_is ls' -l progress -d 'show progress, also when not on a terminal'
complete -c shardbox -n '__shardbox_is ls' -l no-progress -d 'show no progress'

complete -c shardbox -n '__shardbox_is find' -l type -x -d 'only files (f), directories (d), links (l)'
complete -c shardbox -n '__shardbox_is find' -l name -x -d 'only where the last component matches'
complete -c shardbox -n '__shardbox_is find' -l path -x -d 'only where the whole path matches'
complete -c shardbox -n '__shardbox_is find' -l size -x -d 'only files of more (+), less (-) or just SIZE bytes'
complete -c shardbox -n '__shardbox_is find' -l newer-than -r -F -d 'only what was modified after FILE was, or DATE'
complete -c shardbox -n '__shardbox_is find' -l max-depth -x -d 'at most N levels below a PATH, or the top'
complete -c shardbox -n '__shardbox_is find' -l include -x -d 'take what matches; the first match decides'
complete -c shardbox -n '__shardbox_is find' -l exclude -x -d 'leave out what matches'
complete -c shardbox -n '__shardbox_is find' -s T -l files-from -r -F -d 'only the names in FILE, one a line; - is stdin'
complete -c shardbox -n '__shardbox_is find' -l missing -d 'with -T: only names that are not in the archive'
complete -c shardbox -n '__shardbox_is find' -s 0 -l null -d 'end each path, and each name in FILE, in NUL'
complete -c shardbox -n '__shardbox_is find' -l sort -x -a 'path address size' -d '\'size\': largest first; \'address\': as they lie on disk'
complete -c shardbox -n '__shardbox_is find' -l printf -x -d 'what to print, as find\'s; no newline is added'
complete -c shardbox -n '__shardbox_is find' -l json -d 'an object a line, with all that is known'
complete -c shardbox -n '__shardbox_is find' -l csv -d 'the same as CSV, below a line of names'
complete -c shardbox -n '__shardbox_is find' -s j -l threads -x -d 'threads that look up the names of -T (default: cores, at most 4)'
complete -c shardbox -n '__shardbox_is find' -l bwlimit -x -d 'read, and write, at most RATE bytes a second (50M)'
complete -c shardbox -n '__shardbox_is find' -l from -x -a 'archive tar cpio zip bag bagz syrah cache' -d 'what it is, if its content does not show it'
complete -c shardbox -n '__shardbox_is find' -l iconv -x -d 'charset of names in a tar, cpio or zip, if not UTF-8'
complete -c shardbox -n '__shardbox_is find' -l ignore-zeros -d 'read the tars that follow the end of a tar, too'
complete -c shardbox -n '__shardbox_is find' -l nested -d 'look into the tars in a tar, as directories'
complete -c shardbox -n '__shardbox_is find' -l memlimit -x -d 'memory that decompressing xz and zstd may take'
complete -c shardbox -n '__shardbox_is find' -l compression -x -a 'auto none zstd' -d 'how records are stored (default: by the suffix)'
complete -c shardbox -n '__shardbox_is find' -l dictionary -r -F -d 'the zstd dictionary of the records'
complete -c shardbox -n '__shardbox_is find' -l limits -x -a 'auto tail separate' -d 'where the limits are (default: seen)'
complete -c shardbox -n '__shardbox_is find' -l layout -x -a 'concatenated interleaved' -d 'how records lie in several shards'
complete -c shardbox -n '__shardbox_is find' -s q -l quiet -d 'give no warnings'
complete -c shardbox -n '__shardbox_is find' -s v -l verbose -d 'say more about what is done'
complete -c shardbox -n '__shardbox_is find' -s h -l help -d 'show this help; --help-all shows every option'
complete -c shardbox -n '__shardbox_is find' -l help-all -d 'show every option'
complete -c shardbox -n '__shardbox_is find' -l progress -d 'show progress, also when not on a terminal'
complete -c shardbox -n '__shardbox_is find' -l no-progress -d 'show no progress'

complete -c shardbox -n '__shardbox_is du' -s s -l summarize -d 'only the PATHs themselves'
complete -c shardbox -n '__shardbox_is du' -s a -l all -d 'files too, not only directories'
complete -c shardbox -n '__shardbox_is du' -s d -l max-depth -x -d 'at most N levels below a PATH; -d 0 is -s'
complete -c shardbox -n '__shardbox_is du' -l count -d 'how many files, instead of bytes'
complete -c shardbox -n '__shardbox_is du' -l gaps -d 'bytes of the shards that no file owns'
complete -c shardbox -n '__shardbox_is du' -l samples -d 'of samples: by what names have after the first dot'
complete -c shardbox -n '__shardbox_is du' -l array -x -a '(__shardbox_names array (__shardbox_words)[2])' -d 'only this array, column or suffix; may be repeated'
complete -c shardbox -n '__shardbox_is du' -s c -l total -d 'a last line with the sum of all PATHs'
complete -c shardbox -n '__shardbox_is du' -s h -l human-readable -d 'sizes like 1.2M, not in bytes'
complete -c shardbox -n '__shardbox_is du' -l sort -x -a 'name size' -d 'by name, or the largest first'
complete -c shardbox -n '__shardbox_is du' -l json -d 'an object a line'
complete -c shardbox -n '__shardbox_is du' -l csv -d 'the same as CSV, below a line of names'
complete -c shardbox -n '__shardbox_is du' -l export -x -a 'ncdu' -d 'a listing that \'ncdu -f-\' opens'
complete -c shardbox -n '__shardbox_is du' -s j -l threads -x -d 'threads that read a bag (default: cores, at most 4)'
complete -c shardbox -n '__shardbox_is du' -l bwlimit -x -d 'read, and write, at most RATE bytes a second (50M)'
complete -c shardbox -n '__shardbox_is du' -l keep-case -d 'extensions of samples as they are, not in lower case'
complete -c shardbox -n '__shardbox_is du' -s x -l one-file-system -d 'no effect: an archive is one'
complete -c shardbox -n '__shardbox_is du' -s 0 -l null -d 'end each line in NUL'
complete -c shardbox -n '__shardbox_is du' -l apparent-size -d 'no effect: sizes are those of the files'
complete -c shardbox -n '__shardbox_is du' -s b -l bytes -d 'no effect: sizes are in bytes'
complete -c shardbox -n '__shardbox_is du' -s k -l kib -d 'sizes in units of 1,024 bytes'
complete -c shardbox -n '__shardbox_is du' -s m -l mib -d 'sizes in units of 1,048,576 bytes'
complete -c shardbox -n '__shardbox_is du' -l from -x -a 'archive tar cpio zip bag bagz syrah cache' -d 'what it is, if its content does not show it'
complete -c shardbox -n '__shardbox_is du' -l iconv -x -d 'charset of names in a tar, cpio or zip, if not UTF-8'
complete -c shardbox -n '__shardbox_is du' -l ignore-zeros -d 'read the tars that follow the end of a tar, too'
complete -c shardbox -n '__shardbox_is du' -l nested -d 'look into the tars in a tar, as directories'
complete -c shardbox -n '__shardbox_is du' -l memlimit -x -d 'memory that decompressing xz and zstd may take'
complete -c shardbox -n '__shardbox_is du' -l compression -x -a 'auto none zstd' -d 'how records are stored (default: by the suffix)'
complete -c shardbox -n '__shardbox_is du' -l dictionary -r -F -d 'the zstd dictionary of the records'
complete -c shardbox -n '__shardbox_is du' -l limits -x -a 'auto tail separate' -d 'where the limits are (default: seen)'
complete -c shardbox -n '__shardbox_is du' -l layout -x -a 'concatenated interleaved' -d 'how records lie in several shards'
complete -c shardbox -n '__shardbox_is du' -s q -l quiet -d 'give no warnings'
complete -c shardbox -n '__shardbox_is du' -s v -l verbose -d 'say more about what is done'
complete -c shardbox -n '__shardbox_is du' -l help -d 'show this help; --help-all shows every option'
complete -c shardbox -n '__shardbox_is du' -l help-all -d 'show every option'
complete -c shardbox -n '__shardbox_is du' -l progress -d 'show progress, also when not on a terminal'
complete -c shardbox -n '__shardbox_is du' -l no-progress -d 'show no progress'

complete -c shardbox -n '__shardbox_is mount' -l union -d 'several as one tree, the later ones over the earlier'
complete -c shardbox -n '__shardbox_is mount' -l at -x -a '(__fish_complete_directories (commandline -ct))' -d 'where, instead of the last operand'
complete -c shardbox -n '__shardbox_is mount' -s f -l foreground -d 'stay in the foreground, with the log on stderr'
complete -c shardbox -n '__shardbox_is mount' -l idle -x -d 'end after TIME without use (90s, 10m)'
complete -c shardbox -n '__shardbox_is mount' -l log -r -F -d 'log of damage (default: the log of the system)'
complete -c shardbox -n '__shardbox_is mount' -l check -x -a 'read open' -d 'open: check the whole file before its first byte is read'
complete -c shardbox -n '__shardbox_is mount' -l no-check -d 'do not check checksums'
complete -c shardbox -n '__shardbox_is mount' -l readahead -x -d 'read SIZE at once where small files are read as they are stored'
complete -c shardbox -n '__shardbox_is mount' -l immutable -d 'nothing changes: the system may keep all that it knows'
complete -c shardbox -n '__shardbox_is mount' -l allow-other -d 'let other users in, as modes and owners say'
complete -c shardbox -n '__shardbox_is mount' -l uid -x -d 'show user number N as the owner of all'
complete -c shardbox -n '__shardbox_is mount' -l gid -x -d 'show group number N as the owner of all'
complete -c shardbox -n '__shardbox_is mount' -l keys -r -F -d 'names of records, one each'
complete -c shardbox -n '__shardbox_is mount' -s j -l threads -x -d 'requests that are answered at once (default: 16)'
complete -c shardbox -n '__shardbox_is mount' -l from -x -a 'archive tar cpio zip bag bagz syrah cache' -d 'what it is, if its content does not show it'
complete -c shardbox -n '__shardbox_is mount' -l iconv -x -d 'charset of names in a tar, cpio or zip, if not UTF-8'
complete -c shardbox -n '__shardbox_is mount' -l ignore-zeros -d 'read the tars that follow the end of a tar, too'
complete -c shardbox -n '__shardbox_is mount' -l nested -d 'look into the tars in a tar, as directories'
complete -c shardbox -n '__shardbox_is mount' -l compression -x -a 'auto none zstd' -d 'how records are stored (default: by the suffix)'
complete -c shardbox -n '__shardbox_is mount' -l dictionary -r -F -d 'the zstd dictionary of the records'
complete -c shardbox -n '__shardbox_is mount' -l limits -x -a 'auto tail separate' -d 'where the limits are (default: seen)'
complete -c shardbox -n '__shardbox_is mount' -l layout -x -a 'concatenated interleaved' -d 'how records lie in several shards'
complete -c shardbox -n '__shardbox_is mount' -s q -l quiet -d 'give no warnings'
complete -c shardbox -n '__shardbox_is mount' -s v -l verbose -d 'say more about what is done'
complete -c shardbox -n '__shardbox_is mount' -s h -l help -d 'show this help; --help-all shows every option'
complete -c shardbox -n '__shardbox_is mount' -l help-all -d 'show every option'
complete -c shardbox -n '__shardbox_is mount' -l progress -d 'show progress, also when not on a terminal'
complete -c shardbox -n '__shardbox_is mount' -l no-progress -d 'show no progress'

complete -c shardbox -n '__shardbox_is umount' -l lazy -d 'also what is in use, or has lost its server'
complete -c shardbox -n '__shardbox_is umount' -s q -l quiet -d 'give no warnings'
complete -c shardbox -n '__shardbox_is umount' -s v -l verbose -d 'say more about what is done'
complete -c shardbox -n '__shardbox_is umount' -s h -l help -d 'show this help; --help-all shows every option'
complete -c shardbox -n '__shardbox_is umount' -l help-all -d 'show every option'
complete -c shardbox -n '__shardbox_is umount' -l progress -d 'show progress, also when not on a terminal'
complete -c shardbox -n '__shardbox_is umount' -l no-progress -d 'show no progress'

complete -c shardbox -n '__shardbox_is verify' -s Q -l quick -d 'the index and the shards\' sizes, no file\'s bytes'
complete -c shardbox -n '__shardbox_is verify' -l strict -d 'a file without a checksum is a defect'
complete -c shardbox -n '__shardbox_is verify' -l present -d 'shards that have arrived; list the others'
complete -c shardbox -n '__shardbox_is verify' -l subset -x -d 'share I of N, P percent or SIZE (the same each run)'
complete -c shardbox -n '__shardbox_is verify' -l part -x -d 'as --subset=I/N; \'auto\': by the job array, or MPI'
complete -c shardbox -n '__shardbox_is verify' -l shards -x -d 'read only files in these shards'
complete -c shardbox -n '__shardbox_is verify' -l max-time -x -d 'end after so long (2h, 90m, 1d)'
complete -c shardbox -n '__shardbox_is verify' -l state -r -F -d 'remember what was read; each run reads what is due'
complete -c shardbox -n '__shardbox_is verify' -l max-age -x -d 'leave out what --state has sound since (30d)'
complete -c shardbox -n '__shardbox_is verify' -l json -d 'print each defect as a line of JSON'
complete -c shardbox -n '__shardbox_is verify' -l report -r -F -d 'write defects to FILE, as JSON Lines, print none'
complete -c shardbox -n '__shardbox_is verify' -l prom -r -F -d 'write metrics for Prometheus to FILE'
complete -c shardbox -n '__shardbox_is verify' -l repair -d 'repair by parity files, or the index of a cache'
complete -c shardbox -n '__shardbox_is verify' -l repair-from -r -F -d 'restore files from an archive, directory, tar or zip'
complete -c shardbox -n '__shardbox_is verify' -l undo-repair -d 'put back what repairs have replaced'
complete -c shardbox -n '__shardbox_is verify' -s n -l dry-run -d 'print what would change, a line each; change nothing'
complete -c shardbox -n '__shardbox_is verify' -l wait -x -d 'while another process writes it, wait (TIME: 90s, 5m)'
complete -c shardbox -n '__shardbox_is verify' -s j -l threads -x -d 'read with N threads (default: cores, at most 4)'
complete -c shardbox -n '__shardbox_is verify' -l bwlimit -x -d 'read, and write, at most RATE bytes a second (50M)'
complete -c shardbox -n '__shardbox_is verify' -l parity-dir -r -F -d 'where parity files are, if not beside their files'
complete -c shardbox -n '__shardbox_is verify' -l trust-parity -d 'what nothing else confirms is right as it was protected'
complete -c shardbox -n '__shardbox_is verify' -l repair-prefix -x -d 'the directory of COPY that has the files'
complete -c shardbox -n '__shardbox_is verify' -l max-size -x -d 'give up when more than SIZE bytes come out'
complete -c shardbox -n '__shardbox_is verify' -l from -x -a 'archive tar cpio zip bag bagz syrah cache' -d 'what it is, if its content does not show it'
complete -c shardbox -n '__shardbox_is verify' -l iconv -x -d 'charset of names in a tar, cpio or zip, if not UTF-8'
complete -c shardbox -n '__shardbox_is verify' -l ignore-zeros -d 'read the tars that follow the end of a tar, too'
complete -c shardbox -n '__shardbox_is verify' -l nested -d 'look into the tars in a tar, as directories'
complete -c shardbox -n '__shardbox_is verify' -l memlimit -x -d 'memory that decompressing xz and zstd may take'
complete -c shardbox -n '__shardbox_is verify' -l compression -x -a 'auto none zstd' -d 'how records are stored (default: by the suffix)'
complete -c shardbox -n '__shardbox_is verify' -l dictionary -r -F -d 'the zstd dictionary of the records'
complete -c shardbox -n '__shardbox_is verify' -l limits -x -a 'auto tail separate' -d 'where the limits are (default: seen)'
complete -c shardbox -n '__shardbox_is verify' -l layout -x -a 'concatenated interleaved' -d 'how records lie in several shards'
complete -c shardbox -n '__shardbox_is verify' -l records -x -d 'only these records or items, like 7,-1,10:20:2'
complete -c shardbox -n '__shardbox_is verify' -s T -l files-from -r -F -d 'records by numbers in FILE, a line each; - is stdin'
complete -c shardbox -n '__shardbox_is verify' -l repair-to -r -F -d 'write the sound records to BAG'
complete -c shardbox -n '__shardbox_is verify' -l keep-numbers -d 'with it: damaged records are written as empty ones'
complete -c shardbox -n '__shardbox_is verify' -s f -l force -d 'replace BAG; --repair: however young the cache is'
complete -c shardbox -n '__shardbox_is verify' -l min-age -x -d 'no --repair where a file was written since (default: 10m)'
complete -c shardbox -n '__shardbox_is verify' -s q -l quiet -d 'give no warnings'
complete -c shardbox -n '__shardbox_is verify' -s v -l verbose -d 'say more about what is done'
complete -c shardbox -n '__shardbox_is verify' -s h -l help -d 'show this help; --help-all shows every option'
complete -c shardbox -n '__shardbox_is verify' -l help-all -d 'show every option'
complete -c shardbox -n '__shardbox_is verify' -l progress -d 'show progress, also when not on a terminal'
complete -c shardbox -n '__shardbox_is verify' -l no-progress -d 'show no progress'

complete -c shardbox -n '__shardbox_is rm' -s r -l recursive -d 'remove directories, and all that is below them'
complete -c shardbox -n '__shardbox_is rm' -s d -l dir -d 'remove empty directories too'
complete -c shardbox -n '__shardbox_is rm' -s T -l files-from -r -F -d 'remove the names in FILE, one a line; - is stdin'
complete -c shardbox -n '__shardbox_is rm' -s 0 -l null -d 'names in FILE, and those that -n prints, end in NUL'
complete -c shardbox -n '__shardbox_is rm' -l include -x -d 'remove what matches; the first match decides'
complete -c shardbox -n '__shardbox_is rm' -l exclude -x -d 'leave out what matches'
complete -c shardbox -n '__shardbox_is rm' -s f -l force -d 'a missing name is no error'
complete -c shardbox -n '__shardbox_is rm' -l protect -x -d 'bring its parity files up to date at the end, or make them'
complete -c shardbox -n '__shardbox_is rm' -l wait -x -d 'while another process writes it, wait (TIME: 90s, 5m)'
complete -c shardbox -n '__shardbox_is rm' -s n -l dry-run -d 'print what would change, a line each; change nothing'
complete -c shardbox -n '__shardbox_is rm' -s j -l threads -x -d 'threads that look up the names of -T (default: cores, at most 4)'
complete -c shardbox -n '__shardbox_is rm' -s q -l quiet -d 'give no warnings'
complete -c shardbox -n '__shardbox_is rm' -s v -l verbose -d 'say more about what is done'
complete -c shardbox -n '__shardbox_is rm' -s h -l help -d 'show this help; --help-all shows every option'
complete -c shardbox -n '__shardbox_is rm' -l help-all -d 'show every option'
complete -c shardbox -n '__shardbox_is rm' -l progress -d 'show progress, also when not on a terminal'
complete -c shardbox -n '__shardbox_is rm' -l no-progress -d 'show no progress'

complete -c shardbox -n '__shardbox_is mv' -s T -l no-target-directory -d 'DEST is the new name, also of a directory'
complete -c shardbox -n '__shardbox_is mv' -s t -l target-directory -x -d 'move all SOURCEs into DIRECTORY'
complete -c shardbox -n '__shardbox_is mv' -s p -l parents -d 'make the directories of DEST that are missing'
complete -c shardbox -n '__shardbox_is mv' -l existing -x -a 'fail skip replace newer' -d 'what to do if a file has the new name (default: fail)'
complete -c shardbox -n '__shardbox_is mv' -s f -l force -d 'as --existing=replace'
complete -c shardbox -n '__shardbox_is mv' -l no-clobber -d 'as --existing=skip'
complete -c shardbox -n '__shardbox_is mv' -l protect -x -d 'bring its parity files up to date at the end, or make them'
complete -c shardbox -n '__shardbox_is mv' -l wait -x -d 'while another process writes it, wait (TIME: 90s, 5m)'
complete -c shardbox -n '__shardbox_is mv' -s n -l dry-run -d 'print what would change, a line each; change nothing'
complete -c shardbox -n '__shardbox_is mv' -s q -l quiet -d 'give no warnings'
complete -c shardbox -n '__shardbox_is mv' -s v -l verbose -d 'say more about what is done'
complete -c shardbox -n '__shardbox_is mv' -s h -l help -d 'show this help; --help-all shows every option'
complete -c shardbox -n '__shardbox_is mv' -l help-all -d 'show every option'
complete -c shardbox -n '__shardbox_is mv' -l progress -d 'show progress, also when not on a terminal'
complete -c shardbox -n '__shardbox_is mv' -l no-progress -d 'show no progress'

complete -c shardbox -n '__shardbox_is defrag' -l quick -d 'fill gaps from the end, for a while'
complete -c shardbox -n '__shardbox_is defrag' -l max-time -x -d 'with --quick: end after TIME, like 5m (default: 5)'
complete -c shardbox -n '__shardbox_is defrag' -l keep-through -x -d 'with --quick: leave shards up to number N alone'
complete -c shardbox -n '__shardbox_is defrag' -l shards -x -d 'only these shards: 3, 3-7 or 3-'
complete -c shardbox -n '__shardbox_is defrag' -s n -l dry-run -d 'print what would change, a line each; change nothing'
complete -c shardbox -n '__shardbox_is defrag' -l protect -x -d 'bring its parity files up to date at the end, or make them'
complete -c shardbox -n '__shardbox_is defrag' -l wait -x -d 'while another process writes it, wait (TIME: 90s, 5m)'
complete -c shardbox -n '__shardbox_is defrag' -s f -l force -d 'shards after the last file are the archive\'s'
complete -c shardbox -n '__shardbox_is defrag' -l follow -d 'write into shards that are links, or have more than one'
complete -c shardbox -n '__shardbox_is defrag' -l bwlimit -x -d 'read, and write, at most RATE bytes a second (50M)'
complete -c shardbox -n '__shardbox_is defrag' -s h -l human-readable -d 'sizes like 1.2M, not in bytes'
complete -c shardbox -n '__shardbox_is defrag' -l json -d 'print a line of JSON for each shard, and all'
complete -c shardbox -n '__shardbox_is defrag' -s q -l quiet -d 'give no warnings'
complete -c shardbox -n '__shardbox_is defrag' -s v -l verbose -d 'say more about what is done'
complete -c shardbox -n '__shardbox_is defrag' -l help -d 'show this help; --help-all shows every option'
complete -c shardbox -n '__shardbox_is defrag' -l help-all -d 'show every option'
complete -c shardbox -n '__shardbox_is defrag' -l progress -d 'show progress, also when not on a terminal'
complete -c shardbox -n '__shardbox_is defrag' -l no-progress -d 'show no progress'

complete -c shardbox -n '__shardbox_is split' -l parts -x -d 'N parts, of like size, in the order on disk'
complete -c shardbox -n '__shardbox_is split' -l size -x -d 'parts of at most SIZE, in the order on disk'
complete -c shardbox -n '__shardbox_is split' -l count -x -d 'of a bag: parts of N records'
complete -c shardbox -n '__shardbox_is split' -l ratio -x -d 'by a hash of the name: train=80%,val=0.1,test=0.1'
complete -c shardbox -n '__shardbox_is split' -l by-list -x -d 'a part of the names in FILE; may be repeated'
complete -c shardbox -n '__shardbox_is split' -l by-dir -d 'a part for each directory at the top'
complete -c shardbox -n '__shardbox_is split' -l rest -x -d 'a part for all that is in no other'
complete -c shardbox -n '__shardbox_is split' -l samples -d 'files of one name up to its first dot stay together'
complete -c shardbox -n '__shardbox_is split' -l shard-size -x -d 'shards of at most SIZE; without -o: cut ARCHIVE'
complete -c shardbox -n '__shardbox_is split' -s o -l output -r -F -d 'what parts are called; {}: a part\'s name, or number from 0'
complete -c shardbox -n '__shardbox_is split' -l to -x -a 'archive dir tar tar.gz tar.bz2 tar.xz tar.lzma tar.zst tar.lz4 tgz tbz2 txz tzst zip bag bagz syrah syr cache torchcachex' -d 'what parts become (default: by the suffix)'
complete -c shardbox -n '__shardbox_is split' -l format -x -a 'pax ustar gnu' -d 'of a tar that is written (default: pax)'
complete -c shardbox -n '__shardbox_is split' -l symlink -d 'copy nothing: parts are links to the shards'
complete -c shardbox -n '__shardbox_is split' -s f -l force -d 'replace parts that exist; without -o, see the manual'
complete -c shardbox -n '__shardbox_is split' -l existing -x -a 'fail skip replace newer' -d 'parts that exist already (default: fail)'
complete -c shardbox -n '__shardbox_is split' -s n -l dry-run -d 'print what would change, a line each; change nothing'
complete -c shardbox -n '__shardbox_is split' -l json -d 'print each part as a line of JSON'
complete -c shardbox -n '__shardbox_is split' -l seed -x -d 'with --ratio: another chance (default: 0)'
complete -c shardbox -n '__shardbox_is split' -s 0 -l null -d 'with --by-list: NUL ends each name'
complete -c shardbox -n '__shardbox_is split' -l protect -x -d 'bring its parity files up to date at the end, or make them'
complete -c shardbox -n '__shardbox_is split' -l wait -x -d 'while another process writes it, wait (TIME: 90s, 5m)'
complete -c shardbox -n '__shardbox_is split' -l absolute -d 'make links absolute, not relative to OUTPUT'
complete -c shardbox -n '__shardbox_is split' -l follow -d 'write into shards that are links, or have more than one'
complete -c shardbox -n '__shardbox_is split' -l level -x -d 'how hard to compress'
complete -c shardbox -n '__shardbox_is split' -l records -x -d 'only these records or items, like 7,-1,10:20:2'
complete -c shardbox -n '__shardbox_is split' -s T -l files-from -r -F -d 'records by numbers in FILE, a line each; - is stdin'
complete -c shardbox -n '__shardbox_is split' -l compression -x -a 'auto none zstd' -d 'how records are stored (default: by the suffix)'
complete -c shardbox -n '__shardbox_is split' -l dictionary -r -F -d 'the zstd dictionary of the records'
complete -c shardbox -n '__shardbox_is split' -l limits -x -a 'auto tail separate' -d 'where the limits are (default: seen)'
complete -c shardbox -n '__shardbox_is split' -l layout -x -a 'concatenated interleaved' -d 'how records lie in several shards'
complete -c shardbox -n '__shardbox_is split' -l from-compression -x -a 'auto none zstd' -d 'how their records are stored'
complete -c shardbox -n '__shardbox_is split' -l from-dictionary -r -F -d 'the zstd dictionary of their records'
complete -c shardbox -n '__shardbox_is split' -l from-limits -x -a 'auto tail separate' -d 'where their limits are'
complete -c shardbox -n '__shardbox_is split' -l from-layout -x -a 'concatenated interleaved' -d 'how records lie in their shards'
complete -c shardbox -n '__shardbox_is split' -s j -l threads -x -d 'threads to use (default: cores, at most 4)'
complete -c shardbox -n '__shardbox_is split' -l bwlimit -x -d 'read, and write, at most RATE bytes a second (50M)'
complete -c shardbox -n '__shardbox_is split' -l from -x -a 'archive tar cpio zip bag bagz syrah cache' -d 'what it is, if its content does not show it'
complete -c shardbox -n '__shardbox_is split' -l iconv -x -d 'charset of names in a tar, cpio or zip, if not UTF-8'
complete -c shardbox -n '__shardbox_is split' -l ignore-zeros -d 'read the tars that follow the end of a tar, too'
complete -c shardbox -n '__shardbox_is split' -l nested -d 'look into the tars in a tar, as directories'
complete -c shardbox -n '__shardbox_is split' -l memlimit -x -d 'memory that decompressing xz and zstd may take'
complete -c shardbox -n '__shardbox_is split' -s q -l quiet -d 'give no warnings'
complete -c shardbox -n '__shardbox_is split' -s v -l verbose -d 'say more about what is done'
complete -c shardbox -n '__shardbox_is split' -s h -l help -d 'show this help; --help-all shows every option'
complete -c shardbox -n '__shardbox_is split' -l help-all -d 'show every option'
complete -c shardbox -n '__shardbox_is split' -l progress -d 'show progress, also when not on a terminal'
complete -c shardbox -n '__shardbox_is split' -l no-progress -d 'show no progress'

complete -c shardbox -n '__shardbox_is merge' -s o -l output -r -F -d 'the archive to make, in place of the last operand'
complete -c shardbox -n '__shardbox_is merge' -l append -d 'add to OUTPUT, or make it'
complete -c shardbox -n '__shardbox_is merge' -s f -l force -d 'replace OUTPUT if it exists'
complete -c shardbox -n '__shardbox_is merge' -l prefix -x -d 'put everything below DIR'
complete -c shardbox -n '__shardbox_is merge' -l as-subdirs -d 'put each INPUT below a directory of its own name'
complete -c shardbox -n '__shardbox_is merge' -l duplicates -x -a 'error first last' -d 'which file of a name is kept'
complete -c shardbox -n '__shardbox_is merge' -l shard-size -x -d 'begin a new shard before one passes SIZE'
complete -c shardbox -n '__shardbox_is merge' -l include -x -d 'take what matches; the first match decides'
complete -c shardbox -n '__shardbox_is merge' -l exclude -x -d 'leave out what matches'
complete -c shardbox -n '__shardbox_is merge' -l iconv -x -d 'charset of names in a tar, cpio or zip, if not UTF-8'
complete -c shardbox -n '__shardbox_is merge' -l ignore-zeros -d 'read the tars that follow the end of a tar, too'
complete -c shardbox -n '__shardbox_is merge' -l nested -d 'look into the tars in a tar, as directories'
complete -c shardbox -n '__shardbox_is merge' -l memlimit -x -d 'memory that decompressing xz and zstd may take'
complete -c shardbox -n '__shardbox_is merge' -s n -l dry-run -d 'print what would change, a line each; change nothing'
complete -c shardbox -n '__shardbox_is merge' -l strict -d 'make nothing if anything would be lost or left out'
complete -c shardbox -n '__shardbox_is merge' -l report -r -F -d 'list in FILE what was lost or left out, as JSON'
complete -c shardbox -n '__shardbox_is merge' -l protect -x -d 'bring its parity files up to date at the end, or make them'
complete -c shardbox -n '__shardbox_is merge' -l wait -x -d 'while another process writes it, wait (TIME: 90s, 5m)'
complete -c shardbox -n '__shardbox_is merge' -s j -l threads -x -d 'threads to use (default: cores, at most 4)'
complete -c shardbox -n '__shardbox_is merge' -l bwlimit -x -d 'read, and write, at most RATE bytes a second (50M)'
complete -c shardbox -n '__shardbox_is merge' -s q -l quiet -d 'give no warnings'
complete -c shardbox -n '__shardbox_is merge' -s v -l verbose -d 'say more about what is done'
complete -c shardbox -n '__shardbox_is merge' -s h -l help -d 'show this help; --help-all shows every option'
complete -c shardbox -n '__shardbox_is merge' -l help-all -d 'show every option'
complete -c shardbox -n '__shardbox_is merge' -l progress -d 'show progress, also when not on a terminal'
complete -c shardbox -n '__shardbox_is merge' -l no-progress -d 'show no progress'

complete -c shardbox -n '__shardbox_is merge-symlink' -s o -l output -r -F -d 'the archive to make, in place of the last operand'
complete -c shardbox -n '__shardbox_is merge-symlink' -s f -l force -d 'replace OUTPUT if it exists'
complete -c shardbox -n '__shardbox_is merge-symlink' -l append -d 'add to OUTPUT, or make it'
complete -c shardbox -n '__shardbox_is merge-symlink' -l prefix -x -d 'put everything below DIR'
complete -c shardbox -n '__shardbox_is merge-symlink' -l as-subdirs -d 'put each INPUT below a directory of its own name'
complete -c shardbox -n '__shardbox_is merge-symlink' -l duplicates -x -a 'error first last' -d 'which file of a name is kept'
complete -c shardbox -n '__shardbox_is merge-symlink' -s n -l dry-run -d 'print what would change, a line each; change nothing'
complete -c shardbox -n '__shardbox_is merge-symlink' -l protect -x -d 'bring its parity files up to date at the end, or make them'
complete -c shardbox -n '__shardbox_is merge-symlink' -l wait -x -d 'while another process writes it, wait (TIME: 90s, 5m)'
complete -c shardbox -n '__shardbox_is merge-symlink' -l absolute -d 'make links absolute, not relative to OUTPUT'
complete -c shardbox -n '__shardbox_is merge-symlink' -l hardlink -d 'hard links: the bytes stay when an ARCHIVE goes'
complete -c shardbox -n '__shardbox_is merge-symlink' -l reflink -d 'make copies that share their blocks (XFS, Btrfs)'
complete -c shardbox -n '__shardbox_is merge-symlink' -s q -l quiet -d 'give no warnings'
complete -c shardbox -n '__shardbox_is merge-symlink' -s v -l verbose -d 'say more about what is done'
complete -c shardbox -n '__shardbox_is merge-symlink' -s h -l help -d 'show this help; --help-all shows every option'
complete -c shardbox -n '__shardbox_is merge-symlink' -l help-all -d 'show every option'
complete -c shardbox -n '__shardbox_is merge-symlink' -l progress -d 'show progress, also when not on a terminal'
complete -c shardbox -n '__shardbox_is merge-symlink' -l no-progress -d 'show no progress'

complete -c shardbox -n '__shardbox_is upgrade' -l accept -d 'take an index that was made again as it was before as it is'
complete -c shardbox -n '__shardbox_is upgrade' -l checksums -d 'compute absent checksums, by reading the files'
complete -c shardbox -n '__shardbox_is upgrade' -l keep-old -d 'keep an index of an older schema beside the new one, as .old'
complete -c shardbox -n '__shardbox_is upgrade' -l protect -x -d 'bring its parity files up to date at the end, or make them'
complete -c shardbox -n '__shardbox_is upgrade' -l wait -x -d 'while another process writes it, wait (TIME: 90s, 5m)'
complete -c shardbox -n '__shardbox_is upgrade' -s n -l dry-run -d 'print what would change, a line each; change nothing'
complete -c shardbox -n '__shardbox_is upgrade' -s j -l threads -x -d 'read with N threads (default: cores, at most 4)'
complete -c shardbox -n '__shardbox_is upgrade' -l bwlimit -x -d 'read, and write, at most RATE bytes a second (50M)'
complete -c shardbox -n '__shardbox_is upgrade' -s q -l quiet -d 'give no warnings'
complete -c shardbox -n '__shardbox_is upgrade' -s v -l verbose -d 'say more about what is done'
complete -c shardbox -n '__shardbox_is upgrade' -s h -l help -d 'show this help; --help-all shows every option'
complete -c shardbox -n '__shardbox_is upgrade' -l help-all -d 'show every option'
complete -c shardbox -n '__shardbox_is upgrade' -l progress -d 'show progress, also when not on a terminal'
complete -c shardbox -n '__shardbox_is upgrade' -l no-progress -d 'show no progress'

complete -c shardbox -n '__shardbox_is protect' -l redundancy -x -d 'size of the parity file, of that of FILE (default: 5%)'
complete -c shardbox -n '__shardbox_is protect' -s u -l update -d 'make parity files anew whose FILE changed, and missing ones'
complete -c shardbox -n '__shardbox_is protect' -l check -d 'name what is damaged, byte by byte'
complete -c shardbox -n '__shardbox_is protect' -l repair -d 'make damaged bytes as they were, in place'
complete -c shardbox -n '__shardbox_is protect' -l remove -d 'remove parity files'
complete -c shardbox -n '__shardbox_is protect' -s n -l dry-run -d 'print what would change, a line each; change nothing'
complete -c shardbox -n '__shardbox_is protect' -l hard-links -d 'repair files that have several names'
complete -c shardbox -n '__shardbox_is protect' -l trust-parity -d 'repair what may have changed instead'
complete -c shardbox -n '__shardbox_is protect' -l parity-dir -r -F -d 'parity files are in DIR, under their names'
complete -c shardbox -n '__shardbox_is protect' -s j -l threads -x -d 'compute with N threads (default: cores, at most 4)'
complete -c shardbox -n '__shardbox_is protect' -l bwlimit -x -d 'read, and write, at most RATE bytes a second (50M)'
complete -c shardbox -n '__shardbox_is protect' -l wait -x -d 'while another process writes it, wait (TIME: 90s, 5m)'
complete -c shardbox -n '__shardbox_is protect' -s q -l quiet -d 'give no warnings'
complete -c shardbox -n '__shardbox_is protect' -s v -l verbose -d 'say more about what is done'
complete -c shardbox -n '__shardbox_is protect' -s h -l help -d 'show this help; --help-all shows every option'
complete -c shardbox -n '__shardbox_is protect' -l help-all -d 'show every option'
complete -c shardbox -n '__shardbox_is protect' -l progress -d 'show progress, also when not on a terminal'
complete -c shardbox -n '__shardbox_is protect' -l no-progress -d 'show no progress'

complete -c shardbox-pack -w 'shardbox pack'
complete -c shardbox-unpack -w 'shardbox unpack'
complete -c shardbox-convert -w 'shardbox convert'
complete -c shardbox-sync -w 'shardbox sync'
complete -c shardbox-diff -w 'shardbox diff'
complete -c shardbox-cat -w 'shardbox cat'
complete -c shardbox-ls -w 'shardbox ls'
complete -c shardbox-find -w 'shardbox find'
complete -c shardbox-du -w 'shardbox du'
complete -c shardbox-mount -w 'shardbox mount'
complete -c shardbox-umount -w 'shardbox umount'
complete -c shardbox-verify -w 'shardbox verify'
complete -c shardbox-rm -w 'shardbox rm'
complete -c shardbox-mv -w 'shardbox mv'
complete -c shardbox-defrag -w 'shardbox defrag'
complete -c shardbox-split -w 'shardbox split'
complete -c shardbox-merge -w 'shardbox merge'
complete -c shardbox-merge-symlink -w 'shardbox merge-symlink'
complete -c shardbox-upgrade -w 'shardbox upgrade'
complete -c shardbox-protect -w 'shardbox protect'
