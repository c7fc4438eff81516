package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
)

func TestMain(m *testing.M) {
	unix.Umask(0) // as the guest sets it
	os.Exit(m.Run())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, path string) int {
	t.Helper()
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	return fd
}

func defaults() Options {
	return Options{UID: os.Geteuid(), GID: os.Getegid(), MaxEntries: 1000}
}

// unpack makes an archive's tree in a directory of its own, beside a file that must stay what it
// is.
func unpack(t testing.TB, body io.Reader, o Options) (root string, totals Totals, err error) {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/secret", []byte("secret"), 0o600))
	root = dir + "/root"
	must(t, os.Mkdir(root, 0o700))
	fd := open(t, root)
	defer unix.Close(fd)
	totals, err = Unpack(context.Background(), fd, body, o)
	if b, problem := os.ReadFile(dir + "/secret"); problem != nil || string(b) != "secret" {
		t.Fatalf("what is beside the tree was changed: %q %v", b, problem)
	}
	if beside, _ := os.ReadDir(dir); len(beside) != 2 {
		t.Fatalf("something was made beside the tree: %v", beside)
	}
	return root, totals, err
}

// entries is an archive of headers; Linkname of a file is its content.
func entries(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		content := ""
		if h.Typeflag == 0 || h.Typeflag == tar.TypeReg {
			h.Typeflag, content, h.Linkname = tar.TypeReg, h.Linkname, ""
			h.Size = int64(len(content))
		}
		if h.Mode == 0 && h.Typeflag != tar.TypeXGlobalHeader {
			h.Mode = 0o644
		}
		must(t, w.WriteHeader(&h))
		_, err := io.WriteString(w, content)
		must(t, err)
	}
	must(t, w.Close())
	return b.Bytes()
}

// rawHeader is a ustar block with this name, whatever a decent writer would say.
func rawHeader(name string, kind byte, link string, size int64, change func([]byte)) []byte {
	b := make([]byte, 512)
	copy(b, name)
	copy(b[100:], "0000644\x000000000\x000000000\x00")
	copy(b[124:], fmt.Sprintf("%011o\x00", size))
	copy(b[136:], "00000000000\x00")
	b[156] = kind
	copy(b[157:], link)
	copy(b[257:], "ustar\x0000")
	if change != nil {
		change(b)
	}
	copy(b[148:], "        ")
	sum := 0
	for _, c := range b {
		sum += int(c)
	}
	copy(b[148:], fmt.Sprintf("%06o\x00 ", sum))
	return b
}

var trailer = make([]byte, 1024)

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func zipped(t testing.TB, b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(b)
	must(t, err)
	must(t, w.Close())
	return out.Bytes()
}

// pax is an extended header for the entry that follows.
func pax(records ...string) []byte {
	body := ""
	for _, r := range records {
		n := len(r) + 3
		for len(fmt.Sprint(n))+len(r)+2 != n {
			n++
		}
		body += fmt.Sprintf("%d %s\n", n, r)
	}
	return join(rawHeader("x", 'x', "", int64(len(body)), nil), []byte(body), make([]byte, (512-len(body)%512)%512))
}

