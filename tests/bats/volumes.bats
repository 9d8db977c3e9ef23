# --multi-volume: the volumes of a tar that GNU tar made with -M, read as one; and volumes read alone,
# or joined.

load helper

make_tree() {
    mkdir -p t/d
    seq 6000 >t/big
    echo small >t/small
    seq 9000 | tac >"t/d/$(printf 'n%.0s' {1..120})"
    truncate -s 100K t/holes
    seq 5000 | dd of=t/holes bs=4K seek=3 conv=notrunc status=none
}

# make_volumes FORMAT OPTION...: v1.tar, v2.tar, ... of the tree t.
make_volumes() {
    local i options=()
    for ((i = 1; i <= 99; i++)); do
        options+=(-f "v$i.tar")
    done
    [[ -d t ]] || make_tree
    rm -f v*.tar*
    tar --format="$1" --sort=name -M -L 20 "${options[@]}" "${@:2}" -c -C t . 2>tar.err
    volumes=$(printf '%s\n' v*.tar | sort -V | paste -sd,)
}

# Volumes end in members, between them, and in their headers.
@test "volumes are one tar, in each format, plain, compressed and from a pipe" {
    for format in gnu oldgnu 'posix' 'gnu -S' 'posix -S' 'posix -S --sparse-version=0.1' 'gnu -V label' 'posix -V label' \
        'gnu -b 1 -L 7' 'posix -b 1 -L 9'; do
        # shellcheck disable=SC2086 # the words of it are arguments
        make_volumes $format
        gzip -k v2.tar
        run_ok sb unpack --multi-volume -C out "$volumes"
        diff -r t out
        rm -r out
        run_ok bash -c 'cat v1.tar | "$SHARDBOX" unpack --multi-volume -C out "$0"' \
            "/dev/stdin,v2.tar.gz,${volumes#*,*,}"
        diff -r t out
        rm -r out
    done
}

@test "every command that reads tars knows --multi-volume" {
    make_volumes posix
    run_ok sb find --multi-volume "$volumes"
    output_has big
    output_lacks GNUFileParts
    run_ok sb cat --multi-volume "$volumes" big
    cmp t/big <(sb cat --multi-volume "$volumes" big)
    run_ok sb ls --multi-volume "$volumes" small
    run_ok sb du --multi-volume -s "$volumes"
    run_ok sb diff --multi-volume -C t "$volumes"
    run_ok sb verify -q --multi-volume "$volumes"
    run_ok sb convert --multi-volume "$volumes" a.barecat
    run_ok sb diff -C t a.barecat
    run_ok sb merge --multi-volume -o b.barecat "$volumes"
    run_ok sb sync --multi-volume "$volumes" c.barecat
    run_ok sb split --multi-volume --parts=2 -o 'part-{}.tar' "$volumes"
    run_fail 2 sb convert --multi-volume --wrap "$volumes" d.barecat
    stderr_has '--wrap is not for volumes'
}

@test "a volume that is missing, given twice or not in its place is named" {
    for format in gnu posix; do
        make_volumes $format
        run_fail 2 sb unpack --multi-volume -C out v1.tar,v3.tar
        stderr_has 'v3.tar: begins '
        stderr_has 'a volume is missing, or is not in its place'
        run_fail 2 sb find --multi-volume v2.tar,v3.tar
        stderr_has 'v2.tar: begins within ./big: give the volume before it first'
        run_fail 2 sb find --multi-volume "$volumes,v1.tar"
        stderr_is 'shardbox find: v1.tar: is given twice'
        cp v1.tar again.tar
        run_fail 2 sb find --multi-volume "$volumes,again.tar"
        stderr_has ', in which the tar ends'
        run_fail 2 sb find --multi-volume "v1.tar,none.tar"
        stderr_is 'shardbox find: none.tar: No such file or directory'
        head -c 20000 v1.tar >cut.tar
        run_fail 2 sb find --multi-volume "cut.tar,${volumes#*,}"
        stderr_is 'shardbox find: cut.tar: is cut short: it ends within a block'
        run_fail 1 sb unpack --multi-volume -C out v1.tar,v2.tar
        stderr_has 'goes on after the end of v1.tar,v2.tar; left out'
        stderr_has '--multi-volume reads both: v1.tar,v2.tar,NEXT'
        cmp t/big out/big
        [[ $(find out -name 'nnn*') == '' ]]
        rm -r out
        make_volumes $format -V label
        run_fail 2 sb find --multi-volume v1.tar,v3.tar
        stderr_has 'v3.tar: is volume 3 by its label, and v1.tar before it volume 1'
    done
}

@test "--max-size holds for volumes that are copied, and a file with a comma in its name is one" {
    make_volumes gnu
    gzip -k v1.tar
    run_fail 2 sb unpack --max-size=10K --multi-volume -C out "v1.tar.gz,${volumes#*,}"
    stderr_is 'shardbox unpack: v1.tar.gz: has more than the 10240 bytes that --max-size allows'
    tar -cf a,b.tar -C t small
    run_ok sb find --multi-volume a,b.tar
    output_is small
}

@test "volumes that cat joined are refused, whichever way they are read" {
    for format in gnu posix 'gnu -V label' 'posix -V label'; do
        # shellcheck disable=SC2086 # the words of it are arguments
        make_volumes $format
        cat v?.tar >joined.tar
        for command in find 'cat @ big' verify 'convert -f @ out.barecat' 'convert -f --wrap @ out.barecat'; do
            # shellcheck disable=SC2086
            set -- $command
            [[ $command == *@* ]] || set -- "$1" @
            run sb "${@/@/joined.tar}"
            ((status > 0))
            [[ $output$stderr == *'big goes on in another volume, whose header is among its bytes'* ]]
            [[ ! -e out.barecat ]]
        done
    done
}
