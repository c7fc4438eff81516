package listing

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/archive"
)

func TestListsEveryKindOfEntryWithItsOwnBytes(t *testing.T) {
	root := t.TempDir()
	must(t, os.MkdirAll(root+"/dir/deep", 0o750))
	must(t, os.WriteFile(root+"/dir/\xff\n", []byte("12345"), 0o640))
	must(t, os.Symlink("no\xfewhere", root+"/dir/deep/link"))
	must(t, unix.Mkfifo(root+"/fifo", 0o600))
	want := []string{"d dir", "d deep", "f \xff\n 5", "l link no\xfewhere", "p fifo"}
	if got := named(list(t, root, &archive.Rules{}, false)); !slices.Equal(got, sorted(want)) {
		t.Fatalf("%q", got)
	}
}

func TestLeavesOutWhatTheRulesHide(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"/mount/inner", "/gone/inner", "/parent/mount"} {
		must(t, os.MkdirAll(root+dir, 0o755))
	}
	must(t, os.WriteFile(root+"/hosts", []byte("changed"), 0o644))
	place := func(name string) string { return root[1:] + name }
	rules := &archive.Rules{
		Mounts: map[string]bool{place("/mount"): true, place("/parent/mount"): true}, Absent: map[string]bool{place("/gone"): true},
		Parents: map[string]bool{place("/parent"): true}, Modes: map[string]uint32{place("/parent"): 0o700},
		Instead: map[string]*archive.Substitute{place("/hosts"): {Header: &tar.Header{Typeflag: tar.TypeReg, Mode: 0o644}, Content: []byte("own")}},
	}
	records := list(t, root, rules, false)
	if got, want := named(records), []string{"d mount", "d mount", "d parent", "f hosts 3"}; !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
	for _, r := range records {
		if r.name == "parent" && (r.flags != flagParent || r.mode != 0o700) || r.name == "mount" && r.flags != flagMount {
			t.Fatalf("%+v", r)
		}
		if r.name == "hosts" && r.digest != sha256.Sum256([]byte("own")) {
			t.Fatalf("%+v", r)
		}
	}
	if got := list(t, root+"/mount/inner", rules, false); len(got) != 1 || got[0].flags != flagMount {
		t.Fatalf("%+v", got)
	}
}

func TestPrunesOnlyOldDirectoriesWithOneTime(t *testing.T) {
	old := time.Now().Add(-time.Hour)
	at := func(ctime, mtime time.Time) bool {
		return isOld(&unix.Stat_t{Ctim: unix.NsecToTimespec(ctime.UnixNano()), Mtim: unix.NsecToTimespec(mtime.UnixNano())})
	}
	whole := started.Truncate(time.Second)
	if !at(whole.Add(-2*time.Second), whole.Add(-2*time.Second)) || at(whole, whole) || at(whole.Add(-2*time.Second+1), whole.Add(-2*time.Second+1)) {
		t.Error("an image with whole seconds")
	}
	if !at(old, old) || at(time.Now(), time.Now()) || at(time.Now(), old) || at(old, old.Add(1)) || at(started, started) {
		t.Fatal("the wrong directories are pruned")
	}
	root := t.TempDir()
	must(t, os.WriteFile(root+"/f", nil, 0o644))
	if got := named(list(t, root, &archive.Rules{}, true)); !slices.Equal(got, []string{"f f 0"}) {
		t.Fatalf("%q", got)
	}
}

func TestListsNothingAtAMissingPathOrBehindASymlink(t *testing.T) {
	root := t.TempDir()
	must(t, os.Mkdir(root+"/dir", 0o755))
	must(t, os.WriteFile(root+"/dir/file", nil, 0o644))
	must(t, os.Symlink("dir", root+"/link"))
	for _, path := range []string{"/none", "/none/file", "/link/file", "/dir/file/below"} {
		if got := list(t, root+path, &archive.Rules{}, false); len(got) != 0 {
			t.Fatalf("%s: %+v", path, got)
		}
	}
	if got := list(t, root+"/link", &archive.Rules{}, false); len(got) != 1 || got[0].kind != 'l' {
		t.Fatalf("%+v", got)
	}
}

