package test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// apply sends an archive as COPY does; more are further parameters.
func (g *guest) apply(status int, destination, more string, body []byte) object {
	g.t.Helper()
	return g.want(status, "PUT", "/v1/apply?destination="+url.QueryEscape(g.dir+destination)+more, body)
}

// tree describes what is below a directory: one line each, in the order of names.
func tree(t testing.TB, root string) string {
	t.Helper()
	var lines []string
	must(t, filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil || path == root {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		line := fmt.Sprintf("%s %s %d:%d", strings.TrimPrefix(path, root+"/"), info.Mode(), st.Uid, st.Gid)
		if target, err := os.Readlink(path); err == nil {
			line += " -> " + target
		} else if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			must(t, err)
			line += " " + string(content)
		}
		lines = append(lines, line)
		return nil
	}))
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

func wantTree(t testing.TB, root string, lines ...string) {
	t.Helper()
	if got, want := tree(t, root), strings.Join(lines, "\n"); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
}

var copied = func(t *testing.T) []byte {
	return archiveOf(t,
		tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0o700, Uid: 9, Gid: 9},
		tar.Header{Name: "f", Mode: 0o4640, Uid: 5, Gid: 6, Linkname: "new"},
		tar.Header{Name: "sub/", Typeflag: tar.TypeDir, Mode: 0o711, Uid: 7, Gid: 8, ModTime: time.Unix(1000, 0)},
		tar.Header{Name: "sub/g", Mode: 0o600, Linkname: "g"},
		tar.Header{Name: "sub/l", Typeflag: tar.TypeSymlink, Linkname: "g", Mode: 0o777},
		tar.Header{Name: "sub/h", Typeflag: tar.TypeLink, Linkname: "sub/g"},
	)
}

func TestApplyMergesADirectoryLikeCOPY(t *testing.T) {
	g := start(t)
	g.apply(200, "/a/b", "", copied(t))
	wantTree(t, g.dir+"/a", "b drwxr-xr-x 0:0", "b/f urw-r----- 0:0 new", "b/sub drwx--x--x 0:0", "b/sub/g -rw------- 0:0 g", "b/sub/h -rw------- 0:0 g", "b/sub/l Lrwxrwxrwx 0:0 -> g")
	info, err := os.Stat(g.dir + "/a/b/sub")
	must(t, err)
	if info.ModTime().Unix() != 1000 {
		t.Fatal(info.ModTime())
	}

	must(t, os.MkdirAll(g.dir+"/o/sub", 0o755))
	must(t, os.WriteFile(g.dir+"/o/sub/kept", nil, 0o644))
	must(t, os.Symlink("nowhere", g.dir+"/o/sub/g"))
	must(t, os.Symlink("o", g.dir+"/link"))
	g.apply(200, "/link", "&keep_owners=1&mode=640", copied(t))
	wantTree(t, g.dir+"/o", "f -rw-r----- 5:6 new", "sub drw-r----- 7:8", "sub/g -rw-r----- 0:0 g", "sub/h -rw-r----- 0:0 g", "sub/kept -rw-r--r-- 0:0 ", "sub/l Lrwxrwxrwx 0:0 -> g")
}

func TestApplySetsTheGivenOwner(t *testing.T) {
	g := start(t)
	must(t, os.Mkdir(g.dir+"/there", 0o711))
	for chown, want := range map[string]string{"3": "3:3", "daemon": "1:1", "daemon:adm": "1:4", "3:4": "3:4", "daemon:7": "1:7"} {
		at := "/there/" + strings.ReplaceAll(chown, ":", "_")
		g.apply(200, at+"/x", "&chown="+chown, archiveOf(t, tar.Header{Name: "f", Mode: 0o644, Linkname: ""}))
		wantTree(t, g.dir+at, "x drwxr-xr-x "+want, "x/f -rw-r--r-- "+want+" ")
	}
	for _, chown := range []string{"nobody-at-all", "0:no-such-group", "", ":0", "1:2:3"} {
		if chown == "" {
			continue
		}
		g.refuses(400, "invalid_request", "", "PUT", "/v1/apply?destination=/x&chown="+chown, copied(t))
	}
}

