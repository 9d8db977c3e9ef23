"""What the peer tests ask of Barecat's own library.

peer.py check ARCHIVE TREE    every file, walk, glob and the checksums are those of TREE
peer.py change ARCHIVE        deletes, renames, adds and updates
peer.py dump ARCHIVE DIR      writes every file as Barecat reads it, one by one
"""

import os
import sys

from barecat import Barecat


def files_and_dirs(tree):
    """Stored names of TREE: {file: bytes} (a link's bytes are its target) and {dir}."""
    files, dirs = {}, set()
    for top, names, leaves in os.walk(tree):
        for name in names + leaves:
            path = os.path.join(top, name)
            stored = os.path.relpath(path, tree)
            if os.path.islink(path):
                files[stored] = os.readlink(path).encode()
            elif os.path.isdir(path):
                dirs.add(stored)
            else:
                with open(path, "rb") as file:
                    files[stored] = file.read()
    return files, dirs


def require(condition, what):
    if not condition:
        sys.exit(f"peer.py: {what}")


def check(archive, tree):
    files, dirs = files_and_dirs(tree)
    with Barecat(archive) as bc:
        require(set(bc.files()) == set(files), f"files: {set(bc.files()) ^ set(files)}")
        for path, data in files.items():
            require(bc[path] == data, f"bytes of {path}")
        walked_files, walked_dirs = set(), set()
        for top, names, leaves in bc.walk(""):
            walked_dirs.update(os.path.normpath(os.path.join(top, name)) for name in names)
            walked_files.update(os.path.normpath(os.path.join(top, name)) for name in leaves)
        require(walked_files == set(files), f"walk, files: {walked_files ^ set(files)}")
        require(walked_dirs == dirs, f"walk, directories: {walked_dirs ^ dirs}")
        globbed = set(bc.glob("**", recursive=True, include_hidden=True)) - {""}
        require(globbed == set(files) | dirs, f"glob: {globbed ^ (set(files) | dirs)}")
        require(bc.num_files == len(files), f"num_files: {bc.num_files}")
        require(bc.total_size == sum(map(len, files.values())), f"total_size: {bc.total_size}")
        for directory in dirs | {""}:
            require(set(bc.listdir(directory)) == set(children(directory, files, dirs)),
                    f"listdir of {directory!r}")
        require(bc.verify_integrity(), "verify_integrity")


def children(directory, files, dirs):
    return [os.path.basename(path) for path in list(files) + list(dirs)
            if os.path.dirname(path) == directory]


def change(archive):
    """May be done again to its own result."""
    with Barecat(archive, readonly=False) as bc:
        names = sorted(bc.files())
        for path in names[::3]:
            bc.remove(path)
        rounds = sum(name.startswith("renamed/") for name in names)
        bc.mkdir(f"renamed/{rounds}")
        bc.rename(names[1], f"renamed/{rounds}/barecat")
        bc.add(f"added/{rounds}/barecat", data=b"added\n" * 1000)
        bc.update_file(names[2], data=b"updated\n" * 5000)
        bc.update_file(names[4], data=b"u")
        bc.mkdir(f"made/{rounds}")


def dump(archive, directory):
    with Barecat(archive) as bc:
        for top, names, leaves in bc.walk(""):
            for name in names:
                os.makedirs(os.path.join(directory, top, name), exist_ok=True)
            for name in leaves:
                path = os.path.join(top, name)
                with open(os.path.join(directory, path), "wb") as file:
                    file.write(bc[path])


if __name__ == "__main__":
    {"check": check, "change": change, "dump": dump}[sys.argv[1]](*sys.argv[2:])
