package test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// stateOf returns the state of a process in the host's /proc, such as S or T.
func stateOf(t testing.TB, pid int) string {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	must(t, err)
	return string(stat[bytes.LastIndexByte(stat, ')')+2])
}

func TestAnExportHoldsTheProgramsStill(t *testing.T) {
	g := start(t)
	g.want(201, "POST", "/v1/processes", object{"id": "writer", "command": "setsid sleep 4343 & sleep 4343"})
	g.want(201, "POST", "/v1/processes", object{"id": "held", "command": "exec sleep 4444"})
	eventually(t, "they run", func() bool { return len(g.inside("4343")) >= 2 })
	eventually(t, "it runs", func() bool { return len(g.inside("4444")) == 1 })
	held := g.inside("4444")[0]
	must(t, unix.Kill(held, unix.SIGSTOP))
	eventually(t, "it is stopped", func() bool { return stateOf(t, held) == "T" })
	are := func(want string) bool {
		for _, pid := range g.inside("4343") {
			if state := stateOf(t, pid); (state == "T") != (want == "T") {
				return false
			}
		}
		return true
	}
	for _, still := range []bool{true, false} {
		body := fmt.Sprintf(`{"only_changed":false,"live":true,"still":%t,"exclude":["/proc"]}`, still)
		response, err := g.client.Post("http://guest/v1/export", "application/json", strings.NewReader(body))
		must(t, err)
		_, err = io.ReadFull(response.Body, make([]byte, 512))
		must(t, err)
		if still {
			eventually(t, "they are stopped", func() bool { return are("T") })
		} else if !are("S") {
			t.Fatal("an export stopped the programs")
		}
		must(t, response.Body.Close())
		eventually(t, "they go on", func() bool { return are("S") })
	}
	if state := stateOf(t, held); state != "T" {
		t.Fatalf("a process that was stopped before is %s", state)
	}
}
