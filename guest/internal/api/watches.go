package api

import (
	"io"
	"net/http"

	"holt.dev/guest/internal/files"
)

func (a *API) watchFiles(w http.ResponseWriter, r *http.Request) error {
	path, err := pathOf(r)
	if err != nil {
		return err
	}
	recursive, err := flag(r, "recursive")
	if err != nil {
		return err
	}
	var cursor *int64
	if r.URL.Query().Has("cursor") {
		at, err := number(r, "cursor", 0)
		if err != nil {
			return err
		}
		cursor = &at
	}
	watcher, release, err := a.watches.Open(path, recursive, cursor != nil, func() (int, error) { return files.OpenTree(path) })
	if err != nil {
		return err
	}
	defer release()
	return items(w, r, func(w io.Writer, flush func() error) error { return watcher.Follow(r.Context(), cursor, w, flush) })
}
