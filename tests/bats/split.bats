# shardbox split: one container becomes several.

load helper

# A tree of many small files in directories, two of them empty: leaves tree/ and a.barecat.
make_files() {
    mkdir -p tree/{one,two,three/deep,empty/inner}
    for i in {1..60}; do
        printf 'file %d\n' "$i" >"tree/one/$i.txt"
        fill $((i * 37)) x >"tree/two/$i.bin"
        printf '%d' "$i" >"tree/three/deep/$i"
    done
    ln -s ../one/1.txt tree/two/link
    chmod 750 tree/three
    find tree -depth -exec touch -h -d '2001-02-03 04:05:06Z' {} +
    sb pack a.barecat -C tree .
}

# union PART...: unpacks all of them into one directory, `union`.
union() {
    local part
    rm -rf union && mkdir union
    for part; do
        sb unpack --existing=replace -C union "$part" || return
    done
}

# What a part holds, a line each.
names() {
    sb find "$1" --type=f,l | LC_ALL=C sort
}

# parts_hold PART...: each verifies, no file is in two of them, and together they are the tree.
parts_hold() {
    local part
    for part; do
        run_ok sb verify --strict "$part"
    done
    [[ -z $(for part; do names "$part"; done | LC_ALL=C sort | uniq -d) ]] || fail "files in two parts"
    union "$@"
    run_ok sb diff -C union a.barecat
    output_is ""
}

@test "parts of like size, in the order on disk, are the whole" {
    make_files
    run_ok sb split --parts=3 -o 'p-{}.barecat' a.barecat
    output_is ""
    stderr_is ""
    parts_hold p-0.barecat p-1.barecat p-2.barecat
    sizes=$(for i in 0 1 2; do stat -c %s p-$i.barecat-shard-00000; done)
    total=$(stat -c %s a.barecat-shard-00000)
    for size in $sizes; do
        ((size > total / 3 - 2220 && size < total / 3 + 2220)) || fail "not a third of $total: $size"
    done
    cat p-{0,1,2}.barecat-shard-00000 | cmp - a.barecat-shard-00000
}

@test "within a part samples stay in the order of a shuffled tar, also through an archive" {
    mkdir s
    for n in 5 3 1 4 2; do
        echo $n | tee s/$n.cls >s/$n.txt
    done
    (cd s && tar cf ../s.tar {5,3,1,4,2}.{cls,txt})
    run_ok sb convert s.tar s.barecat
    for input in s.tar s.barecat; do
        run_ok sb split --force --samples --parts=2 -o 'p-{}.tar' "$input"
        [[ $(tar tf p-0.tar | xargs) == '5.cls 5.txt 3.cls 3.txt 1.cls 1.txt' ]] || fail "$(tar tf p-0.tar)"
        [[ $(tar tf p-1.tar | xargs) == '4.cls 4.txt 2.cls 2.txt' ]] || fail "$(tar tf p-1.tar)"
    done
}

@test "numbers have as many digits as the last one needs" {
    make_files
    run_ok sb split --parts=11 -o 'p{}.barecat' a.barecat
    [[ -e p00.barecat && -e p10.barecat && ! -e p11.barecat ]]
    run_ok sb split --parts=10 -o 'q{}.barecat' a.barecat
    [[ -e q0.barecat && -e q9.barecat ]]
}

@test "each of the parts has a file where there are enough; the others are empty" {
    mkdir tree
    head -c 100000 /dev/zero >tree/a
    echo 1 >tree/b
    echo 2 >tree/c
    sb pack a.barecat -C tree .
    run_ok sb split -n --parts=3 -o '{}' a.barecat
    output_is '         1          100000 0
         1               2 1
         1               2 2'
    run_ok sb split --parts=5 -o '{}.barecat' a.barecat
    parts_hold {0..4}.barecat
    run_ok sb find 4.barecat
    output_is ""
}

