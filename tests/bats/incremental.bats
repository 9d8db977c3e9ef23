# shardbox unpack --incremental: the lists of incremental dumps of GNU tar are applied to a tree.

load helper

# dump NAME [OPTION...]: of what changed in src since the last one.
dump() {
    tar -C src "${@:2}" -g s.snapshot -cf "$1.tar" d
}

# A dump of level 0 in full.tar, of level 1 in next.tar, and between them all that can change.
make_dumps() {
    rm -rf src ./*.snapshot
    mkdir -p src/d/kept src/d/gone/deep/deeper src/d/empty src/d/filled src/d/plain/below
    touch src/d/{a,b,dir} src/d/kept/{c,d} src/d/gone/{e,deep/f,deep/deeper/g} src/d/filled/h
    echo old >src/d/changed
    echo below >src/d/plain/below/file
    ln -s nowhere src/d/link
    dump full "$@"
    rm -r src/d/gone src/d/b src/d/kept/d src/d/link src/d/filled/h src/d/plain src/d/dir
    echo newer >src/d/changed
    echo plain >src/d/plain
    mkdir src/d/added src/d/dir
    touch src/d/added/i src/d/kept/j src/d/dir/k
    dump next "$@"
}

# Renames: into a directory that is new, of one in another, and two that swap their names.
make_renames() {
    rm -rf src ./*.snapshot
    mkdir -p src/d/{one,two,moved/inner}
    for name in one two moved moved/inner; do
        echo $name >src/d/$name/file
    done
    dump full
    mkdir src/d/new
    mv src/d/moved src/d/new/moved
    mv src/d/new/moved/inner src/d/new/moved/within
    mv src/d/one src/d/three
    mv src/d/two src/d/one
    mv src/d/three src/d/two
    dump next
    rm -rf ours
    sb unpack --incremental -C ours full.tar
}

# swap_name TAR NAME: into hostile.tar, with NAME as that of "Dadded", the first of the list of d.
swap_name() {
    python3 -c 'import sys
data = bytearray(open(sys.argv[1], "rb").read())
at, name = data.index(b"Dadded\0"), sys.argv[2].encode()
end = data.index(b"\0\0", at)
list = name + bytes(data[at + 6:end + 2])
data[at:end + 2] = list.ljust(end + 2 - at, b"\0")[:end + 2 - at]
open("hostile.tar", "wb").write(data)' "$@"
}

# listing DIRECTORY: kinds, modes and times, as tars of GNU's format have them.
listing() {
    (cd "$1" && find . -mindepth 1 -exec stat -c '%n %f %Y' {} + | sort)
}

same_trees() {
    diff -r --no-dereference "$@"
    diff <(listing "$1") <(listing "$2")
}

@test "--incremental deletes what a dump of GNU tar does not name, as tar does" {
    for format in gnu posix; do
        make_dumps --format=$format
        rm -rf theirs ours
        mkdir theirs outside
        touch outside/stays
        for tar in full next; do
            tar -x -g /dev/null -f $tar.tar -C theirs
            run_ok sb unpack --incremental -C ours $tar.tar
            output_is ''
            # What came in between goes, too, and no link is followed.
            mkdir -p {ours,theirs}/d/kept/new/below
            ln -s "$PWD/outside" ours/d/kept/new/out
            ln -s "$PWD/outside" ours/d/out
            touch {ours,theirs}/{beside,d/kept/new/below/file}
        done
        run_ok sb unpack -n --incremental -C ours next.tar
        stderr_has 'd/out: would be removed'
        stderr_has 'd/kept/new/below/file: would be removed'
        [[ -e ours/d/kept/new/below/file && -L ours/d/out ]]
        run_ok bash -c 'gzip -c next.tar | "$SHARDBOX" unpack -v --incremental -C ours -'
        stderr_has 'd/out: removed'
        stderr_has 'd/kept/new: removed'
        tar -x -g /dev/null -f next.tar -C theirs
        same_trees ours/d src/d
        same_trees theirs/d src/d
        [[ -e outside/stays && $(ls -A ours) == $'beside\nd' ]]
        rm -r outside
    done
}

@test "--incremental: a dry run says what makes way, and that the rest would be written" {
    make_dumps
    sb unpack --incremental -C ours full.tar
    cp -a ours before
    run_ok sb unpack -n --incremental -C ours next.tar
    stderr_has 'd/plain: would be removed'
    stderr_has 'd/dir: would be removed'
    stderr_has 'd/gone/deep/deeper/g: would be removed'
    output_has 'd/plain'
    output_has 'd/dir/k'
    same_trees before ours
    make_renames
    cp -a ours before-renames
    run_ok sb unpack -n --incremental -C ours next.tar
    stderr_has 'd/moved: would be renamed to d/new/moved'
    stderr_has 'what is deleted is known when directories are renamed; nothing is deleted'
    same_trees before-renames ours
}

@test "without --incremental nothing is deleted; with it a link in place of a directory makes way" {
    make_dumps
    run_ok sb unpack --incremental -C ours full.tar
    sb unpack --existing=replace -C ours next.tar || true
    [[ -e ours/d/gone/deep/f && -d ours/d/plain ]]
    mkdir outside
    touch outside/stays
    rm -r ours/d/kept
    ln -s "$PWD/outside" ours/d/kept
    run_ok sb unpack --incremental -C ours next.tar
    [[ -e outside/stays && -e ours/d/kept/j ]]
    # Of that there is no list.
    mv ours/d elsewhere
    touch elsewhere/b
    ln -s "$PWD/elsewhere" ours/d
    run_fail 1 sb unpack --incremental -C ours next.tar
    stderr_has 'nothing is deleted'
    [[ -L ours/d && -e elsewhere/b ]]
}

@test "--incremental renames directories first" {
    make_renames
    run_ok sb unpack -v --incremental -C ours next.tar
    stderr_has 'd/moved: renamed to d/new/moved'
    same_trees ours src
    [[ $(cat ours/d/one/file) == two && $(ls -A ours) == d ]]
    # A directory that is not there, or in the way of another.
    for line in 'rm -r ours/d/moved' 'mkdir -p ours/d/new/moved/stays' 'mkdir ours/d/new; touch ours/d/new/moved' \
        'rm -r ours/d/moved; ln -s one ours/d/moved' 'ln -s one ours/d/new'; do
        make_renames
        eval "$line"
        cp -a ours "before"
        run_fail 2 sb unpack --incremental -C ours next.tar
        stderr_has 'd/moved: cannot be renamed to d/new/moved, as the dump says it was: '
        diff -r --no-dereference before/d/moved ours/d/moved || [[ ! -e ours/d/moved ]]
        [[ $(cat ours/d/two/file ours/d/one/file | sort) == $'one\ntwo' ]]
        rm -r before
    done
}

@test "--incremental: a run that was killed is completed by the next, also where names were swapped" {
    make_renames
    cp -a ours before
    local steps
    for steps in 0 1 2 3 4 5 6 7; do
        rm -rf ours
        cp -a before ours
        # The steps that are done, the next one is begun, or has been done, too.
        python3 - $steps <<'EOF'
import os, sys
data = open('next.tar', 'rb').read()
at = data.index(b'ustar') - 257
list = data[at + 512:at + 512 + int(data[at + 124:at + 135], 8)]
parts, renames = list.split(b'\0'), []
for i, part in enumerate(parts):
    if part[:1] == b'R':
        renames.append((part[1:], parts[i + 1][1:]))
open('count', 'w').write(str(len(renames)))
sum = 0xffffffff
for byte in list:
    sum ^= byte
    for _ in range(8):
        sum = sum >> 1 ^ (0x82f63b78 if sum & 1 else 0)
marker = '.shardbox-renamed-%08x' % (sum ^ 0xffffffff)
os.chdir('ours')
done = min(int(sys.argv[1]), len(renames))
for source, target in renames[:done]:
    source, target = (name or marker.encode() + b'-t' for name in (source, target))
    os.makedirs(os.path.dirname(target) or b'.', exist_ok=True)
    os.rename(source, target)
open(marker, 'w').write('R' * min(done + int(sys.argv[1]) % 2, len(renames)))
EOF
        run_ok sb unpack --incremental -C ours next.tar
        same_trees ours src
        [[ $(ls -A ours) == d ]]
    done
    ((steps > $(<count)))
}

@test "--incremental spares its own input" {
    make_dumps
    run_ok sb unpack --incremental -C ours full.tar
    mkdir ours/d/tars
    cp next.tar ours/d/tars
    run_fail 1 sb unpack --incremental -C ours ours/d/tars/next.tar
    stderr_has 'd/tars/next.tar: cannot be removed: this command uses it'
    [[ $(find ours/d/tars -type f) == ours/d/tars/next.tar && ! -e ours/d/b ]]
    # In a directory that makes way it is put aside with that.
    rm -rf ours
    run_ok sb unpack --incremental -C ours full.tar
    cp next.tar ours/d/plain
    cd ours
    run_fail 1 sb unpack --incremental d/plain/next.tar
    cmp ../next.tar "$(find . -name next.tar)"
    [[ -f d/plain ]]
}

@test "--incremental deletes nothing where a list or a tar is damaged, and the next run completes it" {
    make_dumps
    run_ok sb unpack --incremental -C ours full.tar
    cp -a ours before
    for name in '?added' '' added N N. D.. D../.. Nd/b N/added Rd Td; do
        swap_name next.tar "$name"
        run_fail 2 sb unpack --incremental -C ours hostile.tar
        stderr_has "d: the dump's list of its names is damaged or too long"
        same_trees before ours
    done
    # Cut in what follows the lists; without its end; without its first list; a sum that is wrong.
    head -c 6000 next.tar >cut.tar
    python3 -c 'd = open("next.tar", "rb").read(); n = len(d.rstrip(bytes(1)))
open("end.tar", "wb").write(d[:(n + 511) // 512 * 512])
open("lost.tar", "wb").write(b"x" * 512 + d[512:])
open("first.tar", "wb").write(d[:512] + b"x" * 512 + d[1024:])'
    gzip -c next.tar | head -c -4 >sum.tar.gz
    for tar in cut.tar end.tar lost.tar first.tar sum.tar.gz; do
        run sb unpack --from=tar --incremental -C ours $tar
        [[ $status -ne 0 && -e ours/d/b && -e ours/d/kept/d && -e ours/d/gone/deep/f ]]
        [[ $(find ours -path '*/below/file' -exec cat {} +) == below ]]
    done
    run_ok sb unpack --incremental -C ours next.tar
    same_trees ours src
}

