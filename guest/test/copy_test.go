package test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func transfer(source, destination string, more ...string) object {
	o := object{"source": source, "destination": destination}
	for _, name := range more {
		o[name] = true
	}
	return o
}

// describe tells everything about a tree that a copy has to keep. Hard links are told by the first
// path of their file.
func describe(t testing.TB, root string) map[string]string {
	t.Helper()
	seen := map[uint64]string{}
	told := map[string]string{}
	must(t, filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		rel := strings.TrimPrefix(path, root)
		d := fmt.Sprintf("%o %d:%d %d", st.Mode, st.Uid, st.Gid, st.Mtim.Nano())
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			d += fmt.Sprintf(" size %d", st.Size)
			if first, ok := seen[st.Ino]; ok {
				told[rel] = d + " = " + first
				return nil
			}
			seen[st.Ino] = rel
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			d += fmt.Sprintf(" %x blocks %d", b[:min(len(b), 64)], st.Blocks)
			if len(b) > 64 {
				d += fmt.Sprintf(" %08x", crc(b))
			}
		case unix.S_IFLNK:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			d += " -> " + target
		}
		names := make([]byte, 4096)
		n, err := unix.Llistxattr(path, names)
		if err != nil {
			return err
		}
		list := strings.Split(string(names[:n]), "\x00")
		slices.Sort(list)
		for _, name := range list {
			if name != "" {
				value := make([]byte, 4096)
				n, err := unix.Lgetxattr(path, name, value)
				if err != nil {
					return err
				}
				d += fmt.Sprintf(" %s=%x", name, value[:n])
			}
		}
		told[rel] = d
		return nil
	}))
	return told
}

func crc(b []byte) (sum uint32) {
	for _, c := range b {
		sum = sum*31 + uint32(c)
	}
	return sum
}

func same(t testing.TB, a, b map[string]string) {
	t.Helper()
	for path, want := range a {
		if got := b[path]; got != want {
			t.Errorf("%q:\n got %s\nwant %s", path, got, want)
		}
	}
	for path := range b {
		if _, ok := a[path]; !ok {
			t.Errorf("%q: should not be there", path)
		}
	}
}

// fill makes one of everything that a tree can hold and a copy keeps.
func (g *guest) fill(name string) string {
	g.t.Helper()
	root := g.path(name)
	script := `mkdir -p sub/deeper empty && echo hello > file && printf 'x' > 'caf'$'\xe9' && : > zero
ln file sub/hard1; ln file sub/deeper/hard2; ln -s file rel; ln -s /nowhere dangling; ln -s loop loop; ln -s /etc/passwd abs; ln -P dangling sub/hardlink-to-link
mkfifo -m 620 pipe; truncate -s 10M holes; printf end >> holes; printf mid | dd of=holes bs=1 seek=5000000 conv=notrunc status=none
head -c 3000000 /dev/urandom > large; setfattr -n user.note -v hi file; setfattr -n user.dir -v d sub; setfattr -h -n trusted.t -v l rel
printf x > setuid; chown 1:2 setuid; chmod 6751 setuid; chmod 2770 sub; chmod 1777 empty; chmod 000 zero; chown -h 3:4 rel; chown 5:6 sub/deeper
setfacl -m u:7:rwx file 2>/dev/null || true; setfacl -d -m u:7:rwx sub 2>/dev/null || true; setcap cap_net_raw+ep large 2>/dev/null || true
touch -d '2001-02-03 04:05:06.123456789' file holes pipe; touch -h -d '1999-01-01 00:00:00.000000001' rel dangling; touch -d '2002-02-02 02:02:02.020202020' sub/deeper sub empty .`
	must(g.t, os.Mkdir(root, 0o755))
	cmd := exec.Command("bash", "-ec", script)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		g.t.Fatalf("%v: %s", err, out)
	}
	return root
}

func TestACopyKeepsEverything(t *testing.T) {
	g := start(t)
	root := g.fill("tree")
	must(t, os.Chmod(g.dir, 0o2755)) // set-group-ID: what is made in it takes its group
	must(t, os.Chown(g.dir, 0, 9))
	must(t, os.Chmod(g.dir, 0o2755|os.ModeSetgid))
	_ = exec.Command("setfacl", "-d", "-m", "u:8:rwx", g.dir).Run() // default access lists, where there are some
	before := describe(t, root)
	info := g.want(200, "POST", "/v1/files/copy", transfer(root, g.path("new/parents/copy"), "recursive"))
	if info["type"] != "directory" || info["path"] != g.path("new/parents/copy") {
		t.Fatalf("%v", info)
	}
	same(t, before, describe(t, g.path("new/parents/copy")))
	same(t, before, describe(t, root))
	for name := range before {
		if name == "" || strings.Contains(name, "hard") || strings.HasPrefix(name, "/file") {
			continue
		}
		var one unix.Stat_t
		must(t, unix.Lstat(root+name, &one))
		if one.Mode&unix.S_IFMT == unix.S_IFDIR || one.Nlink > 1 {
			continue
		}
		if !strings.Contains(name, "\xe9") { // JSON holds no such name
			g.want(200, "POST", "/v1/files/copy", transfer(root+name, g.path("single"), "overwrite"))
			same(t, describe(t, root+name), describe(t, g.path("single")))
		}
	}
	var holes unix.Stat_t
	must(t, unix.Stat(g.path("new/parents/copy/holes"), &holes))
	if holes.Blocks*512 > 1<<20 {
		t.Fatalf("holes were filled: %d blocks", holes.Blocks)
	}
}

