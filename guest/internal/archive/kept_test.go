package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestUnchangedEntriesAreSentAsNames(t *testing.T) {
	root := t.TempDir()
	must(t, os.MkdirAll(root+"/dir/deep", 0o755))
	must(t, os.WriteFile(root+"/old", bytes.Repeat([]byte("x"), 100_000), 0o644))
	must(t, os.Link(root+"/old", root+"/dir/too"))
	must(t, os.Symlink("nowhere", root+"/dir/deep/link"))
	must(t, unix.Mkfifo(root+"/dir/fifo\xff", 0o600))
	must(t, os.WriteFile(root+"/dir/new", []byte("new"), 0o644))
	others, names := packUnchanged(t, root, &Rules{}, root+"/dir/new")
	want := []string{"dir/deep/link", "dir/fifo\xff", "dir/too", "old"}
	if !slices.Equal(names, want) || !slices.Equal(others, []string{"./", "dir/", "dir/deep/", "dir/new new"}) {
		t.Fatalf("%q %q", names, others)
	}
}

func TestRenamedEntriesAreSentWithContent(t *testing.T) {
	root := t.TempDir()
	must(t, os.WriteFile(root+"/aside", []byte("1"), 0o644))
	must(t, os.WriteFile(root+"/there", []byte("2"), 0o644))
	must(t, os.WriteFile(root+"/gone", []byte("3"), 0o644))
	must(t, os.WriteFile(root+"/kept", []byte("4"), 0o644))
	rules := &Rules{Moved: map[string]string{"aside": "there"}, Absent: map[string]bool{"gone": true}}
	others, names := packUnchanged(t, root, rules, "")
	if !slices.Equal(names, []string{"kept"}) || !slices.Equal(others, []string{"./", "there 1"}) {
		t.Fatalf("%q %q", names, others)
	}
}

func TestListsOfNamesHaveALimit(t *testing.T) {
	root := t.TempDir()
	var want []string
	for i := range 1000 {
		name := fmt.Sprintf("%s-%d", strings.Repeat("n", 200), i)
		must(t, os.WriteFile(root+"/"+name, nil, 0o644))
		want = append(want, name)
	}
	slices.Sort(want)
	if _, names := packUnchanged(t, root, &Rules{}, ""); !slices.Equal(names, want) {
		t.Fatalf("%d names", len(names))
	}
}

// packUnchanged packs a tree in which only one file has changed. It returns the entries, with their
// content, and the paths in the lists of names, both sorted.
func packUnchanged(t *testing.T, root string, rules *Rules, changed string) (others, names []string) {
	t.Helper()
	var fresh unix.Stat_t
	if changed != "" {
		must(t, unix.Stat(changed, &fresh))
	}
	rules.Unchanged = func(st *unix.Stat_t) bool { return st.Ino != fresh.Ino }
	var packed bytes.Buffer
	must(t, PackBy(context.Background(), open(t, root), root, rules, &packed))
	for r := tar.NewReader(&packed); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		must(t, err)
		content, err := io.ReadAll(r)
		must(t, err)
		if h.PAXRecords[recordUnchanged] != "names" {
			others = append(others, strings.TrimSpace(h.Name+" "+string(content)))
			continue
		}
		if len(content) > keptBytes+1000 {
			t.Fatalf("a list has %d bytes", len(content))
		}
		dir := ""
		for text := range strings.SplitSeq(strings.TrimSuffix(string(content), "\x00"), "\x00") {
			if strings.HasSuffix(text, "/") {
				dir = strings.TrimPrefix(text, "./")
			} else {
				names = append(names, dir+text)
			}
		}
	}
	slices.Sort(others)
	slices.Sort(names)
	return others, names
}
