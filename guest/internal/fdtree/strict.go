package fdtree

import "golang.org/x/sys/unix"

// OpenDirStrict opens the directory name in the directory at and never what a symlink leads to. gVisor (release 20240729) follows a symlink that is opened with
// O_DIRECTORY and O_NOFOLLOW together, so the two are not used together: what is no directory is looked at first and not opened, and what was opened is looked at again.
func OpenDirStrict(at int, name string) (int, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return -1, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return -1, unix.ENOTDIR
	}
	fd, err := OpenFile(at, name)
	if err != nil {
		return -1, err
	}
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		err = unix.ENOTDIR
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