func TestApplyPutsAFileAtTheSamePathAsCOPY(t *testing.T) {
	one := archiveOf(t, tar.Header{Name: "f", Mode: 0o644, Linkname: "new"})
	for name, c := range map[string]struct{ destination, want string }{
		"a name that is free":            {"/d/free", "d/free -rw-r--r-- 0:0 new"},
		"a directory":                    {"/d/dir", "d/dir/f -rw-r--r-- 0:0 new"},
		"a directory to be":              {"/d/x/y/", "d/x/y/f -rw-r--r-- 0:0 new"},
		"the directory a link leads to":  {"/d/todir", "d/dir/f -rw-r--r-- 0:0 new"},
		"in place of a link to a file":   {"/d/tofile", "d/tofile -rw-r--r-- 0:0 new"},
		"in place of a link to nowhere":  {"/d/dangling", "d/dangling -rw-r--r-- 0:0 new"},
		"where a link in the way leads":  {"/d/towhere/f", "d/where/f -rw-r--r-- 0:0 new"},
		"in place of a file":             {"/d/file", "d/file -rw-r--r-- 0:0 new"},
		"in the directory that has dots": {"/d/q/../dir/.", "d/dir/f -rw-r--r-- 0:0 new"},
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t)
			must(t, os.MkdirAll(g.dir+"/d/dir", 0o755))
			must(t, os.WriteFile(g.dir+"/d/file", []byte("old"), 0o600))
			for link, target := range map[string]string{"todir": "dir", "tofile": "file", "dangling": "none", "towhere": "where"} {
				must(t, os.Symlink(target, g.dir+"/d/"+link))
			}
			g.apply(200, c.destination, "&single=1", one)
			if got := tree(t, g.dir); !strings.Contains(got+"\n", c.want+"\n") || name != "in place of a file" && !strings.Contains(got, "d/file -rw------- 0:0 old") {
				t.Fatalf("%s", got)
			}
		})
	}
}

func TestApplyRefusesTheSameAsCOPY(t *testing.T) {
	g := start(t)
	must(t, os.MkdirAll(g.dir+"/d/f", 0o755))
	must(t, os.WriteFile(g.dir+"/file", nil, 0o644))
	g.refuses(400, "not_a_directory", "not a directory", "PUT", "/v1/apply?destination="+g.dir+"/file", copied(t))
	g.refuses(400, "not_a_directory", "not a directory", "PUT", "/v1/apply?destination="+g.dir+"/file/x", copied(t))
	g.refuses(400, "is_directory", "f: is a directory", "PUT", "/v1/apply?destination="+g.dir+"/d", copied(t))
	must(t, os.WriteFile(g.dir+"/d/sub", nil, 0o644))
	must(t, os.Remove(g.dir+"/d/f"))
	g.refuses(400, "not_a_directory", "sub", "PUT", "/v1/apply?destination="+g.dir+"/d", copied(t))
	g.refuses(400, "invalid_path", "absolute", "PUT", "/v1/apply?destination=x", copied(t))
	g.refuses(400, "invalid_request", "octal", "PUT", "/v1/apply?destination=/x&mode=99", copied(t))
	g.refuses(400, "invalid_archive", "single file", "PUT", "/v1/apply?single=1&destination="+g.dir+"/q", copied(t))
	for _, h := range []tar.Header{{Name: "/etc/x"}, {Name: "../x"}, {Name: "a/../../x"}, {Name: "x", Typeflag: tar.TypeLink, Linkname: "../file"}, {Name: "x", Typeflag: tar.TypeLink, Linkname: "none"}} {
		g.refuses(400, "invalid_archive", "", "PUT", "/v1/apply?destination="+g.dir+"/q", archiveOf(t, h))
	}
	whole := copied(t)
	g.refuses(400, "invalid_archive", "ends too early", "PUT", "/v1/apply?destination="+g.dir+"/q", whole[:len(whole)-1024])
	g.refuses(507, "disk_full", "", "PUT", "/v1/apply?destination="+g.dir+"/small/x", archiveOf(t, tar.Header{Name: "f", Linkname: strings.Repeat("x", 5<<20)}))
}

