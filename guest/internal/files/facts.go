package files

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/names"
)

// Facts are what Info has only on request, because they cost further system calls.
type Facts struct {
	// Targets is true if a symlink gets ResolvedTarget and TargetType.
	Targets bool
	// Attributes is the beginning of the names of the extended attributes to report, or "" for
	// none. Those of a symlink are those of the file it leads to.
	Attributes string
}

// MaxAttributesBytes limits the names and values of the attributes that are set or reported of one
// file, without the common beginning of the names.
const MaxAttributesBytes = 4096

// maxXattrListBytes is the kernel's limit of a list of names (xattr(7)).
const maxXattrListBytes = 64 << 10

// CheckAttributes refuses a beginning of names that is not of the user's attributes.
func (f Facts) CheckAttributes() error {
	if f.Attributes == "" || strings.HasPrefix(f.Attributes, "user.") && len(f.Attributes) <= 64 && strings.IndexByte(f.Attributes, 0) < 0 {
		return nil
	}
	return fault.New(fault.InvalidRequest, "attributes: begins with user. and has at most 64 bytes")
}

// infoAt describes name in the directory at, as path, with these facts.
func (f Facts) infoAt(at int, name, path string) (*Info, error) {
	info, err := infoAt(at, name, path)
	if err != nil || !f.wants(info.Type) {
		return info, err
	}
	fd, err := unix.Openat(at, name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return info, nil // a symlink that leads nowhere, or a file that was removed meanwhile
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return info, nil // the facts about a target that cannot be read stay unknown
	}
	if f.Targets && info.Type == "symlink" {
		f.addTarget(info, fd, &st)
	}
	if kind := typeOf(st.Mode); f.Attributes != "" && (kind == "file" || kind == "directory") {
		info.Attributes = readAttributes(fd, f.Attributes)
	}
	return info, nil
}

// wants returns true if a file of this type has facts that were requested.
func (f Facts) wants(kind string) bool {
	switch kind {
	case "symlink":
		return f.Targets || f.Attributes != ""
	case "file", "directory":
		return f.Attributes != ""
	default:
		return false
	}
}

// addTarget adds where a symlink leads, in the end.
func (f Facts) addTarget(info *Info, fd int, st *unix.Stat_t) {
	real := make([]byte, unix.PathMax)
	n, err := unix.Readlink(ofDescriptor(fd), real)
	if err != nil || !path.IsAbs(string(real[:n])) {
		return // such as an anonymous file, which has no path
	}
	target, kind := names.Text(path.Clean(string(real[:n]))), typeOf(st.Mode)
	info.ResolvedTarget, info.TargetType = &target, &kind
}

// ofDescriptor returns the name of an open file. Through it, the calls that need a path work on
// descriptors that were opened with O_PATH (open(2)).
func ofDescriptor(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// readAttributes returns the attributes whose names begin with prefix, without it. It leaves out
// those that go beyond MaxAttributesBytes, and all if the file system has none.
func readAttributes(fd int, prefix string) map[string]string {
	found := map[string]string{}
	file := ofDescriptor(fd)
	left := MaxAttributesBytes
	for _, name := range attributeNames(file, prefix) {
		value := make([]byte, MaxAttributesBytes)
		n, err := unix.Getxattr(file, name, value)
		key := name[len(prefix):]
		if err != nil || len(key)+n > left {
			continue // removed meanwhile, or too long to report
		}
		left -= len(key) + n
		found[names.Text(key)] = names.Text(string(value[:n]))
	}
	return found
}

// attributeNames returns the sorted names of the attributes that begin with prefix.
func attributeNames(file, prefix string) (found []string) {
	var small [512]byte
	list := small[:]
	n, err := unix.Listxattr(file, list)
	if err == unix.ERANGE {
		list = make([]byte, maxXattrListBytes)
		n, err = unix.Listxattr(file, list)
	}
	if err != nil {
		return nil // the file system has no attributes
	}
	for name := range strings.SplitSeq(string(list[:n]), "\x00") {
		if strings.HasPrefix(name, prefix) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// setAttributes makes values the only attributes whose names begin with the prefix.
func setAttributes(fd int, prefix string, values map[string]string) error {
	file := ofDescriptor(fd)
	for _, name := range attributeNames(file, prefix) {
		if _, kept := values[name[len(prefix):]]; kept {
			continue
		}
		if err := unix.Removexattr(file, name); err != nil && err != unix.ENODATA {
			return err
		}
	}
	for key, value := range values {
		if err := unix.Setxattr(file, prefix+key, []byte(value), 0); err != nil {
			if err == unix.EOPNOTSUPP {
				return fault.New(fault.InvalidRequest, "the file system has no extended attributes").With("reason", "attributes_unsupported")
			}
			return err
		}
	}
	return nil
}

// CheckValues refuses attributes that the kernel or MaxAttributesBytes does not allow.
func (f Facts) CheckValues(values map[string]string) error {
	if err := f.CheckAttributes(); err != nil {
		return err
	}
	if f.Attributes == "" {
		return fault.New(fault.InvalidRequest, "set_attributes needs attributes, the beginning of their names")
	}
	total := 0
	for key, value := range values {
		if key == "" || len(f.Attributes)+len(key) > unix.NAME_MAX || strings.IndexByte(key, 0) >= 0 {
			return fault.New(fault.InvalidRequest, "set_attributes: a name is 1 to %d bytes without NUL", unix.NAME_MAX-len(f.Attributes))
		}
		total += len(key) + len(value)
	}
	if total > MaxAttributesBytes {
		return fault.New(fault.InvalidRequest, "set_attributes: more than %d bytes", MaxAttributesBytes)
	}
	return nil
}
