#!/usr/bin/env bats
# Samples: files of one stem, as WebDataset groups them, are never torn apart.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR" || return
}

# make_samples COUNT: a tar of so many samples of three files each, and two files that have no stem.
make_samples() {
    mkdir -p tree/a.b
    for ((i = 0; i < $1; i++)); do
        stem=tree/a.b/$(printf %04d "$i")
        echo "image $i" >"$stem.jpg"
        echo "$i" >"$stem.json"
        head -c $((i % 7 * 100)) /dev/zero >"$stem.seg.png"
    done
    echo readme >tree/README
    echo hidden >tree/a.b/.x
    tar cf set.tar -C tree a.b README
}

# stems PART: of the files in it, as WebDataset has them.
stems() {
    sb find --type=f "$1" | sed -E 's,^((.*/)?[^/.]+)\.[^/]*$,\1,' | sort -u
}

# are_whole PART...: no stem is in two parts, and nothing is missing.
are_whole() {
    local part
    for part in "$@"; do
        stems "$part"
    done | sort >all
    [[ -z $(uniq -d all) ]] || fail "torn apart: $(uniq -d all | head -n 3)"
    for part in "$@"; do
        sb find --type=f "$part"
    done | sort >files
    cmp files <(tar tf set.tar | grep -v '/$' | sort)
}

