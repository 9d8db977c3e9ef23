# What fingers type that know tar, find, ls, du, diff, rsync, rm and mv, and what comes out. Where the
# tool itself can be asked, it is: on the tree that the archive was made of.
#
#   types LINE EXPECTED...      a shell's line: it prints these lines, nothing on stderr, and exits 0
#   refused LINE MESSAGE        it exits with 2 after this message alone; "..." stands for anything
#   asks LINE                   "find A ARGUMENTS", "ls ARGUMENTS" or "du ARGUMENTS": what the tool
#                               prints in the tree, shardbox prints of the archive
#   changes LINE                "rm ..." or "mv ...": leaves the names in the archive that the tool leaves
#                               in the tree
#   packs, unpacks ARGUMENTS    the names that tar stores, or writes
#
# The archive has no "." of its own, shows names without "./", and hides none.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir bin
    ln -s "$SHARDBOX" bin/shardbox
    PATH=$PWD/bin:$PATH
    make_pets
    sb pack a.barecat -C pets .
    # shellcheck disable=SC2034 # for lines of the tests
    readme=$PWD/pets/README
}

make_pets() {
    mkdir -p pets/{cats,dogs/old,none,'my pics'}
    head -c 2000 /dev/zero >pets/cats/tom.jpg
    echo '{"name":"tom"}' >pets/cats/tom.json
    head -c 500 /dev/zero >pets/cats/felix.jpg
    echo '{"name":"felix"}' >pets/cats/felix.json
    seq 20000 >pets/dogs/rex.jpg
    echo draft >pets/dogs/notes.tmp
    echo 'very old' >pets/dogs/old/laika.txt
    echo 'a b' >'pets/my pics/a b.jpg'
    echo 'read me' >pets/README
    echo '#!/bin/sh' >pets/run.sh
    echo hidden >pets/.hidden
    echo dash >pets/-dash
    echo eggs >pets/ünï
    : >pets/empty
    ln -s README pets/link
    ln -s nowhere pets/dangling
    chmod 755 pets/run.sh
    chmod 600 pets/README
    find pets -depth -exec touch -h -d '2020-03-04 05:06:07.5Z' {} +
    touch -d '2001-02-03 04:05:06Z' pets/dogs/old/laika.txt
    touch -d '2023-01-01 00:00:00Z' pets/cats/tom.jpg
}

types() {
    local line=$1
    shift
    run_ok bash -c "$line"
    stderr_is ""
    # shellcheck disable=SC2154 # set by run
    [[ $output == "$(printf '%s\n' "$@")" ]] || fail "$line: $output"
}

