"""What the bench has pyarrow do, as torchcachex does it: items_peer.py get CACHE KEYS

Reads index.pkl of the cache, then the values of the keys that are lines of the file KEYS: of each
segment that has some of them its rows, through a mapping. Prints the seconds of each of both.
"""

import pickle
import sys
import time

import pyarrow as pa
import pyarrow.ipc


def get(cache, keys):
    start = time.monotonic()
    with open(f"{cache}/index.pkl", "rb") as file:
        index = pickle.load(file)
    opened = time.monotonic()
    wanted = {}
    for position, key in enumerate(keys):
        segment, row = index[key]
        wanted.setdefault(segment, []).append((row, position))
    results = [None] * len(keys)
    for segment, rows in wanted.items():
        with pa.memory_map(f"{cache}/segments/segment_{segment:06d}.arrow") as source:
            table = pa.ipc.open_file(source).read_all().take([row for row, _ in rows])
            columns = {name: table[name].to_numpy() for name in table.column_names}
        for i, (_, position) in enumerate(rows):
            results[position] = columns["data"][i].reshape(tuple(columns["shape"][i])).copy()
    print(opened - start, time.monotonic() - opened)


def main():
    _, _, cache, keys = sys.argv
    with open(keys) as file:
        get(cache, file.read().split("\n")[:-1])


main()