@test "--incremental: no name of renamed directories leads out of the tree" {
    mkdir -p outside/d
    touch outside/d/stays
    for name in ../outside/dd /tmp/outside/d out/dddddddddd; do
        make_renames
        ln -s "$PWD/outside" ours/out
        NAME=$name perl -0pe 's,Td/new/moved\0,T$ENV{NAME}\0,' next.tar >hostile.tar
        sb unpack --incremental -C ours hostile.tar || true
        [[ $(find outside | sort) == $'outside\noutside/d\noutside/d/stays' && ! -e outsid && ! -e /tmp/outside/d ]]
    done
    for name in ../d/// ./././. /////// d/one/f; do
        make_renames
        NAME=$name perl -0pe 's,Rd/moved\0,R$ENV{NAME}\0,' next.tar >hostile.tar
        sb unpack --incremental -C ours hostile.tar || true
        [[ -e outside/d/stays && -e ours/d/moved/file ]]
    done
}

@test "--incremental: what makes way stays in the tree, wherever the name of its place leads" {
    make_dumps
    run_ok sb unpack --incremental -C ours full.tar
    mkdir outside
    ln -s "$PWD/outside" ours/.shardbox-replaced
    run_fail 1 sb unpack --incremental -C ours next.tar
    stderr_has 'd/plain: cannot be removed: '
    stderr_has 'nothing is deleted'
    [[ -z $(ls outside) && -e ours/d/plain/below/file && -e ours/d/b ]]
}

