// Package api implements the guest's side of the protocol in PROTOCOL.md: routes, their parameters
// and their answers.
package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"unicode/utf8"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/files"
	"holt.dev/guest/internal/find"
	"holt.dev/guest/internal/identity"
	"holt.dev/guest/internal/listing"
	"holt.dev/guest/internal/mounts"
	"holt.dev/guest/internal/operations"
	"holt.dev/guest/internal/process"
	"holt.dev/guest/internal/watch"
)

// protocolVersion is the version of PROTOCOL.md.
const protocolVersion = 1

// maxBodyBytes limits a JSON body, which holds an environment, arguments and input for a command.
const maxBodyBytes = 8 << 20

// maxMessageBytes limits the message of an error. Two paths fit in it.
const maxMessageBytes = 9 << 10

// API answers the host's requests.
type API struct {
	identity  *identity.State
	processes *process.Table
	ripgrep   *find.Ripgrep
	uploads   *files.Uploads
	watches   *watch.Table
	mounts    mounts.Table
	// operations are the answers to requests that changed something.
	operations *operations.Memory
	baselines  *listing.Baselines
}

// handler answers a request, or returns a fault before it has written anything.
type handler func(w http.ResponseWriter, r *http.Request) error

// New returns a handler that routes requests to a runtime's identity, processes, files and ports.
func New(state *identity.State, processes *process.Table, ripgrep *find.Ripgrep, done *operations.Memory, baselines *listing.Baselines) http.Handler {
	a := &API{
		identity: state, processes: processes, ripgrep: ripgrep, uploads: files.NewUploads(), watches: watch.NewTable(),
		operations: done, baselines: baselines,
	}
	mux := http.NewServeMux()
	add := func(pattern string, h handler) { mux.Handle(pattern, answering(h)) }
	add("GET /v1/info", a.info)
	add("GET /v1/usage", a.usage)
	add("POST /v1/bind", a.bind)
	add("POST /v1/seed", a.seed)
	add("POST /v1/quiesce", a.quiesce)
	add("POST /v1/memory/relief", a.relieveMemory)
	bound := func(pattern string, h handler) { add(pattern, a.whenBound(h)) }
	changing := func(pattern string, h handler) { bound(pattern, a.once(h)) }
	bound("PUT /v1/network", a.setNetwork)
	bound("POST /v1/processes", a.startProcess)
	bound("GET /v1/processes", a.listProcesses)
	bound("GET /v1/processes/{id}", a.getProcess)
	bound("GET /v1/processes/{id}/output", a.processOutput)
	changing("POST /v1/processes/{id}/stdin", a.writeStdin)
	changing("POST /v1/processes/{id}/signal", a.signalProcess)
	changing("POST /v1/processes/{id}/resize", a.resizeProcess)
	bound("DELETE /v1/processes/{id}", a.killProcess)
	bound("GET /v1/sessions", a.listSessions)
	bound("DELETE /v1/sessions/{name}", a.endSession)
	bound("GET /v1/files/stat", a.statFile)
	bound("GET /v1/files/list", a.listFiles)
	bound("GET /v1/files/content", a.getContent)
	bound("PUT /v1/files/content", a.putContent)
	bound("PUT /v1/files/content/if-match", a.putMatchingContent)
	changing("POST /v1/files/mkdir", a.makeDirectory)
	changing("POST /v1/files/remove", a.removeFile)
	changing("POST /v1/files/move", a.moveFile)
	changing("POST /v1/files/copy", a.copyFile)
	bound("GET /v1/ports", a.listPorts)
	bound("GET /v1/ports/{port}", a.waitForPort)
	bound("POST /v1/ports/{port}/connect", a.connectPort)
	changing("POST /v1/files/symlink", a.makeSymlink)
	changing("POST /v1/files/chmod", a.changeMode)
	changing("POST /v1/files/chown", a.changeOwner)
	bound("POST /v1/files/search", a.searchFiles)
	changing("POST /v1/files/replace", a.replaceInFiles)
	bound("GET /v1/files/upload", a.uploadStatus)
	bound("DELETE /v1/files/upload", a.abortUpload)
	bound("GET /v1/files/archive", a.getArchive)
	bound("PUT /v1/files/archive", a.putArchive)
	bound("GET /v1/files/watch", a.watchFiles)
	bound("POST /v1/export", a.exportTree)
	bound("POST /v1/listing", a.listTree)
	bound("POST /v1/listing/entries", a.listEntries)
	bound("PUT /v1/listing/baselines/{id}", a.takeBaseline)
	bound("GET /v1/listing/baselines/{id}", a.getBaseline)
	bound("POST /v1/select", a.selectPaths)
	bound("PUT /v1/apply", a.applyTree)
	bound("POST /v1/mounts", a.addMounts)
	bound("DELETE /v1/mounts", a.clearMounts)
	add("/", func(_ http.ResponseWriter, r *http.Request) error {
		return fault.New(fault.RouteNotFound, "%s %s: no such route", r.Method, r.URL.Path)
	})
	return mux
}

