#!/usr/bin/env bats
# Syrah files that are damaged or made with intent: each is read or refused, in little memory, and
# never taken for sound where it is not.

load helper
load syrah

two="{'x': ('float32', [1, 2], [3]), 'name': ('str', 'abc', 'd')}"

# little COMMAND...: with so little memory that none can be taken on a file's word.
little() {
    if [[ $SANITIZED ]]; then
        "$@"
    else
        # An arena for each thread is address space, of which little is used.
        (ulimit -v 100000 && MALLOC_ARENA_MAX=1 "$@")
    fi
}

setup_file() {
    export SANITIZED=
    ! grep -qE '__(asan|tsan)_init' "$SHARDBOX" || SANITIZED=yes
}

# ends COMMAND...: it must do so by itself, with 0, 1 or 2.
ends() {
    run --separate-stderr little within 20 "$SHARDBOX" "$@"
    refuse_crash "$@" || return
    ((status <= 2)) || fail "status of $1: $status"
}

# refused FILE TEXT: 2 by what reads it; verify names a defect of what begins as a Syrah file.
refused() {
    ends convert "$1" r.tar
    ((status == 2)) || fail 'convert takes it'
    stderr_has "$2"
    ends verify "$1"
    ((status == 1 || status == 2)) || fail 'verify takes it for sound'
}

# left_out FILE TEXT: one array of it is named, and the others are there.
left_out() {
    ends convert --force "$1" r.tar
    ((status == 1)) || fail 'convert takes it'
    stderr_has "$2"
    (($(tar tf r.tar | wc -l) == 3))
    ends cat --frame=u32 "$1"
    ((status == 1)) || fail 'cat takes it'
    ends verify "$1"
    ((status == 1)) || fail 'verify takes it for sound'
}

@test "headers that point outside of the file" {
    make_syrah a.syr "$two" "header['offset'] = 99999"
    refused a.syr 'a.syr: the metadata lie outside the file (offset 99999, '
    make_syrah b.syr "$two" "header['offset'] = -1"
    refused b.syr 'lie outside the file (offset -1, '
    make_syrah c.syr "$two" "header['size'] = -1"
    refused c.syr 'lie outside the file (offset 38, -1 bytes)'
    make_syrah d.syr "$two" "header.update(offset=2**63 - 1, size=2**63 - 1)"
    refused d.syr 'lie outside the file'
    make_syrah e.syr "$two" "header['offset'] = 3"
    refused e.syr 'lie outside the file (offset 3, '
}

@test "metadata that are no BSON, end early, or are none of arrays" {
    make_syrah a.syr "$two" "metadata = b''"
    refused a.syr 'a.syr: the metadata are not a BSON document, or damaged'
    make_syrah b.syr "$two" "metadata = document()[:-1]"
    refused b.syr 'not a BSON document'
    make_syrah c.syr "$two" "metadata = struct.pack('<i', 2**31 - 1) + document()[4:]"
    refused c.syr 'not a BSON document'
    make_syrah d.syr "$two" "metadata = bson(array('x'), text('y', 'z'))"
    refused d.syr "array 'y': it is not described as an array is"
    make_syrah e.syr "$two" "metadata = bson(array('x'), element(3, 'y', bson(text('offset', 'z'))))"
    refused e.syr "array 'y': its offsets or sizes are no binaries"
    make_syrah f.syr "$two" "metadata = bson(element(3, 'x', struct.pack('<i', 10**9) + b'\\0'))"
    refused f.syr ''
    make_syrah g.syr "$two" "metadata = bson(element(3, 'x', bson(element(5, 'offset', struct.pack('<ib', 2**31 - 1, 0)))))"
    refused g.syr ''
    make_syrah h.syr "$two" "metadata = bson(element(99, 'x', b'junk'))"
    refused h.syr 'not a BSON document'
}

