package api

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"

	"holt.dev/guest/internal/charset"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/operations"
)

// operationHeader carries the id of an operation, so that a repeated request has no second effect.
const operationHeader = "X-Holt-Operation"

type progressKey struct{}

// progressOf returns the progress that an earlier request of the same operation made. It returns
// nil if the request has no operation.
func progressOf(r *http.Request) *operations.Progress {
	p, _ := r.Context().Value(progressKey{}).(*operations.Progress)
	return p
}

// once makes a handler run once for each operation. A request without an operation always runs.
func (a *API) once(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		ids := r.Header[operationHeader]
		if len(ids) == 0 {
			return h(w, r)
		}
		if len(ids) != 1 || !charset.Only(ids[0], 1, 64, charset.Alphanumeric+"_-") {
			return fault.New(fault.InvalidRequest, "x-holt-operation must be 1 to 64 letters, digits, _ and -")
		}
		run := func(progress *operations.Progress) (operations.Answer, error) {
			kept := &keptAnswer{header: http.Header{}, status: http.StatusOK}
			err := h(kept, r.WithContext(context.WithValue(r.Context(), progressKey{}, progress)))
			return operations.Answer{Status: kept.status, Body: kept.body.Bytes()}, err
		}
		given, err := a.operations.Do(r.Context(), ids[0]+" "+r.URL.RequestURI(), run)
		if err != nil {
			return err
		}
		// The body of a repeated request is discarded. The host ensures that it is the same.
		_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, maxBodyBytes))
		if given.Body == nil {
			return fault.New(fault.Conflict, "the operation was done earlier, and its answer was not kept")
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(given.Body)))
		w.WriteHeader(given.Status)
		_, _ = w.Write(given.Body) // fails only if the host has disconnected
		return nil
	}
}

// keptAnswer buffers an answer, which is remembered before it is sent.
type keptAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *keptAnswer) Header() http.Header         { return k.header }
func (k *keptAnswer) WriteHeader(status int)      { k.status = status }
func (k *keptAnswer) Write(b []byte) (int, error) { return k.body.Write(b) }