@test "patterns as WebDataset has them say which numbers, and how many digits" {
    mkdir in
    for i in {1..12}; do echo "$i" >"in/$i"; done
    sb pack p.barecat -C in .
    run_ok sb split --parts=3 -o 'train-{:06d}.tar' p.barecat
    [[ $(echo train-*) == 'train-000000.tar train-000001.tar train-000002.tar' ]]
    run_ok sb split --parts=3 -o 'x-{0007..0009}.tar' p.barecat
    [[ $(echo x-*) == 'x-0007.tar x-0008.tar x-0009.tar' ]]
    run_ok sb split --parts=3 -o 'y-{9..11}.tar' p.barecat
    [[ $(echo y-*) == 'y-10.tar y-11.tar y-9.tar' ]]
    run_fail 2 sb split --parts=4 -o 'z-{0..2}.tar' p.barecat
    stderr_has '{0..2}: there are more parts than it has numbers'
    [[ $(echo z-*) == 'z-*' ]]
    # What is no number stays as it is, and so do other braces.
    run_ok sb split --ratio=a=0.5,b=0.5 -o '{x}-{:03d}.tar' p.barecat
    [[ $(echo '{x}'-*) == '{x}-a.tar {x}-b.tar' ]]
    run_fail 2 sb split --parts=2 -o 'w-{:d}.tar' p.barecat
    stderr_has "write '{}' where the name of the part goes"
}

@test "files without bytes are divided by their number" {
    mkdir tree
    touch tree/{1..9}
    sb pack a.barecat -C tree .
    run_ok sb split -n --parts=3 -o '{}' a.barecat
    output_is '         3               0 0
         3               0 1
         3               0 2'
}

@test "--size: parts of that size at most, and a larger file alone" {
    mkdir tree
    for name in a b c d; do head -c 400 /dev/zero >tree/$name; done
    head -c 3000 /dev/zero >tree/e
    head -c 100 /dev/zero >tree/f
    sb pack a.barecat -C tree .
    run_ok sb split --size=1000 -n -o '{}' a.barecat
    output_is '         2             800 0
         2             800 1
         1            3000 2
         1             100 3'
    run_ok sb split --size=1000 -o '{}.barecat' a.barecat
    parts_hold {0..3}.barecat
}

@test "--ratio: by the name alone, so that adding files never moves others" {
    make_files
    run_ok sb split --ratio=train=0.8,val=0.1,test=0.1 --seed=7 -o '{}.barecat' a.barecat
    parts_hold train.barecat val.barecat test.barecat
    names train.barecat >train
    names val.barecat >val
    (($(wc -l <train) > 120)) || fail "not about 0.8 of 181: $(wc -l <train)"

    mkdir more
    for i in {100..300}; do echo more >"more/$i"; done
    sb pack --append a.barecat more
    run_ok sb split --ratio=train=0.8,val=0.1,test=0.1 --seed=7 -o 'new-{}.barecat' a.barecat
    LC_ALL=C comm -23 train <(names new-train.barecat) >lost
    LC_ALL=C comm -23 val <(names new-val.barecat) >>lost
    [[ ! -s lost ]] || fail "moved: $(<lost)"

    run_ok sb split --ratio=train=0.8,val=0.1,test=0.1 --seed=8 -o 'other-{}.barecat' a.barecat
    ! cmp -s <(names new-val.barecat) <(names other-val.barecat) || fail "the seed changes nothing"
}

@test "--ratio: the manual page says how chance is computed" {
    make_files
    sb split --ratio=few=0.3,many=0.7 --seed=12345 -o '{}.barecat' a.barecat
    sed -n '/^def number/,/^\.Ed/p' "$PROJECT/man/shardbox-split.1" | grep -v '^\.Ed' >number.py
    cat >>number.py <<'PYTHON'
import sys
for name in sys.stdin.read().split("\n")[:-1]:
    if number(12345, name) < 0.3:
        print(name)
PYTHON
    names a.barecat | python3 number.py | cmp - <(names few.barecat)
}

@test "--ratio: what is left over is counted, or goes into --rest" {
    make_files
    mv a.barecat whole.barecat
    mv a.barecat-shard-00000 whole.barecat-shard-00000
    run_ok sb split --ratio=few=0.1 -o '{}.barecat' whole.barecat
    left=$((181 - $(names few.barecat | wc -l)))
    stderr_is "shardbox split: {}.barecat: files that are in no part: $left; --rest=NAME makes a part of them"
    run_ok sb split -f --ratio=few=0.1 --rest=most -o '{}.barecat' whole.barecat
    stderr_is ""
    [[ $(names most.barecat | wc -l) == "$left" ]]
}

