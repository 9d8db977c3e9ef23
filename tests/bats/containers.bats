# Reading commands on any container: a tar, a cpio and a zip answer as the archive of the same tree.

load helper

# tree/ as an archive and as everything else, by other programs.
make_containers() {
    make_tree tree
    sb pack -q a.barecat -C tree .
    tar --format=posix -cf a.tar -C tree .
    zstd -q a.tar
    gzip -k a.tar
    (cd tree && zip -qry ../a.zip . && find . -print0 | cpio -0 --quiet -o -H newc >../a.cpio)
}

containers=(a.tar a.tar.zst a.tar.gz a.zip a.cpio)

# each COMMAND...: the same output, with @ as each container, as with @ as the archive.
each() {
    local container wanted
    wanted=$("$SHARDBOX" "${@//@/a.barecat}" | od -c)
    for container in "${containers[@]}"; do
        run_ok bash -c '"$SHARDBOX" "$@" >out' each "${@//@/$container}"
        [[ $(od -c out) == "$wanted" ]] || fail "$container: another output: $*"
        run_ok bash -c '"$SHARDBOX" "$@" >out' each "${@//@/-}" <"$container"
        [[ $(od -c out) == "$wanted" ]] || fail "$container as standard input: another output: $*"
        run_ok bash -c 'cat "$0" | "$SHARDBOX" "$@" >out' "$container" "${@//@/-}"
        [[ $(od -c out) == "$wanted" ]] || fail "$container on a pipe: another output: $*"
    done
}

@test "ls lists it as it lists the archive" {
    make_containers
    each ls @
    each ls -R @
    each ls -lS --color=always --sort=size @ sub deep
    each ls -d @ 'sub*'
    each ls --tree @
}

@test "find finds what it finds in the archive, with modes, owners, sizes and targets" {
    make_containers
    each find -0 @
    each find --type=l --printf '%p %l\n' @
    each find --printf '%p %y %s %m %U %G %TY-%Tm-%Td %TH:%TM\n' @
    each find --size=+5 --name='*.bin' @ sub
}

@test "du sums it up as it sums up the archive" {
    make_containers
    each du @
    each du -a --count @ sub deep
    each du --json @
}

@test "times have the precision of the container" {
    make_containers
    for container in a.barecat a.tar a.tar.zst; do
        run_ok sb find --printf '%T@' "$container" a.txt
        output_is 981173106.1234567890
    done
    for container in a.zip a.cpio; do
        run_ok sb find --printf '%T@' "$container" a.txt
        output_is 981173106.0000000000
    done
}

@test "cat gives the bytes of a file, a link's target, and of many" {
    make_containers
    each cat @ numbers
    each cat @ ./sub/../link
    each cat @ /sub/file
    (cd tree && find . \( -type f -o -type l \) -print0) >names
    for container in a.tar a.zip a.cpio; do
        sb cat -0 --batch -T names "$container" | cmp - <(sb cat -0 --batch -T names a.barecat)
        sb cat -0 --range=1:9 -T names "$container" | cmp - <(sb cat -0 --range=1:9 -T names a.barecat)
        run_ok sb cat -0 --order=address -T names "$container"
    done
    for container in a.tar.zst a.tar.gz; do
        sb cat -0 -T names "$container" | wc -c | cmp - <(sb cat -0 -T names a.barecat | wc -c)
    done
}

@test "cat heeds the sum that a cpio may have" {
    printf 'first\n' >first
    printf 'second\n' >second
    printf '%s\n' first second | cpio --quiet -o -H crc >a.cpio
    run_ok sb cat a.cpio second
    output_is second
    sed -i s/second$/sfcond/ a.cpio
    run_fail 2 sb cat a.cpio second
    stderr_has 'the bytes of second are damaged: their sum is not that of its header'
    run_ok sb cat a.cpio first
    run_fail 2 sb convert --wrap a.cpio a.barecat
    stderr_has 'with a sum of its own'
}

@test "cat of a name that is not there, or of a directory, is 1" {
    make_containers
    for container in "${containers[@]}"; do
        run_fail 1 sb cat "$container" nowhere a.txt sub
        output_is hello
        stderr_has 'nowhere: no such file in the archive'
        stderr_has 'sub: is a directory'
    done
}

