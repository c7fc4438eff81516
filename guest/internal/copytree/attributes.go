package copytree

import (
	"bytes"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attributed is a file whose extended attributes are read or written. It is an open file or, if fd
// is negative, a path whose last part is not followed.
type attributed struct {
	fd   int
	path string
}

func (a attributed) list(b []byte) (int, error) {
	if a.fd >= 0 {
		return unix.Flistxattr(a.fd, b)
	}
	return unix.Llistxattr(a.path, b)
}

func (a attributed) get(name string, b []byte) (int, error) {
	if a.fd >= 0 {
		return unix.Fgetxattr(a.fd, name, b)
	}
	return unix.Lgetxattr(a.path, name, b)
}

func (a attributed) set(name string, value []byte) error {
	if a.fd >= 0 {
		return unix.Fsetxattr(a.fd, name, value, 0)
	}
	return unix.Lsetxattr(a.path, name, value, 0)
}

// CopyAttributes copies the extended attributes of one open file to another.
func CopyAttributes(from, to int) error { return copyAttributes(openFile(from), openFile(to)) }

// maxAttributeBytes is the kernel's limit of a value and of a list of names (xattr(7)).
const maxAttributeBytes = 64 << 10

// copyAttributes copies extended attributes, including access lists and file capabilities. It skips
// attributes that the destination's file system cannot hold, or that need a missing privilege, as
// cp -a does.
func copyAttributes(from, to attributed) error {
	var small [512]byte
	names := small[:]
	n, err := from.list(names)
	if err == unix.ERANGE {
		names = make([]byte, maxAttributeBytes)
		n, err = from.list(names)
	}
	if err != nil {
		return ignoreUnsupported(err)
	}
	if n == 0 {
		return nil
	}
	value := make([]byte, maxAttributeBytes)
	for _, name := range bytes.Split(bytes.TrimSuffix(names[:n], []byte{0}), []byte{0}) {
		size, err := from.get(string(name), value)
		if err == unix.ENODATA { // removed meanwhile
			continue
		}
		if err == nil {
			err = to.set(string(name), value[:size])
		}
		if err == unix.EPERM && !strings.HasPrefix(string(name), "user.") {
			continue
		}
		if err := ignoreUnsupported(err); err != nil {
			return err
		}
	}
	return nil
}

func ignoreUnsupported(err error) error {
	if err == unix.EOPNOTSUPP || err == unix.ENOSYS {
		return nil
	}
	return err
}

// setTimes sets an open file's times; utimensat(2) with a null path means the descriptor itself.
func setTimes(fd int, st *unix.Stat_t) error {
	times := [2]unix.Timespec{st.Atim, st.Mtim}
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&times[0])), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