func TestCopyAndMoveRefuseImpossibleRequests(t *testing.T) {
	g := start(t)
	g.write("dir/sub/file", "in")
	file := g.write("file", "content")
	g.write("other", "other")
	must(t, os.Link(file, g.path("hard")))
	must(t, os.Symlink("dir", g.path("dirlink")))
	must(t, os.Symlink("nowhere", g.path("dangling")))
	tree := func() map[string]string {
		told := describe(t, g.dir)
		delete(told, "") // its time tells of what was made in it and removed again
		return told
	}
	before := tree()
	for _, c := range []struct {
		name, source, destination, code string
		status                          int
		flags                           string
		verbs                           string
	}{
		{"missing source", "none", "x/y", "path_not_found", 404, "", "copy move"},
		{"missing source in a file", "file/x", "x", "not_a_directory", 400, "", "copy move"},
		{"directory without recursive", "dir", "x/y", "is_directory", 400, "", "copy"},
		{"directory without recursive onto a file", "dir", "other", "is_directory", 400, "overwrite", "copy"},
		{"onto itself", "file", "file", "invalid_request", 400, "overwrite", "copy move"},
		{"onto another name of itself", "file", "hard", "invalid_request", 400, "overwrite", "copy move"},
		{"directory onto itself", "dir", "dir", "invalid_request", 400, "recursive overwrite", "copy move"},
		{"through a symlink onto itself", "dir/sub", "dirlink/sub", "invalid_request", 400, "recursive overwrite", "copy move"},
		{"into itself", "dir", "dir/new", "invalid_request", 400, "recursive", "copy move"},
		{"deep into itself", "dir", "dir/sub/a/b/c", "invalid_request", 400, "recursive", "copy move"},
		{"into itself through a symlink", "dir", "dirlink/sub/new", "invalid_request", 400, "recursive", "copy move"},
		{"over what holds it", "dir/sub", "dir", "invalid_request", 400, "recursive overwrite", "copy move"},
		{"onto a file", "file", "other", "already_exists", 409, "", "copy move"},
		{"onto a directory", "file", "dir", "already_exists", 409, "", "copy move"},
		{"directory onto a directory", "dir/sub", "small", "already_exists", 409, "recursive", "copy move"},
		{"onto a dangling symlink", "file", "dangling", "already_exists", 409, "", "copy move"},
		{"onto a mount point", "dir", "small", "invalid_request", 400, "recursive overwrite", "copy move"},
		{"below a file", "other", "file/x", "not_a_directory", 400, "", "copy move"},
		{"below a dangling symlink", "other", "dangling/x", "path_not_found", 404, "", "copy move"},
		{"a socket", "control.sock", "x/y", "not_a_file", 400, "", "copy"},
	} {
		for verb := range strings.SplitSeq(c.verbs, " ") {
			t.Run(verb+" "+c.name, func(t *testing.T) {
				g.t = t
				body := transfer(g.path(c.source), g.path(c.destination), strings.Fields(c.flags)...)
				if verb == "move" {
					delete(body, "recursive")
				}
				g.refuses(c.status, c.code, g.dir, "POST", "/v1/files/"+verb, body)
				same(t, before, tree())
			})
		}
	}
}

func TestAFailedCopyNamesItsDestination(t *testing.T) {
	g := start(t)
	g.write("dir/file", "in")
	must(t, os.Symlink("nowhere", g.path("link")))
	must(t, unix.Mkfifo(g.path("pipe"), 0o600))
	for _, source := range []string{"dir", "dir/file", "link", "pipe"} {
		t.Run(source, func(t *testing.T) {
			g.t = t
			e, _ := g.want(404, "POST", "/v1/files/copy", transfer(g.path(source), "/proc/new", "recursive"))["error"].(object)
			if message := fmt.Sprint(e["message"]); message != "/proc/new: no such file or directory" {
				t.Error(message)
			}
		})
	}
}

