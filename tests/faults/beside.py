"""What `pairs`, `held` and `between` have in common.

Ground   a directory of small archives, trees and tars that commands read, made once
Place    one worker's directory: `at`, with an archive in the state of a Start, and canaries, which
         are files of near names that belong to nobody's archive
WRITERS  commands that change the archive, with what they make of what it holds
READERS  commands that read it, with what they may print

What archives hold is a dictionary from names to bytes; files of the parts that `split` makes have
names that begin with PART. All commands run in the directory of the place.
"""

import collections
import dataclasses
import hashlib
import io
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import typing

SHARDBOX = os.path.realpath(os.environ.get("SHARDBOX", "build/release/shardbox"))
FAULT_SHIM = os.path.realpath(os.environ.get("FAULT_SHIM", "build/release/tests/faults/shim.so"))
BARECAT_PYTHON = os.environ.get("BARECAT_PYTHON", "")
# For programs that take every name with a number of five digits for their own.
FEW_CANARIES = os.environ.get("CANARIES") == "few"
HERE = os.path.dirname(os.path.realpath(__file__))

# Calls that change the disk, a name or a lock; and those between which a reader may be overtaken.
WRITING = "write,truncate,create,rename,unlink,sync,lock"
READING = "read,open,lock"
KILLING = "write,sync,rename,truncate,create,unlink,lock"
SECONDS = 60
PART = "part of split: "
SHARD_SIZE = "--shard-size=6000"


