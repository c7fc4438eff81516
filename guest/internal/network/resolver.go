package network

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/etc"
)

const (
	resolvConf = "/etc/resolv.conf"
	// resolvKept is the place of the image's own file, which may be a symlink, a pipe or a
	// directory.
	resolvKept = "/etc/.holt-resolv.conf"
	// maxResolvBytes is larger than the guest's own file.
	maxResolvBytes = 4 << 10
)

// resolver points /etc/resolv.conf to the runtime's resolver, and restores the earlier file.
type resolver struct {
	written []byte // the content that the guest has written; nil while the file is the image's
	mounted []byte // the earlier content, if the file is a mount point, which cannot be renamed
}

// point makes programs use the resolver at address.
func (r *resolver) point(address string) error {
	content := fmt.Appendf(nil, "nameserver %s\noptions edns0\n", address)
	if r.written == nil {
		r.mounted = nil
		// A file of the image at this name would be restored in place of resolv.conf.
		_ = keepingTimes(func() error { return os.RemoveAll(resolvKept) })
		err := keepingTimes(func() error { return os.Rename(resolvConf, resolvKept) })
		switch {
		case err == nil, errors.Is(err, unix.ENOENT):
		case errors.Is(err, unix.EBUSY):
			if r.mounted, err = etc.ReadRegular(resolvConf, maxResolvBytes); err != nil {
				return err
			}
		default:
			return err
		}
	}
	if err := etc.Replace(resolvConf, content, 0o644); err != nil {
		return err
	}
	r.written = content
	return nil
}

// restore restores the earlier file, unless a program has replaced the guest's file.
func (r *resolver) restore() error {
	if r.written == nil {
		return nil
	}
	written := r.written
	r.written = nil
	now, err := etc.ReadRegular(resolvConf, maxResolvBytes)
	if err == nil && !bytes.Equal(now, written) {
		_ = os.RemoveAll(resolvKept) // the program's file replaces it
		return nil
	}
	if r.mounted != nil {
		return etc.Replace(resolvConf, r.mounted, 0o644)
	}
	// In two steps, because the earlier entry may be a directory.
	for _, step := range []func() error{
		func() error { return os.Remove(resolvConf) },
		func() error { return os.Rename(resolvKept, resolvConf) },
	} {
		// ENOENT: there was no earlier file.
		if err := keepingTimes(step); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	return nil
}

func keepingTimes(change func() error) error { return etc.KeepTimes("/etc", change) }

// kept returns the place of the earlier /etc/resolv.conf, and true if the file is there.
func (r *resolver) kept() (path string, waits bool) {
	if r.written == nil || r.mounted != nil {
		return resolvKept, false
	}
	now, err := etc.ReadRegular(resolvConf, maxResolvBytes)
	return resolvKept, err == nil && bytes.Equal(now, r.written)
}
