"""Framed records by the published rules of their formats, as peers.

frames.py write FRAMING DIR FILE    a record of each file of DIR, in the order of their names
frames.py check FRAMING FILE DIR    the records of FILE are the files of DIR, in that order

FRAMING is tfrecord (TensorFlow, lib/io/record_writer.h and lib/hash/crc32c.h), varint (Protocol
Buffers, delimited messages), u32, u64, or jsonl.
"""

import base64
import json
import os
import struct
import sys


def require(condition, what):
    if not condition:
        sys.exit(f"frames.py: {what}")


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def crc_table():
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        yield byte


CRC_TABLE = list(crc_table())


def masked(data):
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def varint(number):
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def frame(framing, index, name, record):
    if framing == "tfrecord":
        length = struct.pack("<Q", len(record))
        return length + masked(length) + record + masked(record)
    if framing == "varint":
        return varint(len(record)) + record
    if framing in LENGTHS:
        return struct.pack(LENGTHS[framing], len(record)) + record
    # The keys in another order than ours, and something that nobody knows.
    return json.dumps({"more": {"data": [1, None]}, "data": base64.b64encode(record).decode(),
                       "index": index, "key": name}).encode() + b"\n"


LENGTHS = {"u32": "<I", "u64": "<Q"}


def take(file, size):
    data = file.read(size)
    require(len(data) == size, "cut short")
    return data


def read_varint(file, first):
    number, shift = first & 0x7F, 7
    while first >= 0x80:
        first = take(file, 1)[0]
        number |= (first & 0x7F) << shift
        shift += 7
    return number


def read_tfrecord(file, first):
    length = first + take(file, 7)
    require(take(file, 4) == masked(length), "the length's checksum")
    record = take(file, struct.unpack("<Q", length)[0])
    require(take(file, 4) == masked(record), "the record's checksum")
    return record


def records(framing, file):
    """(name, record) of each; the name is None where there is none."""
    while first := file.read(1):
        if framing == "tfrecord":
            yield None, read_tfrecord(file, first)
        elif framing == "varint":
            yield None, take(file, read_varint(file, first[0]))
        elif framing == "jsonl":
            line = json.loads(first + file.readline())
            yield line["key"], base64.b64decode(line["data"], validate=True)
        else:
            size = struct.calcsize(LENGTHS[framing])
            yield None, take(file, struct.unpack(LENGTHS[framing], first + take(file, size - 1))[0])


def files(directory):
    for name in sorted(os.listdir(directory)):
        with open(os.path.join(directory, name), "rb") as file:
            yield name, file.read()


def main(command, framing, source, target):
    if command == "write":
        with open(target, "wb") as out:
            for index, (name, record) in enumerate(files(source)):
                out.write(frame(framing, index, name, record))
        return
    with open(source, "rb") as file:
        found = list(records(framing, file))
    wanted = list(files(target))
    require([record for _, record in found] == [record for _, record in wanted], "other records")
    if framing == "jsonl":
        require([name for name, _ in found] == [name for name, _ in wanted], "other names")


main(*sys.argv[1:])
