package test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

func TestProcessesAreFoundByPidAndLabel(t *testing.T) {
	g := start(t)
	find := func(query string) (ids []string) {
		t.Helper()
		for _, p := range g.want(200, "GET", "/v1/processes?"+query, nil)["processes"].([]any) {
			ids = append(ids, p.(object)["id"].(string))
		}
		return ids
	}
	running := g.want(201, "POST", "/v1/processes", object{"id": "runs", "command": "exec sleep 1000", "label": "my tag"})
	ended := g.exec(object{"id": "ended", "command": "true", "label": "my tag"})
	g.exec(object{"id": "other", "command": "true"})
	if running["label"] != "my tag" {
		t.Fatalf("%v", running)
	}
	if got := find(fmt.Sprintf("pid=%.0f", running["pid"])); len(got) != 1 || got[0] != "runs" {
		t.Fatalf("%v", got)
	}
	if got := find(fmt.Sprintf("pid=%.0f", ended.start["pid"])); len(got) == 0 || got[0] != "ended" {
		t.Fatalf("%v", got)
	}
	if got := find("label=" + url.QueryEscape("my tag")); fmt.Sprint(got) != "[runs ended]" {
		t.Fatalf("one that runs is not before a newer one: %v", got)
	}
	if got := find("label=none"); got != nil {
		t.Fatalf("%v", got)
	}
	if got := find(fmt.Sprintf("pid=%.0f&label=x", running["pid"])); got != nil {
		t.Fatalf("%v", got)
	}
	if got := find("pid=1"); got != nil {
		t.Fatalf("the guest itself: %v", got)
	}
	g.refuses(400, "invalid_request", "pid", "GET", "/v1/processes?pid=x", nil)
	g.refuses(400, "invalid_request", "label", "POST", "/v1/processes", object{"id": "n", "command": "true", "label": strings.Repeat("x", 1025)})
	g.refuses(400, "invalid_request", "label", "POST", "/v1/processes", object{"id": "n", "command": "true", "label": "a\x00b"})
	if p := g.want(200, "GET", "/v1/processes/other", nil); p["label"] != nil {
		t.Fatalf("%v", p)
	}
}
