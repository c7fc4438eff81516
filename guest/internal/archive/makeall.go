package archive

import (
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
)

// maxSymlinks is the number of symlinks that the kernel follows in one path (path_resolution(7)).
const maxSymlinks = 40

// makeAll opens a directory by its path, follows symlinks, and makes missing directories. It also
// makes the missing target of a symlink.
func makeAll(path string, uid, gid int) (fd int, made int64, err error) {
	at, left, links := "/", strings.Split(path, "/"), 0
	for len(left) > 0 {
		part := left[0]
		left = left[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = at[:strings.LastIndexByte(strings.TrimSuffix(at, "/"), '/')+1]
			continue
		}
		next := at + part
		var st unix.Stat_t
		err := unix.Lstat(next, &st)
		switch {
		case err == unix.ENOENT:
			if err := makeOne(next, uid, gid); err != nil {
				return -1, made, fault.AtPath(next, err)
			}
			made++
			at = next + "/"
		case err != nil:
			return -1, made, err
		case isDir(&st):
			at = next + "/"
		case st.Mode&unix.S_IFMT == unix.S_IFLNK:
			if links++; links > maxSymlinks {
				return -1, made, unix.ELOOP
			}
			target := make([]byte, unix.PathMax)
			n, err := unix.Readlink(next, target)
			if err != nil {
				return -1, made, err
			}
			if n > 0 && target[0] == '/' {
				at = "/"
			}
			left = append(strings.Split(string(target[:n]), "/"), left...)
		default:
			return -1, made, unix.ENOTDIR
		}
	}
	fd, err = fdtree.OpenDirFollow(unix.AT_FDCWD, at)
	return fd, made, err
}

func makeOne(path string, uid, gid int) error {
	if err := unix.Mkdir(path, 0o755); err != nil {
		return err
	}
	if err := unix.Lchown(path, uid, gid); err != nil {
		return err
	}
	return unix.Chmod(path, 0o755)
}