@test "cat finds one file in a tar of any format, whatever its name" {
    local below longer
    below=$(printf 'some-directory/%.0s' {1..8})
    longer=$(printf 'another-directory/%.0s' {1..16})$(printf '%0200d' 0)
    mkdir -p "t/$below" "t/$(dirname "$longer")"
    echo short >t/short
    echo below >"t/${below}file"
    echo longer >"t/$longer"
    ln -s "$longer" t/link
    ln t/short t/twin
    for format in v7 oldgnu gnu ustar posix; do
        tar --format=$format -cf a.tar -C t . 2>/dev/null || :
        for name in short twin "${below}file" "$longer" link; do
            tar tf a.tar "./$name" >/dev/null 2>&1 || continue
            run_ok sb cat a.tar "./$name"
            if [[ $name == link ]]; then
                [[ $(tar tvf a.tar ./link) == *"-> $output" ]] || fail "$format: not its target"
            else
                output_is "$(cat "t/$name")"
            fi
        done
        run_fail 1 sb cat a.tar nowhere
    done
    tar --format=posix --pax-option='globexthdr.name=g,comment=all' -cf a.tar -C t short
    run_ok sb cat a.tar short
    output_is short
    tar --format=gnu --owner=x:3000000000 -cf a.tar -C t short
    run_ok sb cat a.tar short
    truncate -s -512 a.tar
    head -c 1024 a.tar >cut.tar
    run_fail 1 sb cat cut.tar short
    output_is short
    stderr_has 'no mark at its end'
}

@test "cat of a compressed tar gives files in the tar's order, and needs no more than one pass" {
    make_containers
    run_ok bash -c 'cat a.tar.zst | "$SHARDBOX" cat - one a.txt sub/file'
    order=$(tar tf a.tar | grep -Fx -e ./one -e ./a.txt -e ./sub/file)
    [[ $output == "$(cd tree && printf '%s\n' "$order" | xargs cat)" ]] || fail 'another order'
    for option in --batch --range=1:2 --order=address; do
        run_fail 2 sb cat "$option" a.tar.zst one
        stderr_has "can only be read in sequence, without ${option%=[0-9]*}"
        stderr_has "'shardbox convert'"
    done
}

