package test

import (
	"strconv"
	"strings"
	"testing"
)

// holding starts a command that holds so many MiB in one process.
func (g *guest) holding(id string, mib int) {
	g.t.Helper()
	script := "x=$(head -c " + strconv.Itoa(mib<<20) + " /dev/zero | tr '\\0' x); echo ready; read y"
	g.want(201, "POST", "/v1/processes", object{"id": id, "argv": []string{"bash", "-c", script}, "stdin": "pipe"})
	eventually(g.t, id+" holds it", func() bool { return strings.Contains(g.output(id, "").stdout, "ready") })
}

func (g *guest) relieve(need object) []any {
	g.t.Helper()
	return g.want(200, "POST", "/v1/memory/relief", need)["ended"].([]any)
}

func TestKillsTheLargestProcess(t *testing.T) {
	g := start(t)
	g.holding("small", 8)
	g.holding("large", 48)
	g.holding("larger", 64)
	limit := 256 << 20
	ended := g.relieve(object{"limit_bytes": limit, "free_bytes": 32 << 20, "least_bytes": 32 << 20, "whole": false})
	if len(ended) != 1 {
		t.Fatal(ended)
	}
	one := ended[0].(object)
	if one["command_id"] != "larger" || one["name"] != "bash" || one["resident_bytes"].(float64) < 64<<20 {
		t.Fatal(one)
	}
	if r := g.output("larger", "follow=1&cursor=0"); r.exit["exit_code"] != 137.0 || r.exit["oom_killed"] != true {
		t.Fatalf("%+v", r)
	}
	if info := g.want(200, "GET", "/v1/processes/larger", nil); info["oom_killed"] != true {
		t.Fatal(info)
	}
	// As much as is asked for, and nothing that is too small to be to blame.
	ended = g.relieve(object{"limit_bytes": limit, "free_bytes": 1 << 30, "least_bytes": 32 << 20, "whole": false})
	if len(ended) != 1 || ended[0].(object)["command_id"] != "large" {
		t.Fatal(ended)
	}
	g.output("large", "follow=1&cursor=0") // until it has ended
	if info := g.want(200, "GET", "/v1/processes/small", nil); info["state"] != "running" || info["oom_killed"] != false {
		t.Fatal(info)
	}
	if ended = g.relieve(object{"limit_bytes": limit, "free_bytes": 1 << 30, "least_bytes": 32 << 20, "whole": false}); len(ended) != 0 {
		t.Fatal(ended)
	}
	// The stopped processes continue.
	g.want(200, "POST", "/v1/processes/small/stdin?eof=1", []byte("\n"))
	if r := g.output("small", "follow=1&cursor=0"); r.exit["exit_code"] != 0.0 || r.exit["oom_killed"] != nil {
		t.Fatalf("%+v", r)
	}
}

func TestKillsTheWholeCommandOfTheLargestProcess(t *testing.T) {
	g := start(t)
	script := "sleep 4242 & x=$(head -c 40000000 /dev/zero | tr '\\0' x); echo ready; read y"
	g.want(201, "POST", "/v1/processes", object{"id": "p", "argv": []string{"bash", "-c", script}, "stdin": "pipe"})
	eventually(t, "it holds it", func() bool { return strings.Contains(g.output("p", "").stdout, "ready") })
	if ended := g.relieve(object{"limit_bytes": 256 << 20, "free_bytes": 1, "least_bytes": 16 << 20, "whole": true}); len(ended) != 1 {
		t.Fatal(ended)
	}
	eventually(t, "all of it is dead", func() bool { return len(g.inside("4242")) == 0 })
	if r := g.exec(object{"command": "echo here"}); r.stdout != "here\n" {
		t.Fatalf("%+v", r)
	}
}

func TestKillsTheLargestWriterIfNoProcessIsLarge(t *testing.T) {
	g := start(t)
	g.want(201, "POST", "/v1/processes", object{"id": "q", "argv": []string{"sleep", "4242"}})
	if ended := g.relieve(object{"limit_bytes": 256 << 20, "free_bytes": 1 << 30, "least_bytes": 100 << 20, "whole": false}); len(ended) != 0 {
		t.Fatal(ended)
	}
	g.want(201, "POST", "/v1/processes", object{"id": "z", "argv": []string{"dd", "if=/dev/zero", "of=/dev/null", "bs=1M"}})
	eventually(t, "it is found", func() bool {
		ended := g.relieve(object{"limit_bytes": 256 << 20, "free_bytes": 1 << 30, "least_bytes": 100 << 20, "whole": false})
		return len(ended) == 1 && ended[0].(object)["command_id"] == "z"
	})
	if info := g.want(200, "GET", "/v1/processes/q", nil); info["state"] != "running" {
		t.Fatal(info)
	}
}

func TestNeverKillsProtectedProcesses(t *testing.T) {
	g := start(t)
	g.holding("p", 48)
	if ended := g.relieve(object{"limit_bytes": 256 << 20, "free_bytes": 1 << 30, "least_bytes": 0, "whole": false}); len(ended) < 1 {
		t.Fatal(ended)
	}
	// The guest and its supervisors are alive.
	if r := g.exec(object{"command": "echo here"}); r.stdout != "here\n" {
		t.Fatalf("%+v", r)
	}
}

func TestKillsProtectedProcessesIfOnlyTheyHoldMemory(t *testing.T) {
	g := start(t)
	script := "echo -1000 > /proc/self/oom_score_adj; x=$(head -c 48000000 /dev/zero | tr '\\0' x); echo ready; read y"
	g.want(201, "POST", "/v1/processes", object{"id": "p", "argv": []string{"bash", "-c", script}, "stdin": "pipe"})
	eventually(t, "it holds it", func() bool { return strings.Contains(g.output("p", "").stdout, "ready") })
	ended := g.relieve(object{"limit_bytes": 64 << 20, "free_bytes": 1, "least_bytes": 4 << 20, "whole": false})
	if len(ended) != 1 || ended[0].(object)["command_id"] != "p" {
		t.Fatal(ended)
	}
}

func TestKillsManySmallProcesses(t *testing.T) {
	g := start(t)
	for _, id := range []string{"a", "b", "c"} {
		g.holding(id, 24)
	}
	if ended := g.relieve(object{"limit_bytes": 128 << 20, "free_bytes": 72 << 20, "least_bytes": 96 << 20, "whole": false}); len(ended) != 2 {
		t.Fatal(ended)
	}
}

func TestEndsOneProcessWhereFilesInMemoryHoldTheRest(t *testing.T) {
	g := start(t)
	g.holding("grows", 40)
	g.holding("beside", 24)
	need := object{"limit_bytes": 256 << 20, "free_bytes": 1 << 30, "least_bytes": 16 << 20, "whole": false}
	answer := g.want(200, "POST", "/v1/memory/relief", need)
	if ended := answer["ended"].([]any); len(ended) != 1 || ended[0].(object)["command_id"] != "grows" || answer["in_files"] != true {
		t.Fatal(answer)
	}
	if info := g.want(200, "GET", "/v1/processes/beside", nil); info["state"] != "running" {
		t.Fatal(info)
	}
	need["limit_bytes"] = 32 << 20
	if answer := g.want(200, "POST", "/v1/memory/relief", need); answer["in_files"] != false {
		t.Fatal(answer)
	}
}
