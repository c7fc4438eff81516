package api

import (
	"net/http"
	"strconv"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/accounts"
	"holt.dev/guest/internal/archive"
	"holt.dev/guest/internal/export"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
	"holt.dev/guest/internal/mounts"
)

// exportTree streams the root directory for an image.
func (a *API) exportTree(w http.ResponseWriter, r *http.Request) error {
	var options export.Options
	if err := decode(r, &options); err != nil {
		return err
	}
	if a.mounts.Busy() {
		return fault.New(fault.Conflict, "mounts are in place")
	}
	rules, left, err := export.Rules(options, a.identity.Network)
	if err != nil {
		return err
	}
	fd, err := fdtree.OpenDirFollow(unix.AT_FDCWD, "/")
	if err != nil {
		return fault.AtPath("/", err)
	}
	w.Header().Set("X-Holt-Only-Changed", "0")
	if left {
		w.Header().Set("X-Holt-Only-Changed", "1")
	}
	if options.Still {
		defer a.processes.HoldStill()()
	}
	return a.stream(w, func(out *countingWriter) error { return archive.PackBy(r.Context(), fd, "/", rules, out) })
}

// addMounts places directories and files in the tree.
func (a *API) addMounts(w http.ResponseWriter, r *http.Request) error {
	var request struct {
		Mounts []mounts.Mount `json:"mounts"`
	}
	if err := decode(r, &request); err != nil {
		return err
	}
	if err := a.mounts.Add(request.Mounts); err != nil {
		return err
	}
	answer(w, http.StatusOK, struct{}{})
	return nil
}

// clearMounts removes them and restores the earlier entries.
func (a *API) clearMounts(w http.ResponseWriter, _ *http.Request) error {
	if err := a.mounts.Clear(); err != nil {
		return err
	}
	answer(w, http.StatusOK, struct{}{})
	return nil
}

// stream answers with an archive. After the first bytes, only a cut stream can report an error.
func (a *API) stream(w http.ResponseWriter, pack func(out *countingWriter) error) error {
	w.Header().Set("Content-Type", "application/x-tar")
	out := &countingWriter{w: w}
	err := pack(out)
	if err != nil && out.written {
		panic(http.ErrAbortHandler)
	}
	return err
}

// selectPaths streams the files that match the patterns, as a copy needs them.
func (a *API) selectPaths(w http.ResponseWriter, r *http.Request) error {
	var selection archive.Selection
	if err := decode(r, &selection); err != nil {
		return err
	}
	rules, picked, err := export.Selected(&selection, a.identity.Network)
	if err != nil {
		return err
	}
	w.Header().Set("X-Holt-Matches", strconv.Itoa(len(picked)))
	w.Header().Set("X-Holt-Single-File", "0")
	if len(picked) == 1 && !picked[0].Directory && !selection.Parents {
		w.Header().Set("X-Holt-Single-File", "1")
	}
	return a.stream(w, func(out *countingWriter) error { return archive.PackPicked(r.Context(), picked, rules, out) })
}

// applyTree writes an archive into the tree as COPY and ADD do.
func (a *API) applyTree(w http.ResponseWriter, r *http.Request) error {
	application, err := applicationOf(r)
	if err != nil {
		return err
	}
	applied, err := archive.Apply(r.Context(), application, r.Body)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, applied)
	return nil
}

// defaultMaxApplied limits the entries of one copy.
const defaultMaxApplied = 2_000_000

func applicationOf(r *http.Request) (a archive.Application, err error) {
	query := r.URL.Query()
	for name, into := range map[string]*bool{"single": &a.Single, "keep_owners": &a.KeepOwners, "unpack": &a.Unpack} {
		if *into, err = flag(r, name); err != nil {
			return a, err
		}
	}
	a.Destination = query.Get("destination")
	if a.MaxEntries, err = number(r, "max_entries", defaultMaxApplied); err != nil {
		return a, err
	}
	if text := query.Get("mode"); text != "" {
		if a.Mode, err = archive.ParseModeChange(text); err != nil {
			return a, err
		}
	}
	if spec := query.Get("chown"); spec != "" {
		uid, gid, err := accounts.Current().LookupOwner(spec)
		if err != nil {
			return a, err
		}
		a.Owner = &archive.Owner{UID: uid, GID: gid}
	}
	return a, nil
}
