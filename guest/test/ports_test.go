package test

import "testing"

func TestTheGuestItselfListensOnNoPort(t *testing.T) {
	g := start(t)
	if ports, ok := g.want(200, "GET", "/v1/ports", nil)["ports"].([]any); !ok || len(ports) != 0 {
		t.Fatal(ports)
	}
}

func TestReportsAPortWithoutAServer(t *testing.T) {
	g := start(t)
	if answer := g.want(200, "GET", "/v1/ports/3000?wait_ms=20", nil); answer["listening"] != false || answer["port"] != 3000.0 {
		t.Fatal(answer)
	}
	g.refuses(502, "port_not_listening", "3000", "POST", "/v1/ports/3000/connect", nil)
}

func TestAPortHasOneForm(t *testing.T) {
	g := start(t)
	for _, port := range []string{"0", "65536", "02280", "+2280", "-1", "%EF%BC%91", "x", "80%00", "control.sock"} {
		g.refuses(400, "invalid_request", "port", "POST", "/v1/ports/"+port+"/connect", nil)
		g.refuses(400, "invalid_request", "port", "GET", "/v1/ports/"+port, nil)
	}
	g.refuses(400, "invalid_request", "wait_ms", "GET", "/v1/ports/80?wait_ms=600001", nil)
}
