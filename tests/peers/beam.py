"""Apache Beam with the connector of the bagz wheel, as the peer tests ask for it.

beam.py write SPEC N    records 0 to N-1 of record() become bags, in an order that Beam chooses
beam.py read SPEC       prints what it reads: number of records, and a digest of them sorted
beam.py digest N        the same of record(0) to record(N-1)
beam.py frames          the same of records on standard input, each behind its length in 8 bytes
"""

import hashlib
import logging
import sys


def record(number):
    """Empty ones, text, and bytes that look like ends of lines."""
    return b"" if number % 7 == 0 else b"%d\n\x00" % number * (number % 50)


def digest(records):
    whole = hashlib.sha256()
    for one in sorted(records):
        whole.update(b"%d:" % len(one) + one)
    return f"{len(records)} {whole.hexdigest()}"


def write(spec, count):
    import apache_beam as beam
    from bagz.beam import bagzio

    with beam.Pipeline() as pipeline:
        numbers = pipeline | beam.Create(range(count))
        numbers | beam.Map(record) | bagzio.WriteToBagz(spec)


def read(spec):
    import apache_beam as beam
    from bagz.beam import bagzio

    with beam.Pipeline() as pipeline:
        records = pipeline | bagzio.ReadFromBagz(spec) | beam.combiners.ToList()
        records | beam.Map(digest) | beam.Map(print)


def frames(file):
    records = []
    while head := file.read(8):
        records.append(file.read(int.from_bytes(head, "little")))
    return records


def main():
    logging.disable(logging.WARNING)
    what, *args = sys.argv[1:]
    if what == "write":
        write(args[0], int(args[1]))
    elif what == "read":
        read(args[0])
    elif what == "frames":
        print(digest(frames(sys.stdin.buffer)))
    else:
        print(digest([record(number) for number in range(int(args[0]))]))


main()