@test "--by-list: parts of what lists name" {
    make_files
    sb find a.barecat --name '*.txt' >texts
    printf './two//%s.bin\n' {1..60} >bins
    run_ok sb split --by-list=texts=texts --by-list=bins=bins --rest=other -o '{}.barecat' a.barecat
    stderr_is ""
    parts_hold texts.barecat bins.barecat other.barecat
    cmp texts <(names texts.barecat) || [[ $(names texts.barecat | wc -l) == 60 ]]
    sb find -0 a.barecat two >list
    run_ok sb split -0 --by-list=two=list -o 'x-{}.barecat' a.barecat
    stderr_has 'files that are in no part: 120'
    [[ $(names x-two.barecat | wc -l) == 61 ]]
    run_ok sb split --by-list=two=- -o 'y-{}.barecat' a.barecat < <(tr '\0' '\n' <list)
    [[ $(names y-two.barecat | wc -l) == 61 ]]
}

@test "--by-list: a name in two lists is an error, one that is nowhere is told" {
    make_files
    echo one/1.txt >a
    printf 'one/2.txt\none/1.txt\n' >b
    run_fail 2 sb split --by-list=a=a --by-list=b=b -o '{}.barecat' a.barecat
    stderr_is "shardbox split: b: one/1.txt is in the list of a too; a file goes into one part"
    [[ ! -e b.barecat ]]
    printf 'one/3.txt\nnot/there\none\nthree\n' >c
    run_fail 1 sb split -q --by-list=c=c -o '{}.barecat' a.barecat
    stderr_is "shardbox split: not/there: is listed, but not there
shardbox split: {}.barecat: done in part; problems, named above: 1"
    run_ok sb find c.barecat
    output_is "one
one/3.txt"
}

@test "--by-dir: a part for each directory at the top" {
    make_files
    run_ok sb split --by-dir -o 'd-{}.barecat' a.barecat
    parts_hold d-{one,two,three,empty}.barecat
    run_ok sb find d-empty.barecat
    output_is "empty
empty/inner"
    echo top >top && sb pack --append a.barecat top
    run_fail 2 sb split --by-dir -o 'e-{}.barecat' a.barecat
    stderr_is "shardbox split: top: is in no directory; --rest=NAME makes a part of such files"
    [[ ! -e e-one.barecat ]]
    run_ok sb split --by-dir --rest=files -o 'e-{}.barecat' a.barecat
    run_ok sb find e-files.barecat
    output_is top
}

@test "directories above files keep their metadata, and empty ones come once" {
    make_files
    run_ok sb split --parts=2 -o '{}.barecat' a.barecat
    show() { sb find "$1" --type=d --printf '%p %m %T@\n'; }
    for part in 0 1; do show $part.barecat; done | LC_ALL=C sort -u >parts
    show a.barecat | LC_ALL=C sort | cmp - parts
    [[ $(for part in 0 1; do sb find $part.barecat; done | grep inner) == empty/inner ]]
}

@test "parts can be tars and zips, and so can what is split" {
    make_files
    tar -cf whole.tar -C tree .
    for kind in tar tar.gz zip; do
        run_ok sb split --parts=3 -o "$kind-{}.$kind" a.barecat
        union "$kind"-{0,1,2}."$kind"
        run_ok sb diff -C union a.barecat
    done
    run_ok sb split --by-dir --rest=x -o 'again-{}.barecat' whole.tar
    parts_hold again-{one,two,three,empty}.barecat
    sb convert -q a.barecat whole.zip
    run_ok sb split --ratio=a=0.5,b=0.5 --to=tar -o 'zip-{}' whole.zip
    union zip-a zip-b
    run_ok sb diff -C union a.barecat
}

@test "what can only be read in sequence is refused" {
    make_files
    tar -czf whole.tar.gz -C tree .
    run_fail 2 sb split --parts=2 -o '{}.barecat' whole.tar.gz
    stderr_is "shardbox split: whole.tar.gz: can only be read in sequence, not part by part; 'shardbox convert' makes an archive of it, which can be split"
}

@test "--shard-size is that of the parts" {
    make_files
    run_ok sb split --parts=2 --shard-size=20K -o '{}.barecat' a.barecat
    [[ -e 0.barecat-shard-00001 && -e 1.barecat-shard-00001 ]]
    parts_hold {0,1}.barecat
}

