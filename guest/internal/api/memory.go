package api

import (
	"net/http"

	"holt.dev/guest/internal/outofmemory"
	"holt.dev/guest/internal/process"
)

// relieveMemory kills the processes that hold the most memory, because the runtime is above its
// limit.
func (a *API) relieveMemory(w http.ResponseWriter, r *http.Request) error {
	var request struct {
		LimitBytes int64 `json:"limit_bytes"`
		FreeBytes  int64 `json:"free_bytes"`
		LeastBytes int64 `json:"least_bytes"`
		Whole      bool  `json:"whole"`
	}
	if err := decode(r, &request); err != nil {
		return err
	}
	ended, inFiles := a.processes.EndLargest(outofmemory.Need{
		LimitKiB: request.LimitBytes >> 10, FreeKiB: (request.FreeBytes + 1023) >> 10, LeastKiB: request.LeastBytes >> 10, Whole: request.Whole,
	})
	answer(w, http.StatusOK, struct {
		Ended   []process.Ended `json:"ended"`
		InFiles bool            `json:"in_files"`
	}{ended, inFiles})
	return nil
}