func TestRefusesInvalidAndEscapingEntries(t *testing.T) {
	file := tar.Header{Name: "f", Linkname: "x"}
	good := entries(t, tar.Header{Name: "d/", Typeflag: tar.TypeDir, Mode: 0o755}, file)
	flip := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 1
		return b
	}
	cases := []struct {
		name  string
		body  []byte
		code  fault.Code
		holds string
	}{
		{"..", entries(t, tar.Header{Name: "../secret", Linkname: "x"}), fault.InvalidArchive, "leads out"},
		{".. inside", entries(t, tar.Header{Name: "a/../../secret", Linkname: "x"}), fault.InvalidArchive, "leads out"},
		{".. directory", entries(t, tar.Header{Name: "../", Typeflag: tar.TypeDir}), fault.InvalidArchive, "leads out"},
		{".. by pax", join(pax("path=../secret"), rawHeader("ok", '0', "", 0, nil), trailer), fault.InvalidArchive, "leads out"},
		{".. by a GNU long name", join(rawHeader("././@LongLink", 'L', "", 10, nil), append([]byte("../secret\x00"), make([]byte, 502)...), rawHeader("ok", '0', "", 0, nil), trailer), fault.InvalidArchive, "leads out"},
		{"absolute", entries(t, tar.Header{Name: "/tmp/holt-absolute", Linkname: "x"}), fault.InvalidArchive, "absolute"},
		{"a file below a symlink", entries(t, tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: ".."}, tar.Header{Name: "l/secret", Linkname: "x"}), fault.InvalidArchive, "no directory"},
		{"a directory that is a symlink", entries(t, tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: ".."}, tar.Header{Name: "l/", Typeflag: tar.TypeDir, Mode: 0o777}), fault.InvalidArchive, "no directory"},
		{"a file over a symlink", entries(t, tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "../secret"}, tar.Header{Name: "l", Linkname: "x"}), fault.InvalidArchive, "twice"},
		{"a symlink to nothing", join(rawHeader("l", '2', "", 0, nil), trailer), fault.InvalidArchive, "no possible path"},
		{"a hard link to outside", entries(t, tar.Header{Name: "h", Typeflag: tar.TypeLink, Linkname: "../secret"}), fault.InvalidArchive, "leads out"},
		{"an absolute hard link", entries(t, tar.Header{Name: "h", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}), fault.InvalidArchive, "leads out"},
		{"a hard link through a symlink", entries(t, tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: ".."}, tar.Header{Name: "h", Typeflag: tar.TypeLink, Linkname: "l/secret"}), fault.InvalidArchive, "not before it"},
		{"a hard link to nothing", entries(t, tar.Header{Name: "h", Typeflag: tar.TypeLink, Linkname: "none"}), fault.InvalidArchive, "not before it"},
		{"a hard link to the tree", entries(t, tar.Header{Name: "h", Typeflag: tar.TypeLink, Linkname: "."}), fault.InvalidArchive, "not before it"},
		{"a hard link to a directory", entries(t, tar.Header{Name: "d/", Typeflag: tar.TypeDir}, tar.Header{Name: "h", Typeflag: tar.TypeLink, Linkname: "d"}), fault.InvalidArchive, "a directory"},
		{"a character device", entries(t, tar.Header{Name: "null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}), fault.InvalidArchive, "a device"},
		{"a block device", entries(t, tar.Header{Name: "sda", Typeflag: tar.TypeBlock, Devmajor: 8}), fault.InvalidArchive, "a device"},
		{"a kind that is not known", join(rawHeader("v", 'V', "", 0, nil), trailer), fault.InvalidArchive, "not known"},
		{"a file twice", entries(t, file, file), fault.InvalidArchive, "twice"},
		{"a file twice by another name", entries(t, file, tar.Header{Name: "./f", Linkname: "y"}), fault.InvalidArchive, "twice"},
		{"a file where a directory is", entries(t, tar.Header{Name: "f/x", Linkname: "y"}, file), fault.InvalidArchive, "twice"},
		{"a directory where a file is", entries(t, file, tar.Header{Name: "f/x", Linkname: "y"}), fault.InvalidArchive, "no directory"},
		{"a file that is the tree", entries(t, tar.Header{Name: ".", Linkname: "y"}), fault.InvalidArchive, "the tree itself"},
		{"no name", join(rawHeader("", '0', "", 0, nil), trailer), fault.InvalidArchive, "no name"},
		{"a part that is too long", entries(t, tar.Header{Name: strings.Repeat("x", 256), Linkname: "y"}), fault.InvalidArchive, "too long"},
		{"a name that is too long", entries(t, tar.Header{Name: strings.Repeat("x/", 2048) + "y", Linkname: "y"}), fault.InvalidArchive, "too long"},
		{"a name with NUL", join(pax("path=a\x00b"), rawHeader("ok", '0', "", 0, nil), trailer), fault.InvalidArchive, "cannot be read"},
		{"a pax record that lies about its length", join(rawHeader("x", 'x', "", 10, nil), append([]byte("99 path=x\n"), make([]byte, 502)...), rawHeader("ok", '0', "", 0, nil), trailer), fault.InvalidArchive, "cannot be read"},
		{"a negative size by pax", join(pax("size=-1"), rawHeader("ok", '0', "", 0, nil), trailer), fault.InvalidArchive, "cannot be read"},
		{"a size that never comes", join(rawHeader("f", '0', "", 1<<32, nil), trailer), fault.InvalidArchive, "too early"},
		{"a sparse map that goes backwards", join(pax("GNU.sparse.map=100,10,50,10", "GNU.sparse.numblocks=2", "GNU.sparse.size=200"), rawHeader("f", '0', "", 20, nil), make([]byte, 512), trailer), fault.InvalidArchive, "cannot be read"},
		{"a wrong checksum", flip(3), fault.InvalidArchive, "cannot be read"},
		{"cut in a header", good[:700], fault.InvalidArchive, "too early"},
		{"cut between entries", good[:512], fault.InvalidArchive, "too early"},
		{"cut before its end", good[:len(good)-1024], fault.InvalidArchive, "too early"},
		{"nothing at all", nil, fault.InvalidArchive, "too early"},
		{"no archive", bytes.Repeat([]byte("hello "), 200), fault.InvalidArchive, "cannot be read"},
		{"gzip that is cut", zipped(t, good)[:60], fault.InvalidArchive, "too early"},
		{"gzip with a wrong checksum", func() []byte { b := zipped(t, good); b[len(b)-6] ^= 1; return b }(), fault.InvalidArchive, "cannot be read"},
		{"gzip of something else", zipped(t, []byte("hello")), fault.InvalidArchive, "too early"},
		{"much behind its end", join(good, make([]byte, 2<<20)), fault.TooLarge, "follow the end"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := unpack(t, bytes.NewReader(c.body), defaults())
			if err == nil {
				t.Fatal("it was unpacked")
			}
			if f := fault.As(err); f.Code != c.code || !strings.Contains(f.Message, c.holds) {
				t.Fatalf("%s: %s", f.Code, f.Message)
			}
		})
	}
}