refused() {
    run_fail 2 bash -c "$1"
    # shellcheck disable=SC2053 # a pattern
    [[ $stderr == ${2//.../*} ]] || fail "$1: $stderr"
}

# The line for shardbox: after the tool's name comes the archive, and the shell expands no pattern.
ours() {
    local line="${1/find A/find} " status=0
    set -f
    eval "shardbox ${line%% *} ${2-a.barecat} ${line#* }" || status=$?
    set +f
    return "$status"
}

plain() {
    sed -E 's,(^| )\./,\1,g; /^total [0-9.]+[KM]?$/d; /^\.$/d'
}

asks() {
    ours "$1" >got 2>said || fail "$1: $(<said)"
    [[ ! -s said ]] || fail "$1: $(<said)"
    (cd pets && eval "${1/find A/find .}") | plain >wanted
    [[ $1 != find* || $1 == *'| sort'* ]] || sort -o wanted wanted
    [[ $1 != find* || $1 == *'| sort'* ]] || sort -o got got
    [[ -s got ]] || fail "$1: prints nothing"
    diff wanted got >&2 || fail "$1"
}

names_below() {
    (cd "$1" && find . -mindepth 1 -printf '%P\n' | sort)
}

changes() {
    local status=0 theirs=0
    rm -rf tree c.barecat*
    cp -a pets tree
    sb pack c.barecat -C pets .
    (cd tree && shopt -s dotglob && eval "$1" 2>/dev/null) || theirs=$?
    ours "$1" c.barecat 2>said || status=$?
    ((theirs > 0 == status > 0)) || fail "$1: exits with $status, the tool with $theirs: $(<said)"
    ((status > 0)) || [[ ! -s said ]] || fail "$1: $(<said)"
    diff <(names_below tree) <(sb find c.barecat) >&2 || fail "$1"
    run_ok sb verify --strict c.barecat
}

packs() {
    rm -f p.barecat* p.tar
    eval "tar -cf p.tar $1"
    eval "shardbox pack p.barecat ${2-$1}" || fail "$1"
    diff <(tar -tf p.tar | sed 's,^\./,,; /\/$/d; /^$/d' | sort) <(sb find p.barecat '!' -type d) >&2 || fail "$1"
}

unpacks() {
    rm -rf theirs ours
    mkdir theirs ours
    tar -cf t.tar -C pets --verbatim-files-from -T <(ls -A pets)
    (cd theirs && eval "tar -xf ../t.tar ${2-$1}")
    (cd ours && eval "shardbox unpack ../a.barecat $1") || fail "$1"
    diff <(names_below theirs) <(names_below ours) >&2 || fail "$1"
}

@test "ls" {
    asks 'ls -A'
    asks 'ls -A1'
    asks 'ls -Ar'
    asks 'ls -AF'
    asks 'ls -Ap'
    asks 'ls -AR'
    asks 'ls cats'
    asks 'ls cats/'
    asks 'ls ./cats dogs'
    asks 'ls -l cats'
    asks 'ls -lh cats'
    asks 'ls -lt cats'
    asks 'ls -ltr cats'
    asks 'ls -lS cats'
    asks 'ls -lr cats'
    asks 'ls -ln cats'
    asks 'ls -n cats'
    asks 'ls -lhS cats'
    asks 'ls -l --full-time cats'
    asks 'ls -l link dangling'
    asks 'ls -l */*.jpg'
    asks 'ls -l cats/t?m.j*'
    asks 'ls -d cats dogs README'
    asks 'ls --color=never cats'
    asks 'ls -A | head -1'
    asks 'ls -l cats | tail -1'
    types 'shardbox ls -la a.barecat | wc -l' 12
    types 'shardbox ls -la a.barecat cats | tail -1' \
        "-rw-r--r-- 1 $(id -un) $(id -gn)   15 Mar  4  2020 tom.json"
    types "shardbox ls -d a.barecat '*/'" cats dogs 'my pics' none
    types 'shardbox ls -d a.barecat' .
    types 'shardbox ls -ldh a.barecat dogs' "drwxr-xr-x 3 $(id -un) $(id -gn) 107K Mar  4  2020 dogs"
    types 'shardbox ls -U a.barecat cats | head -1' felix.jpg
    types 'shardbox ls -0 a.barecat | xargs -0 -n 1 echo | wc -l' 12
    types 'shardbox ls --tree -L 2 a.barecat dogs' dogs '├── notes.tmp' '├── old' '│   └── laika.txt' '└── rex.jpg' '' \
        '1 directory, 3 files'
    types 'shardbox ls --tree -L 1 a.barecat dogs | tail -1' '1 directory, 2 files'
    types 'shardbox ls --json a.barecat cats | jq -r .path' cats/felix.jpg cats/felix.json cats/tom.jpg cats/tom.json
    types 'shardbox ls a.barecat -- -dash' -dash
    refused 'shardbox ls -i a.barecat' "shardbox ls: unrecognized option '-i'; an archive keeps nothing of the kind; leave it out"
    refused 'shardbox ls --time-style=iso a.barecat' "...'--time-style'; --full-time shows all of it; ..."
    refused 'shardbox ls a.barecat/cats' \
        'shardbox ls: a.barecat/cats: a.barecat is a file; what is in it is an operand of its own, after it: cats'
    refused 'shardbox ls cats a.barecat' "shardbox ls: cats: no such file; the archive comes first: a.barecat cats; ..."
}

@test "find" {
    asks 'find A'
    asks 'find A -type f'
    asks 'find A -name "*.jpg"'
    asks 'find A -name "*.jpg" -type f'
    asks 'find A -iname "*.JPG"'
    asks 'find A -size +1k'
    asks 'find A -type f -size -2'
    asks 'find A -type f -size +500c -size -3000c'
    asks 'find A -empty'
    asks 'find A -newer $readme'
    asks 'find A -newermt 2022-01-01'
    asks 'find A ! -newermt 2019-01-01'
    asks 'find A -mtime +3000 -type f'
    asks 'find A -maxdepth 1'
    asks 'find A -maxdepth 1 -type d'
    asks 'find A -mindepth 2 -type f'
    asks 'find A ! -name "*.jpg"'
    asks 'find A -not -name "*.jpg" -type f'
    asks 'find A -name "*.jpg" -o -name "*.json"'
    asks 'find A \( -name "*.jpg" -o -name "*.json" \) -size +1k'
    asks 'find A -name cats -prune -o -type f -print'
    asks 'find A -not -path "*/.*"'
    asks 'find A -path "./cats/*"'
    asks 'find A -perm 600'
    asks 'find A -perm /111 -type f'
    asks 'find A -type f -print0 | xargs -0 -n 1 basename -- | sort'
    asks 'find A -type f -printf "%s %p\n" | sort -n'
    asks 'find A -type f -printf "%TY-%Tm-%Td %f\n" | sort'
    asks 'find A -type l -printf "%p %l\n"'
    asks 'find A -type f | wc -l'
    asks 'find A -name "*.json" -print -quit | wc -l'
    types "shardbox find a.barecat . -name 'tom*'" cats/tom.jpg cats/tom.json
    types "shardbox find a.barecat cats dogs -name '*.jpg'" cats/felix.jpg cats/tom.jpg dogs/rex.jpg
    types "shardbox find a.barecat -name '*.json' -print0 | shardbox cat -0 -T - a.barecat" '{"name":"felix"}' '{"name":"tom"}'
    types "shardbox find --json a.barecat -name '*.json' | jq .size" 17 15
    refused "shardbox find -name '*.jpg' a.barecat" 'shardbox find: a.barecat: ARCHIVE and PATHs come before the expression; ...'
    refused "shardbox find a.barecat -name '*.tmp' -delete" '...find only reads; pipe the paths: -print0 | shardbox rm -0 -T - ARCHIVE'
    refused 'shardbox find -L a.barecat' "...'-L'; links are not followed; ..."
}

@test "du" {
    asks 'du -b cats/tom.jpg README'
    asks 'du -bsc cats/*.jpg'
    asks 'du -bh cats/tom.jpg dogs/rex.jpg'
    asks 'du --apparent-size -b cats/*.json'
    types 'shardbox du a.barecat' $'2532\tcats' $'9\tdogs/old' $'108909\tdogs' $'4\tmy pics' $'0\tnone' $'111493\t.'
    types 'shardbox du -sh a.barecat' $'109K\t.'
    types 'shardbox du -shx a.barecat cats' $'2.5K\tcats'
    types 'shardbox du -h -d 1 a.barecat' $'2.5K\tcats' $'107K\tdogs' $'4\tmy pics' $'0\tnone' $'109K\t.'
    types 'shardbox du -h --max-depth=1 a.barecat | sort -rh | head -2' $'109K\t.' $'107K\tdogs'
    types 'shardbox du -a a.barecat cats' $'500\tcats/felix.jpg' $'17\tcats/felix.json' $'2000\tcats/tom.jpg' \
        $'15\tcats/tom.json' $'2532\tcats'
    types 'shardbox du -sc a.barecat cats dogs' $'2532\tcats' $'108909\tdogs' $'111441\ttotal'
    types "shardbox du -s a.barecat '*/'" $'2532\tcats' $'108909\tdogs' $'4\tmy pics' $'0\tnone'
    types "shardbox du -s a.barecat '*' | wc -l" 12
    types "shardbox du -sc a.barecat 'cats/*' cats" $'500\tcats/felix.jpg' $'17\tcats/felix.json' $'2000\tcats/tom.jpg' \
        $'15\tcats/tom.json' $'2532\tcats' $'2532\ttotal'
    types 'shardbox du -sk a.barecat' $'109\t.'
    types 'shardbox du -s0 a.barecat cats | tr "\0" "|"' $'2532\tcats|'
    types 'shardbox du --json -s a.barecat cats | jq .files' 4
    refused 'shardbox du -t 1k a.barecat' "...'-t'; --sort=size brings the largest first"
    refused 'shardbox du --inodes a.barecat' "...'--inodes'; --count counts files"
    refused 'shardbox du -BM a.barecat' "...'-B'; sizes are in bytes; see -h, -k and -m"
    run_fail 1 sb du -s a.barecat 'x*'
    stderr_is "shardbox du: cannot access 'x*': no such file or directory in the archive; '*' stays within a directory, '**/' means any below"
}

# What diff -rq prints, in our words.
in_our_words() {
    sed -nE 's,^Files pets/(.*) and .* differ$,differs: \1,p
        s,^Only in pets: ,only in a.barecat: ,p; s,^Only in pets/(.*): ,only in a.barecat: \1/,p; s,^Only in q: ,only in q: ,p'
}

@test "diff" {
    cp -a pets q
    for line in 'diff -C pets a.barecat' 'diff -r -C pets a.barecat' 'diff -rq a.barecat -C pets' 'diff -j 2 -C pets a.barecat'; do
        types "shardbox $line" ''
    done
    types 'cd pets && shardbox diff ../a.barecat' ''
    types 'cd pets && shardbox diff ../a.barecat .' ''
    echo more >>q/cats/tom.json
    echo new >q/new
    rm q/dogs/notes.tmp
    run_fail 1 sb diff -rq --ignore=time -C q a.barecat
    [[ $output == "$(diff -rq --no-dereference pets q | in_our_words)" ]] || fail 'not as diff -rq'
    run_fail 1 sb diff -q -C q a.barecat cats
    output_is 'differs: cats/tom.json'
    run_fail 1 sb diff --json -C q a.barecat
    [[ $(jq -r 'select(.kind == "extra").path' <<<"$output") == new ]]
    # As diff(1) has it: two operands are the two sides, whichever is the directory.
    run_fail 1 sb diff -q --ignore=time a.barecat q
    [[ $output == *'only in q: new'* && $output == *'differs: cats/tom.json'* ]]
    run_fail 1 sb diff -q --ignore=time q a.barecat
    output_has 'only in q: new'
    cp a.barecat b # not by its name
    cp a.barecat-shard-00000 b-shard-00000
    types 'shardbox diff a.barecat b' ''
    run_ok sb diff -v a.barecat b
    stderr_has 'a.barecat: the same as b; files whose bytes were compared: '
    refused 'shardbox diff -ruN a.barecat -C q' "...'-u'; contents are not shown; ..."
    refused "shardbox diff -x '*.tmp' a.barecat -C q" "...'-x'; names are chosen by PATHs and GLOBs; ..."
    refused 'shardbox diff q pets' '...both are directories; plain '\''diff -r'\'' compares them'
    # With -C said, it is a PATH; so is a plain file, and what the archive has.
    run_fail 1 sb diff -C . a.barecat q
    output_has 'only in .: q'
    run_fail 1 sb diff a.barecat readme.txt
    stderr_has 'no such file or directory on either side'
    mkdir cats
    run_fail 1 sb diff a.barecat cats
    output_has 'only in a.barecat: cats/tom.jpg'
}

@test "cat, and pipes" {
    types 'shardbox cat a.barecat README' 'read me'
    types "shardbox cat a.barecat 'cats/*.json'" '{"name":"felix"}' '{"name":"tom"}'
    types "shardbox cat a.barecat 'cats/*.json' | jq -r .name" felix tom
    types 'shardbox cat a.barecat ./README /README' 'read me' 'read me'
    types 'shardbox cat -j 2 a.barecat dogs/rex.jpg | wc -l' 20000
    types 'shardbox cat a.barecat dogs/rex.jpg | head -1' 1
    types 'shardbox cat a.barecat | head -c 4' dash
    types 'echo README | shardbox cat -T - a.barecat' 'read me'
    types 'shardbox cat --frame=tar a.barecat README cats/tom.jpg | tar t' README cats/tom.jpg
    types 'tar c -C pets . | shardbox convert - b.barecat && shardbox diff -C pets b.barecat' ''
    types 'shardbox convert a.barecat - --to=tar | tar t | grep -c jpg' 4
    types 'shardbox convert --to=tar a.barecat - | head -c 10 | wc -c' 10
    types 'shardbox convert -j 2 a.barecat c.tar.gz && tar tzf c.tar.gz | wc -l' 22
    types 'tar cz pets | shardbox convert --strip-components=1 - d.barecat && shardbox ls d.barecat cats | head -1' felix.jpg
    types 'tar c pets | shardbox ls -' pets
    types "tar c pets | shardbox find - -name '*.tmp'" pets/dogs/notes.tmp
    types 'tar c pets | shardbox cat - pets/README' 'read me'
    types 'tar c pets | shardbox du -s - pets/cats' $'2532\tpets/cats'
    types 'shardbox convert -n a.barecat e.tar | tail -1; ls e.tar 2>&1 | grep -c "No such"' ünï 1
    types 'shardbox verify a.barecat && echo sound' sound
    refused 'shardbox cat README a.barecat' 'shardbox cat: README: no such file; the archive comes first: a.barecat README; ...'
    refused 'shardbox cat -n a.barecat README' "...'-n'; pipe it: | cat with that option"
    run_ok bash -c 'shardbox convert -v a.barecat f.tar'
    stderr_is 'shardbox convert: f.tar: stored 16 files (109K) and 6 directories'
}

@test "pack, as tar -c" {
    printf 'README\ncats/tom.jpg\n' >list
    printf 'README\0my pics/a b.jpg\0' >list0
    printf '*.tmp\nold\n' >ex
    packs pets
    packs ./pets
    packs '-C pets .'
    packs '-C pets cats dogs'
    packs '-v pets >/dev/null' pets
    packs "--exclude='*.tmp' pets"
    packs '--exclude=*.tmp pets'
    packs "--exclude '*.tmp' -C pets ."
    packs '--exclude=old pets'
    packs '--exclude=dogs/old -C pets .'
    packs '--exclude=./dogs -C pets .'
    packs '-X ex pets'
    packs '--exclude-from=ex pets'
    packs '-C pets -T list'
    packs '-C pets --null -T list0'
    packs '-C pets --null -T list0' '-C pets -0T list0'
    packs '--one-file-system pets' '-x pets'
    packs '--no-recursion pets pets/README'
    packs 'pets/cats/ pets/run.sh'
    types 'cd pets && find . -name "*.jpg" -print0 | shardbox pack -0 -T - ../f.barecat && shardbox find ../f.barecat -type f' \
        cats/felix.jpg cats/tom.jpg dogs/rex.jpg 'my pics/a b.jpg'
    types 'shardbox pack -n g.barecat pets/cats; ls g.barecat 2>&1 | grep -c "No such"' pets/cats pets/cats/felix.jpg \
        pets/cats/felix.json pets/cats/tom.jpg pets/cats/tom.json 1
    refused 'shardbox pack pets g.barecat' '...; type: shardbox pack g.barecat pets'
    refused 'shardbox pack g.tar pets' '...; type: shardbox convert pets g.tar'
    refused 'shardbox pack -cvf g.barecat pets' "...'-c'; that is done anyway; leave it out"
    refused 'shardbox pack -z g.barecat pets' "...'-z'; use --compress=gz"
    types 'shardbox pack --compress=gz g.barecat pets/README && shardbox cat g.barecat pets/README.gz | zcat' 'read me'
}

@test "unpack, as tar -x" {
    unpacks ''
    unpacks README
    unpacks 'cats/tom.jpg dogs'
    unpacks '--strip-components=1'
    unpacks '--strip-components=1 cats'
    unpacks "'cats/*.jpg'" "--wildcards 'cats/*.jpg'"
    unpacks "--exclude='*.jpg' --exclude=README" "--exclude='*.jpg' --exclude=README"
    unpacks '-p -j 2 cats' '-p cats'
    types 'shardbox unpack a.barecat -C d && shardbox diff -C d a.barecat' ''
    types 'tar c pets | shardbox unpack - -C e && ls e' pets
    types 'shardbox unpack -n a.barecat cats -C f; ls f 2>&1 | grep -c "No such"' cats cats/felix.jpg cats/felix.json cats/tom.jpg \
        cats/tom.json 1
    refused 'shardbox unpack a.barecat d' '...; type: shardbox unpack -C d a.barecat'
    refused 'shardbox unpack -xvf a.barecat' "...'-x'; that is done anyway; leave it out"
    refused 'shardbox unpack -O a.barecat README' "...'-O'; 'shardbox cat' writes to standard output"
    refused 'shardbox unpack --overwrite a.barecat' "...'--overwrite'; use --existing=replace"
    refused 'shardbox unpack -T list a.barecat' "...'-T'; 'shardbox cat --frame=tar -T FILE ARCHIVE | tar -x' takes a list"
    printf 'README\ncats/tom.jpg\n' >list
    types 'mkdir g && shardbox cat --frame=tar -T list a.barecat | tar -xC g && find g -type f | sort' g/README g/cats/tom.jpg
}

@test "rm and mv" {
    changes 'rm README run.sh'
    changes 'rm -r cats'
    changes 'rm -rf cats nope'
    changes 'rm -f nope README'
    changes 'rm cats'
    changes 'rm README nope'
    changes 'rm -d none'
    changes 'rm -d cats'
    changes 'rm cats/*.json'
    changes 'rm -r ./*'
    changes 'rm ./*'
    changes 'rm -r */'
    changes 'rm -r cats dogs/'
    changes 'rm -- -dash'
    changes 'rm link'
    changes 'mv README READ.me'
    changes 'mv README run.sh cats/'
    changes 'mv README cats'
    changes 'mv cats felines'
    changes 'mv cats dogs'
    changes 'mv cats/ dogs/'
    changes 'mv cats/*.jpg dogs'
    changes 'mv cats/f*.jpg found.jpg'
    changes 'mv cats/*.jpg missing'
    changes 'mv -t dogs README cats/tom.jpg'
    changes 'mv -f README run.sh'
    changes 'mv -T cats none'
    changes 'mv cats/tom.jpg .'
    changes 'mv README missing/'
    changes 'mv nope x'
    types "shardbox find a.barecat -name '*.tmp' -print0 | shardbox rm -0 -n -T - a.barecat | xargs -0" dogs/notes.tmp
    types 'shardbox rm -nr a.barecat cats | head -1' cats
    types 'shardbox mv -n a.barecat README run.sh cats/' 'README -> cats/README' 'run.sh -> cats/run.sh'
    types "shardbox mv -n -t dogs a.barecat 'cats/*.jpg'" 'cats/felix.jpg -> dogs/felix.jpg' 'cats/tom.jpg -> dogs/tom.jpg'
    types "shardbox find a.barecat -name 'tom*' -print0 | xargs -0 shardbox mv -t dogs a.barecat; shardbox ls a.barecat dogs" \
        notes.tmp old rex.jpg tom.jpg tom.json
    types 'shardbox rm -v a.barecat README 2>&1 | head -1' 'shardbox rm: README: removed'
    types 'shardbox mv -v a.barecat run.sh go.sh 2>&1' 'shardbox mv: run.sh: moved to go.sh'
    refused 'shardbox rm -i a.barecat go.sh' "...'-i'; it never prompts; -n prints what would be done"
    refused 'shardbox mv -u a.barecat go.sh x' "...'-u'; use --existing=newer"
    refused 'shardbox mv --update a.barecat go.sh x' "...'--update'; use --existing=newer"
    refused 'shardbox mv a.barecat go.sh empty' 'shardbox mv: empty: exists already; ...'
    refused 'shardbox mv -T a.barecat dogs/tom.* none' 'shardbox mv: -T takes one SOURCE, and dogs/tom.* matches several...'
    refused 'shardbox mv -T -t dogs a.barecat go.sh' 'shardbox mv: -T and -t cannot be given together; ...'
    refused 'shardbox rm -rf a.barecat /' 'shardbox rm: /: the root directory cannot be removed; ...'
}

@test "shards, and what is in them" {
    mkdir train
    touch train/{0,1}.{jpg,cls}
    tar -cf train-000000.tar -C train 0.jpg 0.cls
    tar -cf train-000001.tar -C train 1.jpg 1.cls
    for line in "convert '{}' b.barecat" "merge '{}' b.barecat" "cat '{}' 0.jpg" "ls '{}'" "verify '{}'"; do
        refused "shardbox ${line/'{}'/train-{000000..000001\}.tar}" \
            "...: train-{000000..000001}.tar: no such file; without quotes, the shell writes out {A..B}"
    done
    types 'shardbox convert train-{000000..000001}.tar b.barecat && shardbox ls --samples --count b.barecat' 2
    refused 'shardbox convert --shuffle b.barecat c.tar' \
        "...'--shuffle'; 'shardbox cat --samples --shuffle --frame=tar' writes a shuffled tar"
    types 'shardbox cat --samples --shuffle --frame=tar b.barecat | tar -t | wc -l' 4
    refused 'shardbox cat --samples --records=1 b.barecat' \
        "...'--records'; the numbers are operands: CONTAINER 7 10:20"
    types 'shardbox cat --samples --frame=tar b.barecat 1 | tar -t' 1.cls 1.jpg
    refused 'shardbox unpack --charset=CP932 train-000000.tar' "...'--charset'; use --iconv=CHARSET"
}
