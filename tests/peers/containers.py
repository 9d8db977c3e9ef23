"""Python's tarfile and zipfile as peers.

containers.py write-tar FORMAT TREE FILE   FORMAT is ustar, gnu or pax
containers.py check-tar FILE TREE          members have the names, metadata and bytes of TREE
containers.py write-zip METHOD TREE FILE   METHOD is stored, deflated, bzip2 or lzma
containers.py check-zip FILE TREE
containers.py twice FILE                   a tar or zip with a member "name" twice: "old", then "new"
"""

import decimal
import io
import os
import stat
import struct
import sys
import tarfile
import warnings
import zipfile

TAR_FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
ZIP_METHODS = {"stored": zipfile.ZIP_STORED, "deflated": zipfile.ZIP_DEFLATED,
               "bzip2": zipfile.ZIP_BZIP2, "lzma": zipfile.ZIP_LZMA}


def require(condition, what):
    if not condition:
        sys.exit(f"containers.py: {what}")


def paths(tree):
    """Every name below TREE, relative to it, in an order that never changes."""
    for top, names, leaves in sorted(os.walk(tree)):
        for name in sorted(names + leaves):
            path = os.path.join(top, name)
            yield os.path.relpath(path, tree), path


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write_tar(layout, tree, target):
    with tarfile.open(target, "w", format=TAR_FORMATS[layout]) as tar:
        for name, path in paths(tree):
            tar.add(path, name, recursive=False)


def tar_time_ns(member):
    return int(decimal.Decimal(member.pax_headers.get("mtime", str(member.mtime))).scaleb(9))


def check_tar(source, tree):
    wanted = {".": tree, **dict(paths(tree))}
    with tarfile.open(source) as tar:
        members = tar.getmembers()
        names = [member.name for member in members]
        require(len(set(names)) == len(names), "a name comes twice")
        require(set(names) == set(wanted), f"names: {set(names) ^ set(wanted)}")
        for member in members:
            check_tar_member(tar, member, os.lstat(wanted[member.name]), wanted[member.name])


def check_tar_member(tar, member, status, path):
    name = member.name
    if stat.S_ISDIR(status.st_mode):
        require(member.isdir(), f"{name}: no directory")
    elif stat.S_ISLNK(status.st_mode):
        require(member.issym() and member.linkname == os.readlink(path), f"{name}: link")
    else:
        require(tar.extractfile(member).read() == read(path), f"{name}: bytes")
    require(member.mode == stat.S_IMODE(status.st_mode), f"{name}: mode {member.mode:o}")
    require((member.uid, member.gid) == (status.st_uid, status.st_gid), f"{name}: owner")
    require(tar_time_ns(member) == status.st_mtime_ns, f"{name}: time {tar_time_ns(member)}")


def write_zip(method, tree, target):
    with zipfile.ZipFile(target, "w", ZIP_METHODS[method]) as archive:
        for name, path in paths(tree):
            if os.path.islink(path):
                info = zipfile.ZipInfo(name, (2001, 2, 3, 4, 5, 6))
                info.create_system = 3
                info.external_attr = os.lstat(path).st_mode << 16
                archive.writestr(info, os.readlink(path))
            else:
                archive.write(path, name)


def zip_time(info):
    """Seconds since 1970 from the extended timestamp, which we always write."""
    extra = info.extra
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<HH", extra)
        if kind == 0x5455 and extra[4] & 1:
            return struct.unpack_from("<i", extra, 5)[0]
        extra = extra[4 + size:]
    return None


def check_zip(source, tree):
    wanted = {name + ("/" if os.path.isdir(path) and not os.path.islink(path) else ""): path
              for name, path in paths(tree)}
    with zipfile.ZipFile(source) as archive:
        require(archive.testzip() is None, "testzip")
        infos = archive.infolist()
        names = [info.filename for info in infos]
        require(len(set(names)) == len(names), "a name comes twice")
        require(set(names) == set(wanted), f"names: {set(names) ^ set(wanted)}")
        for info in infos:
            check_zip_member(archive, info, wanted[info.filename])


def check_zip_member(archive, info, path):
    status = os.lstat(path)
    name = info.filename
    require(info.external_attr >> 16 == status.st_mode, f"{name}: mode {info.external_attr >> 16:o}")
    require(zip_time(info) == status.st_mtime_ns // 10**9, f"{name}: time {zip_time(info)}")
    if stat.S_ISLNK(status.st_mode):
        require(archive.read(info) == os.readlink(path).encode(), f"{name}: link")
    elif not stat.S_ISDIR(status.st_mode):
        require(archive.read(info) == read(path), f"{name}: bytes")


def twice(target):
    if target.endswith(".zip"):
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(target, "w") as archive:
            archive.writestr("name", "old")
            archive.writestr("name", "new")
        return
    with tarfile.open(target, "w") as tar:
        for data in (b"old", b"new"):
            member = tarfile.TarInfo("name")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


if __name__ == "__main__":
    {"write-tar": write_tar, "check-tar": check_tar, "write-zip": write_zip,
     "check-zip": check_zip, "twice": twice}[sys.argv[1]](*sys.argv[2:])
