package test

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// member is an entry of a tar with its content.
type member struct {
	tar.Header
	content string
}

// selected answers what a selection holds, by name.
func (g *guest) selected(source string) map[string]member {
	g.t.Helper()
	status, _, archive := g.call("POST", "/v1/select", `{"sources":["`+source+`"]}`)
	if status != 200 {
		g.t.Fatalf("%s: %d %s", source, status, archive)
	}
	found := map[string]member{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return found
		}
		must(g.t, err)
		content, err := io.ReadAll(r)
		must(g.t, err)
		found[h.Name] = member{*h, string(content)}
	}
}

// wantAsBelow compares files of the runtime's /etc, as they are copied, with those of the layer
// below, which is this machine's own.
func (g *guest) wantAsBelow(when string, names ...string) map[string]member {
	g.t.Helper()
	found := g.selected("/etc")
	for name, m := range found {
		if strings.Contains(name, "holt") || strings.Contains(m.Linkname, "holt") || strings.Contains(m.content, "Holt") {
			g.t.Errorf("%s: %s -> %s", when, name, m.Linkname)
		}
	}
	for _, name := range names {
		info, err := os.Lstat("/etc/" + name)
		m, there := found[name]
		if os.IsNotExist(err) || !there {
			if there || err == nil {
				g.t.Errorf("%s: %s: there %v, below %v", when, name, there, err)
			}
			continue
		}
		must(g.t, err)
		if info.Mode().Perm() != m.FileInfo().Mode().Perm() || !info.ModTime().Equal(m.ModTime) {
			g.t.Errorf("%s: %s: %v %v, below %v %v", when, name, m.FileInfo().Mode(), m.ModTime, info.Mode(), info.ModTime())
		}
		if target, err := os.Readlink("/etc/" + name); err == nil {
			if m.Linkname != target {
				g.t.Errorf("%s: %s -> %s, below %s", when, name, m.Linkname, target)
			}
			continue
		}
		content, err := os.ReadFile("/etc/" + name)
		must(g.t, err)
		if m.content != string(content) {
			g.t.Errorf("%s: %s has other content than below", when, name)
		}
	}
	return found
}

func TestOutputOfTheGuestIsNotCopied(t *testing.T) {
	for _, path := range []string{"/etc/ssl/certs/ca-certificates.crt", "/usr/sbin/update-ca-certificates"} {
		if _, err := os.Stat(path); err != nil {
			t.Skip("needs the package ca-certificates")
		}
	}
	names := []string{"hosts", "hostname", "machine-id", "resolv.conf", "passwd", "ssl/certs/ca-certificates.crt"}
	g := start(t)
	g.wantAsBelow("bound", names...)
	one, two := authority(t, "One"), authority(t, "Two")
	g.setNetwork("create", one)
	g.wantAsBelow("with a network", names...)
	g.setNetwork("create", two)
	g.wantAsBelow("with another network", names...)
	g.unsetNetwork()
	g.wantAsBelow("without a network", names...)

	// Programs of the runtime find the certificate and write it elsewhere.
	g.setNetwork("create", one)
	if said := g.sh("update-ca-certificates --fresh"); !strings.Contains(said, "done") {
		t.Fatal(said)
	}
	if !strings.Contains(g.sh("cat /etc/ssl/certs/ca-certificates.crt; ls /etc/ssl/certs"), "holt-runtime.pem") {
		t.Fatal("it has not found the certificate, and this shows nothing")
	}
	g.sh("echo 10.9.8.7 mine >> /etc/hosts; echo mine > /etc/hostname; chmod 640 /etc/machine-id")
	found := g.wantAsBelow("after steps", "resolv.conf", "passwd")
	public, err := exec.Command("grep", "-c", "BEGIN CERTIFICATE", "/etc/ssl/certs/ca-certificates.crt").Output()
	must(t, err)
	if got := found["ssl/certs/ca-certificates.crt"].content; strings.Contains(got, one) || strings.Count(got, "BEGIN CERTIFICATE") < len(public) {
		t.Error("the bundle holds the runtime's own certificate, or not the public ones")
	}
	below, err := os.ReadFile("/etc/hosts")
	must(t, err)
	if got := found["hosts"].content; got != strings.TrimSuffix(string(below), "\n")+"\n10.9.8.7 mine\n" {
		t.Errorf("hosts: %q", got)
	}
	if found["hostname"].content != "mine\n" {
		t.Errorf("hostname: %q", found["hostname"].content)
	}
	if id, there := found["machine-id"]; there && (id.Mode != 0o640 || strings.Contains(id.content, "0123456789abcdef")) {
		t.Errorf("machine-id: %o %q", id.Mode, id.content)
	}
	for name := range g.selected(filepath.Dir(extra)) {
		if strings.Contains(name, "holt") {
			t.Error(name)
		}
	}
	// A single file is copied as it is without the guest, too.
	for name, m := range g.selected("/etc/hosts") {
		if name != "hosts" || strings.Contains(m.content, "127.0.1.1\tbox") {
			t.Errorf("%s: %q", name, m.content)
		}
	}
	// And a second network after all that, as in a runtime that goes on from a checkpoint.
	g.setNetwork("create", two)
	if got := g.selected("/etc")["ssl/certs/ca-certificates.crt"].content; strings.Contains(got, one) || strings.Contains(got, two) {
		t.Error("a certificate of the runtime's own has stayed")
	}
}
