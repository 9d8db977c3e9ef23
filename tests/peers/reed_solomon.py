"""What zfec makes of code words, and what our pieces (RS_PIECES: a program) make of the same.

reed_solomon.py parity DATA PARITY SIZE    our parities are zfec's
reed_solomon.py ours DATA PARITY SIZE      what zfec encodes, we decode
reed_solomon.py theirs DATA PARITY SIZE    what we encode, zfec decodes
"""

import os
import random
import subprocess
import sys

import zfec

ROUNDS = 12


def others(data, parity, size, pieces):
    """All pieces but those that are given, by number, in a dict: by our program."""
    numbers = list(pieces)
    random.shuffle(numbers)
    result = subprocess.run(
        [os.environ["RS_PIECES"], *map(str, [data, parity, size, *numbers])],
        input=b"".join(pieces[n] for n in numbers), stdout=subprocess.PIPE, check=True).stdout
    missing = [n for n in range(data + parity) if n not in pieces]
    assert len(result) == size * len(missing), (len(result), size, missing)
    return {n: result[i * size:(i + 1) * size] for i, n in enumerate(missing)}


def word(data, parity, size):
    """All pieces, as zfec encodes random ones."""
    pieces = [random.randbytes(size) for _ in range(data)]
    return dict(enumerate(zfec.Encoder(data, data + parity).encode(pieces)))


def survivors(pieces, data, parity):
    """As few as suffice in most rounds; else some more."""
    count = random.choice([data, data, random.randint(data, data + parity - 1)])
    return {n: pieces[n] for n in random.sample(sorted(pieces), count)}


def check_parity(data, parity, size):
    pieces = word(data, parity, size)
    ours = others(data, parity, size, {n: pieces[n] for n in range(data)})
    assert ours == {n: pieces[n] for n in range(data, data + parity)}


def check_ours(data, parity, size):
    pieces = word(data, parity, size)
    kept = survivors(pieces, data, parity)
    ours = others(data, parity, size, kept)
    assert ours == {n: pieces[n] for n in pieces if n not in kept}, sorted(kept)


def check_theirs(data, parity, size):
    pieces = {n: random.randbytes(size) for n in range(data)}
    pieces.update(others(data, parity, size, pieces))
    kept = random.sample(sorted(pieces), data)
    decoded = zfec.Decoder(data, data + parity).decode([pieces[n] for n in kept], kept)
    assert decoded == [pieces[n] for n in range(data)], sorted(kept)


def main():
    check = {"parity": check_parity, "ours": check_ours, "theirs": check_theirs}[sys.argv[1]]
    arguments = list(map(int, sys.argv[2:]))
    random.seed(repr(sys.argv[1:]))
    for _ in range(ROUNDS):
        check(*arguments)


main()
