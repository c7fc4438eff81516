package api

import (
	"io"
	"net/http"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/operations"
	"holt.dev/guest/internal/process"
	"holt.dev/guest/internal/pty"
	"holt.dev/guest/internal/serve"
)

// maxStdinBytes limits one write to a process's standard input.
const maxStdinBytes = 1 << 20

func (a *API) startProcess(w http.ResponseWriter, r *http.Request) error {
	follow, err := flag(r, "follow")
	if err != nil {
		return err
	}
	var spec process.Spec
	if err := decode(r, &spec); err != nil {
		return err
	}
	defaults, err := a.identity.Defaults()
	if err != nil {
		return err
	}
	p, err := a.processes.Start(r.Context(), spec, defaults)
	if err != nil {
		return err
	}
	if !follow {
		answer(w, http.StatusCreated, p.Info())
		return nil
	}
	return stream(w, r, p, process.View{Story: true, Follow: true, Hold: true})
}

// stream writes a process's output. If a checkpoint cuts the stream, the process waits until its
// reader returns.
func stream(w http.ResponseWriter, r *http.Request, p *process.Process, view process.View) error {
	view.Returns = serve.Of(r).Ending
	return items(w, r, func(w io.Writer, flush func() error) error { return p.Follow(r.Context(), view, w, flush) })
}

func (a *API) listProcesses(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	if !query.Has("pid") && !query.Has("label") {
		answer(w, http.StatusOK, map[string][]process.Info{"processes": a.processes.List()})
		return nil
	}
	var wanted process.Wanted
	if query.Has("pid") {
		number, err := number(r, "pid", 0)
		if err != nil {
			return err
		}
		pid := int(number)
		wanted.Pid = &pid
	}
	if query.Has("label") {
		label := query.Get("label")
		wanted.Label = &label
	}
	answer(w, http.StatusOK, map[string][]process.Info{"processes": a.processes.Find(wanted)})
	return nil
}

func (a *API) getProcess(w http.ResponseWriter, r *http.Request) error {
	p, err := a.processes.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, p.Info())
	return nil
}

func (a *API) processOutput(w http.ResponseWriter, r *http.Request) error {
	follow, err := flag(r, "follow")
	if err != nil {
		return err
	}
	cursor, err := number(r, "cursor", 0)
	if err != nil {
		return err
	}
	p, err := a.processes.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	hold, err := flag(r, "hold")
	if err != nil {
		return err
	}
	return stream(w, r, p, process.View{Cursor: cursor, Follow: follow, Hold: follow && hold, Story: !r.URL.Query().Has("cursor")})
}

func (a *API) writeStdin(w http.ResponseWriter, r *http.Request) error {
	eof, err := flag(r, "eof")
	if err != nil {
		return err
	}
	var offset *int64
	if r.URL.Query().Has("offset") {
		at, err := number(r, "offset", 0)
		if err != nil {
			return err
		}
		offset = &at
	}
	p, err := a.processes.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	data, err := readBody(r, maxStdinBytes)
	if err != nil {
		return err
	}
	// An earlier request of the same operation may have written a part of the input before it was
	// given up. That part is not written again. With an offset, the process finds the part by the
	// offset.
	progress := progressOf(r)
	counts := progress != nil && offset == nil
	if !counts {
		progress = &operations.Progress{}
	}
	n, next, err := p.Write(r.Context(), data[min(progress.Bytes, int64(len(data))):], offset, eof)
	progress.Bytes += int64(n)
	if err != nil {
		return err
	}
	written := map[string]any{"written_bytes": progress.Bytes, "offset": next}
	// A process that does not read is sent the same input for as long as that lasts.
	if counts && progress.Bytes == 0 && len(data) > 0 {
		progress.Unchanged = true
		written["remembered"] = false
	}
	answer(w, http.StatusOK, written)
	return nil
}

func (a *API) signalProcess(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Signal *string `json:"signal"`
	}
	if err := decode(r, &body); err != nil {
		return err
	}
	if body.Signal == nil {
		return fault.New(fault.InvalidRequest, "signal is missing")
	}
	p, err := a.processes.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := p.Signal(*body.Signal); err != nil {
		return err
	}
	answer(w, http.StatusOK, p.Info())
	return nil
}

func (a *API) resizeProcess(w http.ResponseWriter, r *http.Request) error {
	var size pty.Size
	if err := decode(r, &size); err != nil {
		return err
	}
	p, err := a.processes.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := p.Resize(size); err != nil {
		return err
	}
	answer(w, http.StatusOK, p.Info())
	return nil
}

func (a *API) killProcess(w http.ResponseWriter, r *http.Request) error {
	p, err := a.processes.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := p.Kill(r.Context()); err != nil {
		return err
	}
	answer(w, http.StatusOK, p.Info())
	return nil
}

func (a *API) listSessions(w http.ResponseWriter, _ *http.Request) error {
	answer(w, http.StatusOK, map[string][]process.SessionInfo{"sessions": a.processes.Sessions()})
	return nil
}

func (a *API) endSession(w http.ResponseWriter, r *http.Request) error {
	if err := a.processes.EndSession(r.Context(), r.PathValue("name")); err != nil {
		return err
	}
	answer(w, http.StatusOK, struct{}{})
	return nil
}
