"""What the peer tests ask of Bagz's own library.

A combination is a directory SUFFIX.PLACEMENT.COMPRESSION (bagz.tail.zstd) with the bag data.SUFFIX.
"Frames" are records with their lengths before them, as --frame=u32 has them.

bags.py combinations             their names
bags.py write DIR                DIR/COMBINATION, each of 20 records, and DIR/records, framed
bags.py check DIR                every combination in DIR reads back, in every way that Bagz has
bags.py slices BAG LIST          every slice of 20 records with steps 1 to 3 and -1 to -3: their texts
                                 into LIST; what Bagz makes of them, framed, to standard output
bags.py python-slices BAG LIST   the same of slices that Bagz has no tests for: bounds from -25 to 25
bags.py indices BAG LIST         repeated and shuffled record numbers
bags.py make SPEC < FRAMES       a set, or interleaved, written by Bagz
bags.py read SPEC [OPTION...]    all records, framed. Options: separate, interleaved, none, zstd,
                                 dictionary=FILE
bags.py find BAG                 for each record of the frames on standard input: its first number by
                                 Index, and all by MultiIndex; "-" where it is not there
bags.py write-one FILE [OPTION...] < FRAMES
"""

import os
import random
import re
import struct
import sys

import bagz

COUNT = 20
SUFFIXES = "bag", "bagz"
PLACEMENTS = {
    "default": {},
    "tail": {"limits_placement": bagz.LimitsPlacement.TAIL},
    "separate": {"limits_placement": bagz.LimitsPlacement.SEPARATE},
}
COMPRESSIONS = {
    "default": {},
    "auto": {"compression": bagz.CompressionAutoDetect()},
    "none": {"compression": bagz.CompressionNone()},
    "zstd": {"compression": bagz.CompressionZstd(level=3)},
}
STORAGES = {}, *({"limits_storage": bagz.LimitsStorage.__members__[name]}
                 for name in ("IN_MEMORY", "ON_DISK"))


def record(row):
    return b"" if (row + 2) % 4 == 0 else b"Record_%03d" % row


RECORDS = [record(row) for row in range(COUNT)]


def require(condition, what):
    if not condition:
        sys.exit(f"bags.py: {what}")


def raises(kind, text, function):
    try:
        function()
    except kind as error:
        return text in str(error)
    return False


def frame(records, file=sys.stdout.buffer):
    for data in records:
        file.write(struct.pack("<I", len(data)) + data)


def frames():
    data, at = sys.stdin.buffer.read(), 0
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        yield data[at + 4:at + 4 + size]
        at += 4 + size


def write_bag(path, records, options):
    with bagz.Writer(path, bagz.Writer.Options(**options)) as writer:
        for data in records:
            writer.write(data)


def combinations():
    return [f"{suffix}.{placement}.{compression}"
            for suffix in SUFFIXES for placement in PLACEMENTS for compression in COMPRESSIONS]


def place_of(directory, name):
    suffix, placement, compression = name.split(".")
    return (os.path.join(directory, name, f"data.{suffix}"),
            PLACEMENTS[placement] | COMPRESSIONS[compression])


def write(directory):
    for name in combinations():
        path, options = place_of(directory, name)
        os.makedirs(os.path.dirname(path))
        write_bag(path, RECORDS, options)
    with open(os.path.join(directory, "records"), "wb") as file:
        frame(RECORDS, file)


def check_reader(reader, what):
    require(len(reader) == COUNT, f"{what}: {len(reader)} records")
    for number, data in enumerate(RECORDS):
        require(reader[number] == data, f"{what}: record {number}")
    require(list(reader) == RECORDS, f"{what}: iterated")
    require(reader.read() == RECORDS, f"{what}: read")
    require(reader.read_indices([3, 3, 2, 19]) == [RECORDS[i] for i in (3, 3, 2, 19)],
            f"{what}: read_indices")
    require(reader.read_indices(slice(2, None, -1)) == RECORDS[2::-1], f"{what}: a slice")
    require(reader.read_range(5, 3) == RECORDS[5:8], f"{what}: read_range")
    require(list(reader.read_range_iter(5, 3)) == RECORDS[5:8], f"{what}: read_range_iter")
    require(raises(IndexError, "25", lambda: reader[25]), f"{what}: record 25")


