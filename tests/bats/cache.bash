# Caches for tests, made by our own writer. To be loaded after helper.
#
#   make_npy          .npy files, also without NumPy: of each line of standard input, FILE DTYPE SHAPE
#                     VALUE...; SHAPE is [3,4], [] of a single value
#   make_cache TREE DIR [OPTION...]
#                     of a tree with a directory for each key
#   make_dicts DIR    a cache of dicts with emb, mask and meta in two segments: k/2, k:0, k:1, and in
#                     the second one k:1 again; they are the files in dicts/ and again/
#   make_tensors DIR  of tensors alone: t:0 and t:1, the files in tensors/

make_npy() {
    python3 /dev/fd/3 3<<'END'
import os, struct, sys

kinds = {'bool': ('|b1', '?'), 'int8': ('|i1', 'b'), 'int16': ('<i2', 'h'), 'int32': ('<i4', 'i'),
         'int64': ('<i8', 'q'), 'uint8': ('|u1', 'B'), 'float16': ('<f2', 'e'),
         'float32': ('<f4', 'f'), 'float64': ('<f8', 'd')}
for line in sys.stdin:
    file, dtype, shape, *values = line.split()
    descr, code = kinds[dtype]
    text = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, tuple(eval(shape)))
    text += ' ' * (-(len(text) + 11) % 64) + '\n'
    number = float if dtype.startswith('float') else int
    os.makedirs(os.path.dirname(file) or '.', exist_ok=True)
    with open(file, 'wb') as out:
        out.write(b'\x93NUMPY\1\0' + struct.pack('<H', len(text)) + text.encode())
        out.write(struct.pack('<%d%s' % (len(values), code), *map(number, values)))
END
}

make_cache() {
    local tree=$1 dir=$2
    shift 2
    sb convert -q --to=cache "$@" "$tree" "$dir"
}

# once MAKER DIR: the cache DIR, and what MAKER leaves beside it, which runs only for the first test
# of a file that asks: the others get copies.
once() {
    local made=$BATS_FILE_TMPDIR/made-$1
    if [[ ! -d $made ]]; then
        mkdir -p "$made.new/beside"
        (cd "$made.new/beside" && "$1" ../cache) || return
        mv "$made.new" "$made"
    fi
    cp -r "$made/beside/." .
    cp -r "$made/cache" "$2"
}

make_dicts() {
    once write_dicts "$1"
}

write_dicts() {
    make_npy <<'END'
dicts/k:0/emb.npy float32 [2,2] 1 2 3 4
dicts/k:0/mask.npy bool [3] 1 0 1
dicts/k:1/emb.npy float32 [2,2] 5 6 7 8
dicts/k:1/mask.npy bool [2] 0 1
dicts/k/2/emb.npy float32 [0,3]
dicts/k/2/mask.npy bool [] 1
again/k:1/emb.npy float32 [1] 9
again/k:1/mask.npy bool [1,1] 1
END
    printf zero >dicts/k:0/meta.pkl
    printf one >dicts/k:1/meta.pkl
    : >dicts/k/2/meta.pkl
    printf 'one again' >again/k:1/meta.pkl
    make_cache dicts "$1" && make_cache again "$1" --append
}

make_tensors() {
    once write_tensors "$1"
}

write_tensors() {
    make_npy <<'END'
tensors/t:0.npy int64 [2] 1 2
tensors/t:1.npy int64 [1,3] 3 4 5
END
    make_cache tensors "$1"
}
