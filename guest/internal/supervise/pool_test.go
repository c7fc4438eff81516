package supervise

import (
	"testing"
	"time"
)

func TestSurplusIdleSupervisorsEnd(t *testing.T) {
	now := time.Now()
	const fresh, old = 0, surplusAfter
	for name, c := range map[string]struct {
		waited []time.Duration
		want   int
	}{
		"none":                    {nil, 0},
		"those that are kept":     {[]time.Duration{old, old}, 0},
		"after commands together": {[]time.Duration{fresh, fresh, fresh, fresh}, 0},
		"all are old":             {[]time.Duration{old, old, old, old, old}, 3},
		"some are old":            {[]time.Duration{old, old, fresh, fresh}, 2},
		"one is old":              {[]time.Duration{old, fresh, fresh, fresh}, 1},
	} {
		var idle []*Supervisor
		for _, waited := range c.waited {
			idle = append(idle, &Supervisor{idleSince: now.Add(-waited)})
		}
		if got := surplus(idle, now); got != c.want {
			t.Errorf("%s: %d end, want %d", name, got, c.want)
		}
	}
}