func TestOverwriteReplacesAndNeverMerges(t *testing.T) {
	g := start(t)
	for _, verb := range []string{"copy", "move"} {
		for _, from := range []string{"file", "dir", "link"} {
			for _, to := range []string{"file", "dir", "emptydir", "link to dir", "dangling", "fifo"} {
				t.Run(verb+" "+from+" over "+to, func(t *testing.T) {
					g.t = t
					base := fmt.Sprintf("%s-%s-%s", verb, from, strings.ReplaceAll(to, " ", "-"))
					source, destination := g.path(base+"/source"), g.path(base+"/destination")
					kept := g.write(base+"/elsewhere/kept", "kept")
					switch from {
					case "file":
						g.write(base+"/source", "new")
					case "dir":
						g.write(base+"/source/new/file", "new")
					case "link":
						must(t, os.Symlink("anywhere", source))
					}
					switch to {
					case "file":
						g.write(base+"/destination", "old")
					case "dir":
						g.write(base+"/destination/old/file", "old")
					case "emptydir":
						must(t, os.Mkdir(destination, 0o700))
					case "link to dir":
						must(t, os.Symlink("elsewhere", destination))
					case "dangling":
						must(t, os.Symlink("nowhere", destination))
					case "fifo":
						must(t, unix.Mkfifo(destination, 0o600))
					}
					want := describe(t, source)
					body := transfer(source, destination, "overwrite")
					if verb == "copy" {
						body["recursive"] = true
					}
					g.want(200, "POST", "/v1/files/"+verb, body)
					same(t, want, describe(t, destination))
					if _, err := os.Lstat(source); (err == nil) != (verb == "copy") {
						t.Fatalf("source: %v", err)
					}
					if g.read(kept) != "kept" || len(g.leftovers()) > 0 {
						t.Fatalf("elsewhere, or left: %v", g.leftovers())
					}
				})
			}
		}
	}
}

func TestAFailedCopyChangesNothing(t *testing.T) {
	g := start(t)
	root := g.fill("tree")
	listener, err := net.Listen("unix", filepath.Join(root, "sub/socket"))
	must(t, err)
	defer listener.Close()
	g.write("old/file", "old")
	before := describe(t, g.path("old"))
	g.refuses(400, "not_a_file", "tree/sub/socket", "POST", "/v1/files/copy", transfer(root, g.path("old"), "recursive", "overwrite"))
	g.refuses(400, "not_a_file", "tree/sub/socket", "POST", "/v1/files/copy", transfer(root, g.path("n/e/w"), "recursive"))
	same(t, before, describe(t, g.path("old")))
	if _, err := os.Stat(g.path("n")); !os.IsNotExist(err) || len(g.leftovers()) > 0 {
		t.Fatalf("left: %v %v", err, g.leftovers())
	}
}

func TestMovesBetweenFileSystems(t *testing.T) {
	g := start(t)
	root := g.fill("tree")
	must(t, os.Remove(root+"/large")) // too much for the small one
	want := describe(t, root)
	for path, d := range want { // blocks are a file system's own affair, and so are trusted attributes of symlinks
		want[path], _, _ = strings.Cut(d, " blocks")
	}
	g.want(200, "POST", "/v1/files/move", transfer(root, g.path("small/moved")))
	if _, err := os.Lstat(root); !os.IsNotExist(err) {
		t.Fatal("the source is still there")
	}
	g.want(200, "POST", "/v1/files/move", transfer(g.path("small/moved"), g.path("back")))
	got := describe(t, g.path("back"))
	for path, d := range got {
		got[path], _, _ = strings.Cut(d, " blocks")
	}
	same(t, want, got)
}

func TestACancelledCopyLeavesNothing(t *testing.T) {
	g := start(t)
	for i := range 3000 {
		g.write(fmt.Sprintf("tree/%d/%d", i%50, i), strings.Repeat("x", 3000))
	}
	ctx, cancel := context.WithCancel(context.Background())
	body, err := json.Marshal(transfer(g.path("tree"), g.path("made/copy"), "recursive"))
	must(t, err)
	request, err := http.NewRequestWithContext(ctx, "POST", "http://guest/v1/files/copy", bytes.NewReader(body))
	must(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if response, err := g.client.Do(request); err == nil {
			response.Body.Close()
		}
	}()
	eventually(t, "it has begun", func() bool { _, err := os.Stat(g.path("made")); return err == nil })
	cancel()
	<-ended
	// It may have been done before it heard of the end: all of it is there, then, or nothing is.
	eventually(t, "all or nothing", func() bool {
		found, _ := filepath.Glob(g.path("made/copy/*/*"))
		hidden, _ := filepath.Glob(g.path("made/.holt-*"))
		return len(hidden) == 0 && (len(found) == 0 || len(found) == 3000)
	})
}

