package supervise

import "testing"

func TestCommandsDieForMemoryBeforeTheGuest(t *testing.T) {
	for own, want := range map[int]int{-1000: 0, 0: 500, 100: 600, 700: 1000, 1000: 1000} {
		if got := scoreOfCommand(own); got != want {
			t.Errorf("%d: %d", own, got)
		}
	}
}
