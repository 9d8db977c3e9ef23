"""Caches as torchcachex has them, with pyarrow, by its rules: torchcachex.py COMMAND ...

  write DIR       a cache in DIR for each structure and type, with schema.json and index.pkl, several
                  segments, and keys that are written again; and what all of them hold, a line of
                  JSON for each value that counts: cache, key, name, dtype, shape, sha256
  read CACHE...   the same of caches that somebody else wrote, found by index.pkl and taken apart by
                  schema.json; fails where the index does not say what the segments do
"""

import hashlib
import json
import os
import pickle
import sys

import numpy as np
import pyarrow as pa
import pyarrow.ipc

TYPES = "float32 float64 float16 int8 int16 int32 int64 uint8 bool".split()
WORDS = {"halffloat": "float16", "float": "float32", "double": "float64"}


def array(dtype, shape, seed):
    return np.asarray(np.random.default_rng(seed).standard_normal(shape) * 9).astype(dtype)


def caches():
    """Name, structure, keys with their values, and how many make a segment."""
    for dtype in TYPES:
        yield f"t_{dtype}", "tensor", [(i, array(dtype, (3, i), i)) for i in range(7)], 3
    yield "single", "tensor", [(i, array("float32", (), i)) for i in range(3)], 9
    yield "again", "tensor", [(i % 5, array("int32", (i,), i)) for i in range(23)], 4
    yield "dict", "dict", [(i, {"emb": array("float32", (2, 2), i), "a_data": array("bool", (i,), i),
                                "note": {"n": i}}) for i in range(9)], 4
    for structure, make in (("tuple", tuple), ("list", list)):
        yield structure, structure, [(i, make((array("int64", (i,), i), "text"))) for i in range(6)], 4
    yield "blob", "blob", [(i, f"text {i}") for i in range(5)], 2
    yield "names", "tensor", [(key, array("uint8", (2,), i)) for i, key in
                              enumerate(("a/b", "../x", "caf\u00e9", "", "new\nline", "x" * 300))], 3


def parts(structure, value):
    """Names, and an array or anything else for each."""
    if structure == "dict":
        return list(value.items())
    if structure in ("tuple", "list"):
        return [(f"item{i}", item) for i, item in enumerate(value)]
    return [("", value)]


def columns_of(structure, value):
    fields = [("key", pa.string())]
    for name, part in parts(structure, value):
        begin = name + "_" if name else ""
        if isinstance(part, np.ndarray):
            fields.append((begin + "data", pa.list_(pa.from_numpy_dtype(part.dtype))))
            fields.append((begin + "shape", pa.list_(pa.int64())))
        else:
            fields.append((begin + "blob", pa.binary()))
    metadata = {}
    if structure == "dict":
        metadata["tensor_keys"] = json.dumps([n for n, part in parts(structure, value)
                                              if isinstance(part, np.ndarray)])
    elif structure == "tensor":
        metadata["torch_dtype"] = f"torch.{value.dtype}"
    return pa.schema(fields, metadata=metadata)


def row_of(structure, key, value):
    row = {"key": key}
    for name, part in parts(structure, value):
        begin = name + "_" if name else ""
        if isinstance(part, np.ndarray):
            row[begin + "data"], row[begin + "shape"] = part.reshape(-1).tolist(), list(part.shape)
        else:
            row[begin + "blob"] = pickle.dumps(part)
    return row


def type_word(kind):
    return f"list<{kind.value_type}>" if pa.types.is_list(kind) else str(kind)


def write_schema(directory, schema, structure):
    with open(f"{directory}/schema.json", "w") as file:
        json.dump({"fields": [{"name": f.name, "type": type_word(f.type)} for f in schema],
                   "metadata": {k.decode(): v.decode() for k, v in (schema.metadata or {}).items()},
                   "output_structure": structure}, file, indent=2)


def tell(cache, key, name, part):
    row = {"cache": cache, "key": key, "name": name}
    if isinstance(part, np.ndarray):
        row |= {"dtype": str(part.dtype), "shape": list(part.shape)}
        part = part.tobytes()
    else:
        row |= {"dtype": "blob", "shape": None}
    print(json.dumps(row | {"sha256": hashlib.sha256(part).hexdigest()}, sort_keys=True))


def write_cache(root, name, structure, items, at_once):
    directory, index, held = f"{root}/{name}", {}, {}
    os.makedirs(f"{directory}/segments")
    items = [(f"{name}:{key}", value) for key, value in items]
    schema = columns_of(structure, items[0][1])
    write_schema(directory, schema, structure)
    for segment, at in enumerate(range(0, len(items), at_once)):
        rows = items[at : at + at_once]
        batch = pa.RecordBatch.from_pylist([row_of(structure, *row) for row in rows], schema=schema)
        with pa.OSFile(f"{directory}/segments/segment_{segment:06d}.arrow", "wb") as file:
            with pa.ipc.new_file(file, schema) as writer:
                writer.write_batch(batch)
        index |= {key: (segment, row) for row, (key, _) in enumerate(rows)}
    with open(f"{directory}/index.pkl", "wb") as file:
        pickle.dump(index, file, protocol=pickle.HIGHEST_PROTOCOL)
    held.update(items)
    for key, value in held.items():
        for part, data in parts(structure, value):
            tell(name, key, part, data if isinstance(data, np.ndarray) else pickle.dumps(data))


def write(root):
    for cache in caches():
        write_cache(root, *cache)


def segments_of(directory):
    """Number and table of each, which must be as schema.json says."""
    schema = json.load(open(f"{directory}/schema.json"))
    said = {f["name"]: f["type"] for f in schema["fields"]}
    tables = {}
    for name in sorted(os.listdir(f"{directory}/segments")):
        reader = pa.ipc.open_file(pa.memory_map(f"{directory}/segments/{name}"))
        assert reader.num_record_batches == 1, name
        tables[int(name.removesuffix(".arrow").split("_")[1])] = table = reader.read_all()
        table.validate(full=True)
        assert {f.name: type_word(f.type) for f in table.schema} == said, name
    return schema, tables


def part_of(table, row, begin):
    if begin + "blob" in table.column_names:
        return table[begin + "blob"][row].as_py()
    data = table[begin + "data"].combine_chunks()[row].values.to_numpy(zero_copy_only=False)
    return data.reshape(tuple(table[begin + "shape"][row].as_py()))


def names_of(schema):
    if schema["output_structure"] in ("tensor", "blob"):
        return [""]
    names = [f["name"].rsplit("_", 1) for f in schema["fields"] if f["name"] != "key"]
    return [name for name, kind in names if kind != "shape"]


def read(*directories):
    for directory in directories:
        schema, tables = segments_of(directory)
        index = pickle.load(open(f"{directory}/index.pkl", "rb"))
        where = {key: (number, row) for number, table in tables.items()
                 for row, key in enumerate(table["key"].to_pylist())}
        assert index == where, directory
        for key, (number, row) in index.items():
            for name in names_of(schema):
                part = part_of(tables[number], row, name + "_" if name else "")
                tell(os.path.basename(directory), key, name, part)


COMMANDS = {"write": write, "read": read}
COMMANDS[sys.argv[1]](*sys.argv[2:])
