"""What the bench has the original Bagz do: bagz_peer.py WHAT FILE...

  make COUNT      records.bag, records.bagz and records.txt (a line each): the same records of about
                  1 kB, text that compresses to about a third
  many COUNT      many.bag, of records of 8 bytes
  iterate BAG     reads all records
  random BAG FILE reads those whose numbers are in FILE, one by one
  write FILE BAG  writes the lines of FILE
  index BAG FILE  finds the numbers of those that are lines of FILE
"""

import random
import sys

import bagz


def make(count):
    rng = random.Random(20)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(400)]
    phrases = [" ".join(rng.choices(words, k=8)) for _ in range(20000)]
    with bagz.Writer("records.bag") as bag, bagz.Writer("records.bagz") as compressed:
        with open("records.txt", "wb") as lines:
            for i in range(count):
                text = ". ".join(rng.choices(rng.choices(phrases, k=8), k=18))
                record = f'{{"id": {i}, "score": {rng.random():.6f}, "text": "{text}"}}'.encode()
                bag.write(record)
                compressed.write(record)
                lines.write(record + b"\n")


def many(count):
    with bagz.Writer("many.bag") as bag:
        for i in range(count):
            bag.write(i.to_bytes(8, "little"))


def iterate(bag):
    for _ in bagz.Reader(bag):
        pass


def at_random(bag, numbers):
    with open(numbers) as file:
        wanted = [int(line) for line in file]
    reader = bagz.Reader(bag)
    for number in wanted:
        reader[number]


def write(lines, bag):
    with open(lines, "rb") as file, bagz.Writer(bag) as writer:
        for line in file:
            writer.write(line[:-1])


def index(bag, keys):
    with open(keys, "rb") as file:
        wanted = [line[:-1] for line in file]
    numbers = bagz.Index(bagz.Reader(bag))
    for key in wanted:
        numbers[key]


def main():
    what, *rest = sys.argv[1:]
    if what in ("make", "many"):
        {"make": make, "many": many}[what](int(rest[0]))
    else:
        {"iterate": iterate, "random": at_random, "write": write, "index": index}[what](*rest)


main()