@test "--symlink: parts are indexes over the same shards" {
    make_files
    sb convert --shard-size=20K a.barecat b.barecat
    mkdir whole && mv b.barecat* whole
    run_ok sb split --symlink --parts=3 -o 'p-{}.barecat' whole/b.barecat
    stderr_is ""
    for i in 0 1 2; do
        [[ $(readlink p-$i.barecat-shard-00000) == whole/b.barecat-shard-0000? ]]
        for shard in "p-$i.barecat-shard-"*; do [[ -L $shard ]] || fail "$shard is no link"; done
    done
    parts_hold p-{0,1,2}.barecat
    ((2 <= $(ls p-0.barecat-shard-* | wc -l))) || fail "part 0 has one shard only"
    (($(ls p-0.barecat-shard-* | wc -l) < $(ls whole/b.barecat-shard-* | wc -l))) ||
        fail "shards are linked that the part does not use"

    run_ok sb split --symlink --absolute --ratio=x=0.5,y=0.5 -o '{}.barecat' whole/b.barecat
    [[ $(readlink x.barecat-shard-00000) == "$(realpath whole)"/b.barecat-shard-0000? ]]
    parts_hold x.barecat y.barecat
    run_ok sb split --symlink --parts=2 -o 'again-{}.barecat' x.barecat
    [[ $(readlink again-0.barecat-shard-00000) == whole/b.barecat-shard-0000? ]]
    for part in 0 1; do run_ok sb verify --strict again-$part.barecat; done
}

@test "--symlink: a part without bytes has an empty shard of its own" {
    mkdir tree && touch tree/{a,b}
    sb pack a.barecat -C tree .
    run_ok sb split --symlink --parts=2 -o '{}.barecat' a.barecat
    for part in 0 1; do
        run_ok sb verify --strict $part.barecat
        [[ -f $part.barecat-shard-00000 && ! -L $part.barecat-shard-00000 ]]
    done
}

@test "--symlink wants an archive on both sides" {
    make_files
    tar -cf a.tar -C tree .
    run_fail 2 sb split --symlink --parts=2 -o '{}.barecat' a.tar
    stderr_is "shardbox split: a.tar: is no archive, and has no shards to link to; leave out --symlink"
    run_fail 2 sb split --symlink --parts=2 -o '{}.tar' a.barecat
    stderr_has "with --symlink parts are archives; choose another OUTPUT, or say --to=archive"
    run_fail 2 sb split --absolute --parts=2 -o '{}.barecat' a.barecat
    stderr_has "--absolute is for --symlink"
}

@test "--shard-size without -o: the archive itself gets shards of that size" {
    make_files
    sb convert a.barecat b.barecat
    run_ok sb split --shard-size=20K -n b.barecat
    output_is "shards: 1, would be: 4; files to move: 34 (48K)"
    [[ ! -e b.barecat-shard-00001 ]]
    run_ok sb split --shard-size=20K -v b.barecat
    stderr_is "shardbox split: b.barecat: shards: 4, were: 1; moved files: 34 (48K)"
    run_ok sb verify --strict b.barecat
    run_ok sb diff -C tree b.barecat
    for shard in b.barecat-shard-*; do (($(stat -c %s "$shard") <= 20480)) || fail "$shard is larger"; done
    cat b.barecat-shard-* | cmp - a.barecat-shard-00000
    run_ok sb split --shard-size=1G --json b.barecat
    output_has '{"shards_before":4,"shards_after":1,'
    cmp a.barecat-shard-00000 b.barecat-shard-00000
    [[ ! -e b.barecat-shard-00001 ]]
    run_ok sb verify --strict b.barecat
}

@test "--shard-size without -o: shards that others may have bytes in are refused" {
    make_files
    ln a.barecat-shard-00000 backup
    run_fail 2 sb split --shard-size=20K a.barecat
    stderr_has "a.barecat-shard-00000"
    stderr_has "--follow"
    run_ok sb split --shard-size=20K --follow a.barecat
    run_ok sb verify --strict a.barecat
    run_fail 2 sb split --shard-size=20K --seed=1 a.barecat
    stderr_has "without -o, --shard-size changes ARCHIVE itself"
    run_fail 2 sb split --parts=2 --follow -o '{}' a.barecat
    stderr_has "--follow is for --shard-size without -o"
    tar -cf a.tar -C tree .
    run_fail 2 sb split --shard-size=20K a.tar
    stderr_has "a.tar: is a tar, and only archives can be changed"
}

@test "where a part is there already nothing is written" {
    make_files
    echo precious >p-2.barecat
    run_fail 2 sb split --parts=3 -o 'p-{}.barecat' a.barecat
    stderr_is "shardbox split: p-2.barecat: exists already, nothing was written; --force replaces such parts, --existing=skip keeps them"
    [[ ! -e p-0.barecat && $(<p-2.barecat) == precious ]]
    rm p-2.barecat
    touch p-1.barecat-shard-00000
    run_fail 2 sb split --parts=3 -o 'p-{}.barecat' a.barecat
    stderr_has "p-1.barecat: exists already, nothing was written"
    [[ ! -e p-0.barecat ]]
}

