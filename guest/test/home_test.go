package test

import (
	"net/url"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// withHome makes a home below the test's directory for a new account.
func (g *guest) withHome(name string) string {
	g.t.Helper()
	home := g.path("homes/" + name)
	must(g.t, os.MkdirAll(home, 0o755))
	must(g.t, os.Chown(home, 4321, 4321))
	entry := name + ":x:4321:4321::" + home + ":/bin/sh"
	if r := g.exec(object{"command": "echo '" + entry + "' >> /etc/passwd"}); r.code() != 0.0 {
		g.t.Fatalf("%v", r)
	}
	return home
}

func TestPathsBeginAtTheHomeOfAnAccount(t *testing.T) {
	g := start(t)
	home := g.withHome("ada")
	must(t, os.MkdirAll(home+"/d", 0o755))
	for name, want := range map[string]string{
		"": home, "~": home, "~/": home, "~/d": home + "/d", "d": home + "/d", "./d/": home + "/d", "d/..//d": home + "/d",
		home + "//d/.": home + "/d", "/": "/", "/../..": "/", "~/../ada/d": home + "/d",
	} {
		if info := g.want(200, "GET", "/v1/files/stat?home_of=ada&"+query(name), nil); info["path"] != want {
			t.Fatalf("%q: %v", name, info["path"])
		}
		if list := g.want(200, "GET", "/v1/files/list?home_of=ada&"+query(name), nil); list["entries"] == nil {
			t.Fatalf("%q: %v", name, list)
		}
	}
	made := g.want(201, "POST", "/v1/files/mkdir", object{"home_of": "ada", "path": "new/sub", "parents": true, "user": "ada"})
	if made["path"] != home+"/new/sub" || made["uid"] != 4321.0 {
		t.Fatalf("%v", made)
	}
	wrote := g.want(201, "PUT", "/v1/files/content?home_of=ada&user=ada&path=new/f", "x")
	if wrote["path"] != home+"/new/f" || g.read(home+"/new/f") != "x" {
		t.Fatalf("%v", wrote)
	}
	if _, _, b := g.call("GET", "/v1/files/content?home_of=ada&path=new/f", nil); string(b) != "x" {
		t.Fatalf("%q", b)
	}
	moved := g.want(200, "POST", "/v1/files/move", object{"home_of": "ada", "source": "new/f", "destination": "~/new/g"})
	if moved["path"] != home+"/new/g" {
		t.Fatalf("%v", moved)
	}
	g.want(200, "POST", "/v1/files/remove", object{"home_of": "ada", "path": "new", "recursive": true})
	if root := g.want(200, "GET", "/v1/files/stat?home_of=root&path=", nil); root["path"] != "/root" {
		t.Fatalf("%v", root)
	}
}

func TestErrorsNameTheResolvedPathAndTheMissingAccount(t *testing.T) {
	g := start(t)
	home := g.withHome("ada")
	missing := g.refusal(404, "GET", "/v1/files/stat?home_of=ada&path=no/where", nil)
	if missing["details"].(object)["path"] != home+"/no/where" {
		t.Fatalf("%v", missing)
	}
	for _, account := range []string{"nobody-here", "", "4321", "ada:ada"} {
		f := g.refusal(400, "GET", "/v1/files/stat?path=x&home_of="+url.QueryEscape(account), nil)
		if f["code"] != "invalid_request" || f["details"].(object)["reason"] != "no_such_account" {
			t.Fatalf("%q: %v", account, f)
		}
	}
	g.refuses(400, "invalid_path", "", "GET", "/v1/files/stat?"+query("x"), nil)
	g.refuses(400, "invalid_path", "NUL", "GET", "/v1/files/stat?home_of=ada&"+query("a\x00b"), nil)
}

func TestCommandsBeginInAPathOfTheAccount(t *testing.T) {
	g := start(t)
	home := g.withHome("ada")
	must(t, os.MkdirAll(home+"/d", 0o755))
	for cwd, want := range map[string]string{"": home, "~/d": home + "/d", "d": home + "/d", "/tmp/../etc": "/etc"} {
		if r := g.exec(object{"command": "pwd", "user": "ada", "home_of": "ada", "cwd": cwd}); r.stdout != want+"\n" {
			t.Fatalf("%q: %q", cwd, r.stdout)
		}
	}
	if r := g.exec(object{"command": "pwd", "user": "ada", "home_of": "ada"}); r.stdout != home+"\n" {
		t.Fatalf("without cwd: %q", r.stdout)
	}
	f := g.refusal(400, "POST", "/v1/processes", object{"id": "n", "command": "pwd", "home_of": "ada", "cwd": "none"})
	if d := f["details"].(object); d["reason"] != "no_such_directory" || d["path"] != home+"/none" {
		t.Fatalf("%v", f)
	}
	f = g.refusal(400, "POST", "/v1/processes", object{"id": "n", "command": "pwd", "home_of": "eve"})
	if f["details"].(object)["reason"] != "no_such_account" {
		t.Fatalf("%v", f)
	}
	g.refuses(400, "invalid_request", "session", "POST", "/v1/processes", object{"id": "n", "command": "pwd", "home_of": "ada", "session": "s"})
}

func TestSymlinksHaveTheirTargetOnRequest(t *testing.T) {
	g := start(t)
	g.write("w/f", "12345")
	must(t, os.Mkdir(g.path("w/d"), 0o755))
	must(t, os.Symlink("f", g.path("w/first")))
	must(t, os.Symlink("../w/first", g.path("w/second")))
	must(t, os.Symlink("d", g.path("w/to-d")))
	must(t, os.Symlink("nowhere", g.path("w/broken")))
	must(t, os.Symlink("circle", g.path("w/circle")))
	must(t, unix.Mkfifo(g.path("w/p"), 0o600))
	must(t, os.Symlink("p", g.path("w/to-p")))
	want := map[string][2]any{
		"first": {g.path("w/f"), "file"}, "second": {g.path("w/f"), "file"}, "to-d": {g.path("w/d"), "directory"},
		"broken": {nil, nil}, "circle": {nil, nil}, "to-p": {g.path("w/p"), "fifo"}, "f": {nil, nil}, "d": {nil, nil}, "p": {nil, nil},
	}
	seen := 0
	for _, entry := range g.want(200, "GET", "/v1/files/list?targets=1&"+query(g.path("w")), nil)["entries"].([]any) {
		info := entry.(object)
		stat := g.want(200, "GET", "/v1/files/stat?targets=1&"+query(info["path"].(string)), nil)
		for _, one := range []object{info, stat} {
			if w := want[info["name"].(string)]; one["resolved_target"] != w[0] || one["target_type"] != w[1] {
				t.Fatalf("%v", one)
			}
		}
		seen++
	}
	if seen != len(want) {
		t.Fatalf("%d entries", seen)
	}
	if plain := g.want(200, "GET", "/v1/files/stat?"+query(g.path("w/first")), nil); plain["target_type"] != nil {
		t.Fatalf("not requested: %v", plain)
	}
}
