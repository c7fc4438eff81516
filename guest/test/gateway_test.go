package test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// gateway is the host's end of a guest's egress: it knows one name, and its addresses each behave
// in a way of their own.
type gateway struct {
	t      testing.TB
	path   string
	server *http.Server

	mu        sync.Mutex
	processes []string // what the guest said of who asks
	open      int      // streams
	received  map[string]string
}

// The name that the gateway knows, and what its address and ports do.
const (
	knownName    = "echo.test"
	knownAddress = "198.18.1.0"
	echoPort     = "7"    // sends back what comes, and ends when that ends
	keepPort     = "9"    // keeps what comes until its end, then says how much it was
	flowPort     = "19"   // sends without end
	bulkPort     = "20"   // sends 64 MiB, and ends
	cutPort      = "21"   // resets the stream after the first bytes
	holdPort     = "22"   // sends nothing, and ends when what comes does
	deafPort     = "23"   // reads nothing, and never ends
	refusedPort  = "4030" // 403
	brokenPort   = "5020" // 502
	latePort     = "5040" // 504
)

func (g *guest) openGateway() *gateway {
	g.t.Helper()
	w := &gateway{t: g.t, path: filepath.Join(g.dir, "egress.sock"), received: map[string]string{}}
	w.listen()
	g.t.Cleanup(w.close)
	return w
}

func (w *gateway) listen() {
	w.t.Helper()
	l, err := net.Listen("unix", w.path)
	must(w.t, err)
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	w.server = &http.Server{
		Handler:   w,
		Protocols: &protocols,
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: 2000, MaxReceiveBufferPerStream: 1 << 20, MaxReceiveBufferPerConnection: 4<<20 - 1, MaxReadFrameSize: 16 << 10},
	}
	go w.server.Serve(l)
}

// close goes as a daemon does that is killed.
func (w *gateway) close() { _ = w.server.Close() }

func (w *gateway) streams() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open
}

func (w *gateway) lastProcess() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.processes) == 0 {
		return ""
	}
	return w.processes[len(w.processes)-1]
}

// ServeHTTP implements http.Handler.
func (w *gateway) ServeHTTP(answer http.ResponseWriter, r *http.Request) {
	process, _ := base64.StdEncoding.DecodeString(r.Header.Get("X-Holt-Process"))
	w.mu.Lock()
	w.processes = append(w.processes, string(process))
	w.open++
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.open--
		w.mu.Unlock()
	}()
	if r.Method == http.MethodPost && r.URL.Path == "/dns-query" {
		w.resolve(answer, r)
		return
	}
	_, port, err := net.SplitHostPort(r.Host)
	if r.Method != http.MethodConnect || err != nil {
		http.Error(answer, "neither a question nor a connection", 400)
		return
	}
	if status := map[string]int{refusedPort: 403, brokenPort: 502, latePort: 504}[port]; status != 0 {
		answer.WriteHeader(status)
		return
	}
	answer.WriteHeader(200)
	control := http.NewResponseController(answer)
	must(w.t, control.Flush())
	switch port {
	case echoPort:
		_, _ = io.Copy(flushing{answer, control}, r.Body)
	case keepPort:
		n, err := io.Copy(io.Discard, r.Body)
		w.mu.Lock()
		w.received["keep"] = fmt.Sprint(n, " ", err)
		w.mu.Unlock()
		fmt.Fprint(answer, n)
	case flowPort:
		_, _ = io.Copy(answer, endless{})
	case bulkPort:
		_, _ = io.Copy(answer, io.LimitReader(endless{}, 64<<20))
	case cutPort:
		_, _ = r.Body.Read(make([]byte, 1))
		panic(http.ErrAbortHandler)
	case holdPort:
		_, _ = io.Copy(io.Discard, r.Body)
	case deafPort:
		<-r.Context().Done()
	}
}

// resolve answers the question for the known name, and refuses others. A name that begins with
// "long" has a long answer.
func (w *gateway) resolve(answer http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	must(w.t, err)
	var question dnsmessage.Message
	if err := question.Unpack(body); err != nil || len(question.Questions) != 1 {
		http.Error(answer, "malformed", 400)
		return
	}
	asked := question.Questions[0]
	reply := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: question.ID, Response: true, RecursionDesired: true, RecursionAvailable: true},
		Questions: question.Questions,
	}
	name := strings.TrimSuffix(asked.Name.String(), ".")
	head := dnsmessage.ResourceHeader{Name: asked.Name, Class: dnsmessage.ClassINET, TTL: 60}
	switch {
	case name != knownName && !strings.HasPrefix(name, "long"):
		reply.RCode = dnsmessage.RCodeRefused
	case asked.Type == dnsmessage.TypeA:
		address := [4]byte(net.ParseIP(knownAddress).To4())
		for range map[bool]int{true: 60, false: 1}[name != knownName] {
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: address}})
			address[3]++
		}
	}
	packed, err := reply.Pack()
	must(w.t, err)
	answer.Header().Set("Content-Type", "application/dns-message")
	_, _ = answer.Write(packed)
}

type flushing struct {
	io.Writer
	control *http.ResponseController
}

func (f flushing) Write(b []byte) (int, error) {
	n, err := f.Writer.Write(b)
	if err == nil {
		err = f.control.Flush()
	}
	return n, err
}

// endless is a stream of zeros.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
