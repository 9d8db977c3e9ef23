# Syrah files for tests, made byte by byte. To be loaded after helper.
#
#   make_syrah FILE ARRAYS [CHANGE...]
#                     ARRAYS is a Python dict: name -> (dtype, values of item 0, of item 1, ...), of
#                     a str its text. Each CHANGE is a Python statement that is run before the
#                     metadata and the header are written: of offsets[NAME], sizes[NAME] (lists),
#                     dtypes[NAME], data (a bytearray: the file so far), document (a function
#                     that makes the BSON), metadata (set: instead of it), header (a dict: magic,
#                     offset, size).
#   put FILE OFFSET   writes standard input over what is there

make_syrah() {
    python3 - "$@" <<'END'
import struct, sys

codes = {'bool': '?', 'int8': 'b', 'int16': 'h', 'int32': 'i', 'int64': 'q', 'uint8': 'B',
         'uint16': 'H', 'uint32': 'I', 'uint64': 'Q', 'float16': 'e', 'float32': 'f',
         'float64': 'd'}

def stored(dtype, values):
    if dtype == 'str':
        return values.encode()
    return struct.pack('<%d%s' % (len(values), codes[dtype]), *values)

def element(kind, name, value):
    return bytes([kind]) + name.encode() + b'\0' + value

def bson(*elements):
    body = b''.join(elements)
    return struct.pack('<i', len(body) + 5) + body + b'\0'

def binary(name, value):
    return element(5, name, struct.pack('<ib', len(value), 0) + value)

def text(name, value):
    value = value.encode() + b'\0'
    return element(2, name, struct.pack('<i', len(value)) + value)

def int64s(values):
    return struct.pack('<%dq' % len(values), *values)

def array(name):
    return element(3, name, bson(binary('offset', int64s(offsets[name])),
                                 binary('size', int64s(sizes[name])), text('dtype', dtypes[name])))

def document():
    return bson(*[array(name) for name in offsets])

file, arrays, changes = sys.argv[1], eval(sys.argv[2]), sys.argv[3:]
data = bytearray(22)
offsets = {name: [] for name in arrays}
sizes = {name: [] for name in arrays}
dtypes = {name: arrays[name][0] for name in arrays}
for item in range(max([len(values) - 1 for values in arrays.values()], default=0)):
    for name, values in arrays.items():
        if item + 1 < len(values):
            value = stored(values[0], values[item + 1])
            offsets[name].append(len(data))
            sizes[name].append(len(value))
            data += value
header, metadata = {'magic': b'GS\0\0\2\0'}, None
for change in changes:
    exec(change)
metadata = document() if metadata is None else metadata
header = {'offset': len(data), 'size': len(metadata), **header}
data[:22] = header['magic'] + struct.pack('<qq', header['offset'], header['size'])
with open(file, 'wb') as out:
    out.write(data + metadata)
END
}

put() {
    dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