def check_indexes(reader, what):
    first, every = bagz.Index(reader), bagz.MultiIndex(reader)
    for data in RECORDS:
        require(first[data] == RECORDS.index(data), f"{what}: Index of {data}")
        require(every[data] == [i for i, other in enumerate(RECORDS) if other == data],
                f"{what}: MultiIndex of {data}")
    require(first.get("25") is None and every.get("25") is None, f"{what}: a key that is not there")
    require(len(first) == len(every) == len(set(RECORDS)), f"{what}: size of the indexes")


def check(directory):
    for name in combinations():
        path, options = place_of(directory, name)
        for storage in STORAGES:
            reader = bagz.Reader(path, bagz.Reader.Options(**options, **storage))
            check_reader(reader, f"{path} {storage}")
            check_indexes(reader, f"{path} {storage}")


def text_of(chosen):
    parts = [chosen.start, chosen.stop, chosen.step]
    return ":".join("" if part is None else str(part) for part in parts)


def all_slices():
    for start in range(COUNT):
        for stop in range(start + 1, COUNT + 1):
            for step in range(1, 4):
                yield slice(start, stop, step)
                yield slice(stop - 1, start - 1 if start > 0 else None, -step)


def slices(bag, listed):
    reader = bagz.Reader(bag)
    with open(listed, "w") as file:
        for chosen in all_slices():
            print(text_of(chosen), file=file)
            frame(list(reader[chosen]))


def python_slices(bag, listed):
    records = bagz.Reader(bag).read()
    bounds = [None, *range(-25, 26)]
    with open(listed, "w") as file:
        for step in (None, -3, -2, -1, 1, 2, 3, 19, -30):
            for chosen in (slice(start, stop, step) for start in bounds for stop in bounds):
                print(text_of(chosen), file=file)
                frame(records[chosen])


def indices(bag, listed):
    reader = bagz.Reader(bag)
    rng = random.Random(42)
    numbers = [3] * 5 + rng.sample(range(len(reader)), len(reader)) + \
        rng.choices(range(len(reader)), k=1000)
    with open(listed, "w") as file:
        file.writelines(f"{number}\n" for number in numbers)
    frame(reader.read_indices(numbers))


def options_of(words, of_reader):
    options = {}
    for word in words:
        if word == "separate":
            options |= PLACEMENTS[word]
        elif word == "interleaved":
            if of_reader:
                options["sharding_layout"] = bagz.ShardingLayout.INTERLEAVED
        elif word.startswith("dictionary="):
            with open(word.partition("=")[2]) as file:
                options["compression"] = bagz.CompressionZstd(dictionary=file.read())
        else:
            options |= COMPRESSIONS[word]
    return options


def make(spec, *words):
    """PREFIX@N.SUFFIX; shares that differ by at most one, the larger ones first."""
    records = list(frames())
    prefix, shards, suffix = re.fullmatch(r"(.*)@(\d+)(\..*)", spec).groups()
    shards = int(shards)
    shares = [len(records) // shards + (i < len(records) % shards) for i in range(shards)]
    for shard in range(shards):
        begin = sum(shares[:shard])
        share = (records[shard::shards] if "interleaved" in words
                 else records[begin:begin + shares[shard]])
        write_bag(f"{prefix}-{shard:05d}-of-{shards:05d}{suffix}", share, options_of(words, False))


def read(spec, *words):
    frame(bagz.Reader(spec, bagz.Reader.Options(**options_of(words, True))))


def find(bag):
    reader = bagz.Reader(bag)
    first, every = bagz.Index(reader), bagz.MultiIndex(reader)
    for key in frames():
        print(first.get(key), *every.get(key, ["-"]))


def write_one(path, *words):
    write_bag(path, frames(), options_of(words, False))


def main():
    commands = {
        "combinations": lambda: print("\n".join(combinations())),
        "write": write, "check": check, "slices": slices, "python-slices": python_slices,
        "indices": indices, "make": make, "read": read, "find": find, "write-one": write_one,
    }
    commands[sys.argv[1]](*sys.argv[2:])


main()
