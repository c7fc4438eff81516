package test

import (
	"strings"
	"testing"
)

// readEnvironment shows the published environment with its owner and its mode.
const readEnvironment = "stat -c '%U %a' /dev/holt-environment; tr '\\0' '|' </dev/holt-environment"

func TestProgramsOfASeedCanReadTheEnvironmentOfTheBind(t *testing.T) {
	g := boot(t)
	g.want(200, "POST", "/v1/seed", defaultSeed)
	g.want(201, "POST", "/v1/processes", object{"id": "app", "command": "read x; " + readEnvironment, "stdin": "pipe"})
	bind := strings.Replace(defaultBind, `"BOUND":"yes"`, `"BOUND":"a=b\nc","EMPTY":""`, 1)
	if answer := g.want(200, "POST", "/v1/bind", bind); len(answer["problems"].([]any)) != 0 {
		t.Fatalf("bind: %v", answer)
	}
	g.want(200, "POST", "/v1/processes/app/stdin?eof=1", "on\n")
	eventually(t, "it reads", func() bool {
		return g.output("app", "cursor=0").stdout == "root 400\nBOUND=a=b\nc|EMPTY=|"
	})
}

func TestALaterEnvironmentReplacesThePublishedOne(t *testing.T) {
	g := start(t)
	g.want(201, "POST", "/v1/processes", object{"id": "app", "command": "sleep 600"})
	g.want(200, "POST", "/v1/bind", renewed)
	if r := g.exec(object{"command": "test -e /dev/holt-environment"}); r.code() != 1.0 {
		t.Fatal("the same environment was published")
	}
	for _, value := range []string{"second", "third"} {
		changed := strings.NewReplacer(`"BOUND":"yes"`, `"BOUND":"`+value+`"`, `"user":""`, `"user":"nobody"`).Replace(renewed)
		if answer := g.want(200, "POST", "/v1/bind", changed); len(answer["problems"].([]any)) != 0 {
			t.Fatalf("bind: %v", answer)
		}
		if r := g.exec(object{"command": readEnvironment, "user": "root"}); !strings.HasSuffix(r.stdout, " 400\nBOUND="+value+"|") {
			t.Fatalf("%q", r.stdout)
		}
	}
	g.want(200, "DELETE", "/v1/processes/app", nil)
	g.want(200, "POST", "/v1/bind", renewed)
	if r := g.exec(object{"command": readEnvironment, "user": "root"}); !strings.HasSuffix(r.stdout, "BOUND=yes|") {
		t.Fatalf("without programs: %q", r.stdout)
	}
}

func TestTheEnvironmentIsNotPublishedWithoutPrograms(t *testing.T) {
	g := boot(t)
	g.want(200, "POST", "/v1/seed", defaultSeed)
	g.exec(object{"command": "true"})
	g.want(200, "POST", "/v1/bind", defaultBind)
	if r := g.exec(object{"command": "test -e /dev/holt-environment"}); r.code() != 1.0 {
		t.Fatal("it was published")
	}
}
