package test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

func TestAnswersOnlyInfoBeforeItIsBound(t *testing.T) {
	g := boot(t)
	info := g.want(200, "GET", "/v1/info", nil)
	if info["runtime_id"] != nil || info["protocol"] != 1.0 || info["pid"] != 1.0 || info["processes"] != 0.0 {
		t.Fatalf("info: %v", info)
	}
	g.refuses(409, "conflict", "not bound", "GET", "/v1/processes", nil)
	g.refuses(409, "conflict", "not bound", "GET", "/v1/files/stat?path=/", nil)
	g.refuses(404, "route_not_found", "", "GET", "/v1/nothing", nil)
}

func TestBindSetsTheIdentityOnce(t *testing.T) {
	g := boot(t)
	answer := g.want(200, "POST", "/v1/bind", defaultBind)
	if answer["runtime_id"] != "rt1" || answer["hostname"] != true || len(answer["problems"].([]any)) != 0 {
		t.Fatalf("bind: %v", answer)
	}
	g.want(200, "POST", "/v1/bind", defaultBind)
	g.refuses(409, "conflict", "another id", "POST", "/v1/bind", strings.Replace(defaultBind, "rt1", "rt2", 1))
	r := g.exec(object{"command": "cat /etc/machine-id /etc/hostname; uname -n; grep -c box /etc/hosts; echo $BOUND"})
	if want := "0123456789abcdef0123456789abcdef\nbox\nbox\n1\nyes\n"; r.stdout != want {
		t.Fatalf("identity: %q", r.stdout)
	}
	if host, _ := os.Hostname(); host == "box" {
		t.Fatal("the test's namespaces leak")
	}
}

func TestResolvesTheKernelHostNameIfItCannotBeSet(t *testing.T) {
	g := boot(t)
	answer := g.want(200, "POST", "/v1/bind", strings.Replace(defaultBind, `"set_hostname":true`, `"set_hostname":false`, 1))
	if answer["hostname"] != false {
		t.Fatalf("bind: %v", answer)
	}
	r := g.exec(object{"command": "uname -n; cat /etc/hostname; grep 127.0.1.1 /etc/hosts; getent hosts box > /dev/null && getent hosts $(uname -n) > /dev/null && echo both"})
	kernel, rest, _ := strings.Cut(r.stdout, "\n")
	if want := fmt.Sprintf("box\n127.0.1.1\tbox %s\nboth\n", kernel); kernel == "box" || rest != want {
		t.Fatalf("names: %q, not %q", r.stdout, want)
	}
}

func TestBindRefusesInvalidRequests(t *testing.T) {
	g := boot(t)
	for _, c := range []struct{ from, to, holds string }{
		{`"box"`, `"Box/.."`, "hostname"},
		{`"0123456789abcdef0123456789abcdef"`, `"../../etc"`, "machine_id"},
		{`"workdir":"/"`, `"workdir":"x"`, "workdir"},
		{`"user":"root"`, `"user":"nobody-here"`, "nobody-here"},
		{`"BOUND"`, `"A=B"`, "env"},
		{`"pids_max":null`, `"pids_max":0`, "pids_max"},
		{`"set_clock"`, `"unknown":1,"set_clock"`, "unknown"},
	} {
		g.refuses(400, "invalid_request", c.holds, "POST", "/v1/bind", strings.Replace(defaultBind, c.from, c.to, 1))
	}
	if g.want(200, "GET", "/v1/info", nil)["runtime_id"] != nil {
		t.Fatal("a refused bind bound")
	}
}

