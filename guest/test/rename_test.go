package test

import (
	"os"
	"testing"
)

func TestAPlainMoveIsARename(t *testing.T) {
	g := start(t)
	move := func(from, to string) object {
		return object{"source": g.path(from), "destination": g.path(to), "plain": true, "user": "daemon"}
	}
	a, b := g.write("a", "a"), g.write("b", "b")
	g.want(200, "POST", "/v1/files/move", move("a", "b"))
	if g.read(b) != "a" {
		t.Fatal("a file does not replace a file")
	}
	if _, err := os.Lstat(a); !os.IsNotExist(err) {
		t.Fatalf("%v", err)
	}
	g.want(200, "POST", "/v1/files/move", move("b", "b"))
	g.write("full/x", "x")
	must(t, os.MkdirAll(g.path("empty"), 0o755))
	g.write("tree/y", "y")
	g.refuses(409, "directory_not_empty", "", "POST", "/v1/files/move", move("tree", "full"))
	g.refuses(400, "is_directory", "", "POST", "/v1/files/move", move("b", "empty"))
	g.refuses(400, "not_a_directory", "", "POST", "/v1/files/move", move("tree", "b"))
	g.refuses(400, "invalid_request", "inside", "POST", "/v1/files/move", move("tree", "tree/z"))
	g.refuses(404, "path_not_found", "nowhere", "POST", "/v1/files/move", move("nowhere", "x"))
	g.want(200, "POST", "/v1/files/move", move("tree", "empty"))
	if g.read(g.path("empty/y")) != "y" {
		t.Fatal("a directory does not replace an empty one")
	}
	g.want(200, "POST", "/v1/files/move", move("b", "made/for/b"))
	if parent := g.want(200, "GET", "/v1/files/stat?"+query(g.path("made/for")), nil); parent["user"] != "daemon" {
		t.Fatalf("%v", parent)
	}
}

func TestAPlainMoveBetweenFileSystemsReplacesTheSame(t *testing.T) {
	g := start(t)
	move := func(from, to string) object {
		return object{"source": g.path(from), "destination": "/run/" + to, "plain": true}
	}
	inside := func(command, want string) {
		t.Helper()
		if r := g.exec(object{"command": command}); r.stdout != want {
			t.Fatalf("%s: %q", command, r.stdout)
		}
	}
	g.write("a", "a")
	g.write("tree/y", "y")
	inside("mkdir -p /run/m/full/x /run/m/empty && echo old > /run/m/f", "")
	g.refuses(409, "directory_not_empty", "", "POST", "/v1/files/move", move("tree", "m/full"))
	g.refuses(400, "is_directory", "", "POST", "/v1/files/move", move("a", "m/empty"))
	g.refuses(400, "not_a_directory", "", "POST", "/v1/files/move", move("tree", "m/f"))
	g.want(200, "POST", "/v1/files/move", move("a", "m/f"))
	g.want(200, "POST", "/v1/files/move", move("tree", "m/empty"))
	inside("cat /run/m/f /run/m/empty/y", "ay")
	if _, err := os.Lstat(g.path("tree")); !os.IsNotExist(err) {
		t.Fatalf("%v", err)
	}
}

func TestRemovalOfAMissingPathCanBeSuccess(t *testing.T) {
	g := start(t)
	g.refuses(404, "path_not_found", "", "POST", "/v1/files/remove", object{"path": g.path("a/b"), "recursive": true})
	g.want(200, "POST", "/v1/files/remove", object{"path": g.path("a/b"), "recursive": true, "missing_ok": true})
	g.want(200, "POST", "/v1/files/remove", object{"path": g.path("b"), "recursive": true, "missing_ok": true})
	file := g.write("f", "x")
	g.refuses(400, "not_a_directory", "", "POST", "/v1/files/remove", object{"path": file + "/x", "missing_ok": true})
	g.want(200, "POST", "/v1/files/remove", object{"path": file, "missing_ok": true})
}

func TestMkdirTellsADirectoryFromAFile(t *testing.T) {
	g := start(t)
	must(t, os.Mkdir(g.path("d"), 0o755))
	must(t, os.Symlink("d", g.path("to-d")))
	g.write("f", "x")
	must(t, os.Symlink("nowhere", g.path("broken")))
	mkdir := func(name string) object { return object{"path": g.path(name), "parents": true} }
	g.want(200, "POST", "/v1/files/mkdir", mkdir("d"))
	g.want(200, "POST", "/v1/files/mkdir", mkdir("to-d"))
	g.refuses(409, "already_exists", "", "POST", "/v1/files/mkdir", mkdir("f"))
	g.refuses(409, "already_exists", "", "POST", "/v1/files/mkdir", mkdir("broken"))
	g.refuses(400, "not_a_directory", "", "POST", "/v1/files/mkdir", mkdir("f/x"))
}

func TestFilesThatTheKernelMakesAreReadToTheirEnd(t *testing.T) {
	g := start(t)
	for path, want := range map[string]string{"/proc/sys/kernel/ostype": "Linux\n", "/proc/sys/kernel/cap_last_cap": ""} {
		status, _, b := g.call("GET", "/v1/files/content?"+query(path), nil)
		if status != 200 || want != "" && string(b) != want || len(b) == 0 {
			t.Fatalf("%s: %d %q", path, status, b)
		}
	}
	// sysfs says 4096 bytes of each of its files.
	want, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil {
		t.Skip("no sysfs here")
	}
	if status, _, b := g.call("GET", "/v1/files/content?path=/sys/kernel/mm/transparent_hugepage/enabled", nil); status != 200 || string(b) != string(want) {
		t.Fatalf("%d %q", status, b)
	}
}