func TestCountsEntriesWithTooLongPaths(t *testing.T) {
	root := t.TempDir()
	at, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	must(t, err)
	name := strings.Repeat("n", 250)
	for range 20 {
		must(t, unix.Mkdirat(at, name, 0o755))
		next, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		must(t, err)
		must(t, unix.Close(at))
		at = next
	}
	must(t, unix.Close(at))
	var out bytes.Buffer
	must(t, Tree{Path: root, Rules: &archive.Rules{}}.Write(context.Background(), &out))
	records := parse(t, out.Bytes())
	if last := records[len(records)-1]; last.kind != kindEnd || last.size != 1 {
		t.Fatalf("%+v", last)
	}
}

func TestDescribesEntriesWithDigestAndContent(t *testing.T) {
	root := t.TempDir()
	must(t, os.WriteFile(root+"/small", []byte("small"), 0o644))
	must(t, os.WriteFile(root+"/large", bytes.Repeat([]byte("x"), 1000), 0o600))
	must(t, os.Symlink("small", root+"/link"))
	must(t, unix.Mkfifo(root+"/fifo", 0o600))
	paths := []string{root + "/small", root + "/none", root + "/large", root + "/link", root + "/link/x", root + "/fifo", root}
	var out bytes.Buffer
	must(t, Entries{Paths: paths, Digest: true, MaxBytes: 10, Rules: &archive.Rules{}}.Write(context.Background(), &out))
	got := parse(t, out.Bytes())
	if kinds := string(kindsOf(got)); kinds != "f-fl-pde" {
		t.Fatal(kinds)
	}
	if string(got[0].content) != "small" || got[0].digest != sha256.Sum256([]byte("small")) || got[3].target != "small" {
		t.Fatalf("%+v", got)
	}
	if got[2].flags != flagDigest || got[2].size != 1000 || got[2].digest != sha256.Sum256(bytes.Repeat([]byte("x"), 1000)) {
		t.Fatalf("%+v", got[2])
	}
}

func list(t *testing.T, root string, rules *archive.Rules, prune bool) []record {
	t.Helper()
	var out bytes.Buffer
	must(t, Tree{Path: root, Prune: prune, Rules: rules}.Write(context.Background(), &out))
	records := parse(t, out.Bytes())
	depth := 0
	var inner []record
	for _, r := range records {
		if r.kind == 'd' {
			depth++
		}
		if r.kind == kindUp {
			depth--
		}
		isRoot := r.name == filepath.Base(root) && r.kind == 'd'
		if r.kind != kindUp && r.kind != kindEnd && !isRoot {
			inner = append(inner, r)
		}
	}
	if depth != 0 || records[len(records)-1].kind != kindEnd {
		t.Fatalf("%+v", records)
	}
	return inner
}

func parse(t *testing.T, b []byte) (records []record) {
	t.Helper()
	for len(b) >= headBytes {
		r := record{kind: b[0], flags: b[1], mode: binary.BigEndian.Uint32(b[6:]), size: binary.BigEndian.Uint64(b[18:])}
		name, target, content := int(binary.BigEndian.Uint16(b[2:])), int(binary.BigEndian.Uint16(b[4:])), int(binary.BigEndian.Uint64(b[54:]))
		b = b[headBytes:]
		if r.flags&flagDigest != 0 {
			b = b[copy(r.digest[:], b):]
		}
		r.name, b = string(b[:name]), b[name:]
		r.target, b = string(b[:target]), b[target:]
		r.content, b = b[:content], b[content:]
		records = append(records, r)
	}
	if len(b) != 0 {
		t.Fatalf("%d bytes follow the last record", len(b))
	}
	return records
}

// named returns the kinds, names, sizes and targets of entries, sorted.
func named(records []record) []string {
	var names []string
	for _, r := range records {
		text := fmt.Sprintf("%c %s", r.kind, r.name)
		if r.kind == 'f' {
			text += fmt.Sprintf(" %d", r.size)
		}
		if r.target != "" {
			text += " " + r.target
		}
		names = append(names, text)
	}
	return sorted(names)
}

func sorted(texts []string) []string {
	slices.Sort(texts)
	return texts
}

func kindsOf(records []record) (kinds []byte) {
	for _, r := range records {
		kinds = append(kinds, r.kind)
	}
	return kinds
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