@test "diff of a tree and its container finds nothing, and each difference between others" {
    make_containers
    for container in a.barecat "${containers[@]}"; do
        run_ok sb diff -C tree "$container"
        output_is ''
        run_ok sb diff -C a.zip "$container"
        output_is ''
        run_ok sb diff -C "$container" tree
        output_is ''
    done
    touch -d '2001-02-03 04:05:07.9Z' tree/one
    tar cf odd.tar -C tree one
    (cd tree && zip -q ../odd.zip one)
    for container in odd.tar odd.zip; do
        run_ok sb diff -C tree "$container" one
        touch -d '2001-02-03 04:05:09Z' tree/one
        run_fail 1 sb diff -C tree "$container" one
        output_has 'time: one: '
        touch -d '2001-02-03 04:05:07.9Z' tree/one
    done
    printf 'hellO\n' >tree/a.txt
    rm tree/one
    ln -sfn elsewhere tree/link
    find tree -depth -exec touch -h -d '2001-02-03 04:05:06.123456789Z' {} +
    for container in "${containers[@]}"; do
        run_fail 1 sb diff -C tree "$container"
        output_is "bytes: a.txt
target: link: a.txt in $container, elsewhere in tree
only in $container: one"
        run_fail 1 bash -c 'cat "$0" | "$SHARDBOX" diff -C tree --json -' "$container"
        [[ ${#lines[@]} == 3 ]] || fail 'not three differences'
        run_fail 1 sb diff -C "$container" tree
        output_has "only in $container: one"
    done
    run_fail 2 sb diff -C tree tree
    stderr_has "plain 'diff -r' compares them"
}

@test "verify of a sound one says what it does not prove" {
    make_containers
    for container in "${containers[@]}"; do
        run_ok sb verify "$container"
        output_is ''
        run_ok sb verify --json --quick "$container"
        output_has '{"kind":"summary","container":"'
        run_ok bash -c 'cat "$0" | "$SHARDBOX" verify -q -' "$container"
        stderr_is ''
    done
    run_ok sb verify a.tar
    stderr_is 'shardbox verify: a.tar: the structure is sound, and all can be read; a tar has no checksums of contents: bytes that changed go unnoticed'
    run_ok sb verify a.zip
    stderr_is ''
    run_ok sb verify -v a.zip
    stderr_has 'CRC-32'
    run_fail 1 sb verify --strict a.tar
    output_is 'unchecked: a tar has no checksums of contents: bytes that changed go unnoticed'
    run_ok sb verify --strict a.tar.gz
    run_ok sb verify --strict a.zip
    run_ok sb verify a.zip sub 'a.*'
    run_fail 1 sb verify a.tar nowhere
    run_fail 2 sb verify --present a.tar
}

@test "what verify advises for one that is cut short brings back what is sound" {
    mkdir t
    seq 1000 >t/a
    head -c 20000000 /dev/urandom >t/b
    head -c 20000000 /dev/urandom >t/c
    tar cf - -C t a b c | head -c 30000000 | gzip -1 >cut.tar.gz
    run_fail 1 sb verify cut.tar.gz
    stderr_has "keep what is sound with 'shardbox unpack'"
    run_fail 2 sb unpack -C back cut.tar.gz
    run_ok cmp t/a back/a
    [[ ! -e back/c ]]
}

# bats test_tags=threads
@test "verify names every member of a zip whose bytes changed, with any number of threads" {
    mkdir many
    for i in {1..300}; do printf '%0100d' "$i" >"many/f$i"; done
    (cd many && zip -qr0 ../a.zip .)
    for i in 7 77 277; do
        at=$(grep -obaF "$(printf '%0100d' "$i")" a.zip)
        flip_byte a.zip "${at%%:*}"
    done
    for threads in 1 3; do
        run_fail 1 sb verify --threads=$threads a.zip
        [[ ${#lines[@]} == 3 ]] || fail 'not three'
        for i in 7 77 277; do output_has "checksum: f$i: "; done
    done
    run_ok sb verify --quick a.zip
    run_fail 1 sb cat a.zip f7 f8
    output_is "$(printf '%0100d' 8)"
    run_ok sb cat --no-check a.zip f7
}

@test "verify of damage that other commands cannot read on from is 1, of what is no container 2" {
    make_containers
    head -c 5000 a.tar >cut.tar
    head -c 5000 a.zip >cut.zip
    head -c 5000 a.tar.zst >cut.tar.zst
    for container in cut.*; do
        run_fail 1 sb verify "$container"
        run_fail 1 sb verify --json "$container"
        output_has '{"kind":"damaged"'
        run_fail 2 sb ls "$container"
    done
    echo nothing >text
    : >empty
    for kind in tar cpio zip archive; do
        run_fail 2 sb verify --from=$kind text
        run_fail 2 sb verify --from=$kind empty
    done
    run_fail 2 sb verify text
    run_fail 2 sb verify empty
}

@test "a wrong checksum of the compression is damage" {
    make_containers
    flip_byte a.tar.gz $(($(stat -c %s a.tar.gz) - 6))
    flip_byte a.tar.zst $(($(stat -c %s a.tar.zst) - 2))
    for container in a.tar.gz a.tar.zst; do
        run_fail 1 sb verify "$container"
        run sb find "$container"
        ((status == 2)) || fail 'not 2'
    done
}

@test "--from says what it is, and is one of four" {
    make_containers
    cp a.zip b.tar
    each ls @
    for kind in tar tar.zst; do
        run_ok sb ls --from=$kind a.tar.zst
    done
    run_ok sb ls --from=zip b.tar
    run_ok sb ls b.tar
    run_fail 2 sb ls --from=tar b.tar
    run_fail 2 sb ls --from=ar a.tar
    stderr_has "'ar' is not archive, tar, cpio, zip, bag, bagz, syrah or cache"
    run_fail 2 sb ls --from=archive a.tar
    stderr_has 'not a Barecat archive'
}

@test "shards and offsets are places in the container's file, or not known" {
    make_containers
    offset=$(sb find --json a.tar numbers | sed 's/.*"offset":\([0-9]*\).*/\1/')
    cmp -n 100 -i "$offset:0" a.tar tree/numbers
    run_ok sb ls --at="0:$((offset + 5))" a.tar
    output_is numbers
    (cd tree && zip -qr0 ../stored.zip numbers)
    offset=$(sb find --json stored.zip | sed 's/.*"offset":\([0-9]*\).*/\1/')
    cmp -n 100 -i "$offset:0" stored.zip tree/numbers
    run_ok sb find --json a.tar.zst numbers
    output_has '"shard":null,"offset":null'
    run_fail 2 sb ls --shards a.tar
    stderr_is 'shardbox ls: a.tar: is no archive, and has no shards'
    run_fail 2 sb du --gaps a.zip
}

@test "what other programs read is named, with what makes a tar of it" {
    while IFS='|' read -r bytes what command; do
        printf '%b' "$bytes" >odd
        run_fail 2 sb ls odd
        stderr_is "shardbox ls: odd: is $what, which shardbox does not read; make a tar of it: ${command}odd"
    done <<'END'
7z\xbc\xaf\x27\x1c|a 7z archive|bsdtar -cf - @
Rar!\x1a\x07\x01|a RAR archive|bsdtar -cf - @
hsqs1234|a SquashFS image|sqfs2tar 
\x89LZO\x00|compressed by lzop|lzop -dc 
END
    printf '!<arch>\n' >odd
    run_fail 2 sb unpack - <odd
    stderr_is "shardbox unpack: standard input: is an ar archive, which shardbox does not read; make a tar of it: bsdtar -cf - @-"
}

@test "cat --decompress takes the compression off files, of any container" {
    mkdir tree
    seq 1000 >tree/plain
    gzip -c tree/plain >tree/a.gz
    zstd -qc tree/a.gz >tree/b.gz.zst
    head -c 900 tree/a.gz >tree/cut.gz
    sb pack -q a.barecat -C tree .
    tar cf a.tar -C tree .
    gzip -k a.tar
    (cd tree && zip -qr0 ../a.zip .)
    for container in a.barecat a.tar a.zip a.tar.gz; do
        for name in plain a.gz b.gz.zst; do
            sb cat --decompress-all "$container" "$name" | cmp - tree/plain
        done
        sb cat --decompress "$container" a.gz | cmp - tree/plain
        sb cat --decompress "$container" b.gz.zst | cmp - tree/a.gz
        sb cat "$container" a.gz | cmp - tree/a.gz
        run_fail 1 sb cat --decompress "$container" cut.gz plain
        stderr_has 'cut.gz: '
        [[ $output == *"$(cat tree/plain)" ]] || fail 'the rest was not done'
    done
    run_fail 2 sb cat --decompress --batch a.barecat a.gz
}

@test "a tar, cpio or zip is not changed, and that is said" {
    make_containers
    for command in 'upgrade a.tar' 'pack --append a.tar -C tree .' 'pack --force a.tar -C tree .' \
        'pack a.tar -C tree .'; do
        # shellcheck disable=SC2086 # the words of a command
        run_fail 2 sb $command
        stderr_has "a.tar: is a tar, and only archives can be changed; 'shardbox convert'"
    done
    run_fail 2 sb upgrade a.zip
    stderr_has 'a.zip: is a zip'
}

@test "a directory is refused, with what does read it" {
    mkdir dir
    for command in 'ls dir' 'find dir' 'du dir' 'cat dir x' 'verify dir'; do
        # shellcheck disable=SC2086 # the words of a command
        run_fail 2 sb $command
        stderr_has 'is a directory, not a container'
    done
}

@test "a name that stands twice: the last one counts, and a compressed tar gives both" {
    echo first >f
    tar cf a.tar f
    echo second >f
    tar rf a.tar f
    gzip -k a.tar
    run_ok sb ls a.tar
    output_is f
    run_ok sb du -a a.tar
    output_is $'7\tf\n7\t.'
    run_ok sb cat a.tar f
    output_is second
    run_ok sb cat a.tar.gz f
    output_is $'first\nsecond'
    run_ok sb verify a.tar
}

@test "a hard link behind another directory than that of its file has its bytes" {
    mkdir -p t/d t/e
    echo short >t/short
    echo other >t/d/other
    ln t/short t/twin
    ln t/short t/e/third
    tar --no-recursion -cf a.tar -C t short d/other twin e/third
    for name in short twin e/third; do
        run_ok sb cat a.tar "$name"
        output_is short
    done
    run_ok sb convert a.tar a.barecat
    run_ok sb verify --strict a.barecat
    run_ok sb unpack -C out a.barecat
    run_ok diff -r t out
    tar --no-recursion -cf b.tar -C t d/other e/third short twin --transform='s,^,b/,'
    run_ok sb convert --append b.tar a.barecat
    run_ok sb cat a.barecat b/e/third b/twin d/other e/third
    output_is $'short\nshort\nother\nshort'
}

@test "a hard link has the bytes of what it links to; one to nothing is named" {
    mkdir t
    echo bytes >t/a
    ln t/a t/b
    ln t/b t/c
    tar cf a.tar -C t a b c
    run_ok sb cat a.tar c b
    output_is $'bytes\nbytes'
    run_ok sb du -a a.tar
    output_is $'6\ta\n6\tb\n6\tc\n18\t.'
    run_ok sb verify a.tar b 'c*'
    run_fail 1 bash -c 'cat a.tar | "$SHARDBOX" cat - a b'
    output_is bytes
    stderr_has "b: is a hard link to 'a', whose bytes have passed by"
    tar --delete -f a.tar a
    run_fail 1 sb ls a.tar
    output_is ''
    stderr_has "b: left out: a hard link to 'a', which does not come before it"
    run_fail 1 sb verify a.tar
    output_is 'link: b: is a hard link to a name that does not come before it'
}

@test "what no archive can hold is named and left out; a name that cannot be stored is a problem" {
    mkdir t
    mkfifo t/pipe
    echo x >t/file
    tar cf a.tar -C t .
    run_ok sb ls a.tar
    output_is file
    stderr_is 'shardbox ls: pipe: left out: a FIFO'
    echo y >t/other
    tar -Pcf b.tar --transform 's,^t/other,../file,' t/other "$PWD/t/file"
    run_fail 1 sb find b.tar
    stderr_has '../file: left out: the name has a .. component'
    stderr_has "the leading '/' is taken off"
    run_fail 1 sb verify b.tar
    output_is 'name: ../file: left out: the name has a .. component'
    run_ok sb cat b.tar "$PWD/t/file"
    output_is x
}

@test "a file whose name is a directory's too is left out and named" {
    mkdir -p t/a
    echo inner >t/a/b
    echo outer >t/x
    tar cf a.tar --transform 's,^x$,a,' -C t x a/b
    run_fail 1 sb du -a a.tar
    output_is $'6\ta/b\n6\ta\n6\t.'
    stderr_has "a: left out: a file whose name is a directory's too"
}

@test "a sparse member has its holes, and a size beyond 8 GiB is one" {
    truncate -s 3M sparse
    printf 'end' >>sparse
    for format in gnu posix; do
        tar -S --format=$format -cf a.tar sparse
        gzip -kf a.tar
        sb cat a.tar sparse | cmp - sparse
        sb cat a.tar.gz sparse | cmp - sparse
        run_ok sb diff -C . a.tar sparse
        output_is ''
    done
    truncate -s 9G large
    tar -S --format=posix -cf b.tar large
    run_ok sb du b.tar
    output_is $'9663676416\t.'
}

@test "a zip on a pipe keeps modes and links" {
    make_containers
    run_ok bash -c 'cat a.zip | "$SHARDBOX" find --printf "%p %M %l\n" - link sub/file one'
    output_is 'link lrwxrwxrwx a.txt
one -rw------- 
sub/file -rwxr-xr-x '
}

@test "a tar cut at any of its bytes is never sound" {
    release_build # a run for each cut; sanitizers see cuts by the fuzzers
    mkdir t
    printf 'first' >t/a
    ln -s a t/b
    printf '%600d' 3 >t/c
    tar -b1 -cf a.tar -C t a b c
    size=$(stat -c %s a.tar)
    ends=' 0 1024 1536 3072 '
    ((size == 4096)) || fail "the tar is not as it was meant: $size"
    for cut in 511 513 1023 1025 1535 1537 3071 3073 4095 $(seq 1 127 "$size"); do
        head -c "$cut" a.tar >cut.tar
        # within the mark at its end nothing else is missing
        run_fail $((cut < 3072 ? 2 : 1)) sb ls cut.tar
        run_fail $((cut < 3072 ? 2 : 1)) bash -c 'cat cut.tar | "$SHARDBOX" find -'
        if ((cut >= 512)); then
            run_fail 1 sb verify cut.tar
        fi
    done
    for cut in $ends; do
        head -c "$cut" a.tar >cut.tar
        run sb ls cut.tar
        ((status == (cut == 0 ? 2 : 1))) || fail "cut at $cut"
        run sb verify cut.tar
        ((status == (cut == 0 ? 2 : 1))) || fail "verify, cut at $cut"
    done
    run_ok sb ls a.tar
}

@test "promises of a zstd frame take no memory, and are not believed" {
    # RFC 8878: magic, descriptor, then a content size of 2^60 bytes or a window of 2^31, a raw block
    { printf '\x28\xb5\x2f\xfd\xe0\0\0\0\0\0\0\0\x10\1\x10\0' && head -c 512 /dev/zero; } >size.tar.zst
    { printf '\x28\xb5\x2f\xfd\0\xa8\1\x10\0' && head -c 512 /dev/zero; } >window.tar.zst
    for container in size window; do
        run_fail 2 sb ls $container.tar.zst
        run_fail 2 sb convert $container.tar.zst a.barecat
        stderr_has 'its zstd data needs more than 128 MiB of memory to be decompressed; allow more with --memlimit'
    done
    [[ $(echo a.*) == 'a.*' ]]
}

@test "bombs take no memory" {
    release_build
    head -c 300M /dev/zero >zeros
    tar cf - zeros | zstd -q >bomb.tar.zst
    zip -q bomb.zip zeros
    rm zeros
    for container in bomb.tar.zst bomb.zip; do
        run_ok bash -c 'ulimit -v 300000; "$SHARDBOX" cat "$0" zeros | wc -c' "$container"
        output_is 314572800
        run_ok bash -c 'ulimit -v 300000; "$SHARDBOX" verify "$0"' "$container"
        run_ok bash -c 'ulimit -v 300000; "$SHARDBOX" ls "$0"' "$container"
        output_is zeros
    done
}

# opened COUNT FILE COMMAND...: how often the command opens the pipe that FILE is written to.
opened() {
    local writer count
    rm -f pipe
    mkfifo pipe
    cat "$2" >pipe 2>/dev/null 3>&- &
    writer=$!
    # Leaks cannot be looked for under strace.
    ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 run --separate-stderr within 20 \
        strace -f -o trace -e trace=openat,open "$SHARDBOX" "${@:3}"
    refuse_crash "${@:3}"
    kill "$writer" 2>/dev/null || true
    wait "$writer" 2>/dev/null || true
    count=$(grep -cE '[/"]pipe", .* = [0-9]+$' trace || true)
    ((count == $1)) || fail "opened $count times, not $1: ${*:3}"
}

# By then its writer has been taken for one that nobody reads, or what it wrote is gone.
@test "a pipe that is a container is opened once" {
    local kind command from
    need_strace
    make_archive
    tar cf t.tar tree
    gzip -k t.tar
    sb convert -q tree t.zip
    sb convert -q t.tar t.bag
    for kind in tar tar.gz zip bag; do
        from=()
        [[ $kind != bag ]] || from=(--from=bag)
        for command in ls 'ls -l' find du verify 'diff -C tree' 'unpack -n'; do
            # shellcheck disable=SC2086 # words
            opened 1 "t.$kind" $command "${from[@]}" pipe
        done
        opened 1 "t.$kind" cat "${from[@]}" pipe 0
        opened 1 "t.$kind" convert -q -n "${from[@]}" pipe out.barecat
    done
    opened 1 t.tar merge -n -o out.barecat a.barecat pipe
    opened 1 t.tar diff -C pipe a.barecat
    opened 1 t.tar split --parts=2 -o 'out-{}.tar' pipe
}

@test "a pipe is not read by commands that only change archives" {
    local command
    need_strace
    mkdir tree
    tar cf t.tar tree
    for command in 'rm pipe x' 'mv pipe x y' 'defrag pipe' \
        'upgrade pipe' 'pack --append pipe tree' 'pack --force pipe tree'; do
        # shellcheck disable=SC2086 # words
        opened 0 t.tar $command
        ((status == 2))
    done
}

@test "--iconv says what names and targets in a tar or cpio are, but for those of pax headers" {
    mkdir -p tree/$'d\x84'
    echo 1 >tree/$'d\x84/f\x81'
    ln -s $'f\x81' tree/$'d\x84/l'
    ln tree/$'d\x84/f\x81' tree/hard
    for format in ustar gnu; do
        tar -C tree --sort=name --format=$format -cf $format.tar $'d\x84' hard
        run_ok sb find --iconv=CP437 $format.tar
        output_is $'dä\ndä/fü\ndä/l\nhard'
        run_ok sb cat --iconv=CP437 $format.tar dä/fü hard
        output_is $'1\n1'
        run_ok sb unpack --iconv=CP437 -C $format $format.tar
        [[ $(readlink $format/dä/l) == fü && $(cat $format/dä/l) == 1 ]]
        run_fail 2 sb convert --wrap --iconv=CP437 $format.tar $format.barecat
        stderr_has "dä/l: is stored"
        run_ok sb convert --wrap --exclude=l --iconv=CP437 $format.tar $format.barecat
        run_ok sb cat $format.barecat dä/fü
        output_is 1
    done
    (cd tree && printf '%s\n' $'d\x84' $'d\x84/f\x81' | cpio --quiet -o -H newc) >a.cpio
    run_ok sb find --iconv=CP437 a.cpio
    output_is $'dä\ndä/fü'

    mkdir utf8
    echo 2 >"utf8/$(printf 'ü%.0s' {1..60})"
    tar -C utf8 --format=pax -cf pax.tar .
    run_ok sb find --type=f --iconv=CP437 pax.tar
    output_is "$(printf 'ü%.0s' {1..60})"
}

@test "a component longer than a file system takes goes everywhere but to a directory" {
    dir=$(printf 'd%.0s' {1..300}) file=$(printf 'f%.0s' {1..1000})
    python3 - "$dir" "$file" <<'END'
import io, sys, tarfile

dir, file = sys.argv[1:]
with tarfile.open("a.tar", "w") as tar:
    for name, data in (dir + "/in", b"one"), (dir + "/" + file, b"two"), ("short", b"three"):
        info = tarfile.TarInfo(name)
        info.size, info.mtime = len(data), 10**9
        tar.addfile(info, io.BytesIO(data))
END
    run_ok sb convert a.tar a.barecat
    run_ok sb verify a.barecat
    for kind in tar tar.gz zip; do
        run_ok sb convert -q a.barecat "b.$kind"
        run_ok sb convert "b.$kind" "$kind.barecat"
        run_ok sb find "$kind.barecat"
        output_is "$dir"$'\n'"$dir/$file"$'\n'"$dir/in"$'\nshort'
    done
    for from in a.tar a.barecat b.zip; do
        run_ok sb ls "$from" "$dir"
        output_is "$file"$'\nin'
        run_ok sb cat "$from" "$dir/$file"
        output_is two
        rm -rf out
        run_fail 1 sb unpack -C out "$from"
        stderr_has "$dir/in: cannot make a directory above it: File name too long"
        stderr_has "$dir/$file: cannot make a directory above it: File name too long"
        stderr_has "shardbox unpack: $from: unpacked in part"
        [[ $(ls out) == short && $(<out/short) == three ]]
    done
    run_ok sb mv a.barecat "$dir/$file" "$file"
    run_fail 1 sb convert --to=dir a.barecat dir
    stderr_has "$file: cannot be created: File name too long"
}

@test "a zip holds names of 64 KiB less a byte, a tar of 64 KiB" {
    python3 - <<'END'
import tarfile

with tarfile.open("a.tar", "w") as tar:
    tar.addfile(tarfile.TarInfo("x" * 65535))
    tar.addfile(tarfile.TarInfo("y" * 65536))
    tar.addfile(tarfile.TarInfo("z" * 65537))
END
    run_fail 1 sb convert a.tar a.barecat
    stderr_has "left out: the name is longer than 64 KiB"
    run_ok sb convert a.barecat b.tar
    run_ok sb diff -C b.tar a.barecat
    run_fail 1 sb convert -q a.barecat a.zip
    stderr_has "yyy: has a name longer than a zip can hold; left out"
    [[ $(sb find a.zip | wc -c) == 65536 ]]
}

@test "a tar that lzip compressed is read" {
    command -v bsdtar || skip "no bsdtar here"
    make_tree tree
    bsdtar --lzip -C tree -cf a.tar.lz .
    run_ok sb unpack -C out a.tar.lz
    diff -r --no-dereference tree out
    run_fail 2 sb convert a.tar.lz b.tar.lz
    [[ ! -e b.tar.lz ]]
}
