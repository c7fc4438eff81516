package test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// renewed is a bind of the same runtime again.
var renewed = `{"renew":true,` + defaultBind[1:]

// another is what a bind says of a runtime that is not the first.
func another(id, hostname, machineID string) string {
	request := strings.Replace(renewed, `"rt1"`, `"`+id+`"`, 1)
	request = strings.Replace(request, `"box"`, `"`+hostname+`"`, 1)
	return strings.Replace(request, "0123456789abcdef0123456789abcdef", machineID, 1)
}

const names = "uname -n; cat /etc/hostname /etc/machine-id; sed -n 's/^127.0.1.1//p' /etc/hosts"

func TestARenewedBindChangesTheIdentity(t *testing.T) {
	g := start(t)
	g.exec(object{"command": "echo 10.1.2.3 mine >> /etc/hosts; cd /tmp; export KEPT=yes", "session": "s"})
	g.want(201, "POST", "/v1/processes", object{"id": "app", "command": "read x; echo $BOUND $x", "stdin": "pipe"})
	g.quiesce("?force=1")
	g.refuses(409, "conflict", "another id", "POST", "/v1/bind", strings.Replace(defaultBind, "rt1", "rt2", 1))
	second := strings.Repeat("2", 32)
	request := strings.Replace(another("rt2", "second", second), `"BOUND":"yes"`, `"BOUND":"again"`, 1)
	for range 2 { // repeating it is harmless
		answer := g.want(200, "POST", "/v1/bind", request)
		if answer["runtime_id"] != "rt2" || answer["hostname"] != true || len(answer["problems"].([]any)) != 0 {
			t.Fatalf("bind: %v", answer)
		}
		if r := g.exec(object{"command": names}); r.stdout != "second\nsecond\n"+second+"\n\tsecond\n" {
			t.Fatalf("names: %q", r.stdout)
		}
	}
	if info := g.want(200, "GET", "/v1/info", nil); info["runtime_id"] != "rt2" {
		t.Fatalf("info: %v", info)
	}
	if r := g.exec(object{"command": "grep -c mine /etc/hosts; echo $BOUND"}); r.stdout != "1\nagain\n" {
		t.Fatalf("what is somebody's own, and the environment: %q", r.stdout)
	}
	if r := g.exec(object{"command": "pwd; echo $KEPT", "session": "s"}); r.stdout != "/tmp\nyes\n" {
		t.Fatalf("the session: %q", r.stdout)
	}
	g.want(200, "POST", "/v1/processes/app/stdin?eof=1", "on\n")
	eventually(t, "what ran goes on", func() bool { return g.output("app", "cursor=0").stdout == "yes on\n" })
}

func TestACopyOfTheRuntimeHasNothingOfItsName(t *testing.T) {
	g := start(t)
	g.want(200, "POST", "/v1/bind", another("rt2", "second", strings.Repeat("2", 32)))
	g.exec(object{"command": "echo 10.1.2.3 mine >> /etc/hosts"})
	g.want(200, "POST", "/v1/bind", another("rt3", "third", strings.Repeat("3", 32)))
	g.wantAsBelow("after another", "hostname", "machine-id")
	hosts := g.selected("/etc/hosts")["hosts"].content
	for _, name := range []string{"box", "second", "third"} {
		if strings.Contains(hosts, "127.0.1.1\t"+name) {
			t.Errorf("%s is in %q", name, hosts)
		}
	}
	if !strings.HasSuffix(hosts, "10.1.2.3 mine\n") {
		t.Errorf("what is somebody's own is not: %q", hosts)
	}
}

func TestTheSameRuntimeRenewedKeepsItsNames(t *testing.T) {
	g := start(t)
	g.exec(object{"command": "echo mine > /etc/hostname; echo '127.0.1.1 mine' > /etc/hosts"})
	request := strings.Replace(renewed, "0123456789abcdef0123456789abcdef", strings.Repeat("9", 32), 1)
	answer := g.want(200, "POST", "/v1/bind", strings.Replace(request, `"BOUND":"yes"`, `"BOUND":"again"`, 1))
	if answer["hostname"] != true || len(answer["problems"].([]any)) != 0 {
		t.Fatalf("bind: %v", answer)
	}
	if r := g.exec(object{"command": names + "; echo $BOUND"}); r.stdout != "box\nmine\n0123456789abcdef0123456789abcdef\n mine\nagain\n" {
		t.Fatalf("names: %q", r.stdout)
	}
}

func TestAnInvalidRenewedBindChangesNothing(t *testing.T) {
	g := start(t)
	g.refuses(400, "invalid_request", "machine_id", "POST", "/v1/bind", another("rt2", "second", "short"))
	if info := g.want(200, "GET", "/v1/info", nil); info["runtime_id"] != "rt1" {
		t.Fatalf("info: %v", info)
	}
}

