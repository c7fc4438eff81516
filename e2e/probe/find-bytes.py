# find-bytes.py DIR TEXT...: prints a JSON list of the files below DIR whose data, holes left out, has one of the texts. Images and
# checkpoints are left out, unless DIR is their own directory.
import json, os, stat, sys

top, sought = sys.argv[1], [text.encode() for text in sys.argv[2:]]
step, longest = 8 << 20, max(map(len, sought))


def extents(fd, size):
    """Where there is data (lseek(2), SEEK_DATA): disks are large and mostly holes."""
    at = 0
    while at < size:
        try:
            begin = os.lseek(fd, at, os.SEEK_DATA)
        except OSError:
            return
        at = os.lseek(fd, begin, os.SEEK_HOLE)
        yield begin, at


def has(path):
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            return False
        for begin, end in extents(fd, found.st_size):
            for at in range(begin, end, step):
                data = os.pread(fd, min(step + longest, end - at), at)
                if any(text in data for text in sought):
                    return True
        return False
    finally:
        os.close(fd)


def is_file(path):
    """False also for what is gone: the socket of a runtime that has just been paused."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False


files = []
for folder, folders, names in os.walk(top):
    folders[:] = [name for name in folders if name not in ("images", "checkpoints")]
    for name in names:
        path = os.path.join(folder, name)
        try:
            if has(path):
                files.append(path)
        except FileNotFoundError:
            pass  # It was removed in the meantime.
        except OSError:
            if is_file(path):
                raise  # Sockets and links cannot be opened, files can.
print(json.dumps(files))
