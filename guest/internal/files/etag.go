package files

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
)

// anyETag is the condition that a file exists, whatever it contains (RFC 9110, 13.1.1).
const anyETag = "*"

// placing is held while an upload is put in place. An upload with a condition holds it alone, so
// that no other upload replaces the file between the comparison and the rename.
var placing sync.RWMutex

// etagOf returns the entity tag of a file (RFC 9110, 8.8.3). It changes when the file is replaced
// or written to.
func etagOf(st *unix.Stat_t) string {
	return fmt.Sprintf(`"%x-%x-%x"`, st.Ino, st.Size, st.Mtim.Nano())
}

// expect refuses an upload whose condition the existing file does not meet. existing is nil if
// there is none.
func (u *Upload) expect(existing *unix.Stat_t) error {
	switch {
	case u.IfMatch == "":
		return nil
	case existing == nil:
		return fault.New(fault.PreconditionFailed, "%s: does not exist any more", u.Path)
	case u.IfMatch != anyETag && u.IfMatch != etagOf(existing):
		return fault.New(fault.PreconditionFailed, "%s: has changed: it has the etag %s, not %s", u.Path, etagOf(existing), u.IfMatch)
	default:
		return nil
	}
}

// put renames a finished file from its temporary name to its final one, if the file there meets the
// condition of the upload. Programs inside can still write between the comparison and the rename.
func (u *Upload) put(from int, temporary string, dir int, base string) error {
	if u.IfMatch == "" {
		placing.RLock()
		defer placing.RUnlock()
		return place(from, temporary, dir, base, !u.CreateOnly)
	}
	placing.Lock()
	defer placing.Unlock()
	var st unix.Stat_t
	existing := &st
	if err := unix.Fstatat(dir, base, existing, unix.AT_SYMLINK_NOFOLLOW); err == unix.ENOENT {
		existing = nil
	} else if err != nil {
		return err
	}
	if err := u.expect(existing); err != nil {
		return err
	}
	return place(from, temporary, dir, base, true)
}