func TestCopiesDeepAndWideTrees(t *testing.T) {
	size := 20_000
	if testing.Short() {
		size = 2_000
	}
	g := start(t)
	script := `import os, sys
size = int(sys.argv[1])
os.mkdir('wide')
for i in range(size): open('wide/%d' % i, 'w').close()
os.mkdir('deep'); os.chdir('deep')
open('first', 'w').close()
top = os.open('.', os.O_RDONLY)
for i in range(size):
    os.mkdir('d'); os.chdir('d')
os.link('first', 'last', src_dir_fd=top)
`
	if r := g.exec(object{"argv": []string{"python3", "-c", script, strconv.Itoa(size)}, "cwd": g.dir}); r.code() != 0.0 {
		t.Skipf("no trees: %s", r.stderr)
	}
	for _, name := range []string{"wide", "deep"} {
		g.want(200, "POST", "/v1/files/copy", transfer(g.path(name), g.path(name+"2"), "recursive"))
	}
	count := `import os, sys
n = 1; os.chdir(sys.argv[1]); first = os.stat('first').st_ino
while 'd' in os.listdir('.'): os.chdir('d'); n += 1
print(n, os.stat('last').st_ino == first)`
	if r := g.exec(object{"argv": []string{"python3", "-c", count, g.path("deep2")}}); r.stdout != fmt.Sprintf("%d True\n", size+1) {
		t.Fatalf("%+v", r)
	}
	if entries, err := os.ReadDir(g.path("wide2")); err != nil || len(entries) != size {
		t.Fatalf("%d %v", len(entries), err)
	}
	for _, name := range []string{"deep", "deep2"} {
		g.want(200, "POST", "/v1/files/remove", object{"path": g.path(name), "recursive": true})
	}
}

// grow makes a random tree.
func grow(t testing.TB, random *rand.Rand, dir string, depth int, files *[]string) {
	t.Helper()
	must(t, os.Mkdir(dir, 0o755))
	for i := range random.IntN(8) {
		path := fmt.Sprintf("%s/%c%d", dir, "ab\xff\xfe \n"[random.IntN(6)], i)
		switch kind := random.IntN(10); {
		case kind < 3 && depth < 5:
			grow(t, random, path, depth+1, files)
		case kind == 3:
			must(t, os.Symlink([]string{"..", "a0", "/", strings.Repeat("x", 300)}[random.IntN(4)], path))
		case kind == 4 && len(*files) > 0:
			must(t, os.Link((*files)[random.IntN(len(*files))], path))
		case kind == 5:
			must(t, unix.Mkfifo(path, 0o640))
		default:
			content := make([]byte, []int{0, 1, 4095, 4096, 4097, 70_000, 1 << 20, 1<<20 + 1}[random.IntN(8)])
			if random.IntN(2) == 0 {
				for j := range min(len(content), 5000) {
					content[j] = byte(random.Uint32())
				}
			}
			must(t, os.WriteFile(path, content, 0o600))
			if random.IntN(4) == 0 {
				must(t, os.Truncate(path, int64(random.IntN(3<<20))))
			}
			if random.IntN(3) == 0 {
				must(t, unix.Lsetxattr(path, "user.x", content[:min(len(content), 100)], 0))
			}
			*files = append(*files, path)
		}
		must(t, unix.Lchown(path, random.IntN(3), random.IntN(3)))
		if st, err := os.Lstat(path); err == nil && st.Mode()&os.ModeSymlink == 0 {
			must(t, unix.Chmod(path, uint32(random.IntN(0o10000))|0o400))
		}
		at := unix.NsecToTimespec(random.Int64N(4e18))
		must(t, unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{at, at}, unix.AT_SYMLINK_NOFOLLOW))
	}
}

func TestARandomTreeIsCopiedLikeCp(t *testing.T) {
	g := start(t)
	seed := uint64(time.Now().UnixNano())
	trees := 40
	if testing.Short() {
		trees = 10
	}
	for i := range trees {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		var all []string
		base := fmt.Sprintf("r%d", i)
		grow(t, random, g.path(base), 0, &all)
		g.want(200, "POST", "/v1/files/copy", transfer(g.path(base), g.path(base+"-ours"), "recursive"))
		if out, err := exec.Command("cp", "-a", "--", g.path(base), g.path(base+"-cp")).CombinedOutput(); err != nil {
			t.Fatalf("cp: %s", out)
		}
		want, got := describe(t, g.path(base+"-cp")), describe(t, g.path(base+"-ours"))
		for _, m := range []map[string]string{want, got} {
			for path, d := range m { // cp finds holes of its own
				head, tail, _ := strings.Cut(d, " blocks ")
				_, tail, _ = strings.Cut(tail, " ")
				m[path] = head + tail
			}
		}
		same(t, want, got)
		if t.Failed() {
			t.Fatalf("seed %d, tree %d", seed, i)
		}
	}
}
