package process

import (
	"slices"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/supervise"
)

// Limit is a resource limit as in setrlimit(2). A nil value is unlimited.
type Limit struct {
	Soft *uint64 `json:"soft"`
	Hard *uint64 `json:"hard"`
}

// resources are the supported limits, by the names of limits.conf(5).
var resources = map[string]int{
	"as": unix.RLIMIT_AS, "core": unix.RLIMIT_CORE, "cpu": unix.RLIMIT_CPU, "data": unix.RLIMIT_DATA,
	"fsize": unix.RLIMIT_FSIZE, "memlock": unix.RLIMIT_MEMLOCK, "nofile": unix.RLIMIT_NOFILE,
	"nproc": unix.RLIMIT_NPROC, "stack": unix.RLIMIT_STACK,
}

// checkLimits refuses unknown names, and limits that need more privileges than a command has. A
// command begins with the guest's own limits.
func checkLimits(limits map[string]Limit) error {
	for name, limit := range limits {
		resource, known := resources[name]
		if !known {
			return invalid("rlimits: there is no limit %q", name)
		}
		if valueOf(limit.Soft) > valueOf(limit.Hard) {
			return invalid("rlimits.%s: the soft limit is above the hard one", name)
		}
		var own unix.Rlimit
		if err := unix.Prlimit(0, resource, nil, &own); err != nil {
			return invalid("rlimits.%s: %s", name, err)
		}
		if valueOf(limit.Hard) > own.Max {
			return invalid("rlimits.%s: the hard limit is above the runtime's own, %d", name, own.Max)
		}
	}
	return nil
}

func valueOf(limit *uint64) uint64 {
	if limit == nil {
		return unix.RLIM_INFINITY
	}
	return *limit
}

// limitsOf returns the limits for a supervisor, sorted by resource.
func limitsOf(limits map[string]Limit) []supervise.Limit {
	var list []supervise.Limit
	for name, limit := range limits {
		list = append(list, supervise.Limit{Resource: resources[name], Soft: valueOf(limit.Soft), Hard: valueOf(limit.Hard)})
	}
	slices.SortFunc(list, func(a, b supervise.Limit) int { return a.Resource - b.Resource })
	return list
}