@test "--force replaces parts, --existing=skip keeps them" {
    make_files
    sb split --parts=3 -o 'p-{}.barecat' a.barecat
    sb rm p-1.barecat one 2>/dev/null || sb pack -f p-1.barecat -C tree one/1.txt
    touch -d 2001-01-01 p-0.barecat p-2.barecat
    run_ok sb split -v --existing=skip --parts=3 -o 'p-{}.barecat' a.barecat
    stderr_has "p-1.barecat: is there already; left as it is, where this would be"
    rm p-2.barecat p-2.barecat-shard-00000
    run_ok sb split --existing=skip --parts=3 -o 'p-{}.barecat' a.barecat
    [[ $(stat -c %y p-0.barecat) == 2001-01-01* ]]
    run_ok sb verify p-2.barecat
    run_ok sb split -f --parts=3 -o 'p-{}.barecat' a.barecat
    parts_hold p-{0,1,2}.barecat
}

@test "a part is not put in the place of what is split" {
    make_files
    run_fail 2 sb split -f --by-list=a=<(echo any) --rest=b -o '{}.barecat' a.barecat
    stderr_has "a.barecat: is input and output at once; choose another output"
    run_fail 2 sb split -f --parts=1 -o a.barecat-shard-00000 --to=tar a.barecat
    stderr_has "a.barecat-shard-00000: holds bytes of the input a.barecat"
    run_ok sb verify --strict a.barecat
}

@test "damaged files are named and left out" {
    make_files
    offset=$(sb find a.barecat one/7.txt --json | sed 's/.*"offset":\([0-9]*\).*/\1/')
    printf X | dd of=a.barecat-shard-00000 bs=1 seek="$offset" conv=notrunc status=none
    run_fail 1 sb split --parts=2 -o '{}.barecat' a.barecat
    stderr_has "one/7.txt: its bytes do not match their checksum; left out"
    stderr_has "done in part; problems, named above: 1"
    for part in 0 1; do run_ok sb verify --strict $part.barecat; done
    [[ $(for part in 0 1; do names $part.barecat; done | wc -l) == 180 ]]
}

@test "rows that cannot be used are named and left out, and name no part" {
    make_files
    sqlite3 a.barecat "UPDATE config SET value_int = 0 WHERE key = 'use_triggers';
        UPDATE files SET path = '../evil' WHERE path = 'one/1.txt';
        UPDATE files SET path = '..' WHERE path = 'one/3.txt';
        UPDATE files SET size = -5 WHERE path = 'one/2.txt'"
    run_fail 1 sb split --by-dir -o 'x{}.barecat' a.barecat
    stderr_has "../evil: the name has a .. component; left out"
    stderr_has "..: the name has a .. component; left out"
    stderr_has "one/2.txt: size is negative; left out"
    stderr_has "done in part; problems, named above: 3"
    [[ $(echo x*.barecat) == "xempty.barecat xone.barecat xthree.barecat xtwo.barecat" ]]
    for part in x*.barecat; do run_ok sb verify --strict "$part"; done
    run_fail 1 sb split --symlink --parts=2 -o 'y{}.barecat' a.barecat
    for part in y*.barecat; do run_ok sb verify --strict "$part"; done
}

@test "parts are right while another process moves the files about" {
    make_files
    coproc MOVER { python3 "$PROJECT/tests/faults/mover.py" a.barecat within 100; }
    local mover=$MOVER_PID
    for way in --parts=3 --ratio=0=0.3,1=0.3,2=0.4; do
        run_ok sb split -f $way -o 'p-{}.barecat' a.barecat
        stderr_is ""
        parts_hold p-{0,1,2}.barecat
    done
    eval "exec ${MOVER[1]}>&-"
    wait "$mover"
    run_ok sb verify --strict a.barecat
}

# bats test_tags=threads
@test "parts do not depend on the number of threads" {
    make_files
    run_ok sb split --parts=2 -j1 -o 'a-{}.barecat' a.barecat
    run_ok sb split --parts=2 -j4 -o 'b-{}.barecat' a.barecat
    for part in 0 1; do
        cmp a-$part.barecat b-$part.barecat
        cmp a-$part.barecat-shard-00000 b-$part.barecat-shard-00000
    done
}