def lines(word, size):
    """Bytes of that size that are different for each word."""
    text = "".join(f"{word} {i}\n" for i in range(size // (len(word) + 2) + 1))
    return text.encode()[:size]


def tree(word, more=()):
    """What an archive holds: of the same names and sizes for each word, so that places of old and
    new files are the same."""
    sizes = {"dir/long": 3500, "dir/numbers": 5200, "dir/sub/file": 60, "empty": 0, "one": 40, "two": 900}
    sizes.update(more)
    return {name: lines(f"{word} {name}", size) for name, size in sizes.items()}


OLD = tree("old")
GAPS = {"dir/gone": 1800, "gone": 400, "zone/gone": 3000}
DAMAGED = "dir/long"
BAD = OLD[DAMAGED][:100] + b"DAMAGED" + OLD[DAMAGED][107:]


def write_tree(root, files):
    for name, content in files.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)


def below(top, word):
    return {f"{top}/small": lines(f"{word} small", 300), f"{top}/large": lines(f"{word} large", 4000)}


# What commands make of what the archive holds.


def replaced(by):
    return lambda state: {**{n: c for n, c in state.items() if n.startswith(PART)}, **by}


def created(by):
    """Where there is no archive; it may not come over one."""
    return lambda state: {**state, "came over an archive": b""} if state else dict(by)


def joined(more):
    return lambda state: {**state, **more}


def without(*names):
    return lambda state: {n: c for n, c in state.items() if n not in names}


def moved(source, to):
    return lambda state: {
        to + n[len(source) :] if n == source or n.startswith(source + "/") else n: c
        for n, c in state.items()
    }


def parted(state):
    whole = {n: c for n, c in state.items() if not n.startswith(PART)}
    return {**whole, **{PART + n: c for n, c in whole.items()}}


def restored(state):
    """Damaged bytes stand in the state as they are."""
    return {**state, DAMAGED: OLD[DAMAGED]} if state.get(DAMAGED) == BAD else state


@dataclasses.dataclass
class Writer:
    name: str
    arguments: str  # {a} stands for the archive, {d} for its directory
    effect: typing.Callable = dict
    start: str = ""  # where it needs one
    replaces: bool = False  # the whole archive, at one moment
    same_sizes: bool = False
    program: str = ""


FORCED = tree("new")
CONVERTED = tree("tar")
OTHER = tree("other")
SYNCED = {n: c for n, c in tree("sync", {"dir/more": 700}).items() if n != "two"}
WITHIN = {"inner": b"inner\n", "deep/more": lines("more", 700)}

WRITERS = [
    Writer("new", f"pack -j1 {SHARD_SIZE} {{a}} -C ../in/new .", created(FORCED), "empty", True),
    Writer("force", f"pack -j1 --force {SHARD_SIZE} {{a}} -C ../in/new .", replaced(FORCED), "", True),
    Writer("append", "pack -j1 --append --duplicates=last {a} -C ../in/append .", joined(below("append", "append"))),
    Writer("seal", "pack -j1 --append --seal --duplicates=last {a} -C ../in/seal .", joined(below("seal", "seal"))),
    Writer("sync", "sync -j1 --delete ../in/sync {a}", replaced(SYNCED)),
    Writer("rm", "rm -f {a} two", without("two")),
    Writer("mv", "mv {a} dir/sub moved", moved("dir/sub", "moved")),
    Writer("upgrade", "upgrade -j1 --checksums {a}", start="null"),
    Writer("upgrade-old", "upgrade -j1 {a}", start="older"),
    Writer("repair", "verify -j1 --repair-from=../in/copy.barecat {a}", restored, "damaged"),
    Writer("defrag", "defrag {a}"),
    Writer("quick", "defrag --quick --max-time=0 {a}"),
    Writer("reshard", "split -j1 --shard-size=4000 {a}"),
    Writer("merge", "merge -j1 --append --duplicates=last -o {a} ../in/merge.barecat", joined(below("merge", "merge"))),
    Writer("link", "merge-symlink --append --duplicates=last -o {a} ../in/link.barecat", joined(below("link", "link"))),
    Writer("convert", f"convert -q -j1 --force {SHARD_SIZE} ../in/converted.tar {{a}}",
           replaced(CONVERTED), "", True),
    Writer("steps", f"pack -q -j1 --checkpoint=3000 {SHARD_SIZE} {{a}} -C ../in/new .",
           created(FORCED), "empty", True),
    Writer("resteps", f"pack -q -j1 --force --checkpoint=3000 {SHARD_SIZE} {{a}} -C ../in/new .",
           replaced(FORCED), "", True),
    Writer("resume", f"pack -q -j1 --force --resume --checkpoint=3000 {SHARD_SIZE} {{a}} -C ../in/new .",
           replaced(FORCED), "parted", True),
    Writer("split", "split -q -j1 --parts=2 -o at/p-{{}}.barecat {a}", parted),
    Writer("resplit", "split -q -j1 --force --parts=2 -o at/p-{{}}.barecat {a}", parted, "split"),
    Writer("part", "mv at/p-0.barecat dir/long long", moved(PART + "dir/long", PART + "long"), "split"),
    Writer("within", "pack -j1 --append --duplicates=last {a} -C {d} .", joined(WITHIN), "within"),
    Writer("linked", "pack -j1 --append --duplicates=last -L {a} -C {d} .", joined(WITHIN), "linked"),
]
BARECAT_WRITER = Writer("barecat", "../in/barecat write {a}",
                        lambda state: {**without("dir/sub/file")(state), "barecat": b"by barecat\n"},
                        program=BARECAT_PYTHON)
SPLITS = {"split", "resplit"}
# What is no command of ours, takes no lock, and comes over nothing.
STRANGER = "a stranger's file, that nobody may touch\n" * 50
APPEARING = [
    Writer("archive-appears", "../in/appear archive {a}", created(OTHER), "empty", program="/bin/sh"),
    Writer("shard-appears", "../in/appear shard {a}", program="/bin/sh"),
]
APPEAR = '''
set -e
case $1 in
archive)
    if [ -e "$2" ]; then exit 2; fi
    for name in ../in/other.barecat*; do
        if [ -e "$2${name#../in/other.barecat}" ]; then exit 2; fi
    done
    for name in ../in/other.barecat*; do
        cp "$name" "$2${name#../in/other.barecat}"
    done
    ;;
shard)
    number=0
    while [ -e "$2-shard-0000$number" ]; do number=$((number + 1)); done
    cp ../in/stranger "$2-shard-0000$number"
    ;;
esac
'''


@dataclasses.dataclass
class Reader:
    name: str
    arguments: str
    gives: str  # bytes: of the files; tar, tree: all files; lines; nothing
    files: tuple = ()
    cut: slice = dataclasses.field(default_factory=lambda: slice(None))
    program: str = ""


CAT = ("dir/long", "dir/numbers", "one")
READERS = [
    Reader("cat", "cat -j1 {a} " + " ".join(CAT), "bytes", CAT),
    Reader("cat-no-check", "cat -j1 --no-check {a} " + " ".join(CAT), "bytes", CAT),
    Reader("cat-range", "cat -j1 --range=1000:2000 {a} dir/numbers", "bytes", ("dir/numbers",),
           slice(1000, 3000)),
    Reader("unpack", "unpack -j1 -C out/tree {a}", "tree"),
    Reader("tar", "convert -j1 --to=tar {a} -", "tar"),
    Reader("verify", "verify -j1 {a}", "nothing"),
    Reader("ls", "ls -lR {a}", "lines"),
    Reader("find", "find --type=f {a}", "lines"),
    Reader("du", "du -a {a}", "lines"),
    Reader("diff", "diff -j1 -C ../in/old {a}", "lines"),
]
BARECAT_READER = Reader("barecat-reads", "../in/barecat read {a} " + " ".join(CAT), "bytes", CAT,
                        program=BARECAT_PYTHON)
if BARECAT_PYTHON:
    WRITERS.append(BARECAT_WRITER)
    READERS.append(BARECAT_READER)

# Barecat as it is, but for its waiting of five seconds for a lock. Exit status 2 where it refuses.
BARECAT = '''
import sqlite3, sys
class Cursor(sqlite3.Cursor):
    def execute(self, sql, *more):
        return super().execute("SELECT 0" if "busy_timeout" in sql else sql, *more)
class Connection(sqlite3.Connection):
    def cursor(self, *more):
        return super().cursor(Cursor)
connect = sqlite3.connect
sqlite3.connect = lambda *a, **k: connect(*a, factory=Connection, timeout=0, **k)
import barecat
way, archive, names = sys.argv[1], sys.argv[2], sys.argv[3:]
try:
    with barecat.Barecat(archive, readonly=way == "read") as opened:
        if way == "read":
            output = b"".join(opened[name] for name in names)
        else:
            if "dir/sub/file" in opened:  # not the last one of its shard, which it would cut at once
                del opened["dir/sub/file"]
            opened["barecat"] = b"by barecat\\n"
    if way == "read":
        sys.stdout.buffer.write(output)
except Exception as error:
    print(f"barecat: {type(error).__name__}: {error}", file=sys.stderr)
    sys.exit(2)
'''


@dataclasses.dataclass
class Start:
    """A state before: the files in `at`, and what the archive holds."""

    name: str
    archive: str = "at/a.barecat"
    holds: dict = dataclasses.field(default_factory=lambda: dict(OLD))


STARTS = {
    s.name: s
    for s in (
        Start("empty", holds={}),
        Start("plain"),
        Start("gaps"),
        Start("null"),
        Start("older"),
        Start("damaged"),
        Start("parted"),
        Start("split"),
        Start("within", "at/t/d.barecat"),
        Start("linked", "at/t/d.barecat"),
    )
}


class Wrong(Exception):
    """What the tests are there to find."""


@dataclasses.dataclass
class Ended:
    """A command that ended, or did not."""

    name: str
    status: int
    messages: str
    output: bytes = b""
    paused: bool = False  # it met its fault

    def __str__(self):
        return f"{self.name} -> {self.status}: {self.messages.strip()}"


def environment(more=()):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("FAULT_", "LD_PRELOAD"))}
    kept.update(LC_ALL="C.UTF-8", TZ="UTC", SHARDBOX_LOCK_WAIT="0", PYTHONDONTWRITEBYTECODE="1")
    kept.update(ASAN_OPTIONS="exitcode=99", UBSAN_OPTIONS="exitcode=99")
    kept.update(more)
    return kept


