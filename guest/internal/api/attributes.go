package api

import (
	"net/http"

	"holt.dev/guest/internal/files"
)

func (a *API) makeSymlink(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Path      string `json:"path"`
		Target    string `json:"target"`
		Overwrite bool   `json:"overwrite"`
	}
	if err := decode(r, &body); err != nil {
		return err
	}
	user, err := a.user()
	if err != nil {
		return err
	}
	info, created, err := files.Symlink(files.Link{Path: body.Path, Target: body.Target, Overwrite: body.Overwrite, Owner: user})
	return answerMade(w, info, created, err)
}

func (a *API) changeMode(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Path      string `json:"path"`
		Mode      string `json:"mode"`
		Recursive bool   `json:"recursive"`
	}
	if err := decode(r, &body); err != nil {
		return err
	}
	mode, err := parseMode(body.Mode)
	if err != nil {
		return err
	}
	changed, err := files.Chmod(r.Context(), body.Path, mode, body.Recursive)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, changed)
	return nil
}

func (a *API) changeOwner(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Path      string `json:"path"`
		User      string `json:"user"`
		Recursive bool   `json:"recursive"`
	}
	if err := decode(r, &body); err != nil {
		return err
	}
	changed, err := files.Chown(r.Context(), body.Path, body.User, body.Recursive)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, changed)
	return nil
}
