#!/usr/bin/env bats
# Expressions of find, held against GNU find's own.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR" || return
}

# Names in ASCII: whether "?" is a byte or a character depends on the libc of GNU find. Their order by bytes
# is not that of a walk; sizes about the units, modes, ages and links.
make_find_tree() {
    python3 - <<'PYTHON'
import os, random

random.seed(7)
names = ["a", "b", "ab", "a-b", "a.b", "B", "A b", "x.jpg", "X.JPG", "y.c", ".h", "[x]", "a*", "new\nline"]
sizes = [0, 0, 1, 2, 3, 511, 512, 513, 1024, 1025, 4096, 70000, 1 << 20, (1 << 20) + 1]
now = 1.0 * __import__("time").time()
made = []


def fill(path, depth):
    os.mkdir(path)
    for name in random.sample(names, random.randint(4, 9) if depth else 12):
        below = path + "/" + name
        kind = random.random()
        if kind < 0.45 and depth < 4 and len(made) < 900:
            fill(below, depth + 1)
        elif kind < 0.6:
            os.symlink(random.choice(names) * random.randint(1, 3), below)
        else:
            with open(below, "wb") as file:
                file.truncate(random.choice(sizes))
        made.append(below)
    if random.random() < 0.2:
        os.mkdir(path + "/nothing")
        made.append(path + "/nothing")


fill("tree", 0)
for path in made:
    if not os.path.islink(path):
        os.chmod(path, random.choice([0o755, 0o700, 0o711] if os.path.isdir(path) else [0o644, 0o600, 0o755, 0o4755, 0o444, 0o666, 0]))
    # Never at the edge of a minute or a day: time goes on between the two.
    age = random.randint(0, 300) * 60 + 30 if random.random() < 0.5 else random.randint(0, 40) * 86400 + random.randint(1, 23) * 3600
    os.utime(path, (now - age, now - age), follow_symlinks=False)
os.symlink("tree", "reference")
os.utime("reference", (now - 86400 * 9 - 7, now - 86400 * 9 - 7), follow_symlinks=False)
PYTHON
}