func TestApplyFollowsLinksToDirectories(t *testing.T) {
	g := start(t)
	must(t, os.MkdirAll(g.dir+"/r/usr/bin", 0o755))
	must(t, os.Symlink("usr/bin", g.dir+"/r/bin"))
	g.apply(200, "/r", "", archiveOf(t, tar.Header{Name: "bin/", Typeflag: tar.TypeDir, Mode: 0o755}, tar.Header{Name: "bin/x", Mode: 0o755, Linkname: "x"}))
	wantTree(t, g.dir+"/r", "bin Lrwxrwxrwx 0:0 -> usr/bin", "usr drwxr-xr-x 0:0", "usr/bin drwxr-xr-x 0:0", "usr/bin/x -rwxr-xr-x 0:0 x")
}

func TestAddUnpacksArchives(t *testing.T) {
	inner := archiveOf(t, tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0o751, Uid: 5, Gid: 6},
		tar.Header{Name: "/in", Mode: 0o644, Uid: 5, Gid: 6, Linkname: "in"}, tar.Header{Name: "d/x", Uid: 5, Gid: 6, Mode: 0o644, Linkname: "x"})
	for format, archive := range map[string][]byte{"tar": inner, "gzip": piped(t, inner, "gzip"), "bzip2": piped(t, inner, "bzip2"), "xz": piped(t, inner, "xz")} {
		t.Run(format, func(t *testing.T) {
			g := start(t)
			outer := archiveOf(t, tar.Header{Name: "a.bin", Mode: 0o600, Linkname: string(archive)})
			made := g.apply(200, "/z", "&single=1&unpack=1&chown=3", outer)
			wantTree(t, g.dir+"/z", "d drwxr-xr-x 0:0", "d/x -rw-r--r-- 5:6 x", "in -rw-r--r-- 5:6 in")
			info, err := os.Stat(g.dir + "/z")
			must(t, err)
			if info.Mode().Perm() != 0o751 || made["unpacked"] != 1.0 || made["files"] != 2.0 || made["size_bytes"] != 3.0 {
				t.Fatal(info.Mode(), made)
			}
			must(t, os.WriteFile(g.dir+"/file", nil, 0o644))
			g.refuses(400, "not_a_directory", "not a directory", "PUT", "/v1/apply?single=1&unpack=1&destination="+g.dir+"/file", outer)
		})
	}
	g := start(t)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err := io.WriteString(z, strings.Repeat("no archive", 100))
	must(t, err)
	must(t, z.Close())
	for name, content := range map[string]string{"text": "hello", "gz": zipped.String(), "broken": "\x1f\x8b\x08 no gzip", "xz": "\xfd7zXZ\x00 no xz", "bz": "BZh91AY", "": ""} {
		g.apply(200, "/files/", "&single=1&unpack=1&chown=3", archiveOf(t, tar.Header{Name: "f" + name, Mode: 0o640, ModTime: time.Unix(1000, 0), Linkname: content}))
		got, err := os.ReadFile(g.dir + "/files/f" + name)
		must(t, err)
		info, err := os.Stat(g.dir + "/files/f" + name)
		must(t, err)
		if string(got) != content || info.Mode() != 0o640 || info.ModTime().Unix() != 1000 || info.Sys().(*syscall.Stat_t).Uid != 3 {
			t.Fatalf("%s: %q %v", name, got, info)
		}
	}
	outer := archiveOf(t, tar.Header{Name: "x.tar", Linkname: string(inner[:len(inner)-1024])})
	g.refuses(400, "invalid_archive", "x.tar", "PUT", "/v1/apply?unpack=1&destination="+g.dir+"/q", outer)
	left, err := filepath.Glob("/.holt-*")
	must(t, err)
	if len(left) > 0 {
		t.Fatal(left)
	}
}

func piped(t *testing.T, in []byte, program string) []byte {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	must(t, err)
	return out
}