@test "arrays that are not told in full, or not alike" {
    make_syrah a.syr "$two" "metadata = bson(array('name'), element(3, 'x', bson(binary('size', int64s([8, 4])), text('dtype', 'float32'))))"
    refused a.syr "a.syr: array 'x': it has no offsets"
    make_syrah b.syr "$two" "metadata = bson(array('x'), element(3, 'y', bson(binary('offset', b'1234567'), binary('size', b'1234567'), text('dtype', 'int8'))))"
    refused b.syr "array 'y': its offsets or sizes are not of 8 bytes each"
    make_syrah c.syr "$two" "offsets['x'].pop()"
    refused c.syr "array 'x': it has 1 offsets and 2 sizes"
    make_syrah d.syr "$two" "offsets['x'].pop(); sizes['x'].pop()"
    refused d.syr "d.syr: array 'name' has 2 items, and array 'x' has 1"
    make_syrah e.syr "$two" "dtypes['x'] = 'object'"
    refused e.syr "array 'x': its dtype 'object' is not known"
    make_syrah f.syr "$two" "metadata = bson(array('x'), array('name'), array('x'))"
    refused f.syr "array 'x': its name occurs twice"
}

@test "one array of one item is bad: the others are read" {
    make_syrah a.syr "$two" "offsets['x'][1] = 2**62"
    left_out a.syr "item 1, array 'x': lies outside the data section (offset 4611686018427387904, 4 bytes)"
    make_syrah b.syr "$two" "sizes['x'][1] = 2**63 - 1"
    left_out b.syr "item 1, array 'x': lies outside the data section"
    make_syrah c.syr "$two" "sizes['x'][0] = -8"
    left_out c.syr "item 0, array 'x': lies outside the data section (offset 22, -8 bytes)"
    make_syrah d.syr "$two" "offsets['name'][0] = 0"
    left_out d.syr "item 0, array 'name': lies outside the data section (offset 0, 3 bytes)"
    make_syrah e.syr "$two" "sizes['x'][0] = 6"
    left_out e.syr "item 0, array 'x': has 6 bytes, no multiple of 4"
    make_syrah f.syr "$two" "offsets['x'][1] = len(data)"
    left_out f.syr "item 1, array 'x': lies outside the data section (offset 38, 4 bytes)"
}

@test "100,000 items on the same bytes take no more memory or disk than they have" {
    make_syrah a.syr "{'x': ('int8', [1] * 100)}" "offsets['x'] = [22] * 100000; sizes['x'] = [100] * 100000"
    run --separate-stderr little within 20 "$SHARDBOX" verify -q --report=r a.syr
    ((status == 1))
    stderr_is "shardbox verify: a.syr: 99999 defects, named in r; take it from another copy, or keep what is sound with 'shardbox unpack'"
    run_ok little sb ls --records=99999 a.syr
}

@test "10,000 arrays, and names that are not of this world" {
    make_syrah a.syr "{('n%d' % i): ('int8', [1]) for i in range(10000)}"
    ends cat --frame=u32 a.syr
    ((status == 0))
    run_ok little sb verify a.syr
    make_syrah b.syr "{'\\x1b[2J': ('int8', [1]), 'x' * 5000: ('int8', [2]), '/etc/passwd': ('int8', [3]), '../../up': ('int8', [4])}"
    ends ls b.syr
    mkdir out
    run --separate-stderr sb convert b.syr out/inner/
    ((status == 1))
    stderr_lacks $'\x1b'
    [[ ! -e out/up.npy && ! -e up.npy ]]
    [[ -e out/inner/00000000/etc/passwd.npy ]]
}

@test "files that end too early or late, or are never closed" {
    make_syrah a.syr "$two"
    cat a.syr <(echo junk) >b.syr
    run_ok sb verify b.syr
    : >c.syr
    refused c.syr 'c.syr: is a Syrah file that was never closed: it has no header and no metadata'
    head -c 21 a.syr >d.syr
    refused d.syr 'd.syr: is no Syrah file: its header is not one'
    head -c 5000 /dev/zero >e.syr
    refused e.syr 'never closed'
}

@test "a document at the limit of 2 GB is refused by its length alone" {
    make_syrah a.syr "$two" "header['size'] = 2**31"
    truncate -s 3G a.syr
    run_fail 2 sb ls a.syr
    stderr_has 'a.syr: has 2147483648 bytes of metadata, and a BSON document ends at 2^31-1'
}
