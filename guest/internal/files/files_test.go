package files

import "testing"

func FuzzRange(f *testing.F) {
	for _, s := range []string{"bytes=0-", "bytes=-5", "bytes=1-2", "bytes=9223372036854775807-", "bytes=-9223372036854775807", "x"} {
		f.Add(s, int64(10))
	}
	f.Fuzz(func(t *testing.T, header string, size int64) {
		size &= 1<<62 - 1
		r, ok := parseRange(header)
		if !ok || size == 0 {
			return
		}
		if from, length, ok := r.within(size); ok && (from < 0 || length <= 0 || from+length > size) {
			t.Fatalf("%q of %d: %d+%d", header, size, from, length)
		}
	})
}

func FuzzCheckPath(f *testing.F) {
	for _, s := range []string{"/", "/a/b", "/a//b", "/..", "x", "/a\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if CheckPath(path) != nil {
			return
		}
		if dir, name := split(path); dir == "" || name == "" || name == ".." || dir[0] != '/' {
			t.Fatalf("%q: %q %q", path, dir, name)
		}
	})
}

func TestPermissionsAreFormattedLikeLs(t *testing.T) {
	for mode, want := range map[uint32]string{0o644: "rw-r--r--", 0o7777: "rwsrwsrwt", 0o7000: "--S--S--T", 0o4711: "rws--x--x"} {
		if got := permissions(mode); got != want {
			t.Errorf("%o: %s", mode, got)
		}
	}
}
