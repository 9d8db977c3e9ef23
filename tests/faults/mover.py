"""mover.py ARCHIVE WAY [COMMITS]: moves the files of an archive about as a writer does that keeps to
the rules, and never ends before COMMITS or its end of input; then prints how often it committed.

Bytes are copied to where no file is, then a transaction gives the rows their new addresses, and only
after it the old places are overwritten with noise. WAY: "within" moves all files of shard 0 behind
their old place and back again, in another order each time; "between" moves them to shard 1 and back,
and cuts the shard that they left down to nothing.
"""

import os
import random
import select
import sqlite3
import sys

BATCH = 40


def shard(archive, number):
    return f"{archive}-shard-{number:05d}"


def input_ended():
    return bool(select.select([sys.stdin], [], [], 0)[0]) and not os.read(0, 1)


def copy_out(source, target, rows, to):
    moved = []
    for row, offset, size in rows:
        os.pwrite(target, os.pread(source, size, offset), to)
        moved.append((row, to))
        to += size
    return moved, to


def main():
    archive, way = sys.argv[1:3]
    least = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    db = sqlite3.connect(archive, timeout=120, isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")
    chance = random.Random(1)
    commits = 0
    here = 0
    live = db.execute("SELECT sum(size) FROM files").fetchone()[0]
    while commits < least or not input_ended():
        there = here if way == "within" else 1 - here
        rows = db.execute(
            "SELECT rowid, offset, size FROM files WHERE size > 0 AND shard = ?", (here,)
        ).fetchall()
        source = os.open(shard(archive, here), os.O_RDWR)
        target = os.open(shard(archive, there), os.O_RDWR | os.O_CREAT, 0o666)
        to = live if way == "within" and min(row[1] for row in rows) < live else 0
        chance.shuffle(rows)
        for first in range(0, len(rows), BATCH):
            batch = rows[first : first + BATCH]
            moved, to = copy_out(source, target, batch, to)
            db.execute("BEGIN IMMEDIATE")
            db.executemany(
                "UPDATE files SET shard = ?, offset = ? WHERE rowid = ?",
                [(there, offset, row) for row, offset in moved],
            )
            db.execute("COMMIT")
            commits += 1
            for _, offset, size in batch:
                os.pwrite(source, b"\xdb" * size, offset)
        if way == "between":
            os.ftruncate(source, 0)
        os.close(source)
        os.close(target)
        here = there
    print(commits)


main()
