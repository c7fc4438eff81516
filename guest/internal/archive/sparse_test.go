package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestPaxRecordLengthIncludesItself(t *testing.T) {
	for n := range 1200 {
		record := paxRecord("key", strings.Repeat("x", n))
		length, rest, _ := strings.Cut(record, " ")
		if length != strconv.Itoa(len(record)) || !strings.HasPrefix(rest, "key=") || !strings.HasSuffix(record, "\n") {
			t.Fatalf("%d: %q", n, record)
		}
	}
}

func TestSparseFilesKeepTheirContent(t *testing.T) {
	root := t.TempDir()
	for name, parts := range map[string]map[int64]string{
		"empty":                    {},
		"end":                      {10 << 20: "end"},
		"begin":                    {0: "begin"},
		"several":                  {5: "a", 1 << 20: strings.Repeat("b", 10_000), 3 << 20: "c", 9<<20 + 77: "d"},
		strings.Repeat("long", 50): {1 << 20: "x"},
	} {
		file, err := os.Create(root + "/" + name)
		must(t, err)
		must(t, file.Truncate(12<<20+1))
		for at, text := range parts {
			_, err := file.WriteAt([]byte(text), at)
			must(t, err)
		}
		must(t, file.Close())
		must(t, os.Chown(root+"/"+name, 5, 6))
		must(t, os.Chmod(root+"/"+name, 0o640))
		must(t, os.Chtimes(root+"/"+name, time.Unix(7, 8), time.Unix(7, 8)))
		if err := unix.Setxattr(root+"/"+name, "user.key", []byte("va\nlue"), 0); err != nil && err != unix.EOPNOTSUPP {
			t.Fatal(err)
		}
	}
	var packed bytes.Buffer
	must(t, PackBy(context.Background(), open(t, root), root, &Rules{Sparse: true}, &packed))
	if packed.Len() > 1<<20 {
		t.Fatalf("the archive has %d bytes", packed.Len())
	}
	count := 0
	for r := tar.NewReader(&packed); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		must(t, err)
		if h.Typeflag == tar.TypeDir {
			continue
		}
		count++
		content, err := io.ReadAll(r)
		must(t, err)
		want, err := os.ReadFile(root + "/" + h.Name)
		must(t, err)
		if !bytes.Equal(content, want) || h.Uid != 5 || h.Gid != 6 || h.Mode != 0o640 || !h.ModTime.Equal(time.Unix(7, 8)) {
			t.Fatalf("%s: %+v", h.Name, h)
		}
		value := make([]byte, 16)
		if n, err := unix.Getxattr(root+"/"+h.Name, "user.key", value); err == nil && h.PAXRecords[xattrPrefix+"user.key"] != string(value[:n]) {
			t.Fatalf("%s: %q", h.Name, h.PAXRecords)
		}
	}
	if count != 5 {
		t.Fatal(count)
	}
}

func TestExcludesAreMatchedPartByPart(t *testing.T) {
	for pattern, names := range map[string][2]string{
		"a":                               {"a a/b a/b/c", "b b/a"},
		"*.md":                            {"x.md .md x.md/y", "d/x.md x.mdx"},
		"**/x":                            {"x a/x a/b/x a/x/c", "xa a/xb"},
		"a/**/b":                          {"a/b a/c/b a/c/d/b", "a b a/c"},
		"**":                              {"a a/b", ""},
		"a/**":                            {"a/b a/b/c", "a b"},
		"/a/b/":                           {"a/b a/b/c", "a b"},
		strings.Repeat("**/a/", 30) + "z": {strings.Repeat("a/", 40) + "z", strings.Repeat("a/", 200) + "b"},
	} {
		exclude, err := (&Selection{Exclude: []string{pattern}}).Excluder()
		must(t, err)
		for want, list := range []string{1: names[0], 0: names[1]} {
			for name := range strings.FieldsSeq(list) {
				if exclude(name) != (want == 1) {
					t.Errorf("%s: %s: %v", pattern, name, want == 0)
				}
			}
		}
	}
}

func FuzzApply(f *testing.F) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []tar.Header{
		{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755}, {Name: "d/", Typeflag: tar.TypeDir, Mode: 0o700}, {Name: "d/f", Size: 3, Mode: 0o644},
		{Name: "d/l", Typeflag: tar.TypeSymlink, Linkname: "f"}, {Name: "h", Typeflag: tar.TypeLink, Linkname: "d/f"}, {Name: "p", Typeflag: tar.TypeFifo},
	} {
		if err := w.WriteHeader(&h); err != nil {
			f.Fatal(err)
		}
		_, _ = w.Write([]byte("abc")[:h.Size])
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes(), true, false)
	f.Add(b.Bytes(), false, true)
	f.Add(b.Bytes()[:700], false, false)
	f.Fuzz(func(t *testing.T, archive []byte, single, unpack bool) {
		dir := t.TempDir()
		must(t, os.WriteFile(dir+"/outside", []byte("outside"), 0o600))
		must(t, os.Mkdir(dir+"/in", 0o755))
		a := Application{Destination: dir + "/in/x/", Single: single, Unpack: unpack, MaxEntries: 100}
		_, _ = Apply(context.Background(), a, bytes.NewReader(archive)) // whatever it is, it ends
		names, err := os.ReadDir(dir)
		must(t, err)
		outside, err := os.ReadFile(dir + "/outside")
		must(t, err)
		if len(names) != 2 || string(outside) != "outside" {
			t.Fatalf("%v %q", names, outside)
		}
	})
}

func FuzzPatterns(f *testing.F) {
	f.Add("**/a/*.go", "x/a/b.go")
	f.Add("**/**/**/**/x", "a/b/c/d/e/f/g/h")
	f.Add("[", "a")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		s := Selection{Exclude: []string{pattern}}
		exclude, err := s.Excluder()
		if err == nil && exclude != nil {
			exclude(name)
		}
	})
}