# Makes N expressions and compares, for each, what is found below `.` and below some PATHs.
compare() {
    python3 - "$SHARDBOX" "$1" "$2" <<'PYTHON'
import os, random, subprocess, sys

shardbox, archive, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
random.seed(count)
parts = ["a", "b", "ab", "a-b", "x.jpg", "nothing", "[ab]", "?", "a*", "*b", "*.jpg", "*.c", "*", "[!a]*", "[[:upper:]]*",
         "[^[:alnum:]]?", "[]x[]*", "\\[x\\]", "a\\*", "*[*]", "?.*", "[a-c]?*", "*\n*", "**b", "[b", "??"]
choice = random.choice


def glob_of_path():
    text = "/".join(choice(parts) for _ in range(choice([1, 2, 2, 3])))
    # What begins with a wildcard may match the "." of GNU's "./a".
    return choice(["./", "./", "*/", "**/"]) + text


def sign():
    return choice(["", "+", "-"])


def test():
    return choice([
        lambda: ["-name", choice(parts)],
        lambda: ["-name", choice(parts)],
        lambda: ["-iname", choice([part for part in parts if "upper" not in part])],
        lambda: [choice(["-path", "-wholename"]), glob_of_path()],
        lambda: ["-ipath", glob_of_path().replace("upper", "alnum")],
        lambda: ["-type", choice(["f", "d", "l", "f,l", "d,f", "l,d"])],
        # The size of a directory is the file system's own affair.
        lambda: ["(", "!", "-type", "d", "-size", sign() + choice("00112345") + choice(["c", "w", "b", "k", "M", "G", ""]), ")"],
        lambda: ["(", "-type", "f,l", "-size", sign() + choice(["512c", "513c", "256w", "257w", "137", "69k", "1025c"]), ")"],
        lambda: ["-empty"],
        lambda: ["-newer", choice(["../reference", "../tree", "../reference"])],
        lambda: ["-newermm", "../reference"],
        lambda: ["-newermt", choice(["2000-01-01", "@0", "2099-12-31 08:30", "2020-02-03 04:05:06"])],
        lambda: ["-mtime", sign() + choice(["0", "1", "3", "9", "20", "0.5"])],
        lambda: ["-mmin", sign() + choice(["0", "1", "60", "200", "5000"])],
        lambda: ["-perm", choice(["", "-", "/"]) + choice(["644", "0", "755", "4000", "111", "u+w", "u=rwx,go=rx", "g+r,o-r", "a+x", "u+s", "+x"])],
        lambda: [choice(["-uid", "-gid"]), sign() + choice(["0", "1", "1000"])],
        lambda: [choice(["-user", "-group"]), choice(["root", "0", "77777"])],
        lambda: [choice(["-true", "-false"])],
        lambda: ["-prune"],
    ])()


def expression(depth):
    kind = random.random()
    if depth == 0 or kind < 0.25:
        return test()
    if kind < 0.4:
        return [choice(["!", "-not"])] + group(depth - 1)
    # No comma: GNU find may swap what it joins, and then takes the value of the wrong one.
    middle = choice([[], [], ["-a"], ["-and"], ["-o"], ["-or"], ["-o"]])
    return expression(depth - 1) + middle + expression(depth - 1)


def group(depth):
    return ["("] + expression(depth) + [")"] if random.random() < 0.6 else test()


def action():
    return choice([["-print"], ["-print0"], ["-printf", "%p|%P|%f|%h|%d|%y|%m|%M|%U|%G|%u|%g|%T@|%TY-%Tm|%l\\n"],
                   ["-printf", "%P\\0"], ["-printf", "%-9f|%3d\\t%y\\101\\n"]])


def whole():
    words = expression(choice([0, 1, 2, 3]))
    if random.random() < 0.3:
        words += action()
    if random.random() < 0.2:
        words = ["("] + words + [")", choice(["-o", ","])] + test() + action()
    if random.random() < 0.2:
        words = ["("] + test() + ["-prune", ")", "-o"] + words
    levels = []
    for name in ("-maxdepth", "-mindepth"):
        if random.random() < 0.15:
            levels += [name, choice("1234")]
    return levels, words


def run(command):
    out = subprocess.run(command, capture_output=True, cwd="tree")
    assert out.returncode == 0 and (not out.stderr or command[0] == "find"), (command, out)
    # Both print as many pieces, in another order.
    return sorted(out.stdout.replace(b"\0", b"\0\n").splitlines())


def plain(pieces):
    return sorted(piece[2:] if piece.startswith(b"./") else piece for piece in pieces)


starts = [[]] * 3 + [[name] for name in sorted(os.listdir("tree"))[:9]] + [sorted(os.listdir("tree"))[2:5]]
found = 0
for _ in range(count):
    (levels, words), paths = whole(), choice(starts)
    if not paths and "-mindepth" not in levels:
        levels = ["-mindepth", "1"] + levels  # the top itself is not printed
    if paths:
        gnu = ["./" + path for path in paths]
    else:
        gnu = ["."]
    wanted = plain(run(["find", *gnu, *levels, *words]))
    got = plain(run([shardbox, "find", "../" + archive, *paths, *levels, *words]))
    # %h of what lies at the top, and %p, have no "./"
    wanted = sorted(piece.replace(b"|./", b"|") for piece in wanted)
    assert wanted == got, (paths, levels, words, sorted(set(wanted) ^ set(got))[:9])
    found += 0 < len(got)
assert found > count / 3, found
print(found)
PYTHON
}

@test "300 expressions find in an archive what GNU find finds in the tree" {
    release_build # 300 runs
    make_find_tree
    sb pack -q a.barecat -C tree .
    run_ok compare a.barecat 300
}

@test "expressions find in a tar what GNU find finds in the tree" {
    make_find_tree
    tar --format=posix -cf a.tar -C tree .
    run_ok compare a.tar 40
}
