package files

import (
	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
)

// PutInPlace writes a file under its own name. An existing file keeps its inode and its mode, and
// is truncated first. Programs that watch the file or have it open see the writes. created is true
// if the file did not exist. After a failure the file has the bytes that arrived.
func PutInPlace(u Upload) (info *Info, created bool, err error) {
	if err := CheckPath(u.Path); err != nil {
		return nil, false, err
	}
	if u.CreateOnly || u.IfMatch != "" || u.Digests.Part != nil || u.Digests.Whole != nil {
		return nil, false, fault.New(fault.InvalidRequest, "in_place excludes create_only, if_match and digests")
	}
	at, err := u.openUploadPlace()
	if err != nil {
		return nil, false, err
	}
	defer at.close()
	fd, err := u.openInPlace(at)
	if err != nil {
		at.undo()
		return nil, false, fault.AtPath(u.Path, err)
	}
	err = receive(fd, u.Body, nil)
	if closing := unix.Close(fd); err == nil {
		err = closing
	}
	if err != nil {
		return nil, false, fault.AtPath(u.Path, err)
	}
	info, err = u.Facts.infoAt(at.fd, at.base, u.Path)
	return info, at.existing == nil, err
}

// openInPlace opens the file, sets its attributes, and only then empties it.
func (u *Upload) openInPlace(at *uploadPlace) (fd int, err error) {
	// Another program can put something else in the place of the file that was seen.
	flags := unix.O_WRONLY | unix.O_CREAT | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	if fd, err = unix.Openat(at.fd, at.base, flags, 0o644); err != nil {
		return -1, err
	}
	defer func() {
		if err != nil {
			_ = unix.Close(fd) // nothing was written through it
			if at.existing == nil {
				_ = unix.Unlinkat(at.fd, at.base, 0) // it is not as requested
			}
		}
	}()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return -1, err
	}
	if kind := typeOf(st.Mode); kind != "file" {
		return -1, fault.New(fault.NotAFile, "%s: is a %s", u.Path, kind)
	}
	mode, who := u.attributes(at.existing, at.who)
	if int(st.Uid) != who.uid || int(st.Gid) != who.gid {
		if err := unix.Fchown(fd, who.uid, who.gid); err != nil {
			return -1, err
		}
	}
	// A file that changes its owner loses setuid and setgid, unless the mode was requested.
	if st.Mode&0o777 != mode&0o777 || u.Mode != nil {
		if err := unix.Fchmod(fd, mode); err != nil {
			return -1, err
		}
	}
	if u.Attributes != nil {
		if err := setAttributes(fd, u.Facts.Attributes, u.Attributes); err != nil {
			return -1, err
		}
	}
	if st.Size > 0 {
		return fd, unix.Ftruncate(fd, 0)
	}
	return fd, nil
}
