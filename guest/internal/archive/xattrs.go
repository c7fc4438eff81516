package archive

import (
	"archive/tar"
	"bytes"
	"strings"

	"golang.org/x/sys/unix"
)

// xattrPrefix begins the pax records of extended attributes, as in star(1), GNU tar and bsdtar.
const xattrPrefix = "SCHILY.xattr."

const (
	// maxAttributeBytes is the kernel's limit of a value and of a list of names (xattr(7)).
	maxAttributeBytes = 64 << 10
	// maxRecordBytes keeps an entry's records well below the 1 MiB that archive/tar reads.
	maxRecordBytes = 768 << 10
)

// attributes adds an open file's extended attributes to its header.
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
		// A "=" would end the record's name.
		if total += len(name) + size; total > maxRecordBytes || strings.Contains(name, "=") {
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

// setAttributes sets the extended attributes of an open file from its header. Without all, it sets
// only attributes of users, and not access lists or capabilities. It skips attributes that the file
// system cannot hold or that lack a privilege, as cp -a does.
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