@test "by number, size and ratio each sample is whole and in one part, of a tar and an archive" {
    make_samples 150
    run_ok sb convert -q set.tar set.barecat
    for input in set.tar set.barecat; do
        for rule in --parts=7 --size=3k --ratio=train=0.8,val=0.2; do
            rm -rf out && mkdir out
            run_ok sb split -q --samples "$rule" -o 'out/{}.tar' "$input"
            are_whole out/*.tar
        done
    done
}

@test "without --samples a ratio is about files, and tears samples apart" {
    make_samples 100
    run_ok sb split -q --ratio=train=0.5,val=0.5 -o '{}.tar' set.tar
    [[ -n $(sort <(stems train.tar) <(stems val.tar) | uniq -d) ]]
}

@test "links are dealt out as files are" {
    mkdir tree
    for i in 1 2 3 4; do
        printf %s "$i.a" >"tree/$i.a"
        ln -s "$i.a" "tree/l$i.a"
    done
    run_ok sb pack set.barecat -C tree .
    run_ok sb split -q --samples --parts=4 -o '{}.tar' set.barecat
    for i in 0 1 2 3; do
        (($(tar tf $i.tar | grep -vc /) == 2)) || fail "$(tar tf $i.tar)"
    done
}

@test "a list names samples by their stems or one of their files; one that is not there is told" {
    make_samples 4
    printf '%s\n' a.b/0001 a.b/0003.json README >list
    run_ok sb split -q --samples --by-list=some=list --rest=others -o '{}.tar' set.tar
    [[ $(sb find --type=f some.tar | sort | tr '\n' ' ') == \
        'README a.b/0001.jpg a.b/0001.json a.b/0001.seg.png a.b/0003.jpg a.b/0003.json a.b/0003.seg.png ' ]]
    are_whole some.tar others.tar
    echo a.b/0009 >>list
    run_fail 1 sb split -q --force --samples --by-list=some=list -o '{}.tar' set.tar
    stderr_has "a.b/0009: is listed, but not there"
}

@test "a file that is called as a stem is a sample of its own, and so is what is below such a directory" {
    mkdir -p tree/x.d
    echo 1 >tree/x.a
    echo 2 >tree/x.d/file
    echo 3 >tree/x.e
    echo 4 >tree/y
    echo 5 >tree/y.z
    run_ok sb pack set.barecat tree
    run_ok sb split -q --samples --parts=4 -o '{}.tar' set.barecat
    [[ $(for part in ?.tar; do sb find --type=f "$part" | sort | tr '\n' ' '; echo; done | sort) == \
        'tree/x.a tree/x.e 
tree/x.d/file 
tree/y 
tree/y.z ' ]]
}

@test "--samples is for files by name" {
    printf 'a\nb\n' | sb convert -q --frame=line - some.bag
    run_fail 2 sb split --samples --ratio=a=0.5,b=0.5 -o '{}.tar' some.bag
    stderr_has 'some.bag: is a bag, and --samples is for files by name'
    run_fail 2 sb split --samples --shard-size=1M some.barecat
    stderr_has 'without -o, --shard-size changes ARCHIVE itself'
}

# Samples in the order of their first files, of which some begin as others are called.
make_few() {
    mkdir -p w/1.more w/sub
    for i in 3 1 2; do
        echo "jpg $i" >w/$i.jpg
        echo "json $i" >w/$i.json
    done
    echo deep >w/1.more/x
    echo below >w/sub/1.jpg
    echo readme >w/README
    echo md >w/README.md
    tar cf t.tar -C w 3.jpg 3.json 1.json 1.jpg README README.md 2.jpg 2.json 1.more/x sub/1.jpg
    sb convert -q t.tar a.barecat
}

# names OPTION...: the files that cat --samples writes of a.barecat, in a line.
names() {
    sb cat --samples --frame=tar "${@:2}" "$1" | tar tf - | paste -sd ' '
}

@test "cat --samples: by number, slice and list, each whole, in the order of their first files" {
    make_few
    for container in t.tar a.barecat; do
        [[ $(names $container) == '3.jpg 3.json 1.jpg 1.json README.md 2.jpg 2.json sub/1.jpg' ]] ||
            fail "all of $container"
        [[ $(sb cat --samples --frame=tar $container 1 -1 2:4 | tar tf - | paste -sd ' ') == \
        '1.jpg 1.json sub/1.jpg README.md 2.jpg 2.json' ]] || fail 'numbers'
        [[ $(printf '3\n::3\n' | sb cat --samples --frame=tar -T - $container | tar tf - | paste -sd ' ') == \
        '2.jpg 2.json 3.jpg 3.json 2.jpg 2.json' ]] || fail 'a list'
    done
    run_fail 1 sb cat --samples a.barecat 99 2
    output_is md
    stderr_is 'shardbox cat: README: belongs to no sample
shardbox cat: 1.more/x: belongs to no sample
shardbox cat: a.barecat: sample 99: there are 5'
    run_fail 2 sb cat --samples a.barecat README
}

@test "cat --samples: drawn, shuffled, repeated and cut into parts, none is torn apart" {
    make_few
    for seed in {0..9}; do
        names a.barecat --shuffle --seed="$seed" >>orders
    done
    (($(sort -u orders | wc -l) > 5)) || fail 'orders'
    sed 's/[0-9]\.jpg \([0-9]\)\.json/&/' orders | while read -r line; do
        for i in 1 2 3; do [[ " $line " == *" $i.jpg $i.json "* ]] || exit 1; done
    done
    for parts in 2 3 7; do
        for ((i = 1; i <= parts; i++)); do names a.barecat --part=$i/$parts; done >cut
        [[ $(xargs <cut) == "$(names a.barecat)" ]] || fail "$parts parts"
    done
    (($(names a.barecat --sample=3 --seed=2 | sed 's/[^ ]*\.json//g' | wc -w) == 3)) || fail 'a sample'
    (($(sb cat --samples --forever --shuffle a.barecat 2>/dev/null | head -n 100 | wc -l) == 100)) || fail 'for ever'
}

@test "cat --samples: what has no samples, or cannot be looked through, is told" {
    make_few
    printf 'x\n' | sb convert -q --frame=line - l.bag
    run_fail 2 sb cat --samples l.bag
    stderr_is "shardbox cat: l.bag: is a bag, and --samples is for files of archives; try 'shardbox cat --help'"
    run_fail 2 sb cat --sample=1 a.barecat
    stderr_is "shardbox cat: a.barecat: --sample goes with rows, or with --samples; try 'shardbox cat --help'"
    run_fail 2 sb cat --samples --keys=l.bag a.barecat
    stderr_has 'is no bag, and --keys is for bags'
    run_fail 2 sb cat --samples --part=1/2 -T /dev/null a.barecat
}

@test "ls --samples: a row for each, of all or of some, with what their files are" {
    make_few
    for container in t.tar a.barecat; do
        run_ok sb ls --samples $container
        output_is '0 13 jpg,json 3
1 13 jpg,json 1
2  3 md       README
3 13 jpg,json 2
4  6 jpg      sub/1'
    done
    run_ok sb ls --samples -l a.barecat 1 4
    output_is '1 6 jpg  1.jpg
1 7 json 1.json
4 6 jpg  sub/1.jpg'
    run_ok sb ls --samples --json a.barecat 4
    output_is '{"sample":4,"name":"sub/1","bytes":6,"files":[{"extension":"jpg","path":"sub/1.jpg","size":6}]}'
    run_ok sb ls --samples --count a.barecat
    output_is 5
    run_ok sb ls --samples --array=json a.barecat 2:4
    output_is '2 0 -    README
3 7 json 2'
    run_fail 1 sb ls -q --samples a.barecat 0/json 4/json 5
    output_is '0 7 json 3'
    stderr_is "shardbox ls: a.barecat: sample 4: has no file 'json'
shardbox ls: a.barecat: sample 5: there are 5"
    run_ok sb ls --samples - <t.tar
    output_has '4  6 jpg      sub/1'
}

@test "du --samples: how many samples have which files" {
    make_few
    for container in t.tar a.barecat; do
        run_ok sb du --samples $container
        output_is '     samples           bytes extension
           4              24 jpg
           3              21 json
           1               3 md
           5              48 total'
    done
    run_ok sb du --samples --json --array=json a.barecat
    output_is '{"extension":"json","samples":3,"bytes":21}
{"total":true,"samples":5,"bytes":21}'
    run_ok sb du --samples -s a.barecat
    output_is '     samples           bytes extension
           5              48 total'
    run_fail 2 sb du -q --samples --array=png a.barecat
    stderr_is "shardbox du: a.barecat: no sample has a file 'png'"
}

@test "du --samples: of more endings than 1,000 the others are one line" {
    mkdir w
    for i in {1..1010}; do echo "$i" >"w/x.$i"; done
    tar cf t.tar -C w .
    run_ok sb du --samples t.tar
    [[ $(sed -n '$p' <<<"$output") =~ ' 1 '.*' total' ]] || fail "$(tail -n 1 <<<"$output")"
    [[ $(tail -n 2 <<<"$output" | head -n 1) =~ ' 10 '.*' others' ]] || fail "$(tail -n 2 <<<"$output")"
    (($(wc -l <<<"$output") == 1003)) || fail 'lines'
}

@test "cat --samples: one file of a sample, and one of each" {
    make_few
    for container in t.tar a.barecat; do
        run_ok sb cat --samples $container 0/json 3/jpg
        output_is 'json 3
jpg 2'
        run_ok sb cat --samples --array=json $container
        output_is 'json 3
json 1
json 2'
    done
    printf '%s\n' 0/json ':2/jpg' 2/jpg >list
    run_fail 1 sb cat -q --samples -T list a.barecat
    output_is 'json 3
jpg 3
jpg 1'
    stderr_is "shardbox cat: a.barecat: sample 2: has no file 'jpg'"
    (($(sb cat --samples --shuffle --array=jpg a.barecat | wc -l) == 4)) || fail 'shuffled'
    run_fail 2 sb cat -q --samples --array=png a.barecat
    stderr_is "shardbox cat: a.barecat: no sample has a file 'png'"
    run_fail 2 sb cat -q --samples a.barecat x
    stderr_is "shardbox cat: a.barecat: 'x' is no sample number, and no START:STOP:STEP with a step other than 0; the name of one file follows after a '/', or is in --array=NAME"
    run_fail 2 sb cat -q --samples --part=1/2 a.barecat 0/json 1
    stderr_is 'shardbox cat: a.barecat: samples of a list, or of different files, cannot be sampled, shuffled, cut or repeated'
}

@test "--samples of ls and du is for files by name, and shows them in their order" {
    make_few
    printf 'x\n' | sb convert -q --frame=line - l.bag
    run_fail 2 sb ls --samples l.bag
    stderr_has 'l.bag: is a bag, and --samples is for files of archives'
    run_fail 2 sb du --samples l.bag
    stderr_has 'l.bag: is a bag, and --samples is for files of archives'
    run_fail 2 sb ls --samples --sort=size a.barecat
    stderr_has 'samples are listed in their order, without --sort'
    run_fail 2 sb du --samples a.barecat sub
    stderr_has '--samples is of a whole archive, and a PATH does not go with it'
    run_fail 2 sb ls --array=jpg a.barecat
    stderr_has 'a.barecat: is no Syrah file and no cache, and --array is for these'
}

@test "cat --samples of what is read in sequence: neighbours are a sample, and what comes later is named" {
    make_few
    gzip -k t.tar
    [[ $(names t.tar.gz) == '3.jpg 3.json 1.json 1.jpg README.md 2.jpg 2.json sub/1.jpg' ]]
    [[ $(sb cat --samples --frame=tar - 4 0:4:2 3 <t.tar.gz | tar tf - | paste -sd ' ') == \
    '3.jpg 3.json README.md 2.jpg 2.json sub/1.jpg' ]] || fail 'numbers'
    run_ok sb cat --samples --array=json t.tar.gz 1:
    output_is 'json 1
json 2'
    for i in 1 2 3; do names t.tar.gz --part=$i/3; done >cut
    [[ $(sort <(tr ' ' '\n' <cut) | paste -sd ' ') == "$(names t.tar.gz | tr ' ' '\n' | sort | paste -sd ' ')" ]] ||
        fail 'parts'
    [[ $(sb cat --samples --frame=tar --part=1/2 t.tar.gz ::2 | tar tf - | paste -sd ' ') == '3.jpg 3.json sub/1.jpg' ]] || fail 'part of a slice'
    [[ $(sb cat --samples --frame=tar --part=2/2 t.tar.gz ::2 | tar tf - | paste -sd ' ') == 'README.md' ]] || fail 'part of a slice'
    run_fail 1 sb cat -q --samples t.tar.gz 2 99
    output_is md
    stderr_is 'shardbox cat: t.tar.gz: sample 99: there are 5'
    run_fail 1 sb cat -q --samples --array=png --array=jpg - 0 < <(cat t.tar)
    output_is 'jpg 3'
    stderr_is "shardbox cat: standard input: no sample has a file 'png'"
    echo late >w/3.txt
    tar rf t.tar -C w 3.txt
    run_fail 1 sb cat -q --samples - 0 < <(cat t.tar)
    output_is 'jpg 3
json 3'
    stderr_is 'shardbox cat: 3.txt: is of sample 0, which others came after; left out'
    run_ok sb cat --samples - 1 < <(cat t.tar)
    stderr_is 'shardbox cat: README: belongs to no sample
shardbox cat: 1.more/x: belongs to no sample'
    for wrong in -1 ::-1 :-2; do
        run_fail 2 sb cat --samples t.tar.gz "$wrong"
        stderr_is "shardbox cat: t.tar.gz: can only be read in sequence, without numbers from the end, or backwards; 'shardbox convert' makes an archive of it"
    done
    run_fail 2 sb cat --samples --shuffle t.tar.gz
    stderr_has 'without draws (--sample, --shuffle, --forever)'
}

@test "files that belong to no sample are named, in an archive and on a pipe" {
    mkdir -p tree/__meta__ tree/d
    for file in .x .x. ._1.jpg .DS_Store README __key__ __meta__/1.jpg d/_x; do echo 1 >"tree/$file"; done
    for file in 1.jpg d/_x.jpg __a.jpg; do echo 2 >"tree/$file"; done
    sb pack set.barecat -C tree .
    tar cf set.tar -C tree .
    run_ok sb ls --samples set.barecat
    output_is '0 2 jpg 1
1 2 jpg __a
2 2 jpg d/_x'
    [[ $(grep -c 'belongs to no sample$' <<<"$stderr") == 8 ]]
    run_ok sb cat --samples - <set.tar
    output_is $'2\n2\n2'
    [[ $(grep -c 'belongs to no sample$' <<<"$stderr") == 8 ]]
    # They are kept by what moves samples, and tear none apart.
    tar cf torn.tar -C tree README 1.jpg .x
    echo 3 >tree/1.txt
    tar rf torn.tar -C tree 1.txt d/_x.jpg
    run_ok sb convert -q --samples - out.tar < <(cat torn.tar)
    [[ $(tar tf out.tar | paste -sd ' ') == 'README 1.jpg .x 1.txt d/_x.jpg' ]] || fail "$(tar tf out.tar)"
    for i in 1 2; do sb convert -q --samples --part=$i/2 - p.tar < <(cat torn.tar); done
    [[ $(tar tf p-00000-of-00002.tar | paste -sd ' ') == 'README 1.jpg .x 1.txt' ]]
    [[ $(tar tf p-00001-of-00002.tar) == d/_x.jpg ]]
    rm tree/1.txt out.tar
    run_ok sb convert -q --samples set.tar out.tar
    diff <(tar tf set.tar | sed 's,^./,,; /\/$/d; /^$/d' | sort) <(tar tf out.tar | sed '/\/$/d' | sort)
}

@test "extensions are in lower case, or with --keep-case as they are; one that comes twice is named, with status 1" {
    mkdir tree
    echo 1 >tree/1.jpg
    echo 2 >tree/2.JPG
    echo 3 >tree/2.Seg.PNG
    sb pack a.barecat -C tree .
    run_ok sb ls --samples a.barecat
    output_is '0 2 jpg         1
1 4 jpg,seg.png 2'
    tar cf a.tar -C tree 1.jpg 2.JPG 2.Seg.PNG
    for input in a.barecat -; do
        run_ok sb cat --samples --array=jpg "$input" <a.tar
        output_is $'1\n2'
    done
    run_fail 2 sb cat --samples --array=JPG a.barecat
    stderr_is "shardbox cat: a.barecat: no sample has a file 'JPG'"
    run_ok sb cat --samples --keep-case --array=JPG a.barecat
    output_is 2
    run_ok sb du --samples --keep-case a.barecat
    output_has ' JPG'
    echo 4 >tree/2.jpg
    sb pack --force a.barecat -C tree .
    tar cf a.tar -C tree 2.JPG 2.jpg
    for command in 'ls --samples a.barecat' 'du --samples a.tar' 'convert --samples a.tar out.tar' \
        'convert --samples a.barecat out2.tar' 'cat --samples --from=tar -'; do
        # shellcheck disable=SC2086 # words
        run_fail 1 sb $command < <(cat a.tar)
        stderr_has "2.jpg: its sample has a file 'jpg' already"
    done
    run_ok sb ls --samples --keep-case a.barecat
}

@test "cat --samples --forever ends where no sample has such a file" {
    mkdir tree
    touch tree/1.jpg tree/2.jpg tree/3.txt
    run_ok sb pack set.barecat -C tree .
    for draw in '' --shuffle --sample=1; do
        run_fail 2 timeout -k 1 60 "$SHARDBOX" cat --samples --forever --array=txt ${draw:+"$draw"} \
            set.barecat :2
        stderr_has "nothing would ever be written"
    done
    run_fail 2 timeout -k 1 60 "$SHARDBOX" cat --samples --forever set.barecat 0/txt
    [[ $(sb cat --samples --forever --array=txt --frame=line set.barecat | head -n 3 | wc -l) == 3 ]]
}

# in_order CONTAINER: its files in their order, in a line.
in_order() {
    sb cat --frame=tar "$1" | tar tf - | paste -sd ' '
}

@test "convert --samples: files of a sample become neighbours, in the order of their first ones" {
    make_few
    tar cf torn.tar -C w 3.jpg 1.json README 1.jpg 2.jpg README.md 3.json 2.json 1.more/x sub/1.jpg
    sb convert -q torn.tar torn.barecat
    (cd w && zip -q0 ../torn.zip 3.jpg 1.json README 1.jpg 2.jpg README.md 3.json 2.json 1.more/x sub/1.jpg)
    for input in torn.tar torn.barecat torn.zip; do
        for to in out.tar out.zip out.barecat out.tar.gz; do
            run_ok sb convert -q --force --samples $input $to
            output_is ''
            [[ $(in_order $to) == '3.jpg 3.json 1.jpg 1.json README 2.jpg 2.json README.md 1.more/x sub/1.jpg' ]] ||
                fail "$input to $to: $(in_order $to)"
        done
        run_ok sb convert -q --samples $input out/
        rm -rf expected && mkdir expected && tar xf torn.tar -C expected
        diff -r expected out && rm -r out
    done
    run_ok sb convert -q --force --samples --keys=k.bag torn.tar out.bag
    [[ $(sb cat k.bag | paste -sd ' ') == '3.jpg 3.json 1.jpg 1.json '* || $(sb cat k.bag) == '3.jpg3.json1.jpg1.json'* ]] ||
        fail "$(sb cat k.bag)"
}

@test "convert --samples: of a stream and a directory neighbours are a sample, and what is late is left out" {
    make_few
    run_ok sb convert -q --samples <(cat t.tar) out.tar
    [[ $(in_order out.tar) == "$(in_order t.tar)" ]]
    run_ok sb convert -q --force --samples w out.tar
    [[ $(tar tf out.tar | grep '[.]j' | paste -sd ' ') == '1.jpg 1.json 2.jpg 2.json 3.jpg 3.json sub/1.jpg' ]]
    tar czf torn.tar.gz -C w 3.jpg 1.json 3.json 1.jpg 2.jpg
    run_fail 1 sb convert -q --force --samples torn.tar.gz out.tar
    stderr_is 'shardbox convert: 3.json: is of sample 0, which others came after; left out
shardbox convert: out.tar: done in part; problems, named above: 1'
    [[ $(tar tf out.tar | paste -sd ' ') == '3.jpg 1.json 1.jpg 2.jpg' ]]
    run_fail 2 sb convert -q --force --samples --strict torn.tar.gz strict.tar
    [[ ! -e strict.tar ]]
    run_ok sb convert -q --force --samples --exclude='*.json' torn.tar.gz out.tar
}

@test "convert --samples: samples of one name in several inputs are no neighbours, and that is told" {
    make_few
    tar cf a.tar -C w 1.jpg 2.jpg 2.json
    tar cf b.tar -C w 1.json 3.jpg 3.json
    run_fail 1 sb convert -q --samples a.tar b.tar out.tar
    stderr_has '1.json: is of sample 0, which others came after; left out'
    [[ $(tar tf out.tar | paste -sd ' ') == '1.jpg 2.jpg 2.json 3.jpg 3.json' ]]
}

@test "convert --samples --part: each sample is whole and in one part, of a container and a stream" {
    make_samples 50
    sb convert -q set.tar set.barecat
    for input in set.tar set.barecat pipe; do
        for parts in 1 2 7; do
            rm -rf out && mkdir out
            for ((share = 1; share <= parts; share++)); do
                [[ $input != pipe ]] || exec {pipe}< <(tar c --sort=name -C tree a.b README)
                run_ok sb convert -q --samples --part=$share/$parts "${input/#pipe//dev/fd/$pipe}" "out/p$share.tar"
            done
            are_whole out/*.tar
        done
    done
    run_fail 2 sb convert -q --part=1/2 set.tar out.tar
    stderr_has 'a single INPUT that is no bag'
}

@test "convert --samples: links go with their sample, directories come last, with their times" {
    mkdir -p w/d w/none
    echo 1 >w/d/1.jpg
    echo 2 >w/d/2.jpg
    ln -s 2.jpg w/d/1.link
    ln -s nowhere w/d/alone.link
    ln w/d/1.jpg w/d/2.hard
    touch -d 2020-01-01 w/d w/none
    tar cf t.tar --no-recursion -C w d/1.jpg d/2.jpg d/1.link d/alone.link d/2.hard none d
    sb convert -q t.tar a.barecat
    run_ok sb convert -q --samples a.barecat out.tar
    [[ $(tar tf out.tar | paste -sd ' ') == 'd/1.jpg d/1.link d/2.hard d/2.jpg d/alone.link d/ none/' ]] ||
        fail "$(tar tf out.tar | paste -sd ' ')"
    mkdir out && tar xf out.tar -C out
    [[ $(stat -c %Y out/d) == $(stat -c %Y w/d) ]]
    diff -r --no-dereference w out
}

@test "convert --samples says what an index over a tar does not hold" {
    mkdir w
    echo 1 >w/1.jpg
    ln w/1.jpg w/1.png
    tar cf t.tar -C w 1.jpg 1.png
    run_ok sb convert --samples t.tar out.tar
    stderr_is 'shardbox convert: out.tar: hard links of 1 member are not held by a tar after --samples; --report=FILE lists them'
    mkdir out && tar xf out.tar -C out
    diff -r w out
    run_fail 2 sb convert -q --samples --strict t.tar strict.tar
    stderr_has 'which strict.tar does not hold after --samples'
    [[ ! -e strict.tar ]]
}

@test "convert --samples: what it is not for" {
    make_few
    printf 'x\n' | sb convert -q --frame=line - l.bag
    run_fail 2 sb convert --samples l.bag out.tar
    stderr_has '--samples is for files, not for bags, Syrah files and caches'
    run_fail 2 sb convert --samples --wrap t.tar out.barecat
    stderr_has '--samples writes files in another order'
    run_fail 2 sb convert --samples --checkpoint=1M t.tar out.barecat
    stderr_has '--samples excludes --checkpoint and --resume'
    truncate -s 1M sparse.bin && tar cSf s.tar sparse.bin
    run_fail 2 sb convert --samples s.tar out.tar
    stderr_has 'can only be read in sequence, without --samples'
    head -c 700 t.tar >cut.tar
    run_fail 2 sb convert --samples cut.tar new.tar
    [[ ! -e new.tar ]]
}

# The names are more than memory holds, so that there are temporary files.
@test "convert --samples --dry-run makes no temporary file beside the output" {
    every_third_day
    release_build # 40 MB of paths
    deep=$(printf '%0200d/' {1..17})
    mkdir -p "$deep" out
    (cd "$deep" && printf '%s.txt\n' {00001..12000} | xargs touch)
    tar cf t.tar 0*
    sb convert -q t.tar a.barecat
    for input in t.tar a.barecat -; do
        touch -d @1 out
        run_ok bash -c '"$SHARDBOX" convert -n --samples "$1" out/o.tar <t.tar >/dev/null' - $input
        [[ $(stat -c %Y out) == 1 ]] || fail "$input: something was made in the directory"
    done
}
