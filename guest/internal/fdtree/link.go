package fdtree

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// Link makes a hard link, never following a symlink. gVisor (release 20240729) gives a file of its overlay to whoever links it, and takes its set-id bits: they are given back.
func Link(fromDir int, from string, toDir int, to string) error {
	var before, after unix.Stat_t
	if err := unix.Fstatat(fromDir, from, &before, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if err := unix.Linkat(fromDir, from, toDir, to, 0); err != nil {
		return err
	}
	if err := unix.Fstatat(toDir, to, &after, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if after.Ino != before.Ino || (after.Uid == before.Uid && after.Gid == before.Gid && after.Mode == before.Mode) {
		return nil
	}
	if err := unix.Fchownat(toDir, to, int(before.Uid), int(before.Gid), unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if before.Mode&unix.S_IFMT == unix.S_IFLNK {
		return nil
	}
	return unix.Fchmodat(toDir, to, before.Mode&0o7777, 0)
}

// Chmod sets the mode of something that is not opened for reading or writing, so that no FIFO or device notices.
func Chmod(dir int, name string, mode uint32, flags int) error {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), mode)
}