func TestSelectReadsMatchingFiles(t *testing.T) {
	g := start(t)
	for _, name := range []string{"s/a.txt", "s/b.txt", "s/c.md", "s/d/e.txt", "s/d/f/g.txt", "s/.hidden"} {
		g.write(name, name)
	}
	must(t, os.Link(g.dir+"/s/a.txt", g.dir+"/s/d/linked"))
	must(t, os.Symlink("a.txt", g.dir+"/s/link"))
	must(t, os.Symlink("d", g.dir+"/s/dirlink"))
	must(t, os.Symlink("none", g.dir+"/s/dangling"))
	must(t, os.Chown(g.dir+"/s/c.md", 4, 5))
	must(t, unix.Mkfifo(g.dir+"/s/d/fifo", 0o600))
	for name, c := range map[string]struct {
		request string
		headers string
		want    string
	}{
		"one file":              {`{"sources":["DIR/s/a.txt"]}`, "1 1", "a.txt"},
		"a relative path":       {`{"sources":["RELATIVE/s/./d/../c.md"]}`, "1 1", "c.md"},
		"a link":                {`{"sources":["DIR/s/link"]}`, "1 1", "link"},
		"through a link":        {`{"sources":["DIR/s/dirlink/e.txt"]}`, "1 1", "e.txt"},
		"a directory":           {`{"sources":["DIR/s/d"]}`, "1 0", "./ e.txt fifo linked f/ f/g.txt"},
		"a link to a directory": {`{"sources":["DIR/s/dirlink/"]}`, "1 0", "./ e.txt fifo linked f/ f/g.txt"},
		"a pattern":             {`{"sources":["DIR/s/*.txt"]}`, "2 0", "a.txt b.txt"},
		"several":               {`{"sources":["DIR/s/a.txt","DIR/s/[cx].m?"]}`, "2 0", "a.txt c.md"},
		"any depth":             {`{"sources":["DIR/s/**/*.txt"]}`, "4 0", "a.txt b.txt e.txt g.txt"},
		"with parents":          {`{"sources":["DIR/s/d/f/g.txt"],"parents":true}`, "1 0", "PARENTS"},
		"without some":          {`{"sources":["DIR/s/d"],"exclude":["f","**/e.*"]}`, "1 0", "./ fifo linked"},
		"hard links":            {`{"sources":["DIR/s/a.txt","DIR/s/d"]}`, "2 0", "a.txt ./ e.txt fifo linked=a.txt f/ f/g.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			body := strings.ReplaceAll(strings.ReplaceAll(c.request, "DIR", g.dir), "RELATIVE", g.dir[1:])
			status, headers, archive := g.call("POST", "/v1/select", body)
			if got := headers.Get("X-Holt-Matches") + " " + headers.Get("X-Holt-Single-File"); status != 200 || got != c.headers {
				t.Fatal(status, got, string(archive))
			}
			var names []string
			for r := tar.NewReader(bytes.NewReader(archive)); ; {
				h, err := r.Next()
				if err == io.EOF {
					break
				}
				must(t, err)
				if h.Linkname != "" {
					h.Name += "=" + h.Linkname
				}
				names = append(names, h.Name)
			}
			want := c.want
			if want == "PARENTS" {
				want = ""
				for at, part := range strings.Split(g.dir[1:]+"/s/d/f", "/") {
					want += strings.Join(strings.Split(g.dir[1:]+"/s/d/f", "/")[:at], "/")
					if at > 0 {
						want += "/"
					}
					want += part + "/ "
				}
				want += g.dir[1:] + "/s/d/f/g.txt"
			}
			if got := sorted(strings.Join(names, " ")); got != sorted(want) {
				t.Fatalf("got %s, want %s", got, want)
			}
		})
	}
	for _, c := range []struct{ code, request string }{
		{"path_not_found", `{"sources":["` + g.dir + `/none"]}`}, {"path_not_found", `{"sources":["` + g.dir + `/s/*.none"]}`}, {"path_not_found", `{"sources":["` + g.dir + `/s/dangling"]}`},
		{"invalid_request", `{"sources":[]}`}, {"invalid_request", `{"sources":["["]}`}, {"invalid_request", `{"sources":["/"],"exclude":["!x"]}`},
	} {
		status, _, body := g.call("POST", "/v1/select", c.request)
		if !strings.Contains(string(body), c.code) {
			t.Fatal(c.request, status, string(body))
		}
	}
}