@test "-v and --json say what each part has, -n writes nothing" {
    mkdir tree
    printf 12345 >tree/a
    printf 67 >tree/b
    sb pack a.barecat -C tree .
    run_ok sb split -n --json --parts=2 -o 'x{}.barecat' a.barecat
    output_is '{"part":"0","output":"x0.barecat","files":1,"bytes":5,"skipped":false}
{"part":"1","output":"x1.barecat","files":1,"bytes":2,"skipped":false}'
    [[ ! -e x0.barecat ]]
    run_ok sb split -v --parts=2 -o 'x{}.barecat' a.barecat
    stderr_is 'shardbox split: x0.barecat: 1 file (5)
shardbox split: x1.barecat: 1 file (2)'
    run_ok sb split -n --parts=2 -o 'x{}.barecat' a.barecat
    output_is '         1               5 x0.barecat
         1               2 x1.barecat'
}

@test "an archive of nothing has parts of nothing" {
    mkdir tree
    sb pack a.barecat -C tree .
    run_ok sb split --size=1M -o 's-{}.barecat' a.barecat
    run_ok sb verify --strict s-0.barecat
    run_ok sb split --by-dir -o 'd-{}.barecat' a.barecat
    [[ $(echo d-*) == 'd-*' ]]
}

@test "what cannot be meant is refused" {
    make_files
    refused() {
        run_fail 2 sb split "${@:2}"
        stderr_has "$1"
    }
    refused "say how to split, in one way" -o '{}' a.barecat
    refused "say how to split, in one way" --parts=2 --by-dir -o '{}' a.barecat
    refused "say where parts go" --parts=2 a.barecat
    refused "give one CONTAINER" --parts=2 -o '{}'
    refused "give one CONTAINER; 'shardbox merge' makes one of several" --parts=2 -o '{}' a.barecat b.barecat
    refused "x.barecat: there are 2 parts, and one name; write '{}' where the name of the part goes" \
        --parts=2 -o x.barecat a.barecat
    refused "'train' is not NAME=NUMBER, such as train=0.8" --ratio=train -o '{}' a.barecat
    refused "'a=80': all is 1, and a part of it a number from 0 to 1, such as 0.8, or 80%" \
        --ratio=a=80 -o '{}' a.barecat
    refused "'a=180%': all is 1" --ratio=a=180% -o '{}' a.barecat
    refused "'a=8%0' is not NAME=NUMBER" --ratio=a=8%0 -o '{}' a.barecat
    refused "the numbers add up to 1.1, which is more than 1" --ratio=a=50%,b=0.6 -o '{}' a.barecat
    refused "'a=0x' is not NAME=NUMBER" --ratio=a=0x -o '{}' a.barecat
    refused "'a' is named twice" --ratio=a=0.1,a=0.2 -o '{}' a.barecat
    refused "the numbers add up to 1.1, which is more than 1" --ratio=a=0.5,b=0.6 -o '{}' a.barecat
    refused "'a/b=x' is not NAME=FILE" --by-list=a/b=x -o '{}' a.barecat
    refused "standard input can be only one of the lists, or CONTAINER" --by-list=a=- -o '{}' -
    refused "--seed is for --ratio" --parts=2 --seed=1 -o '{}' a.barecat
    refused "--rest is for --ratio" --parts=2 --rest=x -o '{}' a.barecat
    refused "--force and --existing" --parts=2 -f --existing=skip -o '{}' a.barecat
    refused "parts can be archives, tars, zips, bags, Syrah files or caches" --parts=2 -o '{}.cpio' a.barecat
    refused "--shard-size is for parts that are archives" --parts=2 --shard-size=1M -o '{}.tar' a.barecat
    refused "missing: No such file" --by-list=a=missing -o '{}' a.barecat
    refused "nothing: No such file" --parts=2 -o '{}' nothing
    [[ $(ls -I 'separate-stderr-*') == $'a.barecat\na.barecat-shard-00000\ntree' ]]
}

@test "--ratio takes percentages, which are the same numbers" {
    mkdir tree
    for i in {1..40}; do
        touch "tree/$i"
    done
    sb pack x.barecat tree
    sb split -n --ratio=train=0.9,test=0.1 -o '{}.barecat' x.barecat >numbers
    run_ok sb split -n --ratio=train=90%,test=10% -o '{}.barecat' x.barecat
    cmp numbers - <<<"$output"
    run_ok sb split -n --ratio=train=90%,test=0.1 -o '{}.barecat' x.barecat
    cmp numbers - <<<"$output"
}