def command_line(command, archive):
    words = command.arguments.format(a=archive, d=os.path.dirname(archive)).split()
    return [command.program or SHARDBOX, *words]


def run(name, words, cwd, more=()):
    process = subprocess.Popen(words, cwd=cwd, env=environment(more), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        output, messages = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, messages = process.communicate()
        messages += b"(hangs)"
    return Ended(name, process.returncode, messages.decode(errors="replace"), output)


def must(words, cwd):
    ended = run(words[1], words, cwd)
    if ended.status != 0:
        raise SystemExit(f"cannot be made: {shlex.join(words)}: {ended}")


# The older schema, as tests/bats/older.bash makes it.
def make_older(directory):
    script = f'. "{HERE}/../bats/older.bash"; make_schema_02'
    must(["bash", "-c", script], directory)


class Ground:
    """What commands read, and the states before, below one directory."""

    def __init__(self, home):
        self.home = home
        for name in ("in", "starts"):
            os.mkdir(os.path.join(home, name))
        self.make_inputs()
        for name in STARTS:
            getattr(self, "make_" + name)(self.start(name))

    def start(self, name):
        path = os.path.join(self.home, "starts", name)
        os.makedirs(path, exist_ok=True)
        return path

    def make_inputs(self):
        inputs = os.path.join(self.home, "in")
        write_tree(f"{inputs}/old", OLD)
        write_tree(f"{inputs}/gaps", tree("old", GAPS))
        write_tree(f"{inputs}/new", FORCED)
        write_tree(f"{inputs}/converted", CONVERTED)
        write_tree(f"{inputs}/other", OTHER)
        write_tree(f"{inputs}/sync", SYNCED)
        for name in ("append", "seal", "merge", "link"):
            write_tree(f"{inputs}/{name}", below(name, name))
        for source, name in (("merge", "merge"), ("link", "link"), ("old", "copy"), ("other", "other")):
            must([SHARDBOX, "pack", "-q", SHARD_SIZE, f"{name}.barecat", "-C", source, "."], inputs)
        must(["tar", "cf", "converted.tar", "--sort=name", "-C", "converted", "."], inputs)
        for name, text in (("barecat", BARECAT), ("appear", APPEAR), ("stranger", STRANGER)):
            with open(f"{inputs}/{name}", "w", encoding="utf-8") as file:
                file.write(text)

    def make_empty(self, at):
        pass

    def make_plain(self, at, name="a.barecat"):
        must([SHARDBOX, "pack", "-q", SHARD_SIZE, name, "-C", f"{self.home}/in/old", "."], at)

    def make_gaps(self, at):
        must([SHARDBOX, "pack", "-q", SHARD_SIZE, "a.barecat", "-C", f"{self.home}/in/gaps", "."], at)
        must([SHARDBOX, "rm", "-r", "a.barecat", *GAPS, "zone"], at)

    def make_null(self, at):
        self.make_plain(at)
        with sqlite3.connect(f"{at}/a.barecat") as db:
            db.execute("UPDATE files SET crc32c = NULL")

    def make_older(self, at):
        self.make_plain(at)
        make_older(at)

    def make_damaged(self, at):
        self.make_plain(at)
        with sqlite3.connect(f"{at}/a.barecat") as db:
            row = db.execute("SELECT shard, offset FROM files WHERE path = ?", (DAMAGED,)).fetchone()
        with open(f"{at}/a.barecat-shard-{row[0]:05}", "r+b") as file:
            file.seek(row[1] + 100)
            file.write(b"DAMAGED")
        STARTS["damaged"].holds[DAMAGED] = BAD

    # What a killed run left knows its files by their inodes, so it is not made here.
    make_parted = make_gaps

    def make_split(self, at):
        self.make_plain(at)
        must([SHARDBOX, "split", "-q", "--parts=2", "-o", "p-{}.barecat", "a.barecat"], at)
        STARTS["split"].holds = parted(OLD)

    def make_within(self, at):
        os.mkdir(f"{at}/t")
        self.make_plain(f"{at}/t", "d.barecat")
        write_tree(f"{at}/t", WITHIN)

    def make_linked(self, at):
        self.make_within(at)
        os.symlink("d.barecat", f"{at}/t/alias")


def describe(path, with_bytes=True):
    """What a file is, so that any change of it shows."""
    try:
        stat = os.lstat(path)
    except FileNotFoundError:
        return None
    if os.path.islink(path):
        content = os.readlink(path)
    elif os.path.isdir(path) or not with_bytes:
        content = ""
    else:
        with open(path, "rb") as file:
            content = hashlib.sha1(file.read()).hexdigest()
    size = 0 if os.path.isdir(path) else stat.st_size
    return stat.st_ino, stat.st_mode, 0 if os.path.isdir(path) else stat.st_mtime_ns, size, content


class Place:
    """One worker's directory."""

    def __init__(self, ground):
        self.ground = ground
        self.home = tempfile.mkdtemp(prefix="place.", dir=ground.home)
        self.at = os.path.join(self.home, "at")
        os.mkdir(self.at)
        os.mkdir(self.path("out"))
        self.canaries = {}
        self.make_canaries()
        self.calls_of_part = 0

    def path(self, name):
        return os.path.join(self.home, name)

    # Canaries

    def make_canaries(self):
        must([SHARDBOX, "pack", "-q", SHARD_SIZE, "at/a.barecat2", "-C", "../in/merge", "."], self.home)
        near = ("a.barecat.txt", "a.barecat.new.bak", "a.barecat-shard-7", "a.barecat-shard-00099",
                "a.barecat-shard-000001", "a.barecat-shard-x", "a.barecat.old", "a.barecat.newer",
                "a.barecat.new-shard-x", "a.barecat.new-shard-000000", "a.barecat.new-index.bak",
                "a.barecat.part.bak", "a.barecat.parts", "a.barecat.part-shard-x", "a.barecat-journal.bak",
                "a.barecat.new-shard-00099", "stranger")
        for name in near:
            if FEW_CANARIES and name.endswith("-00099"):
                continue
            with open(f"{self.at}/{name}", "w", encoding="utf-8") as file:
                file.write(f"{name} is a stranger's\n")
        os.link(f"{self.at}/stranger", f"{self.at}/a.barecat-shard-1")
        os.mkdir(f"{self.at}/a.barecat-shard-")
        self.keep(os.listdir(self.at))

    def keep(self, names):
        for name in names:
            self.canaries[name] = describe(f"{self.at}/{name}")

    def spoiled(self):
        return [n for n, was in self.canaries.items() if describe(f"{self.at}/{n}") != was]

    def check_canaries(self):
        spoiled = self.spoiled()
        if spoiled:
            for name in os.listdir(self.at):
                remove(f"{self.at}/{name}")
            self.canaries.clear()
            self.make_canaries()
            raise Wrong(f"a stranger's files changed: {' '.join(spoiled)}")

    # The archive

    def own(self):
        """The names in `at` that are no canaries."""
        return [name for name in os.listdir(self.at) if name not in self.canaries]

    def own_below(self):
        found = self.own()
        if os.path.isdir(f"{self.at}/t"):
            found += [f"t/{name}" for name in os.listdir(f"{self.at}/t")]
        return [name for name in found if os.path.isfile(f"{self.at}/{name}")]

    def restore(self, start):
        """The state of the start, with the same canaries as before."""
        for name in os.listdir(self.home):
            if name not in ("at", "out"):
                remove(self.path(name))
        for name in self.own():
            remove(f"{self.at}/{name}")
        shutil.rmtree(self.path("out"))
        os.mkdir(self.path("out"))
        link = "a.barecat-sqlite-index"
        self.canaries.pop(link, None)
        remove(f"{self.at}/{link}")
        shutil.copytree(self.ground.start(start.name), self.at, symlinks=True, dirs_exist_ok=True)
        if start.name != "older" and not FEW_CANARIES:
            os.symlink("a.barecat2" if start.name != "empty" else "nowhere", f"{self.at}/{link}")
            self.keep([link])
        if start.name == "parted":
            self.leave_part(start)

    def leave_part(self, start):
        """What a run with --checkpoint leaves that is killed half-way."""
        words = command_line(by_name("resteps"), start.archive)
        at = self.calls_of_part
        while not at:
            for at in range(30, 1000, 3):
                self.stopped("resteps", words, at, "kill")
                if os.path.exists(f"{self.at}/a.barecat.part-shard-00001") and not os.path.exists(
                        f"{self.at}/a.barecat.part-journal"):
                    break
            self.calls_of_part = at
            self.restore(start)
            return
        self.stopped("resteps", words, at, "kill")

    # Commands

    def stopped(self, name, words, at, how, calls=KILLING, more=()):
        """The command with a fault at that call."""
        mark = self.path("mark")
        faults = {"LD_PRELOAD": FAULT_SHIM, "FAULT_CALLS": calls, "FAULT_AT": str(at), "FAULT_HOW": how,
                  "FAULT_MARK": mark, **dict(more)}
        ended = run(name, words, self.home, faults)
        ended.paused = os.path.exists(mark)
        if ended.paused:
            os.unlink(mark)
        return ended

    def paused(self, first, archive, at, seconds, calls=WRITING):
        """The first command, with the others run to their end before that call of it; all as
        Ended. None where it ended before that call."""
        script = []
        for i, second in enumerate(seconds):
            words = command_line(second, archive)
            if isinstance(second, Reader) and second.gives == "tree":
                words = [word.replace("out/tree", f"out/{i}") for word in words]
            script.append(f"{shlex.join(words)} >out/{i}.out 2>out/{i}.err; echo $? >out/{i}.status")
        with open(self.path("second"), "w", encoding="utf-8") as file:
            file.write("\n".join(script) + "\n")
        ended = self.stopped(first.name, command_line(first, archive), at, "run", calls, {
            "FAULT_FROM": os.path.basename(archive), "FAULT_RUN": ". ./second", "FAULT_RUN_LOG": "second.log",
            "FAULT_RUN_STATUS": "second.status"}.items())
        if not ended.paused:
            return ended, None
        return ended, [self.second(i, second) for i, second in enumerate(seconds)]

    def second(self, i, command):
        try:
            status, messages, output = (
                self.content(f"out/{i}.{what}") for what in ("status", "err", "out"))
        except FileNotFoundError:
            return Ended(command.name, -1, "did not run")
        return Ended(command.name, int(status), messages.decode(errors="replace"), output)

    def content(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    # What is there

    def archives(self, start):
        """Those that are there, with the prefix of their names in a state."""
        found = [(start.archive, "")]
        found += [(f"at/p-{i}.barecat", PART) for i in range(2)]
        return [(archive, prefix) for archive, prefix in found if self.index(archive)]

    def index(self, archive):
        for name in (archive, f"{archive}-sqlite-index"):
            path = self.path(name)
            if os.path.isfile(path) and not os.path.islink(path):
                return path
        return None

    def state(self, start):
        found = {}
        for archive, prefix in self.archives(start):
            found.update((prefix + n, c) for n, c in self.read(archive).items())
        return found

    def read(self, archive):
        files = self.read_plainly(archive)
        if files is not None:
            return files
        ended = run("convert", [SHARDBOX, "convert", "-q", "--to=tar", archive, "-"], self.home)
        if ended.status != 0:
            raise Wrong(f"cannot be read: {ended}")
        return read_tar(ended.output)

    def read_plainly(self, archive):
        """By the format's definition alone. None where a killed run left something."""
        index = self.index(archive)
        if os.path.exists(f"{index}-journal") or os.path.exists(f"{index}-wal"):
            return None
        db = sqlite3.connect(f"file:{index}?mode=ro", uri=True)
        try:
            if db.execute("SELECT 1 FROM config WHERE key LIKE 'shardbox_shard_prefix%'").fetchone():
                return None
            rows = db.execute("SELECT path, shard, offset, size FROM files").fetchall()
        except sqlite3.Error as error:
            raise Wrong(f"{archive}: {error}") from None
        finally:
            db.close()
        shards, files = {}, {}
        for name, shard, offset, size in rows:
            if shard not in shards and size:
                try:
                    shards[shard] = self.content(f"{archive}-shard-{shard:05}")
                except OSError as error:
                    raise Wrong(f"{archive}: {error}") from None
            files[name] = shards[shard][offset : offset + size] if size else b""
            if len(files[name]) != size:
                raise Wrong(f"{archive}: {name} is cut off")
        return files

    def verify(self, start, statuses=(0,)):
        for archive, _ in self.archives(start):
            ended = run("verify", [SHARDBOX, "verify", "-j1", archive], self.home)
            if ended.status not in statuses:
                raise Wrong(f"{ended}{ended.output.decode(errors='replace')[:300]}")

    def left_over(self, start, may_have_part=False):
        """What is there and neither an archive's, by its index, nor was there before."""
        known = set(os.listdir(self.ground.start(start.name)))
        if may_have_part:
            known.update(name for name in self.own() if name.startswith("a.barecat.part"))
            known.update(("a.barecat.new", "a.barecat.new-index"))
        for archive, _ in self.archives(start):
            index = self.index(archive)
            known.add(os.path.relpath(index, self.at))
            base = os.path.relpath(self.path(archive), self.at)
            known.update(f"{base}-shard-{i:05}" for i in range(shard_count(index)))
        found = [name for name in self.own() if name != "t"]
        if os.path.isdir(f"{self.at}/t"):
            known.update("t/" + name for name in os.listdir(f"{self.ground.start(start.name)}/t"))
            found += ["t/" + name for name in os.listdir(f"{self.at}/t")]
        for name in list(known):
            base, _, number = name.partition("-shard-")
            if number and name in found and not self.counts(base, int(number), start):
                known.discard(name)
        return [name for name in found if name not in known and not self.is_stranger(name)]

    def is_stranger(self, name):
        return "-shard-" in name and self.content(f"at/{name}") == STRANGER.encode()

    def counts(self, base, number, start):
        """Whether the archive of that name counts that shard."""
        index = self.index(f"at/{base}")
        return index is not None and number < shard_count(index)


def shard_count(index, mode="ro"):
    with sqlite3.connect(f"file:{index}?mode={mode}", uri=True) as db:
        rows = db.execute("SELECT value_int FROM config WHERE key = 'shardbox_shard_count'").fetchone()
        (top,) = db.execute("SELECT ifnull(max(shard), -1) FROM files").fetchone()
    return max(rows[0] if rows and rows[0] else 0, top + 1)


def read_tar(data):
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {m.name.removeprefix("./"): tar.extractfile(m).read() for m in tar if m.isfile()}


def read_tree(root):
    files = {}
    for top, _, names in os.walk(root):
        for name in names:
            path = os.path.join(top, name)
            if not os.path.islink(path):
                with open(path, "rb") as file:
                    files[os.path.relpath(path, root)] = file.read()
    return files


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def by_name(name):
    for command in (*WRITERS, *READERS, *APPEARING):
        if command.name == name:
            return command
    raise SystemExit(f"no such command: {name}")


def difference(found, state):
    told = (
        ("lost", [n for n in state if n not in found]),
        ("more", [n for n in found if n not in state]),
        ("other", [n for n in state if n in found and found[n] != state[n]]),
    )
    return ", ".join(f"{len(names)} {what} {names[:4]}" for what, names in told if names)


def has_crashed(ended):
    return ended.status < 0 or ended.status >= 124 or ended.status == 99
