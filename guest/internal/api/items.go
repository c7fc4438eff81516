package api

import (
	"io"
	"net/http"

	"holt.dev/guest/internal/serve"
)

// items answers with a stream of NDJSON. After the first item, only a cut stream can report an
// error. For a checkpoint the stream ends without its last item, but without a reset. All sent
// items arrive, and the host continues at the last cursor.
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
