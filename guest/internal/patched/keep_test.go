package patched

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestCopyInTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("code"), 0o700); err != nil {
		t.Fatal(err)
	}
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(watch)
	if _, err := unix.InotifyAddWatch(watch, path, unix.IN_OPEN); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		most  time.Duration
		opens bool
	}{{-time.Second, false}, {time.Minute, true}} {
		newSearch(c.most).copy(file{path, 0})
		_, err := unix.Read(watch, make([]byte, unix.SizeofInotifyEvent+unix.NAME_MAX+1))
		if opened := err == nil; opened != c.opens {
			t.Errorf("%v: opened %v, %v", c.most, opened, err)
		}
	}
}