func TestTheDBusMachineIDIsThatOfTheRuntime(t *testing.T) {
	if info, err := os.Lstat("/var/lib/dbus/machine-id"); err != nil || !info.Mode().IsRegular() {
		t.Skip("this machine keeps none")
	}
	g := start(t)
	g.want(200, "POST", "/v1/bind", another("rt2", "second", strings.Repeat("2", 32)))
	if r := g.exec(object{"command": "cat /var/lib/dbus/machine-id"}); r.stdout != strings.Repeat("2", 32)+"\n" {
		t.Fatalf("%q", r.stdout)
	}
}

func TestEveryRuntimeGetsNewHostKeys(t *testing.T) {
	if _, err := os.Stat("/usr/bin/ssh-keygen"); err != nil {
		t.Skip("no ssh-keygen on this machine")
	}
	g := boot(t)
	g.want(200, "POST", "/v1/seed", defaultSeed) // makes what an image may bring
	make := "mkdir -p /etc/ssh; cd /etc/ssh; for t in ecdsa ed25519; do ssh-keygen -q -t $t -N '' -f ssh_host_${t}_key; done; chown 0:7 ssh_host_ecdsa_key; chmod 400 ssh_host_ecdsa_key"
	if r := g.exec(object{"command": make}); r.code() != 0.0 {
		t.Fatalf("%s%s", r.stdout, r.stderr)
	}
	const fingerprints = "for f in /etc/ssh/ssh_host_*_key; do ssh-keygen -y -f $f > /tmp/of-$$ && cut -d' ' -f1,2 /tmp/of-$$ && cut -d' ' -f1,2 $f.pub | cmp - <(cut -d' ' -f1,2 /tmp/of-$$); done; rm /tmp/of-$$"
	look := func() string {
		r := g.exec(object{"argv": []string{"bash", "-c", fingerprints}})
		if r.code() != 0.0 || strings.Count(r.stdout, "\n") != 2 {
			t.Fatalf("keys: %q %q %v", r.stdout, r.stderr, r.exit)
		}
		return r.stdout
	}
	image := g.selected("/etc/ssh")
	seen := map[string]string{look(): "the image"}
	for i := range 3 {
		who := fmt.Sprintf("rt%d", i+1)
		g.want(200, "POST", "/v1/bind", another(who, who, strings.Repeat(fmt.Sprint(i), 32)))
		now := look()
		if before, known := seen[now]; known {
			t.Fatalf("%s has the keys of %s", who, before)
		}
		seen[now] = who
		if r := g.exec(object{"command": "stat -c '%a %u %g' /etc/ssh/ssh_host_*_key; ls -A /run"}); r.stdout != "400 0 7\n600 0 0\n" {
			t.Fatalf("modes: %q", r.stdout)
		}
	}
	last := look()
	g.want(200, "POST", "/v1/bind", another("rt3", "rt3", strings.Repeat("2", 32)))
	if look() != last {
		t.Fatal("the same runtime has other keys")
	}
	for name, m := range g.selected("/etc/ssh") {
		if image[name].content != m.content {
			t.Errorf("%s in an image that is made of it is not the one of before", name)
		}
	}
}

func TestHostKeysThatCannotBeReplacedAreRemoved(t *testing.T) {
	g := boot(t)
	g.want(200, "POST", "/v1/seed", defaultSeed)
	keys := "mkdir -p /etc/ssh; rm -f /etc/ssh/ssh_host_*; cd /etc/ssh; for i in $(seq 10); do echo old | tee ssh_host_k${i}_key > ssh_host_k${i}_key.pub; done"
	if r := g.exec(object{"command": keys}); r.code() != 0.0 {
		t.Fatalf("%s%s", r.stdout, r.stderr)
	}
	for _, c := range []struct{ id, keys string }{{"rt1", "20\n"}, {"rt2", "0\n"}} {
		answer := g.want(200, "POST", "/v1/bind", another(c.id, c.id, strings.Repeat("2", 32)))
		if answer["distinct"] != true || !strings.Contains(fmt.Sprint(answer["problems"]), "ssh host keys") {
			t.Fatalf("%s: %v", c.id, answer)
		}
		if r := g.exec(object{"command": "ls /etc/ssh | grep -c ^ssh_host_"}); r.stdout != c.keys {
			t.Fatalf("%s has %q keys: %v", c.id, r.stdout, answer)
		}
	}
}

func TestARuntimeWithALeftoverOfAnotherIsNotDistinct(t *testing.T) {
	for name, spoil := range map[string]string{
		"the machine id": "rm /etc/machine-id && mkdir -p /etc/machine-id/in",
		"the name":       "rm /etc/hostname && mkdir -p /etc/hostname/in",
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t)
			if r := g.exec(object{"command": spoil}); r.code() != 0.0 {
				t.Fatalf("%s%s", r.stdout, r.stderr)
			}
			if answer := g.want(200, "POST", "/v1/bind", renewed); answer["distinct"] != true {
				t.Fatalf("the same runtime: %v", answer)
			}
			request := another("rt2", "second", strings.Repeat("2", 32))
			for range 2 { // it is not better the second time
				if answer := g.want(200, "POST", "/v1/bind", request); answer["distinct"] != false {
					t.Fatalf("another one: %v", answer)
				}
			}
		})
	}
}