func sorted(words string) string {
	list := strings.Fields(words)
	sort.Strings(list)
	return strings.Join(list, " ")
}

func TestSelectedFilesAreAppliedUnchanged(t *testing.T) {
	g := start(t)
	g.write("s/f", "content")
	must(t, os.Chown(g.dir+"/s/f", 4, 5))
	must(t, os.Chmod(g.dir+"/s/f", 0o751|os.ModeSetuid))
	must(t, unix.Setxattr(g.dir+"/s/f", "user.x", []byte("y"), 0))
	must(t, os.Link(g.dir+"/s/f", g.dir+"/s/g"))
	must(t, unix.Mknod(g.dir+"/s/null", unix.S_IFCHR|0o640, int(unix.Mkdev(1, 3))))
	sparse, err := os.Create(g.dir + "/s/sparse")
	must(t, err)
	_, err = sparse.WriteAt([]byte("end"), 300<<20)
	must(t, err)
	_, err = sparse.WriteAt([]byte("middle"), 100<<20+5)
	must(t, err)
	must(t, sparse.Chmod(0o604))
	must(t, sparse.Close())
	at := time.Unix(-5, 123_456_789)
	must(t, os.Chtimes(g.dir+"/s/f", at, at))
	must(t, os.Chtimes(g.dir+"/s/sparse", time.Unix(5, 7), time.Unix(5, 7)))
	status, _, archive := g.call("POST", "/v1/select", `{"sources":["`+g.dir+`/s"]}`)
	if status != 200 || len(archive) > 1<<20 {
		t.Fatal(status, len(archive))
	}
	g.apply(200, "/t/", "&keep_owners=1", archive)
	var a, b unix.Stat_t
	for _, name := range []string{"f", "g", "null", "sparse"} {
		must(t, unix.Lstat(g.dir+"/s/"+name, &a))
		must(t, unix.Lstat(g.dir+"/t/"+name, &b))
		if a.Mode != b.Mode || a.Uid != b.Uid || a.Gid != b.Gid || a.Size != b.Size || a.Mtim != b.Mtim || a.Nlink != b.Nlink || a.Rdev != b.Rdev {
			t.Fatalf("%s: %+v, %+v", name, a, b)
		}
	}
	if b.Blocks > 1000 {
		t.Fatal("the holes are gone", b.Blocks)
	}
	out, err := exec.Command("cmp", g.dir+"/s/sparse", g.dir+"/t/sparse").CombinedOutput()
	if err != nil {
		t.Fatal(string(out))
	}
	value := make([]byte, 8)
	n, err := unix.Getxattr(g.dir+"/t/f", "user.x", value)
	must(t, err)
	if string(value[:n]) != "y" {
		t.Fatal(value[:n])
	}
}

func TestMountsAreRemovedWithoutATrace(t *testing.T) {
	secret := base64.StdEncoding.EncodeToString([]byte("s3cret"))
	g := start(t)
	must(t, os.MkdirAll(g.dir+"/m/there/inner", 0o755))
	g.write("m/there/inner/kept", "kept")
	g.write("m/file", "old")
	must(t, os.Symlink("there", g.dir+"/m/link"))
	long := time.Unix(1000, 5)
	for _, dir := range []string{"/m/there", "/m"} {
		must(t, os.Chtimes(g.dir+dir, long, long))
	}
	before := tree(t, g.dir)
	body := strings.ReplaceAll(`{"mounts":[{"id":"a","target":"DIR/m/link","kind":"directory","mode":"0711","uid":3,"gid":4},
		{"id":"b","target":"DIR/m/there/new/deep","kind":"directory"},{"id":"c","target":"DIR/m/file","kind":"file","content":"`+secret+`"},
		{"id":"d","target":"DIR/m/run/secrets/x","kind":"file","mode":"0440","uid":5,"content":"`+secret+`"}]}`, "DIR", g.dir)
	for range 3 {
		g.want(200, "POST", "/v1/mounts", body)
		got := tree(t, g.dir)
		for _, want := range []string{"m/there drwx--x--x 3:4", "m/there/new/deep drwxr-xr-x 0:0", "m/file -r-------- 0:0 s3cret", "m/run/secrets/x -r--r----- 5:0 s3cret", "m/link Lrwxrwxrwx 0:0 -> there"} {
			if !strings.Contains(got, want+"\n") && !strings.HasSuffix(got, want) {
				t.Fatalf("%s is not in\n%s", want, got)
			}
		}
		g.refuses(409, "conflict", "mounts", "POST", "/v1/export", `{"only_changed":false,"exclude":[]}`)
		g.refuses(409, "conflict", "mounts", "POST", "/v1/quiesce", nil)
		g.apply(200, "/m/there", "", copied(t))
		g.want(200, "DELETE", "/v1/mounts", nil)
		g.want(200, "DELETE", "/v1/mounts", nil)
		if after := tree(t, g.dir); after != before {
			t.Fatalf("before\n%s\nafter\n%s", before, after)
		}
		info, err := os.Stat(g.dir + "/m")
		must(t, err)
		if !info.ModTime().Equal(long) {
			t.Fatal("the directory has another time", info.ModTime())
		}
	}
}