func TestLimitsProcessesIfTheControllerExists(t *testing.T) {
	group := fmt.Sprintf("/sys/fs/cgroup/pids/holt-guest-test-%d", os.Getpid())
	if err := os.Mkdir(group, 0o755); err != nil && !os.IsExist(err) {
		t.Skipf("no pids controller of cgroup v1 on this machine: %v", err)
	}
	t.Cleanup(func() { // removed when the guest's own group in it, and the guest, are gone
		eventually(t, "the cgroup can be removed", func() bool {
			_ = os.Remove(group + "/holt")
			return os.Remove(group) == nil
		})
	})
	before, err := os.ReadFile("/proc/self/cgroup")
	must(t, err)
	own := ""
	for line := range strings.SplitSeq(string(before), "\n") {
		if f := strings.Split(line, ":"); len(f) == 3 && f[1] == "pids" {
			own = "/sys/fs/cgroup/pids" + f[2]
		}
	}
	must(t, os.WriteFile(group+"/cgroup.procs", []byte("0"), 0))
	g := boot(t)
	must(t, os.WriteFile(own+"/cgroup.procs", []byte("0"), 0))
	answer := g.want(200, "POST", "/v1/bind", strings.Replace(defaultBind, `"pids_max":null`, `"pids_max":20`, 1))
	if answer["limits"].(object)["pids"] != true {
		t.Fatalf("bind: %v", answer)
	}
	r := g.exec(object{"argv": []string{"/bin/bash", "-c", "for i in $(seq 40); do sleep 60 & done 2>&1; echo started"}})
	if !strings.Contains(r.stdout+r.stderr, "Resource temporarily unavailable") {
		t.Fatalf("40 processes under a limit of 20: %q %q", r.stdout, r.stderr)
	}
	g.want(200, "DELETE", "/v1/processes/"+r.id, nil)
	if r := g.exec(object{"command": "grep -c holt-pids /proc/mounts; ls -A /run"}); r.stdout != "0\n" {
		t.Fatalf("left in sight: %q", r.stdout)
	}
}

func TestQuiesceClosesTheConnectionAndDialsAgain(t *testing.T) {
	g := start(t)
	r := g.exec(object{"command": "echo before"})
	g.quiesce("")
	if again := g.output(r.id, "cursor=0"); again.stdout != "before\n" || !again.ended {
		t.Fatalf("after: %+v", again)
	}
	if g.want(200, "GET", "/v1/info", nil)["runtime_id"] != "rt1" {
		t.Fatal("identity lost")
	}
}

func TestQuiesceWaitsForProcessesUnlessForced(t *testing.T) {
	g := start(t)
	g.want(201, "POST", "/v1/processes", object{"id": "p", "command": "echo a; read x; echo b", "stdin": "pipe"})
	g.refuses(409, "conflict", "1 processes", "POST", "/v1/quiesce", nil)
	following := make(chan error, 1)
	go func() {
		response, err := g.client.Get("http://guest/v1/processes/p/output?follow=1")
		if err == nil {
			_, err = response.Body.Read(make([]byte, 10))
			following <- nil
			for err == nil {
				_, err = response.Body.Read(make([]byte, 1000))
			}
		}
		following <- err
	}()
	must(t, <-following)
	g.quiesce("?force=1")
	if err := <-following; err == nil {
		t.Fatal("the stream did not end")
	}
	g.want(200, "POST", "/v1/processes/p/stdin?eof=1", "x\n")
	eventually(t, "the process ends", func() bool { return g.want(200, "GET", "/v1/processes/p", nil)["state"] == "exited" })
	if out := g.output("p", "cursor=0"); out.stdout != "a\nb\n" {
		t.Fatalf("output: %q", out.stdout)
	}
}

func TestRefusesBodiesThatAreNotTheExpectedJSON(t *testing.T) {
	g := start(t)
	for _, body := range []string{"", "[]", "{", `{"path":"/x"} {}`, `{"path":1}`, `{"nope":1}`, "{\"path\":\"/\xff\"}"} {
		g.refuses(400, "invalid_request", "", "POST", "/v1/files/remove", body)
	}
	status, _, _ := g.call("POST", "/v1/processes", strings.NewReader(`{"id":"`+strings.Repeat("x", 9<<20)+`"}`))
	if status != http.StatusRequestEntityTooLarge {
		t.Fatalf("a large body: %d", status)
	}
}