@test "--incremental: after a run that could not do all, the next one does not rename again" {
    make_renames
    python3 -c 'd = open("next.tar", "rb").read(); n = len(d.rstrip(bytes(1)))
open("end.tar", "wb").write(d[:(n + 511) // 512 * 512])'
    run_fail 1 sb unpack --incremental -C ours end.tar
    stderr_has 'nothing is deleted'
    run_ok sb unpack --incremental -C ours next.tar
    [[ $(ls -A ours) == d ]]
    same_trees ours src
}

@test "--incremental: a file that was left out for its kind stops nothing; the report stays" {
    make_dumps
    mkfifo src/d/fifo
    dump last
    run_ok sb unpack --incremental -C ours full.tar
    run_fail 1 sb unpack --incremental --report=ours/d/report -C ours last.tar
    stderr_has 'd/fifo'
    [[ ! -e ours/d/b && -s ours/d/report ]]
}

@test "--incremental goes with dumps as a whole, and with no option that chooses or changes names" {
    make_dumps
    tar -C src -cf plain.tar d
    run_ok sb unpack --incremental -C ours plain.tar
    stderr_has 'no list of an incremental dump is among what was unpacked; nothing is deleted'
    for option in --strip-components=1 --decompress --exclude='*.o' --include='*.o' --iconv=LATIN1 \
        --existing=skip --nested; do
        run_fail 2 sb unpack --incremental "$option" -C ours next.tar
        stderr_has 'it goes with no option that chooses or changes names, and not with --existing'
    done
    run_fail 2 sb unpack --incremental -C ours next.tar d/kept
    stderr_has 'give no PATH'
}
