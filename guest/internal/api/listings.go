package api

import (
	"encoding/base64"
	"io"
	"net/http"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/charset"
	"holt.dev/guest/internal/export"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/listing"
)

const (
	// maxListed limits the entries of one request.
	maxListed = 1000
	// maxListedBytes limits the content of one entry, which is held in memory.
	maxListedBytes = 16 << 20
)

// listTree streams the entries of a tree without their content.
func (a *API) listTree(w http.ResponseWriter, r *http.Request) error {
	var request struct {
		Path  string `json:"path_base64"`
		Prune bool   `json:"prune"`
	}
	if err := decode(r, &request); err != nil {
		return err
	}
	place, err := plainPath(request.Path)
	if err != nil {
		return err
	}
	if a.mounts.Busy() {
		return fault.New(fault.Conflict, "mounts are in place")
	}
	rules, err := export.Listed(a.identity.Network, true)
	if err != nil {
		return err
	}
	tree := listing.Tree{Path: place, Prune: request.Prune, Rules: rules}
	return a.listed(w, func(out *countingWriter) error { return tree.Write(r.Context(), out) })
}

// listEntries streams single entries, with digests and contents.
func (a *API) listEntries(w http.ResponseWriter, r *http.Request) error {
	var request struct {
		Paths    []string `json:"paths_base64"`
		Digest   bool     `json:"digest"`
		MaxBytes int64    `json:"max_bytes"`
	}
	if err := decode(r, &request); err != nil {
		return err
	}
	if len(request.Paths) > maxListed || request.MaxBytes < 0 || request.MaxBytes > maxListedBytes {
		return fault.New(fault.InvalidRequest, "at most %d paths, and max_bytes from 0 to %d", maxListed, maxListedBytes)
	}
	paths := make([]string, len(request.Paths))
	for i, each := range request.Paths {
		var err error
		if paths[i], err = plainPath(each); err != nil {
			return err
		}
	}
	rules, err := export.Listed(a.identity.Network, false)
	if err != nil {
		return err
	}
	entries := listing.Entries{Paths: paths, Digest: request.Digest, MaxBytes: request.MaxBytes, Rules: rules}
	return a.listed(w, func(out *countingWriter) error { return entries.Write(r.Context(), out) })
}

// originBaseline stands for the baseline of the checkpoint from which the runtime was made.
const originBaseline = "origin"

// takeBaseline keeps a listing of the whole tree.
func (a *API) takeBaseline(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if id == originBaseline || !charset.Only(id, 1, 64, charset.Lower+charset.Digits) {
		return fault.New(fault.InvalidRequest, "id: small letters and digits")
	}
	if a.mounts.Busy() {
		return fault.New(fault.Conflict, "mounts are in place")
	}
	rules, err := export.Listed(a.identity.Network, true)
	if err != nil {
		return err
	}
	kept, err := a.baselines.Take(r.Context(), id, rules)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, map[string]bool{"kept": kept})
	return nil
}

// getBaseline streams the records of a baseline. It answers 204 if there is none.
func (a *API) getBaseline(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if id == originBaseline {
		id = ""
	}
	records := a.baselines.Open(id)
	if records == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	defer records.Close()
	return a.listed(w, func(out *countingWriter) error {
		_, err := io.Copy(out, records)
		return err
	})
}

func (a *API) listed(w http.ResponseWriter, write func(out *countingWriter) error) error {
	w.Header().Set("Content-Type", "application/octet-stream")
	out := &countingWriter{w: w}
	err := write(out)
	if err != nil && out.written {
		panic(http.ErrAbortHandler)
	}
	return err
}

// plainPath returns an absolute, canonical path of any bytes.
func plainPath(encoded string) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	text := string(raw)
	if err != nil || len(text) > unix.PathMax || strings.IndexByte(text, 0) >= 0 || !strings.HasPrefix(text, "/") || path.Clean(text) != text {
		return "", fault.New(fault.InvalidRequest, "a path is not base64 of an absolute, canonical path")
	}
	return text, nil
}