func TestLimitsTheUnpackedSize(t *testing.T) {
	refused := func(t *testing.T, body io.Reader, o Options, holds string) {
		t.Helper()
		_, _, err := unpack(t, body, o)
		if err == nil || fault.As(err).Code != fault.TooLarge || !strings.Contains(err.Error(), holds) {
			t.Fatalf("%v", err)
		}
	}
	t.Run("a gzip bomb", func(t *testing.T) {
		r, w := io.Pipe()
		go func() {
			zip, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
			_, _ = zip.Write(rawHeader("f", '0', "", 7<<30, nil))
			zeros := make([]byte, 1<<20)
			for range 7 << 10 {
				if _, err := zip.Write(zeros); err != nil {
					return
				}
			}
			_ = zip.Close()
			_ = w.Close()
		}()
		refused(t, r, defaults(), "times its size")
		_ = r.Close()
	})
	t.Run("a sparse bomb", func(t *testing.T) {
		size := int64(1) << 50
		body := join(pax(fmt.Sprintf("GNU.sparse.size=%d", size), "GNU.sparse.numblocks=1", fmt.Sprintf("GNU.sparse.map=%d,0", size)), rawHeader("f", '0', "", 0, nil), trailer)
		refused(t, bytes.NewReader(body), defaults(), "times its size")
	})
	t.Run("too many entries", func(t *testing.T) {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for i := range 1001 {
			must(t, w.WriteHeader(&tar.Header{Name: fmt.Sprint(i), Mode: 0o644}))
		}
		must(t, w.Close())
		refused(t, &b, defaults(), "max_entries")
	})
	t.Run("more bytes than were allowed", func(t *testing.T) {
		o := defaults()
		o.MaxBytes = 100_000
		refused(t, bytes.NewReader(entries(t, tar.Header{Name: "f", Linkname: strings.Repeat("x", 200_000)})), o, "max_bytes")
	})
}

