package export

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/etc"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/mountinfo"
)

// mountPoints answers what something is mounted on, but for the root.
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

// unchanged tells the files that are still those of the image below, where the kernel lets that be
// seen; else nil. gVisor's overlay gives a file the device number of the layer that it is in
// (fsimpl/overlay: a file of the lower layer has one that the overlay has made up, one that was
// written to, renamed, or linked has that of the upper layer). Linux's may say one number for both.
func unchanged() func(*unix.Stat_t) bool {
	table, err := mountinfo.Read()
	if err != nil {
		return nil
	}
	for _, m := range table {
		// gVisor names the source of each `none`, and none of its layers.
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

// upperDevice is the device number of a file that is new.
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
