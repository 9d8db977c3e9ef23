"""Parity files, read and written by the words of shardbox-parity(5) alone.

parity.py decode PARITY FILE OUT     OUT becomes FILE as it was; FILE may be missing. Exit status 1,
                                     and the lost pieces a line each, if some cannot be made
parity.py lose PARITY FILE COUNT     spoils so many pieces, of data or of parity, in each word
parity.py blocks PARITY              spoils two superblocks, and one copy of each page
parity.py encode FILE PARITY PIECE K M W
"""

import functools
import os
import random
import struct
import sys

BLOCK = 4096
PAGE_SUMS = 1014


# CRC32C (RFC 3720), two bytes at a time

def crc_table():
    table = []
    for crc in range(256):
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return [table[table[i & 255] & 255 ^ i >> 8] ^ table[i & 255] >> 8 for i in range(65536)], table


PAIRS, SINGLES = crc_table()


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    for pair in struct.unpack(f"<{len(data) // 2}H", data[:len(data) // 2 * 2]):
        crc = PAIRS[crc & 65535 ^ pair] ^ crc >> 16
    if len(data) % 2:
        crc = SINGLES[crc & 255 ^ data[-1]] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


# The field

POWER = [1]
while len(POWER) < 255:
    POWER.append(POWER[-1] << 1 ^ (0x11D if POWER[-1] & 128 else 0))
LOG = {value: i for i, value in enumerate(POWER)}


def multiply(a, b):
    return POWER[(LOG[a] + LOG[b]) % 255] if a and b else 0


def divide(a, b):
    return POWER[(LOG[a] - LOG[b]) % 255] if a else 0


@functools.cache
def multiples(factor):
    return bytes(multiply(factor, i) for i in range(256))


def point(piece):
    return POWER[piece - 1] if piece else 0


def piece_from(known, wanted, size):
    """The piece of this number from k others, in a dict by number."""
    total = 0
    for i, data in known.items():
        factor = 1
        for j in known:
            if j != i:
                factor = multiply(factor, divide(point(wanted) ^ point(j), point(i) ^ point(j)))
        total ^= int.from_bytes(data.translate(multiples(factor)), "little")
    return total.to_bytes(size, "little")


assert [piece_from({0: b"\1\377", 1: b"\2\0", 2: b"\3\7"}, i, 2) for i in (3, 4)] == [b"\25\176", b"\151\115"]


# Layout

def up(a, b):
    return -(-a // b)


class Section:
    def __init__(self, parity, number, first, n):
        self.number, self.first, self.n = number, first, n
        self.w = up(n, parity.k)
        self.checks = self.w * parity.m
        self.pages = up(n + self.checks, PAGE_SUMS)
        self.pieces_at = self.pages * BLOCK
        self.second_at = self.pieces_at + up(self.checks * parity.piece, BLOCK) * BLOCK
        self.size = self.second_at + self.pages * BLOCK
        self.offset = None


class Parity:
    """What a superblock says, or is to say."""

    def __init__(self, size, piece, k, m, w):
        self.size, self.piece, self.k, self.m, self.w = size, piece, k, m, w
        self.count = up(size, piece)
        capacity = w * k
        sizes = [capacity] * (self.count // capacity)
        if self.count % capacity:
            sizes.append(self.count % capacity)
        if len(sizes) > 1 and sizes[-1] < up(capacity, 2):
            both = sizes[-2] + sizes[-1]
            sizes[-2:] = [up(both, 2), both // 2]
        self.sections = []
        for number, n in enumerate(sizes):
            self.sections.append(Section(self, number, sum(sizes[:number]), n))

    def place(self):
        at, half = BLOCK, up(len(self.sections), 2)
        self.supers = [0]
        for number, section in enumerate(self.sections):
            if number == half:
                self.supers.append(at)
                at += BLOCK
            section.offset = at
            at += section.size
        if half == len(self.sections):
            self.supers.append(at)
            at += BLOCK
        self.supers.append(at)

    def word(self, section, v):
        """Numbers in the table of the word's pieces; None: zeros."""
        rows = [v + row * section.w for row in range(self.k)]
        return ([i if i < section.n else None for i in rows] +
                [section.n + r * section.w + v for r in range(self.m)])


def read_super(data, offset):
    block = data[offset:offset + BLOCK]
    if len(block) < BLOCK or block[:8] != b"SBPARITY" or crc32c(block[:-4]) != struct.unpack("<I", block[-4:])[0]:
        return None
    version, piece = struct.unpack_from("<II", block, 8)
    own, size, k, m, w, checksum = struct.unpack_from("<2Q4I", block, 32)
    if version != 1 or own != offset:
        return None
    parity = Parity(size, piece, k, m, w)
    parity.place()
    if offset not in parity.supers:
        return None
    parity.id, parity.checksum, parity.note = block[16:32], checksum, block[64:320]
    return parity


def find_super(data):
    last = len(data) // BLOCK * BLOCK - BLOCK
    found = list(filter(None, (read_super(data, at) for at in (0, last))))
    if not found:
        found = list(filter(None, (read_super(data, at) for at in range(0, len(data), BLOCK))))
    return found[0]


def page_of(parity, section, number, block):
    """Its CRC32Cs, or None."""
    if len(block) < BLOCK or block[:8] != b"SBPARTAB" or crc32c(block[:-4]) != struct.unpack("<I", block[-4:])[0]:
        return None
    own, first = struct.unpack_from("<QI", block, 24)
    if block[8:24] != parity.id or own != section.number or first != number * PAGE_SUMS:
        return None
    return struct.unpack_from(f"<{min(PAGE_SUMS, section.n + section.checks - first)}I", block, 36)


def read_table(parity, section, data):
    sums = []
    for page in range(section.pages):
        for begin in (0, section.second_at):
            at = section.offset + begin + page * BLOCK
            found = page_of(parity, section, page, data[at:at + BLOCK])
            if found:
                break
        sums += found or [None] * min(PAGE_SUMS, section.n + section.checks - len(sums))
    return sums


def table_sum(section, sums):
    return crc32c(struct.pack(f"<Q{len(sums)}I", section.number, *sums))


# Decoding

class Pieces:
    """The pieces of a section by their numbers in its table, checked when they are first needed."""

    def __init__(self, parity, section, data, parity_data):
        self.parity, self.section = parity, section
        self.data, self.parity_data = data, parity_data
        self.sums = read_table(parity, section, parity_data)

    @functools.cache
    def get(self, number):
        """None: it is bad."""
        size = self.parity.piece
        if number < self.section.n:
            at = (self.section.first + number) * size
            want = min(size, self.parity.size - at)
            piece = self.data[at:min(at + size, self.parity.size)]
            if len(piece) < want:
                return None
            piece = piece.ljust(size, b"\0")
        else:
            at = self.section.offset + self.section.pieces_at + (number - self.section.n) * size
            piece = self.parity_data[at:at + size]
        return piece if len(piece) == size and crc32c(piece) == self.sums[number] else None


def decode_word(parity, pieces, v):
    """The rows of the word that were bad, by their numbers in the table; None: lost."""
    numbers = parity.word(pieces.section, v)
    bad = [row for row in range(parity.k) if numbers[row] is not None and pieces.get(numbers[row]) is None]
    known = {}
    for i, number in enumerate(numbers):
        if len(known) == parity.k or not bad:
            break
        piece = bytes(parity.piece) if number is None else pieces.get(number)
        if piece is not None:
            known[i] = piece
    made = {}
    for row in bad:
        made[numbers[row]] = piece_from(known, row, parity.piece) if len(known) == parity.k else None
        assert made[numbers[row]] is None or crc32c(made[numbers[row]]) == pieces.sums[numbers[row]]
    return made


def slurp(path):
    if not os.path.exists(path):
        return b""
    with open(path, "rb") as file:
        return file.read()


def spill(path, data):
    with open(path, "wb") as file:
        file.write(data)


def is_current(parity, path):
    kind, seconds, nanoseconds = struct.unpack_from("<8sqQ", parity.note)
    if kind != b"SBPROT01":
        return False
    if not os.path.exists(path):
        return True
    st = os.stat(path)
    return st.st_size <= parity.size and st.st_mtime_ns in (seconds * 10**9, seconds * 10**9 + nanoseconds)


def decode(parity_path, path, out):
    parity_data, data = slurp(parity_path), slurp(path)
    parity = find_super(parity_data)
    if not is_current(parity, path):
        sys.exit("not current")
    result, checksum, lost = bytearray(data[:parity.size].ljust(parity.size, b"\0")), 0, 0
    for section in parity.sections:
        pieces = Pieces(parity, section, data, parity_data)
        checksum ^= table_sum(section, pieces.sums)
        for v in range(section.w):
            for number, piece in decode_word(parity, pieces, v).items():
                at = (section.first + number) * parity.piece
                if piece is None:
                    print(section.first + number)
                    lost = 1
                else:
                    result[at:at + parity.piece] = piece[:parity.size - at]
    assert checksum == parity.checksum
    spill(out, result)
    return lost


# Damage

def spoil(data, at, size):
    data[at:at + size] = bytes(255 - byte for byte in data[at:at + size])


def lose(parity_path, path, count):
    parity_data, data = bytearray(slurp(parity_path)), bytearray(slurp(path))
    parity = find_super(parity_data)
    for section in parity.sections:
        for v in range(section.w):
            numbers = [number for number in parity.word(section, v) if number is not None]
            for number in random.sample(numbers, min(int(count), len(numbers))):
                if number < section.n:
                    spoil(data, (section.first + number) * parity.piece, parity.piece)
                else:
                    spoil(parity_data, section.offset + section.pieces_at + (number - section.n) * parity.piece,
                          parity.piece)
    spill(parity_path, parity_data)
    spill(path, data)


def blocks(parity_path):
    parity_data = bytearray(slurp(parity_path))
    parity = find_super(parity_data)
    for at in random.sample(parity.supers, 2):
        spoil(parity_data, at + random.randrange(BLOCK), 1)
    for section in parity.sections:
        for page in range(section.pages):
            begin = random.choice((0, section.second_at))
            spoil(parity_data, section.offset + begin + page * BLOCK + random.randrange(BLOCK), 1)
    spill(parity_path, parity_data)


# Encoding

def sealed(block):
    block = block.ljust(BLOCK - 4, b"\0")
    return block + struct.pack("<I", crc32c(block))


def encode_section(parity, section, data):
    begin = section.first * parity.piece
    rows = [data[begin + i * parity.piece:][:parity.piece].ljust(parity.piece, b"\0") for i in range(section.n)]
    checks = [b""] * section.checks
    for v in range(section.w):
        numbers = parity.word(section, v)
        known = {i: bytes(parity.piece) if numbers[i] is None else rows[numbers[i]] for i in range(parity.k)}
        for r in range(parity.m):
            checks[r * section.w + v] = piece_from(known, parity.k + r, parity.piece)
    sums = [crc32c(piece) for piece in rows + checks]
    table = b""
    for first in range(0, len(sums), PAGE_SUMS):
        part = sums[first:first + PAGE_SUMS]
        table += sealed(b"SBPARTAB" + parity.id + struct.pack(f"<QI{len(part)}I", section.number, first, *part))
    return (table + b"".join(checks)).ljust(section.second_at, b"\0") + table, table_sum(section, sums)


def encode(path, parity_path, *shape):
    data, st = slurp(path), os.stat(path)
    parity = Parity(len(data), *map(int, shape))
    parity.id = random.randbytes(16)
    sections = [encode_section(parity, section, data) for section in parity.sections]
    parity.place()
    checksum = 0
    for _, part in sections:
        checksum ^= part
    note = struct.pack("<8sqQ", b"SBPROT01", *divmod(st.st_mtime_ns, 10**9))

    def superblock(offset):
        return sealed(
            b"SBPARITY" + struct.pack("<II", 1, parity.piece) + parity.id +
            struct.pack("<2Q4I", offset, parity.size, parity.k, parity.m, parity.w, checksum) +
            note.ljust(256, b"\0"))

    result = bytearray(parity.supers[2] + BLOCK)
    for offset in parity.supers:
        result[offset:offset + BLOCK] = superblock(offset)
    for section, (body, _) in zip(parity.sections, sections):
        result[section.offset:section.offset + len(body)] = body
    spill(parity_path, result)


def main():
    name, *arguments = sys.argv[1:]
    random.seed(repr(sys.argv[1:]))
    sys.exit({"decode": decode, "lose": lose, "blocks": blocks, "encode": encode}[name](*arguments))


main()