func TestMountsAreRemovedAfterAnyStep(t *testing.T) {
	g := start(t)
	g.write("m/there/kept", "kept")
	body := strings.ReplaceAll(`{"mounts":[{"id":"a","target":"DIR/m/there","kind":"directory"},{"id":"b","target":"DIR/n/o/p","kind":"file","content":"c3g="}]}`, "DIR", g.dir)
	for name, step := range map[string]func() error{
		"replaced it":          func() error { return errorsOf(os.Remove(g.dir+"/m/there"), os.WriteFile(g.dir+"/m/there", nil, 0o600)) },
		"removed it":           func() error { return os.Remove(g.dir + "/m/there") },
		"moved its directory":  func() error { return os.Rename(g.dir+"/m", g.dir+"/moved") },
		"put something beside": func() error { return os.WriteFile(g.dir+"/n/o/mine", []byte("mine"), 0o644) },
		"linked it elsewhere":  func() error { return errorsOf(os.Remove(g.dir+"/m/there"), os.Symlink("/", g.dir+"/m/there")) },
	} {
		g.want(200, "POST", "/v1/mounts", body)
		must(t, step())
		g.want(200, "DELETE", "/v1/mounts", nil)
		if name == "moved its directory" {
			must(t, os.Rename(g.dir+"/moved", g.dir+"/m"))
		}
		wantTree(t, g.dir+"/m", "there drwxr-xr-x 0:0", "there/kept -rw-r--r-- 0:0 kept")
		_, err := os.Stat(g.dir + "/n/o/p")
		if !os.IsNotExist(err) {
			t.Fatal(name, "it is left")
		}
		mine, _ := os.ReadFile(g.dir + "/n/o/mine")
		if (string(mine) == "mine") != (name == "put something beside") {
			t.Fatal(name, string(mine))
		}
		must(t, os.RemoveAll(g.dir+"/n"))
	}
	g.want(200, "POST", "/v1/mounts", body)
	must(t, os.RemoveAll(g.dir+"/m"))
	g.want(200, "DELETE", "/v1/mounts", nil)
}

func TestMountsAreAllOrNone(t *testing.T) {
	g := start(t)
	g.write("m/kept", "kept")
	before := tree(t, g.dir)
	for _, second := range []string{`"target":"/"`, `"target":"/proc"`, `"target":"/run"`, `"target":"relative"`, `"target":"DIR/m/kept/x"`, `"target":"/x","mode":"9"`} {
		body := strings.ReplaceAll(`{"mounts":[{"id":"a","target":"DIR/m","kind":"directory"},{"id":"b","kind":"directory",`+second+`}]}`, "DIR", g.dir)
		if strings.Contains(second, "kept") {
			body = strings.ReplaceAll(`{"mounts":[{"id":"a","target":"DIR/q","kind":"directory"},{"id":"b","kind":"directory",`+second+`}]}`, "DIR", g.dir)
		}
		status, _, answer := g.call("POST", "/v1/mounts", body)
		if status != 400 {
			t.Fatal(second, status, string(answer))
		}
		if after := tree(t, g.dir); after != before {
			t.Fatalf("%s: before\n%s\nafter\n%s", second, before, after)
		}
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