func TestAcceptsUnusualValidArchives(t *testing.T) {
	long := strings.Repeat("d/", 1500) + "f" // more levels than stay open
	body := entries(t,
		tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": "a commit"}},
		tar.Header{Name: "./a//b/./c", Linkname: "content"},
		tar.Header{Name: "a/", Typeflag: tar.TypeDir, Mode: 0o700, ModTime: time.Unix(5, 0)},
		tar.Header{Name: "a/", Typeflag: tar.TypeDir, Mode: 0o711, ModTime: time.Unix(1, 500), Format: tar.FormatPAX},
		tar.Header{Name: "hard", Typeflag: tar.TypeLink, Linkname: "./a/b/c"},
		tar.Header{Name: "out", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		tar.Header{Name: "linked", Typeflag: tar.TypeLink, Linkname: "out"},
		tar.Header{Name: "pipe", Typeflag: tar.TypeFifo, Mode: 0o620},
		tar.Header{Name: "caf\xe9", Linkname: "bytes"},
		tar.Header{Name: "suid", Linkname: "x", Mode: 0o4755},
		tar.Header{Name: long, Linkname: "deep"},
		tar.Header{Name: "far", Linkname: "x", ModTime: time.Unix(1<<40, 7), Format: tar.FormatPAX},
	)
	for _, how := range [][]byte{body, zipped(t, body)} {
		root, totals, err := unpack(t, bytes.NewReader(how), defaults())
		must(t, err)
		if totals.Symlinks != 1 || totals.SizeBytes != 7+5+1+4+1 || totals.Files != 9 || totals.Directories != 1502 {
			t.Fatalf("%+v", totals)
		}
		if b, err := os.ReadFile(root + "/hard"); err != nil || string(b) != "content" {
			t.Fatalf("%q %v", b, err)
		}
		if b, err := os.ReadFile(root + "/caf\xe9"); err != nil || string(b) != "bytes" {
			t.Fatalf("%q %v", b, err)
		}
		if target, err := os.Readlink(root + "/linked"); err != nil || target != "/etc/passwd" {
			t.Fatalf("%q %v", target, err)
		}
		st, err := os.Stat(root + "/a")
		must(t, err)
		if st.Mode().Perm() != 0o711 || st.ModTime().UnixNano() != 1_000_000_500 {
			t.Fatalf("%v %v", st.Mode(), st.ModTime())
		}
		if st, err := os.Stat(root + "/suid"); err != nil || st.Mode()&os.ModeSetuid != 0 {
			t.Fatalf("%v %v", st.Mode(), err)
		}
		if b, err := os.ReadFile(root + "/" + long); err != nil || string(b) != "deep" {
			t.Fatalf("%q %v", b, err)
		}
		if st, err := os.Stat(root); err != nil || st.Mode().Perm() != 0o755 {
			t.Fatalf("%v %v", st.Mode(), err)
		}
	}
}

func TestATreeIsUnchangedAfterPackAndUnpack(t *testing.T) {
	root := t.TempDir()
	must(t, os.MkdirAll(root+"/d/e", 0o750))
	must(t, os.WriteFile(root+"/d/f", bytes.Repeat([]byte("data"), 100_000), 0o640))
	must(t, os.Link(root+"/d/f", root+"/d/e/hard"))
	must(t, os.Symlink("nowhere", root+"/l"))
	must(t, unix.Mkfifo(root+"/p", 0o600))
	must(t, os.WriteFile(root+"/empty", nil, 0o444))
	must(t, os.WriteFile(root+"/n\xff", []byte("x"), 0o600))
	sparse, err := os.Create(root + "/sparse")
	must(t, err)
	_, err = sparse.WriteAt([]byte("end"), 50<<20)
	must(t, err)
	must(t, sparse.Close())
	for i, name := range []string{"d/f", "d/e", "d", "empty"} {
		must(t, os.Chtimes(filepath.Join(root, name), time.Time{}, time.Unix(int64(1000+i), 123_456_789)))
	}
	hasXattrs := unix.Setxattr(root+"/d/f", "user.test", []byte("v\x00=\n"), 0) == nil
	for _, format := range []Format{Tar, TarGz} {
		var b bytes.Buffer
		must(t, Pack(context.Background(), open(t, root), "/r", format, &b))
		o := defaults()
		o.KeepOwners = true
		copied, _, err := unpack(t, &b, o)
		must(t, err)
		want, got := describe(t, root), describe(t, copied)
		if want != got {
			t.Fatalf("%s\nbecame\n%s", want, got)
		}
		var st unix.Stat_t
		must(t, unix.Stat(copied+"/sparse", &st))
		if st.Blocks*512 > 1<<20 {
			t.Errorf("the hole takes %d bytes", st.Blocks*512)
		}
		if value := make([]byte, 10); hasXattrs {
			if n, err := unix.Getxattr(copied+"/d/f", "user.test", value); err != nil || string(value[:n]) != "v\x00=\n" {
				t.Errorf("%q %v", value, err)
			}
		}
	}
}

func describe(t *testing.T, root string) string {
	var b strings.Builder
	names := map[uint64]string{}
	must(t, filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		must(t, err)
		var st unix.Stat_t
		must(t, unix.Lstat(path, &st))
		name := strings.TrimPrefix(path, root)
		if _, ok := names[st.Ino]; !ok {
			names[st.Ino] = name
		}
		target, _ := os.Readlink(path)
		fmt.Fprintf(&b, "%q %o %d:%d %d %s %q\n", name, st.Mode, st.Uid, st.Gid, st.Mtim.Nano(), names[st.Ino], target)
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			must(t, err)
			fmt.Fprintf(&b, " %d %x\n", len(content), len(bytes.TrimRight(content, "\x00")))
		}
		return nil
	}))
	return b.String()
}

