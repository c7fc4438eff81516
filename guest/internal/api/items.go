package api

import (
	"io"
	"net/http"

	"holt.dev/guest/internal/serve"
)

// items answers with a stream of NDJSON. Once the first item is out, an error can only be told by
// cutting the stream. For a checkpoint it ends without its last item, and not by a reset: all that
// was sent arrives, and the host goes on at the cursor that it has come to.
func items(w http.ResponseWriter, r *http.Request, write func(w io.Writer, flush func() error) error) error {
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := &countingWriter{w: w}
	err := write(out, http.NewResponseController(w).Flush)
	switch {
	case err == nil || r.Context().Err() != nil && serve.Of(r).Ending():
		return nil
	case out.written:
		panic(http.ErrAbortHandler)
	default:
		return err
	}
}

type countingWriter struct {
	w       io.Writer
	written bool
}

func (c *countingWriter) Write(b []byte) (int, error) {
	c.written = true
	return c.w.Write(b)
}
