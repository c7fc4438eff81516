package archive

import (
	"archive/tar"
	"bytes"
	"strings"

	"golang.org/x/sys/unix"
)

// xattrPrefix begins the pax records of extended attributes, as star(1), GNU tar and bsdtar write
// them.
const xattrPrefix = "SCHILY.xattr."

const (
	// maxAttributeBytes is the kernel's own bound of a value and of a list of names (xattr(7)).
	maxAttributeBytes = 64 << 10
	// maxRecordBytes keeps an entry's records well below what archive/tar reads back, 1 MiB.
	maxRecordBytes = 768 << 10
)

// attributes puts an open file's extended attributes into its header.
func (p *packer) attributes(h *tar.Header, fd int) error {
	var small [512]byte
	names := small[:]
	n, err := unix.Flistxattr(fd, names)
	if err == unix.ERANGE {
		names = make([]byte, maxAttributeBytes)
		n, err = unix.Flistxattr(fd, names)
	}
	if err != nil || n == 0 {
		return ignoreUnsupported(err)
	}
	value := make([]byte, maxAttributeBytes)
	total := 0
	for _, raw := range bytes.Split(bytes.TrimSuffix(names[:n], []byte{0}), []byte{0}) {
		name := string(raw)
		size, err := unix.Fgetxattr(fd, name, value)
		if err == unix.ENODATA { // removed meanwhile
			continue
		}
		if err != nil {
			if err := ignoreUnsupported(err); err != nil {
				return err
			}
			continue
		}
		if total += len(name) + size; total > maxRecordBytes || strings.Contains(name, "=") { // a record's name ends at the sign
			p.leaveOut(h.Name, "the extended attribute "+name)
			continue
		}
		if h.PAXRecords == nil {
			h.PAXRecords = map[string]string{}
		}
		h.PAXRecords[xattrPrefix+name] = string(value[:size])
	}
	return nil
}

// setAttributes gives an open file the extended attributes of its header. Those that only the
// system may set (access lists, capabilities) come only where owners are kept; what the file system
// cannot hold, or a privilege is missing for, is left out, as cp -a does.
func setAttributes(fd int, h *tar.Header, all bool) error {
	for record, value := range h.PAXRecords {
		name, ok := strings.CutPrefix(record, xattrPrefix)
		if !ok || name == "" || !(all || strings.HasPrefix(name, "user.")) {
			continue
		}
		err := unix.Fsetxattr(fd, name, []byte(value), 0)
		if err == unix.EPERM && !strings.HasPrefix(name, "user.") {
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
