"""Syrah files by NumPy and the bson of PyPI (0.5.10), by the rules of shardbox-syrah(7).

    write FILE      a file with an array of every type; its manifest to standard output
    read FILE       the manifest of a file
    npy FILE DIR    DIR/ITEM/NAME.npy and .txt are, byte for byte, what NumPy saves of the arrays
    save FILE DIR   makes DIR so

A line of a manifest is a JSON object: item, array, dtype, size, sha256 of the bytes.
"""
import hashlib, io, json, pathlib, struct, sys

import bson
import numpy as np

HEADER = struct.Struct("<2s4Bqq")
TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float16", "float32", "float64", "float128"]


def arrays_of(item):
    """All types, lengths that differ from item to item and are nothing in one of them."""
    random = np.random.RandomState(item)
    for number, dtype in enumerate(TYPES):
        values = random.randn((item * 7 + number * 3) % 11) * 40
        yield dtype + "s", dtype, (np.abs(values) if dtype[0] == "u" else values).astype(dtype).tobytes()
    yield "text", "str", ("", "wörd", "two\nlines", "\U0001f600" * 9)[item % 4].encode()
    yield "a name of its own", "uint8", bytes([item])


def write(path):
    data, arrays = bytearray(HEADER.size), {}
    for item in range(30):
        for name, dtype, stored in arrays_of(item):
            array = arrays.setdefault(name, {"offset": [], "size": [], "dtype": dtype})
            array["offset"].append(len(data))
            array["size"].append(len(stored))
            data += stored
    for array in arrays.values():
        for column in "offset", "size":
            array[column] = np.array(array[column], "<i8").tobytes()
    table = bson.dumps(arrays)
    data[: HEADER.size] = HEADER.pack(b"GS", 0, 0, 2, 0, len(data), len(table))
    pathlib.Path(path).write_bytes(data + table)


def items_of(path):
    """(item, name, dtype, bytes) of each array, item by item."""
    file = pathlib.Path(path).read_bytes()
    magic, zero, _, _, _, offset, size = HEADER.unpack_from(file)
    assert magic == b"GS" and zero == 0 and offset + size == len(file)
    table = bson.loads(file[offset : offset + size])
    columns = {name: [np.frombuffer(array[column], "<i8") for column in ("offset", "size")]
               for name, array in table.items()}
    counts = {len(column) for pair in columns.values() for column in pair}
    assert len(counts) == 1, counts
    for item in range(counts.pop()):
        for name, (offsets, sizes) in columns.items():
            at = int(offsets[item])
            yield item, name, table[name]["dtype"], file[at : at + int(sizes[item])]


def manifest(path):
    for item, name, dtype, stored in items_of(path):
        print(json.dumps({"item": item, "array": name, "dtype": dtype, "size": len(stored),
                          "sha256": hashlib.sha256(stored).hexdigest()}))


def files_of(path):
    """What each array is as a file: its name, and its bytes."""
    for item, name, dtype, stored in items_of(path):
        if dtype == "str":
            yield f"{item:08d}/{name}.txt", stored
        else:
            saved = io.BytesIO()
            np.save(saved, np.frombuffer(stored, dtype))
            yield f"{item:08d}/{name}.npy", saved.getvalue()


def check_files(path, directory):
    wanted = dict(files_of(path))
    found = {str(file.relative_to(directory)): file.read_bytes()
             for file in pathlib.Path(directory).rglob("*") if file.is_file()}
    differ = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    if differ or not wanted:
        sys.exit(f"{len(differ)} of {len(wanted)} files differ: {differ[:5]}")


def save_files(path, directory):
    for name, stored in files_of(path):
        file = pathlib.Path(directory, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(stored)


def main(what, path, *more):
    if what == "write":
        write(path)
    if what in ("write", "read"):
        manifest(path)
    elif what == "npy":
        check_files(path, *more)
    else:
        save_files(path, *more)


main(*sys.argv[1:])
