package api

import (
	"net/http"
	"os"
	"runtime/debug"
	"strconv"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/identity"
	"holt.dev/guest/internal/network"
	"holt.dev/guest/internal/owntime"
	"holt.dev/guest/internal/serve"
)

func (a *API) info(w http.ResponseWriter, _ *http.Request) error {
	processes, foreground := a.processes.Active()
	answer(w, http.StatusOK, struct {
		Version    string  `json:"version"`
		Protocol   int     `json:"protocol"`
		RuntimeID  *string `json:"runtime_id"`
		Pid        int     `json:"pid"`
		Processes  int     `json:"processes"`
		Foreground int     `json:"foreground"`
	}{version(), protocolVersion, a.identity.RuntimeID(), 1, processes, foreground})
	return nil
}

// usage reports figures that the host cannot see, because gVisor's processes are not processes of
// the host.
func (a *API) usage(w http.ResponseWriter, _ *http.Request) error {
	count, err := countProcesses()
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, struct {
		Processes int `json:"processes"`
	}{count})
	return nil
}

// countProcesses counts the processes in /proc, which include the guest's own.
func countProcesses() (count int, err error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	for _, name := range names {
		if _, err := strconv.Atoi(name); err == nil {
			count++
		}
	}
	return count, err
}

func (a *API) bind(w http.ResponseWriter, r *http.Request) error {
	var request identity.Request
	if err := decode(r, &request); err != nil {
		return err
	}
	bound, err := a.identity.Bind(request)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, bound)
	return nil
}

func (a *API) seed(w http.ResponseWriter, r *http.Request) error {
	var request identity.SeedRequest
	if err := decode(r, &request); err != nil {
		return err
	}
	seeded, err := a.identity.Seed(request)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, seeded)
	return nil
}

func (a *API) setNetwork(w http.ResponseWriter, r *http.Request) error {
	var request struct {
		Network *network.Config `json:"network"`
	}
	if err := decode(r, &request); err != nil {
		return err
	}
	if request.Network != nil {
		if err := request.Network.Check(); err != nil {
			return err
		}
	}
	holds, problems := a.identity.Network.Set(request.Network)
	answer(w, http.StatusOK, struct {
		Network  bool     `json:"network"`
		Problems []string `json:"problems"`
	}{holds, problems})
	return nil
}

func (a *API) quiesce(w http.ResponseWriter, r *http.Request) error {
	force, err := flag(r, "force")
	if err != nil {
		return err
	}
	running, _ := a.processes.Active()
	if running > 0 && !force {
		return fault.New(fault.Conflict, "%d processes run", running)
	}
	if a.mounts.Busy() && !force {
		return fault.New(fault.Conflict, "mounts are in place")
	}
	owntime.Alone(serve.DrainTimeout)
	a.identity.Network.Suspend()
	a.baselines.Use(r.URL.Query().Get("baseline"))
	debug.FreeOSMemory() // the checkpoint would contain unused memory, too
	answer(w, http.StatusOK, struct{}{})
	serve.Of(r).Quiesce()
	return nil
}
