package export

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/etc"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/mountinfo"
)

// mountPoints returns all mount points except the root.
func mountPoints() (paths []string, err error) {
	table, err := mountinfo.Read()
	if err != nil {
		return nil, fault.New(fault.Internal, "the mounts cannot be read: %s", err)
	}
	for _, m := range table {
		if m.Point != "/" {
			paths = append(paths, m.Point)
		}
	}
	return paths, nil
}

// unchanged returns a function that reports true for files of the image below, or nil if the kernel
// does not show that. gVisor's overlay gives a file the device number of its layer
// (fsimpl/overlay). A file of the lower layer has a number that the overlay has made up. A file
// that was written to, renamed or linked has the number of the upper layer. Linux's overlay may
// return one number for both.
func unchanged() func(*unix.Stat_t) bool {
	table, err := mountinfo.Read()
	if err != nil {
		return nil
	}
	for _, m := range table {
		// gVisor names each source `none`, and does not show its layers.
		if m.Point == "/" && (m.Kind != "overlay" || m.Source != "none" || strings.Contains(m.Options, "lowerdir=")) {
			return nil
		}
	}
	upper, ok := upperDevice()
	if !ok {
		return nil
	}
	return func(st *unix.Stat_t) bool { return st.Dev != upper }
}

// upperDevice returns the device number of a new file.
func upperDevice() (device uint64, ok bool) {
	_ = etc.KeepTimes("/", func() error {
		file, err := os.CreateTemp("/", ".holt-export-")
		if err != nil {
			return err
		}
		defer os.Remove(file.Name())
		defer file.Close()
		var st unix.Stat_t
		if err = unix.Fstat(int(file.Fd()), &st); err == nil {
			device, ok = st.Dev, true
		}
		return err
	})
	return device, ok
}
