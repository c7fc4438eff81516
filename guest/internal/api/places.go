package api

import (
	"encoding/json"
	"net/http"

	"holt.dev/guest/internal/accounts"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/files"
)

// place is how a request names files, and which facts it asks for.
type place struct {
	// HomeOf is the name of an account, whose home is where relative paths begin. Without it paths
	// are absolute and canonical.
	HomeOf     *string `json:"home_of"`
	Targets    bool    `json:"targets"`
	Attributes string  `json:"attributes"`
}

// placeOf returns the place in a query.
func placeOf(r *http.Request) (p place, err error) {
	query := r.URL.Query()
	if query.Has("home_of") {
		account := query.Get("home_of")
		p.HomeOf = &account
	}
	p.Attributes = query.Get("attributes")
	p.Targets, err = flag(r, "targets")
	return p, err
}

// pathIn returns the path of the query, which must be exactly one, as the place has it.
func (p place) pathIn(r *http.Request) (string, error) {
	path, err := pathOf(r)
	if err != nil {
		return "", err
	}
	return p.path(path)
}

// placed returns the place, the path and the facts of a query.
func placed(r *http.Request) (p place, path string, facts files.Facts, err error) {
	if p, err = placeOf(r); err != nil {
		return p, "", facts, err
	}
	if path, err = p.pathIn(r); err != nil {
		return p, "", facts, err
	}
	facts, err = p.facts()
	return p, path, facts, err
}

// path returns a path of the request as an absolute one.
func (p place) path(name string) (string, error) {
	if p.HomeOf == nil {
		return name, nil
	}
	user, err := accounts.Current().Account(*p.HomeOf)
	if err != nil {
		return "", err
	}
	return user.PathOf(name), nil
}

// facts returns the facts that the request asks for.
func (p place) facts() (files.Facts, error) {
	facts := files.Facts{Targets: p.Targets, Attributes: p.Attributes}
	return facts, facts.CheckAttributes()
}

// tell adds the absolute path to an error about a path that the host does not know.
func (p place) tell(path string, err error) error {
	if err == nil || p.HomeOf == nil {
		return err
	}
	problem := *fault.As(err)
	details := map[string]any{"path": path}
	for name, value := range problem.Details {
		details[name] = value
	}
	problem.Details = details
	return &problem
}

// newAttributes returns the attributes of the query that a file gets, or nil.
func newAttributes(r *http.Request, facts files.Facts) (values map[string]string, err error) {
	query := r.URL.Query()
	if !query.Has("set_attributes") {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(query.Get("set_attributes")), &values); err != nil || values == nil {
		return nil, fault.New(fault.InvalidRequest, "set_attributes: a JSON object of texts")
	}
	return values, facts.CheckValues(values)
}
