package api

import (
	"net/http"

	"holt.dev/guest/internal/archive"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/files"
)

// defaultMaxEntries is the limit of entries for an archive whose sender gives none. In gVisor each
// entry costs memory.
const defaultMaxEntries = 200_000

func formatOf(r *http.Request, absent archive.Format) (archive.Format, error) {
	switch format := archive.Format(r.URL.Query().Get("format")); format {
	case "":
		return absent, nil
	case archive.Tar, archive.TarGz:
		return format, nil
	default:
		return "", fault.New(fault.InvalidRequest, "format must be tar or tar.gz")
	}
}

func (a *API) getArchive(w http.ResponseWriter, r *http.Request) error {
	path, err := pathOf(r)
	if err != nil {
		return err
	}
	format, err := formatOf(r, archive.Tar)
	if err != nil {
		return err
	}
	fd, err := files.OpenTree(path)
	if err != nil {
		return err
	}
	if format == archive.TarGz {
		w.Header().Set("Content-Type", "application/gzip")
	} else {
		w.Header().Set("Content-Type", "application/x-tar")
	}
	out := &countingWriter{w: w}
	err = archive.Pack(r.Context(), fd, path, format, out)
	if err != nil && out.written { // after the first bytes, only a cut stream can report an error
		panic(http.ErrAbortHandler)
	}
	return err
}

func (a *API) putArchive(w http.ResponseWriter, r *http.Request) error {
	extraction, err := a.extraction(r)
	if err != nil {
		return err
	}
	made, created, err := files.Extract(r.Context(), extraction)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	answer(w, status, made)
	return nil
}

func (a *API) extraction(r *http.Request) (e files.Extraction, err error) {
	if e.Path, err = pathOf(r); err != nil {
		return e, err
	}
	if e.User, err = a.user(); err != nil {
		return e, err
	}
	o := &e.Options
	if o.Format, err = formatOf(r, ""); err != nil {
		return e, err
	}
	for name, into := range map[string]*bool{"keep_owners": &o.KeepOwners, "overwrite": &e.Overwrite, "merge": &e.Merge} {
		if *into, err = flag(r, name); err != nil {
			return e, err
		}
	}
	if o.MaxEntries, err = number(r, "max_entries", defaultMaxEntries); err != nil {
		return e, err
	}
	if o.MaxBytes, err = number(r, "max_bytes", 0); err != nil {
		return e, err
	}
	if name := r.URL.Query().Get("user"); name != "" {
		if o.KeepOwners {
			return e, fault.New(fault.InvalidRequest, "user and keep_owners cannot be combined")
		}
		e.User = name
	}
	e.Body = r.Body
	return e, nil
}