func TestReportsEntriesThatAnArchiveCannotHold(t *testing.T) {
	root := t.TempDir()
	must(t, os.WriteFile(root+"/f", nil, 0o600))
	must(t, unix.Mknod(root+"/s", unix.S_IFSOCK|0o600, 0))
	var b bytes.Buffer
	must(t, Pack(context.Background(), open(t, root), "/r", Tar, &b))
	r := tar.NewReader(bytes.NewReader(b.Bytes()))
	comment := ""
	for h, err := r.Next(); err == nil; h, err = r.Next() {
		comment += h.PAXRecords["comment"]
	}
	if comment != `{"holt_left_out":[{"path":"s","reason":"socket"}],"more":0}` {
		t.Fatal(comment)
	}
	_, totals, err := unpack(t, &b, defaults())
	must(t, err)
	if totals.Files != 1 {
		t.Fatalf("%+v", totals)
	}
}

func TestMergesCompletelyOrNotAtAll(t *testing.T) {
	make := func(files ...string) string {
		dir := t.TempDir()
		for _, f := range files {
			path := dir + "/" + strings.TrimSuffix(f, "/")
			if strings.HasSuffix(f, "/") {
				must(t, os.MkdirAll(path, 0o755))
			} else if link, target, ok := strings.Cut(path, "->"); ok {
				must(t, os.Symlink(target, link))
			} else {
				must(t, os.MkdirAll(filepath.Dir(path), 0o755))
				must(t, os.WriteFile(path, []byte(dir), 0o644))
			}
		}
		return dir
	}
	merge := func(from, to string) error {
		a, b := open(t, from), open(t, to)
		defer unix.Close(a)
		defer unix.Close(b)
		return Merge(context.Background(), a, b, "/to")
	}
	from, to := make("a", "d/new", "d/old", "e/x"), make("d/old", "d/kept", "z")
	must(t, merge(from, to))
	for name, source := range map[string]string{"a": from, "d/new": from, "d/old": from, "d/kept": to, "e/x": from, "z": to} {
		if b, err := os.ReadFile(to + "/" + name); err != nil || string(b) != source {
			t.Errorf("%s: %q %v", name, b, err)
		}
	}
	outside := make("f")
	for what, old := range map[string]string{"a symlink for a directory": "d->" + outside, "a file for a directory": "d", "a directory for a file": "a/"} {
		from, to := make("0", "a", "d/f"), make(old)
		if err := merge(from, to); err == nil {
			t.Errorf("%s: merged", what)
		}
		if entries, _ := os.ReadDir(to); len(entries) != 1 {
			t.Errorf("%s: %v was moved", what, entries)
		}
		if b, _ := os.ReadFile(outside + "/f"); string(b) != outside {
			t.Errorf("%s: changed what the link leads to", what)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(entries(f, tar.Header{Name: "d/", Typeflag: tar.TypeDir, Mode: 0o755}, tar.Header{Name: "d/f", Linkname: "content"}, tar.Header{Name: "h", Typeflag: tar.TypeLink, Linkname: "d/f"}))
	f.Add(entries(f, tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: ".."}, tar.Header{Name: "l/secret", Linkname: "x"}))
	f.Add(join(pax("path=../secret", "size=3"), rawHeader("ok", '0', "", 0, nil), []byte("abc"), make([]byte, 509), trailer))
	f.Add(join(pax("GNU.sparse.size=100", "GNU.sparse.numblocks=1", "GNU.sparse.map=90,10"), rawHeader("f", '0', "", 10, nil), make([]byte, 512), trailer))
	f.Add(zipped(f, entries(f, tar.Header{Name: "f", Linkname: "x"})))
	f.Fuzz(func(t *testing.T, body []byte) {
		o := defaults()
		o.MaxBytes, o.MaxEntries = 1<<20, 50
		root, _, err := unpack(t, bytes.NewReader(body), o)
		if err != nil && fault.As(err).Code == fault.Internal {
			t.Fatal(err)
		}
		var again bytes.Buffer
		if err == nil { // what was unpacked can be packed
			must(t, Pack(context.Background(), open(t, root), "/r", Tar, &again))
		}
	})
}

func FuzzSplitName(f *testing.F) {
	for _, s := range []string{"a/b", "../a", "/a", "a/./b//", ".", "a\x00", "a/..", "..."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		parts, err := splitName(name)
		if err != nil {
			return
		}
		for _, part := range parts {
			if part == "" || part == "." || part == ".." || strings.ContainsAny(part, "/\x00") || len(part) > 255 {
				t.Fatalf("%q: %q", name, parts)
			}
		}
	})
}
