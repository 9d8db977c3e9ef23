"""Caches by the rules of torchcachex, with pyarrow: arrow.py COMMAND ...

  write DIR     caches in DIR, a name for each thing that pyarrow may do; beside each its keys
                (NAME.keys) and what they read as, framed by u32 (NAME.frames)
  odd DIR       caches of one segment that is not of the kind that the original writes
  tree DIR      the same items as .npy and .pkl files, a directory for each key
  check CACHE   a cache of these items that somebody else wrote: each segment is valid, and has them
"""

import glob
import io
import json
import os
import pickle
import struct
import sys

import numpy as np
import pyarrow as pa
import pyarrow.ipc

TYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
SHAPES = [(), (0,), (1,), (7,), (2, 3), (9, 1, 5), (3, 0, 2)]


def values(dtype, shape, seed):
    rng = np.random.default_rng(seed)
    raw = rng.integers(0, 256, int(np.prod(shape)) * np.dtype(dtype).itemsize, np.uint8)
    if dtype == "bool":
        raw &= 1
    return raw.tobytes(), shape


def items():
    """Key and fields of each: arrays of every type and shape, and a blob."""
    for number in range(40):
        item = {}
        for place, dtype in enumerate(TYPES):
            data, shape = values(dtype, SHAPES[(number + place) % len(SHAPES)], number * 100 + place)
            item[f"t_{dtype}"] = np.frombuffer(data, dtype).reshape(shape)
        item["extra"] = pickle.dumps({"number": number})
        yield f"set:{number}", item


def schema():
    fields = [("key", pa.string())]
    for dtype in TYPES:
        fields.append((f"t_{dtype}_data", pa.list_(pa.from_numpy_dtype(dtype))))
        fields.append((f"t_{dtype}_shape", pa.list_(pa.int64())))
    fields.append(("extra_blob", pa.binary()))
    names = json.dumps([f"t_{dtype}" for dtype in TYPES])
    return pa.schema(fields).with_metadata({"tensor_keys": names})


def batch(rows):
    """Lists from their buffers, so that every NaN keeps its bits."""
    columns = [pa.array([key for key, _ in rows], pa.string())]
    for dtype in TYPES:
        arrays = [item[f"t_{dtype}"] for _, item in rows]
        ends = np.cumsum([0] + [array.size for array in arrays]).astype(np.int32)
        flat = np.concatenate([array.reshape(-1) for array in arrays])
        columns.append(pa.ListArray.from_arrays(pa.array(ends), pa.array(flat)))
        columns.append(pa.array([list(array.shape) for array in arrays], pa.list_(pa.int64())))
    columns.append(pa.array([item["extra"] for _, item in rows], pa.binary()))
    return pa.RecordBatch.from_arrays(columns, schema=schema())


def write_segment(cache, number, table, **options):
    os.makedirs(f"{cache}/segments", exist_ok=True)
    with pa.OSFile(f"{cache}/segments/segment_{number:06d}.arrow", "wb") as file:
        options = pa.ipc.IpcWriteOptions(**options)
        with pa.ipc.new_file(file, table.schema, options=options) as writer:
            writer.write_batch(table)


def npy(value):
    if isinstance(value, bytes):
        return value
    file = io.BytesIO()
    np.save(file, value)
    return file.getvalue()


def expect(cache, rows):
    with open(f"{cache}.keys", "w") as keys, open(f"{cache}.frames", "wb") as frames:
        for key, item in rows:
            keys.write(key + "\n")
            for value in map(npy, item.values()):
                frames.write(struct.pack("<I", len(value)) + value)


def write(directory):
    rows = list(items())
    for number in range(4):
        write_segment(f"{directory}/plain", number, batch(rows[number * 10 : number * 10 + 10]))
    expect(f"{directory}/plain", rows)
    write_segment(f"{directory}/version4", 0, batch(rows), metadata_version=pa.ipc.MetadataVersion.V4)
    expect(f"{directory}/version4", rows)
    write_segment(f"{directory}/sliced", 0, batch(rows).slice(3, 20))
    expect(f"{directory}/sliced", rows[3:23])
    write_segment(f"{directory}/empty", 0, batch(rows[:1]).slice(0, 0))
    write_segment(f"{directory}/empty", 1, batch(rows[5:6]))
    expect(f"{directory}/empty", rows[5:6])


def odd(directory):
    rows = list(items())[:2]
    good = batch(rows)
    for codec in ("zstd", "lz4"):
        write_segment(f"{directory}/{codec}", 0, good, compression=codec)
    key = good.schema.get_field_index("key")
    for name, kind in (("large", pa.large_string()), ("dictionary", pa.dictionary(pa.int32(), pa.string()))):
        write_segment(f"{directory}/{name}", 0, pa.RecordBatch.from_arrays(
            [column.cast(kind) if i == key else column for i, column in enumerate(good.columns)],
            good.schema.set(key, pa.field("key", kind)).names))
    nulls = pa.array([[1.5, None], [2.5]], pa.list_(pa.float32()))
    write_segment(f"{directory}/nulls", 0, pa.RecordBatch.from_arrays(
        [good["key"], nulls, pa.array([[2], [1]], pa.list_(pa.int64()))], ["key", "data", "shape"]))
    os.makedirs(f"{directory}/stream/segments")
    with pa.OSFile(f"{directory}/stream/segments/segment_000000.arrow", "wb") as file:
        with pa.ipc.new_stream(file, good.schema) as writer:
            writer.write_batch(good)
    os.makedirs(f"{directory}/none/segments")
    with pa.OSFile(f"{directory}/none/segments/segment_000000.arrow", "wb") as file:
        pa.ipc.new_file(file, good.schema).close()
    os.makedirs(f"{directory}/several/segments")
    with pa.OSFile(f"{directory}/several/segments/segment_000000.arrow", "wb") as file:
        with pa.ipc.new_file(file, good.schema) as writer:
            writer.write_batch(good)
            writer.write_batch(good)


def tree(directory):
    for key, item in items():
        os.makedirs(f"{directory}/{key}")
        for name, value in item.items():
            suffix = "pkl" if isinstance(value, bytes) else "npy"
            with open(f"{directory}/{key}/{name}.{suffix}", "wb") as file:
                file.write(npy(value))


def field_of(table, row, name):
    if f"{name}_blob" in table.column_names:
        return table[f"{name}_blob"][row].as_py()
    data = table[f"{name}_data"].combine_chunks()[row].values.to_numpy(zero_copy_only=False)
    return data.reshape(tuple(table[f"{name}_shape"][row].as_py()))


def check(cache):
    wanted, seen = dict(items()), 0
    for segment in sorted(glob.glob(f"{cache}/segments/*")):
        reader = pa.ipc.open_file(pa.memory_map(segment))
        assert reader.num_record_batches == 1, segment
        table = reader.read_all()
        table.validate(full=True)
        same = {field.name: field for field in schema()}
        assert {field.name: field for field in table.schema} == same, table.schema
        names = json.loads(table.schema.metadata[b"tensor_keys"])
        assert sorted(names) == sorted(f"t_{dtype}" for dtype in TYPES), names
        for row, key in enumerate(table["key"].to_pylist()):
            for name, value in wanted[key].items():
                got = field_of(table, row, name)
                assert npy(got) == npy(value), (segment, key, name)
            seen += 1
    assert seen == len(wanted), (seen, len(wanted))


COMMANDS = {"write": write, "odd": odd, "tree": tree, "check": check}
COMMANDS[sys.argv[1]](*sys.argv[2:])