func answering(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			// A defect ends its own request only, and is reported in the runtime's own log.
			if problem := recover(); problem != nil {
				if problem == http.ErrAbortHandler {
					panic(problem)
				}
				fmt.Fprintf(os.Stderr, "%s %s: %v\n%s", r.Method, r.URL.Path, problem, debug.Stack())
				writeFault(w, fault.New(fault.Internal, "a defect of the guest"))
			}
		}()
		if err := h(w, r); err != nil {
			writeFault(w, fault.As(err))
		}
	})
}

func (a *API) whenBound(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if _, err := a.identity.Defaults(); err != nil {
			return err
		}
		return h(w, r)
	}
}

func writeFault(w http.ResponseWriter, f *fault.Fault) {
	type body struct {
		Code    fault.Code     `json:"code"`
		Message string         `json:"message"`
		Details map[string]any `json:"details,omitempty"`
	}
	message := f.Message
	if len(message) > maxMessageBytes { // the path of a deep tree
		message = message[:maxMessageBytes/2] + " ... " + message[len(message)-maxMessageBytes/2:]
	}
	answer(w, f.Code.Status(), map[string]body{"error": {f.Code, message, f.Details}})
}

func answer(w http.ResponseWriter, status int, body any) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil { // every answer can be encoded as JSON
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // fails only if the host has disconnected
}

// decode reads a JSON body strictly: one value, no unknown fields, valid UTF-8.
func decode(r *http.Request, into any) error {
	b, err := readBody(r, maxBodyBytes)
	if err != nil {
		return err
	}
	if !utf8.Valid(b) {
		return fault.New(fault.InvalidRequest, "the body is not UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(b))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fault.New(fault.InvalidRequest, "the body has the wrong form: %s", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return fault.New(fault.InvalidRequest, "the body is more than one JSON value")
	}
	return nil
}

func readBody(r *http.Request, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, fault.New(fault.InvalidRequest, "the body was interrupted: %s", err)
	}
	if int64(len(b)) > limit {
		return nil, fault.New(fault.TooLarge, "the body is larger than %d bytes", limit)
	}
	return b, nil
}

// flag returns a query parameter that is 0, 1 or absent.
func flag(r *http.Request, name string) (bool, error) {
	switch r.URL.Query().Get(name) {
	case "", "0":
		return false, nil
	case "1":
		return true, nil
	default:
		return false, fault.New(fault.InvalidRequest, "%s must be 0 or 1", name)
	}
}

// number returns a query parameter that is a whole number and not negative.
func number(r *http.Request, name string, absent int64) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return absent, nil
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < 0 {
		return 0, fault.New(fault.InvalidRequest, "%s must be a whole number, at least 0", name)
	}
	return v, nil
}
