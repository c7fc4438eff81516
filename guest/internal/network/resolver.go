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
	// resolvKept is where the image's own waits, whatever it is: a link, a pipe, a directory.
	resolvKept = "/etc/.holt-resolv.conf"
	// maxResolvBytes is more than such a file of ours is.
	maxResolvBytes = 4 << 10
)

// resolver keeps /etc/resolv.conf pointed at the runtime's resolver, and puts back what was there.
type resolver struct {
	written []byte // what this has written; nil while the file is the image's
	mounted []byte // what the file held where it is a mount, which cannot be moved aside
}

// point makes the resolver the one that programs ask.
func (r *resolver) point(address string) error {
	content := fmt.Appendf(nil, "nameserver %s\noptions edns0\n", address)
	if r.written == nil {
		r.mounted = nil
		_ = keepingTimes(func() error { return os.RemoveAll(resolvKept) }) // what an image has left there would be put back as its own
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

// restore puts back what was there before, unless somebody inside has written a file of their own
// since.
func (r *resolver) restore() error {
	if r.written == nil {
		return nil
	}
	written := r.written
	r.written = nil
	now, err := etc.ReadRegular(resolvConf, maxResolvBytes)
	if err == nil && !bytes.Equal(now, written) {
		_ = os.RemoveAll(resolvKept) // theirs takes its place
		return nil
	}
	if r.mounted != nil {
		return etc.Replace(resolvConf, r.mounted, 0o644)
	}
	// In two steps, for what was there may be a directory.
	for _, step := range []func() error{
		func() error { return os.Remove(resolvConf) },
		func() error { return os.Rename(resolvKept, resolvConf) },
	} {
		if err := keepingTimes(step); err != nil && !errors.Is(err, unix.ENOENT) { // there may have been none
			return err
		}
	}
	return nil
}

func keepingTimes(change func() error) error { return etc.KeepTimes("/etc", change) }

// kept is the path under which what /etc/resolv.conf is without this waits, and whether it does.
func (r *resolver) kept() (path string, waits bool) {
	if r.written == nil || r.mounted != nil {
		return resolvKept, false
	}
	now, err := etc.ReadRegular(resolvConf, maxResolvBytes)
	return resolvKept, err == nil && bytes.Equal(now, r.written)
}
