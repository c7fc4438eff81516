package api

import (
	"net/http"
	"time"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/ports"
)

// maxPortWait is the longest time that one request waits for a port.
const maxPortWait = 10 * time.Minute

func (a *API) listPorts(w http.ResponseWriter, _ *http.Request) error {
	listening, err := ports.Listening()
	if err != nil {
		return err
	}
	if listening == nil {
		listening = []uint16{}
	}
	answer(w, http.StatusOK, map[string][]uint16{"ports": listening})
	return nil
}

func (a *API) waitForPort(w http.ResponseWriter, r *http.Request) error {
	port, err := ports.Parse(r.PathValue("port"))
	if err != nil {
		return err
	}
	waitMs, err := number(r, "wait_ms", 0)
	if err != nil {
		return err
	}
	if waitMs > maxPortWait.Milliseconds() {
		return fault.New(fault.InvalidRequest, "wait_ms must be at most %d", maxPortWait.Milliseconds())
	}
	listening, err := ports.Wait(r.Context(), port, time.Duration(waitMs)*time.Millisecond)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, struct {
		Port      uint16 `json:"port"`
		Listening bool   `json:"listening"`
	}{port, listening})
	return nil
}

// connectPort answers once the port is connected, and then carries frames in both directions. After
// that, only a cut stream can report an error.
func (a *API) connectPort(w http.ResponseWriter, r *http.Request) error {
	port, err := ports.Parse(r.PathValue("port"))
	if err != nil {
		return err
	}
	program, err := ports.Connect(r.Context(), port)
	if err != nil {
		return err
	}
	flush := http.NewResponseController(w).Flush
	w.Header().Set("Content-Type", "application/octet-stream")
	w.WriteHeader(http.StatusOK)
	if err := flush(); err != nil {
		_ = program.Close() // the host has disconnected
		panic(http.ErrAbortHandler)
	}
	if err := ports.Carry(r.Context(), program, r.Body, w, flush); err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}
