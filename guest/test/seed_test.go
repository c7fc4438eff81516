package test

import (
	"strings"
	"testing"
)

const defaultSeed = `{"env":{"SEEDED":"yes"},"user":"root","workdir":"/tmp","pids_max":null,"network":null}`

func TestCommandsOfASeedSurviveItsBind(t *testing.T) {
	g := boot(t)
	g.want(200, "POST", "/v1/seed", defaultSeed)
	g.want(200, "POST", "/v1/seed", defaultSeed)
	if info := g.want(200, "GET", "/v1/info", nil); info["runtime_id"] != nil {
		t.Fatalf("a seed has an identity: %v", info)
	}
	g.want(201, "POST", "/v1/processes", object{
		"id": "app", "command": `echo $SEEDED $BOUND $PWD; read x; echo $x; sleep 600`, "stdin": "pipe",
	})
	before := g.want(200, "GET", "/v1/processes/app", nil)
	g.quiesce("?force=1")
	g.want(200, "POST", "/v1/bind", defaultBind)
	g.want(200, "POST", "/v1/processes/app/stdin?eof=1", "after\n")
	eventually(t, "it goes on", func() bool { return strings.Contains(g.output("app", "cursor=0").stdout, "after") })
	if out := g.output("app", "cursor=0").stdout; out != "yes /tmp\nafter\n" {
		t.Fatalf("what the seed started: %q", out)
	}
	after := g.want(200, "GET", "/v1/processes/app", nil)
	if after["state"] != "running" || after["pid"] != before["pid"] || after["started_at_ms"] != before["started_at_ms"] {
		t.Fatalf("before %v, after %v", before, after)
	}
	if r := g.exec(object{"command": "echo $SEEDED $BOUND $PWD; uname -n"}); r.stdout != "yes /\nbox\n" {
		t.Fatalf("a command of the bound runtime: %q", r.stdout)
	}
	g.want(200, "DELETE", "/v1/processes/app", nil)
}

func TestCommandsOfASeedUseTheFutureCertificatePath(t *testing.T) {
	g := boot(t)
	g.want(200, "POST", "/v1/seed", defaultSeed)
	if r := g.exec(object{"command": "echo $NODE_EXTRA_CA_CERTS; test ! -e $NODE_EXTRA_CA_CERTS"}); r.stdout != "/usr/local/share/ca-certificates/holt-runtime.crt\n" || r.code() != 0.0 {
		t.Fatalf("%q", r.stdout)
	}
}

func TestTheNamesOfASeedExistBeforeItsBind(t *testing.T) {
	const seeded = `"network":null,"names":{"hostname":"box","machine_id":"0123456789abcdef0123456789abcdef","set_hostname":true}}`
	named := strings.Replace(defaultSeed, `"network":null}`, seeded, 1)
	for _, c := range []struct{ what, bind, names string }{
		{"the same", defaultBind, "box\nbox\n0123456789abcdef0123456789abcdef\n\tbox\n"},
		{"another", strings.NewReplacer("box", "other", "0123456789abcdef0123456789abcdef", strings.Repeat("2", 32)).Replace(defaultBind),
			"other\nother\n22222222222222222222222222222222\n\tother\n"},
	} {
		g := boot(t)
		g.want(200, "POST", "/v1/seed", named)
		g.want(200, "POST", "/v1/seed", named)
		if r := g.exec(object{"command": names}); r.stdout != "box\nbox\n0123456789abcdef0123456789abcdef\n\tbox\n" {
			t.Fatalf("after the seed: %q", r.stdout)
		}
		if info := g.want(200, "GET", "/v1/info", nil); info["runtime_id"] != nil {
			t.Fatalf("a seed has an identity: %v", info)
		}
		written := g.exec(object{"command": "stat -c %i /etc/hostname /etc/hosts /etc/machine-id"}).stdout
		if answer := g.want(200, "POST", "/v1/bind", c.bind); answer["hostname"] != true || len(answer["problems"].([]any)) != 0 {
			t.Fatalf("bind: %v", answer)
		}
		if r := g.exec(object{"command": names}); r.stdout != c.names {
			t.Fatalf("%s: %q", c.what, r.stdout)
		}
		again := g.exec(object{"command": "stat -c %i /etc/hostname /etc/hosts /etc/machine-id"}).stdout
		if (again == written) != (c.what == "the same") {
			t.Fatalf("%s: written as %q, then as %q", c.what, written, again)
		}
	}
}

func TestABindEndsTheSeedState(t *testing.T) {
	g := start(t)
	g.refuses(409, "conflict", "is bound", "POST", "/v1/seed", defaultSeed)
	if r := g.exec(object{"command": "echo $SEEDED $BOUND"}); r.stdout != "yes\n" {
		t.Fatalf("a refused seed changed something: %q", r.stdout)
	}
}

func TestASeedRefusesInvalidRequests(t *testing.T) {
	g := boot(t)
	for _, c := range []struct{ from, to, holds string }{
		{`"workdir":"/tmp"`, `"workdir":"x"`, "workdir"},
		{`"user":"root"`, `"user":"nobody-here"`, "nobody-here"},
		{`"SEEDED"`, `"A=B"`, "env"},
		{`"pids_max":null`, `"pids_max":0`, "pids_max"},
		{`"network"`, `"unknown":1,"network"`, "unknown"},
		{`"network":null`, `"network":null,"names":{"hostname":"a b","machine_id":"","set_hostname":true}`, "hostname"},
	} {
		g.refuses(400, "invalid_request", c.holds, "POST", "/v1/seed", strings.Replace(defaultSeed, c.from, c.to, 1))
	}
	g.refuses(409, "conflict", "not bound", "GET", "/v1/processes", nil)
}

func TestATransientProcessIsForgottenAfterItsLastDescendant(t *testing.T) {
	g := start(t)
	if r := g.exec(object{"id": "try", "command": "echo a; exit 3", "transient": true}); r.stdout != "a\n" || r.code() != 3.0 {
		t.Fatalf("its end: %+v", r)
	}
	eventually(t, "it is forgotten", func() bool { return g.knows() == 0 })
	g.exec(object{"id": "try", "command": "sleep 600 >/dev/null 2>&1 &", "transient": true})
	if g.knows() != 1 {
		t.Fatal("what it left cannot be killed")
	}
	g.want(200, "DELETE", "/v1/processes/try", nil)
	eventually(t, "it is forgotten with what it left", func() bool { return g.knows() == 0 })
}

func (g *guest) knows() int {
	g.t.Helper()
	return len(g.want(200, "GET", "/v1/processes", nil)["processes"].([]any))
}
