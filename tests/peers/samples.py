"""names: 10,000 names that are hard to group; check NAMES OURS: are they grouped as WebDataset does?
tar FILE N: N samples of three files each; whole ALL PART...: each sample of ALL is whole in a PART;
neighbours ALL TAR: TAR has all samples of ALL, and each comes once, as it is read in sequence.
odd N: N tars, I.tar, with what belongs to no sample among the samples; same N: I.json, of ls, says the same of each."""

import io
import json
import random
import sys
import tarfile

from webdataset.tariterators import base_plus_ext, group_by_keys, tar_file_expander


def names():
    chance = random.Random(1)
    parts = ["a", "b", "A", "0017", "seg", "é", "日本", " ", "-", "+", "\\", "x y", "%", "*", "..", ".", "...", "_"]
    seen = set()
    while len(seen) < 10000:
        directories = ["".join(chance.choices(parts, k=chance.randint(1, 3))) for _ in range(chance.randint(0, 3))]
        last = "".join(chance.choices(parts, k=chance.randint(1, 6)))
        seen.add("/".join([*directories, last]))
    for name in sorted(seen):
        print(name)


def check(names, ours):
    """Where WebDataset groups by a stem, so do we, and nothing else is together."""
    theirs = {}
    for name, our in zip(open(names), open(ours), strict=True):
        name, our = name.rstrip("\n"), our.rstrip("\n")
        base, _ = base_plus_ext(name)
        if base is None or base.endswith("/"):
            assert our == name, (name, our)
        else:
            assert theirs.setdefault(base, our) == our, (name, our, theirs[base])
    assert len(set(theirs.values())) == len(theirs)


def make_tar(path, count):
    with tarfile.open(path, "w") as tar:
        for extension in "jpg", "json", "seg.png":
            for i in range(int(count)):
                member = tarfile.TarInfo(f"train/{i:05d}.{extension}")
                data = f"{i} {extension}".encode()
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))


def samples_of(path):
    """By key, whatever the order of the tar."""
    samples = {}
    with open(path, "rb") as stream:
        for sample in group_by_keys(tar_file_expander([{"stream": stream, "url": path}])):
            key = sample["__key__"]
            fields = {k: v for k, v in sample.items() if not k.startswith("__")}
            samples.setdefault(key, {}).update(fields)
    return samples


def whole(all_of_them, *parts):
    wanted, found = samples_of(all_of_them), {}
    for part in parts:
        for key, fields in samples_of(part).items():
            assert key not in found, key
            found[key] = fields
    assert found == wanted
    assert all(len(fields) == 3 for fields in found.values())


def neighbours(all_of_them, tar):
    with open(tar, "rb") as stream:
        samples = list(group_by_keys(tar_file_expander([{"stream": stream, "url": tar}])))
    assert len(samples) == len({sample["__key__"] for sample in samples})
    whole(all_of_them, tar)


def odd(count):
    others = ["._{}.jpg", ".DS_Store", "README", "__meta__/{}.jpg", "__{}__", "d/README{}", "__MACOSX/{}.jpg", "x{}"]
    for number in range(int(count)):
        chance = random.Random(number)
        with tarfile.open(f"{number}.tar", "w") as tar:
            for i in range(chance.randint(1, 40)):
                stem = chance.choice(["", "d/", "d.e/", "A/"]) + f"{i:03d}"
                extensions = chance.sample(["jpg", "JSON", "Seg.PNG", "txt", "cls", ""], chance.randint(1, 4))
                files = [f"{stem}.{extension}" for extension in extensions]
                if chance.random() < 0.4:
                    files.insert(chance.randint(0, len(files)), chance.choice(others).format(i))
                for name in files:
                    tar.addfile(tarfile.TarInfo(name))


def same(count):
    for number in range(int(count)):
        theirs = {key: sorted(fields) for key, fields in samples_of(f"{number}.tar").items()}
        with open(f"{number}.json", encoding="utf-8") as lines:
            ours = [json.loads(line) for line in lines]
        assert [sample["name"] for sample in ours] == list(theirs), number
        for sample in ours:
            assert sorted(file["extension"] for file in sample["files"]) == theirs[sample["name"]], (number, sample)


if __name__ == "__main__":
    {"names": names, "odd": odd, "same": same, "check": check, "tar": make_tar, "whole": whole, "neighbours": neighbours}[sys.argv[1]](*sys.argv[2:])
