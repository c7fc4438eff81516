package api

import (
	"encoding/hex"
	"net/http"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/files"
)

const sha256Bytes = 32

// digest returns a query parameter that is a SHA-256 digest in hexadecimal, and nil if it is
// absent.
func digest(r *http.Request, name string) ([]byte, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return nil, nil
	}
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != sha256Bytes {
		return nil, fault.New(fault.InvalidRequest, "%s must be %d hexadecimal digits", name, 2*sha256Bytes)
	}
	return b, nil
}

// digests returns the digests that the client has announced.
func digests(r *http.Request) (d files.Digests, err error) {
	if d.Part, err = digest(r, "part_sha256"); err != nil {
		return d, err
	}
	d.Whole, err = digest(r, "sha256")
	return d, err
}

// putPart accepts one part of an upload, which may have several.
func (a *API) putPart(w http.ResponseWriter, r *http.Request, upload files.Upload) error {
	offset, err := number(r, "offset", 0)
	if err != nil {
		return err
	}
	partial, err := flag(r, "partial")
	if err != nil {
		return err
	}
	part := files.Part{Upload: upload, ID: r.URL.Query().Get("upload_id"), Offset: offset, Complete: !partial}
	result, err := a.uploads.Put(r.Context(), part)
	if err != nil {
		return err
	}
	if result.Status != nil {
		answer(w, http.StatusAccepted, result.Status)
		return nil
	}
	return answerMade(w, result.Info, result.Created, nil)
}

func (a *API) uploadStatus(w http.ResponseWriter, r *http.Request) error {
	path, err := pathOf(r)
	if err != nil {
		return err
	}
	status, err := a.uploads.Status(r.Context(), path, r.URL.Query().Get("upload_id"))
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, status)
	return nil
}

func (a *API) abortUpload(w http.ResponseWriter, r *http.Request) error {
	path, err := pathOf(r)
	if err != nil {
		return err
	}
	if err := a.uploads.Abort(r.Context(), path, r.URL.Query().Get("upload_id")); err != nil {
		return err
	}
	answer(w, http.StatusOK, map[string]bool{"removed": true})
	return nil
}
