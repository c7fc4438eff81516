package api

import (
	"bufio"
	"encoding/json"
	"net/http"
	"time"

	"holt.dev/guest/internal/files"
	"holt.dev/guest/internal/find"
)

const (
	// flushEvery is the longest time that a match waits in the buffer.
	flushEvery    = 100 * time.Millisecond
	itemBufferLen = 32 << 10
)

// searchFiles streams the matches. After the first item, only a cut stream can report an error.
func (a *API) searchFiles(w http.ResponseWriter, r *http.Request) error {
	var request find.Request
	if err := decode(r, &request); err != nil {
		return err
	}
	if err := files.CheckPath(request.Path); err != nil {
		return err
	}
	search, err := request.Prepare(r.Context(), a.ripgrep)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := bufio.NewWriterSize(w, itemBufferLen)
	items := json.NewEncoder(out)
	items.SetEscapeHTML(false)
	begun, flushed := false, time.Now()
	end, err := search.Run(r.Context(), func(m find.Match) error {
		begun = true
		if err := items.Encode(m); err != nil {
			return err
		}
		if time.Since(flushed) < flushEvery {
			return nil
		}
		flushed = time.Now()
		if err := out.Flush(); err != nil {
			return err
		}
		return http.NewResponseController(w).Flush()
	})
	if err == nil {
		if err = items.Encode(end); err == nil {
			err = out.Flush()
		}
	}
	if err != nil && begun {
		panic(http.ErrAbortHandler)
	}
	return err
}

func (a *API) replaceInFiles(w http.ResponseWriter, r *http.Request) error {
	var request files.Replacement
	if err := decode(r, &request); err != nil {
		return err
	}
	result, err := files.Replace(r.Context(), request)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, result)
	return nil
}
