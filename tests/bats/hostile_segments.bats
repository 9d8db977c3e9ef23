#!/usr/bin/env bats
# Segments of caches whose metadata or values lead out of them: they are named, and the others used.
# Each is made of a good one by the statement that is shown.

load helper
load cache

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    make_dicts good
}

# In Python: data is the segment; number(kind, at) and put(kind, at, value) are a number there, by
# struct's letter; follow(at) is where the offset there leads to, slot(table, n) where a table has
# its field.
spoil_prelude() {
    cat <<'END'
import struct, sys

def number(kind, at):
    return struct.unpack_from('<' + kind, data, at)[0]

def put(kind, at, value):
    struct.pack_into('<' + kind, data, at, value)

def follow(at):
    return at + number('I', at)

def slot(table, n):
    return table + number('H', table - number('i', table) + 4 + 2 * n)

data = bytearray(open(sys.argv[1], 'rb').read())
footer = len(data) - 10 - number('i', len(data) - 10)
root = follow(footer)
schema = follow(slot(root, 1))
fields = follow(slot(schema, 1))
key = follow(fields + 4)
block = follow(slot(root, 3)) + 4
message = follow(number('q', block) + 8)
batch = follow(slot(message, 2))
nodes, buffers = follow(slot(batch, 1)) + 4, follow(slot(batch, 2)) + 4
body = number('q', block) + number('i', block + 8)
END
}

# spoil STATEMENT...: the cache `bad`, with a segment for each statement, changed by it, and behind
# them a good one.
spoil() {
    rm -rf bad
    mkdir -p bad/segments
    python3 <(spoil_prelude && each_statement) good/segments/segment_000000.arrow "$@"
    cp good/segments/segment_000001.arrow bad/segments/segment_000999.arrow
}

each_statement() {
    cat <<'END'
good = bytes(data)
for i, statement in enumerate(sys.argv[2:]):
    data = bytearray(good)
    exec(statement)
    open('bad/segments/segment_%06d.arrow' % i, 'wb').write(data)
END
}

# All but the last are named, and why they are not used; that one is read.
are_left_out() {
    local i
    run_fail 1 sb ls bad
    [[ ${#lines[@]} == 1 && $output == *' k:1' ]]
    for ((i = 0; i < ${#stderr_lines[@]}; i++)); do
        [[ ${stderr_lines[i]} == "shardbox ls: bad/segments/segment_$(printf %06d "$i").arrow: $1; left out" ]]
    done
    ((i == $(find bad/segments -type f | wc -l) - 1))
    run_fail 1 sb cat --raw bad k:1/meta
    output_is 'one again'
}

@test "the footer" {
    spoil "put('i', len(data) - 10, -1)" "put('i', len(data) - 10, 0)" \
        "put('i', len(data) - 10, 0x7fffffff)" "put('i', len(data) - 10, -0x80000000)" \
        "put('i', len(data) - 10, len(data))" \
        "put('I', footer, 0)" "put('I', footer, 0x7fffffff)" "put('I', footer, 0xffffffff)"
    are_left_out 'its footer leads out of the file'
    spoil 'data = data[:-1]' 'data = data[:body]'
    are_left_out 'is an Arrow file without an end'
}

@test "a table whose fields lead elsewhere" {
    spoil "put('i', root, 0x7fffffff)" "put('i', root, -0x7fffffff)"
    are_left_out 'its footer leads out of the file'
    spoil "put('i', key, 0x7fffffff)" "put('i', key, -0x7fffffff)"
    are_left_out 'its schema leads out of the file'
    spoil "put('i', batch, 0x7fffffff)" "put('i', batch, -0x7fffffff)"
    are_left_out 'its batch leads out of the file'
}

@test "more columns, or a longer name, than there is room for" {
    spoil "put('I', fields, 0x7fffffff)" "put('I', fields, 0xffffffff)" \
        "put('I', follow(slot(key, 0)), 0x7fffffff)" "put('I', follow(slot(key, 0)), 0xffffffff)"
    are_left_out 'its schema leads out of the file'
}

@test "a batch that is not in the file" {
    spoil "put('q', block, -8)" "put('q', block, 0)" "put('q', block, len(data))" \
        "put('q', block, 2**62)" "put('q', block, -2**63)" "put('i', block + 8, -8)" \
        "put('q', block + 16, -1)" "put('q', block + 16, 2**63 - 1)" "put('q', block + 16, len(data))"
    are_left_out 'its batch leads out of the file'
}

@test "buffers that are not in the batch, and more rows or nulls than there are" {
    spoil "put('q', buffers + 16, -8)" "put('q', buffers + 16, 2**63 - 1)" \
        "put('q', buffers + 24, -8)" "put('q', buffers + 24, 2**40)" \
        "put('q', nodes, -8)" "put('q', nodes, 2**63 - 1)" "put('q', nodes + 8, -8)" \
        "put('q', nodes + 8, 2**40)" "put('I', buffers - 4, 5)" "put('I', nodes - 4, 1)"
    are_left_out 'its batch leads out of the file'
}

# The cache `many`: for each word of the metadata of a good segment two that have 0, -1,
# 2^31 - 1 or a number by chance in its place. (The unit test has all of them.)
all_words() {
    cat <<'END'
import random

chance = random.Random(28)
good, made = bytes(data), 0
for first, last in ((number('q', block), body), (footer, len(data) - 3)):
    for at in range(first, last, 4):
        for value in chance.sample((0xffffffff, 0x7fffffff, 0, chance.getrandbits(32)), 2):
            data[:] = good
            put('I', at, value)
            open('many/segments/segment_%06d.arrow' % made, 'wb').write(data)
            made += 1
END
}

spoil_words() {
    mkdir -p many/segments
    python3 <(spoil_prelude && all_words) good/segments/segment_000000.arrow
}

@test "any word of the metadata may be anything: nothing but damage comes of it" {
    spoil_words
    (($(find many/segments -type f | wc -l) > 700))
    run_fail 1 sb ls -v -l many
    output_has 'k:0'
    ((${#stderr_lines[@]} > 300))
    run_fail 1 sb du many
    run sb cat many k:0 k:1 k/2
    refuse_crash cat
    run_fail 1 sb verify many
    run_fail 1 sb convert -q many out.barecat
    run_ok sb verify out.barecat
}

@test "values that lead out of their column are damage of one key alone" {
    spoil "put('i', body + 4, 1000)"
    run_fail 1 sb ls bad
    run_fail 1 sb verify bad
    run_fail 1 sb cat --raw bad k:1/meta
    output_is 'one again'
}
