package api

import (
	"context"
	"net/http"
	"strconv"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/files"
)

// pathOf returns the path of the query, which must be exactly one.
func pathOf(r *http.Request) (string, error) {
	paths := r.URL.Query()["path"]
	if len(paths) != 1 {
		return "", fault.New(fault.InvalidPath, "give exactly one path")
	}
	return paths[0], nil
}

func (a *API) statFile(w http.ResponseWriter, r *http.Request) error {
	p, path, facts, err := placed(r)
	if err != nil {
		return err
	}
	info, err := files.Stat(path, facts)
	if err != nil {
		return p.tell(path, err)
	}
	answer(w, http.StatusOK, info)
	return nil
}

func (a *API) listFiles(w http.ResponseWriter, r *http.Request) error {
	p, path, facts, err := placed(r)
	if err != nil {
		return err
	}
	depth, err := number(r, "depth", 1)
	if err != nil {
		return err
	}
	limit, err := number(r, "limit", 0)
	if err != nil {
		return err
	}
	query := files.Query{Path: path, Depth: int(depth), Limit: int(limit), After: r.URL.Query().Get("after"), Facts: facts}
	listing, err := files.List(r.Context(), query)
	if err != nil {
		return p.tell(path, err)
	}
	answer(w, http.StatusOK, listing)
	return nil
}

func (a *API) getContent(w http.ResponseWriter, r *http.Request) error {
	p, path, _, err := placed(r)
	if err != nil {
		return err
	}
	return p.tell(path, files.ServeContent(w, r, path))
}

func (a *API) putContent(w http.ResponseWriter, r *http.Request) error {
	return a.put(w, r, "")
}

// putMatchingContent is putContent on the condition that the file has an etag. It has a path of its
// own, because earlier guests would ignore the condition.
func (a *API) putMatchingContent(w http.ResponseWriter, r *http.Request) error {
	etag := r.URL.Query().Get("etag")
	if etag == "" {
		return fault.New(fault.InvalidRequest, "give etag")
	}
	return a.put(w, r, etag)
}

func (a *API) put(w http.ResponseWriter, r *http.Request, ifMatch string) error {
	p, path, facts, err := placed(r)
	if err != nil {
		return err
	}
	inPlace, err := flag(r, "in_place")
	if err != nil {
		return err
	}
	createOnly, err := flag(r, "create_only")
	if err != nil {
		return err
	}
	user, err := a.user()
	if err != nil {
		return err
	}
	if createOnly && ifMatch != "" {
		return fault.New(fault.InvalidRequest, "create_only excludes etag")
	}
	upload := files.Upload{Path: path, Default: user, CreateOnly: createOnly, IfMatch: ifMatch, Body: r.Body, Facts: facts}
	query := r.URL.Query()
	if text := query.Get("mode"); text != "" {
		mode, err := parseMode(text)
		if err != nil {
			return err
		}
		upload.Mode = &mode
	}
	if name := query.Get("user"); name != "" {
		upload.User = &name
	}
	if upload.Digests, err = digests(r); err != nil {
		return err
	}
	if upload.Attributes, err = newAttributes(r, facts); err != nil {
		return err
	}
	if !inPlace && upload.Attributes != nil {
		return fault.New(fault.InvalidRequest, "set_attributes needs in_place")
	}
	put := files.Put
	if inPlace {
		put = files.PutInPlace
	}
	if query.Has("upload_id") {
		if inPlace {
			return fault.New(fault.InvalidRequest, "in_place excludes upload_id")
		}
		return a.putPart(w, r, upload)
	}
	info, created, err := put(upload)
	return answerMade(w, info, created, p.tell(path, err))
}

func answerMade(w http.ResponseWriter, info *files.Info, created bool, err error) error {
	if err != nil {
		return err
	}
	if created {
		answer(w, http.StatusCreated, info)
	} else {
		answer(w, http.StatusOK, info)
	}
	return nil
}

// user returns the user that owns new files.
func (a *API) user() (string, error) {
	defaults, err := a.identity.Defaults()
	return defaults.User, err
}

func parseMode(text string) (uint32, error) {
	mode, err := strconv.ParseUint(text, 8, 32)
	if err != nil || mode > 0o7777 {
		return 0, fault.New(fault.InvalidRequest, "mode must be octal, 0000 to 7777")
	}
	return uint32(mode), nil
}

func (a *API) makeDirectory(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		place
		Path    string  `json:"path"`
		Parents bool    `json:"parents"`
		Mode    *string `json:"mode"`
		User    *string `json:"user"`
	}
	if err := decode(r, &body); err != nil {
		return err
	}
	user, err := a.user()
	if err != nil {
		return err
	}
	path, err := body.path(body.Path)
	if err != nil {
		return err
	}
	directory := files.Directory{Path: path, Parents: body.Parents, Mode: 0o755, Owner: user}
	if body.User != nil {
		directory.Owner = *body.User
	}
	if body.Mode != nil {
		if directory.Mode, err = parseMode(*body.Mode); err != nil {
			return err
		}
	}
	info, created, err := files.Mkdir(directory)
	return answerMade(w, info, created, body.tell(path, err))
}

func (a *API) removeFile(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		place
		Path      string `json:"path"`
		Recursive bool   `json:"recursive"`
		MissingOk bool   `json:"missing_ok"`
	}
	if err := decode(r, &body); err != nil {
		return err
	}
	path, err := body.path(body.Path)
	if err != nil {
		return err
	}
	remove := files.Remove
	if body.MissingOk {
		remove = files.RemoveIfThere
	}
	if err := remove(r.Context(), path, body.Recursive); err != nil {
		return body.tell(path, err)
	}
	answer(w, http.StatusOK, map[string]bool{"removed": true})
	return nil
}

func (a *API) moveFile(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		place
		Source      string  `json:"source"`
		Destination string  `json:"destination"`
		Overwrite   bool    `json:"overwrite"`
		Plain       bool    `json:"plain"`
		User        *string `json:"user"`
	}
	if err := decode(r, &body); err != nil {
		return err
	}
	source, err := body.path(body.Source)
	if err != nil {
		return err
	}
	destination, err := body.path(body.Destination)
	if err != nil {
		return err
	}
	t := files.Transfer{Source: source, Destination: destination, Overwrite: body.Overwrite, Plain: body.Plain}
	if t.Facts, err = body.facts(); err != nil {
		return err
	}
	if body.User != nil {
		t.Owner = *body.User
	}
	return body.tell(source, a.transfer(w, r, files.Move, t))
}

func (a *API) copyFile(w http.ResponseWriter, r *http.Request) error {
	var t files.Transfer
	if err := decode(r, &t); err != nil {
		return err
	}
	return a.transfer(w, r, files.Copy, t)
}

// transfer moves or copies files. The bound user owns the parent directories that are made, unless
// the request names another.
func (a *API) transfer(w http.ResponseWriter, r *http.Request, run func(context.Context, files.Transfer) (*files.Info, error), t files.Transfer) error {
	user, err := a.user()
	if err != nil {
		return err
	}
	if t.Owner == "" {
		t.Owner = user
	}
	info, err := run(r.Context(), t)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, info)
	return nil
}
